"""A data set as every page works with it, and what is computed of it once.

Keys are digests and plain values, never arrays. What belongs to a visitor (an upload,
a drawing) is kept with that visitor's data set, everything else is shared: thirty
students who ask for the same thing have it computed once.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from pages.work.store import KEEP_SECONDS, Store
from pages.work.warmup import uncompiled
from smpcore import (
    METHODS,
    Dataset,
    PrototypeModel,
    datasets,
    errors,
    evaluate,
    load_dataset,
    prepare,
    split,
)
from smpcore.evaluation import RegressionScores, Scores, clusters

#: Names of the parts of a split.
PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Parts:
    """A data set, split and prepared: what every page works with.

    `X` has all rows as the models want them, `row_weights` what each of them weighs: by
    its column, and for censoring as learned on the training rows.
    """

    dataset: Dataset
    split: datasets.Split
    preparation: datasets.Preparation
    X: np.ndarray
    y: np.ndarray
    row_weights: np.ndarray | None = None

    def of(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of "train", "validation" or "test"."""
        rows = getattr(self.split, part)
        return self.X[rows], self.y[rows]

    @property
    def scored_part(self) -> str:
        """Validation rows, training rows where there are none."""
        return "validation" if len(self.split.validation) else "train"

    def weights(self, part: str) -> np.ndarray | None:
        """Weights of the rows of a part; None: all weigh the same."""
        return self._weights[part]

    def metadata(self, part: str) -> dict[str, np.ndarray]:
        """Groups and times of the rows of a part, as `fit` takes them."""
        return self.dataset.metadata(getattr(self.split, part))

    def evaluate(self, model: PrototypeModel, part: str) -> Scores | RegressionScores:
        """Score a model on a part: rows may depend on each other, and have weights."""
        beside = self._clusters[part], self._weights[part]
        return evaluate(model, *self.of(part), *beside)

    def clusters(self, part: str) -> np.ndarray | None:
        """Which rows of a part depend on each other; None: none do."""
        return self._clusters[part]

    @cached_property
    def _clusters(self) -> dict[str, np.ndarray | None]:
        return {n: clusters(self.dataset, getattr(self.split, n)) for n in PARTS}

    @cached_property
    def _weights(self) -> dict[str, np.ndarray | None]:
        if self.row_weights is None:
            return dict.fromkeys(PARTS)
        weights = {n: self.row_weights[getattr(self.split, n)] for n in PARTS}
        return {n: None if np.all(w == 1.0) else w for n, w in weights.items()}

    @cached_property
    def training_median(self) -> float:
        """Median of the numbers to predict in the training rows, by their weights."""
        y, weights = self.of("train")[1], self.weights("train")
        if weights is None:
            return float(np.median(y))
        return float(datasets.weighted_median(y[:, None], weights)[0])

    @cached_property
    def median_baselines(self) -> dict[str, str]:
        """Error of the training median as the answer to each part, in words."""
        usual, words = self.training_median, {}
        for part in PARTS:
            off = np.abs(self.of(part)[1] - usual)
            mean = np.average(off, weights=self.weights(part)) if off.size else None
            error = "" if mean is None else datasets.plain_number(mean, 3)
            always = f"always {datasets.plain_number(usual, 3)}"
            words[part] = f"training-median baseline ({always}): {error}"
        return words

    @cached_property
    def cluster_summary(self) -> str:
        """Which rows intervals count together, for a sentence; empty if none."""
        if self.dataset.times is not None:
            return "rows near each other in time count together"
        return "" if self.dataset.groups is None else "rows of one group count together"

    @cached_property
    def cluster_note(self) -> str:
        """The same in brackets, to follow an interval."""
        return f" ({self.cluster_summary})" if self.cluster_summary else ""

    @cached_property
    def weight_summary(self) -> str:
        """What rows are weighted for, for a sentence; empty if nothing."""
        if self.row_weights is None:
            return ""
        column, asks = self.dataset.weight, self.dataset.follow_up
        reasons = [f"by {datasets.shorten_name(column, 40)}"] if column else []
        reasons += ["for censoring"] if asks else []
        words = [f"weighted {' and '.join(reasons)}"]
        words += ["censored rows are not counted"] if asks else []
        if self.dataset.groups is None and self.dataset.times is None:
            words.append("intervals by Kish's effective number of rows")
        return "; ".join(words)

    @cached_property
    def weight_note(self) -> str:
        """The same in brackets, to follow a share."""
        return f" ({self.weight_summary})" if self.weight_summary else ""

    def named(self, part: str) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs with their names, and labels: what estimators take names from."""
        X, y = self.of(part)
        return pd.DataFrame(X, columns=self.preparation.feature_names), y


#: Visitors' tables whose results are kept, at most, if each has as many as it may.
MOST_PRIVATE = 200

Pairs = tuple[tuple[str, Any], ...]

#: Results that were made from visitors' tables, for each function.
_private: list[Store] = []
#: A visitor's table, or what was made from it -> the owner of its results. Another
#: visitor who brings the same rows is another owner.
_owners: WeakKeyDictionary[Dataset, object] = WeakKeyDictionary()


def pairs(values: Mapping[str, Any]) -> Pairs:
    """Values as a cache key."""
    return tuple(sorted(values.items()))


def short_digest(*values: Any) -> str:
    """A name that is the same for equal plain values only."""
    return hashlib.blake2b(repr(values).encode(), digest_size=8).hexdigest()


def _in_key(value: Any) -> Any:
    """A digest in place of an array, and pairs in place of a mapping."""
    if isinstance(value, Parts):
        return value.dataset.digest, value.split.key
    if isinstance(value, Dataset):
        return value.digest
    if isinstance(value, datasets.Split):
        return value.key
    return pairs(value) if isinstance(value, Mapping) else value


def memo(max_entries: int) -> Callable[[Callable], Callable]:
    """Remember the results of a function of (data set or parts, plain values, ...).

    Those of a visitor's table are for whoever has it, an eighth as many: see `forget`.
    An argument whose name begins with _ follows from the others.
    """
    most_owned = max(4, max_entries // 8)

    def decorate(function: Callable) -> Callable:
        names = inspect.signature(function).parameters
        n_in_key = sum(not name.startswith("_") for name in names)
        shared = Store(max_entries)
        private = Store(MOST_PRIVATE * most_owned, most_owned, KEEP_SECONDS)
        _private.append(private)

        @functools.wraps(function)
        def call(*values: Any) -> Any:
            key = tuple(map(_in_key, values[:n_in_key]))
            make = functools.partial(function, *values)
            dataset = values[0]
            if isinstance(dataset, Parts):
                dataset = dataset.dataset
            if not isinstance(dataset, Dataset) or not dataset.private:
                return shared.get_or_make(key, make)
            owner = _owners.setdefault(dataset, object())
            result = private.get_or_make(key, make, owner)
            if isinstance(result, Dataset):
                _owners.setdefault(result, owner)
            return result

        return call

    return decorate


def forget(dataset: Dataset) -> None:
    """Forget all that was made from a visitor's table, and end what is under way."""
    owner = _owners.get(dataset)
    for store in _private if owner else ():
        for result in store.forget(owner):
            if hasattr(result, "end"):
                result.end()


