"""Columns of a table: how they are stored and read.

A column is stored in one of two ways only: as numbers (int64 or float64) or as text.
Its *kind* says how it is read: a "number", a "category" or a "text" that is compared
letter by letter. Its *role* says what it is
for: a "feature", the "target", a "group", the "time" or "ignore".
"""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionArray

from smpcore.datasets.cells import MAYBE_NUMBER, parse_cell
from smpcore.datasets.display_names import listed, shown
from smpcore.errors import DatasetError

Kind = Literal["number", "category", "text"]
Role = Literal["feature", "target", "group", "time", "ignore"]
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
    return first if rows.size == 1 else f"{first} and {rows.size - 1} more rows"


def check_words(what: str, values: Mapping[str, str], columns: list[str]) -> None:
    """Refuse roles or kinds of columns that do not exist, or that have no meaning."""
    allowed = get_args(Role if what == "roles" else Kind)
    known = set(columns)
    unknown = [name for name in values if name not in known]
    if unknown:
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
