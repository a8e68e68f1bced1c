"""Pure functions: model, data or table in; plotly figure or raster out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.datasets import Dataset, Split
from smpcore.errors import SmpcoreError
from smpcore.model import History, PrototypeModel

#: Okabe and Ito's colours: told apart with any kind of colour vision.
OKABE_ITO = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
)


@dataclass(frozen=True, eq=False)
class View:
    """A flat window into feature space, on which a model can be painted.

    A point (x, y) of the window is the input ``origin + x * axes[0] + y * axes[1]``.

    Parameters
    ----------
    origin : ndarray of shape (n_features,), user's units
    axes : ndarray of shape (2, n_features), user's units per unit of the window
    reading : ndarray of shape (n_features, 2)
        ``(X - origin) @ reading`` is where the window shows a row.
    x, y : (float, float)
        The window's edges.
    x_label, y_label : str
    note : str
        What was done to make the window, in words.
    """

    origin: np.ndarray
    axes: np.ndarray
    reading: np.ndarray
    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str
    y_label: str
    note: str

    def project(self, X: np.ndarray) -> np.ndarray:
        """Where rows lie in the window.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        return (X - self.origin) @ self.reading

    def lift(self, points: np.ndarray) -> np.ndarray:
        """The inputs that points of the window stand for.

        Parameters
        ----------
        points : ndarray of shape (n_points, 2)

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        return self.origin + points @ self.axes


def _edges(values: np.ndarray) -> tuple[float, float]:
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
    """Show two features; the others stand still.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows: they set the window's edges.
    names : tuple of str
    first, second : int
        The features along x and y (the same one twice: a line of one feature).
    rest : ndarray of shape (n_features,), optional
        Where the other features stand; the training medians if not given.

    Returns
    -------
    View
    """
    n_features = X.shape[1]
    origin = np.median(X, axis=0) if rest is None else np.array(rest, dtype=float)
    axes, reading = np.zeros((2, n_features)), np.zeros((n_features, 2))
    origin[[first, second]] = 0.0
    axes[0, first] = reading[first, 0] = 1.0
    x, y, y_label = _edges(X[:, first]), (-1.0, 1.0), ""
    if first != second:
        axes[1, second] = reading[second, 1] = 1.0
        y, y_label = _edges(X[:, second]), names[second]
    others = n_features - len({first, second})
    note = f"The other {others} features stand still: see View." if others else ""
    return View(origin, axes, reading, x, y, names[first], y_label, note)


def pca_view(X: np.ndarray) -> View:
    """Show the plane in which the standardised training rows spread most.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), n_features >= 2

    Returns
    -------
    View
    """
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 1e-12 * (1 + np.abs(center)), scale, np.inf)
    values, vectors = np.linalg.eigh(np.cov((X - center) / scale, rowvar=False))
    planes = vectors[:, [-1, -2]]
    # A fixed sign, so that the picture does not flip between machines.
    planes = planes * np.sign(planes[np.abs(planes).argmax(axis=0), [0, 1]])
    finite = np.where(np.isfinite(scale), scale, 0.0)
    share = values[[-1, -2]] / max(values.sum(), 1e-300)
    view = View(
        center,
        planes.T * finite,
        planes / scale[:, None],
        (0.0, 1.0),
        (0.0, 1.0),
        f"first component ({share[0]:.1%} of the spread)",
        f"second component ({share[1]:.1%})",
        "The plane in which the standardised rows spread most (PCA).",
    )
    points = view.project(X)
    edges = {"x": _edges(points[:, 0]), "y": _edges(points[:, 1])}
    return View(**{**view.__dict__, **edges})


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
    lines : ndarray of float32, shape (n_prototypes, 3), or None
        Linear models: activation at (x, y) is ``c0 * x + c1 * y + c2``, exactly.
    """

    winner: np.ndarray
    runner: np.ndarray
    margin: np.ndarray
    margin_max: float
    lines: np.ndarray | None


def decision_raster(model: PrototypeModel, view: View, n_nodes: int = 100) -> Raster:
    """Paint a classifier on a window.

    Parameters
    ----------
    model : PrototypeModel
        A classifier.
    view : View
    n_nodes : int
        Nodes along each axis.

    Returns
    -------
    Raster
    """
    if model.classes is None:
        raise SmpcoreError("model should be a classifier; it has no classes.")
    x, y = np.linspace(*view.x, n_nodes), np.linspace(*view.y, n_nodes)
    points = np.column_stack([np.tile(x, n_nodes), np.repeat(y, n_nodes)])
    lines = None
    if model.is_linear:
        lines = view_lines(model, view)
        activations = points @ lines[:, :2].T + lines[:, 2]
        scores = model.pool(activations)
    else:
        scores = model.scores(view.lift(points))
    winner = scores.argmax(axis=1)
    rows = np.arange(len(scores))
    best = scores[rows, winner]
    scores[rows, winner] = -np.inf
    runner = scores.argmax(axis=1)
    gap = best - scores[rows, runner]
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


def view_lines(model: PrototypeModel, view: View) -> np.ndarray:
    """Activations of a linear model as functions of the window's coordinates.

    Parameters
    ----------
    model : PrototypeModel
        With a linear similarity.
    view : View

    Returns
    -------
    ndarray of shape (n_prototypes, 3)
        Activation at (x, y) is ``c[0] * x + c[1] * y + c[2]``.
    """
    slopes = (model.weights / model.scale) @ view.axes.T
    return np.column_stack([slopes, model.activations(view.origin[None])[0]])