#: Tables with more numbers to go through are fitted in a job from the start.
QUICK_VALUES = 1_000_000


@memo(64)
def bundled(key: str, values: Pairs) -> Dataset:
    """A bundled or generated data set."""
    return load_dataset(key, **dict(values))


@memo(32)
def table_file(state: tuple[str, int, int], _read: Callable) -> Dataset | str:
    """An operator's file as it was changed last, or what is wrong with it."""
    return _read()


_two_classes = memo(32)(Dataset.two_classes)
_within = memo(32)(datasets.event_within)
forbidding = memo(32)(datasets.forbid)
split_of = memo(64)(split)
suggested_codes = memo(32)(datasets.suggest_codes)


def with_question(
    table: Dataset, question: datasets.FollowUp | None, two_classes: bool
) -> Dataset:
    """A table whose target is that of a question.

    Its number may be cut at the mean, or an event asked for within a time.
    """
    if question is not None:
        return _within(
            table, question.time, question.event, question.horizon, question.value
        )
    if two_classes and table.task == "regression":
        return _two_classes(table)
    return table


@memo(32)
def parts(dataset: Dataset, division: datasets.Split) -> Parts:
    """Split and prepare a data set."""
    datasets.check_fit(dataset, division)
    preparation = prepare(dataset, division.train)
    X = preparation.transform(dataset.frame)
    every = np.arange(dataset.n_samples)
    weights = datasets.row_weights(dataset, division.with_censored, every)
    return Parts(dataset, division, preparation, X, dataset.y, weights)


@memo(32)
def _problem(data: Parts, method: str, values: Mapping[str, Any]) -> Any:
    estimator = METHODS[method].estimator_for(data.dataset, values)
    with errors.cautions() as caught:
        problem = estimator.problem(
            *data.named("train"), data.weights("train"), **data.metadata("train")
        )
    return problem, caught


def _problem_of(data: Parts, method: str, values: Mapping[str, Any]) -> Any:
    """Keyed by what it depends on only: dragging other controls finds it ready."""
    needed = METHODS[method].estimators[data.dataset.task].problem_params
    few = {name: values[name] for name in needed if name in values}
    return _problem(data, method, few)


def problem(data: Parts, method: str, values: Mapping[str, Any]) -> Any:
    """Scaled training rows with their start assignment."""
    return _problem_of(data, method, values)[0]


def cautions(data: Parts, method: str, values: Mapping[str, Any]) -> list[str]:
    """What the method warned of: counts clipped to the data, say."""
    return [] if is_slow(data, method, values) else _problem_of(data, method, values)[1]


@memo(256)
def _bounds(
    data: Parts, method: str, values: Mapping[str, Any], _start: Any
) -> dict[str, tuple[float, float]]:
    return METHODS[method].bounds(_start, values)


def bounds(
    data: Parts, method: str, values: Mapping[str, Any]
) -> dict[str, tuple[float, float]]:
    """Slider ends for these data at these values."""
    off_path = METHODS[method].off_path(values, data.dataset.task)
    return _bounds(data, method, off_path, problem(data, method, values))


def is_large(data: Parts, method: str, values: Mapping[str, Any]) -> bool:
    """Whether the training rows are too many for a quick fit of this method."""
    return METHODS[method].effort(*data.of("train")[0].shape, values) > QUICK_VALUES


def is_slow(data: Parts, method: str, values: Mapping[str, Any]) -> bool:
    """Whether even a start takes so long that only jobs touch the training rows."""
    return is_large(data, method, values) or method in uncompiled


@memo(2000)
def path_point(
    data: Parts, method: str, off_path: Mapping[str, Any], value: float
) -> Any:
    """One point of the scrubbed path: the canonical fit that a release there gives."""
    row, start = METHODS[method], problem(data, method, off_path)
    values = {**off_path, row.path: row.param(row.path).clean(value)}
    return row.estimator(values, start.task).solve(start)
