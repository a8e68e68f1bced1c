"""What several models answer on one window, and where two of them differ."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from smpcore.figures.charts import OKABE_ITO, class_mark, words
from smpcore.figures.views import View

#: Seen on both backgrounds.
_GREY, _RING = "#8A8F98", "#D1242F"
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
) -> go.Figure:
    """Regions of a classifier or surface of a regression, with rows.

    Parameters
    ----------
    view : View
        Window on which the nodes and rows lie.
    answers : ndarray of shape (n_nodes, n_nodes)
        Class numbers, or predictions.
    xy : ndarray of shape (n_rows, 2)
        Where rows lie in the window.
    truth : ndarray of shape (n_rows,)
        Their class numbers, or values.
    wrong : ndarray of bool, shape (n_rows,)
        Rows that are ringed.
    classes : ndarray of shape (n_classes,) or None
        None for regression.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    figure = go.Figure()
    x = np.linspace(*view.x, answers.shape[1])
    y = np.linspace(*view.y, answers.shape[0])
    if classes is None:
        low = float(min(truth.min(initial=np.inf), answers.min()))
        high = float(max(truth.max(initial=-np.inf), answers.max()))
        scale = {"colorscale": "Cividis", "zmin": low, "zmax": high}
        figure.add_heatmap(x=x, y=y, z=answers, showscale=False, **scale)
        style = {"color": truth, "colorscale": "Cividis", "cmin": low, "cmax": high}
        _rows(figure, xy, np.ones(len(xy), bool), wrong, style | {"symbol": "circle"})
        return _window(figure, view)
    figure.add_heatmap(
        x=x,
        y=y,
        z=answers,
        colorscale=_steps(len(classes)),
        zmin=-0.5,
        zmax=len(classes) - 0.5,
        showscale=False,
        opacity=0.45,
        hoverinfo="skip",
    )
    for j in np.unique(truth[truth >= 0]):
        _rows(figure, xy, truth == j, wrong, class_mark(j))
    return _window(figure, view)


def difference_map(
    view: View, differ: np.ndarray, xy: np.ndarray, only: np.ndarray, names: list[str]
) -> go.Figure:
    """Where two models answer differently, and who is right there.

    Parameters
    ----------
    view : View
        Window on which the nodes and rows lie.
    differ : ndarray of shape (n_nodes, n_nodes)
        How far the answers are from each other; of classifiers 0 or 1.
    xy : ndarray of shape (n_rows, 2)
        Where the rows lie in the window.
    only : ndarray of int, shape (n_rows,)
        0 and 1: only the first or second model is right (or nearer); 2: both or none.
    names : list of str
        What `only` is called, and where they differ.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    figure = go.Figure()
    figure.add_heatmap(
        x=np.linspace(*view.x, differ.shape[1]),
        y=np.linspace(*view.y, differ.shape[0]),
        z=differ,
        colorscale=[[0, "rgba(0,0,0,0)"], [1, OKABE_ITO[5]]],
        zmin=0,
        zmax=max(float(differ.max()), 1e-300),
        opacity=0.5,
        showscale=False,
        hoverinfo="skip",
    )
    styles = [("triangle-up", OKABE_ITO[0], 10), ("triangle-down", OKABE_ITO[1], 10)]
    for j, (symbol, color, size) in enumerate([*styles, ("circle", _GREY, 5)]):
        selected = only == j
        style = {"symbol": symbol, "color": color, "size": size}
        figure.add_scatter(
            x=xy[selected, 0],
            y=xy[selected, 1],
            mode="markers",
            name=names[j],
            marker=style,
        )
    style = {"symbol": "square", "color": OKABE_ITO[5], "size": 11, "opacity": 0.5}
    figure.add_scatter(x=[None], y=[None], mode="markers", name=names[3], marker=style)
    _window(figure, view)
    # From the bottom up: on a phone its lines stand below each other, above the map.
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    return figure.update_layout(height=420, showlegend=True, legend=legend)


def class_legend(classes: np.ndarray) -> go.Figure:
    """Which colour and shape is which class, for several maps at once.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the colours.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    figure = go.Figure()
    for j, label in enumerate(classes):
        text = words(str(label)[:24])
        style = {**class_mark(j), "size": 9}
        figure.add_scatter(x=[None], y=[None], mode="markers", name=text, marker=style)
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
        line = {"width": 2 if ring else 0.5, "color": _RING if ring else "white"}
        marker = {**style, "size": 9 if ring else 6, "line": line}
        if np.ndim(style["color"]):
            marker["color"] = style["color"][rows]
        figure.add_scatter(
            x=xy[rows, 0],
            y=xy[rows, 1],
            mode="markers",
            marker=marker,
            hoverinfo="skip",
        )


def _window(figure: go.Figure, view: View) -> go.Figure:
    for update, limits, label in (
        (figure.update_xaxes, view.x, view.x_label),
        (figure.update_yaxes, view.y, view.y_label),
    ):
        title = {"text": words(label), "font_size": 12, "standoff": 4}
        update(range=limits, showgrid=False, zeroline=False, title=title)
    return figure.update_layout(
        height=_HEIGHT, showlegend=False, margin={"l": 45, "r": 5, "t": 5, "b": 40}
    )


def similarity_map(K: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> go.Figure:
    """A matrix of similarities as a map, rows of one label beside each other.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        Similarity of each row to each.
    labels : ndarray of shape (n_rows,)
        They sort the rows; lines part those of different ones.
    rows : ndarray of int, shape (n_rows,)
        Numbers of the rows, for the read-out.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    order = np.argsort(labels, kind="stable")
    names = [f"row {rows[i]} ({words(labels[i])})" for i in order]
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
        figure.add_hline(place, line={"color": _GREY, "width": 1})
        figure.add_vline(place, line={"color": _GREY, "width": 1})
    axis = {"showticklabels": False, "constrain": "domain", "title": "row"}
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis, autorange="reversed", scaleanchor="x")
    figure.update_layout(height=420, margin={"l": 10, "r": 10, "t": 10, "b": 10})
    return figure
