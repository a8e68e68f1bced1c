"""Columns of a table: clean names, readable values, and the part each seems to play.

A column is stored in one of two ways only: as numbers (int64 or float64) or as text.
Its *kind* says how it is read: a "number" or a "category". Its *role* says what it is
for: a "feature", the "target", a "group", the "time" or "ignore".
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionArray

from smpcore.datasets.cells import MAYBE_NUMBER, parse_cell
from smpcore.datasets.quoting import listed, shown
from smpcore.errors import DatasetError

Kind = Literal["number", "category"]
Role = Literal["feature", "target", "group", "time", "ignore"]
Task = Literal["classification", "regression"]

# Pictures and exported C hold numbers in single precision (largest 3.4e38).
LARGEST = 1e37
MAX_LEVELS = 100
# Whole numbers may well name classes: with at most so many values, or with more if each
# has enough rows.
FEW_VALUES = 10
MORE_VALUES = 30
ROWS_PER_VALUE = 20
# A text column is read as numbers when at least this share of its values are numbers.
MOSTLY = 0.8
# Below this many rows "all different" and "in sequence" happen by chance.
ENOUGH_ROWS = 10

_STORED = (np.dtype("int64"), np.dtype("float64"), pd.Series(dtype="str").dtype)
_TARGET_NAMES = re.compile(
    r"(class|target|labels?|y|outcome|species|diagnosis)", re.IGNORECASE
)
_ID_NAMES = re.compile(
    r"(?i:(.*[ _.-])?(id|uuid|guid)|index|row(names?)?|unnamed.*)|.*[a-z]I[dD]"
)
_DATE = (
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ].*)?$"
)


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
    codes, texts = pd.factorize(column)
    maybe = pc.match_substring_regex(pa.array(texts, pa.large_string()), MAYBE_NUMBER)
    maybe = maybe.to_numpy(zero_copy_only=False)
    numbers = np.full(len(texts) + 1, np.nan)
    numbers[:-1][maybe] = [*map(parse_cell, texts[maybe])]
    return numbers[codes]


def converted(column: pd.Series, kind: Kind) -> tuple[pd.Series, list[str]]:
    """Return a column as its kind wants it, with a sentence for what was lost.

    Parameters
    ----------
    column : Series of shape (n_samples,)
        Stored as numbers or as text.
    kind : {"number", "category"}
        "number" gives int64 (all whole, none missing) or float64; "category" gives
        text.

    Returns
    -------
    Series of shape (n_samples,)
        The values; missing ones are NaN.
    list of str
        Which values became missing, with the first row of each sort.
    """
    if kind == "category":
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
            f"{_rows(words, column)}; treated as missing (read the column as a "
            "category to keep the words)."
        )
    huge = np.flatnonzero(~np.isnan(parsed) & np.isnan(values))
    if huge.size:
        notices.append(
            f"Column {shown(column.name)} is infinite or beyond {LARGEST:g}, too large "
            f"to compute with, in {_rows(huge, column)}; treated as missing."
        )
    fitting = narrowed(values)
    if fitting.dtype == column.dtype and not huge.size:
        return column, notices
    return pd.Series(fitting, column.index, name=column.name), notices


def narrowed(values: np.ndarray) -> np.ndarray:
    """Return float64 values as int64 if all are whole, known and exact."""
    whole = np.all(values == np.floor(values)) and np.all(np.abs(values) < 2.0**53)
    return values.astype(np.int64) if whole and values.size else values


def _rows(rows: np.ndarray, column: pd.Series) -> str:
    first = f"row {rows[0] + 1} ({shown(column.iloc[rows[0]])})"
    return first if rows.size == 1 else f"{first} and {rows.size - 1} more rows"


def guess_kinds(
    frame: pd.DataFrame, fixed: Mapping[str, Kind]
) -> tuple[dict[str, Kind], list[str]]:
    """Return "number" or "category" for every column; what is given stays.

    A text column is read as numbers when most of its values are numbers and there
    are too many different ones for names of classes.
    """
    kinds: dict[str, Kind] = {}
    notices = []
    for name, column in frame.items():
        kinds[name] = "number" if is_numeric(column) else "category"
        kinds[name] = fixed.get(name, kinds[name])
        if is_numeric(column) or name in fixed:
            continue
        parsed = parsed_numbers(column)
        number = ~np.isnan(parsed)
        present = int(column.notna().sum())
        if 2 * number.sum() <= present:
            continue
        different = np.unique(parsed[number]).size
        many = different > min(MORE_VALUES, number.sum() / 2)
        if many and number.sum() >= MOSTLY * present:
            kinds[name] = "number"
        elif number.sum() < present:
            words = np.flatnonzero(column.notna().to_numpy() & ~number)
            notices.append(
                f"Column {shown(name)} is read as a category, because of the text in "
                f"{_rows(words, column)}; read it as a number to treat text as missing."
            )
    return kinds, notices


def guess_roles(
    frame: pd.DataFrame, kinds: Mapping[str, Kind], fixed: Mapping[str, Role]
) -> tuple[dict[str, Role], list[str]]:
    """Propose a role for every column; what is given stays.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        The table as read.
    kinds : mapping of str to {"number", "category"}
        Kind of each column.
    fixed : mapping of str to str
        Roles that are already decided.

    Returns
    -------
    dict of str to str
        The role of each column, in order; exactly one is "target" unless no column
        is left for it.
    list of str
        Why a column is proposed as "ignore".
    """
    reasons = {
        name: _reason_to_ignore(column, kinds[name])
        for name, column in frame.items()
        if name not in fixed
    }
    if "target" not in fixed.values():
        target = _guess_target(frame, kinds, reasons)
        fixed = {**fixed, target: "target"} if target is not None else fixed
    roles = {
        name: fixed.get(name, "ignore" if reasons.get(name) else "feature")
        for name in frame
    }
    notices = [
        f"Column {shown(name)} is not used: {reason}."
        for name, reason in reasons.items()
        if reason and roles[name] == "ignore"
    ]
    return roles, notices


def _reason_to_ignore(column: pd.Series, kind: Kind) -> str:
    numeric = is_numeric(column)
    present = column.to_numpy() if numeric else column.dropna()
    present = present[~np.isnan(present)] if numeric else present
    if not present.size:
        return "it is empty"
    text = kind == "category" and not numeric
    whole = kind == "number" and numeric and bool(np.all(present == np.floor(present)))
    if not text and not whole:
        return ""
    present = pd.Series(present)
    different = present.nunique()
    if _ID_NAMES.fullmatch(str(column.name)):
        if different == present.size:
            return "it looks like an identifier"
        return (
            "it looks like an identifier that repeats (as a group, its rows stay "
            "together in one part)"
        )
    if text and present.str.match(_DATE).mean() > 0.9:
        return "it looks like a date (as time, it orders the rows into blocks)"
    if column.size < ENOUGH_ROWS:
        return ""
    if text and different == present.size:
        return "every value is different, like a name"
    if text and different > MAX_LEVELS:
        return f"it has {different:,} different texts"
    if whole and present.size == column.size and np.all(np.diff(present) == 1):
        return "it counts the rows"
    return ""


def names_groups(column: pd.Series) -> bool:
    """Whether a column looks like an identifier that several rows share."""
    present = column.dropna()
    named = _ID_NAMES.fullmatch(str(column.name)) is not None
    return named and 1 < present.nunique() < present.size


def _whole(present: pd.Series) -> bool:
    values = present.to_numpy()
    return bool(np.all(values == np.floor(values)))


def _guess_target(
    frame: pd.DataFrame, kinds: Mapping[str, Kind], reasons: Mapping[str, str]
) -> str | None:
    for name in reversed(reasons):
        if _TARGET_NAMES.fullmatch(name) and frame[name].notna().any():
            return name
    # A table of nothing but names is still shown with a target, to be chosen anew.
    usable = [name for name, reason in reasons.items() if not reason]
    usable = usable or [name for name in reasons if frame[name].notna().any()]
    if not usable:
        return None
    if class_like(frame[usable[-1]], kinds[usable[-1]]):
        return usable[-1]
    categories = [name for name in usable if kinds[name] == "category"]
    return categories[-1] if categories else usable[-1]


def class_like(column: pd.Series, kind: Kind) -> bool:
    """Whether a column could name classes: a category, or few whole numbers."""
    if kind == "category":
        return True
    if not is_numeric(column):
        return False
    present = column.dropna()
    if not _whole(present):
        return False
    different = present.nunique()
    if different > FEW_VALUES:
        return different <= min(MORE_VALUES, present.size // ROWS_PER_VALUE)
    return different <= max(2, present.size // 2)


def guess_task(column: pd.Series, kind: Kind) -> Task:
    """Return "classification" for a target that names classes, else "regression"."""
    return "classification" if class_like(column, kind) else "regression"


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
