"""A model of series as a stream, of which its user sets the hop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.state import widget_state
from pages.ui.exports import Export
from smpcore import Dataset
from smpcore.codegen import MOST_HOLD, MOST_VOTES, TARGETS, FeatureStream, Stream
from smpcore.datasets import plain_number

_HELP = (
    "The code takes a sample of every channel at a time, keeps what a window still "
    "needs, and answers the first window, then one after so many samples. All times of "
    "a channel get one range. Empty: a function of all inputs at once."
)
_RATE_HELP = (
    "With it each board below is said to keep up or not: whether the sample that is "
    "answered is done before the next one comes."
)
_VOTES_HELP = (
    "Debouncing: the answer changes only where more than half of so many last answers "
    "are another class. 1: each answer counts."
)
_HOLD_HELP = "Debouncing: so many answers after a change of the answer change nothing."
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
    places = st.columns(4)
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
    known = _known_rate(dataset)
    rate = places[1].number_input(
        "Stream: samples per second",
        _RATES[0],
        _RATES[-1],
        placeholder="not declared",
        **widget_state.for_value("export_rate", _RATES, known),
        help=_RATE_HELP,
    )
    ways = {}
    if dataset.task == "classification":
        ways = _debouncing(places[2:], hop, rate)
    if steps:
        st.caption(
            "In the code a missing sample counts as 0; here all features of its "
            "channel are missing. After a gap the code should begin again, as its "
            "README says."
        )
        return FeatureStream.of(steps, hop, **ways), rate
    channels, columns = tuple(dataset.channels), tuple(dataset.sample_columns)
    return Stream(channels, columns, hop, **ways), rate


def _known_rate(dataset: Dataset) -> int | None:
    """Samples per second of the file, if they can be declared."""
    rate = dataset.time_axis.rate if dataset.time_axis else None
    return round(rate) if rate and round(rate) in _RATES else None


def _debouncing(places: Sequence[Any], hop: int, rate: int | None) -> dict[str, int]:
    """Let the visitor say when an answer may change, and say how late it then is."""
    ways = {}
    for place, name, label, values, text in (
        (places[0], "votes", "majority of", range(1, MOST_VOTES + 1), _VOTES_HELP),
        (places[1], "hold", "answers held", range(MOST_HOLD + 1), _HOLD_HELP),
    ):
        start = widget_state.for_value(f"export_{name}", values, values[0])
        limits = values[0], values[-1]
        ways[name] = place.number_input(f"Stream: {label}", *limits, **start, help=text)
    if late := ways["votes"] // 2 * hop:
        seconds = f" ({plain_number(late / rate)} s)" if rate else ""
        st.caption(
            f"Debounced: a new class is answered {late:,} samples{seconds} after its "
            "first answer, at the earliest."
        )
    return ways
