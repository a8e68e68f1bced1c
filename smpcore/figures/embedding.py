"""A curved surface through the rows of a table, on which any model is painted.

A flat window shows two directions of many. The map lays rows that are alike, in their
columns and in what models that did not know them score, beside each other (t-SNE), and
each of its points stands for an input of its own: a smooth surface through the rows
nearby. The model is asked about that input, nothing is guessed. What a surface leaves
out is measured on rows that it did not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import RBFInterpolator
from scipy.spatial import KDTree

from smpcore.errors import SmpcoreError
from smpcore.figures.views import View, edges, grid, units
from smpcore.model import PrototypeModel

#: Rows that are laid out together, and others that are placed among them, at most.
MOST_LAID_OUT, MOST_PLACED = 2000, 4000
#: With fewer rows there is no neighbourhood to keep.
FEWEST = 20
#: Features, from which on the inputs of a grid would not fit into memory.
MOST_FEATURES = 5000
#: Numbers that all inputs of a grid have, at most.
MOST_VALUES = 5e6
#: The longer side of the map; smoothing is in its units.
WIDTH = 100.0
#: Rows that a row counts as its neighbours: of these the table takes what fits it best.
PERPLEXITIES = 10.0, 30.0
#: How much a surface may pass beside its rows: likewise.
SMOOTHINGS = 1.0, 10.0, 100.0
#: Rows that a point of the surface follows.
NEIGHBOURS = 50
#: Parts of the rows, of which each is left out once.
FOLDS = 5
#: A point is far from the data beyond so many times the distance at which 95 % of the
#: rows have a neighbour.
FAR = 2.5
#: A prediction is shown if it is off by less than this share of the targets' range.
NEAR = 0.05
#: Share of the rows that are at the border: those with the smallest lead.
BORDER = 0.1
#: How often rows may move to where their answer is shown.
MOVES = 3

_NOTE = (
    "A curved surface through the rows: those that are alike{} lie beside each other "
    "(t-SNE). Distances are not to scale. Faded or blank: no row is near."
)
_BY_SCORES = " in their columns and in the scores of {}, fitted without them,"


@dataclass(frozen=True, eq=False)
class MapView(View):
    """A window onto a curved surface through rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows that the surface goes through, in the user's units.
    positions : ndarray of shape (n_known, 2)
        Where they lie, and others whose places are known.
    scale : ndarray of shape (n_features,)
        Unit of each feature; infinite, if it is constant.
    smoothing : float
        How much the surface may pass beside the rows.
    unseen : ndarray of shape (n_rows, n_features)
        Inputs at the rows' places, from surfaces that did not know these rows.
    known : dict of bytes to int
        Which of the positions is that of a row with these values.
    holds : bool
        Whether it is true enough for its regions to be looked at.
    """

    rows: np.ndarray = field(repr=False, kw_only=True)
    positions: np.ndarray = field(repr=False, kw_only=True)
    scale: np.ndarray = field(repr=False, kw_only=True)
    smoothing: float = field(kw_only=True)
    unseen: np.ndarray = field(repr=False, kw_only=True)
    known: dict[bytes, int] = field(repr=False, kw_only=True)
    holds: bool = field(default=True, kw_only=True)
    _grids: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def most_nodes(self) -> int:
        """Nodes along each axis, at most."""
        return int(np.clip(np.sqrt(MOST_VALUES / self.rows.shape[1]), 30, 100))

    def project(self, X: np.ndarray) -> np.ndarray:
        """Where rows lie; of other inputs the point whose input is nearest."""
        index = self._indices(X)
        xy = self.positions[index]
        if (index < 0).any():
            xy[index < 0] = self._nearest_points(X[index < 0])
        return xy

    def _indices(self, X: np.ndarray) -> np.ndarray:
        """Which of the places is that of each row; -1: its place is not known."""
        return np.array([self.known.get(key, -1) for key in _keys(X)], dtype=int)

    @property
    def at(self) -> np.ndarray:
        """Where the rows lie that the surface goes through."""
        return self.positions[: len(self.rows)]

    def _nearest_points(self, X: np.ndarray, among: Any = slice(None)) -> np.ndarray:
        nodes = self.nodes(self.most_nodes)[among] / self.scale
        sizes = np.einsum("ij,ij->i", nodes, nodes)
        parts = np.array_split(X / self.scale, -(-len(X) // 100))
        nearest = [(sizes - 2 * part @ nodes.T).argmin(axis=1) for part in parts]
        return grid(self.x, self.y, self.most_nodes)[among][np.concatenate(nearest)]

    def place_answered(self, model: PrototypeModel, x: np.ndarray) -> np.ndarray | None:
        """Where the model answers as it does to x: the place with the nearest input."""
        same = model.predict(self.nodes(self.most_nodes)) == model.predict(x[None])
        among = same & (self.far(self.most_nodes).ravel() == 0)
        return self._nearest_points(x[None], among)[0] if among.any() else None

    def lift(self, points: np.ndarray) -> np.ndarray:
        """The inputs of the surface at points of the window."""
        return _surface(self.at, self.rows, self.scale, self.smoothing, points)

    def nodes(self, n_nodes: int) -> np.ndarray:
        """As for a flat window; computed once."""
        if n_nodes not in self._grids:
            self._grids[n_nodes] = super().nodes(n_nodes)
        return self._grids[n_nodes]

    def left_out(self, X: np.ndarray, lifted: np.ndarray) -> np.ndarray:
        """Inputs at the places of rows, from surfaces that did not know these rows."""
        inputs, index = lifted.copy(), self._indices(X)
        within = (index >= 0) & (index < len(self.rows))
        inputs[within] = self.unseen[index[within]]
        return inputs

    def differences(self, n_nodes: int, most: int) -> tuple[np.ndarray, ...]:
        """The row nearest to each node, and where its input differs most.

        Returns
        -------
        row : ndarray of shape (n_nodes ** 2,)
        feature, value, of_row : ndarray of shape (n_nodes ** 2, most)
            The largest difference in units first, with the input's and the row's value.
        """
        inputs = self.nodes(n_nodes)
        row = KDTree(self.at).query(grid(self.x, self.y, n_nodes))[1]
        away = np.abs(inputs - self.rows[row]) / self.scale
        feature = np.argsort(-away, axis=1, kind="stable")[:, :most]
        values = (np.take_along_axis(X, feature, 1) for X in (inputs, self.rows[row]))
        return row, feature, *values

    def far(self, n_nodes: int) -> np.ndarray:
        """Which nodes have no row near them; all, where the surface does not hold."""
        if not self.holds:
            return np.ones((n_nodes, n_nodes), dtype=np.uint8)
        tree = KDTree(self.at)
        usual = np.quantile(tree.query(self.at, k=2)[0][:, 1], 0.95)
        limit = max(FAR * usual, 0.02 * WIDTH)
        far = tree.query(grid(self.x, self.y, n_nodes))[0] > limit
        return far.reshape(n_nodes, n_nodes).astype(np.uint8)


class Agreement(NamedTuple):
    """Shares of rows whose places show what the model answers; NaN: of no rows."""

    all_rows: float
    #: Rows that the surface goes through, and rows that were placed on it afterwards.
    training: float
    placed: float
    #: The tenth of all with the smallest lead, and those with a wrong answer.
    border: float
    errors: float


def shown_rightly(
    model: PrototypeModel, answers: np.ndarray, shown: np.ndarray, spread: float
) -> np.ndarray:
    """Which rows' places show what the model answers to them.

    Parameters
    ----------
    model : PrototypeModel
        Whose answers are compared.
    answers : ndarray of shape (n_rows,)
        What it predicts for the rows themselves.
    shown : ndarray of shape (n_rows, n_features)
        Inputs at their places.
    spread : float
        Range of the training targets of a regression, of which an answer may be off by
        `NEAR`.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    painted = model.predict(shown)
    if model.classes is not None:
        return answers == painted
    return np.abs(answers - painted) <= NEAR * spread


