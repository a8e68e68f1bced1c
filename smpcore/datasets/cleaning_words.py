"""Cleaning in words: what each step does, and to how many rows."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from smpcore.datasets.cells import parse_cell
from smpcore.datasets.cleaning import (
    MISSING_LEVEL,
    CleaningStep,
    in_range,
    outside_range,
    renamed,
    undressed,
    where_one_of,
    without_codes,
)
from smpcore.datasets.columns import as_text
from smpcore.datasets.display_names import plain_number, shown

#: What dates become.
DATE_WORDS = {
    "days": "dates become days since 2000-01-01",
    "weekday": "dates become weekdays",
    "hours": "times become hours of the day",
}


def describe_steps(
    steps: Iterable[CleaningStep],
    frame: pd.DataFrame | None = None,
    only_changes: bool = False,
) -> list[str]:
    """Say in sentences what steps do, and to how many rows of a table.

    Parameters
    ----------
    steps : iterable of CleaningStep
        At most one for each column.
    frame : DataFrame of shape (n_rows, n_columns), optional
        The table as read; without it nothing is counted.
    only_changes : bool
        Only what changes a cell of the table.

    Returns
    -------
    list of str
        Such as "chol: '-9' is missing (172 of 303 rows)."
    """
    sentences = []
    for step in steps:
        known = frame is not None and step.column in frame
        column = frame[step.column] if known else None
        for words, where in _parts(step, column):
            if only_changes and not where.any():
                continue
            count = f" ({where.sum():,} of {len(where):,} rows)" if known else ""
            sentences.append(f"{step.column}: {words}{count if len(where) else ''}.")
    return sentences


_Part = tuple[str, np.ndarray]


def _parts(step: CleaningStep, column: pd.Series | None) -> list[_Part]:
    """What a step does, each with the rows that it does it to; empty: not counted."""
    none = np.zeros(0, dtype=bool)
    column = pd.Series([], dtype="str") if column is None else column
    numbers = undressed(column, step)
    known = without_codes(numbers, step)
    as_called = renamed(known, step)
    parts = []
    if step.numbers or step.date_use:
        changed = as_text(numbers).to_numpy() != as_text(column).to_numpy()
        words = DATE_WORDS.get(step.date_use, "numbers are read out of texts")
        words += f" (written {step.date_form})" * bool(step.date_form)
        parts.append((words, changed & ~column.isna()))
    if step.codes:
        verb = "is" if len(step.codes) == 1 else "are"
        words = f"{values_in_words(step.codes)} {verb} missing"
        parts.append((words, where_one_of(numbers, step.codes)))
    merged: dict[str, list[str]] = {}
    for old, new in step.levels:
        merged.setdefault(new, []).append(old)
    for new, old in merged.items():
        verb = "is called" if len(old) == 1 else "are merged into"
        words = f"{values_in_words(old)} {verb} {values_in_words([new])}"
        parts.append((words, where_one_of(known, old)))
    if span := range_in_words(step):
        parts.append((f"values {span} are missing", outside_range(as_called, step)))
    elif step.unit:
        parts.append((f"in {step.unit}", none))
    gone = in_range(as_called, step).isna().to_numpy()
    if step.impute == "most frequent":
        words = "a missing value becomes the most frequent one of the training rows"
        parts.append((words, gone))
    elif step.impute == "own level":
        parts.append((f"a missing value is the level {shown(MISSING_LEVEL)}", gone))
    if step.indicator:
        words = f"the column {shown(step.added_column)} says where it is missing"
        parts.append((words, gone))
    if step.features:
        words = f"of its channel of {step.n_times} samples, counted in steps of "
        words += f"{plain_number(step.count, 6)}, {values_in_words(step.features)} are"
        parts.append((f"{words} features", none))
    if step.fixed:
        parts.append(("cannot be changed, counterfactuals keep it", none))
    return parts


def range_in_words(step: CleaningStep) -> str:
    """Which numbers are implausible: "below 0 or above 120 years"; empty if none."""
    limits = (("below", step.low), ("above", step.high))
    words = " or ".join(
        f"{word} {plain_number(end, 6)}" for word, end in limits if end is not None
    )
    return f"{words} {step.unit}".strip() if words else ""


def values_in_words(values: Sequence[str], most: int = 20) -> str:
    """Return values for a sentence: numbers plain, words quoted, the rest counted."""
    words = [v if parse_cell(v) == parse_cell(v) else shown(v) for v in values[:most]]
    rest = len(values) - most
    return ", ".join(words) + (f" and {rest} more" if rest > 0 else "")
