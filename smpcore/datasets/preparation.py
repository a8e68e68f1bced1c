"""Preparation: from a raw row to a feature vector, as learned on training rows."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd

from smpcore.datasets.cleaning import (
    CleaningStep,
    Imputation,
    Steps,
    added_columns,
    describe_steps,
)
from smpcore.datasets.columns import (
    LARGEST,
    MAX_LENGTH,
    MAX_LETTERS,
    Kind,
    as_numbers,
    as_text,
)
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import listed, plain_number, shorten_name, shown
from smpcore.datasets.structure import unit_of
from smpcore.errors import DatasetError

# One model feature per level: more of them is a text, or an identifier.
MAX_CATEGORY_LEVELS = 1000


@dataclass(frozen=True)
class Input:
    """One raw column as a model sees it.

    Attributes
    ----------
    name : str
        Name of the raw column.
    kind : {"number", "category", "text"}
        A number is one model feature; a category is one feature of 0 or 1 per level,
        but for the level ``dropped``; a text is one per letter, see `learn_text`.
    fill : float
        What a missing number becomes: the median of the training rows, or their most
        frequent value. Of a category the position in ``levels`` of the level that a
        missing value becomes; -1: none.
    levels : tuple of str
        Sorted values of a category in the training rows. Any other value, and a
        missing one without a ``fill``, makes all its features 0: of two levels it
        counts as the commoner. Of a text its letters.
    low, high : float
        Range of the model features in the training rows.
    integer : bool
        All training values are whole numbers.
    first, width : int
        Position of the first model feature, and how many there are.
    decimals : int
        Digits after the point of a number: those of the training values, but no more
        than four significant digits of their range need.
    dropped : int
        Position in ``levels`` of the level without a feature: of two levels the
        commoner in the training rows, the first if both are equally common; -1: none.
    unit : str
        Of a number, as the user wrote it.
    fixed : bool
        The value cannot be changed: counterfactuals keep it.
    """

    name: str
    kind: Kind
    fill: float
    levels: tuple[str, ...]
    low: float = 0.0
    high: float = 1.0
    integer: bool = True
    first: int = 0
    width: int = 1
    decimals: int = 0
    dropped: int = -1
    unit: str = ""
    fixed: bool = False

    @property
    def unit_beside(self) -> str:
        """The unit where it does not stand in the name, as in "distance [km] = 14"."""
        return "" if self.unit == unit_of(self.name) else self.unit

    def beyond(self, value: float) -> str:
        """Say that a number is outside of the training range; empty if it is not."""
        if value > self.high:
            return f"above what was seen: max {plain_number(self.high, 6)}"
        if value < self.low:
            return f"below what was seen: min {plain_number(self.low, 6)}"
        return ""

    @property
    def features(self) -> slice:
        """Positions of its model features."""
        return slice(self.first, self.first + self.width)

    @property
    def positions(self) -> range:
        """The same one by one."""
        return range(self.first, self.first + self.width)

    @property
    def feature_levels(self) -> tuple[int, ...]:
        """Position in ``levels`` of the level of each feature; empty for a number."""
        return tuple(i for i in range(len(self.levels)) if i != self.dropped)

    def text(self, x: np.ndarray) -> str:
        """The value of the column in a feature vector: a level, or a number's digits.

        A number that needs more digits than the column's own has all of its digits.
        """
        if self.kind == "text":
            codes = [int(code) for code in x[self.features] if code >= 0]
            return "".join([*self.levels, "?"][code] for code in codes)
        if self.kind == "category":
            places = [*np.array(self.feature_levels)[x[self.features] != 0]]
            places += [self.dropped] * (not places and self.dropped >= 0)
            return " or ".join(self.levels[i] for i in places) or "none of its levels"
        value = float(x[self.first])
        text = f"{value:.{self.decimals}f}"
        return text if abs(value) < 1e15 and float(text) == value else repr(value)


def weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Median of each column of rows that count by their weight: NaN counts for none.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        No column is NaN throughout.
    weights : ndarray of shape (n_rows,)
        Above 0. Whole ones count as that many equal rows.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    order = np.argsort(values, axis=0, kind="stable")  # NaN stands last
    ranked = np.take_along_axis(values, order, axis=0)
    reach = np.cumsum(np.where(np.isnan(ranked), 0.0, weights[order]), axis=0)
    half, rounding = reach[-1] / 2, 1e-12 * reach[-1]
    middle = [np.argmax(reach > half + by, axis=0) for by in (-rounding, rounding)]
    columns = np.arange(values.shape[1])
    return (ranked[middle[0], columns] + ranked[middle[1], columns]) / 2


def learn_numbers(
    values: np.ndarray,
    names: list[str],
    imputed: list[Imputation],
    weights: np.ndarray | None = None,
) -> list[Input]:
    """Learn replacement, range and digits of columns of numbers, all at once."""
    gaps = np.isnan(values)
    empty = gaps.all(axis=0)
    if empty.any():
        values = np.where(empty, 0.0, values)
        gaps = gaps & ~empty
    # The median that looks for gaps takes three times as long on a wide table.
    if weights is not None:
        fills = weighted_median(values, weights)
    else:
        fills = (np.nanmedian if gaps.any() else np.median)(values, axis=0)
    for i, impute in enumerate(imputed):
        if impute == "most frequent":
            known = ~gaps[:, i]
            different, place = np.unique(values[known, i], return_inverse=True)
            counts = np.bincount(place, None if weights is None else weights[known])
            fills[i] = different[counts.argmax()]
    low = np.min(values, axis=0, where=~gaps, initial=np.inf)
    high = np.max(values, axis=0, where=~gaps, initial=-np.inf)
    integer = (gaps | (values == np.floor(values))).all(axis=0)
    digits = _decimals(values, gaps, low, high)
    columns = zip(names, fills, low, high, integer, digits, strict=True)
    return [
        Input(n, "number", float(f), (), float(a), float(b), bool(i), 0, 1, int(d))
        for n, f, a, b, i, d in columns
    ]


def _decimals(
    values: np.ndarray, gaps: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Digits after the point that each column needs, four significant ones at most."""
    spread = high - low
    spread = np.where(spread > 0.0, spread, np.where(high != 0.0, np.abs(high), 1.0))
    needed = np.clip(3 - np.floor(np.log10(spread)), 0, 300).astype(np.int64)
    undecided = np.arange(len(needed))
    for decimals in range(int(needed.max(initial=0))):
        undecided = undecided[needed[undecided] > decimals]
        enough = undecided
        # Most columns of many digits show it in their first values.
        for rows in (slice(8), slice(None)):
            part = values[rows, enough]
            same = gaps[rows, enough] | (part == np.round(part, decimals))
            enough = enough[same.all(axis=0)]
        needed[enough] = decimals
    return needed