def agreement(
    model: PrototypeModel,
    rows: tuple[np.ndarray, np.ndarray],
    shown: np.ndarray,
    placed: np.ndarray,
    spread: float = 0.0,
) -> Agreement:
    """Where a picture shows what the model answers.

    Parameters
    ----------
    model, shown, spread
        As for `shown_rightly`.
    rows : pair of ndarray, shapes (n_rows, n_features) and (n_rows,)
        The rows and their true values. A number is wrong from the same difference on.
    placed : ndarray of bool, shape (n_rows,)
        Which rows the surface does not go through.

    Returns
    -------
    Agreement
        A regression has no border.
    """
    X, y = rows
    scores = model.scores(X)
    if model.classes is None:
        answers, border = scores.ravel(), np.zeros(len(X), dtype=bool)
        wrong = np.abs(answers - y) > NEAR * spread
    else:
        answers = model.classes[model.decide(scores)]
        lead = np.diff(np.sort(scores, axis=1)[:, -2:]).ravel()
        border, wrong = lead <= np.quantile(lead, BORDER), answers != y
    rightly = shown_rightly(model, answers, shown, spread)
    parts = np.ones(len(X), dtype=bool), ~placed, placed, border, wrong
    return Agreement(*(rightly[p].mean() if p.any() else np.nan for p in parts))


def _keys(X: np.ndarray) -> list[bytes]:
    """The same for the same values (-0 is 0)."""
    return [row.tobytes() for row in np.ascontiguousarray(X, dtype=float) + 0.0]


