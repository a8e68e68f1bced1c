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
_RATE_HELP = (
    "With it each board below is said to keep up or not: whether the sample that is "
    "answered is done before the next one comes."
)
#: Samples per second that can be declared.
_RATES = range(1, 20_001)


def control(made: Export, target: str) -> tuple[Stream | None, int | None]:
    """Let the visitor say how many samples come per answer, and per second.

    Neither for tables, and no rate where none is declared.
    """
    dataset = made.data.dataset
    steps = dataset.feature_steps
    if not (dataset.channels or steps) or not TARGETS[target].in_c:
        return None, None
    n_times = steps[0].n_times if steps else dataset.sample_shape[1]
    start = n_times if steps else None  # without it C has no features
    places = st.columns([2, 2, 3])
    hop = places[0].number_input(
        "Stream: samples between answers",
        1,
        n_times,
        placeholder="no stream",
        **widget_state.for_value("export_hop", range(1, n_times + 1), start),
        help=_HELP,
    )
    if not hop:
        return None, None
    rate = places[1].number_input(
        "Stream: samples per second",
        _RATES[0],
        _RATES[-1],
        placeholder="not declared",
        **widget_state.for_value("export_rate", _RATES, None),
        help=_RATE_HELP,
    )
    if steps:
        st.caption(
            "In the code a missing sample counts as 0; here all features of its "
            "channel are missing. After a gap the code should begin again, as its "
            "README says."
        )
        return FeatureStream.of(steps, hop), rate
    return Stream(tuple(dataset.channels), tuple(dataset.sample_columns), hop), rate
