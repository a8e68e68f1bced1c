"""A small linear model as a card of whole points that are added by hand.

Every column that the model uses is cut into a few ranges with round edges. With w_jf
the weight per unit of feature f in score j and m_b the mean of the training values in
range b, the range has round(w_jf m_b / u) points; u, the value of one point, is common
to all columns and scores. Of two scores only the difference counts: one total is
compared with a threshold. Otherwise there is a total for each score, and the largest
one wins. Ranges, u and threshold are chosen on the training rows, so that as many of
them as possible get the prediction of the model with as few and as small points as
possible.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from smpcore.datasets import Input, Preparation
from smpcore.errors import SmpcoreError
from smpcore.explain.section import Section
from smpcore.explain.words import score_sums
from smpcore.model import PrototypeModel

#: A card that is added by hand has no more totals and columns.
MAX_TOTALS, MAX_COLUMNS = 3, 8
#: Ranges of a column and points of a line, at most, from small to large.
_RANGES = (2, 3, 4, 5, 6, 8)
_POINTS = (5, 9, 20, 50, 99)
#: Training rows that a smaller card may predict otherwise, as a share.
_TOLERATED = 0.005
_BY_HAND = (
    "Add the points of one line of each column; a star marks the line of a missing "
    "number. Ranges and points are chosen on the training rows."
)


@dataclass(frozen=True, eq=False)
class ScoreCard:
    """Points of each range of each column, and what follows from their sum.

    Parameters
    ----------
    points : ndarray of int, shape (n_lines, n_totals)
        Points that a line adds to each total, at least 0.
    start : ndarray of int, shape (n_totals,)
        Points before the first line.
    threshold : int or None
        With one total: the second class is predicted from so many points on.
    class_of_total : ndarray of int, shape (n_totals,)
        Number of the class that each total belongs to.
    classes : ndarray of shape (n_classes,)
        Labels; ties go to the lowest class.
    """

    points: np.ndarray
    start: np.ndarray
    threshold: int | None
    class_of_total: np.ndarray
    classes: np.ndarray
    _cuts: tuple[_Cut, ...]

    @property
    def rule(self) -> str:
        """What follows from the points, in a sentence."""
        if self.threshold is not None:
            return (
                f"{self.classes[1]} if the points sum to {self.threshold} or more, "
                f"otherwise {self.classes[0]}."
            )
        return "The class with the most points is predicted; the first of equal ones."

    def to_frame(self) -> pd.DataFrame:
        """The card as a table, one line for each range or level."""
        words = [(cut.column.name, word) for cut in self._cuts for word in cut.words()]
        frame = pd.DataFrame(words, columns=["column", "value"])
        names = self.classes[self.class_of_total]
        names = ["points"] if self.threshold is not None else names
        for name, points, start in zip(names, self.points.T, self.start, strict=True):
            heading = f"points for {name}" if self.threshold is None else name
            heading += f" (start with {start})" if start else ""
            heading += " " * (heading in frame)  # two prototypes of a class
            frame[heading] = points
        return frame

    def totals(self, X: np.ndarray) -> np.ndarray:
        """Points of each prepared row, shape (n_samples, n_totals)."""
        totals = np.tile(self.start, (len(X), 1))
        first = 0
        for cut in self._cuts:
            totals += self.points[first + cut.lines(X)]
            first += cut.n_lines
        return totals

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of each prepared row, by its points."""
        totals = self.totals(X)
        if self.threshold is not None:
            return self.classes[(totals[:, 0] >= self.threshold).astype(int)]
        return self.classes[self.class_of_total[totals.argmax(axis=1)]]


@dataclass(frozen=True, eq=False)
class _Cut:
    """The lines of one column: its levels, or ranges between edges."""

    column: Input
    edges: np.ndarray

    @property
    def n_lines(self) -> int:
        if self.column.kind == "number":
            return len(self.edges) + 1
        return len(self.column.levels)

    def lines(self, X: np.ndarray) -> np.ndarray:
        """Line of each row."""
        if self.column.kind == "number":
            return np.searchsorted(self.edges, X[:, self.column.first], side="right")
        levels = np.array(self.column.feature_levels)
        part = X[:, self.column.features]
        known = part.any(axis=1)
        default = max(self.column.dropped, 0)
        return np.where(known, levels[part.argmax(axis=1)], default)

    def words(self) -> list[str]:
        """Each line as text; a missing value counts as the line with the star."""
        if self.column.kind == "category":
            return list(self.column.levels)
        edges = [f"{end:.10g}" for end in self.edges]
        words = [f"< {edges[0]}"] if edges else ["any value"]
        words += [f"{low} to < {high}" for low, high in itertools.pairwise(edges)]
        words += [f"≥ {end}" for end in edges[-1:]]
        missing = int(np.searchsorted(self.edges, self.column.fill, side="right"))
        words[missing] += " *"
        return words


