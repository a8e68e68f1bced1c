"""A model's rule as tables of points: what each column adds to a score."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

import numpy as np

from smpcore.datasets import Input, Preparation, plain_number
from smpcore.explain.words import comparison_in_words, rule_in_words, score_sums
from smpcore.model import PrototypeModel

#: A table has at most so many lines, a sentence so many terms.
_MOST_LINES, _MOST_TERMS = 15, 4
#: A unit at the end of a column's name: "chol (mg/dl)".
_UNIT = re.compile(r"[(\[]([^()\[\]]{1,12})[)\]]$")


@dataclass(frozen=True)
class PointsTable:
    """What one prototype, or one class, is made of.

    Parameters
    ----------
    title : str
        Heading of the table: the prototype or class, in words.
    prototype : int or None
        Its number, if the table is of one prototype.
    start : float or None
        Points before the first line; None where lines are values of a case.
    lines : tuple of dict
        In order of effect over the training rows, the largest first: text by
        heading.
    n_left_out : int
        Lines of less effect that are not among them.
    terms : tuple of (str, str)
        Columns in order of effect, and what of them raises the score, in words.
    """

    title: str
    prototype: int | None
    start: float | None
    lines: tuple[dict[str, str], ...]
    n_left_out: int
    terms: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Rule:
    """How a model decides, to be read aloud.

    Parameters
    ----------
    sentences : tuple of str
        One per class, after what there is to say of all.
    tables : tuple of PointsTable
        One for each prototype, or for each class of a sum.
    formula : tuple of str
        The same as sums, numbers in the columns' own units.
    """

    sentences: tuple[str, ...]
    tables: tuple[PointsTable, ...]
    formula: tuple[str, ...]


def points_rule(model: PrototypeModel, preparation: Preparation, X: np.ndarray) -> Rule:
    """Write a model's rule as sentences and tables.

    Parameters
    ----------
    model : PrototypeModel
        Model whose rule is written.
    preparation : Preparation
        It was fitted with.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows: they say what step of a number is usual, and how much a column
        changes the score.

    Returns
    -------
    Rule
    """
    formula = tuple(rule_in_words(model))
    if model.is_linear and not model.code_size:
        return Rule(*_linear(model, preparation, X), formula)
    return Rule(*_cases(model, preparation), formula)


def column_effects(
    weights: np.ndarray, preparation: Preparation, X: np.ndarray
) -> np.ndarray:
    """How much each column changes a weighted sum of features over rows.

    Parameters
    ----------
    weights : ndarray of shape (n_features,), per unit of X
        Weight of each feature in the sum.
    preparation : Preparation
        Preparation that maps features to table columns.
    X : ndarray of shape (n_samples, n_features)
        Rows over which the sum varies, usually those of training.

    Returns
    -------
    ndarray of shape (n_inputs,)
        Standard deviation of the column's part of the sum: of a category, the parts of
        its levels are summed.
    """
    effects = np.zeros(len(preparation.inputs))
    for place, spec in enumerate(preparation.inputs):
        if weights[spec.features].any():
            effects[place] = (X[:, spec.features] @ weights[spec.features]).std()
    return effects


def usual_step(values: np.ndarray, integer: bool = False) -> float:
    """The 1, 2 or 5 times a power of ten that is nearest to the interquartile range."""
    low, high = np.percentile(values, [25, 75])
    spread = high - low or 1.35 * values.std() or 1.0
    power = int(np.floor(np.log10(spread)))
    steps = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    step = min(steps, key=lambda s: abs(np.log(s / spread)))
    return max(step, 1.0) if integer else step


def _linear(
    model: PrototypeModel, preparation: Preparation, X: np.ndarray
) -> tuple[tuple[str, ...], tuple[PointsTable, ...]]:
    """Sentences, and a table for each score that counts."""
    weights, constants, labels, alone = score_sums(model)
    prototypes: list[int | None] = [None] * len(labels)
    if model.pooling == "max":
        prototypes = np.nonzero(model.votes)[0].tolist()
    names = _names(model)
    heads = ("points for", "points against")
    heads = ("adds", "subtracts") if model.classes is None else heads
    tables: dict[int, list[PointsTable]] = {output: [] for output in range(len(names))}
    for j, output in enumerate(labels.tolist()):
        if output != alone:
            about = names[output], prototypes[j], heads
            made = _table(preparation, X, weights[j], constants[j], *about)
            tables[output].append(made)
    if model.classes is None:
        start = _text(tables[0][0].start)
        sentences = [
            f"The prediction is {start} plus the contributions; {_most(tables[0])}."
        ]
    else:
        sentences = [
            f"{names[output]}, if {_where(output, len(group), alone)}; {_most(group)}."
            for output, group in tables.items()
            if group
        ]
    if alone >= 0:
        sentences.append(f"{names[alone]} otherwise.")
    return tuple(sentences), tuple(itertools.chain(*tables.values()))


def _names(model: PrototypeModel) -> list[str]:
    return ["the prediction"] if model.classes is None else [*map(str, model.classes)]


def _where(output: int, n_prototypes: int, alone: int) -> str:
    """When a class is the answer."""
    whose = "its points"
    if n_prototypes > 1:
        whose = f"the points of one of its {n_prototypes} prototypes"
    if alone < 0:
        return f"the sum of {whose} is the highest"
    return f"the sum of {whose} is {'above 0' if output else '0 or more'}"


def _most(tables: list[PointsTable]) -> str:
    """The terms of most effect, of all tables in turn."""
    words: dict[str, str] = {}
    for turn in itertools.zip_longest(*(table.terms for table in tables)):
        for column, term in filter(None, turn):
            # Where prototypes differ in the direction, only the column is named.
            words[column] = term if words.get(column, term) == term else column
    terms = [*words.values()][:_MOST_TERMS]
    *first, last = terms or ["no column, as none is used"]
    return f"largest contributions: {', '.join(first)}{' and ' * bool(first)}{last}"


def _table(
    preparation: Preparation,
    X: np.ndarray,
    weights: np.ndarray,
    constant: float,
    title: str,
    prototype: int | None,
    heads: tuple[str, str],
) -> PointsTable:
    """The lines of one weighted sum of features."""
    effects, start = column_effects(weights, preparation, X), float(constant)
    lines: list[dict[str, str]] = []
    terms: dict[str, str] = {}
    for place in np.argsort(-effects, kind="stable"):
        spec = preparation.inputs[place]
        column_weights = weights[spec.features]
        for i in np.argsort(-np.abs(column_weights), kind="stable")[
            : np.count_nonzero(column_weights)
        ]:
            if spec.kind == "number":
                step = usual_step(X[:, spec.first], spec.integer)
                origin = step * round(spec.fill / step)
                start += column_weights[i] * origin
                what, points = (
                    _step(spec, step, origin),
                    float(column_weights[i] * step),
                )
                term = f"{'higher' if points > 0 else 'lower'} {spec.name}"
            else:
                what, points = (
                    spec.levels[spec.feature_levels[i]],
                    float(column_weights[i]),
                )
                term = f"{spec.name} {'=' if points > 0 else '≠'} {what}"
            terms.setdefault(spec.name, term)
            signs = zip(heads, (points > 0, points < 0), strict=True)
            both = {head: _text(abs(points)) if sign else "" for head, sign in signs}
            lines.append({"column": spec.name, "level or step": what, **both})
    shown = tuple(lines[:_MOST_LINES])
    left_out = len(lines) - len(shown)
    return PointsTable(title, prototype, start, shown, left_out, (*terms.items(),))


def _step(spec: Input, step: float, origin: float) -> str:
    """A step of a number as words: per 10 mg/dl above 120."""
    unit = _UNIT.search(spec.name)
    unit = f" {unit[1]}" if unit else ""
    above = f" above {origin:.10g}" if origin else ""
    return f"per {step:.10g}{unit}{above}"


def _text(number: float) -> str:
    """A number that is read aloud: three digits, large ones in full."""
    return plain_number(number, 3)


def _cases(
    model: PrototypeModel, preparation: Preparation
) -> tuple[tuple[str, ...], tuple[PointsTable, ...]]:
    """Sentences, and the values of each case, or the mean of each mix."""
    share = np.abs(model.mixing)
    cases = (share / np.maximum(share.sum(axis=0), 1e-300)).T @ model.prototypes
    apart, weights = (cases - model.center) / model.scale, model.similarity.weights
    if len(weights) == model.n_features:
        apart = apart * np.sqrt(weights)
    tables, sentences, names = [], comparison_in_words(model), _names(model)
    for j, case in enumerate(cases):
        size = preparation.sum_by_column(apart[j] ** 2)
        order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
        inputs = [preparation.inputs[i] for i in order[:_MOST_LINES]]
        lines = tuple({"column": i.name, "value": _value(i, case)} for i in inputs)
        title = names[model.prototype_labels[j]]
        tables.append(PointsTable(title, j, None, lines, len(order) - len(lines)))
    sides = {
        name: model.prototype_labels == output for output, name in enumerate(names)
    }
    if model.classes is None:
        sides = {
            "Raise the prediction": model.votes[:, 0] > 0,
            "Lower the prediction": model.votes[:, 0] < 0,
        }
    for name, side in sides.items():
        numbers = ", ".join(str(j + 1) for j in np.flatnonzero(side)) or "none"
        sentences.append(f"{name}: prototype{'s' * int(side.sum() > 1)} {numbers}.")
    return tuple(sentences), tuple(tables)


def _value(spec: Input, case: np.ndarray) -> str:
    """A column's value of a case; of a mix of levels the largest, with its value."""
    part = case[spec.features]
    if spec.kind == "number":
        return f"{round(part[0], spec.decimals) + 0.0:.{spec.decimals}f}"
    shares = np.zeros(len(spec.levels))
    shares[list(spec.feature_levels)] = part
    if spec.dropped >= 0:
        shares[spec.dropped] = 1.0 - part.sum()
    most = int(shares.argmax())
    mixed = bool(abs(shares[most] - 1.0) > 5e-3)
    return spec.levels[most] + f" ({shares[most]:.2f})" * mixed
