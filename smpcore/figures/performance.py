"""Charts of where a model, or a class, is right and wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.figures.charts import OKABE_ITO, layout, words
from smpcore.figures.tradeoff import GREY

#: Points that are drawn at most: the worst, and evenly spread others.
_MOST_POINTS = 2000


def predicted_actual(
    truth: np.ndarray, answers: np.ndarray, numbers: np.ndarray
) -> go.Figure:
    """Predicted against actual numbers, with the line on which both are the same.

    Of more than 2,000 rows those with the largest errors and evenly spread others are
    drawn. The number of a row is ``customdata`` of its point.
    """
    order = np.argsort(-np.abs(answers - truth), kind="stable")
    half = _MOST_POINTS // 2
    if len(order) > _MOST_POINTS:
        spread = np.linspace(half, len(order) - 1, half).astype(int)
        order = np.concatenate([order[:half], order[spread]])
    figure = go.Figure()
    both = np.concatenate([truth, answers])
    figure.add_scatter(
        x=[both.min(), both.max()],
        y=[both.min(), both.max()],
        mode="lines",
        name="predicted = actual",
        line={"color": GREY, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=truth[order],
        y=answers[order],
        mode="markers",
        name="rows",
        customdata=numbers[order],
        marker={"color": OKABE_ITO[0], "size": 7, "opacity": 0.7},
        unselected={"marker": {"opacity": 0.7}},
        hovertemplate="row %{customdata}: actual %{x:.4~r}, predicted %{y:.4~r}"
        "<extra></extra>",
    )
    layout(figure, 380, "actual", "predicted")
    return figure.update_layout(dragmode=False)


def group_values(
    table: pd.DataFrame, title: str, overall: float, percent: bool = False
) -> go.Figure:
    """A dot with its interval for each group of rows, and a line at all rows' value.

    The table has the lines of one measure, from `subgroups`.
    """
    figure = go.Figure()
    places = np.arange(len(table))
    differs = (table["p_value"] < 0.05).to_numpy()
    few = table["few"].to_numpy()
    kinds = (
        ("no clear difference", ~differs & ~few, OKABE_ITO[0], "circle"),
        ("differs from the rest", differs & ~few, OKABE_ITO[5], "diamond"),
        ("few rows", few, GREY, "circle-open"),
    )
    for name, shown, color, symbol in kinds:
        part = table[shown]
        if len(part):
            figure.add_scatter(
                x=part["value"],
                y=places[shown],
                mode="markers",
                name=name,
                error_x={
                    "symmetric": False,
                    "array": part["high"] - part["value"],
                    "arrayminus": part["value"] - part["low"],
                    "thickness": 1.5,
                },
                marker={"color": color, "symbol": symbol, "size": 11},
                text=part["group"].map(words),
                hovertemplate="%{text}: %{x:.3~r}",
            )
    figure.add_vline(x=overall, line={"color": GREY, "dash": "dot", "width": 1.5})
    labels = [
        f"{words(group, 30)} ({n:,})"
        for group, n in zip(table["group"], table["rows"], strict=True)
    ]
    layout(figure, 120 + 34 * len(table), title, "")
    figure.update_yaxes(
        tickvals=places, ticktext=labels, range=(len(table) - 0.5, -0.5), title="group"
    )
    return figure.update_xaxes(tickformat=".0%" if percent else None).update_layout(
        dragmode=False
    )


def answer_counts(
    names: Sequence[str], counts: Sequence[int], marked: Sequence[int]
) -> go.Figure:
    """How often each answer was given; marked (right) ones have a colour and a tick."""
    figure = go.Figure()
    figure.add_bar(
        x=list(counts),
        y=[f"✓ {n}" if i in marked else n for i, n in enumerate(names)],
        text=list(counts),
        textangle=0,
        orientation="h",
        marker_color=[OKABE_ITO[2 if i in marked else 0] for i in range(len(names))],
        hoverinfo="skip",
    )
    figure.update_xaxes(visible=False, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category", title="answer")
    return figure.update_layout(
        height=60 + 34 * len(names), margin={"l": 10, "r": 10, "t": 10, "b": 10}
    )


def answer_places(
    marked: Sequence[Sequence[float]], right: Sequence[Sequence[float]]
) -> go.Figure:
    """Places that a class has marked, and stars where the right ones are."""
    figure = go.Figure()
    kinds = (("marked", marked, "x", 9, 0), ("right", right, "star", 15, 2))
    for name, places, symbol, size, colour in kinds:
        x, y = np.array([*places]).reshape(-1, 2).T
        style = {"symbol": symbol, "size": size, "color": OKABE_ITO[colour]}
        figure.add_scatter(x=x, y=y, mode="markers", name=name, marker=style)
    figure.update_layout(xaxis_title="across, as on Explore", yaxis_title="up")
    return figure.update_layout(
        height=340, margin={"l": 10, "r": 10, "t": 10, "b": 10}, showlegend=True
    )
