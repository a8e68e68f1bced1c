"""Features in place of the samples of a visitor's own series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from pages.data import editor
from pages.state import session
from pages.ui.text import message
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import CleaningStep, Split, feature_names, plain_number

_HELP = (
    "A model then learns from these numbers of each channel, not from its samples, and "
    "Export has C that computes them from one sample at a time, bit for bit the same. "
    "Samples are counted in whole numbers. A band is the strength around so many "
    "cycles per series, by Goertzel's recursion."
)


def choose(dataset: Dataset, division: Split) -> None:
    """Let the visitor choose features; they become a step that is recorded."""
    steps = dataset.feature_steps
    if not dataset.private or not (dataset.channels or steps):
        return
    n_times = steps[0].n_times if steps else dataset.sample_shape[1]
    st.multiselect(
        "Features in place of samples",
        feature_names(n_times),
        [*steps[0].features] if steps else [],
        key=_key(dataset),
        placeholder="Samples as they are",
        help=_HELP,
        on_change=_changed,
        args=(dataset, division),
    )
    digest, problem = session.get().results.get("features_problem", ("", ""))
    if digest == dataset.digest:
        message(st.error, problem)
    if steps:
        counts = ", ".join(
            f"{step.channel} {plain_number(step.count, 6)}" for step in steps
        )
        message(st.caption, f"One count of each channel: {counts}.")


def _changed(dataset: Dataset, division: Split) -> None:
    names = tuple(st.session_state[_key(dataset)])
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
    cleaning = [replace(step, features=names) for step in steps] if names else []
    role = "ignore" if names else "feature"
    roles = {column: role for step in steps for column in step.samples}
    try:
        changed = dataset.with_roles(roles, cleaning=cleaning)
    except SmpcoreError as error:
        session.get().results["features_problem"] = dataset.digest, str(error)
        return
    shape = len(steps), steps[0].n_times
    editor.keep(changed if names else replace(changed, sample_shape=shape))


def _key(dataset: Dataset) -> str:
    """The control stays open from choice to choice: its table is the same as read."""
    return f"series_features_{id(dataset.origin)}"


def _count(samples: np.ndarray) -> float:
    """Value of one count: 1 for whole numbers, else so that 15 bits hold them."""
    most = np.nanmax(np.abs(samples), initial=0.0)
    if most < 2**15 and np.array_equal(samples, np.round(samples), equal_nan=True):
        return 1.0
    return float(2.0 ** (np.ceil(np.log2(most)) - 14)) if most > 0 else 1.0
