"""Columns of a table that hold follow-up times, and how these ended."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from smpcore.datasets.columns import as_numbers, as_text
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import shown
from smpcore.datasets.follow_up import FollowUp
from smpcore.errors import DatasetError

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
