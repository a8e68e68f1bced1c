"""Results computed once: for everybody, or for the visitor whose data set it is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pages.work.parts import Parts
from pages.work.store import KEEP_SECONDS, Store
from smpcore import Dataset
from smpcore.datasets import Split

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


def _in_key(value: Any) -> Any:
    """A digest in place of an array, and pairs in place of a mapping."""
    if isinstance(value, Parts):
        return value.dataset.digest, value.split.key
    if isinstance(value, Dataset):
        return value.digest
    if isinstance(value, Split):
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
