"""Flat windows into feature space, and a model painted on one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from smpcore.errors import SmpcoreError
from smpcore.model import PrototypeModel
from smpcore.model.ties import lowest_within

#: Rows of a plane that is made of their similarities, at most.
MOST_SIMILAR = 1000


@dataclass(frozen=True, eq=False)
class View:
    """A flat window into feature space, on which a model can be painted.

    A point (x, y) of the window is the input ``origin + x * axes[0] + y * axes[1]``.

    Parameters
    ----------
    origin : ndarray of shape (n_features,), user's units
        Input at the point (0, 0) of the window.
    axes : ndarray of shape (2, n_features), user's units per unit of the window
        Step in feature space for one unit along x and along y.
    reading : ndarray of shape (n_features, 2)
        ``(X - origin) @ reading`` is where the window shows a row.
    x, y : (float, float)
        The window's edges.
    x_label, y_label : str
        Titles of both axes, with the unit where it is known.
    note : str
        What was done to make the window, in words.
    of_target : bool
        Whether y is the target of a regression, and no feature.
    """

    origin: np.ndarray
    axes: np.ndarray
    reading: np.ndarray
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str
    y_label: str
    note: str
    of_target: bool = False

    def project(self, X: np.ndarray) -> np.ndarray:
        """Where rows lie in the window, shape (n_samples, 2)."""
        return (X - self.origin) @ self.reading

    def places(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Where rows are drawn: as `project`, but on a curve at their target."""
        xy = self.project(X)
        if self.of_target:
            xy[:, 1] = y
        return xy

    def lift(self, points: np.ndarray) -> np.ndarray:
        """The inputs that points of the window stand for."""
        return self.origin + points @ self.axes

    def nodes(self, n_nodes: int) -> np.ndarray:
        """The inputs that a grid over the window stands for, from low y to high y."""
        return self.lift(grid(self.x, self.y, n_nodes))

    @property
    def most_nodes(self) -> int:
        """Nodes along each axis of a picture, at most."""
        return 100

    def left_out(self, X: np.ndarray, lifted: np.ndarray) -> np.ndarray:
        """Inputs where rows are drawn, found without them; `lifted` those with them."""
        return lifted

    def far(self, n_nodes: int) -> np.ndarray | None:
        """Which nodes have no row near them, (n_nodes, n_nodes); None: not known."""
        return None


def grid(x: tuple[float, float], y: tuple[float, float], n_nodes: int) -> np.ndarray:
    """Nodes between the edges of a window, from low y to high y, each as (x, y)."""
    along, up = np.linspace(*x, n_nodes), np.linspace(*y, n_nodes)
    return np.column_stack([np.tile(along, n_nodes), np.repeat(up, n_nodes)])


def edges(values: np.ndarray) -> tuple[float, float]:
    """Range of the values with a margin of 12 % of it at each end."""
    low, high = float(values.min()), float(values.max())
    margin = 0.12 * (high - low) or 0.5 * max(abs(low), 1.0)
    return low - margin, high + margin


def axis_view(
    X: np.ndarray,
    names: tuple[str, ...],
    first: int,
    second: int,
    rest: np.ndarray | None = None,
) -> View:
    """Show two features, or one along x; the others stand at `rest` or their medians.

    Training rows set the window's edges.
    """
    n_features = X.shape[1]
    origin = np.median(X, axis=0) if rest is None else np.array(rest, dtype=float)
    axes, reading = np.zeros((2, n_features)), np.zeros((n_features, 2))
    origin[[first, second]] = 0.0
    axes[0, first] = reading[first, 0] = 1.0
    x, y, y_label = edges(X[:, first]), (-1.0, 1.0), ""
    if first != second:
        axes[1, second] = reading[second, 1] = 1.0
        y, y_label = edges(X[:, second]), names[second]
    others = n_features - len({first, second})
    words = "feature is" if others == 1 else f"{others} features are"
    note = f"The other {words} fixed; set them under View." if others else ""
    return View(origin, axes, reading, x, y, names[first], y_label, note)