def learn_category(
    column: pd.Series, impute: Imputation = "", weights: np.ndarray | None = None
) -> Input:
    """Learn the levels of a category, and which of them replaces a missing value."""
    codes, known = pd.factorize(as_text(column), sort=True)
    levels, is_known = tuple(known), codes >= 0
    counts = np.bincount(
        codes[is_known], None if weights is None else weights[is_known], len(levels)
    )
    if len(levels) > MAX_CATEGORY_LEVELS:
        raise DatasetError(
            f"Column {shown(column.name)} has {len(levels):,} different values, at "
            f"most {MAX_CATEGORY_LEVELS:,} are possible for a category; give it the "
            "role ignore, or read it as a number."
        )
    dropped = -1
    if len(levels) == 2:
        dropped = int(counts[1] > counts[0])
    width = len(levels) - (dropped >= 0)
    fill = -1.0
    if impute == "most frequent" and levels:
        fill = float(np.argmax(counts))
    parts = {"width": width, "dropped": dropped}
    return Input(column.name, "category", fill, levels, **parts)


def text_features(dataset: Dataset) -> list[str]:
    """Columns that a model may use and that are read as text.

    Parameters
    ----------
    dataset : Dataset
        A table, series or matrices.

    Returns
    -------
    list of str
        Their names; mostly there are none.
    """
    return [name for name in dataset.feature_columns if dataset.kinds[name] == "text"]


