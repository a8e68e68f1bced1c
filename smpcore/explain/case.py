"""One case beside the training rows: what a sheet about its answer says.

Of a regression that is which change of one column would move the number by so much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.spatial import cKDTree

from smpcore.codegen import used_inputs
from smpcore.datasets import Input, Preparation, list_names, plain_number
from smpcore.errors import SmpcoreError
from smpcore.explain.contributions import Contributions, contributions
from smpcore.explain.flip import (
    Counterfactual,
    changed_columns,
    is_solved,
    kept_orders,
    limits_of,
    on_grid,
    orders_of,
    smallest_change,
)
from smpcore.model import PrototypeModel, chance
from smpcore.readouts import number_text

#: Values of a number that are tried on each side before the crossing is located.
_TRIED = 64


def single_column_changes(
    model: PrototypeModel,
    preparation: Preparation,
    x: np.ndarray,
    amount: float,
    frozen: Sequence[int] | None = None,
    orders: np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Find for each column the nearest value that moves the prediction by an amount.

    All other columns stay. A number stays within the training range; from the value of
    the row outwards, the first one is given at which the prediction has moved so far.
    Of a model whose prediction is no straight line in the column this is located
    between 64 values on each side: a narrower bump can be missed. Of a category the
    level is given that moves the prediction least among those that move it so far.

    Parameters
    ----------
    model : PrototypeModel
        Regression whose prediction should move.
    preparation : Preparation
        Preparation that maps its features to table columns.
    x : ndarray of shape (n_features,), user's units
        The input to start from.
    amount : float
        How far the prediction should move, in units of the target; above 0.
    frozen : sequence of int, optional
        Features that stay as they are. By default those of the columns that cannot be
        changed (`Preparation.fixed_features`).
    orders : ndarray of int, shape (n_pairs, 2), optional
        Of each pair the first feature stays at most the second, if it is so in x.

    Returns
    -------
    list of dict
        For each used column that can do it and may be changed, the smallest change in
        standard deviations first: ``column``, ``now``, ``raises it at`` and ``lowers
        it at`` as text, empty where no value within the training range does.

    Raises
    ------
    SmpcoreError
        If the model is a classifier, or `amount` is not above 0.
    """
    if model.classes is not None:
        raise SmpcoreError("A classifier predicts no number that could be moved.")
    if not (amount > 0 and np.isfinite(amount)):
        raise SmpcoreError(f"amount={amount:g} should be above 0.")
    lines, frozen = [], preparation.fixed_features if frozen is None else frozen
    orders = np.zeros((0, 2), np.int64) if orders is None else orders
    lower, upper = orders_of(x, orders, model.scale).T
    for spec in preparation.inputs:
        if spec.first in frozen or not model.support[spec.features].any():
            continue
        if spec.kind == "number":
            low = x[lower[upper == spec.first]].max(initial=spec.low)
            high = x[upper[lower == spec.first]].min(initial=spec.high)
            if low > high:
                continue
            spec = replace(spec, low=float(low), high=float(high))
        search = _level if spec.kind == "category" else _number
        ways = [search(model, spec, x, sign * amount) for sign in (1, -1)]
        if any(ways):
            up, down = (way[1] if way else "" for way in ways)
            size = min(way[0] for way in ways if way)
            line = {"column": spec.name, "now": spec.text(x)}
            lines.append((size, line | {"raises it at": up, "lowers it at": down}))
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])]


def _number(
    model: PrototypeModel, spec: Input, x: np.ndarray, amount: float
) -> tuple[float, str] | None:
    """Size of the change in standard deviations, and the new value as text."""
    place = spec.first
    start = model.predict(x[None])[0]

    def missing(values: np.ndarray) -> np.ndarray:
        rows = np.repeat(x[None], np.size(values), axis=0)
        rows[:, place] = values
        return (model.predict(rows) - start - amount) * np.sign(amount)

    crossings = list(_crossings(missing, float(x[place]), spec))
    if not crossings:
        return None
    value = min(crossings, key=lambda v: abs(v - x[place]))
    moved = x.copy()
    # Rounded away from the row's value to the column's digits, if that holds.
    rounded = on_grid(value, value > x[place], spec.decimals, spec.low, spec.high)
    moved[place] = rounded if missing(np.array([rounded]))[0] >= 0 else value
    return abs(value - x[place]) / model.scale[place], spec.text(moved)