def _surface(
    at: np.ndarray,
    rows: np.ndarray,
    scale: np.ndarray,
    smoothing: float,
    points: np.ndarray,
) -> np.ndarray:
    """Thin-plate splines through the nearest rows, within the range of the rows."""
    varies = np.flatnonzero(np.isfinite(scale))
    inputs = np.tile(rows[0], (len(points), 1))
    if not len(points) or not varies.size:
        return inputs
    try:
        if np.linalg.matrix_rank(at - at[0], 1e-6 * WIDTH) < 2:
            raise np.linalg.LinAlgError  # which rounding may hide
        spline = RBFInterpolator(
            at,
            rows[:, varies] / scale[varies],
            neighbors=min(NEIGHBOURS, len(at)),
            smoothing=smoothing,
            kernel="thin_plate_spline",
        )
        values = spline(points) * scale[varies]
    except np.linalg.LinAlgError:
        problem = "There is no map of these rows: they lie on one line."
        raise SmpcoreError(problem) from None
    low, high = rows[:, varies].min(axis=0), rows[:, varies].max(axis=0)
    inputs[:, varies] = np.clip(values, low, high)
    return inputs


def _unseen(
    at: np.ndarray, rows: np.ndarray, scale: np.ndarray, smoothing: float
) -> np.ndarray:
    """Inputs at the rows' places, each from a surface through the other parts' rows."""
    part = np.random.default_rng(0).permutation(len(rows)) % FOLDS
    unseen = np.empty_like(rows)
    for k in range(FOLDS):
        out = part == k
        unseen[out] = _surface(at[~out], rows[~out], scale, smoothing, at[out])
    return unseen


def _best_smoothing(
    at: np.ndarray, rows: np.ndarray, scale: np.ndarray
) -> tuple[float, float]:
    """How far inputs are off where a surface did not know the row, and what with."""
    return min(
        (float((((_unseen(at, rows, scale, s) - rows) / scale) ** 2).mean()), s)
        for s in SMOOTHINGS
    )


