"""Time to event: does an event come within a time, and the weight of each row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from smpcore.datasets.columns import as_numbers, as_text
from smpcore.datasets.dataset import Dataset, read_only
from smpcore.datasets.display_names import listed, plural, shown
from smpcore.datasets.follow_up import FollowUp, censoring_weight, within
from smpcore.errors import DatasetError


def row_weights(
    dataset: Dataset, learned_on: np.ndarray, rows: np.ndarray
) -> np.ndarray | None:
    """Weigh rows by their own weight, and for rows censored before the horizon.

    Parameters
    ----------
    dataset : Dataset
        Only one with a weight column, or from `event_within`, has weights.
    learned_on : ndarray of int
        Training rows with the censored ones, ``with_censored`` of a split or fold: how
        censoring goes is learned on them.
    rows : ndarray of int
        Rows whose weights are returned.

    Returns
    -------
    ndarray of shape (n_rows,), or None
        0 of a row without an answer; None where every row weighs 1.
    """
    weights, question = dataset.weights, dataset.follow_up
    if weights is None and question is None:
        return None
    weights = np.ones(dataset.n_samples) if weights is None else weights
    of_rows = weights[rows]
    if question is not None:
        times, events = question.read(dataset.frame)
        _, known = within(times, events, question.horizon)
        known_at = np.minimum(times[rows], question.horizon)
        learned = times[learned_on], events[learned_on]
        censoring = censoring_weight(*learned, known_at, weights[learned_on])
        of_rows = of_rows * np.where(known[rows], censoring, 0.0)
    return None if np.all(of_rows == 1.0) else of_rows


def training_rows(
    dataset: Dataset, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows that a model learns from, and their weights.

    Parameters
    ----------
    dataset : Dataset
        Only in one from `event_within` rows are left out.
    rows : ndarray of int
        ``with_censored`` of a split or fold.

    Returns
    -------
    trained : ndarray of int
        Those of the rows that have an answer.
    weights : ndarray of shape (n_trained,), or None
        From `row_weights`.
    """
    trained = rows if dataset.follow_up is None else rows[answered(dataset)[0][rows]]
    return trained, row_weights(dataset, rows, trained)


