"""Cleaning: recorded steps that learn nothing from rows, run on any table, in words.

A step looks at one cell at a time, so that a new file is cleaned exactly as the
training table was. What has to be learned (the value that replaces a missing one) is
learned by `Preparation` on the training rows of each fold; a step only names it.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from smpcore.datasets.biquads import filter_names
from smpcore.datasets.cells import parse_cell
from smpcore.datasets.columns import (
    DateUse,
    Kind,
    as_numbers,
    as_text,
    canonical,
    cells,
    date_values,
    is_numeric,
    narrowed,
    parsed_numbers,
)
from smpcore.datasets.display_names import (
    listed,
    plain_number,
    shorten_name,
    shown,
    with_rest,
)
from smpcore.datasets.notation import DECIMALS, Notation, in_unit, number_of, parse_pair
from smpcore.datasets.series_features import Channel, feature_names, series_features
from smpcore.errors import DatasetError

#: The level of a category that stands for a missing value.
MISSING_LEVEL = "missing"

Imputation = Literal["", "most frequent", "own level"]
#: Cells that show what a step does.
_MOST_EXAMPLES = 6
#: What becomes of two numbers such as 120/80.
Pair = Literal["", "quotient", "two numbers"]


@dataclass(frozen=True)
class CleaningStep:
    """What is done to one column, in the order of the attributes.

    Attributes
    ----------
    column : str
        Name of the column.
    codes : tuple of str
        Values that mean "missing". A code that is a number stands for that number
        however it is written: "-9" also for -9.0.
    levels : tuple of (str, str)
        Values and what they are called instead; two with one new name are merged.
    low, high : float, optional
        Plausible range: a number outside of it counts as missing.
    unit : str
        Of the numbers.
    impute : {"", "most frequent", "own level"}
        What a missing value becomes. "": the median of a number's training rows, no
        level of a category. "most frequent": that value of the training rows. "own
        level": a level `MISSING_LEVEL` of a category.
    indicator : bool
        A further column says "yes" where the value is missing, else "no".
    fixed : bool
        The column cannot be changed (age, sex): counterfactuals keep its value.
    numbers : bool
        Before all else, numbers are read out of texts such as 12 %, $1, 1,200, 104 mmHg
        or <0.1.
    decimal : {".", ",", ""}
        The sign before their decimals; "": none is known, and what depends on it is no
        number.
    cell_unit : str
        The unit behind them, if it is not called `unit`; one of the same sort (g beside
        kg) is converted, with another one it is no number.
    digits : bool
        Whether k, M, Mio, ... behind a number stand for zeros: 300k is 300,000. Beside
        a currency they always do.
    pair : {"", "quotient", "two numbers"}
        Of texts such as 3/4: their quotient; or the first number, and the second one in
        a further column.
    date_use : {"", "days", "weekday", "hours"}
        Likewise of dates: days since 2000-01-01, the weekday, hours of the day.
    date_form : str
        How dates are written: ISO8601, or with signs such as %d/%m/%Y.
    features : tuple of str
        The column is the first sample of a channel, of which further columns become
        these features: see `series_features`.
    n_times : int
        Samples of the channel.
    count : float
        Value of one count of its samples.
    filters : tuple of str
        What its samples pass before that, one after the other: see `filter_names`.
    """

    column: str
    codes: tuple[str, ...] = ()
    levels: tuple[tuple[str, str], ...] = ()
    low: float | None = None
    high: float | None = None
    unit: str = ""
    impute: Imputation = ""
    indicator: bool = False
    fixed: bool = False
    numbers: bool = False
    decimal: Literal[".", ",", ""] = "."
    cell_unit: str = ""
    digits: bool = False
    pair: Pair = ""
    date_use: DateUse = ""
    date_form: str = ""
    features: tuple[str, ...] = ()
    n_times: int = 0
    count: float = 1.0
    filters: tuple[str, ...] = ()

    def __post_init__(self):
        put = self.__dict__.update  # as every frozen dataclass sets its own fields
        put(features=tuple(self.features), count=float(self.count))
        put(filters=tuple(self.filters))
        put(codes=tuple(self.codes), levels=tuple(map(tuple, self.levels)))
        for name in ("low", "high"):
            if (value := getattr(self, name)) is not None:
                put(**{name: float(value)})
                if not np.isfinite(value):
                    self._refuse(f"{name}={value} should be a finite number")
        low, high = self.low, self.high
        if low is not None and high is not None and low > high:
            self._refuse(
                f"low={plain_number(low)} should be at most high={plain_number(high)}"
            )
        for name, words in (
            ("impute", get_args(Imputation)),
            ("date_use", get_args(DateUse)),
            ("decimal", (*DECIMALS, "")),
            ("pair", get_args(Pair)),
        ):
            if (value := getattr(self, name)) not in words:
                allowed = ", ".join(map(repr, words))
                self._refuse(f"{name}={shown(value)} should be one of {allowed}")
        if self.indicator and self.impute == "own level":
            self._refuse("an indicator says the same as a level of its own; choose one")
        for name, known in (("features", feature_names), ("filters", filter_names)):
            chosen = {*getattr(self, name)}
            if unknown := chosen and chosen - {*known(self.n_times)}:
                self._refuse(
                    f"{name}={sorted(unknown)} are none of {self.n_times} samples"
                )
        if not 1e-30 <= self.count <= 1e30:
            self._refuse(f"count={self.count} should be a number above 0")
        # Then a second run changes nothing, whichever table is cleaned already.
        for old, new in self.levels:
            others = [one for one, name in self.levels if name != new]
            is_changed_again = _is_one_of([*self.codes, *others])(new)
            is_missing = self.impute == "own level" and _is_one_of([old])(MISSING_LEVEL)
            if is_changed_again or is_missing:
                self._refuse(
                    f"{shown(old)} is renamed to {shown(new)}, which is itself renamed "
                    "or means missing; give both the same new name"
                )

    def _refuse(self, what: str) -> None:
        raise DatasetError(f"Cleaning of column {shown(self.column)}: {what}.")

    @property
    def is_empty(self) -> bool:
        """Whether the step says nothing."""
        return self == CleaningStep(self.column)

    @property
    def added_column(self) -> str:
        """Name of the column that says where the value is missing; empty: none."""
        return f"{self.column} is missing" if self.indicator else ""

    @property
    def channel(self) -> str:
        """Name of the channel that the column is the first sample of."""
        return self.column.rpartition("_t")[0]

    @property
    def samples(self) -> list[str]:
        """Columns of the channel, the one itself first."""
        return cells([self.channel], self.n_times)

    @property
    def feature_columns(self) -> list[str]:
        """Names of the columns that features add."""
        return [f"{self.channel} {name}" for name in self.features]

    @property
    def second_column(self) -> str:
        """Name of the column of second numbers; empty: none."""
        return f"{self.column} second" if self.pair == "two numbers" else ""

    @property
    def further_columns(self) -> list[str]:
        """Names of all columns that the step adds."""
        single = filter(None, (self.added_column, self.second_column))
        return [*single, *self.feature_columns]


Steps = tuple[CleaningStep, ...]


def _channel(frame: pd.DataFrame, step: CleaningStep) -> Channel:
    """The channel of a step, a row for each of the table."""
    samples = np.column_stack([as_numbers(frame[name]) for name in step.samples])
    return Channel(samples, step.count, step.filters)


def apply_steps(frame: pd.DataFrame, steps: Iterable[CleaningStep]) -> pd.DataFrame:
    """Clean a table; doing so twice changes nothing more.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table as read, or new rows; a column that it lacks is passed over.
    steps : iterable of CleaningStep
        At most one for each column.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns + n_indicators)
        The same index and columns, and after them the columns that say where a value
        is missing. Columns without a step are shared, not copied.
    """
    cleaned: dict[str, pd.Series] = {}
    steps = list(steps)
    series = [s for s in steps if s.features and {*s.samples} <= {*frame}]
    following = dict(zip(series, [*series[1:], *series[:1]], strict=True))
    for step in steps:
        if step in following:
            channel, other = (_channel(frame, s) for s in (step, following[step]))
            values = series_features(channel, [*step.features], other)
            cleaned |= dict(zip(step.feature_columns, values.T, strict=True))
        elif step.column in frame:
            if step.second_column:
                cleaned[step.second_column] = _second(frame, step)
            column = undressed(frame[step.column], step)
            column = in_range(renamed(without_codes(column, step), step), step)
            gone = column.isna()
            if step.indicator:
                words = np.where(gone, "yes", "no")
                cleaned[step.added_column] = pd.Series(words, frame.index, dtype="str")
            if step.impute == "own level" and gone.any():
                column = as_text(column).fillna(MISSING_LEVEL)
            cleaned[step.column] = column
    return frame.assign(**cleaned) if cleaned else frame.copy(deep=False)


class Effect(NamedTuple):
    """What a step does to a column, by a few of its cells.

    Parameters
    ----------
    examples : list of (str, str)
        Six different cells at most, before and after: some that become missing, the
        smallest and the largest number, the strangest text.
    n_missing : int
        Cells with a value that become missing.
    """

    examples: list[tuple[str, str]]
    n_missing: int

    def words(self, n_rows: int) -> str:
        """The same in a line: "€300K → 300000; 0 of 40 cells become missing."."""
        arrows = ", ".join(f"{before} → {after}" for before, after in self.examples)
        return f"{arrows}; {self.n_missing:,} of {n_rows:,} cells become missing."


def effect_of(column: pd.Series, step: CleaningStep, as_number: bool = False) -> Effect:
    """Look at cells of a column before and after a step.

    Parameters
    ----------
    column : Series of shape (n_rows,)
        The column as it was read.
    step : CleaningStep
        Of this column.
    as_number : bool
        Whether the column is read as numbers then, so that words are missing.

    Returns
    -------
    Effect
    """
    cleaned = apply_steps(column.to_frame(step.column), [step])
    after = cleaned[step.column]
    if as_number:
        after = pd.Series(as_numbers(after), column.index)
    gone = (after.isna() & column.notna()).to_numpy()
    first = ~column.duplicated().to_numpy() & column.notna().to_numpy()
    places = np.flatnonzero(first)
    raw, numbers = as_text(column.iloc[places]), as_numbers(after.iloc[places])
    texts = [shorten_name(text, 40) for text in raw]
    chosen = np.flatnonzero(gone[places])[:2].tolist()
    if not np.isnan(numbers).all():
        chosen += [int(np.nanargmin(numbers)), int(np.nanargmax(numbers))]
    signs = [sum(not one.isalnum() for one in text) for text in texts]
    chosen += [int(np.argmax(signs))] if texts else []
    chosen = [*dict.fromkeys([*chosen, *range(len(texts))])][:_MOST_EXAMPLES]
    results = as_text(after.iloc[places]).fillna("missing")
    if step.second_column:
        second = as_text(cleaned[step.second_column].iloc[places]).fillna("missing")
        results = results + " and " + second
    examples = [(texts[at], shorten_name(results.iloc[at], 40)) for at in chosen]
    return Effect(examples, int(gone.sum()))


def undressed(column: pd.Series, step: CleaningStep) -> pd.Series:
    """The column with the numbers or dates of its texts, other texts as they are."""
    if not (step.numbers or step.pair or step.date_use) or is_numeric(column):
        return column
    codes, different = pd.factorize(column)
    texts = pd.Series(different, dtype="str")
    if step.date_use:
        values = date_values(texts, step.date_form, step.date_use)
    else:
        numbers = [_number_of(text, step) for text in texts]
        values = pd.Series(numbers, dtype="float64")
    bare = pd.Series([*as_text(values).fillna(texts), None], dtype="str")
    if step.decimal != ".":  # a second run takes no point for one of thousands
        bare = bare.str.replace(r"^(-?[1-9]\d{0,2}\.\d{3})$", r"\g<1>0", regex=True)
    return _as_numbers_if_all(bare.take(codes).set_axis(column.index), column.name)


def _second(frame: pd.DataFrame, step: CleaningStep) -> pd.Series:
    """The second numbers; of a table that is cleaned already those it has."""
    name, column = step.second_column, frame[step.column]
    if is_numeric(column) and name in frame:
        return frame[name]
    pairs = [parse_pair(text) for text in as_text(column).fillna("")]
    values = [pair[1] if pair else np.nan for pair in pairs]
    return pd.Series(
        narrowed(np.array(values, dtype=np.float64)), frame.index, name=name
    )


def _as_numbers_if_all(texts: pd.Series, name: Hashable) -> pd.Series:
    """Numbers, if every text that is there is one; else the texts."""
    numbers = parsed_numbers(texts)
    if np.isnan(numbers).sum() > texts.isna().sum():
        return texts.rename(name)
    return pd.Series(narrowed(numbers), texts.index, name=name)


def _number_of(text: str, step: CleaningStep) -> float:
    """The number of a text, if it is in the step's unit."""
    if step.pair:
        first, second = parse_pair(text) or (float("nan"), 1.0)
        if step.pair == "two numbers":
            return first
        return first / second if second else float("nan")
    unit = step.cell_unit or step.unit
    number, its_unit = number_of(text, Notation(step.decimal, unit, step.digits))
    return in_unit(number, its_unit, unit)


