"""Results computed once: for everybody, or for the visitor whose data set it is."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

import cachetools

from pages.work.parts import Parts
from smpcore import Dataset
from smpcore.datasets import Split

#: Data sets of visitors whose results are kept, at most. Each is forgotten when its
#: table is; the bound is for those that never became a table.
MOST_PRIVATE = 200

Pairs = tuple[tuple[str, Any], ...]

#: Which data set -> function -> the function with its results. Another visitor who
#: brings the same rows has another data set.
_private: cachetools.LRUCache = cachetools.LRUCache(MOST_PRIVATE)
_lock = threading.Lock()


def pairs(values: Mapping[str, Any]) -> Pairs:
    """Values as a cache key."""
    return tuple(sorted(values.items()))


def _in_key(value: Any) -> Any:
    """A digest in place of an array, and pairs in place of a mapping."""
    if isinstance(value, Parts):
        return value.dataset.digest, value.split.key
    if isinstance(value, Dataset):
        return value.digest
    if isinstance(value, Split):
        return value.key
    return pairs(value) if isinstance(value, Mapping) else value


def _with_results(function: Callable, max_entries: int) -> Callable:
    """Compute a result once, also for callers at the same time; the oldest go."""
    # An argument whose name begins with _ follows from the others.
    names = inspect.signature(function).parameters
    is_in_key = [not name.startswith("_") for name in names]

    def key(*values: Any) -> tuple:
        named = zip(values, is_in_key, strict=True)
        return tuple(_in_key(value) for value, is_in in named if is_in)

    results = cachetools.LRUCache(max_entries)
    return cachetools.cached(results, key, condition=threading.Condition())(function)


def memo_of_values(max_entries: int) -> Callable[[Callable], Callable]:
    """Remember the results of a function of plain values, for everybody."""
    return functools.partial(_with_results, max_entries=max_entries)


def memo(max_entries: int) -> Callable[[Callable], Callable]:
    """Remember the results of a function of (data set or parts, plain values, ...).

    Of a visitor's data set an eighth as many results are kept, with it: see `forget`.
    """

    def decorate(function: Callable) -> Callable:
        shared = _with_results(function, max_entries)

        @functools.wraps(function)
        def call(data: Dataset | Parts, *values: Any) -> Any:
            dataset = data.dataset if isinstance(data, Parts) else data
            if not dataset.private:
                return shared(data, *values)
            with _lock:
                private = _private.setdefault(id(dataset), {})
                if function not in private:
                    private[function] = _with_results(
                        function, max(4, max_entries // 8)
                    )
            return private[function](data, *values)

        return call

    return decorate


def forget(dataset: Dataset) -> None:
    """Forget all that was made from a visitor's data set, and end what is under way."""
    with _lock:
        private = _private.pop(id(dataset), {})
    for function in private.values():
        for result in function.cache.values():
            if isinstance(result, Dataset):
                forget(result)
            elif hasattr(result, "end"):
                result.end()
