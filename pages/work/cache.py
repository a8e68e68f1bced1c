"""What is computed once: one thin wrapper per verb of smpcore.

Keys are digests and plain values, never arrays. What belongs to a visitor (an upload,
a drawing) is kept with that visitor's data set, everything else is shared: thirty
students who ask for the same thing have it computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import streamlit as st

from pages.work.comparisons import ContenderJob, Entry
from pages.work.memo import memo
from pages.work.parts import Parts
from pages.work.paths import Path
from pages.work.sweep_jobs import SweepJob
from pages.work.warmup import StartUp, uncompiled
from smpcore import METHODS, Dataset, errors, figures, load_dataset, prepare, split
from smpcore.datasets import Split, check_fit, forbid

#: Tables with more numbers to go through are fitted in a job from the start.
QUICK_VALUES = 1_000_000

Pairs = tuple[tuple[str, Any], ...]


def pairs(values: Mapping[str, Any]) -> Pairs:
    """Values as a cache key."""
    return tuple(sorted(values.items()))


@st.cache_resource(max_entries=64, show_spinner=False)
def bundled(key: str, values: Pairs) -> Dataset:
    """A bundled or generated data set."""
    return load_dataset(key, **dict(values))


@st.cache_resource(max_entries=32, show_spinner=False)
def table_file(state: tuple[str, int, int], _read: Callable) -> Dataset | str:
    """An operator's file as it was changed last, or what is wrong with it."""
    return _read()


@memo(32)
def two_classes(digest: str, _dataset: Dataset) -> Dataset:
    """A data set whose number to predict is cut at its mean; called with it alone."""
    return _dataset.two_classes()


@memo(32)
def forbidding(digest: str, names: tuple[str, ...], _dataset: Dataset) -> Dataset:
    """A data set without features; called with it and their names."""
    return forbid(_dataset, names)


@memo(32)
def _parts(digest: str, split_key: str, _split: Split, _dataset: Dataset) -> Parts:
    check_fit(_dataset, _split)
    preparation = prepare(_dataset, _split.train)
    X = preparation.transform(_dataset.frame)
    return Parts(_dataset, _split, preparation, X, _dataset.y)


def parts(dataset: Dataset, division: Split) -> Parts:
    """Split and prepare a data set."""
    return _parts(dataset, division.key, division)


@memo(64)
def _split_of(
    digest: str, validation: float, test: float, seed: int, _dataset: Dataset
) -> Split:
    return split(_dataset, validation, test, seed)


def split_of(dataset: Dataset, validation: float, test: float, seed: int) -> Split:
    """Training, validation and test rows."""
    return _split_of(dataset, validation, test, seed)


@memo(32)
def _problem(
    digest: str,
    split_key: str,
    method: str,
    values: Pairs,
    _parts_: Parts,
    _dataset: Dataset,
) -> Any:
    estimator = METHODS[method].estimator(dict(values), _dataset.task)
    with errors.cautions() as heard:
        found = estimator.problem(*_parts_.named("train"))
    return found, heard


def problem(data: Parts, method: str, values: Mapping[str, Any]) -> Any:
    """Scaled training rows with their start assignment.

    It is keyed by the parameters it depends on only, so that dragging any other
    control finds it ready.
    """
    return _found(data, method, values)[0]


def cautions(data: Parts, method: str, values: Mapping[str, Any]) -> list[str]:
    """What the method warned of: counts clipped to the data, say."""
    return [] if is_slow(data, method) else _found(data, method, values)[1]


def _found(
    data: Parts, method: str, values: Mapping[str, Any]
) -> tuple[Any, list[str]]:
    needed = METHODS[method].estimators[data.dataset.task].problem_params
    key = pairs({name: values[name] for name in needed if name in values})
    return _problem(data.dataset, data.split.key, method, key, data)


@memo(256)
def _bounds(
    digest: str,
    split_key: str,
    method: str,
    values: Pairs,
    _problem_: Any,
    _dataset: Dataset,
) -> dict[str, tuple[float, float]]:
    return METHODS[method].bounds(_problem_, dict(values))


def bounds(
    data: Parts, method: str, values: Mapping[str, Any]
) -> dict[str, tuple[float, float]]:
    """Slider ends for these data at these values."""
    row = METHODS[method]
    fixed = row.off_path(values, data.dataset.task)
    found = problem(data, method, values)
    return _bounds(data.dataset, data.split.key, method, pairs(fixed), found)


def is_large(data: Parts, method: str) -> bool:
    """Whether the training rows are too many for a quick fit of this method."""
    return METHODS[method].effort(*data.of("train")[0].shape) > QUICK_VALUES


def is_slow(data: Parts, method: str) -> bool:
    """Whether even a start takes so long that only jobs touch the training rows."""
    return is_large(data, method) or method in uncompiled


@memo(128)
def _view(
    digest: str, split_key: str, chosen: Pairs, _data: Parts, _dataset: Dataset
) -> figures.View:
    choice = dict(chosen)
    X = _data.of("train")[0]
    if choice["kind"] == "pca":
        return figures.pca_view(X)
    names, rest = _data.preparation.feature_names, _standing(X, choice["at"])
    if choice["kind"] == "curve":
        y, target = _data.of("train")[1], _dataset.target
        return figures.curve_view(X, y, names, choice["first"], target, rest)
    return figures.axis_view(X, names, choice["first"], choice["second"], rest)


def _standing(X: np.ndarray, at: Pairs) -> np.ndarray:
    rest = np.median(X, axis=0)
    for index, value in at:
        rest[index] = value
    return rest


def view(data: Parts, chosen: Mapping[str, Any]) -> figures.View:
    """The window that is painted."""
    return _view(data.dataset, data.split.key, pairs(chosen), data)


@memo(48)
def _path(
    digest: str,
    split_key: str,
    method: str,
    values: Pairs,
    knots: tuple[float, ...],
    _data: Parts,
    _dataset: Dataset,
) -> Path:
    fixed = dict(values)
    return Path(method, problem(_data, method, fixed), fixed, knots)


def path(
    data: Parts, method: str, values: Mapping[str, Any], knots: tuple[float, ...]
) -> Path:
    """The scrubbed path at the other controls' values."""
    row = METHODS[method]
    others = row.off_path(values, data.dataset.task)
    return _path(data.dataset, data.split.key, method, pairs(others), knots, data)


@memo(128)
def _contender(
    digest: str,
    split_key: str,
    entry: Entry,
    search: bool,
    _data: Parts,
    _dataset: Dataset,
) -> ContenderJob:
    return ContenderJob(_dataset, _data.split.train, entry, search)


def contender(data: Parts, entry: Entry, search: bool) -> ContenderJob:
    """A method or baseline on the training rows, on its way or fitted."""
    job = _contender(data.dataset, data.split.key, entry, search, data)
    job.join()
    return job


@memo(64)
def _swept(digest: str, key: str, asked: tuple, _data: Parts, _: Dataset) -> SweepJob:
    return SweepJob(_data.dataset, _data.split.train, *asked)


def swept(data: Parts, *asked: Any) -> SweepJob:
    """A sweep over folds of the training rows, on its way or finished."""
    return _swept(data.dataset, data.split.key, asked, data)


@st.cache_resource(show_spinner="Preparing the solvers (once after installation) …")
def start_up() -> StartUp:
    """Once per process."""
    return StartUp()