def without_codes(column: pd.Series, step: CleaningStep) -> pd.Series:
    """The column with its codes gone."""
    gone = where_one_of(column, step.codes)
    return column.mask(gone) if gone.any() else column


def renamed(column: pd.Series, step: CleaningStep) -> pd.Series:
    """Return a column with its values under their new names, as text if it has any."""
    if not step.levels:
        return column
    text = as_text(column)
    for old, new in step.levels:
        where = where_one_of(column, [old])
        if where.any():
            text = text.mask(where, new)
    return _as_numbers_if_all(text, column.name) if is_numeric(column) else text


def in_range(column: pd.Series, step: CleaningStep) -> pd.Series:
    """Return a column without its implausible numbers."""
    outside = outside_range(column, step)
    return column.mask(outside) if outside.any() else column


def outside_range(column: pd.Series, step: CleaningStep) -> np.ndarray:
    """Which numbers are implausible; words are none."""
    values = as_numbers(column)
    low = -np.inf if step.low is None else step.low
    high = np.inf if step.high is None else step.high
    return (values < low) | (values > high)


def where_one_of(column: pd.Series, values: Sequence[str]) -> np.ndarray:
    """Which cells are one of these values, written as they may be."""
    codes, different = pd.factorize(canonical(column))
    is_one = _is_one_of(values)
    hits = np.array([*map(is_one, different), False], dtype=bool)
    return hits[codes]


