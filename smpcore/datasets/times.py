"""Times of rows: read from a column, and the moments at which rows can be parted."""

import warnings
from typing import Literal

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from smpcore.datasets.columns import as_numbers, is_numeric
from smpcore.datasets.display_names import shown
from smpcore.errors import DatasetError

DateUse = Literal["", "days", "weekday", "hours"]
#: Ways of writing dates and times of day that pandas does not guess.
_SHORT_FORMS = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%H:%M", "%H:%M:%S")
_EPOCH = pd.Timestamp("2000-01-01", tz="UTC")


def read_times(column: pd.Series) -> np.ndarray:
    """Return each row's time as a number that rises with time.

    Parameters
    ----------
    column : Series of shape (n_samples,)
        Numbers, or text that holds numbers or dates (a time without a zone counts as
        UTC). Its index numbers the rows from 0, for messages.

    Returns
    -------
    ndarray of shape (n_samples,)
        Float64 numbers as they are, or int64 microseconds since 1970.

    Raises
    ------
    DatasetError
        With the first row that has no time.
    """
    numbers, numeric = as_numbers(column), is_numeric(column)
    absent = np.flatnonzero(np.isnan(numbers) if numeric else column.isna())
    if absent.size:
        raise DatasetError(
            f"Column {shown(column.name)} should have a time in every row, it has none "
            f"in row {column.index[absent[0]] + 1}; fill it in or choose another role."
        )
    if numeric or not np.isnan(numbers).any():
        return numbers
    # Each different text once, as a day is often written in many rows.
    codes, texts = pd.factorize(column)
    return _dates(column, pd.Series(texts, dtype="str"), codes)[codes]


def _dates(column: pd.Series, texts: pd.Series, codes: np.ndarray) -> np.ndarray:
    """Times of the different texts, all written in one way."""
    read = [_parsed(texts, form) for form in _forms(texts.iloc[0])]
    whole = [dates for dates in read if dates.notna().all()]
    if not whole:
        nearest = min(read, key=lambda dates: dates.isna().sum())
        row = np.flatnonzero(nearest.isna().to_numpy()[codes])[0]
        raise DatasetError(
            f"Column {shown(column.name)} should hold numbers or dates written in one "
            f"way, row {column.index[row] + 1} holds {shown(column.iloc[row])}; write "
            "dates as year-month-day or choose another role."
        )
    times = [dates.astype("datetime64[us, UTC]").astype("int64") for dates in whole]
    if len({tuple(np.argsort(order, kind="stable")) for order in times}) > 1:
        raise DatasetError(
            f"Column {shown(column.name)} can be read day first or month first, in "
            f"different orders (row {column.index[0] + 1}: {shown(texts.iloc[0])}); "
            "write dates as year-month-day."
        )
    return times[0].to_numpy()


def _forms(text: str) -> list[str]:
    """How a text may be written: ISO 8601 and, if the year is last, both orders."""
    forms = ["ISO8601"]
    for day_first in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a day above 12 where a month was asked
            form = guess_datetime_format(text, dayfirst=day_first)
        if form and not form.startswith("%Y") and form not in forms:
            forms.append(form)
    return forms


def _parsed(texts: pd.Series, form: str) -> pd.Series:
    return pd.to_datetime(texts, format=form, errors="coerce", utc=True)


def date_forms(texts: pd.Series) -> list[str]:
    """Ways in which all texts are dates or times of day, such as %d/%m/%Y."""
    forms = (*_forms(texts.iloc[0]), *_SHORT_FORMS)
    return [form for form in forms if _parsed(texts, form).notna().all()]


def date_values(texts: pd.Series, form: str, use: DateUse) -> pd.Series:
    """Days since 2000, weekdays or hours of the day; what is no date is missing."""
    dates = _parsed(texts, form)
    if use == "weekday":
        return dates.dt.day_name()
    start, unit = (_EPOCH, "D") if use == "days" else (dates.dt.normalize(), "h")
    return (dates - start) / pd.Timedelta(1, unit)


def distinct_times(times: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Number the moments in time order: rows of one moment cannot be parted.

    Two moments are parted by a point in time that no group straddles, so that every
    row of the second is later than every row of the first.

    Parameters
    ----------
    times : ndarray of shape (n_samples,)
        Time of each row, in any unit that sorts.
    groups : ndarray of int, shape (n_samples,), optional
        Groups that stay whole: those that overlap in time share a moment.

    Returns
    -------
    ndarray of int, shape (n_samples,)
        From 0, without gaps.
    """
    order = np.argsort(times, kind="stable")
    parted = np.zeros(len(times), dtype=bool)
    parted[1:] = np.diff(times[order]) > 0
    if groups is not None:
        _, group = np.unique(groups[order], return_inverse=True)
        last = np.zeros(len(times), dtype=np.int64)
        last[group] = np.arange(len(times))  # of repeated places the last one stays
        reach = np.maximum.accumulate(last[group])
        parted[1:] &= reach[:-1] < np.arange(1, len(times))
    numbers = np.empty(len(times), dtype=np.int64)
    numbers[order] = np.cumsum(parted)
    return numbers
