"""A model's rule in words and as tables of points: what each column adds to a score."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from smpcore.datasets import Input, Preparation, plain_number
from smpcore.datasets.structure import unit_of
from smpcore.explain.flip import pieces
from smpcore.model import PrototypeModel
from smpcore.model.portraits import mean_cases
from smpcore.readouts import Section
from smpcore.similarity import SIMILARITIES

#: Title of the section with the full rule, to nine digits.
NUMBERS = "The model in numbers"
#: A sentence names at most so many features.
_MOST_FEATURES = 8
_MOST_SENTENCES = 24


def rule_in_words(model: PrototypeModel) -> list[str]:
    """Say how the model decides.

    Parameters
    ----------
    model : PrototypeModel
        Model whose rule is written; of two classes with a weighted sum each it is
        about the outcome.

    Returns
    -------
    list of str
        Sentences, numbers in the user's units. A sum that names its largest terms only
        says how many it leaves out, and by how much they change it at most while every
        feature is in its training range; their middle is part of the constant.
    """
    if model.is_linear and not model.code_size:
        sentences = _score_sentences(model)
    else:
        sentences = _comparison(model)
    hidden = len(sentences) - _MOST_SENTENCES
    if hidden > 0:
        more = f"… and {hidden} more, which may decide: {NUMBERS} has all."
        return [*sentences[:_MOST_SENTENCES], more]
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
    alone = 1 - model.outcome if sizes.max() == 1 else int(sizes.argmin())
    base = int(np.flatnonzero(labels == alone)[0])
    return weights - weights[base], constants - constants[base], labels, alone


def _score_sentences(model: PrototypeModel) -> list[str]:
    weights, constants, labels, alone = score_sums(model)
    if model.classes is None:
        return [f"The prediction is {_sum(model, weights[0], constants[0])}."]
    names = [str(label) for label in model.classes]
    prototypes = [""] * len(labels)
    if model.pooling == "max":  # the numbers that tables and pages have
        prototypes = [f"Prototype {j + 1}" for j in np.nonzero(model.votes)[0]]
    if alone >= 0:
        other = 1 - alone
        tests = {
            prototypes[j]: f"{_sum(model, weights[j])} {'>' if other else '≥'} "
            f"{plain_number(0 - constants[j])}"
            for j in np.flatnonzero(labels == other)
        }
        if len(tests) == 1:
            (test,) = tests.values()
            return [f"{names[other]}, if {test}.", f"{names[alone]} otherwise."]
        lines = [f"{names[other]}, if at least one of these {len(tests)} holds:"]
        lines += [f"{prototype}: {test}" for prototype, test in tests.items()]
        return [*lines, f"{names[alone]} otherwise."]
    scores = [
        f"{f'{prototypes[j]}, ' if prototypes[j] else ''}{names[output]}: "
        f"{_sum(model, weights[j], constants[j])}"
        for j, output in enumerate(labels)
    ]
    return ["The class with the highest score is predicted:", *scores]


def _sum(model: PrototypeModel, weights: np.ndarray, constant: float = 0.0) -> str:
    """A weighted sum of features as text, the weightiest first."""
    order = np.argsort(-np.abs(weights * model.scale), kind="stable")
    order = order[weights[order] != 0]
    terms = [
        (weights[f], f"{plain_number(abs(weights[f]))} · {model.feature_names[f]}")
        for f in order[:_MOST_FEATURES]
    ]
    left = order[_MOST_FEATURES:]
    corners = weights[left] * np.array([model.low[left], model.high[left]])
    constant += corners.sum() / 2.0
    if constant or not terms:
        terms.append((constant, plain_number(abs(constant))))
    text = " ".join(f"{'−' if size < 0 else '+'} {term}" for size, term in terms)
    if len(left):
        most = _at_most(np.abs(corners[1] - corners[0]).sum() / 2.0)
        text += f" ± at most {most} ({len(left)} smaller terms)"
    return text.removeprefix("+ ") if text[0] == "+" else text.replace(" ", "", 1)


def _at_most(number: float) -> str:
    """A limit in two digits, never rounded down."""
    step = 10.0 ** (np.floor(np.log10(number)) - 1) if number else 1.0
    return plain_number(np.ceil(number / step) * step, 2)


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
    full = (
        f"Tables here are rounded; {NUMBERS}, below, has nine digits of every number."
    )
    lines += [*steps(model), _intercepts(model), full]
    names = ["Raise the prediction", "Lower the prediction"]
    if model.classes is None:
        side = (model.votes[:, 0] < 0).astype(int)
    else:
        names, side = map(str, model.classes), model.prototype_labels
    for number, name in enumerate(names):
        those = np.flatnonzero(side == number) + 1
        numbers = ", ".join(map(str, those)) or "none"
        lines.append(f"{name}: prototype{'s' if len(those) > 1 else ''} {numbers}.")
    return lines


def steps(model: PrototypeModel) -> list[str]:
    """Say how the numbers of a model give an answer, step by step."""
    similarity = model.similarity
    formula = SIMILARITIES[similarity.kind].formula
    words = ["x = (value - mean) / standard deviation, feature by feature."]
    if model.is_linear:
        words.append("Activation of a prototype: bias + sum of x times its weight.")
    elif not formula:
        words = [
            f"The similarity {similarity.kind} has no formula of a few terms: nobody "
            "can follow this rule by hand."
        ]
    else:
        values = ", ".join(
            f"{name} = {nine_digits(getattr(similarity, name))}"
            for name in ("gamma", "degree", "coef0")
            if name in formula
        )
        words.append(
            f"Similarity to a case z: {'; '.join(filter(None, (formula, values)))}."
        )
        mixed = "sum of similarity times share"
        mixed = "similarity" if is_identity(model.mixing) else mixed
        words.append(f"Activation of a prototype: bias + {mixed}.")
    if model.code_size:
        words.append(
            f"Code: at most {model.code_size} coefficients c >= 0, found one after the "
            "other (greedily), that minimise c'Gc / 2 less the sum of c times the "
            "activations; they take the place of the activations. Where none is above "
            f"0, {model.classes[model.fallback]} is predicted."
        )
    return [*words, pooling(model)]


def pooling(model: PrototypeModel) -> str:
    """Say how activations give scores, and scores an answer."""
    if model.classes is None:
        return "Prediction: intercept + sum of activation times weight."
    score = "intercept + the largest activation among its prototypes"
    if model.pooling == "sum":
        score = "intercept + sum of activation times the prototype's weight for it"
    words = f"Score of a class: {score}. The class with the highest score is predicted"
    if model.tie:
        words += f"; scores within {nine_digits(model.tie)} count as equal"
    return f"{words}; of equal ones the first class."


def _intercepts(model: PrototypeModel) -> str:
    numbers = [nine_digits(number) for number in model.intercept]
    if model.classes is None:
        return f"Intercept: {numbers[0]}."
    pairs = zip(model.classes, numbers, strict=True)
    return "Intercepts: " + ", ".join(f"{name} {n}" for name, n in pairs) + "."


def nine_digits(value: Any) -> str:
    """A number of the full rule."""
    return plain_number(value, 9)


def is_identity(mixing: np.ndarray) -> bool:
    """Whether each prototype is one case, with a share of 1."""
    n, m = mixing.shape
    return n == m and bool((mixing == np.eye(n)).all())


#: Tables, the lines of one, and the terms of a sentence, at most.
_MOST_TABLES, _MOST_LINES, _MOST_TERMS = 20, 15, 4
_FORMULA = (
    "Values are in the original units of the columns. What smaller terms change holds "
    "within the training range."
)


def rule_section(
    model: PrototypeModel,
    preparation: Preparation,
    X: np.ndarray,
    names: Sequence[str] = (),
) -> Section:
    """Write a model's rule as sentences, tables of points and a formula.

    Parameters
    ----------
    model : PrototypeModel
        Model whose rule is written.
    preparation : Preparation
        It was fitted with.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows: they say what step of a number is usual, and how much a column
        changes the score.
    names : sequence of str
        Of the prototypes; default: their numbers and classes.

    Returns
    -------
    Section
    """
    outputs = _names(model)
    if not names:
        labels = [outputs[k] for k in model.prototype_labels]
        names = [f"Prototype {j + 1}: {label}" for j, label in enumerate(labels)]
    if model.is_linear and not model.code_size:
        sentences, tables = _linear(model, preparation, X, names)
        words = rule_in_words(model)
        formula = [Section("As a formula", (*words, _FORMULA), True)]
    else:
        sentences, formula = rule_in_words(model), []
        tables = _cases(model, preparation, names)
    more = len(tables) - _MOST_TABLES
    shown = tables[:_MOST_TABLES]
    words = f"{more} more prototypes are left out, which may decide: {NUMBERS} has all."
    left_out = [words] if more > 0 else []
    return Section("Decision rule", (*sentences, *shown, *left_out, *formula))


class UnitEffect(NamedTuple):
    """What a usual step of a number, or a level of a category, adds to a score.

    Parameters
    ----------
    column : Input
        The table's column that the feature is made of.
    feature : int
        Number of the feature.
    step, origin : float
        Of a number: its step, and a round value near the middle; 0 for a level.
    level : str
        Of a category; empty for a number.
    points : float
        What the step, or the level, adds.
    """

    column: Input
    feature: int
    step: float
    origin: float
    level: str
    points: float

    @property
    def words(self) -> str:
        """The change in the column's own units: "+10 mg/dl chol", "sex = f"."""
        if self.level:
            return f"{self.column.name} = {self.level}"
        return f"{self.column.name}, +{self.step:.10g} {self.unit}".strip()

    @property
    def line(self) -> str:
        """The same without the column's name: "per 10 mg/dl above 120"."""
        above = f" above {self.origin:.10g}" if self.origin else ""
        words = f"per {self.step:.10g} {self.unit}".strip() + above
        return self.level or words

    @property
    def unit(self) -> str:
        """Of the column, as it was given or as it stands in its name."""
        return self.column.unit or unit_of(self.column.name)


