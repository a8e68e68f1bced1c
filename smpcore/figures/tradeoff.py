"""Charts of how good models are against what they cost."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.colors import GREY
from smpcore.figures.charts import class_mark, guide, layout, log_axis, marks

#: State of a point -> symbol's suffix, size, opacity, words.
_STATES = {
    "front": ("", 11, 1.0, "on the Pareto front"),
    "undecided": ("-open", 10, 1.0, "not significantly different from the front"),
    "worse": ("", 6, 0.35, "dominated"),
    "reference": ("", 8, 0.8, "baseline"),
}
#: Ring around a point -> what it says.
_RINGS = (
    ("best", "square-open", "best mean"),
    ("sparsest", "diamond-open", "sparsest within one standard error"),
)
#: Columns of the points that are drawn as they are.
_DRAWN = ("method", "parameter", "value", "mean", "error")
#: Beyond this ratio of sizes the axis is logarithmic.
_WIDE = 20.0

_Columns = dict[str, np.ndarray]


def tradeoff(
    points: pd.DataFrame,
    size: str,
    names: Mapping[str, str],
    titles: tuple[str, str],
    reference: tuple[str, ...] = (),
) -> go.Figure:
    """Scores against a cost, with error bars, the front and what is close to it.

    Points are from `pareto_front`; one without this cost is not drawn, and
    ``customdata`` of one that is drawn is its place in `points`. Names are of all
    methods, also of those without a point: colours and symbols go by their order.
    Those to compare with are grey.
    """
    # A data frame takes a millisecond for each cut, and there are dozens.
    shown: _Columns = {
        name: points[name].to_numpy()
        for name in (*_DRAWN, "front", "undecided", *(ring[0] for ring in _RINGS))
    }
    shown |= {"x": points[size].to_numpy(np.float64), "at": points.index.to_numpy()}
    shown = _cut(shown, np.isfinite(shown["x"]))
    positive = shown["x"][shown["x"] > 0]
    wide = len(positive) > 1 and positive.max() > _WIDE * positive.min()
    if wide:
        shown = _cut(shown, shown["x"] > 0)
    figure = go.Figure()
    front = _cut(shown, shown["front"])
    front = _cut(front, np.lexsort((front["mean"], front["x"])))
    guide(figure, front["x"], front["mean"], "front", shape="hv")
    for column, symbol, words in _RINGS:
        style = {"symbol": symbol, "size": 20, "color": GREY, "line": {"width": 2}}
        at = np.column_stack([shown["x"], shown["mean"]])[shown[column].astype(bool)]
        marks(figure, at, words, style, hoverinfo="skip")
    methods = [name for name in names if name not in reference]
    for key in names:
        number = methods.index(key) if key in methods else list(reference).index(key)
        style = class_mark(number + 3 * (key in reference))
        style |= {"color": GREY} if key in reference else {}
        part = _cut(shown, shown["method"] == key)
        behind = np.where(part["undecided"], "undecided", "worse")
        part["state"] = np.where(part["front"], "front", behind)
        if key in reference:
            part["state"][:] = "reference"
        part["text"] = _texts(part)
        _family(figure, part, names[key], style)
    figure.update_xaxes(log_axis(shown["x"]) if wide else {"type": "linear"})
    if shown["mean"].size and np.ptp(shown["mean"]) == 0.0:
        # The first point of a sweep would stand on an axis that is two units long.
        (mean, *_), half = shown["mean"], np.nanmax([0.05, *2.0 * shown["error"]])
        figure.update_yaxes(range=(mean - half, mean + half))
    return layout(figure, 390, *titles).update_layout(dragmode=False)


def _cut(columns: _Columns, wanted: np.ndarray) -> _Columns:
    """Those rows only."""
    return {name: values[wanted] for name, values in columns.items()}


def _texts(columns: _Columns) -> np.ndarray:
    """What each point of a method is; where several lie on one spot, all of them.

    The pointer reaches the uppermost only.
    """
    spots = zip(columns["x"].round(9), columns["mean"].round(9), strict=True)
    together: dict[tuple[float, float], list[str]] = {}
    lists = [together.setdefault(spot, []) for spot in spots]
    for text, parameter, value in zip(
        lists, columns["parameter"], columns["value"], strict=True
    ):
        text.append(f"{parameter} = {value:g}" if parameter else "default settings")
    return np.array(["<br>".join(text) for text in lists], dtype=object)


def _family(
    figure: go.Figure, columns: _Columns, name: str, style: dict[str, str]
) -> None:
    """One method's points: filled on the front, hollow beside it, small behind it."""
    labelled = False
    for kind, (suffix, pixels, opacity, words) in _STATES.items():
        part = _cut(columns, columns["state"] == kind)
        if not part["x"].size:
            continue
        figure.add_scatter(
            x=part["x"],
            y=part["mean"],
            error_y={"array": part["error"], "thickness": 1, "width": 3},
            mode="markers",
            name=name,
            legendgroup=name,
            showlegend=not labelled,
            opacity=opacity,
            marker={
                "color": style["color"],
                "symbol": style["symbol"] + suffix,
                "size": pixels,
                "line": {"width": 2 if suffix else 0, "color": style["color"]},
            },
            selected={"marker": {"opacity": 1.0}},
            unselected={"marker": {"opacity": 1.0}},
            text=part["text"],
            customdata=part["at"],
            hovertemplate="%{text}<br>%{y:.4~r} at %{x:.4~r}<br>" + words,
        )
        labelled = True
