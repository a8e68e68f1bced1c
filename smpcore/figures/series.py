"""Charts of series."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from smpcore.datasets import Dataset
from smpcore.errors import SmpcoreError
from smpcore.figures.charts import class_line, words

_PER_CLASS = 3
_MOST_CHANNELS = 12
_MOST_CLASSES = 10


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
    usual = {"shared_xaxes": True, "vertical_spacing": 0.08 / len(shown)}
    figure = make_subplots(len(shown), 1, y_title="", **usual)
    features, times = dataset.feature_columns, np.arange(1, n_times + 1)
    for name, style, class_rows in _groups(dataset, rows):
        n_rows = class_rows.size
        places = np.linspace(0, n_rows - 1, min(per_class, n_rows)).astype(int)
        some = class_rows[places]
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
                row=j + 1,
                col=1,
            )
    for j, channel in enumerate(shown, start=1):
        figure.update_yaxes(title_text=words(channel, 12), nticks=4, row=j, col=1)
    figure.update_xaxes(title_text="time", row=len(shown), col=1)
    return figure.update_layout(
        legend=dict(orientation="h", y=1.0, yanchor="bottom", title=None),
        margin={"l": 10, "r": 10, "t": 40, "b": 40},
        height=140 + 90 * len(shown),
    )


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
