"""What is computed of a table once: split, preparation, problems, points of paths."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from smpcore import datasets, errors
from smpcore.datasets import Dataset
from smpcore.live.parts import Parts, count_in_key, in_key
from smpcore.methods import METHODS

#: What remembers the last results of a function, so many of them.
Memo = Callable[[int], Callable[[Callable], Callable]]


def remember(max_entries: int) -> Callable[[Callable], Callable]:
    """Remember the last results of a function of (data set or parts, plain values).

    Its arguments are as `count_in_key` says.
    """

    def decorate(function: Callable) -> Callable:
        n_in_key = count_in_key(function)
        results: OrderedDict[tuple, Any] = OrderedDict()

        @functools.wraps(function)
        def call(*values: Any) -> Any:
            key = tuple(map(in_key, values[:n_in_key]))
            if key not in results:
                results[key] = function(*values)
                if len(results) > max_entries:
                    results.popitem(last=False)
            results.move_to_end(key)
            return results[key]

        return call

    return decorate


class Computed:
    """Functions of a table that remember what they made.

    Parameters
    ----------
    memo : callable
        What remembers: `remember`, or a store that others share.
    uncompiled : collection of str
        Methods without machine code yet: even their starts are slow.
    """

    def __init__(self, memo: Memo = remember, uncompiled: Collection[str] = ()) -> None:
        self.uncompiled = uncompiled
        #: Tables with more numbers to go through are fitted in a job from the start.
        self.quick_values = 1_000_000
        #: Fits that are not done by then go on as a job, with progress and Stop.
        self.quick_seconds = 0.3
        self.split_of = memo(64)(datasets.split)
        self.forbidding = memo(32)(datasets.forbid)
        self.parts = memo(32)(_parts)
        self.path_point = memo(2000)(self._path_point)
        self._two_classes = memo(32)(Dataset.two_classes)
        self._within = memo(32)(datasets.event_within)
        self._problem = memo(32)(_problem)
        self._bounds = memo(256)(_bounds)

    def with_question(
        self, table: Dataset, question: datasets.FollowUp | None, two_classes: bool
    ) -> Dataset:
        """A table whose target is that of a question.

        Its number may be cut at the mean, or an event asked for within a time.
        """
        if question is not None:
            return self._within(
                table, question.time, question.event, question.horizon, question.value
            )
        if two_classes and table.task == "regression":
            return self._two_classes(table)
        return table

    def _problem_of(self, data: Parts, method: str, values: Mapping[str, Any]) -> Any:
        """Keyed by what it depends on only: dragging other controls finds it ready."""
        needed = METHODS[method].estimators[data.dataset.task].problem_params
        few = {name: values[name] for name in needed if name in values}
        return self._problem(data, method, few)

    def problem(self, data: Parts, method: str, values: Mapping[str, Any]) -> Any:
        """Scaled training rows with their start assignment."""
        return self._problem_of(data, method, values)[0]

    def cautions(
        self, data: Parts, method: str, values: Mapping[str, Any]
    ) -> list[str]:
        """What the method warned of: counts clipped to the data, say."""
        if self.is_slow(data, method, values):
            return []
        return self._problem_of(data, method, values)[1]

    def bounds(
        self, data: Parts, method: str, values: Mapping[str, Any]
    ) -> dict[str, tuple[float, float]]:
        """Slider ends for these data at these values."""
        off_path = METHODS[method].off_path(values, data.dataset.task)
        problem = self.problem(data, method, values)
        return self._bounds(data, method, off_path, problem)

    def is_large(self, data: Parts, method: str, values: Mapping[str, Any]) -> bool:
        """Whether the training rows are too many for a quick fit of this method."""
        shape = data.of("train")[0].shape
        return METHODS[method].effort(*shape, values) > self.quick_values

    def is_slow(self, data: Parts, method: str, values: Mapping[str, Any]) -> bool:
        """Whether even a start takes so long that only jobs touch the training rows."""
        return self.is_large(data, method, values) or method in self.uncompiled

    def _path_point(
        self, data: Parts, method: str, off_path: Mapping[str, Any], value: float
    ) -> Any:
        """One point of the scrubbed path: the canonical fit a release there gives."""
        row, start = METHODS[method], self.problem(data, method, off_path)
        values = {**off_path, row.path: row.param(row.path).clean(value)}
        return row.estimator(values, start.task).solve(start)


def _parts(dataset: Dataset, division: datasets.Split) -> Parts:
    """Split and prepare a data set."""
    datasets.check_fit(dataset, division)
    preparation = datasets.prepare(dataset, division.train)
    X = preparation.transform(dataset.frame)
    every = np.arange(dataset.n_samples)
    weights = datasets.row_weights(dataset, division.with_censored, every)
    return Parts(dataset, division, preparation, X, dataset.y, weights)


def _problem(data: Parts, method: str, values: Mapping[str, Any]) -> Any:
    estimator = METHODS[method].estimator_for(data.dataset, values)
    with errors.cautions() as caught:
        problem = estimator.problem(
            *data.named("train"), data.weights("train"), **data.metadata("train")
        )
    return problem, caught


def _bounds(
    data: Parts, method: str, values: Mapping[str, Any], _start: Any
) -> dict[str, tuple[float, float]]:
    return METHODS[method].bounds(_start, values)
