"""Charts of series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from smpcore.colors import class_color
from smpcore.datasets import Dataset, TimeAxis
from smpcore.datasets.display_names import plain_number
from smpcore.datasets.structure import unit_of
from smpcore.errors import SmpcoreError
from smpcore.figures.charts import (
    band,
    class_line,
    guide,
    layout,
    legend_above_titles,
    line_style,
    words,
)

_PER_CLASS = 3
_MOST_CHANNELS = 12
_MOST_CLASSES = 10
#: Panels beside each other.
_ACROSS = 2


def series(
    dataset: Dataset, rows: np.ndarray, per_class: int = _PER_CLASS
) -> go.Figure:
    """A few samples of each class, spread evenly over these rows, a panel a channel.

    The first 12 channels and the first 10 classes are drawn.
    """
    channels = dataset.channels
    if not channels:
        raise SmpcoreError(
            f"dataset={dataset.name} should hold series; read it as series first."
        )
    n_times, shown = dataset.sample_shape[1], channels[:_MOST_CHANNELS]
    figure, places = _panels(shown, time_axis(dataset), "")
    features, times = dataset.feature_columns, time_axis(dataset).times(n_times)
    for name, style, class_rows in _groups(dataset, rows):
        n_rows = class_rows.size
        evenly = np.linspace(0, n_rows - 1, min(per_class, n_rows)).astype(int)
        some = class_rows[evenly]
        values = dataset.frame[features].iloc[some].to_numpy(np.float64)
        # One line with gaps for all the samples of a class: fewer traces, one name.
        gaps = np.full((some.size, len(channels), 1), np.nan)
        values = np.dstack([values.reshape(some.size, len(channels), n_times), gaps])
        x = np.tile(np.append(times, np.nan), some.size)
        for j in range(len(shown)):
            figure.add_scatter(
                x=x,
                y=values[:, j].ravel(),
                mode="lines" if n_times > 1 else "markers",
                name=name,
                legendgroup=name,
                showlegend=j == 0,
                line=style,
                **places[j],
            )
    return _laid_out(figure, len(shown))


class Spread(NamedTuple):
    """How the rows of one class are spread around their mean.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_features,)
        Mean of the rows, and their standard deviation.
    """

    mean: np.ndarray
    deviation: np.ndarray


def spreads(X: np.ndarray, y_encoded: np.ndarray) -> dict[int, Spread]:
    """Mean and standard deviation of the rows of each class.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y_encoded : ndarray of int, shape (n_rows,)
        Class of each row.

    Returns
    -------
    dict of int to Spread
    """
    parts = {int(c): X[y_encoded == c] for c in np.unique(y_encoded)}
    return {c: Spread(part.mean(axis=0), part.std(axis=0)) for c, part in parts.items()}


def channels(
    rows: np.ndarray,
    shape: tuple[int, int],
    titles: Sequence[str],
    names: Sequence[str] = (),
    of_class: Sequence[int] | None = None,
    axis: TimeAxis | None = None,
    behind: Mapping[int, Spread] | None = None,
) -> go.Figure:
    """Series, one small chart per channel.

    The shape, (n_channels, n_times), says how the features of a row are divided;
    channels without names are numbered. Rows of one class have its colour and differ
    in their dashes; without classes both differ. Behind the rows lie mean and standard
    deviation of their classes; rows without these are weights, on one scale.
    """
    styles = [line_style(i) for i in range(len(rows))]
    if of_class is not None:
        turns = [list(of_class[:i]).count(c) for i, c in enumerate(of_class)]
        styles = [class_line(c, n) for c, n in zip(of_class, turns, strict=True)]
    axis = axis or TimeAxis()
    times, numbered = (
        axis.times(shape[1]),
        [f"channel {c + 1}" for c in range(shape[0])],
    )
    rows = np.reshape(rows, (len(rows), *shape))
    largest = np.nanmax(np.abs(rows), axis=(0, 2), initial=1e-300)[:, None]
    figure, places = _panels(
        names or numbered, axis, "weight" if behind is None else ""
    )
    drawn = [] if of_class is None else dict.fromkeys(map(int, of_class))
    for c in (c for c in drawn if behind and c in behind):
        mean, deviation = (_rounded(part.reshape(shape), largest) for part in behind[c])
        for j, place in enumerate(places):
            low, high = mean[j] - deviation[j], mean[j] + deviation[j]
            band(figure, times, low, high, class_color(c), **place)
            line = {"color": class_color(c), "dash": "dot", "width": 1}
            style = {"mode": "lines", "hoverinfo": "skip", "showlegend": False}
            figure.add_scatter(x=times, y=mean[j], line=line, **style, **place)
    for i, (row, title) in enumerate(zip(rows, titles, strict=True)):
        for c, line in enumerate(_rounded(row, largest)):
            figure.add_scatter(
                x=times,
                y=line,
                name=words(title),
                legendgroup=str(i),
                showlegend=c == 0,
                line=styles[i],
                **places[c],
            )
    return _laid_out(figure, shape[0])


def _rounded(values: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Values without rounding, which would else fill the axis of a constant."""
    power = np.exp2(np.ceil(np.log2(largest)))  # so that dividing changes no digit
    return np.round(values / power, 12) * power