def answered(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Tell the rows with an answer from those that were censored before the horizon.

    Parameters
    ----------
    dataset : Dataset
        From `event_within`; of any other data set all rows have an answer.

    Returns
    -------
    known, censored : ndarray of bool, shape (n_samples,)
        Rows without a time, or without a word how it ended, are neither.
    """
    question = dataset.follow_up
    if question is None:
        known = np.ones(dataset.n_samples, dtype=bool)
        return known, ~known
    times, events = question.read(dataset.frame)
    _, known = within(times, events, question.horizon)
    return read_only(known), read_only(~np.isnan(times) & ~known)


def with_events(dataset: Dataset) -> Dataset:
    """Return a table of `event_within` with the event, at any time, as its target.

    Parts are drawn from it: which rows they have must not depend on the horizon.
    """
    if dataset.follow_up is None:
        return dataset
    frame, (_, events) = dataset.frame, dataset.follow_up.read(dataset.frame)
    labels = pd.Series(np.where(events, "event", "censored"), dtype="str")
    frame = frame.assign(**{dataset.target: labels})
    return replace(dataset, frame=frame, follow_up=None, outcome="")


#: An event column has at most so many different values.
MOST_VALUES = 10
_EVENT_VALUES = "1", "yes", "true", "event", "dead", "died", "deceased", "death"
_EVENT_VALUES += "recurrence", "relapse", "failure", "failed", "y", "2"
_TIME_NAME = re.compile(
    r"(?<![a-z])(time|days?|weeks?|months?|years?|follow ?up|fu|futime|survival|os|pfs"
    r"|dfs|tte|duration|tenure)(?![a-z])"
)
_EVENT_NAME = re.compile(
    r"(?<![a-z])(event|status|fustat|dead|died|death|deceased|censored|censor|cens"
    r"|relapse|relapsed|recurrence|recurred|recur|failure|failed|churn|progression)"
    r"(?![a-z])"
)


def check_events(question: FollowUp, times: np.ndarray, events: np.ndarray) -> None:
    """Refuse columns without a time, or without an event."""
    followed, column = ~np.isnan(times), shown(question.event)
    if not followed.any():
        raise DatasetError(
            f"No row has a time from 0 in {shown(question.time)} and a value in "
            f"{column}; choose other columns."
        )
    if not (events & followed).any():
        raise DatasetError(
            f"All rows are censored: none with a time has {shown(question.value)} in "
            f"{column}; choose another event column or event value."
        )


def event_values(dataset: Dataset, column: str) -> list[str]:
    """Different values of a column as text, sorted.

    Parameters
    ----------
    dataset : Dataset
        Table that has the column.
    column : str
        Name of the column.

    Returns
    -------
    list of str

    Raises
    ------
    DatasetError
        If they are more than ten: the column says no more how a time ended.
    """
    values = different_values(dataset.frame[column])
    if not 1 <= len(values) <= MOST_VALUES:
        raise DatasetError(
            f"event_column={shown(column)} holds {len(values):,} different values, it "
            f"should hold two (event or not) and at most {MOST_VALUES}; choose another "
            "column."
        )
    return values


def different_values(column: pd.Series) -> list[str]:
    """Different values of a column as text, sorted."""
    return sorted(as_text(pd.Series(column.dropna().unique())))


def likely_event(column: str, values: list[str]) -> str | None:
    """Guess which of two values means event; None where that is not clear.

    Parameters
    ----------
    column : str
        Name of the column; of one that tells who was censored the other value counts.
    values : list of str
        Different values of the column.

    Returns
    -------
    str or None
    """
    marked = [v for v in values if v.lower() in (*_EVENT_VALUES, column.lower())]
    if len(values) > 2 or not marked:
        return None
    censors = _words(column).startswith(("cens", "is cens"))
    others = [v for v in values if v != marked[0]]
    return (others or [None])[0] if censors else marked[0]


def horizons(dataset: Dataset, question: FollowUp) -> tuple[float, float, float, float]:
    """Horizons that a question may have, as a slider has them.

    Parameters
    ----------
    dataset : Dataset
        Table with both columns.
    question : FollowUp
        Its own horizon does not matter.

    Returns
    -------
    shortest, longest, median, step : float
        At the shortest horizon one event has come; at the longest one row is followed
        on; the median is that of the times of the events.

    Raises
    ------
    DatasetError
        If there is no event, or no row is followed for longer than the first one.
    """
    times, events = question.read(dataset.frame)
    check_events(question, times, events)
    at_events = times[events & ~np.isnan(times)]
    shortest, earlier = float(at_events.min()), times[times < np.nanmax(times)]
    longest = float(earlier.max()) if earlier.size else shortest
    if longest <= shortest:
        raise DatasetError(
            f"No row in {shown(question.time)} is followed for longer than the first "
            "event; choose another time column."
        )
    step = _step(shortest, longest)
    low, high = np.ceil(shortest / step) * step, np.floor(longest / step) * step
    median = np.clip(np.round(np.median(at_events) / step) * step, low, high)
    return (*(round(float(number), 9) for number in (low, high, median)), step)


def _step(low: float, high: float) -> float:
    """Largest power of ten of which a range has twenty at least, and at most 1."""
    return 10.0 ** min(0, int(np.floor(np.log10((high - low) / 20))))


def guess_follow_up(dataset: Dataset) -> tuple[str, str] | None:
    """Find columns of a time and of how it ended, by their names.

    Parameters
    ----------
    dataset : Dataset
        Table whose columns are looked at.

    Returns
    -------
    time_column, event_column : str
        None where there are not both.
    """
    frame = dataset.frame
    times = [
        name
        for name, kind in dataset.kinds.items()
        if kind == "number" and _TIME_NAME.search(_words(name))
    ]
    events = [
        name
        for name in frame
        if _EVENT_NAME.search(_words(name)) and frame[name].nunique() == 2
    ]
    times = [name for name in times if name not in events]
    times.sort(key=lambda name: (name != dataset.target, not _is_long(frame[name])))
    return (times[0], events[0]) if times and events else None


def _is_long(column: pd.Series) -> bool:
    """Whether a column has as many values as a time has."""
    return column.nunique() > MOST_VALUES and bool(np.nanmin(as_numbers(column)) >= 0)


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()


#: Labels of the two answers: the second one is the outcome.
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
    and `row_weights` weighs the others for them, which takes censoring to be
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
        outcome=YES,
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