def _is_one_of(values: Sequence[str]) -> Callable[[object], bool]:
    texts = {value.strip() for value in values}
    numbers = {number for number in map(parse_cell, texts) if np.isfinite(number)}

    def is_one(value: object) -> bool:
        if isinstance(value, str):
            return value.strip() in texts or parse_cell(value) in numbers
        return value in numbers

    return is_one


def check_steps(
    steps: Sequence[CleaningStep], frame: pd.DataFrame, kinds: Mapping[str, Kind]
) -> None:
    """Refuse steps that do not fit a table."""
    names = [step.column for step in steps]
    if unknown := [name for name in names if name not in frame]:
        raise DatasetError(
            f"cleaning names {listed(unknown)}, which the table does not have; its "
            f"columns are {listed(frame, 20)}."
        )
    if twice := {name for name, times in Counter(names).items() if times > 1}:
        raise DatasetError(
            f"cleaning should have one step for each column, {listed(sorted(twice))} "
            "have several; put them into one."
        )
    for step in steps:
        if step.impute == "own level" and kinds[step.column] == "number":
            step._refuse(
                "a number has no level of its own for missing values; read the column "
                "as a category, or choose another replacement"
            )
        if step.features and (gone := {*step.samples} - {*frame}):
            step._refuse(f"the table has no column {listed(sorted(gone))}")
        for name in step.further_columns:
            if name in frame:
                step._refuse(
                    f"the table has a column {shown(name)} already; rename it first"
                )