def _boxed(at: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """Places beside others, which begin at (0, 0) and are `WIDTH` wide or high."""
    unit = WIDTH / max(float(np.ptp(beside, axis=0).max()), 1e-300)
    return (at - beside.min(axis=0)) * unit


def map_problem(n_rows: int, n_features: int) -> str:
    """Why there is no map of so many rows and features.

    Parameters
    ----------
    n_rows, n_features : int
        Of the training rows.

    Returns
    -------
    str
        A sentence; empty if there is a map.
    """
    if n_rows < FEWEST:
        return f"A map needs {FEWEST} training rows; there are {n_rows}."
    if n_features > MOST_FEATURES:
        return f"A map takes {MOST_FEATURES:,} features at most, not {n_features:,}."
    return ""


def _compared(
    rows: np.ndarray, scale: np.ndarray, scores: np.ndarray | None, n_learned: int
) -> np.ndarray:
    """What rows are compared by: their columns, and as much again by scores."""
    Z = (rows - rows[:n_learned].mean(axis=0)) / scale
    if scores is None:
        return Z
    S = scores - scores[:n_learned].mean(axis=0)
    in_all, of_scores = (A[:n_learned].var(axis=0).sum() for A in (Z, S))
    return np.hstack([Z, S * np.sqrt(in_all / max(of_scores, 1e-300))])


def lay_out(
    rows: np.ndarray,
    others: np.ndarray,
    columns: np.ndarray | None = None,
    scores: np.ndarray | None = None,
    report: Callable[[float], Any] | None = None,
) -> tuple[np.ndarray, float]:
    """Places on a map: rows that are alike beside each other, others among them.

    They are compared by their standardised columns and by scores of models. t-SNE
    begins with the first two principal components, so that the same rows have the same
    map. Of `PERPLEXITIES` and `SMOOTHINGS` the two are taken with which rows that are
    left out come nearest to their own inputs.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Training rows, `FEWEST` to `MOST_LAID_OUT` of them.
    others : ndarray of shape (n_others, n_features)
        They do not move the first ones.
    columns : ndarray of int, shape (n_features,), optional
        Column of each feature: levels of a category count as one number.
    scores : ndarray of shape (n_rows + n_others, n_outputs), optional
        They count as much as all columns. They should be of models that were fitted
        without the row: else agreement tells what went into its place.
    report : callable, optional
        Is given the share done now and then; a true answer ends it with the places that
        were reached.

    Returns
    -------
    places : ndarray of float32, shape (n_rows + n_others, 2)
        The first rows lie in a box from (0, 0) whose longer side is `WIDTH`.
    smoothing : float
        For `map_view`.

    Raises
    ------
    SmpcoreError
        If rows or features are too few or too many, or the rows lie on one line.
    """
    from openTSNE import TSNE  # half a second that a notebook need not wait for

    if problem := map_problem(*rows.shape):
        raise SmpcoreError(problem)
    _, scale = units(rows, columns)
    compared = _compared(np.vstack([rows, others]), scale, scores, len(rows))
    tried = sorted({min(value, (len(rows) - 1) / 3.1) for value in PERPLEXITIES})
    steps = {"early_exaggeration_iter": 250, "n_iter": 500}
    n_steps, done, ended = len(tried) * sum(steps.values()), 0, False

    def tell(*_: Any) -> bool:
        nonlocal done, ended
        done += 25
        ended = bool(report and report(done / n_steps))
        return ended

    error, smoothing, embedding = np.inf, SMOOTHINGS[0], None
    for perplexity in tried:
        tsne = TSNE(
            perplexity=perplexity,
            initialization="pca",
            random_state=0,
            n_jobs=1,
            callbacks=tell,
            callbacks_every_iters=25,
            **steps,
        )
        one = tsne.fit(compared[: len(rows)])
        at = np.asarray(one)
        off, fits = _best_smoothing(_boxed(at, at), rows, scale)
        if off < error:
            error, smoothing, embedding = off, fits, one
        if ended:
            break
    there = np.empty((0, 2))
    if len(others):
        # The fit's own callbacks would count these steps too.
        embedding.gradient_descent_params["callbacks"] = None
        there = np.asarray(embedding.transform(compared[len(rows) :]))
    at = np.asarray(embedding)  # which placing others has moved as a whole
    return _boxed(np.vstack([at, there]), at).astype(np.float32), smoothing


def move_to_answers(
    places: np.ndarray,
    smoothing: float,
    rows: np.ndarray,
    others: np.ndarray,
    columns: np.ndarray | None,
    scores: np.ndarray,
) -> np.ndarray:
    """Places at which rows show the class that their scores say.

    Between two classes a row may lie where a surface that does not know it scores as
    the other one. It moves beside the training row that is most like it of those which
    show its class.

    Parameters
    ----------
    places, smoothing
        From `lay_out`.
    rows, others, columns
        As given to it.
    scores : ndarray of shape (n_rows + n_others, n_classes)
        Likewise.

    Returns
    -------
    ndarray of float32, shape (n_rows + n_others, 2)
    """
    moved, n, unit = places.astype(float), len(rows), np.ones(scores.shape[1])
    _, scale = units(rows, columns)
    compared = _compared(np.vstack([rows, others]), scale, scores, n)
    answers = scores.argmax(axis=1)
    for _ in range(MOVES):
        surface = moved[:n], scores[:n], unit, smoothing
        shown = np.vstack([_unseen(*surface), _surface(*surface, moved[n:])])
        rightly = shown.argmax(axis=1) == answers
        for answer in np.unique(answers[~rightly]):
            off = np.flatnonzero(~rightly & (answers == answer))
            beside = np.flatnonzero(rightly[:n] & (answers[:n] == answer))
            if len(beside) > 1:
                near = KDTree(compared[beside]).query(compared[off], k=2)[1]
                first, second = moved[beside[near]].transpose(1, 0, 2)
                way = second - first  # a little of it: no two rows at one place
                length = np.linalg.norm(way, axis=1, keepdims=True)
                moved[off] = first + way * np.minimum(0.25, 1 / np.maximum(length, 1))
    return moved.astype(np.float32)


def map_view(
    rows: np.ndarray,
    others: np.ndarray,
    places: np.ndarray,
    smoothing: float,
    columns: np.ndarray | None = None,
    scored_by: str = "",
) -> MapView:
    """The surface through rows that lie at places.

    Parameters
    ----------
    rows, others : ndarray of shape (n_rows, n_features) and (n_others, n_features)
        As for `lay_out`. The surface goes through the first.
    places : ndarray of shape (n_rows + n_others, 2)
    smoothing : float
        Both from `lay_out`.
    columns : ndarray of int, shape (n_features,), optional
        As for `lay_out`.
    scored_by : str
        Models whose scores it was given; empty: it had none.

    Returns
    -------
    MapView

    Raises
    ------
    SmpcoreError
        If the rows lie on one line.
    """
    places = places.astype(float)
    at = places[: len(rows)]
    _, scale = units(rows, columns)
    keys = [*enumerate(_keys(np.vstack([rows, others])))]
    none = np.zeros((2, rows.shape[1]))
    return MapView(
        none[0],
        none,
        none.T,
        edges(at[:, 0]),
        edges(at[:, 1]),
        "map: neighbours are alike, distances are not to scale",
        "",
        _NOTE.format(_BY_SCORES.format(scored_by) if scored_by else ""),
        rows=rows,
        positions=places,
        scale=scale,
        smoothing=smoothing,
        unseen=_unseen(at, rows, scale, smoothing),
        known={key: i for i, key in reversed(keys)},  # of equal rows the first
    )
