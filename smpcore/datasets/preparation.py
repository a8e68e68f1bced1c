"""Preparation: from a raw row to a feature vector, as learned on training rows."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from smpcore.datasets.cleaning import CleaningStep, Imputation, Steps, added_columns
from smpcore.datasets.cleaning_words import describe_steps
from smpcore.datasets.columns import LARGEST, as_numbers, as_text
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import listed, plain_number, shorten_name
from smpcore.datasets.inputs import Input, learn_category, learn_numbers
from smpcore.datasets.personal import is_personal
from smpcore.datasets.text_columns import learn_text, letter_codes
from smpcore.errors import DatasetError

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
        self._require(frame)
        named = {what: _Named(len(frame)) for what in ("missing", "unseen", "range")}
        for spec in self.inputs:
            if names is not None and spec.name not in names:
                continue
            column, name = frame[spec.name], shorten_name(spec.name, 50)
            missing, unseen, out = _mended(column, spec)
            named["missing"].add(missing, lambda some, name=name: [name] * len(some))
            named["unseen"].add(
                unseen,
                lambda some, name=name, column=column: [
                    f"{name} = {value:.50}" for value in as_text(column.iloc[some])
                ],
            )
            named["range"].add(
                out,
                lambda some, name=name, column=column, spec=spec: (
                    [
                        f"{name} = {plain_number(value, 6)} ({spec.beyond(value)})"
                        for value in as_numbers(column.iloc[some])
                    ]
                    if spec.kind == "number"
                    else [f"{name} is cut off"] * len(some)
                ),
            )
        whats = {"out of range": "range", "missing": "missing", "unseen": "unseen"}
        return {title: named[what].texts() for title, what in whats.items()}

    def _require(self, frame: pd.DataFrame) -> None:
        absent = [spec.name for spec in self.inputs if spec.name not in frame]
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
        The training rows (of the fold). Of matrices the similarities to these become
        inputs, in this order, and no others.

    Returns
    -------
    Preparation
        Its ``transform`` takes ``dataset.frame`` or any table with these columns.

    Raises
    ------
    DatasetError
        If the columns make more features or values than memory should hold.
    """
    frame = dataset.frame[_columns(dataset, rows)].iloc[rows]
    inputs, first = [], 0
    added = {step.added_column for step in dataset.cleaning}
    steps = {step.column: step for step in dataset.cleaning}
    steps = {name: steps.get(name) or CleaningStep(name) for name in frame}
    names = [name for name in frame if dataset.kinds[name] == "number"]
    numbers = _learned(frame, names, [steps[name].impute for name in names])
    for name, step in steps.items():
        if dataset.kinds[name] == "text":
            spec = learn_text(frame[name], first)
        elif dataset.kinds[name] == "number":
            spec = replace(next(numbers), first=first)
        else:
            spec = learn_category(frame[name], first, step.impute)
        fixed = step.fixed or name in added
        inputs.append(replace(spec, unit=step.unit, fixed=fixed))
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
    frame: pd.DataFrame, names: list[str], imputed: list[Imputation]
) -> Iterator[Input]:
    """Inputs of columns of numbers; many columns at once take less time, not memory."""
    at_once = max(1, LEARNED_AT_ONCE // max(len(frame), 1))
    for start in range(0, len(names), at_once):
        part = names[start : start + at_once]
        values = _numbers(frame, part)
        yield from learn_numbers(values, part, imputed[start : start + at_once])


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