def unit_effects(
    weights: np.ndarray, preparation: Preparation, X: np.ndarray
) -> list[UnitEffect]:
    """Say what steps and levels of the columns add to a weighted sum of features.

    Parameters
    ----------
    weights : ndarray of shape (n_features,), per unit of X
        Weight of each feature in the sum.
    preparation : Preparation
        Preparation that maps features to table columns.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows: they say what step is usual.

    Returns
    -------
    list of UnitEffect
        Of each feature with a weight; columns whose part of the sum varies most in X
        come first.
    """
    lines = []
    for place in np.argsort(-column_effects(weights, preparation, X), kind="stable"):
        spec = preparation.inputs[place]
        column_weights = weights[spec.features]
        for i in np.argsort(-np.abs(column_weights), kind="stable")[
            : np.count_nonzero(column_weights)
        ]:
            feature = spec.first + int(i)
            if spec.kind == "number":
                step = usual_step(X[:, spec.first], spec.integer)
                change = step, step * round(spec.fill / step), ""
            else:
                change = 1.0, 0.0, spec.levels[spec.feature_levels[i]]
            points = float(column_weights[i] * change[0])
            lines.append(UnitEffect(spec, feature, *change, points))
    return lines


def column_effects(
    weights: np.ndarray, preparation: Preparation, X: np.ndarray
) -> np.ndarray:
    """Standard deviation over rows of each column's part of a weighted sum."""
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
    model: PrototypeModel,
    preparation: Preparation,
    X: np.ndarray,
    prototypes: Sequence[str],
) -> tuple[list[str], list[Section]]:
    """Sentences, and a table for each score that counts."""
    weights, constants, labels, alone = score_sums(model)
    names = _names(model)
    titles = [names[k] for k in labels]
    if model.pooling == "max":
        titles = [prototypes[j] for j in np.nonzero(model.votes)[0]]
    heads = ("points for", "points against")
    heads = ("adds", "subtracts") if model.classes is None else heads
    tables, terms = [], {output: [] for output in range(len(names))}
    for j in np.argsort(labels, kind="stable"):  # those of one class together
        if labels[j] != alone:
            table, start, largest = _table(
                preparation, X, weights[j], constants[j], titles[j], heads
            )
            tables.append(table)
            terms[labels[j]].append(largest)
    if model.classes is None:
        words = f"The prediction is {_text(start)} plus the contributions"
        sentences = [f"{words}; {_most(terms[0])}."]
    else:
        sentences = [
            f"{names[output]}, if {_where(output, len(group), alone)}; {_most(group)}."
            for output, group in terms.items()
            if group
        ]
    if alone >= 0:
        sentences.append(f"{names[alone]} otherwise.")
    return sentences, tables


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