def convergence(history: History, objective_name: str = "objective") -> go.Figure:
    """How objective and certified gap went.

    Parameters
    ----------
    history : History
    objective_name : str

    Returns
    -------
    plotly.graph_objects.Figure
    """
    figure = go.Figure()
    figure.add_scatter(
        x=history.iteration,
        y=history.objective,
        name=objective_name,
        mode="lines+markers",
        line={"color": OKABE_ITO[0]},
    )
    certified = np.isfinite(history.gap) & (history.gap > 0)
    figure.add_scatter(
        x=history.iteration[certified],
        y=history.gap[certified],
        name="gap to the optimum, at most",
        mode="lines+markers",
        line={"color": OKABE_ITO[5], "dash": "dot"},
        marker={"symbol": "diamond"},
    )
    figure.update_layout(
        xaxis_title="iteration",
        yaxis={"title": "value (log scale)", "type": "log", "exponentformat": "e"},
        legend={"orientation": "h", "y": 1.15},
        margin={"l": 60, "r": 10, "t": 30, "b": 40},
        height=300,
    )
    return figure


#: Colour and shape are never the same for two of the first 70 classes.
SYMBOLS = "circle square diamond cross x star pentagon hexagon bowtie octagon".split()
_PARTS = {"training": "", "validation": "/", "test": "x"}
_MOST_POINTS = 2000
_MOST_BARS = 40


def _words(text: object) -> str:
    """Short text of a user, without the tags that plotly would obey."""
    text = str(text)
    text = text if len(text) <= 40 else text[:39] + "…"
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _layout(figure: go.Figure, x_title: str, y_title: str, height: int) -> go.Figure:
    return figure.update_layout(
        xaxis_title=x_title,
        yaxis_title=y_title,
        legend=dict(orientation="h", y=1.02, yanchor="bottom", traceorder="normal"),
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        height=height,
        barmode="stack",
    )


def _bars(figure: go.Figure, n_bars: int, x_title: str, y_title: str) -> go.Figure:
    figure.update_yaxes(autorange="reversed", type="category")
    return _layout(figure, x_title, y_title, 110 + 24 * n_bars)


def class_balance(dataset: Dataset, division: Split) -> go.Figure:
    """How many rows each class has in each part (regression: a histogram).

    Parameters
    ----------
    dataset : Dataset
        Of more than 40 classes the largest are shown.
    division : Split

    Returns
    -------
    plotly.graph_objects.Figure
    """
    figure, target = go.Figure(), _words(dataset.target)
    rows = (division.train, division.validation, division.test)
    styles = [
        {"color": OKABE_ITO[i], "pattern": {"shape": hatch}}
        for i, hatch in enumerate(_PARTS.values())
    ]
    if dataset.task == "regression":
        for part, name, style in zip(rows, _PARTS, styles, strict=True):
            figure.add_histogram(x=dataset.y[part], name=name, marker=style)
        return _layout(figure, target, "rows", 320)
    n_classes = len(dataset.classes)
    sizes = np.bincount(dataset.codes, minlength=n_classes)
    shown = np.argsort(-sizes, kind="stable")[:_MOST_BARS]
    labels = [_words(label) for label in dataset.classes[shown]]
    for part, name, style in zip(rows, _PARTS, styles, strict=True):
        counts = np.bincount(dataset.codes[part], minlength=n_classes)[shown]
        figure.add_bar(x=counts, y=labels, orientation="h", name=name, marker=style)
    return _bars(figure, len(shown), "rows", target)


def missing_values(dataset: Dataset) -> go.Figure:
    """Which share of each used column is missing.

    Parameters
    ----------
    dataset : Dataset
        Columns without a missing value are not shown; of more than 40 the worst.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    shares = dataset.frame[dataset.feature_columns].isna().mean()
    shares = shares[shares > 0].sort_values(ascending=False)[:_MOST_BARS]
    labels, color = [_words(name) for name in shares.index], OKABE_ITO[5]
    bars = go.Bar(x=100 * shares, y=labels, orientation="h", marker_color=color)
    figure = go.Figure(bars).update_xaxes(range=(0, 100))
    return _bars(figure, len(shares), "missing, % of all rows", "")


def scatter(dataset: Dataset, rows: np.ndarray, first: str, second: str) -> go.Figure:
    """Two columns against each other, by class or by target value.

    Parameters
    ----------
    dataset : Dataset
    rows : ndarray of int
        The rows that may be seen; of more than 2000 evenly spread ones are drawn.
    first, second : str
        Columns along x and y.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    rows = rows[:: -(-len(rows) // _MOST_POINTS) or 1]
    x, y = (_axis_values(dataset.frame[name].iloc[rows]) for name in (first, second))
    figure = go.Figure()
    if dataset.task == "regression":
        style = {"color": dataset.y[rows], "colorscale": "Cividis", "showscale": True}
        figure.add_scatter(x=x, y=y, mode="markers", marker=style)
    for j, label in enumerate(() if dataset.classes is None else dataset.classes):
        own = dataset.codes[rows] == j
        color, symbol = OKABE_ITO[j % len(OKABE_ITO)], SYMBOLS[j % len(SYMBOLS)]
        style, name = {"color": color, "symbol": symbol, "size": 7}, _words(label)
        figure.add_scatter(x=x[own], y=y[own], mode="markers", name=name, marker=style)
    return _layout(figure, _words(first), _words(second), 420)


def _axis_values(column: pd.Series) -> np.ndarray:
    if column.dtype.kind in "if":
        return column.to_numpy()
    return np.array([None if pd.isna(v) else _words(v) for v in column], dtype=object)
