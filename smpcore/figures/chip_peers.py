"""What models cost on a chip: beside its memory, and beside measured models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.colors import GREY, NEGATIVE, OKABE_ITO
from smpcore.figures.charts import (
    bars_layout,
    class_mark,
    error_bars,
    log_axis,
    marks,
    words,
)
from smpcore.figures.performance import beside_others
from smpcore.readouts import Estimate

#: Colour and symbol of the marked model, in no group.
_MARKED = {"color": OKABE_ITO[5], "symbol": "star", "size": 17}


class MarkedModel(NamedTuple):
    """The model that is marked among measured ones, in the units of the axes."""

    name: str
    cost: float
    accuracy: Estimate


def chip_peers(
    points: pd.DataFrame, cost: str, titles: tuple[str, str], marked: MarkedModel | None
) -> go.Figure:
    """Accuracies against flash or cycles, by group, with one model marked.

    Points have columns ``group``, ``model``, ``accuracy``, ``low`` and ``high``
    (shares), and `cost`, with `<cost>_least` and `<cost>_most`. One without this cost
    is not drawn.
    """
    figure = go.Figure()
    shown = points[np.isfinite(points[cost].astype(float))].sort_values(cost)
    for place, group in enumerate(points["group"].unique()):
        _group(figure, shown[shown["group"] == group], cost, place)
    if marked is not None:
        value, low, high, _ = marked.accuracy
        bars = error_bars(np.array([value]), low, high, thickness=1.5)
        at, hover = (marked.cost, value), "%{y:.1%} at %{x:,}"
        marks(figure, at, marked.name, _MARKED, error_y=bars, hovertemplate=hover)
    figure.update_xaxes(log_axis(shown[cost]))
    figure.update_yaxes(tickformat=".0%")
    # On a phone the legend takes six lines.
    return beside_others(figure, *titles).update_layout(height=460)


def memory_bars(lines: pd.DataFrame) -> go.Figure:
    """What is reserved of each memory, what a model takes, and where it is full.

    The table has columns ``memory``, ``reserved`` and ``this model``, in percent.
    """
    figure = go.Figure()
    names = [words(name) for name in lines["memory"]]
    for column, color in (("reserved", GREY), ("this model", OKABE_ITO[0])):
        style = {"marker_color": color, "hovertemplate": "%{y}: %{x:.3~r} %"}
        values, places = lines[column], {"y": names, "orientation": "h"}
        figure.add_bar(x=values, name=column, **places, **style)
    figure.add_vline(100, line={"color": NEGATIVE, "width": 2}, annotation_text="full")
    return bars_layout(figure, len(lines), "% of the memory", "board")


def _group(figure: go.Figure, part: pd.DataFrame, cost: str, place: int) -> None:
    """Points of one group; those of the first, ours, are joined."""
    if part.empty:
        return
    names = part["model"], part[f"{cost}_least"], part[f"{cost}_most"]
    interval = part["accuracy"], part["low"], part["high"]
    figure.add_scatter(
        x=part[cost],
        y=part["accuracy"],
        error_y=error_bars(*interval, thickness=1, width=2),
        mode="markers" if place else "lines+markers",
        line={"width": 1, "shape": "hv"},
        name=part["group"].iloc[0],
        marker={**class_mark(place), "size": 9},
        text=[
            f"{model}<br>{cost} {least:,.0f} to {most:,.0f}"
            for model, least, most in zip(*names, strict=True)
        ],
        hovertemplate="%{text}<br>%{y:.1%}",
    )
