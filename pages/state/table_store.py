"""What a visitor uploads or draws: in memory only, for that visitor only.

A table is kept under an unguessable token that stands in the visitor's own URL, and
is given out only to the browser that brought it. It is forgotten half an hour after
the last visit, or earlier when the budget is needed (of this visitor, or of all: then
the table of whoever keeps most), or at once on Delete.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass

from pages.work import memo, visitors
from pages.work.memory import give_back
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import Split

KEEP_SECONDS = 30 * 60
#: Old tables are looked for this often, whether or not anybody comes.
LOOK_SECONDS = 30.0
BUDGET_BYTES = 1_000_000_000
#: Of one browser's tables.
VISITOR_BYTES = 400_000_000


@dataclass
class _Entry:
    dataset: Dataset
    split: Split | None
    browser: str
    visited: float
    size: int


_entries: dict[str, _Entry] = {}
_lock = threading.Lock()
_watching = False


def keep(dataset: Dataset, split: Split | None = None, token: str = "") -> str:
    """Keep a visitor's table."""
    size = dataset.n_bytes
    if size > VISITOR_BYTES:
        raise SmpcoreError(
            f"The table needs {size / 1e6:.0f} MB of memory, and the server keeps "
            f"{VISITOR_BYTES / 1e6:.0f} MB for each visitor; use fewer rows or columns."
        )
    with _lock:
        _forget_old()
        old = _entries.get(token)
        if old is None or old.browser != visitors.browser():
            token = secrets.token_urlsafe(16)
        elif old.dataset is not dataset:
            _drop(token)
        _entries[token] = _Entry(
            dataset, split, visitors.browser(), time.monotonic(), size
        )
        _make_room(visitors.browser())
        _watch()
    return token


def _drop(token: str) -> _Entry:
    """Forget a table, with all that was made from it."""
    entry = _entries.pop(token)
    memo.forget(entry.dataset)
    return entry


def _watch() -> None:
    """Forget old tables from now on also while nobody comes."""
    global _watching
    if not _watching:
        _watching = True
        threading.Thread(target=_look, name="tables", daemon=True).start()


def _look() -> None:
    global _watching
    n_before = 0
    while True:
        time.sleep(LOOK_SECONDS)
        with _lock:
            _forget_old()
            fewer, n_before = len(_entries) < n_before, len(_entries)
            _watching = bool(_entries)
            if not _entries:
                break
        if fewer:
            give_back()
    give_back()


def _make_room(visitor: str) -> None:
    """Forget tables until this visitor, and then all together, keep to the budget."""
    sizes: Counter[str] = Counter()
    for entry in _entries.values():
        sizes[entry.browser] += entry.size
    while sizes[visitor] > VISITOR_BYTES or sizes.total() > BUDGET_BYTES:
        if sizes[visitor] <= VISITOR_BYTES:
            visitor = max(sizes, key=sizes.__getitem__)
        tokens = [key for key, entry in _entries.items() if entry.browser == visitor]
        oldest = _drop(min(tokens, key=lambda key: _entries[key].visited))
        sizes[visitor] -= oldest.size


def visit(token: str) -> tuple[Dataset, Split | None]:
    """Give this visitor's table back."""
    with _lock:
        _forget_old()
        entry = _of_this_browser(token)
        if entry is None:
            raise SmpcoreError(
                "The table of this link is not on the server: uploads and drawings "
                "are shown only in the browser that brought them, and are forgotten "
                "30 minutes after the last visit. Upload the file again on Data."
            )
        entry.visited = time.monotonic()
        return entry.dataset, entry.split


def seconds_left(token: str) -> float:
    """How long this visitor's table stays without a visit; this is none."""
    with _lock:
        entry = _of_this_browser(token)
        if entry is None:
            return 0.0
        return max(0.0, entry.visited + KEEP_SECONDS - time.monotonic())


def delete(token: str) -> None:
    """Forget a table now, if it is this visitor's."""
    with _lock:
        if _of_this_browser(token):
            _drop(token)


def _of_this_browser(token: str) -> _Entry | None:
    entry = _entries.get(token)
    return entry if entry and entry.browser == visitors.browser() else None


def _forget_old() -> None:
    limit = time.monotonic() - KEEP_SECONDS
    for token in [key for key, entry in _entries.items() if entry.visited < limit]:
        _drop(token)