def curve_view(
    X: np.ndarray,
    y: np.ndarray,
    names: tuple[str, ...],
    feature: int,
    target: str,
    rest: np.ndarray | None = None,
) -> View:
    """Show one feature, and the target above it; the others stand where `rest` says.

    A row's height is its target, which the view does not read.
    """
    view = axis_view(X, names, feature, feature, rest)
    return replace(view, y=edges(y), y_label=target, of_target=True)


def units(
    rows: np.ndarray, columns: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and unit of each feature; the unit of a constant one is infinite.

    Features of one column, levels of a category, share a unit, so that they count as
    much as a number. ``columns`` has the column of each feature; None: each has one.
    """
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    varies = scale > 1e-12 * np.abs(center)
    if columns is not None:
        scale = np.sqrt(np.bincount(columns, scale**2 * varies))[columns]
    return center, np.where(varies, scale, np.inf)


def pca_view(X: np.ndarray) -> View:
    """Show the plane in which the standardised training rows spread most."""
    center, scale = units(X)
    Z = (X - center) / scale
    if len(Z) < Z.shape[1]:  # a matrix of features by features takes minutes
        _, lengths, vectors = np.linalg.svd(Z, full_matrices=False)
        values, planes = _first_two(lengths[::-1] ** 2, vectors[::-1].T)
    else:
        values, planes = _first_two(*np.linalg.eigh(np.cov(Z, rowvar=False)))
    finite = np.where(np.isfinite(scale), scale, 0.0)
    share = values[[-1, -2]] / max(values.sum(), 1e-300)
    axes, reading = planes.T * finite, planes / scale[:, None]
    return _window(X, center, axes, reading, share, "standardised rows (PCA)")


def _first_two(
    values: np.ndarray, vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending, and the vectors of the two largest, these first."""
    vectors = vectors[:, [-1, -2]]
    # A fixed sign, so that the picture does not flip between machines.
    return values, vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])


def _window(
    X: np.ndarray,
    origin: np.ndarray,
    axes: np.ndarray,
    reading: np.ndarray,
    share: np.ndarray,
    what: str,
) -> View:
    """A window of principal components, wide enough for these rows."""
    labels = (
        f"first component ({share[0]:.1%} of the variance)",
        f"second component ({share[1]:.1%})",
    )
    note, none = f"The first two principal components of the {what}.", (0.0, 1.0)
    view = View(origin, axes, reading, none, none, *labels, note)
    points = view.project(X)
    return replace(view, x=edges(points[:, 0]), y=edges(points[:, 1]))