def only_compared(dataset: Dataset) -> bool:
    """Whether rows are known by their similarities, and no feature means anything.

    Parameters
    ----------
    dataset : Dataset
        A table, series or matrices.

    Returns
    -------
    bool
    """
    return bool(dataset.matrices or text_features(dataset))


def learn_text(column: pd.Series) -> Input:
    """Learn the letters of a column of texts, and its longest text."""
    texts = as_text(column).dropna()
    letters = tuple(sorted(set("".join(texts))))
    width = max(map(len, texts), default=1) or 1
    for size, most, what in (
        (width, MAX_LENGTH, "letters in a text"),
        (len(letters), MAX_LETTERS, "different letters"),
    ):
        if size > most:
            raise DatasetError(
                f"Column {shown(column.name)} has {size:,} {what}, at most {most} are "
                "compared; shorten its texts, or read it as a category."
            )
    high = float(max(len(letters) - 1, 0))
    return Input(column.name, "text", -1.0, letters, -1.0, high, width=width)


def letter_codes(column: pd.Series, spec: Input) -> np.ndarray:
    """Number of each letter, as the model wants it."""
    places = {letter: place for place, letter in enumerate(spec.levels)}
    codes = np.full((len(column), spec.width), -1.0)
    for row, text in enumerate(as_text(column).fillna("")):
        for k, letter in enumerate(text[: spec.width]):
            codes[row, k] = places.get(letter, len(places))
    return codes


#: Nobody is older; a column of the sex has two levels, and perhaps two for the rest.
_OLDEST, _MOST_LEVELS = 130, 4


