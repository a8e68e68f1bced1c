"""Tables of time to event: the question whether an event comes within a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import listed, plural, shown
from smpcore.datasets.follow_up import FollowUp, within
from smpcore.datasets.follow_up_columns import (
    check_events,
    different_values,
    event_values,
    likely_event,
)
from smpcore.errors import DatasetError

#: Labels of the two answers: the second one is the positive class.
NO, YES = "no", "yes"


def event_within(
    dataset: Dataset,
    time_column: str,
    event_column: str,
    horizon: float,
    event_value: str | None = None,
) -> Dataset:
    """Ask of a table whether an event comes within a time.

    That is a question of two answers, not a model of survival. Rows that were censored
    before the horizon have no answer: `split` and `folds` leave them out of the parts,
    and `censoring_weights` weighs the others for them, which takes censoring to be
    independent of the event.

    Parameters
    ----------
    dataset : Dataset
        Table with both columns; they, and the target that it had, are ignored then.
    time_column : str
        Time that each row was followed for, a number from 0.
    event_column : str
        How that ended.
    horizon : float
        In the unit of the times; an event at that time is within.
    event_value : str, optional
        What the event column holds if the event came, as text; a column of two values
        often says that by itself (1, yes, dead ...).

    Returns
    -------
    Dataset
        A classification with the answers "no" and "yes"; ``notices`` count the rows.

    Raises
    ------
    DatasetError
        If these columns, or this horizon, leave nothing to ask.
    """
    value = _event_value(dataset, time_column, event_column, event_value)
    question = FollowUp(time_column, event_column, value, float(horizon))
    frame, target = dataset.frame, question.title
    times, events = question.read(frame)
    positive, known = within(times, events, question.horizon)
    check_events(question, times, events)
    _check_horizon(question.horizon, times, positive, known)
    if target in frame:
        raise DatasetError(
            f"The table has a column {shown(target)} already; rename that column."
        )
    roles = dict(dataset.roles)
    notices = [*dataset.notices, *_counts(question, times, known, positive, frame)]
    if dataset.target not in (time_column, event_column):
        notices.append(
            f"{shown(dataset.target)} was the target and is left out; give another "
            "column the role target to have it as a feature."
        )
    roles |= dict.fromkeys((dataset.target, time_column, event_column), "ignore")
    labels = pd.Series(np.where(positive, YES, NO), dtype="str")
    return replace(
        dataset,
        frame=frame.assign(**{target: labels}),
        roles={**roles, target: "target"},
        kinds={**dataset.kinds, target: "category"},
        task="classification",
        notices=tuple(notices),
        origin=None,
        follow_up=question,
    )


def _event_value(
    dataset: Dataset, time_column: str, event_column: str, value: str | None
) -> str:
    """The value that means event, if both columns can be what they should be."""
    columns = list(dataset.roles)
    for what, name in (("time", time_column), ("event", event_column)):
        if name not in columns:
            raise DatasetError(
                f"{what}_column={shown(name)} should be a column of the table; it has "
                f"{listed(columns)}."
            )
    if time_column == event_column:
        raise DatasetError(
            f"time_column and event_column are both {shown(time_column)}; choose two "
            "columns."
        )
    if dataset.kinds[time_column] != "number":
        raise DatasetError(
            f"time_column={shown(time_column)} should hold numbers, it is read as a "
            "category; read it as a number or choose another column."
        )
    values = event_values(dataset, event_column)
    if value is None:
        value = likely_event(event_column, values)
    if value is None:
        raise DatasetError(
            f"event_column={shown(event_column)} holds {listed(values)}: which of them "
            "is the event? Choose event_value."
        )
    if value not in values:
        raise DatasetError(
            f"event_value={shown(value)} should be a value of {shown(event_column)}, "
            f"which holds {listed(values)}; choose one of them."
        )
    return value


def _check_horizon(
    horizon: float, times: np.ndarray, positive: np.ndarray, known: np.ndarray
) -> None:
    """Refuse a horizon that leaves no row with the event, or none without it."""
    if not positive.any():
        raise DatasetError(
            f"horizon={horizon:g} should not be before the first event; choose a "
            "longer one."
        )
    if not (known & ~positive).any():
        raise DatasetError(
            f"horizon={horizon:g} should be below {np.nanmax(times):g}, the longest "
            "time: beyond it no row is known to be without the event; choose a shorter "
            "one."
        )


def _counts(
    question: FollowUp,
    times: np.ndarray,
    known: np.ndarray,
    positive: np.ndarray,
    frame: pd.DataFrame,
) -> Iterator[str]:
    """How many rows have which answer, in sentences."""
    followed = ~np.isnan(times)
    n_yes, n_censored = int(positive.sum()), int((followed & ~known).sum())
    yield (
        f"Question: {question.title}? Yes in {plural(n_yes, 'row')}, no in "
        f"{int(known.sum()) - n_yes:,}."
    )
    if n_censored:
        yield f"{plural(n_censored, 'row')} without an answer. {question.rule}"
    if absent := int((~followed).sum()):
        yield (
            f"{plural(absent, 'row')} without a time from 0 in {shown(question.time)}, "
            f"or without a value in {shown(question.event)}, are left out."
        )
    others = [v for v in different_values(frame[question.event]) if v != question.value]
    if len(others) > 1:
        yield f"In {shown(question.event)} all of {listed(others)} count as censored."
