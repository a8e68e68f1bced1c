"""Charts of probabilities: their calibration, and what acting on them gains."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from smpcore.figures.charts import GREY, OKABE_ITO, error_bars, guide
from smpcore.figures.tradeoff import beside_others, of_shares

#: What is below the net benefit of an odd threshold is not drawn.
_LOWEST = -0.1


def reliability(tables: Mapping[str, pd.DataFrame], event: str) -> go.Figure:
    """Observed share against predicted probability; on the diagonal both are equal.

    Tables are what `smpcore.evaluation.reliability` gives: the first with intervals,
    others to compare with.
    """
    figure = go.Figure()
    guide(figure, [0, 1], [0, 1], "exact")
    for number, (name, table) in enumerate(tables.items()):
        first = number == 0
        color = OKABE_ITO[0] if first else GREY
        interval = table["share"], table["low"], table["high"]
        figure.add_scatter(
            x=table["probability"],
            y=table["share"],
            error_y=error_bars(*interval, thickness=1, visible=first),
            mode="lines+markers",
            line={"color": color, "width": 2 if first else 1},
            marker={"symbol": "circle" if first else "square-open", "size": 8},
            text=table["rows"],
            hovertemplate="predicted %{x:.3g}, observed %{y:.3g} of %{text} rows",
            name=name,
        )
    return of_shares(figure, f"predicted probability {event}", "observed share")


def decision_curve(curve: pd.DataFrame) -> go.Figure:
    """Net benefit against the threshold probability, beside treating all or none."""
    figure, x = go.Figure(), curve["threshold"]
    for name, shown in (("high", False), ("low", True)):
        figure.add_scatter(
            x=x,
            y=curve[name],
            mode="lines",
            line={"width": 0},
            fill="tonexty" if shown else None,
            fillcolor="rgba(0, 114, 178, 0.2)",
            hoverinfo="skip",
            showlegend=shown,
            name="95 % interval",
        )
    lines = (
        ("net_benefit", "this model", OKABE_ITO[0], "solid"),
        ("treat_all", "treat all", OKABE_ITO[5], "dash"),
        ("treat_none", "treat none", GREY, "dot"),
    )
    for column, name, color, dash in lines:
        figure.add_scatter(
            x=x,
            y=curve[column],
            mode="lines",
            line={"color": color, "dash": dash, "width": 2},
            hovertemplate="net benefit %{y:.3g} at %{x:.0%}",
            name=name,
        )
    top = max(curve["high"].max(), curve["treat_all"].max(), 0.02)
    figure.update_xaxes(tickformat=".0%", range=(0, 1))
    figure.update_yaxes(range=(_LOWEST * max(top, 0.2), 1.05 * top))
    return beside_others(figure, "threshold probability", "net benefit")
