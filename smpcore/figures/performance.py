"""Charts of where a model, or a class, is right and wrong, and of thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.colors import GREY, OKABE_ITO, POSITIVE, translucent
from smpcore.datasets.display_names import plain_number
from smpcore.figures.charts import axis_values, error_bars, guide, layout, marks, words

#: Points that are drawn at most: the worst, and evenly spread others.
_MOST_POINTS = 2000


def predicted_actual(rows: pd.DataFrame, target: str, interval: str = "") -> go.Figure:
    """Actual against predicted numbers, on axes of one scale.

    Rows are `smpcore.evaluation.RegressionScores.residuals` with their numbers as
    ``row``; with the ends of the intervals of that name as ``low`` and ``high``, these
    are a band. As scikit-learn's PredictionErrorDisplay draws it.
    """
    figure = go.Figure()
    both = rows[["actual", "predicted"]].to_numpy()
    limits = np.array([both.min(), both.max()])
    guide(figure, limits, limits, "actual = predicted")
    if interval:
        spread = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_POINTS))
        ordered = rows.sort_values("predicted").iloc[spread.astype(int)]
        _band(figure, ordered["predicted"], ordered["low"], ordered["high"], interval)
    _row_points(figure, rows, "predicted", "actual", f"predicted {target}")
    limits += 0.04 * np.array([-1, 1]) * max(np.ptp(limits), 1e-9)
    figure.update_xaxes(range=limits, constrain="domain")
    return figure.update_yaxes(
        range=limits,
        constrain="domain",
        scaleanchor="x",
        title=f"actual {words(target)}",
    )


def residuals(rows: pd.DataFrame, column: str, title: str) -> go.Figure:
    """Residuals (actual - predicted) against a column of their table."""
    figure = go.Figure()
    figure.add_hline(0, line={"color": GREY, "dash": "dot"})
    return _row_points(figure, rows, column, "residual", title)


def residual_quantiles(rows: pd.DataFrame) -> go.Figure:
    """Residuals against quantiles of a normal distribution, a QQ plot.

    The line goes through the quartiles of both, as R's ``qqline``.
    """
    figure, x = go.Figure(), rows["quantile"].agg(["min", "max"]).to_numpy()
    quartiles = rows["residual"].quantile([0.25, 0.75])
    middle, slope = quartiles.mean(), np.ptp(quartiles) / _NORMAL_QUARTILES
    guide(figure, x, middle + slope * x, "normal distribution")
    title = "quantile of a normal distribution"
    return _row_points(figure, rows, "quantile", "residual", title)


#: Between both quartiles of a standard normal distribution.
_NORMAL_QUARTILES = 1.3489795003921634


def _row_points(
    figure: go.Figure, rows: pd.DataFrame, x: str, y: str, title: str
) -> go.Figure:
    """A point a row, its number as ``customdata``.

    Of more than 2,000 rows those with the largest errors, which come first, and evenly
    spread others are drawn.
    """
    half = _MOST_POINTS // 2
    if len(rows) > _MOST_POINTS:
        spread = np.linspace(half, len(rows) - 1, half).astype(int)
        rows = rows.iloc[np.concatenate([np.arange(half), spread])]
    across = "" if x not in ("actual", "predicted", "quantile") else f"{x} "
    marks(
        figure,
        np.column_stack([axis_values(rows[x]), rows[y]]),
        "rows",
        {"color": OKABE_ITO[0], "size": 6, "opacity": 0.8},
        customdata=rows["row"],
        unselected={"marker": {"opacity": 0.8}},
        hovertemplate=f"row %{{customdata}}: {y} %{{y:,.4~r}}, {across}%{{x}}"
        "<extra></extra>",
    )
    figure.update_layout(xaxis_hoverformat=",.4~r", xaxis_separatethousands=True)
    figure.update_layout(yaxis_separatethousands=True)
    return layout(figure, 380, words(title), y).update_layout(dragmode=False)


#: Rows of a chart whose ranges can be told apart.
_MOST_RANGES = 400


def predicted_ranges(rows: pd.DataFrame, title: str) -> go.Figure:
    """Each row's prediction against the range of the refits' predictions.

    The columns are those of `smpcore.evaluation.Optimism.rows`; of many rows some are
    drawn, evenly from the lowest prediction to the highest.
    """
    rows = rows.sort_values("predicted")
    shown = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_RANGES)).astype(int)
    rows, figure = rows.iloc[shown], go.Figure()
    marks(
        figure,
        rows[["predicted", "predicted"]],
        "row, range of 95 % of the refits",
        {"color": OKABE_ITO[0], "size": 4},
        error_y=error_bars(rows["predicted"], rows["low"], rows["high"], thickness=1),
        text=rows["row"],
        hovertemplate="row %{text}: predicted %{x:.3~r}",
    )
    return layout(figure, 420, words(title), "the same, refits").update_layout(
        dragmode=False
    )


def answer_counts(
    names: Sequence[str], counts: Sequence[int], marked: Sequence[int]
) -> go.Figure:
    """How often each answer was given; marked (right) ones have a colour and a tick."""
    figure = go.Figure()
    figure.add_bar(
        x=list(counts),
        y=[
            f"✓ {words(name, 100)}" if i in marked else words(name, 100)
            for i, name in enumerate(names)
        ],
        text=list(counts),
        textangle=0,
        orientation="h",
        marker_color=[POSITIVE if i in marked else GREY for i in range(len(names))],
        hoverinfo="skip",
    )
    figure.update_xaxes(visible=False, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category", title="answer")
    return figure.update_layout(
        height=60 + 34 * len(names), margin={"l": 10, "r": 10, "t": 10, "b": 10}
    )


def answer_numbers(
    votes: Mapping[str, Sequence[float]], right: float | None
) -> go.Figure:
    """A dot an answer on the line of numbers, a row a vote; the right one as a line.

    What is far from most of them stands at the line's end.
    """
    figure, every = go.Figure(), np.array([v for vote in votes.values() for v in vote])
    known = np.array([right] if right is not None and np.isfinite(right) else [])
    middle = np.concatenate(
        [np.quantile(every, [0.1, 0.9]) if every.size else [], known]
    )
    low, high = (middle.min(), middle.max()) if middle.size else (0.0, 1.0)
    room = (high - low) / 2 or 1.0
    for row, (name, numbers) in enumerate(votes.items()):
        shown = np.clip(numbers, low - room, high + room)
        cells = np.round((shown - low + room) / room * 20)
        nth = [int((cells[:i] == cell).sum()) for i, cell in enumerate(cells)]
        figure.add_scatter(
            x=shown,
            y=row + 0.8 * np.array(nth) / (1 + max(nth, default=0)),
            mode="markers",
            name=name,
            marker={"size": 11, "color": OKABE_ITO[0], "opacity": 0.8},
            customdata=[f"{number:g}" for number in numbers],
            hovertemplate="%{customdata}<extra></extra>",
        )
    if known.size:
        figure.add_vline(
            x=right,
            line={"color": POSITIVE, "width": 3},
            annotation_text=f"measured: {right:.4g}",
        )
    figure.update_xaxes(range=[low - 1.1 * room, high + 1.1 * room])
    places, names = [*range(len(votes))], [*votes]
    figure.update_yaxes(tickvals=places, ticktext=names, range=[-0.2, len(votes)])
    layout(figure, 90 + 110 * len(votes), "answer", "vote")
    return figure.update_layout(showlegend=False)


def answer_places(
    marked: Sequence[Sequence[float]],
    right: Sequence[Sequence[float]],
    rows: np.ndarray,
) -> go.Figure:
    """Where a class has marked, as heat over the rows; stars where it is right.

    `rows` are the places of the training rows, (n, 2).
    """
    figure = go.Figure()
    if marked:
        across, up = np.array([*marked]).T
        figure.add_histogram2dcontour(
            x=across,
            y=up,
            colorscale=[[0, translucent(OKABE_ITO[0], 0.0)], [1, OKABE_ITO[0]]],
            contours={"showlines": False},
            showscale=False,
            hoverinfo="skip",
        )
    kinds = (
        ("rows", rows, {"symbol": "circle", "size": 4, "color": GREY, "opacity": 0.8}),
        ("marked", marked, {"symbol": "x", "size": 9, "color": OKABE_ITO[0]}),
        ("right", right, {"symbol": "star", "size": 15, "color": POSITIVE}),
    )
    for name, places, style in kinds:
        marks(figure, [*places], name, style)
    return layout(figure, 380, "across, as on Explore", "up")


def roc(points: pd.DataFrame, threshold: float) -> go.Figure:
    """Sensitivity against false alarms, from `operating_points`."""
    figure = go.Figure()
    guide(figure, [0, 1], [0, 1], "chance")
    points = points.assign(alarms=1 - points["specificity"])
    _curve(figure, points, "alarms", "sensitivity", threshold)
    return of_shares(figure, "false positive rate (1 - specificity)", "sensitivity")


def precision_recall(points: pd.DataFrame, threshold: float) -> go.Figure:
    """Precision against sensitivity (recall), from `operating_points`."""
    figure = go.Figure()
    _curve(figure, points, "sensitivity", "precision", threshold)
    return of_shares(figure, "recall (sensitivity)", "precision")


def coverage(curve: pd.DataFrame, band: float) -> go.Figure:
    """Errors among the answers against how many rows get one, from `reject_curve`."""
    figure = go.Figure()
    shown = curve[curve["answered"] > 0].rename(columns={"band": "threshold"})
    _curve(figure, shown, "coverage", "error", band)
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(tickformat=".1%")
    titles = "coverage: share of rows predicted", "error rate of predicted rows"
    return beside_others(figure, *titles)


def _curve(
    figure: go.Figure, points: pd.DataFrame, x: str, y: str, threshold: float
) -> None:
    figure.add_scatter(
        x=points[x],
        y=points[y],
        mode="lines+markers",
        marker={"size": 4},
        line={"color": OKABE_ITO[0], "shape": "linear"},
        text=[f"{plain_number(value)}" for value in points["threshold"]],
        hovertemplate="%{text}: %{y:.3~r} at %{x:.3~r}",
        name="rows",
    )
    here = points.iloc[(points["threshold"] - threshold).abs().argsort()[:1]]
    style = {"size": 13, "color": OKABE_ITO[5], "symbol": "diamond"}
    marks(figure, here[[x, y]].to_numpy(), "in use", style, hoverinfo="skip")


def of_shares(figure: go.Figure, x_title: str, y_title: str) -> go.Figure:
    """A chart beside others whose axes go from 0 to 1."""
    axis = {"range": (-0.02, 1.02)}
    figure.update_layout(xaxis=axis, yaxis=axis)
    return beside_others(figure, x_title, y_title)


def beside_others(figure: go.Figure, *titles: str) -> go.Figure:
    """A chart of thresholds: its legend is below, as the toolbar is above."""
    legend = {"yref": "container", "y": 0, "yanchor": "bottom"}
    return layout(figure, 360, *titles).update_layout(
        legend=legend, margin={"b": 90}, dragmode=False
    )


#: What is below the net benefit of an odd threshold is not drawn.
_LOWEST = -0.1


def reliability(
    tables: Mapping[str, pd.DataFrame], curves: Mapping[str, pd.DataFrame], event: str
) -> go.Figure:
    """Observed share against predicted probability; on the diagonal both are equal.

    Tables are what `smpcore.evaluation.reliability` gives, curves what
    `calibration_curve` gives of the same probabilities: the first with intervals,
    others to compare with.
    """
    figure = go.Figure()
    guide(figure, [0, 1], [0, 1], "exact")
    for number, (name, table) in enumerate(tables.items()):
        first = number == 0
        color = OKABE_ITO[0] if first else GREY
        curve = curves[name]
        if len(curve):
            if first:
                _band(figure, curve["probability"], curve["low"], curve["high"])
            figure.add_scatter(
                x=curve["probability"],
                y=curve["share"],
                mode="lines",
                line={
                    "color": color,
                    "dash": "solid" if first else "dash",
                    "width": 2 if first else 1,
                },
                hovertemplate="predicted %{x:.3g}, smoothed %{y:.3g}",
                name=f"{name}, smoothed",
            )
        interval = table["share"], table["low"], table["high"]
        figure.add_scatter(
            x=table["probability"],
            y=table["share"],
            error_y=error_bars(*interval, thickness=1, visible=first),
            mode="markers",
            marker={
                "color": color,
                "symbol": "circle" if first else "square-open",
                "size": 8,
            },
            text=table["rows"],
            hovertemplate="predicted %{x:.3g}, observed %{y:.3g} of %{text} rows",
            name=f"{name}, bins",
        )
    return of_shares(figure, f"predicted probability {event}", "observed share")


def _band(
    figure: go.Figure,
    x: pd.Series,
    low: pd.Series,
    high: pd.Series,
    name: str = "95 % interval",
) -> None:
    """The intervals around a line, as an area."""
    for end, shown in ((high, False), (low, True)):
        figure.add_scatter(
            x=x,
            y=end,
            mode="lines",
            line={"width": 0},
            fill="tonexty" if shown else None,
            fillcolor=translucent(OKABE_ITO[0], 0.2),
            hoverinfo="skip",
            showlegend=shown,
            name=name,
        )


def decision_curve(curve: pd.DataFrame) -> go.Figure:
    """Net benefit against the threshold probability, beside treating all or none."""
    figure, x = go.Figure(), curve["threshold"]
    _band(figure, x, curve["low"], curve["high"])
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