def with_step(steps: Iterable[CleaningStep], step: CleaningStep) -> Steps:
    """Put a step in place of the one that its column has.

    Parameters
    ----------
    steps : iterable of CleaningStep
        The steps before.
    step : CleaningStep
        The new one; an empty one takes the column's step away.

    Returns
    -------
    tuple of CleaningStep
    """
    by_column = {one.column: one for one in steps} | {step.column: step}
    return tuple(one for one in by_column.values() if not one.is_empty)


def step_of(steps: Iterable[CleaningStep], column: str) -> CleaningStep:
    """Return the step of a column, an empty one if it has none.

    Parameters
    ----------
    steps : iterable of CleaningStep
        At most one for each column.
    column : str
        Name of the column.

    Returns
    -------
    CleaningStep
    """
    same = (step for step in steps if step.column == column)
    return next(same, CleaningStep(column))


def steps_to_json(steps: Iterable[CleaningStep]) -> list[dict[str, Any]]:
    """Steps as plain lists, mappings, texts and numbers; what is default is left out.

    Parameters
    ----------
    steps : iterable of CleaningStep
        At most one for each column.

    Returns
    -------
    list of dict
        What `steps_from_json` reads.
    """
    written = []
    for step in steps:
        usual = vars(CleaningStep(step.column))
        changed = {n: value for n, value in vars(step).items() if value != usual[n]}
        for name, kind in (("codes", list), ("levels", dict), ("features", list)):
            if name in changed:
                changed[name] = kind(changed[name])
        written.append({"column": step.column, **changed})
    return written