def _most(groups: list[dict[str, str]]) -> str:
    """The terms of most effect, of all prototypes in turn."""
    words: dict[str, str] = {}
    for turn in itertools.zip_longest(*(terms.items() for terms in groups)):
        for column, term in filter(None, turn):
            # Where prototypes differ in the direction, only the column is named.
            words[column] = term if words.get(column, term) == term else column
    terms = [*words.values()][:_MOST_TERMS]
    *first, last = terms or ["no column, as none is used"]
    named = f"{', '.join(first)} and {last}" if first else last
    return f"largest contributions: {named}"


def _table(
    preparation: Preparation,
    X: np.ndarray,
    weights: np.ndarray,
    constant: float,
    title: str,
    heads: tuple[str, str],
) -> tuple[Section, float, dict[str, str]]:
    """A weighted sum of features, its constant, and what of each column raises it."""
    start = float(constant)
    lines: list[dict[str, str]] = []
    terms: dict[str, str] = {}
    effects = unit_effects(weights, preparation, X)
    left = [effect.feature for effect in effects[_MOST_LINES:]]
    corners = weights[left] * np.array([X[:, left].min(axis=0), X[:, left].max(axis=0)])
    start += corners.sum() / 2.0  # their middle is part of the constant
    for effect in effects[:_MOST_LINES]:
        spec, points = effect.column, effect.points
        start += weights[effect.feature] * effect.origin
        term = f"{'higher' if points > 0 else 'lower'} {spec.name}"
        if effect.level:
            term = f"{spec.name} {_level(effect)}"
        terms.setdefault(spec.name, term)
        signs = zip(heads, (points > 0, points < 0), strict=True)
        both = {head: _text(abs(points)) if sign else "" for head, sign in signs}
        lines.append({"column": spec.name, "level or step": effect.line, **both})
    order = "sorted by effect on the training rows" if lines else "no column is used"
    words = f"Constant: {_text(start)}; {order}."
    most = _at_most(np.abs(corners[1] - corners[0]).sum() / 2.0)
    change = f": they change the sum by at most {most}, up or down"
    return _section(title, lines, words, len(effects), change), start, terms


