"""What each column of a table seems to be: its kind, its role, and the task."""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from smpcore.datasets.cleaning import are_dressed
from smpcore.datasets.columns import (
    Kind,
    Role,
    Task,
    are_codes,
    arrow_texts,
    in_rows,
    is_numeric,
    parsed_numbers,
)
from smpcore.datasets.display_names import shown

#: A column, the role or kind that is proposed for it, and the sentence that says why.
Proposal = tuple[str, str, str]

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

_TARGET_NAMES = re.compile(
    r"(class|target|labels?|y|outcome|species|diagnosis)", re.IGNORECASE
)
_ID_NAMES = re.compile(
    r"(?i:(.*[ _.-])?(id|uuid|guid)|index|row(names?)?|unnamed.*)|.*[a-z]I[dD]"
)
_DATE = (
    r"^((\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ].*)?"
    r"|\d{1,2}[- ][A-Za-z]{3}[- ]\d{2,4}|\d{1,2}:\d{2}(:\d{2})?)$"
)


def guess_kinds(
    frame: pd.DataFrame, fixed: Mapping[str, Kind]
) -> tuple[dict[str, Kind], list[Proposal]]:
    """Return "number" or "category" for every column; what is given stays.

    A text column is read as numbers when most of its values are numbers and there
    are too many different ones for names of classes.
    """
    kinds: dict[str, Kind] = {}
    proposals = []
    for name, column in frame.items():
        kinds[name] = "number" if is_numeric(column) else "category"
        kinds[name] = fixed.get(name, kinds[name])
        if is_numeric(column) or name in fixed:
            continue
        parsed = parsed_numbers(column)
        number = ~np.isnan(parsed)
        if not number.any() or are_codes(arrow_texts(column)):
            continue
        present = int(column.notna().sum())
        if 2 * number.sum() <= present:
            continue
        different = np.unique(parsed[number]).size
        many = different > min(MORE_VALUES, number.sum() / 2)
        if many and number.sum() >= MOSTLY * present:
            kinds[name] = "number"
        elif number.sum() < present:
            words = np.flatnonzero(column.notna().to_numpy() & ~number)
            reason = (
                f"Column {shown(name)} is read as a category, because of the text in "
                f"{in_rows(words, column)}; read it as a number to treat text as "
                "missing."
            )
            proposals.append((name, "category", reason))
    return kinds, proposals


def guess_roles(
    frame: pd.DataFrame, kinds: Mapping[str, Kind], fixed: Mapping[str, Role]
) -> tuple[dict[str, Role], list[Proposal]]:
    """Propose a role for every column; what is given stays."""
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
    proposals = [
        (name, "ignore", f"Column {shown(name)} is not used: {reason}.")
        for name, reason in reasons.items()
        if reason and roles[name] == "ignore"
    ]
    return roles, proposals


def _reason_to_ignore(column: pd.Series, kind: Kind) -> str:
    numeric = is_numeric(column)
    if numeric:
        present = column.to_numpy()
        present = present[~np.isnan(present)]
    else:
        coded = arrow_texts(column).drop_null().dictionary_encode()
        present = coded.indices.to_numpy()
    if not present.size:
        return "it is empty"
    text = kind == "category" and not numeric
    whole = kind == "number" and numeric and bool(np.all(present == np.floor(present)))
    if not text and not whole:
        return ""
    different = pd.unique(present).size
    codes = text and are_codes(coded.dictionary)
    if codes or _ID_NAMES.fullmatch(str(column.name)):
        if different == present.size:
            return "it looks like an identifier"
        return (
            "it looks like an identifier that repeats (as a group, its rows stay "
            "together in one part)"
        )
    if text and looks_like_dates(column):
        return (
            "it looks like a date (as time, it orders the rows into blocks; Clean "
            "reads days, weekdays or hours)"
        )
    if column.size < ENOUGH_ROWS:
        return ""
    if text and are_dressed(coded.dictionary[:500].to_pylist()):
        return ""
    if text and different == present.size:
        return "every value is different, like a name"
    if text and different > MAX_LEVELS:
        return f"it has {different:,} different texts"
    if whole and present.size == column.size and np.all(np.diff(present) == 1):
        return "it counts the rows"
    return ""


def looks_like_dates(column: pd.Series) -> bool:
    """Whether nine of ten texts of a column are dates."""
    if is_numeric(column):
        return False
    column = column.iloc[:: 1 + len(column) // 10_000]
    is_date = pc.match_substring_regex(arrow_texts(column).drop_null(), _DATE)
    return (pc.mean(is_date.cast(pa.int8())).as_py() or 0.0) > 0.9


def names_groups(column: pd.Series) -> bool:
    """Whether a column looks like an identifier that several rows share."""
    present = column.dropna()
    named = _ID_NAMES.fullmatch(str(column.name)) is not None
    return named and 1 < present.nunique() < present.size


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
    if not np.all(present == np.floor(present)):
        return False
    different = present.nunique()
    if different > FEW_VALUES:
        return different <= min(MORE_VALUES, present.size // ROWS_PER_VALUE)
    return different <= max(2, present.size // 2)


def guess_task(column: pd.Series, kind: Kind) -> Task:
    """Return "classification" for a target that names classes, else "regression"."""
    return "classification" if class_like(column, kind) else "regression"
