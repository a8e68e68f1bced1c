"""A model of series as a stream, of which its user sets the hop."""

from __future__ import annotations

import streamlit as st

from pages.state import widget_state
from pages.ui.exports import Export
from smpcore.codegen import TARGETS, FeatureStream, Stream

_HELP = (
    "The code takes a sample of every channel at a time, keeps what a window still "
    "needs, and answers the first window, then one after so many samples. All times of "
    "a channel get one range. Empty: a function of all inputs at once."
)


def control(made: Export, target: str) -> Stream | None:
    """Let the visitor say after how many samples a stream answers; none for tables."""
    dataset = made.data.dataset
    steps = dataset.feature_steps
    if not (dataset.channels or steps) or not TARGETS[target].in_c:
        return None
    n_times = steps[0].n_times if steps else dataset.sample_shape[1]
    start = n_times if steps else None  # without it C has no features
    hop = st.number_input(
        "Stream: samples between answers",
        1,
        n_times,
        placeholder="no stream",
        **widget_state.for_value("export_hop", range(1, n_times + 1), start),
        help=_HELP,
        width=300,
    )
    if not hop:
        return None
    if steps:
        st.caption(
            "In the code a missing sample counts as 0; here all features of its "
            "channel are missing. After a gap the code should begin again, as its "
            "README says."
        )
        return FeatureStream.of(steps, hop)
    return Stream(tuple(dataset.channels), tuple(dataset.sample_columns), hop)
