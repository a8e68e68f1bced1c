"""Numbers that a paper prints beside those that were measured here."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.colors import GREY, OKABE_ITO
from smpcore.figures.charts import class_mark, guide, log_axis

#: Pixels of a line of numbers, and of what is around all of them.
_LINE, _AROUND = 22, 130


def reported_measured(table: pd.DataFrame, measure: str, axis: str = "") -> go.Figure:
    """Reported numbers as open marks, measured ones filled; bars: standard deviations.

    The table has columns ``data``, ``model``, ``at``, ``reported``, ``reported_sd``,
    ``measured`` and ``measured_sd``, of one measure. Axis is what ``at`` is, with its
    unit; empty: a line for each data set.
    """
    figure = go.Figure()
    several = table["data"].nunique() > 1
    groups = ["data", "model"] if axis and several else ["model"]
    for place, (names, part) in enumerate(table.groupby(groups, sort=False)):
        style = class_mark(place)
        for kind in ("reported", "measured"):
            shown = part[np.isfinite(part[kind])]
            if len(shown):
                title = f"{', '.join(names)}, {kind}"
                _series(figure, shown, (kind, title, bool(axis)), style)
    if axis:
        return _framed(figure, 420, axis, measure)
    figure.update_yaxes(autorange="reversed")
    height = _AROUND + _LINE * table["data"].nunique()
    return _framed(figure, height, measure, "data set")


def _by_model(figure: go.Figure, names: Sequence[str], x_title: str) -> go.Figure:
    """A line for each model, in this order, which earlier traces would change."""
    order = {"categoryorder": "array", "categoryarray": list(names)}
    figure.update_yaxes(autorange="reversed", **order)
    return _framed(figure, _AROUND + _LINE * len(names), x_title, "model")


def _framed(figure: go.Figure, height: int, x_title: str, y_title: str) -> go.Figure:
    """Titles of the axes, and the legend below."""
    return figure.update_layout(
        xaxis_title=x_title,
        yaxis_title=y_title,
        height=height,
        margin={"l": 10, "r": 30, "t": 10, "b": 10},
        legend={"orientation": "h", "y": -0.2, "yanchor": "top"},
    )


def _series(
    figure: go.Figure,
    part: pd.DataFrame,
    what: tuple[str, str, bool],
    style: dict[str, str],
) -> None:
    """Numbers of one model of one kind, on an axis or a line for each data set."""
    kind, title, on_axis = what
    is_open = kind == "reported"
    symbol = f"{style['symbol']}-open" if is_open else style["symbol"]
    bars = {"array": part[f"{kind}_sd"].fillna(0.0), "thickness": 1, "width": 2}
    places = {"x": part["at"], "y": part[kind], "error_y": bars}
    if not on_axis:
        places = {"x": part[kind], "y": part["data"], "error_x": bars}
    figure.add_scatter(
        **places,
        mode="lines+markers" if on_axis else "markers",
        name=title,
        line={"dash": "dot" if is_open else "solid"},
        marker={**style, "symbol": symbol, "size": 9},
    )


def critical_difference(
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[Sequence[str]],
    critical: float,
) -> go.Figure:
    """Mean ranks of models, the best first, and bars over groups that hardly differ.

    The ranks of a group are within the critical difference.
    """
    figure = go.Figure()
    rank_of = dict(zip(names, ranks, strict=True))
    for group in groups:
        limits = rank_of[group[0]], rank_of[group[-1]]
        figure.add_scatter(
            x=[limits[0], limits[0], limits[1]],
            y=[group[0], group[-1], group[-1]],
            mode="lines",
            line={"width": 4, "color": GREY},
            opacity=0.5,
            name=f"no clear difference: less than {critical:.2f}",
            showlegend=group is groups[0],
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=list(ranks),
        y=list(names),
        mode="markers+text",
        text=[f"{rank:.2f}" for rank in ranks],
        textposition="middle right",
        marker={"size": 10, "color": OKABE_ITO[0]},
        name="mean rank",
    )
    low, high = min(ranks), max(ranks)
    edge = 0.1 * (high - low)  # the numbers stand at the right of their marks
    limits = [low - edge, high + 3 * edge]
    figure.update_xaxes(range=limits)
    return _by_model(figure, names, "mean rank (1 is best)")


def accuracy_size(
    means: pd.DataFrame, score: str, size: str, ours: Collection[str]
) -> go.Figure:
    """Mean scores of models against their mean sizes, with the Pareto front.

    Means are from `smpcore.papers.model_means`, whose order gives the models numbers,
    which the legend names; ours are drawn filled, the others open.
    """
    figure = go.Figure()
    front = means[means[f"front, {size}"]].sort_values(size)
    guide(figure, front[size], front[score], "Pareto front", shape="hv")
    for place, name in enumerate(means.index):
        style = class_mark(place)
        if name not in ours:
            style["symbol"] += "-open"
        figure.add_scatter(
            x=means.loc[[name], size],
            y=means.loc[[name], score],
            mode="markers+text",
            text=str(place + 1),
            textposition="top right",
            hovertemplate="%{x:,.0f}, %{y:.3f}",
            marker=style | {"size": 11},
            name=f"{place + 1} {name}",
        )
    title = f"{size} (geometric mean over data sets)"
    figure.update_xaxes(log_axis(means[size]))
    figure.update_yaxes(tickformat=".3f")
    return _framed(figure, 560, title, f"{score} (mean over data sets)")
