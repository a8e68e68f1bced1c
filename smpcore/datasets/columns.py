"""Columns of a table: how they are stored and read, times of rows among them.

A column is stored in one of two ways only: as numbers (int64 or float64) or as text.
Its *kind* says how it is read: a "number", a "category" or a "text" that is compared
letter by letter. Its *role* says what it is
for: a "feature", the "target", a "group", the "time", the "weight", "known afterwards"
or "ignore".
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionArray
from pandas.tseries.api import guess_datetime_format

from smpcore.datasets.cells import MAYBE_NUMBER, parse_cell
from smpcore.datasets.display_names import listed, shown, with_rest
from smpcore.errors import DatasetError

#: Letters of a text, and different letters of a column, at most: comparing two texts
#: takes the product of their lengths, and editing one takes every letter.
MAX_LENGTH, MAX_LETTERS = 100, 64
Kind = Literal["number", "category", "text"]
Role = Literal[
    "feature", "target", "group", "time", "weight", "known afterwards", "ignore"
]
#: What a column that is known only after the outcome is for: it is looked at only.
AFTERWARDS: Role = "known afterwards"
#: Roles of columns that nothing is computed from: another table need not have them.
IDLE: tuple[Role, ...] = (AFTERWARDS, "ignore")
Task = Literal["classification", "regression"]

# Pictures and exported C hold numbers in single precision (largest 3.4e38).
LARGEST = 1e37
_FEW_TEXTS = 30
_WHOLE = r"^\d+([eE]\d+)?$"

_STORED = (np.dtype("int64"), np.dtype("float64"), pd.Series(dtype="str").dtype)


def is_numeric(column: pd.Series) -> bool:
    """Whether a column is stored as numbers (and not as text)."""
    return column.dtype.kind in "if"


def canonical(column: pd.Series) -> pd.Series:
    """Store a column as int64, float64 or text; missing values are NaN."""
    if column.dtype in _STORED:
        return column
    column = column.infer_objects()
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype("str")
    if pd.api.types.is_numeric_dtype(dtype) and not dtype.kind == "c":
        fits = dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize < 8)
        whole = fits and not column.hasnans
        return column.astype("int64" if whole else "float64")
    return column.astype("str")


def framed(
    columns: Iterable[np.ndarray | ExtensionArray], names: list[str]
) -> pd.DataFrame:
    """Put arrays side by side; names may repeat."""
    return pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)


def cells(channels: list[str], n_times: int) -> list[str]:
    """Names of the columns of series, channel beside channel: c1_t01, c1_t02, ..."""
    width = len(str(n_times))
    times = [f"t{number:0{width}}" for number in range(1, n_times + 1)]
    return [f"{channel}_{time}" for channel in channels for time in times]


def canonical_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Store every column as `canonical` does; if all are so, nothing is copied."""
    if set(frame.dtypes) <= set(_STORED):
        return frame
    return framed([canonical(column).array for _, column in frame.items()], list(frame))


def as_text(column: pd.Series) -> pd.Series:
    """Return the values as text: whole numbers without a point, the rest shortest.

    Parameters
    ----------
    column : Series of shape (n_rows,)
        Numbers, or text, which stays as it is.

    Returns
    -------
    Series of shape (n_rows,)
        Same index and name; missing values stay missing.
    """
    if not is_numeric(column):
        return canonical(column)
    codes, values = pd.factorize(column)
    texts = [str(int(v)) if float(v).is_integer() else repr(float(v)) for v in values]
    text = pd.Series([*texts, None], dtype="str").take(codes)
    return text.set_axis(column.index).rename(column.name)


def arrow_texts(column: pd.Series) -> pa.Array:
    """Texts of a column for Arrow, whose calls take a tenth of the time of pandas'.

    That counts where a table has thousands of columns.
    """
    texts = pa.array(column.array)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def as_numbers(column: pd.Series) -> np.ndarray:
    """Return the values as float64; what is no number, infinite or too large is NaN.

    Parameters
    ----------
    column : Series of shape (n_samples,)
        Stored as numbers or as text.

    Returns
    -------
    ndarray of shape (n_samples,)
        Fresh array; every entry is NaN or of size at most ``LARGEST``.
    """
    return _bounded(parsed_numbers(column))