def _words(text: str) -> frozenset[str]:
    """The words of a text in small letters without accents."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    letters = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(one for one in letters if not unicodedata.combining(one))
    return frozenset(re.findall(r"[^\W\d_]+", bare))


_AGE = _words(
    "age alter lebensalter edad idade età leeftijd alder ålder ikä wiek věk életkor "
    "vârstă yaş возраст ηλικία 年龄 年齢 年齡 나이 연령"
)
_SEX = _words(
    "sex gender geschlecht sexe genre sexo género sesso genere geslacht kön kjønn køn "
    "płeć pohlaví cinsiyet sukupuoli пол φύλο 性别 性別 성별"
)
_LEVELS = tuple(
    map(
        _words,
        (
            *("m f", "m w", "m v", "h f", "h m", "male female", "man woman"),
            *("mann frau", "männlich weiblich", "man vrouw", "man kvinna"),
            *("mand kvinde", "homme femme", "masculin féminin", "hombre mujer"),
            *("masculino femenino", "masculino feminino", "homem mulher"),
            *("maschio femmina", "uomo donna", "男 女", "м ж"),
        ),
    )
)


def is_personal(column: Input) -> bool:
    """Whether a column looks like an age or a sex, which nobody can change."""
    name = _words(column.name)
    if column.kind == "number" and name & _AGE:
        return column.low >= 0 and column.high <= _OLDEST
    if column.kind == "text" or len(column.levels) > _MOST_LEVELS:
        return False
    levels = _words(" ".join(column.levels))
    return bool(name & _SEX) or any(pair <= levels for pair in _LEVELS)


MAX_FEATURES = 20_000
MAX_PREPARED = 50_000_000
#: Numbers that are looked at in one step.
LEARNED_AT_ONCE = 2**22
#: Values of a row that are named; of more, the rest are counted.
MOST_NAMED = 6


@dataclass(frozen=True, eq=False)
class Preparation:
    """What turns raw rows into feature vectors; knows nothing but training rows.

    Attributes
    ----------
    inputs : tuple of Input
        One per raw feature column, in order.
    dataset : str
        Name of the data set that it was learned on.
    cleaning : tuple of CleaningStep
        What was done to the cells before: a new file needs the same (`apply_steps`).
    """

    inputs: tuple[Input, ...]
    dataset: str = ""
    cleaning: Steps = ()

    @cached_property
    def added_columns(self) -> dict[str, str]:
        """Inputs that steps have added, each with the column that it is about."""
        added = added_columns(self.cleaning)
        return {i.name: added[i.name] for i in self.inputs if i.name in added}

    @cached_property
    def fixed_columns(self) -> list[str]:
        """Columns that cannot be changed: by the user's word, and an age or a sex."""
        return [one.name for one in self.inputs if one.fixed or is_personal(one)]

    @property
    def fixed_features(self) -> list[int]:
        """Features of the columns that cannot be changed."""
        names = set(self.fixed_columns)
        return [f for one in self.inputs if one.name in names for f in one.positions]

    def source_columns(self, names: Iterable[str]) -> list[str]:
        """Columns of a raw table that some inputs need.

        Parameters
        ----------
        names : iterable of str
            Names of inputs.

        Returns
        -------
        list of str
            In the order of the inputs; in place of an added column the one that it is
            about.
        """
        added, wanted = self.added_columns, set(names)
        used = [spec.name for spec in self.inputs if spec.name in wanted]
        samples = {step.column: step.samples for step in self.cleaning if step.features}
        columns = (added.get(name, name) for name in used)
        sources = {one for name in columns for one in samples.get(name, [name])}
        order = [spec.name for spec in self.inputs if spec.name not in added]
        return [*(n for n in order if n in sources), *sorted(sources - set(order))]

    @property
    def sentences(self) -> dict[str, list[str]]:
        """Column -> what was done to its cells, in sentences."""
        return {step.column: describe_steps([step]) for step in self.cleaning}

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Name of each model feature: the column's, "column = level", or its letter."""
        return tuple(
            name
            for spec in self.inputs
            for name in (
                [spec.name]
                if spec.kind == "number"
                else [f"{spec.name} letter {i + 1}" for i in range(spec.width)]
                if spec.kind == "text"
                else [f"{spec.name} = {spec.levels[i]}" for i in spec.feature_levels]
            )
        )

    @cached_property
    def column_of_feature(self) -> np.ndarray:
        """Position in ``inputs`` of each model feature's column, (n_features,)."""
        return np.repeat(np.arange(len(self.inputs)), [i.width for i in self.inputs])

    @cached_property
    def has_level_features(self) -> bool:
        """Whether a column is several features."""
        return any(s.width > 1 and s.kind == "category" for s in self.inputs)

    def sum_by_column(self, values: np.ndarray) -> np.ndarray:
        """Sum what belongs to features over the features of each column.

        Parameters
        ----------
        values : ndarray of shape (..., n_features)

        Returns
        -------
        ndarray of shape (..., n_inputs), float64
        """
        values = np.asarray(values, dtype=np.float64)
        sums = np.zeros((*values.shape[:-1], len(self.inputs)))
        columns, starts = np.unique(self.column_of_feature, return_index=True)
        sums[..., columns] = np.add.reduceat(values, starts, axis=-1)
        return sums

    def used_columns(self, used: np.ndarray) -> np.ndarray:
        """Which columns have a used feature.

        Parameters
        ----------
        used : ndarray of bool, shape (..., n_features)

        Returns
        -------
        ndarray of bool, shape (..., n_inputs)
        """
        return self.sum_by_column(used) > 0

    @property
    def n_features(self) -> int:
        """Number of model features."""
        return len(self.feature_names)

    @cached_property
    def key(self) -> str:
        """Short text that is the same for the same preparation only."""
        words = repr((self.inputs, self.cleaning)).encode()
        return hashlib.blake2b(words, digest_size=8).hexdigest()

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the feature vectors of raw rows.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, n_columns)
            Has every input column by name, as numbers or text.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Fresh, C-contiguous, finite.
        """
        self._require(frame)
        X = np.zeros((len(frame), self.n_features))
        numbers = [spec for spec in self.inputs if spec.kind == "number"]
        if numbers:
            values = _numbers(frame, [spec.name for spec in numbers])
            fill = np.array([spec.fill for spec in numbers])
            np.copyto(values, fill, where=np.isnan(values))
            X[:, [spec.first for spec in numbers]] = values
        for spec in self.inputs:
            if spec.kind == "text":
                X[:, spec.features] = letter_codes(frame[spec.name], spec)
            if spec.kind == "category":
                levels = level_codes(frame[spec.name], spec)
                X[:, spec.features] = levels[:, None] == np.array(spec.feature_levels)
        return X

    def report(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Count what `transform` has to mend in these rows.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, n_columns)
            Has every input column by name.

        Returns
        -------
        DataFrame of shape (n_inputs, 3)
            For each input column the number of rows whose value is ``missing``,
            ``unseen`` (a category that the training rows do not have) or
            ``out_of_range`` (a number outside the training range).
        """
        self._require(frame)
        counts = {
            spec.name: [mask.sum() for mask in _mended(frame[spec.name], spec)]
            for spec in self.inputs
        }
        columns = ["missing", "unseen", "out_of_range"]
        return pd.DataFrame.from_dict(counts, orient="index", columns=columns)

    def report_rows(
        self, frame: pd.DataFrame, names: Collection[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Name in each row the values that `transform` has to mend, or never met.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, n_columns)
            Has every input column by name.
        names : collection of str, optional
            Input columns whose values are named; all by default.

        Returns
        -------
        dict of str to ndarray of str, shape (n_samples,)
            ``out of range`` ("chol = 420 (above what was seen: max 394)"), ``missing``
            ("chol") and ``unseen`` ("site = west"), as for `report`: empty where there
            is none, several joined by "; ", at most `MOST_NAMED` of them.
        """
        inputs = [one for one in self.inputs if names is None or one.name in names]
        self._require(frame, inputs)
        whats = "missing", "unseen", "out of range"
        named = {what: _Named(len(frame)) for what in whats}
        for spec in inputs:
            column = frame[spec.name]
            for what, mask in zip(whats, _mended(column, spec), strict=True):
                named[what].add(mask, partial(_in_words, what, column, spec))
        return {what: rows.texts() for what, rows in named.items()}

    def _require(self, frame: pd.DataFrame, inputs: Iterable[Input] = ()) -> None:
        absent = [one.name for one in inputs or self.inputs if one.name not in frame]
        if absent:
            raise DatasetError(
                f"The table has no column {listed(absent)}; it should have the columns "
                f"{listed([spec.name for spec in self.inputs], 20)}."
            )


def prepare(dataset: Dataset, rows: np.ndarray) -> Preparation:
    """Learn replacements, category levels and ranges on these rows, and on no others.

    Parameters
    ----------
    dataset : Dataset
        Whose feature columns become inputs.
    rows : ndarray of int
        The training rows (of the fold), which count by their weight: medians and most
        frequent values are those of rows that are repeated so often. Of matrices the
        similarities to these become inputs, in this order, and no others.

    Returns
    -------
    Preparation
        Its ``transform`` takes ``dataset.frame`` or any table with these columns.

    Raises
    ------
    DatasetError
        If the columns make more features or values than memory should hold.
    """
    columns, weights = _columns(dataset, rows), None
    if dataset.weights is not None:
        rows = rows[dataset.weights[rows] > 0]
        weights = dataset.weights[rows]
    frame = dataset.frame[columns].iloc[rows]
    inputs, first = [], 0
    added = {step.added_column for step in dataset.cleaning}
    steps = {step.column: step for step in dataset.cleaning}
    steps = {name: steps.get(name) or CleaningStep(name) for name in frame}
    names = [name for name in frame if dataset.kinds[name] == "number"]
    imputed = [steps[name].impute for name in names]
    numbers = _learned(frame, names, imputed, weights)
    for name, step in steps.items():
        if dataset.kinds[name] == "text":
            spec = learn_text(frame[name])
        elif dataset.kinds[name] == "number":
            spec = next(numbers)
        else:
            spec = learn_category(frame[name], step.impute, weights)
        fixed = step.fixed or name in added
        inputs.append(replace(spec, first=first, unit=step.unit, fixed=fixed))
        first += spec.width
    if first > MAX_FEATURES:
        raise DatasetError(
            f"The columns make {first:,} features, at most {MAX_FEATURES:,} are "
            "possible; give some columns the role ignore."
        )
    if first * dataset.n_samples > MAX_PREPARED:
        raise DatasetError(
            f"The columns make {first:,} features of {dataset.n_samples:,} rows, at "
            f"most {MAX_PREPARED:,} values are possible; give the columns with most "
            "categories the role ignore, or use fewer rows."
        )
    return Preparation(tuple(inputs), dataset.name, dataset.cleaning)


def _learned(
    frame: pd.DataFrame,
    names: list[str],
    imputed: list[Imputation],
    weights: np.ndarray | None,
) -> Iterator[Input]:
    """Inputs of columns of numbers; many columns at once take less time, not memory."""
    at_once = max(1, LEARNED_AT_ONCE // max(len(frame), 1))
    for start in range(0, len(names), at_once):
        part = names[start : start + at_once]
        values = _numbers(frame, part)
        of_part = imputed[start : start + at_once]
        yield from learn_numbers(values, part, of_part, weights)


def _columns(dataset: Dataset, rows: np.ndarray) -> list[str]:
    """Columns that a model of these rows may use: of matrices, those to these rows."""
    names = dataset.feature_columns
    if not dataset.matrices:
        return names
    of_matrix = np.array(names, dtype=object).reshape(-1, dataset.n_samples)
    return of_matrix[:, rows].ravel().tolist()


def _numbers(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    part = frame[names]
    if not all(dtype.kind in "if" for dtype in part.dtypes):
        part = pd.DataFrame({name: as_numbers(part[name]) for name in names})
    values = part.to_numpy(np.float64, copy=True)
    values[~(np.abs(values) <= LARGEST)] = np.nan
    return values


def level_codes(column: pd.Series, spec: Input) -> np.ndarray:
    """Place of each value of a category among its levels."""
    levels = pd.Index(spec.levels, dtype="str").get_indexer(as_text(column))
    return np.where(column.isna(), int(spec.fill), levels)


def _in_words(what: str, column: pd.Series, spec: Input, rows: np.ndarray) -> list[str]:
    """What is mended in some rows of a column."""
    name, some = shorten_name(spec.name, 50), column.iloc[rows]
    if what == "missing":
        return [name] * len(rows)
    if what == "unseen":
        return [f"{name} = {value:.50}" for value in as_text(some)]
    if spec.kind == "text":
        return [f"{name} is cut off"] * len(rows)
    beyond = ((value, spec.beyond(value)) for value in as_numbers(some))
    return [f"{name} = {plain_number(value, 6)} ({why})" for value, why in beyond]


class _Named:
    """What is named in each row, the first few of many."""

    def __init__(self, n_rows: int) -> None:
        self._texts = np.full(n_rows, "", dtype=object)
        self._counts = np.zeros(n_rows, dtype=np.int64)

    def add(self, mask: np.ndarray, words: Callable[[np.ndarray], list[str]]) -> None:
        """Add words to the rows of a mask: made for those only that still take any."""
        if not mask.any():
            return
        some = np.flatnonzero(mask & (self._counts < MOST_NAMED))
        comma = np.where(self._counts[some] > 0, "; ", "").astype(object)
        self._texts[some] += comma + np.array(words(some), dtype=object)
        self._counts += mask

    def texts(self) -> np.ndarray:
        """The words of each row; what is left out is counted."""
        more = self._counts > MOST_NAMED
        rest = [f" and {n - MOST_NAMED} more" for n in self._counts[more]]
        self._texts[more] += np.array(rest, dtype=object)
        return self._texts


def _mended(
    column: pd.Series, spec: Input
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which values are missing, unseen, or out of the training range."""
    nowhere = np.zeros(column.size, dtype=bool)
    if spec.kind == "category":
        missing = column.isna().to_numpy()
        return missing, ~missing & (level_codes(column, spec) < 0), nowhere
    if spec.kind == "text":
        missing = column.isna().to_numpy()
        strange = (letter_codes(column, spec) == len(spec.levels)).any(axis=1)
        lengths = as_text(column).fillna("").str.len().to_numpy()
        return missing, strange, lengths > spec.width
    values = as_numbers(column)
    outside = (values < spec.low) | (values > spec.high)
    return np.isnan(values), nowhere, outside
