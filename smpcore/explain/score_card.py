"""A small linear model of several classes as a card of points that are added by hand.

Of two classes `risk_score` chooses points, with the risk of their total.

Every column that the model uses is cut into a few ranges with round edges. With w_jf
the weight per unit of feature f in score j and m_b the mean of the training values in
range b, the search begins with round(w_jf m_b / u) points; u, the value of one point,
is common to all columns and scores. Then points are changed as whole numbers, one line
or all lines above an edge at a time, while that gives more training rows the prediction
of the model. Rows that fall into the same lines get the same points: the most frequent
prediction among them bounds what any points can reach.

There is a total for each score, and the largest one wins. Of all sizes the card with
the fewest ranges and the smallest points is taken that is nearly as good as the best
one. Only training rows are looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from smpcore.datasets import Input, Preparation
from smpcore.errors import SmpcoreError
from smpcore.explain.points import score_sums
from smpcore.model import PrototypeModel
from smpcore.readouts import Section, number_text

#: A card that is added by hand has no more totals and columns.
MAX_TOTALS, MAX_COLUMNS = 3, 8
#: Ranges of a column and points of a line, at most, from small to large.
_RANGES = (2, 3, 4, 5, 6, 8)
_POINTS = (5, 9, 20, 50, 99)
#: Training rows that a smaller card may predict otherwise, as a share.
_TOLERATED = 0.005
#: Of more training rows, evenly spread ones are looked at.
_MOST_ROWS = 4000
_RULE = "The class with the most points is predicted; the first of equal ones."
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
    class_of_total : ndarray of int, shape (n_totals,)
        Number of the class that each total belongs to.
    classes : ndarray of shape (n_classes,)
        Labels; ties go to the lowest class.
    n_rows : int
        Training rows that it was chosen on.
    agreement, bound : float
        Share of them with the prediction of the model, and the largest one that any
        points of these ranges could reach.
    """

    points: np.ndarray
    start: np.ndarray
    class_of_total: np.ndarray
    classes: np.ndarray
    n_rows: int
    agreement: float
    bound: float
    _cuts: tuple[_Cut, ...]

    def to_frame(self) -> pd.DataFrame:
        """The card as a table, one line for each range or level."""
        words = [(cut.column.name, word) for cut in self._cuts for word in cut.words()]
        frame = pd.DataFrame(words, columns=["column", "value"])
        names = self.classes[self.class_of_total]
        for name, points, start in zip(names, self.points.T, self.start, strict=True):
            heading = f"points for {name}"
            heading += f" (start with {start})" if start else ""
            if heading in frame:  # two prototypes of a class
                heading += " "
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
        return self.classes[self.class_of_total[self.totals(X).argmax(axis=1)]]


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
        Linear classifier of more than two classes, with at most 3 prototypes and 8 used
        columns.
    preparation : Preparation
        It was fitted with.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows: ranges and points are chosen on them.

    Returns
    -------
    ScoreCard

    Raises
    ------
    SmpcoreError
        If the model is not linear, no classifier of more than two classes, or too
        large: which, and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> from smpcore import SMaLLClassifier, prepare, load_dataset, split
    >>> data = load_dataset("iris")
    >>> rows = split(data).train
    >>> preparation = prepare(data, rows)
    >>> X = preparation.transform(data.frame)[rows]
    >>> fitted = SMaLLClassifier(n_prototypes=1, k=2).fit(X, data.y[rows])
    >>> card = score_card(fitted.model_, preparation, X)
    >>> bool((card.predict(X) == fitted.predict(X)).mean() > 0.85)
    True
    """
    if model.classes is None or not model.is_linear or model.code_size:
        raise SmpcoreError(
            "A score card needs a linear classifier; choose SMP, SMaLL, the SVM with "
            "the linear kernel, or the linear similarity."
        )
    if len(model.classes) == 2:
        raise SmpcoreError(
            "A score card is of more than two classes; smpcore.explain.risk_score "
            "chooses points for two, with the risk of their total."
        )
    weights, *_ = score_sums(model)
    used = np.flatnonzero(preparation.used_columns((weights != 0).any(axis=0)))
    if len(weights) > MAX_TOTALS or not 0 < len(used) <= MAX_COLUMNS:
        raise SmpcoreError(
            f"A score card has at most {MAX_TOTALS} totals and 1 to {MAX_COLUMNS} "
            f"columns; this model has {len(weights)} and {len(used)}. Use fewer "
            "prototypes and more sparsity."
        )
    inputs = [preparation.inputs[i] for i in used]
    # The sizes in their order, up to one that no other can surpass by much.
    X, cards = X[:: -(-len(X) // _MOST_ROWS)], []
    searches = [_Search(model, inputs, X, n) for n in _RANGES]
    least = max(search.bound for search in searches) - _TOLERATED
    for search, most in itertools.product(searches, _POINTS):
        cards.append(search.card(most))
        if cards[-1].agreement >= least:
            return cards[-1]
    least = max(card.agreement for card in cards) - _TOLERATED
    return next(card for card in cards if card.agreement >= least)


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
    words.append(
        f"On {number_text(card.agreement)} of {card.n_rows:,} training rows the card "
        "predicts as the model does; no points for its ranges reach more than "
        f"{number_text(card.bound)}."
    )
    for title, (rows, y, *_, weights) in parts.items():
        if not len(y):
            continue
        right = [
            100 * np.average(one.predict(rows) == y, weights=weights)
            for one in (card, model)
        ]
        weighted = ", weighted" if weights is not None else ""
        words.append(
            f"{title}: accuracy of the card {right[0]:.1f} %, of the model "
            f"{right[1]:.1f} % ({len(y)} rows{weighted})."
        )
    lines = card.to_frame().to_dict("records")
    return Section("Score card", (lines, _RULE, " ".join(words)))


class _Search:
    """Columns cut into so many ranges, and training rows by the lines they fall into.

    Rows that fall into the same lines and have the same prediction are one cell.
    """

    def __init__(
        self,
        model: PrototypeModel,
        inputs: list[Input],
        X: np.ndarray,
        n_ranges: int,
    ) -> None:
        weights, self.constants, self.class_of, _ = score_sums(model)
        self.classes, self.n_rows = model.classes, len(X)
        self.cuts = tuple(
            _Cut(column, _round_edges(X[:, column.first], n_ranges, column.integer))
            for column in inputs
        )
        self.values = [_line_values(weights, cut, X) for cut in self.cuts]
        lines = [cut.lines(X) for cut in self.cuts]
        rows = np.column_stack([*lines, model.decide(model.scores(X))])
        rows, self.counts = np.unique(rows, axis=0, return_counts=True)
        self.lines, self.wanted = rows[:, :-1], rows[:, -1]
        place = np.unique(self.lines, axis=0, return_inverse=True)[1].ravel()
        most = np.zeros(len(rows))
        np.maximum.at(most, place, self.counts)
        #: Share of rows that get the prediction of the model at most, by any points.
        self.bound = float(most.sum()) / self.n_rows

    def moves(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Column, total and the lines whose points change together."""
        for column, (cut, value) in enumerate(zip(self.cuts, self.values, strict=True)):
            lines = np.arange(cut.n_lines)
            for total in range(value.shape[1]):
                if column == 0:  # what all rows begin with
                    yield column, total, lines >= 0
                for line in lines if value[:, total].any() else ():
                    yield column, total, lines == line
                    if cut.column.kind == "number" and line:
                        yield column, total, lines >= line

    def card(self, most: int) -> ScoreCard:
        """A card of points up to `most`, searched from those nearest to the model's."""
        lowest = [value.min(axis=0) for value in self.values]
        parts = [value - low for value, low in zip(self.values, lowest, strict=True)]
        unit = max(part.max() for part in parts) / most or 1.0
        points = [np.rint(part / unit).astype(int) for part in parts]
        # Until the end, constants are points of each line of the first column.
        constants = self.constants + np.sum(lowest, axis=0)
        points[0] += np.rint(constants / unit).astype(int)
        right = self._improve(points, most)
        lowest = [of.min(axis=0) for of in points]
        points = [of - low for of, low in zip(points, lowest, strict=True)]
        cuts, points = zip(*map(_without_equal_lines, self.cuts, points), strict=True)
        start = np.sum(lowest, axis=0)
        return ScoreCard(
            points=np.vstack(points),
            start=start - start.min(),
            class_of_total=self.class_of,
            classes=self.classes,
            n_rows=self.n_rows,
            agreement=right / self.n_rows,
            bound=self.bound,
            _cuts=cuts,
        )

    def _improve(self, points: list[np.ndarray], most: int) -> int:
        """Change points while more rows get the prediction of the model; how many do.

        The points of a number rise or fall throughout, as the model's do.
        """
        pairs = zip(points, self.lines.T, strict=True)
        totals = sum(of[line] for of, line in pairs) + 0.0
        shifts, right, before = np.arange(-most, most + 1), 0, -1
        while right > before:
            before = right
            for column, total, moved in self.moves():
                changed = points[column][:, total] + shifts[:, None] * moved
                is_possible = moved.all() | (np.ptp(changed, axis=1) <= most)
                if self.cuts[column].column.kind == "number":
                    slopes = np.diff(self.values[column][:, total])
                    is_possible &= (np.diff(changed) * slopes >= 0).all(axis=1)
                rows = moved[self.lines[:, column]]
                counts = self._counts(totals[rows], rows, total, most)
                counts[~is_possible] = -1
                best = shifts[counts == counts.max()]
                # Of equal thresholds the one in the middle, else what changes least.
                middle = best[len(best) // 2]
                shift = middle if moved.all() else best[np.abs(best).argmin()]
                points[column][:, total] += shift * moved
                totals[rows, total] += shift
            is_right = self.class_of[totals.argmax(axis=1)] == self.wanted
            right = int(self.counts[is_right].sum())
        return right

    def _counts(
        self, totals: np.ndarray, rows: np.ndarray, total: int, most: int
    ) -> np.ndarray:
        """How many of some rows get the model's prediction, by a total's shift."""
        current, rest = totals[:, total], np.delete(totals, total, axis=1)
        # It wins from this shift on: of equal totals the first one does.
        after = np.floor(rest[:, :total].max(axis=1, initial=-np.inf) - current) + 1
        before = np.ceil(rest[:, total:].max(axis=1, initial=-np.inf) - current)
        first = np.clip(np.maximum(after, before), -most, most + 1).astype(int) + most
        counts, wanted = self.counts[rows], self.wanted[rows]
        others = np.delete(self.class_of, total)[rest.argmax(axis=1)] == wanted
        gained = counts * ((self.class_of[total] == wanted) * 1 - others)
        gained = np.bincount(first, gained, 2 * most + 2)
        return np.cumsum(gained)[:-1] + (counts * others).sum()


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
