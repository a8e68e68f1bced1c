"""Time to event: the two columns, which value is the event, and within what time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session
from pages.state.session import Slot
from pages.ui.elements import problems_shown
from pages.ui.text import message, short_label
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import (
    FollowUp,
    answered,
    event_values,
    event_within,
    guess_follow_up,
    horizons,
    likely_event,
)
from smpcore.live import NO_QUESTION

#: How many different values each column has.
_COUNTS = Slot[dict[str, int]]("value_counts")
_HELP = (
    "A question with two answers, not a model of survival: does the event come within "
    "a time? Rows that were censored before that time have no answer and are not used; "
    "the others are weighted for them."
)


def section(table: Dataset) -> None:
    """Ask whether an event comes within a time, where the table has two such
    columns.
    """
    times = [name for name, kind in table.kinds.items() if kind == "number"]
    events = _event_columns(table)
    if session.get().draft or not times or not events:
        return
    asks, guess = session.current().follow_up, guess_follow_up(table)
    if asks is None and guess is None and not table.private:
        return
    wanted = st.toggle(
        "Time to event: ask whether an event comes within a time",
        asks is not None,
        key=_key("asked", table),
        help=_HELP,
    )
    if not wanted:
        _choose(None)
        return
    known = (asks.time, asks.event) if asks else guess or (None, None)
    left, middle, right = st.columns(3)
    time = _pick(left, "Column of the time", times, known[0], table)
    event = _pick(middle, "Column of the event", events, known[1], table)
    value = _value(right, table, event, asks)
    if None in (time, event, value):
        st.info(
            "Choose the column of the time, the column that says how it ended, and "
            "which of its values is the event."
        )
        return
    with problems_shown(st.error):
        question = _horizon(table, FollowUp(time, event, value, 0.0), asks)
        event_within(table, time, event, question.horizon, value)
        _choose(question)
        message(
            st.caption,
            f"Predicted: {question.title}. {short_label(time)} and "
            f"{short_label(event)} are no features then, whatever their roles below.",
        )


def hint(table: Dataset) -> str:
    """Say that the number to predict looks like a follow-up time, or ""."""
    guess = guess_follow_up(table) if table.task == "regression" else None
    if guess is None or table.target != guess[0]:
        return ""
    return (
        f"{short_label(guess[0])} looks like a follow-up time, and "
        f"{short_label(guess[1])} like its event: predicted as a plain number, "
        "censoring is ignored. Ask a time-to-event question under Columns."
    )


def answered_frame(dataset: Dataset) -> pd.DataFrame:
    """The table; rows without an answer have none in it."""
    if dataset.follow_up is None:
        return dataset.frame
    known, _ = answered(dataset)
    answers = dataset.frame[dataset.target].where(known)
    return dataset.frame.assign(**{dataset.target: answers})


def _key(name: str, table: Dataset) -> str:
    return f"{name}_{table.digest}_{session.get().editions['controls']}"


def _event_columns(table: Dataset) -> list[str]:
    """Columns with few different values, two at least; those of two first."""
    counts = _COUNTS.get_or_make(table.digest, lambda: table.frame.nunique().to_dict())
    few = [name for name, count in counts.items() if 2 <= count <= 10]
    return sorted(few, key=lambda name: counts[name] > 2)


def _pick(
    place: st.delta_generator.DeltaGenerator,
    label: str,
    names: list[str],
    chosen: str | None,
    table: Dataset,
) -> str | None:
    index = names.index(chosen) if chosen in names else None
    return place.selectbox(label, names, index, short_label, key=_key(label, table))


def _value(
    place: st.delta_generator.DeltaGenerator,
    table: Dataset,
    event: str | None,
    asks: FollowUp | None,
) -> str | None:
    """Which value of the event column is the event."""
    if event is None:
        return None
    values = event_values(table, event)
    start = asks.value if asks and asks.event == event else likely_event(event, values)
    return place.selectbox(
        "Value that means event",
        values,
        values.index(start) if start in values else None,
        short_label,
        key=_key(f"value_{event}", table),
        help="All other values count as censored: the row was followed so long, and no "
        "event had come.",
    )


def _horizon(table: Dataset, question: FollowUp, asks: FollowUp | None) -> FollowUp:
    """The question with the time that the slider says."""
    low, high, median, step = horizons(table, question)
    same = asks is not None and replace(asks, horizon=0.0) == question
    start = asks.horizon if same else median
    horizon = st.slider(
        f"Within how many {question.unit or question.time}",
        low,
        high,
        min(max(start, low), high),
        step,
        format=f"%.{max(0, round(-np.log10(step)))}f",
        key=_key(f"within_{question.time}_{question.event}_{question.value}", table),
        help="From the first event to the last time that leaves a row without the "
        "event. At first: the median time of the events.",
    )
    return replace(question, horizon=horizon)


def ask(question: FollowUp) -> None:
    """Make this the question, whatever the controls of this page said before."""
    session.get().editions["controls"] += 1
    _choose(question)


def _choose(question: FollowUp | None) -> None:
    """Make this the question, and show every page anew if it was another."""
    choice = session.current()
    if choice.follow_up == question:
        return
    asked = replace(choice, **NO_QUESTION, forbidden=())
    if question and choice.follow_up:  # another time: the answers are the same
        asked = replace(asked, outcome=choice.outcome)
    asked = replace(asked, follow_up=question)
    try:
        session.choose_data(asked)
    except SmpcoreError as error:
        message(st.error, str(error))
        return
    st.rerun()