def score_card(
    model: PrototypeModel, preparation: Preparation, X: np.ndarray
) -> ScoreCard:
    """Turn a small linear classifier into a card of points.

    Parameters
    ----------
    model : PrototypeModel
        Linear classifier with at most 3 prototypes and 8 used columns.
    preparation : Preparation
        It was fitted with.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows: ranges, points and threshold are chosen on them.

    Returns
    -------
    ScoreCard

    Raises
    ------
    SmpcoreError
        If the model is not linear, no classifier, or too large: which, and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> from smpcore import SMaLLClassifier, prepare, load_dataset, split
    >>> data = load_dataset("breast_cancer")
    >>> rows = split(data).train
    >>> preparation = prepare(data, rows)
    >>> X = preparation.transform(data.frame)[rows]
    >>> fitted = SMaLLClassifier(n_prototypes=1, k=3).fit(X, data.y[rows])
    >>> card = score_card(fitted.model_, preparation, X)
    >>> bool((card.predict(X) == fitted.predict(X)).mean() > 0.95)
    True
    """
    if model.classes is None or not model.is_linear or model.code_size:
        raise SmpcoreError(
            "A score card needs a linear classifier; choose SMP, SMaLL, the SVM with "
            "the linear kernel, or the linear similarity."
        )
    weights, constants, class_of, alone = score_sums(model)
    if len(weights) == 2 and alone >= 0:  # one total is compared with a threshold
        only = class_of != alone
        weights, constants, class_of = weights[only], constants[only], class_of[only]
    used = np.flatnonzero(preparation.used_columns((weights != 0).any(axis=0)))
    if len(weights) > MAX_TOTALS or not 0 < len(used) <= MAX_COLUMNS:
        raise SmpcoreError(
            f"A score card has at most {MAX_TOTALS} totals and 1 to {MAX_COLUMNS} "
            f"columns; this model has {len(weights)} and {len(used)}. Use fewer "
            "prototypes and more sparsity."
        )
    inputs = [preparation.inputs[i] for i in used]
    sums = _Sums(weights, constants, class_of, model.classes)
    wanted = model.predict(X)
    cards = [
        (float((card.predict(X) == wanted).mean()), card)
        for card in _cards(sums, inputs, X, wanted)
    ]
    best = max(agreement for agreement, _ in cards)
    return next(card for agreement, card in cards if agreement >= best - _TOLERATED)


def card_section(
    model: PrototypeModel,
    preparation: Preparation,
    X: np.ndarray,
    parts: Mapping[str, tuple[np.ndarray | None, ...]],
) -> Section:
    """Write a score card with its accuracy beside the model's.

    Parameters
    ----------
    model, preparation, X : PrototypeModel, Preparation, ndarray
        As for `score_card`, whose errors it raises.
    parts : mapping of str to (ndarray, ndarray, ndarray or None, ndarray or None)
        Title of a part -> inputs, true labels, which rows depend on each other, and
        weights of the rows.

    Returns
    -------
    Section
    """
    card, words = score_card(model, preparation, X), [_BY_HAND]
    for title, (rows, y, *_, weights) in parts.items():
        if not len(y):
            continue
        right = [
            100 * np.average(one.predict(rows) == y, weights=weights)
            for one in (card, model)
        ]
        weighted = ", weighted for censoring" if weights is not None else ""
        words.append(
            f"{title}: accuracy of the card {right[0]:.1f} %, of the model "
            f"{right[1]:.1f} % ({len(y)} rows{weighted})."
        )
    lines = card.to_frame().to_dict("records")
    return Section("Score card", (lines, card.rule, " ".join(words)))