def aligned(
    series: tuple[np.ndarray, np.ndarray],
    path: np.ndarray,
    names: Sequence[str],
    axis: TimeAxis,
    y_title: str,
) -> go.Figure:
    """Two series below each other, with lines between the steps that are paired.

    The path holds the pairs; of many of them some 60 are drawn.
    """
    upper, lower = series
    times, figure = axis.times(len(upper)), go.Figure()
    ranges = [(float(one.min()), float(one.max())) for one in series]
    drop = (
        1.3 * (max(high for _, high in ranges) - min(low for low, _ in ranges)) or 1.0
    )
    some = path[:: -(-len(path) // 60)]
    x, y = np.full((2, len(some), 3), np.nan)
    x[:, :2] = times[some]
    of_upper, of_lower = some.T
    y[:, :2] = np.column_stack([upper[of_upper], lower[of_lower] - drop])
    guide(figure, x.ravel(), y.ravel(), "paired steps", dash="solid", width=1)
    for i, line in enumerate((upper, lower - drop)):
        figure.add_scatter(x=times, y=line, name=words(names[i]), line=line_style(i))
    ticks = [(v - drop * i, plain_number(v, 3)) for i in (0, 1) for v in ranges[i]]
    places, texts = zip(*ticks, strict=True)
    figure.update_yaxes(tickvals=places, ticktext=texts)
    return layout(figure, 320, words(axis.title, 60), words(y_title))


def time_axis(dataset: Dataset) -> TimeAxis:
    """When the values of its series were taken; steps are counted if none is known."""
    return dataset.time_axis or TimeAxis()


def _panels(
    names: Sequence[str], axis: TimeAxis, of_all: str
) -> tuple[go.Figure, list[dict[str, int]]]:
    """An empty panel for each channel; those of one unit have one scale."""
    across = min(_ACROSS, len(names))
    down = -(-len(names) // across)
    cells = [{}] * len(names) + [None] * (down * across - len(names))
    figure = make_subplots(
        down,
        across,
        specs=[cells[i : i + across] for i in range(0, len(cells), across)],
        subplot_titles=[words(name) for name in names],
        shared_xaxes="all",
        vertical_spacing=min(0.35 / down, 0.2),
    )
    places = [
        {"row": j // across + 1, "col": j % across + 1} for j in range(len(names))
    ]
    first_of: dict[str, str] = {}
    for j, (name, place) in enumerate(zip(names, places, strict=True), 1):
        unit = of_all or unit_of(name)
        title = words(unit or "value") if unit_of(name) or place["col"] == 1 else ""
        figure.update_yaxes(title_text=title, nticks=4, tickformat=".6~g", **place)
        if unit:
            first = first_of.setdefault(unit, f"y{j}" if j > 1 else "y")
            figure.update_yaxes(matches=first, **place)
    for place in places[-across:]:
        figure.update_xaxes(
            title_text=words(axis.title, 60), showticklabels=True, **place
        )
    figure.update_annotations(font_size=13)
    return figure, places


def _laid_out(figure: go.Figure, n_channels: int) -> go.Figure:
    return legend_above_titles(figure, 70 + 130 * -(-n_channels // _ACROSS))


def _groups(
    dataset: Dataset, rows: np.ndarray
) -> list[tuple[str, dict[str, object], np.ndarray]]:
    """Name, line and rows of each class; of a number to predict, its thirds."""
    if dataset.task == "classification":
        group_of_row = dataset.y_encoded[rows]
        names = [words(label) for label in dataset.classes[:_MOST_CLASSES]]
    else:
        limits = np.quantile(dataset.y[rows], [1 / 3, 2 / 3]) if rows.size else [0, 0]
        group_of_row = np.searchsorted(limits, dataset.y[rows])
        names = [f"{third} third of the target" for third in ("low", "middle", "high")]
    return [
        (name, class_line(j, j) | {"width": 1.5}, rows[group_of_row == j])
        for j, name in enumerate(names)
        if (group_of_row == j).any()
    ]
