"""A model as sentences."""

from __future__ import annotations

import numpy as np

from smpcore.datasets import plain_number
from smpcore.explain.flip import pieces
from smpcore.model import PrototypeModel

#: A sentence names at most so many features.
_MOST_TERMS = 8
_MOST_SENTENCES = 24


def rule_in_words(model: PrototypeModel) -> list[str]:
    """Say how the model decides.

    Parameters
    ----------
    model : PrototypeModel
        Model whose rule is written.

    Returns
    -------
    list of str
        Sentences, numbers in the user's units. A sum that names its largest terms only
        says how many it leaves out, and by how much they change it at most while every
        feature is in its training range; their middle is part of the constant.
    """
    if model.is_linear and not model.code_size:
        sentences = _linear(model)
    else:
        sentences = _comparison(model)
    hidden = len(sentences) - _MOST_SENTENCES
    if hidden > 0:
        return [*sentences[:_MOST_SENTENCES], f"… and {hidden} more."]
    return sentences


def score_sums(
    model: PrototypeModel,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Weighted sums of features that decide, of a linear model."""
    weights, constants, labels = pieces(model)
    weights = weights / model.scale
    constants = constants - weights @ model.center
    sizes = np.bincount(labels, minlength=model.n_outputs)
    if model.n_outputs != 2 or sizes.min() != 1:
        return weights, constants, labels, -1
    alone = int(sizes.argmin())
    base = int(np.flatnonzero(labels == alone)[0])
    return weights - weights[base], constants - constants[base], labels, alone


def _linear(model: PrototypeModel) -> list[str]:
    weights, constants, labels, alone = score_sums(model)
    if model.classes is None:
        return [f"The prediction is {_sum(model, weights[0], constants[0])}."]
    names = [str(label) for label in model.classes]
    if alone >= 0:
        other = 1 - alone
        tests = [
            f"{_sum(model, weights[j])} {'>' if other else '≥'} "
            f"{plain_number(0 - constants[j])}"
            for j in np.flatnonzero(labels == other)
        ]
        if len(tests) == 1:
            return [f"{names[other]}, if {tests[0]}.", f"{names[alone]} otherwise."]
        lines = [f"{names[other]}, if at least one of these {len(tests)} holds:"]
        return [*lines, *tests, f"{names[alone]} otherwise."]
    lines = ["The class with the highest score is predicted:"]
    for j, output in enumerate(labels):
        lines.append(f"{names[output]}: {_sum(model, weights[j], constants[j])}")
    return lines


def _sum(model: PrototypeModel, weights: np.ndarray, constant: float = 0.0) -> str:
    """A weighted sum of features as text, the weightiest first."""
    order = np.argsort(-np.abs(weights * model.scale), kind="stable")
    order = order[weights[order] != 0]
    terms = [
        (weights[f], f"{plain_number(abs(weights[f]))} · {model.feature_names[f]}")
        for f in order[:_MOST_TERMS]
    ]
    left = order[_MOST_TERMS:]
    corners = weights[left] * np.array([model.low[left], model.high[left]])
    constant += corners.sum() / 2.0
    if constant or not terms:
        terms.append((constant, plain_number(abs(constant))))
    text = " ".join(f"{'−' if size < 0 else '+'} {term}" for size, term in terms)
    if len(left):
        most = plain_number(np.abs(corners[1] - corners[0]).sum() / 2.0, 2)
        text += f" ± at most {most} ({len(left)} smaller terms)"
    return text.removeprefix("+ ") if text[0] == "+" else text.replace(" ", "", 1)


def _comparison(model: PrototypeModel) -> list[str]:
    """Say how a model compares an input with its prototypes."""
    n, kind = model.n_prototypes, model.kind_of_prototype
    plural = {"mix of real cases": "mixes of real cases"}.get(kind, f"{kind}s")
    what = f"one {kind}" if n == 1 else f"{n} {plural}"
    lines = [f"An input is compared with {what} ({model.similarity.kind} similarity)."]
    if model.code_size:
        lines.append(
            f"The input is reconstructed from at most {model.code_size} of them, with "
            "non-negative coefficients; the class with the largest share is predicted."
        )
    names = ["Raise the prediction", "Lower the prediction"]
    if model.classes is None:
        lines.append("The prediction is the sum of similarity times weight.")
        side = (model.votes[:, 0] < 0).astype(int)
    else:
        names, side = map(str, model.classes), model.prototype_labels
        if model.pooling == "max":
            words = "The class of the prototype with the highest score is predicted."
            lines.append(words)
        elif not model.code_size:
            words = "Each adds similarity times weight to the score of its class."
            lines.append(words)
    for number, name in enumerate(names):
        those = np.flatnonzero(side == number) + 1
        numbers = ", ".join(map(str, those)) or "none"
        lines.append(f"{name}: prototype{'s' * (len(those) > 1)} {numbers}.")
    return lines
