"""Charts of data and of a solver's way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.colors import GREY, OKABE_ITO, class_color, translucent
from smpcore.datasets import Dataset, Split
from smpcore.datasets.display_names import plain_number, shorten_name
from smpcore.model import History


def convergence(history: History) -> go.Figure:
    """How objective and certified gap went, and where each phase of the fit begins."""
    figure = go.Figure()
    figure.add_scatter(
        x=history.iteration,
        y=history.objective,
        name="objective",
        mode="lines+markers",
        line={"color": OKABE_ITO[0]},
    )
    certified = np.isfinite(history.gap) & (history.gap > 0)
    figure.add_scatter(
        x=history.iteration[certified],
        y=history.gap[certified],
        name="optimality gap (upper bound)",
        mode="lines+markers",
        line={"color": OKABE_ITO[5], "dash": "dot"},
        marker={"symbol": "diamond"},
    )
    for start, name in history.phases:
        figure.add_vline(
            x=start,
            line={"dash": "dash", "width": 1},
            annotation={"text": words(name), "textangle": 0, "xanchor": "left"},
        )
    figure.update_yaxes(type="log", exponentformat="e")
    return layout(figure, 300, "iteration", "value (log scale)")


#: As on Explore; colour and shape are never the same for two of the first 110 classes.
SYMBOLS = (
    *("circle", "square", "triangle-up", "diamond", "cross", "x"),
    *("star", "triangle-down", "pentagon", "hexagon"),
)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_PARTS = {"training": "", "validation": "/", "test": "x"}
_MOST_POINTS = 2000
_MOST_BARS = 40


def words(text: object, most: int = 40) -> str:
    """Short text of a user, without the tags that plotly would obey."""
    text = shorten_name(text, most)
    return text.replace("&", "&amp;").replace("<", "&lt;")


def layout(figure: go.Figure, height: int, *titles: str) -> go.Figure:
    """Give a chart its titles of x and y, its legend above it and little margin."""
    axes = dict(zip(("xaxis_title", "yaxis_title"), titles, strict=False))
    return figure.update_layout(
        axes,
        legend=dict(orientation="h", y=1.02, yanchor="bottom", traceorder="normal"),
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        height=height,
        barmode="stack",
    )


def legend_above_titles(figure: go.Figure, height: int) -> go.Figure:
    """Give panels a legend that has its place above their titles, not over them."""
    return layout(figure, height).update_layout(legend_y=1 + 28 / (height - 70))


def band(
    figure: go.Figure, x: object, low: object, high: object, color: str, **more: object
) -> None:
    """A pale band between two lines."""
    figure.add_scatter(
        x=np.concatenate([x, np.flip(x)]),
        y=np.concatenate([high, np.flip(low)]),
        fill="toself",
        fillcolor=translucent(color, 0.2),
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        **more,
    )


def bars_layout(
    figure: go.Figure, n_bars: int, x_title: str, y_title: str
) -> go.Figure:
    """Give lying bars the height they need, the first one on top."""
    figure.update_yaxes(autorange="reversed", type="category")
    # Below the middle of the bars it would be cut where names leave them no room.
    title = {"text": x_title, "showarrow": False, "yanchor": "top", "yshift": -24}
    paper = {"xref": "paper", "yref": "paper", "x": 1, "y": 0, "xanchor": "right"}
    figure.add_annotation(title | paper | {"font_size": 14})
    return layout(figure, 110 + 24 * n_bars, "", y_title)


def log_axis(values: object) -> dict[str, object]:
    """An axis of 1, 10, 100; of less than two of these, of 1, 2, 5 written out."""
    values = np.asarray(values, np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    if not values.size:
        return {"type": "log"}
    low, high = values.min() / 1.1, values.max() * 1.1
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    ticks = powers[(low <= powers) & (powers <= high)]
    if len(ticks) < 2:
        ticks = np.outer(powers, (1.0, 2.0, 5.0)).ravel()
        ticks = ticks[(low <= ticks) & (ticks <= high)]
    texts = [plain_number(tick, separator=",") for tick in ticks]
    return {"type": "log", "tickvals": ticks, "ticktext": texts}


def guide(figure: go.Figure, x: object, y: object, name: str, **line: object) -> None:
    """A dotted grey line to compare points with."""
    line = {"color": GREY, "dash": "dot", **line}
    figure.add_scatter(x=x, y=y, mode="lines", name=name, line=line, hoverinfo="skip")


def marks(
    figure: go.Figure, xy: object, name: str, style: dict, **more: object
) -> None:
    """Marks of one kind, at places (x, y)."""
    x, y = np.reshape(xy, (-1, 2)).T
    figure.add_scatter(x=x, y=y, mode="markers", name=name, marker=style, **more)


def error_bars(value: object, low: object, high: object, **style: object) -> dict:
    """Bars around values from the low ends of their intervals to the high ones."""
    return {"array": high - value, "arrayminus": value - low, **style}


def line_style(number: int) -> dict[str, str]:
    """Colour and dashes of a line; no two of the first 42 have the same."""
    return {
        "color": OKABE_ITO[number % len(OKABE_ITO)],
        "dash": _DASHES[number % len(_DASHES)],
    }


def class_line(number: int, turn: int) -> dict[str, str]:
    """Colour of a class, and dashes of one of its lines."""
    return {"color": class_color(number), "dash": _DASHES[turn % len(_DASHES)]}


def class_balance(dataset: Dataset, division: Split) -> go.Figure:
    """How many rows each of the 40 largest classes has in each part, or a histogram."""
    figure, target = go.Figure(), words(dataset.target)
    rows = (division.train, division.validation, division.test)
    styles = [
        {"color": OKABE_ITO[i], "pattern": {"shape": hatch}}
        for i, hatch in enumerate(_PARTS.values())
    ]
    if dataset.task == "regression":
        for part, name, style in zip(rows, _PARTS, styles, strict=True):
            figure.add_histogram(x=dataset.y[part], name=name, marker=style)
        return layout(figure, 320, target, "rows")
    n_classes = len(dataset.classes)
    sizes = np.bincount(dataset.y_encoded, minlength=n_classes)
    shown = np.argsort(-sizes, kind="stable")[:_MOST_BARS]
    labels = [words(label) for label in dataset.classes[shown]]
    for part, name, style in zip(rows, _PARTS, styles, strict=True):
        counts = np.bincount(dataset.y_encoded[part], minlength=n_classes)[shown]
        figure.add_bar(x=counts, y=labels, orientation="h", name=name, marker=style)
    return bars_layout(figure, len(shown), "rows", target)


def missing_values(dataset: Dataset) -> go.Figure:
    """Which share of each used column is missing, of the 40 worst that lack values."""
    shares = dataset.frame[dataset.feature_columns].isna().mean()
    shares = shares[shares > 0].sort_values(ascending=False)[:_MOST_BARS]
    labels, color = [words(name) for name in shares.index], OKABE_ITO[5]
    bars = go.Bar(x=100 * shares, y=labels, orientation="h", marker_color=color)
    figure = go.Figure(bars).update_xaxes(range=(0, 100))
    return bars_layout(figure, len(shares), "missing (% of all rows)", "column")


def scatter(dataset: Dataset, rows: np.ndarray, first: str, second: str) -> go.Figure:
    """Two columns of these rows against each other, by class or by target value.

    Of more than 2000 rows evenly spread ones are drawn.
    """
    rows = rows[:: -(-len(rows) // _MOST_POINTS) or 1]
    x, y = (axis_values(dataset.frame[name].iloc[rows]) for name in (first, second))
    figure, xy = go.Figure(), np.column_stack([x, y])
    if dataset.task == "regression":
        style = {"color": dataset.y[rows], "colorscale": "Cividis", "showscale": True}
        marks(figure, xy, "", style)
    for j, label in enumerate(() if dataset.classes is None else dataset.classes):
        style = {**class_mark(j), "size": 7}
        marks(figure, xy[dataset.y_encoded[rows] == j], words(label), style)
    return layout(figure, 420, words(first), words(second))


def class_mark(number: int) -> dict[str, str]:
    """Colour and shape of a class."""
    return {
        "color": class_color(number),
        "symbol": SYMBOLS[number % len(SYMBOLS)],
    }


def axis_values(column: pd.Series) -> np.ndarray:
    """Numbers of a column, or its texts as plotly may have them."""
    if column.dtype.kind in "if":
        return column.to_numpy()
    return np.array([None if pd.isna(v) else words(v) for v in column], dtype=object)
