"""Every number of a model, so that a score can be worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.datasets import plain_number
from smpcore.explain import Section
from smpcore.model import PrototypeModel
from smpcore.similarity import SIMILARITIES

#: More numbers make no table that anybody would read.
_MOST_NUMBERS = 20_000
_TITLE = "The model in numbers"


def numbers_section(model: PrototypeModel) -> Section:
    """Write the full rule: means, deviations, weights and biases, to nine digits."""
    if not SIMILARITIES[model.similarity.kind].formula:
        words = f"The similarity {model.similarity.kind} has no formula of a few terms."
        return Section(_TITLE, (words,))
    arrays = model.anchors, model.mixing, model.votes, model.gram
    if model.is_linear:
        arrays = model.weights, model.votes, model.gram
    n_numbers = sum(array.size for array in arrays if array is not None)
    if n_numbers > _MOST_NUMBERS:
        words = f"Left out: {n_numbers:,} numbers, more than anybody would read. The "
        return Section(_TITLE, (words + "export to JSON has them all.",))
    blocks = [_steps(model), _features(model)]
    if not model.is_linear and not _is_identity(model.mixing):
        blocks += ["Share of each case in a prototype, where it is not 0:", _mix(model)]
    blocks += ["Prototypes:", _prototypes(model)]
    if model.gram is not None:
        blocks += ["Products of the prototypes (G):", _products(model.gram)]
    blocks += ["Outputs:", _outputs(model)]
    return Section(_TITLE, blocks)


def _steps(model: PrototypeModel) -> str:
    """How the tables give an answer, step by step."""
    similarity = model.similarity
    formula = SIMILARITIES[similarity.kind].formula
    words = ["x = (value - mean) / standard deviation, feature by feature."]
    if model.is_linear:
        words.append("Activation of a prototype: bias + sum of x times its weight.")
    else:
        parameters = {
            name: getattr(similarity, name)
            for name in ("gamma", "degree", "coef0")
            if name in formula
        }
        values = ", ".join(
            f"{name} = {_text(value)}" for name, value in parameters.items()
        )
        words.append(f"Similarity to a case z: {formula}{'; ' * bool(values)}")
        words[-1] += f"{values}."
        mixed = "sum of similarity times share"
        mixed = "similarity" if _is_identity(model.mixing) else mixed
        words.append(f"Activation of a prototype: bias + {mixed}.")
    if model.code_size:
        words.append(
            f"Code: at most {model.code_size} coefficients c >= 0, found one after the "
            "other (greedily), that minimise c'Gc / 2 less the sum of c times the "
            "activations; they take the place of the activations. Where none is above "
            f"0, {model.classes[model.fallback]} is predicted."
        )
    words.append(_pooling(model))
    return " ".join(words)


def _pooling(model: PrototypeModel) -> str:
    if model.classes is None:
        return "Prediction: intercept + sum of activation times weight."
    score = "intercept + the largest activation among its prototypes"
    if model.pooling == "sum":
        score = "intercept + sum of activation times the prototype's weight for it"
    words = f"Score of a class: {score}. The class with the highest score is predicted"
    if model.tie:
        words += f"; scores within {_text(model.tie)} count as equal"
    return f"{words}; of equal ones the first class."


def _features(model: PrototypeModel) -> list[dict[str, str]]:
    """A line of each feature: scaling, then a weight or a value of each prototype."""
    columns, name = model.anchors, "z{}"
    if model.is_linear:
        columns, name = model.weights, "weight {}"
    lines = []
    for f, feature in enumerate(model.feature_names):
        line = {"feature": feature, "mean": _text(model.center[f])}
        line["standard deviation"] = _text(model.scale[f])
        if model.similarity.kind == "features":
            line["weight"] = _text(model.similarity.weights[f])
            line["width"] = _text(model.similarity.widths[f])
        line |= {name.format(i + 1): _text(row[f]) for i, row in enumerate(columns)}
        lines.append(line)
    return lines


def _mix(model: PrototypeModel) -> list[dict[str, str]]:
    cases, prototypes = np.nonzero(model.mixing)
    return [
        {
            "case": f"z{i + 1}",
            "prototype": str(j + 1),
            "share": _text(model.mixing[i, j]),
        }
        for i, j in zip(cases, prototypes, strict=True)
    ]


def _prototypes(model: PrototypeModel) -> list[dict[str, str]]:
    """Bias of each, and its class, or its weight for each output."""
    lines = []
    for j, bias in enumerate(model.bias):
        line = {"prototype": str(j + 1), "bias": _text(bias)}
        if model.classes is None:
            line["weight"] = _text(model.votes[j, 0])
        elif model.pooling == "max":
            line["class"] = str(model.classes[model.prototype_labels[j]])
        else:
            votes = zip(model.classes, model.votes[j], strict=True)
            line |= {f"weight for {label}": _text(vote) for label, vote in votes}
        lines.append(line)
    return lines


def _products(gram: np.ndarray) -> list[dict[str, str]]:
    return [
        {"prototype": str(i + 1)} | {str(j + 1): _text(v) for j, v in enumerate(row)}
        for i, row in enumerate(gram)
    ]


def _outputs(model: PrototypeModel) -> list[dict[str, str]]:
    names = ["prediction"] if model.classes is None else model.classes
    pairs = zip(names, model.intercept, strict=True)
    return [{"output": str(name), "intercept": _text(value)} for name, value in pairs]


def _is_identity(mixing: np.ndarray) -> bool:
    n, m = mixing.shape
    return n == m and bool((mixing == np.eye(n)).all())


def _text(value: Any) -> str:
    return plain_number(value, 9)