def steps_from_json(content: Iterable[Mapping[str, Any] | CleaningStep]) -> Steps:
    """Read what `steps_to_json` wrote.

    Parameters
    ----------
    content : iterable of mapping
        Entries are named as the attributes of `CleaningStep`; ``levels`` is a mapping
        of values to new names. A CleaningStep is taken as it is.

    Returns
    -------
    tuple of CleaningStep

    Raises
    ------
    DatasetError
        If an entry is unknown, or a step cannot be.
    """
    return tuple(map(_read_step, content))


def _read_step(content: Mapping[str, Any] | CleaningStep) -> CleaningStep:
    if isinstance(content, CleaningStep):
        return content
    known = [field.name for field in fields(CleaningStep)]
    unknown = [name for name in content if name not in known]
    if unknown or "column" not in content:
        raise DatasetError(
            f"A cleaning step should have a column, and of the rest {', '.join(known)} "
            f"only; it has {listed(content)}."
        )
    levels = dict(content.get("levels", {}))
    return CleaningStep(**{**content, "levels": tuple(levels.items())})


def added_columns(steps: Iterable[CleaningStep]) -> dict[str, str]:
    """Return the columns that steps add, each with the column that it is about.

    Parameters
    ----------
    steps : iterable of CleaningStep
        At most one for each column.

    Returns
    -------
    dict of str to str
    """
    return {name: step.column for step in steps for name in step.further_columns}


#: What dates become.
DATE_WORDS = {
    "days": "dates become days since 2000-01-01",
    "weekday": "dates become weekdays",
    "hours": "times become hours of the day",
}


#: What becomes of two numbers.
PAIR_WORDS = {
    "quotient": "the first number is divided by the second",
    "two numbers": "the second number goes into a column of its own",
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
    if step.numbers or step.pair or step.date_use:
        changed = as_text(numbers).to_numpy() != as_text(column).to_numpy()
        words = DATE_WORDS.get(step.date_use, "numbers are read out of texts")
        words = PAIR_WORDS.get(step.pair, words)
        words += f" (written {step.date_form})" if step.date_form else ""
        words += " (decimal comma)" if step.decimal == "," else ""
        words += " (k, M, ... stand for zeros)" if step.digits else ""
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
        words += f"{plain_number(step.count, 6)}, "
        if step.filters:
            words += f"filtered by {values_in_words(step.filters)}, "
        words += f"{values_in_words(step.features)} are"
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
    return with_rest(words, len(values) - most)