def _level(effect: UnitEffect) -> str:
    """The level that raises a sum: of two the other one, if this one lowers it."""
    if effect.points > 0:
        return f"= {effect.level}"
    levels = effect.column.levels
    if len(levels) == 2:
        return f"= {levels[levels[0] == effect.level]}"
    return f"≠ {effect.level}"


def _section(
    title: str, lines: list[dict[str, str]], words: str, n_lines: int, change: str = ""
) -> Section:
    """A table, and what there is to say of it."""
    lines = lines[:_MOST_LINES]
    if more := n_lines - len(lines):
        noun = "line" if more == 1 else "lines"
        words += f" {more} {noun} with smaller effects omitted{change}."
    return Section(title, (lines, words))


def _text(number: float) -> str:
    """A number that is read aloud: three digits, large ones in full."""
    return plain_number(number, 3)


def _cases(
    model: PrototypeModel, preparation: Preparation, titles: Sequence[str]
) -> list[Section]:
    """The values of each case, or the mean of each mix."""
    cases = mean_cases(model)
    offset, weights = (cases - model.center) / model.scale, model.similarity.weights
    if len(weights) == model.n_features:
        offset = offset * np.sqrt(weights)
    tables = []
    for j, case in enumerate(cases):
        size = preparation.sum_by_column(offset[j] ** 2)
        order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
        inputs = [preparation.inputs[i] for i in order[:_MOST_LINES]]
        lines = [{"column": i.name, "value": _value(i, case)} for i in inputs]
        words = "Sorted by distance from the training mean."
        if model.pooling == "sum":
            weight = _text(model.votes[j, model.prototype_labels[j]])
            words = f"Weight: {weight}. {words}"
        tables.append(_section(titles[j], lines, words, len(order)))
    return tables


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
    level = spec.levels[most]
    return f"{level} ({shares[most]:.2f})" if mixed else level