def _crossings(missing: Any, now: float, spec: Input) -> Iterator[float]:
    """The first value on each side at which nothing is missing any more."""
    start = float(np.clip(now, spec.low, spec.high))
    whole = spec.integer and now.is_integer()
    for limit in (spec.low, spec.high):
        values = np.linspace(start, limit, _TRIED + 1)
        if whole:
            values = np.unique(values.round())[:: 1 if limit > start else -1]
        there = np.flatnonzero(missing(values) >= 0)
        if not there.size:
            continue
        if there[0] == 0:  # the way back into the range is enough
            yield start
            continue
        before, after = values[there[0] - 1], values[there[0]]
        if whole:
            step = np.sign(after - before)
            values = np.arange(before + step, after + step, step)
            yield float(values[np.flatnonzero(missing(values) >= 0)[0]])
        else:
            yield float(brentq(lambda v: missing(np.array([v]))[0], before, after))


def _level(
    model: PrototypeModel, spec: Input, x: np.ndarray, amount: float
) -> tuple[float, str] | None:
    """The same for a category: the level with the least sufficient move."""
    rows = np.repeat(x[None], len(spec.levels), axis=0)
    rows[:, spec.features] = np.arange(len(spec.levels))[:, None] == np.array(
        spec.feature_levels
    )
    moved = (model.predict(rows) - model.predict(x[None])[0]) * np.sign(amount)
    enough = np.flatnonzero(moved >= abs(amount))
    if not enough.size:
        return None
    best = int(enough[moved[enough].argmin()])
    change = (rows[best] - x) / model.scale
    return float(np.linalg.norm(change)), spec.levels[best]


#: Lines of contributions, columns of other tables, and nearest training cases: what
#: fits on one printed page.
_MOST_PARTS, _MOST_COLUMNS, _NEAREST = 10, 8, 3
#: Changes take so many columns where they can; so many others are shown beside the
#: smallest one, compared with at most so many training rows.
_FEW, _MOST_OTHERS, _MOST_COMPARED = 3, 2, 1000
#: A regression's change is asked for a quarter of the training targets' spread.
_SHARE_OF_SPREAD = 0.25
#: Where the answer is less probable than another class by less, both are named.
_CLOSE = 0.1


