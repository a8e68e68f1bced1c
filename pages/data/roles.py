"""What the columns of a table are for: roles, kinds, the task, features of series."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pandas as pd
import streamlit as st

from pages.data import editor
from pages.state import session
from pages.state.session import Slot
from pages.ui.elements import noted, problems_shown, table
from pages.ui.outcome import outcome_picker
from pages.ui.text import escape_markdown, message, short_label
from smpcore import Dataset, SmpcoreError, figures
from smpcore.datasets import (
    Channel,
    CleaningStep,
    Role,
    Split,
    biquad,
    declared_times,
    feature_names,
    filter_names,
    image_shapes,
    image_words,
    plain_number,
)
from smpcore.live import BUNDLED

_COLUMNS = Slot[pd.DataFrame]("columns")
_FORMER_TARGET, _PROBLEM = Slot[str]("former_target"), Slot[str]("features_problem")
ROLES = get_args(Role)
KINDS = ("number", "category", "text")
_HELP = (
    "A model then learns from these numbers of each channel, not from its samples, and "
    "Export has C that computes them from one sample at a time, bit for bit the same. "
    "Samples are counted in whole numbers. Features of a bundled table make a copy of "
    "it, which is yours. A band is the strength around so many cycles per series, by "
    "Goertzel's recursion; a correlation is with the next channel, jerk the mean size "
    "of the change from sample to sample. Of 64 samples or more there is a Fourier "
    "transform of 64 to 512 samples (Hann, without their mean, 16 bits with one "
    "exponent): FFT power is the variance in these bins, peak and centroid are in "
    "cycles per series."
)


#: Samples per second that can be declared: from one in 30 years.
_RATES = 1e-9, 1e9
_FILTERS_HELP = (
    "Each is a Butterworth filter of order 2, a biquad in whole numbers, one after the "
    "other; c cycles per series pass at half their power. It begins anew with each "
    "series, as if its first sample had been there forever: a high-pass takes gravity "
    "out."
)


def _cut(dataset: Dataset) -> None:
    """A switch that makes two classes of a number to predict."""
    if dataset.task != "regression":
        return
    now = session.current()
    key = f"two_{dataset.digest}_{now.two_classes}"
    st.toggle(
        "Two classes: below the mean 'P', else 'N'",
        now.two_classes,
        key=key,
        help="The papers' binary versions of such tables. The mean is that of all "
        "rows, test rows included: it belongs to the question.",
        disabled=now.follow_up is not None,  # that question has two answers already
        on_change=lambda: session.choose(
            replace(session.current(), two_classes=st.session_state[key], outcome=None)
        ),
    )


def outcome(dataset: Dataset) -> None:
    """Which of two classes is the event, once the table can be learned from."""
    with suppress(SmpcoreError):  # said above
        context = session.resolved()
        if not session.get().draft and len(context.labels) == 2:
            outcome_picker(st.columns([1, 2])[0], context)


def roles(dataset: Dataset) -> None:
    """A table of the columns, in which roles and kinds can be changed."""
    noted(st.info, _FORMER_TARGET, dataset.digest)
    table = _COLUMNS.get_or_make(dataset.digest, lambda: _overview(dataset))
    select = st.column_config.SelectboxColumn
    edited = st.data_editor(
        table,
        key=f"roles_{dataset.digest}",
        hide_index=True,
        disabled=["column", "values", "missing", *_fixed(dataset)],
        column_config={
            "role": select(options=list(ROLES), required=True),
            "read as": select(options=list(KINDS), required=True),
        },
    )
    changed = edited["role"] != table["role"], edited["read as"] != table["read as"]
    new_roles = dict(edited[changed[0]][["column", "role"]].to_numpy())
    new_kinds = dict(edited[changed[1]][["column", "read as"]].to_numpy())
    change_roles(dataset, roles=new_roles, kinds=new_kinds)


def _overview(dataset: Dataset) -> pd.DataFrame:
    frame = dataset.frame
    return pd.DataFrame(
        {
            "column": list(frame),
            "role": list(dataset.roles.values()),
            "read as": list(dataset.kinds.values()),
            "values": [_summary(frame[name]) for name in frame],
            "missing": frame.isna().sum().to_numpy(),
        }
    )


def likely_targets(dataset: Dataset) -> None:
    """The likeliest targets, each with its reason and a click."""
    ranked = () if dataset.origin is None else dataset.origin.targets
    if not (dataset.private and ranked):
        return
    row = st.container(horizontal=True)
    for place, one in enumerate(ranked):
        is_now = one.name == dataset.target
        if row.button(
            escape_markdown(f"Predict {short_label(one.name)}: {one.reason}"),
            key=f"likely_target_{place}",
            icon=":material/check:" if is_now else None,
            disabled=is_now,
        ):
            change_roles(dataset, roles={one.name: "target"})


def task(dataset: Dataset) -> None:
    """A choice of what the target is."""
    tasks = ["classification", "regression"]
    chosen = st.segmented_control(
        "Task",
        tasks,
        default=dataset.task,
        required=True,
        disabled=bool(_fixed(dataset)),
        key=f"task_{dataset.digest}",
    )
    _cut(dataset)
    change_roles(dataset, task=None if chosen == dataset.task else chosen)


def _fixed(dataset: Dataset) -> list[str]:
    return [] if dataset.private else ["role", "read as"]


def change_roles(dataset: Dataset, **changes: Any) -> None:
    if not any(changes.values()):
        return
    with problems_shown(st.error):
        changed = dataset.with_roles(**changes)
        editor.keep(changed)
        if (before := dataset.target) != changed.target:
            words = f"{before} was the target; its role is {changed.roles[before]} now."
            _FORMER_TARGET.put(changed.digest, words)
        st.rerun()


def _summary(column: pd.Series) -> str:
    if column.isna().all():
        return "nothing"
    if column.dtype.kind in "if":
        return f"{plain_number(column.min(), 6)} to {plain_number(column.max(), 6)}"
    different = column.dropna().unique()
    words = ", ".join(str(value)[:20] for value in sorted(different)[:4])
    return words if len(different) <= 4 else f"{len(different):,}: {words}, …"


def images(dataset: Dataset) -> None:
    """Offer that rows are pictures, where their columns look like pixels."""
    shapes = image_shapes(dataset) if dataset.private else []
    if not shapes:
        return
    words = {"no": ()} | {image_words(shape): shape for shape in shapes}
    is_image = dataset.sample_shape in shapes
    at = shapes.index(dataset.sample_shape) + 1 if is_image else 0
    key = f"images_{id(dataset.origin)}"

    def change() -> None:
        shape = words[st.session_state[key]]
        editor.keep(replace(dataset, sample_shape=shape))

    st.selectbox(
        "Rows as images",
        [*words],
        at,
        key=key,
        help="Columns are pixels, row by row from the top left. Prototypes, the map "
        "and reasons are then drawn as pictures.",
        on_change=change,
    )


def sampling_rate(dataset: Dataset) -> None:
    """Let the visitor declare how many samples of a series come per second."""
    if not dataset.private or not dataset.channels:
        return
    key, (low, high) = f"rate_{id(dataset.origin)}", _RATES
    known = dataset.time_axis.rate if dataset.time_axis else None

    def change() -> None:
        rate = st.session_state[key]
        changed = declared_times(1 / rate) if rate else None
        editor.keep(replace(dataset, time_axis=changed))

    st.number_input(
        "Samples per second",
        low,
        high,
        known if known and low <= known <= high else None,
        format="%.6g",
        placeholder="not declared: steps are counted",
        key=key,
        help="Axes then have seconds, and Export's stream begins with this rate.",
        on_change=change,
    )


def features_of_series(dataset: Dataset, division: Split) -> None:
    """Let the visitor choose features; they become a step that is recorded."""
    steps = dataset.feature_steps
    is_bundled = session.current().data in BUNDLED
    if not (dataset.private or is_bundled) or not (dataset.channels or steps):
        return
    n_times = steps[0].n_times if steps else dataset.sample_shape[1]
    st.multiselect(
        "Features in place of samples",
        feature_names(n_times),
        [*steps[0].features] if steps else [],
        key=_features_key(dataset),
        placeholder="Samples as they are",
        help=_HELP,
        on_change=_features_changed,
        args=(dataset, division),
    )
    noted(st.error, _PROBLEM, dataset.digest)
    if steps:
        _filters(dataset, division)
        counts = ", ".join(
            f"{step.channel} {plain_number(step.count, 6)}" for step in steps
        )
        message(st.caption, f"One count of each channel: {counts}.")
        _one_series(dataset)


def _one_series(dataset: Dataset) -> None:
    """Draw a row's samples as features see them, above the features themselves."""
    steps = dataset.feature_steps
    most = dataset.n_samples  # in the key: another target may leave fewer rows
    key = f"drawn_{id(dataset.origin)}_{most}"
    place = st.number_input("Row that is drawn", 1, most, key=key)
    row = dataset.frame.iloc[place - 1]
    channels = [
        Channel(row[[*step.samples]].to_numpy(float)[None], step.count, step.filters)
        for step in steps
    ]
    counted = [one.filtered_counts * one.count for one in channels]
    samples = [one.samples for one in channels]
    figure = figures.channels(
        np.reshape([samples, counted], (2, -1)),
        (len(steps), steps[0].n_times),
        ["samples", "in counts, filtered" if steps[0].filters else "in counts"],
        [step.channel for step in steps],
        axis=figures.time_axis(dataset),
        behind={},
    )
    st.plotly_chart(figure, key="one_series", alt=f"Row {place} and its counts")
    lines = [
        {"channel": step.channel}
        | dict(zip(step.features, row[[*step.feature_columns]], strict=True))
        for step in steps
    ]
    table(lines)