@dataclass(frozen=True, eq=False)
class _Sums:
    """The scores of a model as weighted sums of features, in the user's units."""

    weights: np.ndarray
    constants: np.ndarray
    class_of: np.ndarray
    classes: np.ndarray


def _cards(
    sums: _Sums, inputs: list[Input], X: np.ndarray, wanted: np.ndarray
) -> Iterator[ScoreCard]:
    """Cards of all sizes, those with the fewest ranges and smallest points first."""
    for n_ranges in _RANGES:
        cuts = tuple(
            _Cut(column, _round_edges(X[:, column.first], n_ranges, column.integer))
            for column in inputs
        )
        parts = [_line_values(sums.weights, cut, X) for cut in cuts]
        for most in _POINTS:
            card = _card(sums, cuts, parts, most)
            if card.threshold is not None:
                second = wanted == sums.classes[1]
                limit = _threshold(card.totals(X)[:, 0], second)
                card = replace(card, threshold=limit)
            yield card


def _card(
    sums: _Sums, cuts: tuple[_Cut, ...], parts: list[np.ndarray], most: int
) -> ScoreCard:
    """A card of points up to `most`; with one total its threshold is still to find."""
    lowest = [part.min(axis=0) for part in parts]
    largest = max((part - low).max() for part, low in zip(parts, lowest, strict=True))
    unit = largest / most if largest > 0 else 1.0
    pairs = zip(parts, lowest, strict=True)
    points = [np.rint((part - low) / unit).astype(int) for part, low in pairs]
    cuts, points = zip(*map(_without_equal_lines, cuts, points), strict=True)
    start = sums.constants + np.sum(lowest, axis=0)
    one_total = len(sums.weights) == 1
    start = np.zeros_like(start) if one_total else start - start.min()
    return ScoreCard(
        points=np.vstack(points),
        start=np.rint(start / unit).astype(int),
        threshold=0 if one_total else None,
        class_of_total=sums.class_of,
        classes=sums.classes,
        _cuts=cuts,
    )


def _without_equal_lines(cut: _Cut, points: np.ndarray) -> tuple[_Cut, np.ndarray]:
    """Join ranges of a number that have the same points."""
    if cut.column.kind == "category":
        return cut, points
    differs = (points[1:] != points[:-1]).any(axis=1)
    first_of_run = np.concatenate([[True], differs])
    return _Cut(cut.column, cut.edges[differs]), points[first_of_run]


def _line_values(weights: np.ndarray, cut: _Cut, X: np.ndarray) -> np.ndarray:
    """What each line adds to each sum: the mean over its training rows."""
    column, lines = cut.column, cut.lines(X)
    slopes = weights[:, column.features]
    if column.kind == "category":
        values = np.zeros((cut.n_lines, len(weights)))
        values[list(column.feature_levels)] = slopes.T
        return values
    counts = np.bincount(lines, minlength=cut.n_lines)
    totals = np.bincount(lines, X[:, column.first], cut.n_lines)
    return (totals / counts)[:, None] * slopes.T


def _round_edges(values: np.ndarray, n_ranges: int, integer: bool) -> np.ndarray:
    """Ends of at most so many ranges: multiples of 1, 2 or 5 times a power of ten.

    No range is without training rows, so the outermost end is inside the values.
    """
    low, high = np.percentile(values, [5, 95])
    spread = high - low or np.ptp(values) or 1.0
    power = int(np.floor(np.log10(spread / n_ranges)))
    for factor in (1, 2, 5, 10, 20, 50, 100):
        step = float(f"{factor}e{power}")
        if integer and step < 1:
            continue
        first, last = np.floor(low / step) + 1, np.ceil(high / step) - 1
        if last - first + 2 <= n_ranges:
            break
    edges = np.arange(first, last + 1) * step
    if not len(edges):
        edges = np.array([np.unique(values).mean()])
    filled = np.unique(np.searchsorted(edges, values, side="right"))
    return edges[filled[1:] - 1]


def _threshold(totals: np.ndarray, second: np.ndarray) -> int:
    """Points from which the second class is predicted, as the model does most often."""
    counts = np.bincount(totals - totals.min(), 2 * second - 1.0)
    # At the lowest limit all rows are of the second class; each next one loses some.
    right = np.cumsum(np.append(0.0, -counts))
    best = np.flatnonzero(right == right.max())
    return int(totals.min() + best[len(best) // 2])
