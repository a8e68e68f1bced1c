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
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from smpcore.datasets import Input, Preparation
from smpcore.errors import SmpcoreError
from smpcore.explain.flip import pieces
from smpcore.model import PrototypeModel

#: A card that is added by hand has no more totals and columns.
MAX_TOTALS, MAX_COLUMNS = 3, 8
#: Ranges of a column and points of a line, at most, from small to large.
_RANGES = (2, 3, 4, 5, 6, 8)
_POINTS = (5, 9, 20, 50, 99)
#: Training rows that a smaller card may predict otherwise, as a share.
_TOLERATED = 0.005


@dataclass(frozen=True, eq=False)
class ScoreCard:
    """Points of each range of each column, and what follows from their sum.

    Parameters
    ----------
    columns : tuple of str
        Column of each line.
    values : tuple of str
        Range or level of each line; with a star where a missing number counts.
    points : ndarray of int, shape (n_lines, n_totals)
        Points that a line adds to each total, at least 0.
    start : ndarray of int, shape (n_totals,)
        Points before the first line.
    threshold : int or None
        With one total: the second class is predicted from so many points on.
    totals_of : tuple of str
        Class that each total belongs to.
    classes : ndarray of shape (n_classes,)
        Labels; ties go to the lowest class.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    points: np.ndarray
    start: np.ndarray
    threshold: int | None
    totals_of: tuple[str, ...]
    classes: np.ndarray
    _cuts: tuple[_Cut, ...]
    _class_of_total: np.ndarray

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
        frame = pd.DataFrame({"column": self.columns, "value": self.values})
        names = ["points"] if self.threshold is not None else self.totals_of
        for name, points, start in zip(names, self.points.T, self.start, strict=True):
            heading = f"points for {name}" if self.threshold is None else name
            heading += f" (start with {start})" if start else ""
            heading += " " * (heading in frame)  # two prototypes of a class
            frame[heading] = points
        return frame

    def totals(self, X: np.ndarray) -> np.ndarray:
        """Points of each row.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Prepared rows.

        Returns
        -------
        ndarray of int, shape (n_samples, n_totals)
        """
        totals = np.tile(self.start, (len(X), 1))
        first = 0
        for cut in self._cuts:
            totals += self.points[first + cut.lines(X)]
            first += cut.n_lines
        return totals

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of each row, by its points.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Prepared rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        totals = self.totals(X)
        if self.threshold is not None:
            return self.classes[(totals[:, 0] >= self.threshold).astype(int)]
        return self.classes[self._class_of_total[totals.argmax(axis=1)]]


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
    weights, constants, class_of = pieces(model)
    weights = weights / model.scale
    constants = constants - weights @ model.center
    if len(weights) == 2 and class_of[0] != class_of[1]:
        weights, constants = weights[1:] - weights[:1], constants[1:] - constants[:1]
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
        columns=tuple(cut.column.name for cut in cuts for _ in range(cut.n_lines)),
        values=tuple(word for cut in cuts for word in cut.words()),
        points=np.vstack(points),
        start=np.rint(start / unit).astype(int),
        threshold=0 if one_total else None,
        totals_of=tuple(str(sums.classes[k]) for k in sums.class_of[-len(start) :]),
        classes=sums.classes,
        _cuts=cuts,
        _class_of_total=sums.class_of,
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
    tried = np.arange(totals.min(), totals.max() + 2)
    right = [(second == (totals >= limit)).sum() for limit in tried]
    best = np.flatnonzero(np.array(right) == max(right))
    return int(tried[best[len(best) // 2]])