def _filters(dataset: Dataset, division: Split) -> None:
    """Let the visitor choose what all channels pass before their features."""
    step = dataset.feature_steps[0]
    st.multiselect(
        "Filters before the features",
        filter_names(step.n_times),
        [*step.filters],
        key=f"filters_{_features_key(dataset)}",
        placeholder="None",
        help=_FILTERS_HELP,
        on_change=_features_changed,
        args=(dataset, division),
    )
    rounding = [
        f"{plain_number(biquad(name, step.n_times).most_rounding, 2)} ({name})"
        for name in step.filters
    ]
    if rounding:
        st.caption(
            "With their rounded coefficients all poles of the filters are inside the "
            "unit circle, and no signal overflows 32 bits. Counts that rounding adds "
            f"at most, limit cycles included: {', '.join(rounding)}."
        )


def _features_changed(dataset: Dataset, division: Split) -> None:
    key = _features_key(dataset)
    names = tuple(st.session_state[key])
    filters = tuple(st.session_state.get(f"filters_{key}", ()))
    steps = dataset.feature_steps
    if not steps:
        n_times = dataset.sample_shape[1]
        samples = np.reshape(dataset.sample_columns, (-1, n_times))
        steps = [
            CleaningStep(
                column=str(columns[0]),
                features=names,
                n_times=n_times,
                count=_count(dataset.frame[columns].to_numpy()[division.train]),
            )
            for columns in samples
        ]
    chosen = {"features": names, "filters": filters}
    cleaning = [replace(step, **chosen) for step in steps] if names else []
    role = "ignore" if names else "feature"
    roles = {column: role for step in steps for column in step.samples}
    try:
        changed = dataset.with_roles(roles, cleaning=cleaning)
    except SmpcoreError as error:
        _PROBLEM.put(dataset.digest, str(error))
        return
    shape = len(steps), steps[0].n_times
    changed = changed if names else replace(changed, sample_shape=shape)
    editor.keep(replace(changed, private=True))


def _features_key(dataset: Dataset) -> str:
    """The control stays open from choice to choice: its table is the same as read."""
    return f"series_features_{id(dataset.origin)}"


def _count(samples: np.ndarray) -> float:
    """Value of one count: 1 for whole numbers, else so that 15 bits hold them."""
    most = np.nanmax(np.abs(samples), initial=0.0)
    if most < 2**15 and np.array_equal(samples, np.round(samples), equal_nan=True):
        return 1.0
    return float(2.0 ** (np.ceil(np.log2(most)) - 14)) if most > 0 else 1.0
