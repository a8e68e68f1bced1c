"""Results computed once: for everybody, or for the visitor whose data set it is."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

import cachetools

from smpcore import Dataset

#: Data sets of visitors whose results are kept, at most. Each is forgotten when its
#: table is; the bound is for those that never became a table.
MOST_PRIVATE = 200

#: Which data set -> function -> the function with its results. Another visitor who
#: brings the same rows has another data set.
_private: cachetools.LRUCache = cachetools.LRUCache(MOST_PRIVATE)
_lock = threading.Lock()


def _remembering(function: Callable, max_entries: int) -> Callable:
    """Compute a result once, also for callers at the same time; the oldest go."""
    # An argument whose name begins with _ follows from the others.
    names = inspect.signature(function).parameters
    in_key = [not name.startswith("_") for name in names]

    def key(*values: Any) -> tuple:
        return tuple(v for v, is_in in zip(values, in_key, strict=True) if is_in)

    results = cachetools.LRUCache(max_entries)
    return cachetools.cached(results, key, condition=threading.Condition())(function)


def memo(max_entries: int) -> Callable[[Callable], Callable]:
    """Remember the results of a function of (digest, ..., data set).

    It is called as ``function(dataset, ...)``. Of a visitor's data set an eighth as
    many results are kept, with it: see `forget`.
    """

    def decorate(function: Callable) -> Callable:
        shared = _remembering(function, max_entries)

        @functools.wraps(function)
        def call(dataset: Dataset, *key: Any) -> Any:
            remembering = shared
            if dataset.private:
                with _lock:
                    own = _private.setdefault(id(dataset), {})
                    if function not in own:
                        few = max(4, max_entries // 8)
                        own[function] = _remembering(function, few)
                    remembering = own[function]
            return remembering(dataset.digest, *key, dataset)

        return call

    return decorate


def forget(dataset: Dataset) -> None:
    """Forget all that was made from a visitor's data set, and end what is under way."""
    with _lock:
        own = _private.pop(id(dataset), {})
    for remembering in own.values():
        for result in remembering.cache.values():
            if isinstance(result, Dataset):
                forget(result)
            elif hasattr(result, "end"):
                result.end()