def similarity_view(X: np.ndarray) -> View:
    """Show the plane in which training rows spread most, by their similarities alone.

    Rows are similar to themselves and each other, matrix beside matrix. It is the plane
    of kernel PCA, or of classical scaling where the similarities are no kernel. Of
    several matrices it belongs to their mean, each with a mean of 1 on its diagonal. A
    point of the window has the similarities of the mix of rows that lies there.
    """
    n = len(X)
    blocks = np.split(X, X.shape[1] // n, axis=1)
    units = [max(abs(K.diagonal().mean()), 1e-300) * len(blocks) for K in blocks]
    mean = sum(K / unit for K, unit in zip(blocks, units, strict=True))
    centred = mean - mean.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = _first_two(*np.linalg.eigh((centred + centred.T) / 2))
    positive = np.maximum(values, 0.0).sum()
    share = values[[-1, -2]] / max(positive, 1e-300)
    mixes = vectors / np.sqrt(np.maximum(values[[-1, -2]], 1e-12 * positive + 1e-300))
    mixes = mixes - mixes.mean(axis=0)
    origin = np.hstack([K.mean(axis=1) for K in blocks])
    axes = np.hstack([mixes.T @ K for K in blocks])
    reading = np.vstack([mixes / unit for unit in units])
    return _window(X, origin, axes, reading, share, "similarities (kernel PCA)")


@dataclass(frozen=True, eq=False)
class NearestView(View):
    """A window of similarities, for inputs that no mix is one of, as of texts.

    A point of the window stands for the row that is nearest to it.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows whose similarities to each other make the window.
    similarity : callable
        Inputs and rows -> their similarities, (n_samples, n_rows).
    plane : View
        The same window for inputs that are given by these similarities.
    """

    rows: np.ndarray | None = None
    similarity: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    plane: View | None = None

    def project(self, X: np.ndarray) -> np.ndarray:
        """Where rows lie in the window, by their similarities."""
        return self.plane.project(self.similarity(X, self.rows))

    def lift(self, points: np.ndarray) -> np.ndarray:
        """The rows that are nearest to points of the window."""
        return self.rows[KDTree(self.project(self.rows)).query(points)[1]]


def nearest_view(
    X: np.ndarray, similarity: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> NearestView:
    """Show the plane of the similarities of rows that have no other one.

    Of more than a thousand rows so many spread evenly are used.
    """
    rows = X[np.linspace(0, len(X) - 1, min(len(X), MOST_SIMILAR)).astype(int)]
    plane, none = similarity_view(similarity(rows, rows)), np.zeros((2, X.shape[1]))
    note = f"{plane.note} A place shows the prediction for the nearest training row."
    window = plane.x, plane.y, plane.x_label, plane.y_label, note
    return NearestView(none[0], none, none.T, *window, False, rows, similarity, plane)


@dataclass(frozen=True, eq=False)
class Raster:
    """A model painted on a window, as small whole numbers.

    Parameters
    ----------
    winner, runner : ndarray of uint8, shape (n_rows, n_columns)
        Class with the highest and the second highest score at each node; rows from
        low y to high y.
    margin : ndarray of uint8, shape (n_rows, n_columns)
        Score gap between the two: ``(margin / 255) ** 2 * margin_max``.
    margin_max : float
        Largest score gap on the window, the unit of `margin`.
    lines : ndarray of float32, shape (n_prototypes, 3), or None
        Linear models: activation at (x, y) is ``c0 * x + c1 * y + c2``, exactly.
    """

    winner: np.ndarray
    runner: np.ndarray
    margin: np.ndarray
    margin_max: float
    lines: np.ndarray | None


def decision_raster(model: PrototypeModel, view: View, n_nodes: int = 100) -> Raster:
    """Paint a classifier on a window, evaluated at so many nodes along each axis."""
    if model.classes is None:
        raise SmpcoreError("model should be a classifier; it has no classes.")
    lines = None
    if model.is_linear and not model.code_size and type(view) is View:
        lines = view_lines(model, view)
        x, y = np.linspace(*view.x, n_nodes), np.linspace(*view.y, n_nodes)
        along, across, level = lines.T[..., None, None]
        activations = along * x + (across * y[:, None] + level)
        scores = model.pool(activations.reshape(len(lines), -1).T)
    else:
        scores = model.scores(view.nodes(n_nodes))
    winner = model.decide(scores)
    rows = np.arange(len(scores))
    best = scores[rows, winner]
    scores[rows, winner] = -np.inf
    runner = lowest_within(scores, 0.0)
    gap = np.maximum(best - scores.max(axis=1), 0.0)  # a tie may be below 0
    margin_max = float(gap.max()) or 1.0
    steps = np.ceil(np.sqrt(gap / margin_max) * 255)
    shape = (n_nodes, n_nodes)
    return Raster(
        winner.astype(np.uint8).reshape(shape),
        runner.astype(np.uint8).reshape(shape),
        steps.astype(np.uint8).reshape(shape),
        margin_max,
        None if lines is None else lines.astype(np.float32),
    )


def prediction_raster(
    model: PrototypeModel, view: View, n_nodes: int = 100
) -> np.ndarray:
    """Paint a regression model on a window, in the target's units.

    Of a curve one number a node from left to right, else rows from low y to high y.
    """
    if model.classes is not None:
        raise SmpcoreError(
            "model should be a regression model; it answers with classes."
        )
    if view.of_target:
        line = np.column_stack([np.linspace(*view.x, n_nodes), np.zeros(n_nodes)])
        return model.predict(view.lift(line)).astype(np.float32)
    values = model.predict(view.nodes(n_nodes)).astype(np.float32)
    return values.reshape(n_nodes, n_nodes)


def view_lines(model: PrototypeModel, view: View) -> np.ndarray:
    """Activations of a linear model as functions of the window's coordinates.

    Activation at (x, y) is ``c[0] * x + c[1] * y + c[2]``, a line for each prototype.
    """
    slopes = (model.weights / model.scale) @ view.axes.T
    return np.column_stack([slopes, model.activations(view.origin[None])[0]])