def _bounded(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def parsed_numbers(column: pd.Series) -> np.ndarray:
    """Return the values as float64, infinite ones too; what is no number is NaN."""
    column = canonical(column)
    if is_numeric(column):
        return column.to_numpy(np.float64, copy=True)
    # Each different text once: a text column of a million rows has few of them.
    coded = arrow_texts(column).dictionary_encode()
    texts = coded.dictionary
    numbers = np.full(len(texts) + 1, np.nan)
    if len(texts) > _FEW_TEXTS:  # most are words: one call of Arrow finds them
        maybe = pc.match_substring_regex(texts, MAYBE_NUMBER)
        where = np.flatnonzero(maybe.to_numpy(zero_copy_only=False))
        numbers[where] = [*map(parse_cell, texts.filter(maybe).to_pylist())]
    else:
        numbers[:-1] = [*map(parse_cell, texts.to_pylist())]
    return numbers[coded.indices.fill_null(-1).to_numpy()]


def converted(column: pd.Series, kind: Kind) -> tuple[pd.Series, list[str]]:
    """Return a column as its kind wants it, with a sentence for what was lost."""
    if kind != "number":
        return as_text(column), []
    if column.dtype == np.int64:
        return column, []
    parsed = parsed_numbers(column)
    values = _bounded(parsed)
    notices = []
    words = np.empty(0, np.int64)
    if not is_numeric(column):
        words = np.flatnonzero(column.notna().to_numpy() & np.isnan(parsed))
    if words.size:
        notices.append(
            f"Column {shown(column.name)} holds text instead of numbers in "
            f"{in_rows(words, column)}; treated as missing (read the column as a "
            "category to keep the words)."
        )
    huge = np.flatnonzero(~np.isnan(parsed) & np.isnan(values))
    if huge.size:
        notices.append(
            f"Column {shown(column.name)} is infinite or beyond {LARGEST:g}, too large "
            f"to compute with, in {in_rows(huge, column)}; treated as missing."
        )
    fitting = narrowed(values)
    if fitting.dtype == column.dtype and not huge.size:
        return column, notices
    return pd.Series(fitting, column.index, name=column.name), notices


def are_codes(texts: pa.Array) -> bool:
    """Whether whole numbers name something: 00123, more than 15 digits, 12E5 of some.

    Two digits with a zero in front are a month, or an hour.
    """
    if not next(filter(None, texts[:100].to_pylist()), "")[:1].isdecimal():
        return False
    sizes = pc.binary_length(texts)
    zero_first = pc.and_(pc.starts_with(texts, "0"), pc.greater(sizes, 1))
    if pc.all(pc.ascii_is_decimal(texts)).as_py():
        coded = pc.or_(zero_first, pc.greater(sizes, 15))
        return bool(pc.any(coded).as_py() and pc.max(sizes).as_py() > 2)
    if not pc.all(pc.match_substring_regex(texts, _WHOLE)).as_py():
        return False
    return not pc.all(pc.match_substring_regex(texts, "[eE]")).as_py()


def narrowed(values: np.ndarray) -> np.ndarray:
    """Return float64 values as int64 if all are whole, known and exact."""
    whole = np.all(values == np.floor(values)) and np.all(np.abs(values) < 2.0**53)
    return values.astype(np.int64) if whole and values.size else values


def in_rows(rows: np.ndarray, column: pd.Series) -> str:
    """The first of some rows with its value, and how many more there are."""
    first = f"row {rows[0] + 1} ({shown(column.iloc[rows[0]])})"
    return with_rest([first], rows.size - 1)


def check_words(
    roles: Mapping[str, str], kinds: Mapping[str, str], columns: list[str]
) -> None:
    """Refuse roles or kinds of columns that do not exist, or that have no meaning."""
    known = set(columns)
    for what, values, allowed in (
        ("roles", roles, get_args(Role)),
        ("kinds", kinds, get_args(Kind)),
    ):
        if unknown := [name for name in values if name not in known]:
            raise DatasetError(
                f"{what} names {listed(unknown)}, which the table does not have; its "
                f"columns are {listed(columns, 20)}."
            )
        for name, value in values.items():
            if value not in allowed:
                raise DatasetError(
                    f"{what}[{shown(name)}]={shown(value)} should be one of "
                    f"{', '.join(allowed)}."
                )


DateUse = Literal["", "days", "weekday", "hours"]
#: Ways of writing dates and times of day that pandas does not guess.
_SHORT_FORMS = (
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%H:%M", "%H:%M:%S"),
    *(
        d + t
        for d in ("", "%d/%m/%Y ", "%m/%d/%Y ", "%Y/%m/%d ", "%Y-%m-%d ")
        for t in ("%I:%M %p", "%I:%M:%S %p")
    ),
)
#: How a time of day, or a duration, begins.
CLOCKS = "%H", "%I"
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


def read_weights(column: pd.Series) -> np.ndarray:
    """Return how many rows each row stands for.

    Parameters
    ----------
    column : Series of shape (n_samples,)
        Numbers, or text that holds them. Its index numbers the rows from 0, for
        messages.

    Returns
    -------
    ndarray of float64, shape (n_samples,)

    Raises
    ------
    DatasetError
        With the first row whose weight is missing, negative, infinite or text; or if
        all are 0.
    """
    weights = as_numbers(column)
    if weights.size and not weights.any():
        raise DatasetError(
            f"Column {shown(column.name)} is 0 in every row, so no row would count; "
            "choose another role."
        )
    bad = np.flatnonzero(~(weights >= 0))
    if bad.size:
        held, row = column.iloc[bad[0]], column.index[bad[0]] + 1
        first = f"none in row {row}" if pd.isna(held) else f"{shown(held)} in row {row}"
        raise DatasetError(
            f"Column {shown(column.name)} should have a weight in every row, a finite "
            f"number from 0; it has {with_rest([first], bad.size - 1)}. Mend these "
            "rows, or choose another role."
        )
    return weights


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


def _all_forms(text: str) -> list[str]:
    return list(dict.fromkeys((*_forms(text), *_SHORT_FORMS)))


def _parsed(texts: pd.Series, form: str) -> pd.Series:
    if form in ("%H:%M", "%H:%M:%S"):  # hours beyond a day are a duration's
        seconds = r":[0-5]\d(\.\d+)?" if form.endswith("S") else ""
        clock = texts.where(texts.str.fullmatch(rf"\d{{1,3}}:[0-5]\d{seconds}"))
        clock = clock if seconds else clock + ":00"
        return _EPOCH + pd.to_timedelta(clock, errors="coerce")
    if form != "ISO8601":  # the time of the place
        texts = texts.str.replace(r" ?(GMT|UTC)([+-]\d{1,2})?$", "", regex=True)
    return pd.to_datetime(texts, format=form, errors="coerce", utc=True)


def date_forms(texts: pd.Series) -> list[str]:
    """Ways in which all texts are dates or times of day, such as %d/%m/%Y."""
    forms = _all_forms(texts.iloc[0])
    return [form for form in forms if _parsed(texts, form).notna().all()]


def mostly_dates(texts: pd.Series) -> pd.Series:
    """Those of the texts that are dates in one form: that of most, of the first three.

    Parameters
    ----------
    texts : Series of str
        Different ones.

    Returns
    -------
    Series of str
        All of them, if all are written in one form; with places from 0 on.
    """
    most = texts.isna()
    for form in dict.fromkeys(form for one in texts[:3] for form in _all_forms(one)):
        is_date = _parsed(texts, form).notna()
        most = max(most, is_date, key=np.count_nonzero)
        if most.all():
            break
    return texts[most].reset_index(drop=True)


def date_values(texts: pd.Series, form: str, use: DateUse) -> pd.Series:
    """Days since 2000, weekdays or hours of the day; what is no date is missing."""
    # The day and hour of the place, not of UTC; a workbook has the year first anyway.
    local = texts.str.replace(r"(:.*)[+-]\d\d(:?\d\d)?$", r"\1", regex=True)
    year_first = local.where(local.str.match(r"\d{4}-\d\d-\d\d"))
    dates = _parsed(local if form == "ISO8601" else texts, form)
    dates = dates.fillna(_parsed(year_first, "ISO8601"))
    if use == "weekday":
        return dates.dt.day_name()
    start = _EPOCH if use == "days" or form[:2] == "%H" else dates.dt.normalize()
    return (dates - start) / pd.Timedelta(1, "D" if use == "days" else "h")


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
