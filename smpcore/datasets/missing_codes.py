"""Values that look like codes for "missing": shown as suggestions, never applied."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.cleaning import (
    CleaningStep,
    apply_steps,
    are_dressed,
    parse_dressed,
    step_of,
    where_one_of,
)
from smpcore.datasets.cleaning_words import DATE_WORDS, values_in_words
from smpcore.datasets.columns import as_numbers, as_text, is_numeric
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import shown
from smpcore.datasets.guessing import FEW_VALUES
from smpcore.datasets.times import date_forms, date_values

_WORDS = frozenset(
    "? - -- . n/a na n.a. nan nil null unknown unk missing undefined unspecified "
    "#n/a".split()
) | {"not available", "not known", "not recorded", "not applicable", "no data"}
_BELOW = (-9, -99, -999, -9999, -99999, -8, -88, -888)
_ABOVE = (99, 999, 9999, 99999, 88, 888, 8888)
#: -1 is an ordinary number where a column has fewer other values.
_FEWEST_OTHERS = 10
#: Different texts that are tried as dates, and digits of a date at least.
_LOOKED_AT, _FEWEST_DIGITS = 500, 3
#: Texts in a column of numbers that may stand for values that are held back.
_MOST_MARKS = 2
#: A code above all others is at least so many times the next one.
_FAR_ABOVE = 2.0


class Suggestion(NamedTuple):
    """A cleaning step that may be right.

    Parameters
    ----------
    step : CleaningStep
        The column's step with the codes added.
    reason : str
        What looks like a code, and how often it occurs, in a sentence.
    as_number : bool
        Whether only numbers are left, and so many that they are no names of classes:
        then the column is read as a number.
    """

    step: CleaningStep
    reason: str
    as_number: bool


def suggest_codes(dataset: Dataset) -> list[Suggestion]:
    """Find values that look like codes for "missing".

    Words such as "unknown"; -9, -99, ... where no other number is negative; 999, ...
    where every other number is less than half as large; -1 where it is the only
    negative number among many; one or two texts among many different numbers. The
    target is not compared with anything.

    Parameters
    ----------
    dataset : Dataset
        Its cleaning so far is taken into account.

    Returns
    -------
    list of Suggestion
        At most one for each column that is not ignored.
    """
    frame = apply_steps(dataset.whole, dataset.cleaning)
    dressed = [
        suggestion
        for name, column in frame.items()
        if dataset.roles[name] in ("feature", "target")
        if dataset.kinds[name] == "category"
        if (suggestion := _dressed(dataset, column))
    ]
    dated = [
        suggestion
        for name, column in frame.items()
        if dataset.roles[name] in ("feature", "ignore")
        for suggestion in _dated(dataset, column)
    ]
    return (
        dressed
        + dated
        + [
            _suggestion(dataset, column, codes)
            for name, column in frame.items()
            if dataset.roles[name] != "ignore"
            if (codes := [*_words(column, dataset.kinds[name]), *_numbers(column)])
        ]
    )


def _suggestion(dataset: Dataset, column: pd.Series, codes: list[str]) -> Suggestion:
    name = str(column.name)
    step = step_of(dataset.cleaning, name)
    where = where_one_of(column, codes)
    left = column[~where].dropna()
    numbers = as_numbers(left)
    as_number = dataset.kinds[name] == "category" and not np.isnan(numbers).any()
    as_number = as_number and np.unique(numbers).size > FEW_VALUES
    looks = "looks like a code" if len(codes) == 1 else "look like codes"
    rows = f"{where.sum():,} of {len(column):,} rows"
    words = f"{name}: {values_in_words(codes)} in {rows}"
    reason = f"{words} {looks} for a missing value."
    return Suggestion(replace(step, codes=(*step.codes, *codes)), reason, as_number)


def _dressed(dataset: Dataset, column: pd.Series) -> Suggestion | None:
    """Numbers with a unit, a currency or separated thousands."""
    texts = [] if is_numeric(column) else column.dropna().unique().tolist()
    if not are_dressed(texts):
        return None
    name = str(column.name)
    step = step_of(dataset.cleaning, name)
    units = {unit for _, unit in map(parse_dressed, texts) if unit}
    unit = units.pop() if len(units) == 1 else step.unit
    looks = f"{name}: {values_in_words(texts[:2])} … are numbers"
    reason = f"{looks} in {unit}." if unit else f"{looks} written as texts."
    return Suggestion(replace(step, numbers=True, unit=unit), reason, True)


def _dated(dataset: Dataset, column: pd.Series) -> Iterator[Suggestion]:
    """Dates and times of day, which are no categories."""
    name = str(column.name)
    step = step_of(dataset.cleaning, name)
    if is_numeric(column) or step.date_use:
        return
    texts = pd.Series(column.dropna().unique()[:_LOOKED_AT], dtype="str")
    if texts.empty or sum(map(str.isdigit, texts[0])) < _FEWEST_DIGITS:
        return
    forms = date_forms(texts)
    days = pd.DataFrame({form: date_values(texts, form, "days") for form in forms})
    place = days.nunique(axis=1).idxmax() if forms else 0  # where the forms differ
    for form in forms:
        is_clock = form.startswith("%H")
        example = texts[[place]]
        first = date_values(example, form, "hours" if is_clock else "days")[place]
        day = pd.Timestamp("2000-01-01") + pd.Timedelta(first, "D")
        for use in ("hours",) if is_clock else ("days", "weekday"):
            unit = {"days": "days since 2000-01-01", "hours": "h"}.get(use, "")
            in_words = f"{first:g} h" if is_clock else f"{day:%-d %B %Y}"
            reason = f"{name}: {shown(texts[place])} is {in_words}; {DATE_WORDS[use]}."
            yield Suggestion(
                replace(step, date_use=use, date_form=form, unit=unit),
                reason,
                use != "weekday",
            )


def _words(column: pd.Series, kind: str) -> Iterator[str]:
    if is_numeric(column):
        return
    different = pd.Series(sorted(column.dropna().unique()), dtype="str")
    numbers = as_numbers(different)
    others = different[np.isnan(numbers)]
    few = 0 < len(others) <= _MOST_MARKS and kind == "category"
    few = few and 2 * column.isin(others).sum() < column.count()
    many = np.unique(numbers).size > FEW_VALUES
    for value in others:
        is_mark = few and (many or not any(map(str.isalnum, value)))
        if is_mark or value.strip().casefold() in _WORDS:
            yield value


def _numbers(column: pd.Series) -> Iterator[str]:
    values = as_numbers(column)
    values = values[~np.isnan(values)]
    if not values.size or {values.min(), values.max()}.isdisjoint(
        (*_BELOW, -1, *_ABOVE)
    ):
        return  # before they are sorted: most columns have no code at an end
    different = np.unique(values)
    others = different[~np.isin(different, [*_BELOW, *_ABOVE])]
    if others.size < 2:
        return
    lowest, highest = others[others != -1].min(initial=np.inf), others.max()
    for value in different.tolist():
        is_code = value in _BELOW and others[0] >= -1 and lowest >= 0
        is_code |= value in _ABOVE and value >= _FAR_ABOVE * highest > 0
        many = others.size > _FEWEST_OTHERS
        is_code |= value == -1 and lowest >= 0 and many
        if is_code:
            yield as_text(pd.Series([value]))[0]