@dataclass(frozen=True, eq=False)
class Case:
    """What is known of one answer, in words and the table's own units.

    Parameters
    ----------
    title : str
        Which row it is.
    answer : str
        The predicted class or number.
    facts : mapping of str to str
        Lead, probability and what the caller knows, in the order shown.
    remarks : tuple of str
        What was missing, out of range or unseen, a sentence each; empty if nothing was.
    sides : (str, str)
        What a positive and a negative part of a line is.
    parts : sequence of (str, str, float)
        Column, its value and its contribution, the largest first.
    rule : str
        How the answer was split, and what is not among the parts.
    nearest : sequence of mapping
        A line per column: this case beside training rows; empty if these are not shown.
    nearest_note : str
        What the nearest rows are, or why there are none.
    change : str
        The smallest change, in a sentence.
    changes : sequence of mapping
        The columns that it changes.
    others : sequence of mapping
        Other changes, a line each: without the column that those before change most.
    changed : ndarray of shape (n_features,) or None
        The row after the change, user's units; None where no answer changes.
    """

    title: str
    answer: str
    facts: Mapping[str, str]
    remarks: tuple[str, ...]
    sides: tuple[str, str]
    parts: Sequence[tuple[str, str, float]]
    rule: str
    nearest: Sequence[Mapping[str, str]]
    nearest_note: str
    change: str
    changes: Sequence[Mapping[str, Any]]
    others: Sequence[Mapping[str, str]] = ()
    changed: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class CaseExplainer:
    """A model with all that its cases are compared with.

    Parameters
    ----------
    model : PrototypeModel
        Model that answers.
    preparation : Preparation
        Preparation that it was fitted with.
    X : ndarray of shape (n_samples, n_features), user's units
        Its training rows.
    y : ndarray of shape (n_samples,)
        Their labels or numbers.
    target : str
        Name of what is predicted.
    numbers : ndarray of int, shape (n_samples,), optional
        Numbers under which training rows are shown; None: they are not shown.
    whole : Preparation, optional
        Preparation whose other columns are checked as well; default: `preparation`.
    """

    model: PrototypeModel
    preparation: Preparation
    X: np.ndarray
    y: np.ndarray
    target: str = ""
    numbers: np.ndarray | None = None
    whole: Preparation | None = None

    @cached_property
    def _spread(self) -> np.ndarray:
        """Standard deviation of each feature; 1 where it does not vary."""
        spread = self.X.std(axis=0)
        return np.where(spread > 0, spread, 1.0)

    @cached_property
    def _orders(self) -> np.ndarray:
        return kept_orders(self.X, self.preparation)

    def nearest(
        self, x: np.ndarray, without: int = -1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the (at most three) training rows nearest to an input.

        Their positions in `X`, but for `without`, and their distances: Euclidean over
        the features that the model uses, each in standard deviations.
        """
        differences = ((self.X - x) / self._spread)[:, self.model.support]
        distance = np.linalg.norm(differences, axis=1)
        if without >= 0:
            distance[without] = np.inf
        places = np.argsort(distance, kind="stable")[:_NEAREST]
        places = places[np.isfinite(distance[places])]
        return places, distance[places]

    def explain(
        self,
        row: pd.DataFrame,
        title: str,
        facts: Mapping[str, str] | None = None,
        frozen: Sequence[int] | None = None,
        without: int = -1,
        amount: float | None = None,
    ) -> Case:
        """Describe the answer to one raw row with every input column.

        Parameters
        ----------
        row : DataFrame of shape (1, n_columns)
        title : str
        facts : mapping of str to str, optional
            What the caller knows of the row.
        frozen : sequence of int, optional
            Features that the smallest change leaves as they are; by default those of
            the columns that cannot be changed.
        without : int
            Position of the row itself in `X`; -1: it is no training row.
        amount : float, optional
            How far a change of one column should move a predicted number; default:
            `usual_amount`.
        """
        model, x = self.model, self.preparation.transform(row)[0]
        split = contributions(model, x, "column", self.preparation)
        missing = self._missing(row)
        # Nobody can change what was not measured.
        held = self.preparation.fixed_features if frozen is None else frozen
        frozen = [*held, *(f for spec in missing for f in spec.positions)]
        parts, rule = self._parts(row, x, split)
        places = {spec.name: i for i, spec in enumerate(self.preparation.inputs)}
        columns = [places[name] for name, *_ in parts if name in places]
        if not columns:
            used = self.preparation.used_columns(model.support)
            columns = np.flatnonzero(used).tolist()
        if model.classes is None:
            sides = "raises it", "lowers it"
            change, *results = self._moves(x, amount or self.usual_amount, frozen)
        else:
            sides = tuple(
                f"for {self._name(c)}" for c in (split.winner, split.runner_up)
            )
            change, *results = self._flips(x, frozen, without)
        nearest, note = self._beside(x, columns[:_MOST_COLUMNS], without)
        return Case(
            title,
            self.answer(split),
            self.facts(x, split) | dict(facts or {}),
            self.remarks(row, x),
            sides,
            parts,
            rule,
            nearest,
            note,
            f"{change}{self._held(held)} {_NO_ADVICE}",
            *results,
        )

    def _name(self, output: int) -> str:
        return str(self.model.classes[output])

    def answer(self, split: Contributions) -> str:
        """The predicted class, or the number as text."""
        if self.model.classes is None:
            return number_text(split.lead, "target", 5)
        return self._name(split.winner)

    def facts(self, x: np.ndarray, split: Contributions) -> dict[str, str]:
        """Lead and, of a calibrated model, probabilities or an interval."""
        lead = {}
        if self.model.classes is not None:
            name = self._name(split.runner_up)
            lead[f"Lead over the runner-up, {name}"] = plain_number(split.lead)
        return lead | _certainty(self.model, x)

    def _missing(self, row: pd.DataFrame) -> list[Input]:
        """Columns without a value."""
        missing = self.preparation.report(row)["missing"]
        return [spec for spec in self.preparation.inputs if missing[spec.name]]

    def remarks(self, row: pd.DataFrame, x: np.ndarray) -> tuple[str, ...]:
        """What is odd about the row's values."""
        used = used_inputs(self.model, self.preparation)
        whole = self.whole or self.preparation
        others = {spec.name for spec in whole.inputs}.difference(used)
        odd = self.preparation.report_rows(row, used)
        idle = whole.report_rows(row, others)
        # Each column without a value with what the model takes in its place.
        missing = [
            f"{spec.name:.50} (counts as {_filled(spec, x)})"
            for spec in self._missing(row)
            if spec.name in used
        ]
        unusual = filter(None, (idle["out of range"][0], idle["unseen"][0]))
        sentences = {
            "Out of the training range": odd["out of range"][0],
            "Missing, and kept so in the changes below": list_names(
                missing, _MOST_PARTS, 150
            ),
            "Never seen in training, counts as none of the levels": odd["unseen"][0],
            "Unusual, but not used by this model": "; ".join(unusual),
        }
        return tuple(f"{words}: {text}." for words, text in sentences.items() if text)

    def value(self, row: pd.DataFrame, spec: Input, x: np.ndarray) -> str:
        """The value that the model got, and the raw one where that is another."""
        text, raw = f"{spec.text(x)} {spec.unit_beside}".strip(), row[spec.name].iloc[0]
        odd = self.preparation.report_rows(row, [spec.name])
        if odd["missing"][0]:
            return f"missing, counts as {_filled(spec, x)} {spec.unit_beside}".strip()
        if spec.kind == "number" and (beyond := spec.beyond(x[spec.first])):
            return f"{text} ({beyond})"
        return f"{raw!s:.50} (unseen)" if odd["unseen"][0] else text

    def _parts(
        self, row: pd.DataFrame, x: np.ndarray, split: Contributions
    ) -> tuple[list[tuple[str, str, float]], str]:
        """The largest contributions, and how they were made."""
        order = np.argsort(-np.abs(split.parts), kind="stable")
        order = order[split.parts[order] != 0]
        parts = []
        for i in order[:_MOST_PARTS]:
            name, value = f"{split.of} {i + 1}", ""
            if split.of == "column":
                spec = self.preparation.inputs[i]
                name, value = spec.name, self.value(row, spec, x)
            parts.append((name, value, float(split.parts[i])))
        smaller = split.parts[order[_MOST_PARTS:]]
        rule = self.sum_in_words(split)
        if smaller.size:
            rule += f" {smaller.size} smaller contributions add "
            rule += f"{plain_number(smaller.sum())} together."
        return parts, rule

    def sum_in_words(self, split: Contributions) -> str:
        """How an answer was split, and what the parts add up to."""
        if not split.exact:
            return split.rule
        what = "prediction" if self.model.classes is None else "lead"
        return (
            f"{split.rule} With the constant, {plain_number(split.rest)}, all "
            f"contributions sum to the {what}, {plain_number(split.lead, 5)}."
        )

    def _beside(
        self, x: np.ndarray, columns: Sequence[int], without: int
    ) -> tuple[list[dict[str, str]], str]:
        """The case beside the nearest training rows, a line per column."""
        if self.numbers is None:
            return [], "Training rows are not included in this sheet."
        places, distances = self.nearest(x, without)
        titles = [f"row {self.numbers[place]}" for place in places]
        lines = [
            {"": spec.name, "this case": spec.text(x)}
            | {t: spec.text(self.X[p]) for t, p in zip(titles, places, strict=True)}
            for spec in (self.preparation.inputs[i] for i in columns)
        ]
        answers = self.model.predict(self.X[places])
        for what, values in (("true value", self.y[places]), ("predicted", answers)):
            texts = [
                number_text(v, "target", 5) if self.model.classes is None else str(v)
                for v in values
            ]
            line = {"": what, "this case": ""}
            lines.append(line | dict(zip(titles, texts, strict=True)))
        apart = {t: plain_number(d, 3) for t, d in zip(titles, distances, strict=True)}
        lines.append({"": "distance", "this case": ""} | apart)
        return lines, (
            "Nearest by the columns that the model uses; the distance is in standard "
            "deviations of the training rows."
        )

    def _held(self, frozen: Sequence[int]) -> str:
        """Which columns of those that the model uses stay as they are."""
        used = self.preparation.used_columns(self.model.support)
        pairs = zip(self.preparation.inputs, used, strict=True)
        names = [one.name for one, is_used in pairs if is_used and one.first in frozen]
        return f" Held as they are: {list_names(names, 8)}." if names else ""

    def _outside(self, x: np.ndarray) -> np.ndarray:
        """Features that the model uses, outside of the training range."""
        model = self.model
        return model.support & ((x < model.low) | (x > model.high))

    def _searched(
        self, x: np.ndarray, frozen: Sequence[int]
    ) -> list[tuple[Counterfactual, list[dict[str, Any]]]]:
        """Changes of the answer, and of columns, each without a column of the last."""
        model, preparation = self.model, self.preparation
        held, results = list(frozen), []
        positions = {one.name: one.positions for one in preparation.inputs}
        outside = self._outside(x)
        while len(results) <= _MOST_OTHERS:
            limits = limits_of(model, x, (model.low, model.high), held, preparation)
            of_rows = preparation, self.X, _FEW, self._orders
            flip = smallest_change(model, x, limits, *of_rows)
            if flip is None:
                break
            changes = changed_columns(model, preparation, x, flip)
            results.append((flip, changes))
            names = (line["column"] for line in changes)
            free = (n for n in names if not outside[positions[n]].any())
            if (most := next(free, None)) is None:
                break
            held += positions[most]
        if not is_solved(model):
            # A search with a column less may have gone further.
            results.sort(key=lambda result: result[0].length)
        return results

    def _flips(
        self, x: np.ndarray, frozen: Sequence[int], without: int
    ) -> tuple[str, list[dict[str, Any]], list[dict[str, str]], np.ndarray | None]:
        """The smallest change of the answer, and others that differ in columns."""
        results = self._searched(x, frozen)
        outside = self._outside(x)
        if not results:
            words = "No change within the training range was found that would change "
            return f"{words}the prediction.", [], [], None
        flip, changes = results[0]
        stays = np.isin(np.flatnonzero(outside), frozen)
        within = "within the training range"
        within += " except for fixed columns" if stays.any() else ""
        within += ", including the way back into the range" if (~stays).any() else ""
        sentence = (
            f"The prediction would change from {self._name(flip.before)} to "
            f"{self._name(flip.after)}: {plain_number(flip.length)} standard "
            "deviations, summed over all columns (Manhattan distance; "
            f"{flip.description}, {within})."
        )
        sentence += self._order_in_words(x, flip.x)
        if len(changes) > _MOST_COLUMNS:
            n_more = len(changes) - _MOST_COLUMNS
            sentence += f" The {n_more} smallest of {len(changes)} are not listed."
        shares = [self._as_rare(flip.x, without) for flip, _ in results]
        sentence += (
            f" Of the training rows, {shares[0]} are as far from their nearest other "
            "row as the changed row is from its nearest one, or farther."
        )
        others = [
            {
                "instead": _in_one_line(lines),
                "prediction": self._name(other.after),
                "standard deviations": plain_number(other.length),
                "training rows as far": share,
            }
            for (other, lines), share in zip(results[1:], shares[1:], strict=True)
        ]
        return sentence, changes[:_MOST_COLUMNS], others, flip.x

    def _order_in_words(self, x: np.ndarray, moved: np.ndarray) -> str:
        """Which columns would have come out of order without being held back."""
        names = {one.first: one.name for one in self.preparation.inputs}
        digits = {one.first: 10.0**-one.decimals for one in self.preparation.inputs}
        orders = orders_of(x, self._orders, self.model.scale)
        words = [
            f"{names[lower]} at most {names[upper]}"
            for lower, upper in orders.tolist()
            if (moved[[lower, upper]] != x[[lower, upper]]).any()
            and moved[upper] - moved[lower] <= digits[lower]
        ]
        return f" As in all training rows: {list_names(words, 3, 80)}." if words else ""

    @cached_property
    def _usual(self) -> tuple[np.ndarray, np.ndarray]:
        """Training rows, evenly spread ones of many, and how far the next one is."""
        rows = (self.X / self._spread)[:, self.model.support]
        rows = rows[:: -(-len(rows) // _MOST_COMPARED)]
        return rows, cKDTree(rows).query(rows, k=[2])[0][:, 0]

    def _as_rare(self, x: np.ndarray, without: int) -> str:
        """Share of training rows that are as far from their nearest one as a row is.

        The row itself, if it is one of training, is not its nearest one.
        """
        rows, apart = self._usual
        distance = np.linalg.norm(rows - (x / self._spread)[self.model.support], axis=1)
        step = -(-len(self.X) // _MOST_COMPARED)
        if without >= 0 and without % step == 0:
            distance[without // step] = np.inf
        return chance(float((apart >= distance.min()).mean()))

    @cached_property
    def usual_amount(self) -> float:
        """A quarter of the training targets' standard deviation, as one digit."""
        return float(f"{_SHARE_OF_SPREAD * float(self.y.std()):.1g}") or 1.0

    def _moves(
        self, x: np.ndarray, amount: float, frozen: Sequence[int]
    ) -> tuple[str, list[dict[str, Any]]]:
        """What of single columns would move a predicted number."""
        of_row = self.preparation, x, amount, frozen, self._orders
        changes = single_column_changes(self.model, *of_row)
        sentence = "A change of one column that would move the prediction by "
        sentence += f"{plain_number(amount)}, all others as they are"
        if not changes:
            return f"{sentence}: none within the training range.", []
        sentence += " (empty: no value within the training range does)."
        return sentence, changes[:_MOST_COLUMNS]


def _certainty(model: PrototypeModel, x: np.ndarray) -> dict[str, str]:
    """Probabilities or an interval of a calibrated model, and what it learned from."""
    if model.calibration is None:
        return {}
    rows = {"Calibrated on": f"{model.calibration.rows:,} training rows"}
    is_class = model.classes is not None
    what = "Calibrated probability" if is_class else "90 % prediction interval"
    if (is_far := model.far_outside(x[None])[0]).any():
        names = list_names([model.feature_names[f] for f in np.flatnonzero(is_far)], 3)
        return {what: f"withheld, as this is far outside of the training rows: {names}"}
    if not is_class:
        low, high = model.intervals(x[None])[0]
        limits = f"{plain_number(low, 5)} to {plain_number(high, 5)}"
        limits = limits if low > -np.inf else "unbounded"
        return {what: limits} | rows
    shares = model.probabilities(x[None])[0]
    best = np.argsort(-shares, kind="stable")[:_NEAREST]
    text = ", ".join(f"{model.classes[c]} {chance(shares[c])}" for c in best)
    return {what: "; ".join(filter(None, (text, *doubts(model, x[None]))))} | rows


def doubts(model: PrototypeModel, X: np.ndarray) -> list[str]:
    """Say of each answer whether another class is more probable.

    Parameters
    ----------
    model : PrototypeModel
        Classifier that answers.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows that are answered.

    Returns
    -------
    list of str
        Empty where the answer is the most probable class, or no probability is known.
    """
    if model.classes is None or model.calibration is None:
        return [""] * len(X)
    shares, rows = model.probabilities(X), np.arange(len(X))
    best, answers = shares.argmax(axis=1), model.decide(model.scores(X))
    ahead = shares[rows, best] - shares[rows, answers]
    ahead[model.far_outside(X).any(axis=1)] = 0.0
    return [
        ""
        if not lead > 0
        else "too close to call"
        if lead < _CLOSE
        else f"{name} is more probable, but the prediction follows the scores and the "
        "threshold"
        for lead, name in zip(ahead, model.classes[best], strict=True)
    ]


_NO_ADVICE = "This describes the model, not cause and effect, and is no advice."


def _filled(spec: Input, x: np.ndarray) -> str:
    """What a missing value counts as: a mean is no value of the column's own digits."""
    return plain_number(x[spec.first]) if spec.kind == "number" else spec.text(x)


def _in_one_line(changes: list[dict[str, Any]]) -> str:
    """The largest changes of columns, as one text."""
    words = "; ".join(
        f"{change['column']}: {change['now']} → {change['then']}"
        for change in changes[:_MOST_COLUMNS]
    )
    n_more = len(changes) - _MOST_COLUMNS
    return f"{words}; {n_more} more" if n_more > 0 else words
