"""What several models answer on one window, and where two of them differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from smpcore.colors import GREY, NEGATIVE, POSITIVE
from smpcore.figures.charts import class_mark, marks, words
from smpcore.figures.views import View

#: Pixels beside each other on the narrowest screen.
_PHONE = 340
_HEIGHT = 250


def answer_map(
    view: View,
    answers: np.ndarray,
    xy: np.ndarray,
    truth: np.ndarray,
    wrong: np.ndarray,
    classes: np.ndarray | None,
    selected: np.ndarray | None = None,
) -> go.Figure:
    """Regions of a classifier or surface of a regression, with rows.

    Answers are class numbers or predictions at the nodes, truth is those of the rows,
    wrong says which of these are ringed, selected which lie in a large circle.
    """
    if classes is None:
        low = float(min(truth.min(initial=np.inf), answers.min()))
        high = float(max(truth.max(initial=-np.inf), answers.max()))
        scale = {"colorscale": "Cividis", "zmin": low, "zmax": high}
        figure = _heat(view, answers, **scale)
        style = {"color": truth, "colorscale": "Cividis", "cmin": low, "cmax": high}
        _rows(figure, xy, np.ones(len(xy), bool), wrong, style | {"symbol": "circle"})
        return _window(_lit(figure, xy, selected), view)
    scale = {"colorscale": _steps(len(classes)), "zmin": -0.5}
    scale |= {"zmax": len(classes) - 0.5, "opacity": 0.45, "hoverinfo": "skip"}
    figure = _heat(view, answers, **scale)
    for j in np.unique(truth[truth >= 0]):
        _rows(figure, xy, truth == j, wrong, class_mark(j))
    return _window(_lit(figure, xy, selected), view)


def _lit(figure: go.Figure, xy: np.ndarray, selected: np.ndarray | None) -> go.Figure:
    """Selected rows in a circle that stands out on any ground."""
    for color, width in (("white", 4), ("black", 2)):
        if selected is not None and selected.any():
            style = {"symbol": "circle-open", "size": 15, "color": color}
            style["line"] = {"width": width}
            marks(figure, xy[selected], "", style, hoverinfo="skip")
    return figure


def change_map(
    view: View, answers: np.ndarray, way: np.ndarray, classes: np.ndarray
) -> go.Figure:
    """Regions of a classifier, and a way across a border: a place in each row."""
    nothing = np.zeros(0, dtype=int)
    figure = answer_map(view, answers, way[:0], nothing, nothing > 0, classes)
    style = {"symbol": ["circle", "star"], "size": [11, 15], "color": NEGATIVE}
    style["line"] = {"color": "white", "width": 1.5}
    marks(figure, way, "", style, hoverinfo="skip")
    line = {"color": NEGATIVE, "width": 2}
    return figure.update_traces(
        {"mode": "lines+markers", "line": line}, -1
    ).update_layout(height=340)


def difference_map(
    view: View, differ: np.ndarray, xy: np.ndarray, only: np.ndarray, names: list[str]
) -> go.Figure:
    """Where two models answer differently, and who is right there.

    At the nodes stands how far the answers are from each other; of classifiers 0 or 1.
    Of the rows `only` is 0 or 1 where only that model is right (or nearer), else 2;
    names are what that is called, and where they differ.
    """
    scale = {"colorscale": [[0, "rgba(0,0,0,0)"], [1, GREY]], "zmin": 0}
    scale |= {"zmax": max(float(differ.max()), 1e-300), "opacity": 0.5}
    figure = _heat(view, differ, **scale, hoverinfo="skip")
    styles = [("triangle-up", POSITIVE, 10), ("triangle-down", NEGATIVE, 10)]
    for j, (symbol, color, size) in enumerate([*styles, ("circle", GREY, 5)]):
        style = {"symbol": symbol, "color": color, "size": size}
        marks(figure, xy[only == j], names[j], style)
    style = {"symbol": "square", "color": GREY, "size": 11, "opacity": 0.5}
    marks(figure, [None, None], names[3], style)
    _window(figure, view)
    # From the bottom up: on a phone its lines stand below each other, above the map.
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    return figure.update_layout(height=420, showlegend=True, legend=legend)


def _heat(view: View, values: np.ndarray, **style: Any) -> go.Figure:
    """Values at the nodes of a grid over a window, but where a map has no row near."""
    x, y = (
        np.linspace(*limits, n)
        for limits, n in zip((view.x, view.y), values.shape[::-1], strict=True)
    )
    if (far := view.far(len(values))) is not None:
        values = np.where(far, np.nan, values)
    return go.Figure(go.Heatmap(x=x, y=y, z=values, showscale=False, **style))


def class_legend(classes: np.ndarray) -> go.Figure:
    """Which colour and shape is which class, for several maps at once."""
    figure = go.Figure()
    for j, label in enumerate(classes):
        style = {**class_mark(j), "size": 9}
        marks(figure, [None, None], words(str(label)[:24]), style)
    none = {"visible": False}
    # Of its own, a lying legend takes half the height and hides the rest.
    lines = _lines([trace.name for trace in figure.data])
    return figure.update_layout(
        height=min(20 + 20 * max(2, lines), 160),
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        xaxis=none,
        yaxis=none,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "maxheight": 1.0},
    )


def _lines(names: list[str]) -> int:
    """Lines that the entries of a legend take on a phone."""
    lines, left = 1, _PHONE
    for name in names:
        width = 40 + 7 * len(name)
        if width > left:
            lines, left = lines + 1, _PHONE
        left -= width
    return lines


def _steps(n_classes: int) -> list[list]:
    """A colour scale of steps, one for each class."""
    edges = np.linspace(0, 1, n_classes + 1)
    colors = [class_mark(j)["color"] for j in range(n_classes)]
    return [[float(e), colors[j]] for j in range(n_classes) for e in edges[j : j + 2]]


def _rows(
    figure: go.Figure,
    xy: np.ndarray,
    selected: np.ndarray,
    wrong: np.ndarray,
    style: dict,
) -> None:
    for ring in (False, True):
        rows = selected & (wrong == ring)
        line = {"width": 2 if ring else 0.5, "color": NEGATIVE if ring else "white"}
        marker = {**style, "size": 9 if ring else 6, "line": line}
        if np.ndim(style["color"]):
            marker["color"] = style["color"][rows]
        marks(figure, xy[rows], "", marker, hoverinfo="skip")


def _window(figure: go.Figure, view: View) -> go.Figure:
    scaled = view.far(2) is None  # distances on a map are not to scale
    for update, limits, label in (
        (figure.update_xaxes, view.x, view.x_label),
        (figure.update_yaxes, view.y, view.y_label),
    ):
        title = {"text": words(label), "font_size": 12, "standoff": 4}
        more = {"showgrid": False, "zeroline": False, "showticklabels": scaled}
        update(range=limits, title=title, **more)
    return figure.update_layout(
        height=_HEIGHT, showlegend=False, margin={"l": 45, "r": 5, "t": 5, "b": 40}
    )


def similarity_map(
    K: np.ndarray, labels: np.ndarray, titles: Sequence[str]
) -> go.Figure:
    """A matrix of similarities as a map, rows of one label beside each other.

    Within a label similar rows are neighbours, in the order of the leaves of average
    linkage. Lines part those of different labels, but for very many.
    """
    order = np.concatenate(
        [
            part[_leaves(K[np.ix_(part, part)])]
            for part in (np.flatnonzero(labels == one) for one in np.unique(labels))
        ]
    )
    names = [f"{words(titles[i])} ({words(labels[i])})" for i in order]
    heat = go.Heatmap(
        z=K[np.ix_(order, order)],
        colorscale="Cividis",
        colorbar={"title": "similarity"},
        customdata=np.broadcast_to(names, K.shape),
        hovertemplate="%{z:.4g}<br>%{customdata}<extra></extra>",
    )
    figure = go.Figure(heat)
    breaks = np.flatnonzero(labels[order][1:] != labels[order][:-1]) + 0.5
    for place in breaks if len(breaks) < len(K) / 4 else ():
        figure.add_hline(place, line={"color": GREY, "width": 1})
        figure.add_vline(place, line={"color": GREY, "width": 1})
    axis = {"showticklabels": False, "constrain": "domain", "title": "row"}
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis, autorange="reversed", scaleanchor="x")
    figure.update_layout(height=420, margin={"l": 10, "r": 10, "t": 10, "b": 10})
    return figure


def _leaves(K: np.ndarray) -> np.ndarray:
    """Order of rows by average linkage of their distances in feature space."""
    if len(K) < 3:
        return np.arange(len(K))
    K = (K + K.T) / 2
    square = np.add.outer(K.diagonal(), K.diagonal()) - 2 * K
    apart = np.sqrt(np.maximum(square, 0.0))
    np.fill_diagonal(apart, 0.0)
    return leaves_list(linkage(squareform(apart, checks=False), "average"))
