"""What is computed once: one thin wrapper per verb of smpcore.

Keys are digests and plain values, never arrays. What belongs to a visitor (an upload,
a drawing) is kept with that visitor's data set, everything else is shared: thirty
students who ask for the same thing have it computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pages.work.comparisons import CandidateJob
from pages.work.map_jobs import MapJob
from pages.work.memo import Pairs, memo
from pages.work.parts import Parts
from pages.work.sweep_jobs import SweepJob
from pages.work.warmup import uncompiled
from smpcore import METHODS, Dataset, errors, figures, load_dataset, prepare, split
from smpcore.datasets import (
    FollowUp,
    Split,
    censoring_weights,
    check_fit,
    event_within,
    forbid,
    text_features,
)
from smpcore.similarity import Similarity

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
_within = memo(32)(event_within)
forbidding = memo(32)(forbid)
split_of = memo(64)(split)
candidate = memo(128)(CandidateJob)
swept = memo(64)(SweepJob)
_map = memo(16)(MapJob)


def with_question(
    table: Dataset, question: FollowUp | None, two_classes: bool
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
def parts(dataset: Dataset, division: Split) -> Parts:
    """Split and prepare a data set."""
    check_fit(dataset, division)
    preparation = prepare(dataset, division.train)
    X = preparation.transform(dataset.frame)
    every = np.arange(dataset.n_samples)
    weights = censoring_weights(dataset, division.with_censored, every)
    return Parts(dataset, division, preparation, X, dataset.y, weights)


@memo(32)
def _problem(data: Parts, method: str, values: Mapping[str, Any]) -> Any:
    estimator = METHODS[method].estimator_for(data.dataset, values)
    with errors.cautions() as caught:
        problem = estimator.problem(*data.named("train"), data.weights("train"))
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


def map_of(data: Parts) -> MapJob | None:
    """The map of a table, begun when it is first asked for; None: there is none."""
    n_rows, n_features = data.of("train")[0].shape
    # Of texts the plane shows more: a place between two texts stands for no third.
    flat = n_features < 3 or text_features(data.dataset)
    flat = flat or (data.dataset.matrices and n_rows > figures.MOST_LAID_OUT)
    return None if flat or figures.map_problem(n_rows, n_features) else _map(data)


def view(data: Parts, chosen: Mapping[str, Any]) -> figures.View:
    """The window that is painted; the main plane until a map is there."""
    if chosen["kind"] != "map":
        return _flat_view(data, chosen)
    job = map_of(data)
    return (job and job.view) or _flat_view(data, {**chosen, "kind": "pca"})


@memo(128)
def _flat_view(data: Parts, chosen: Mapping[str, Any]) -> figures.View:
    X, y = data.of("train")
    if data.dataset.matrices:
        return figures.similarity_view(X)
    if text_features(data.dataset):
        return figures.nearest_view(X, Similarity("strings", gamma=0.3).values)
    if chosen["kind"] == "pca":
        return figures.pca_view(X)
    rest = np.median(X, axis=0)
    for index, value in chosen["at"]:
        rest[index] = value
    names, first = data.preparation.feature_names, chosen["first"]
    if chosen["kind"] == "curve":
        return figures.curve_view(X, y, names, first, data.dataset.target, rest)
    return figures.axis_view(X, names, first, chosen["second"], rest)


@memo(2000)
def path_point(
    data: Parts, method: str, off_path: Mapping[str, Any], value: float
) -> Any:
    """One point of the scrubbed path: the canonical fit that a release there gives."""
    row, start = METHODS[method], problem(data, method, off_path)
    values = {**off_path, row.path: row.param(row.path).clean(value)}
    return row.estimator(values, start.task).solve(start)
