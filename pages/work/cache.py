"""A data set as every page works with it, and what is computed of it once.

Keys are digests and plain values, never arrays. What belongs to a visitor (an upload,
a drawing) is kept with that visitor's data set, everything else is shared: thirty
students who ask for the same thing have it computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from pages.work.store import KEEP_SECONDS, Store
from pages.work.warmup import uncompiled
from smpcore import Dataset, datasets, load_dataset
from smpcore.live import Computed, Pairs, Parts, count_in_key, in_key

#: Visitors' tables whose results are kept, at most, if each has as many as it may.
MOST_PRIVATE = 200

#: Results that were made from visitors' tables, for each function.
_private: list[Store] = []
#: A visitor's table, or what was made from it -> the owner of its results. Another
#: visitor who brings the same rows is another owner.
_owners: WeakKeyDictionary[Dataset, object] = WeakKeyDictionary()


def memo(max_entries: int) -> Callable[[Callable], Callable]:
    """Remember the results of a function of (data set or parts, plain values, ...).

    Those of a visitor's table are for whoever has it, an eighth as many: see `forget`.
    Its arguments are as `count_in_key` says.
    """
    most_owned = max(4, max_entries // 8)

    def decorate(function: Callable) -> Callable:
        n_in_key = count_in_key(function)
        shared = Store(max_entries)
        private = Store(MOST_PRIVATE * most_owned, most_owned, KEEP_SECONDS)
        _private.append(private)

        @functools.wraps(function)
        def call(*values: Any) -> Any:
            key = tuple(map(in_key, values[:n_in_key]))
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


#: Split, preparation, problems and points of paths, for every page and visitor.
computed = Computed(memo, uncompiled)
suggested_codes = memo(32)(datasets.suggest_codes)


@memo(64)
def bundled(key: str, values: Pairs) -> Dataset:
    """A bundled or generated data set."""
    return load_dataset(key, **dict(values))


@memo(32)
def table_file(state: tuple[str, int, int], _read: Callable) -> Dataset | str:
    """An operator's file as it was changed last, or what is wrong with it."""
    return _read()
