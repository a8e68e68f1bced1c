"""Tables that the operator of this server has put into the folder SPE_DATA.

They stand in the data list for every visitor and are only ever read. Which file is
meant is found by comparing names with the folder's listing: no text from a visitor
becomes a path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pages.work import cache, file_process
from pages.work.cache import memo
from pages.work.store import Store
from pages.work.tasks import FILES, Task
from smpcore import Dataset, SmpcoreError, read_table
from smpcore.datasets import TABLE_ENDINGS, file_statistics

#: What the key of such a table begins with, in links as well.
PREFIX = "file:"
#: Other kinds of files have the last of these endings as well.
ENDINGS = {*TABLE_ENDINGS} - {".txt", ".data", ".dat", ".test", ".db"}
#: More would not fit into a list to choose from.
MOST_FILES = 200
#: Python 3.11 and 3.12 raise RuntimeError where a link leads to itself; a name that is
#: no Unicode raises UnicodeError, as it would where a page lists it.
_UNREADABLE = (OSError, RuntimeError, UnicodeError)


def files(name: str = "") -> dict[str, Path]:
    """The folder's tables by key, sorted by name, or the one of this name."""
    paths = files_in(os.environ.get("SPE_DATA", ""), name)
    return {PREFIX + p.name: p for p in paths if p.suffix.lower() in ENDINGS}


def files_in(folder: str, name: str = "") -> list[Path]:
    """Files of an operator's folder, sorted by name; none if it is not there.

    With a name only the file that has it: each run of a page looks for one.

    Left out are hidden files, links that lead out of the folder and names that are no
    Unicode.
    """
    try:
        home = Path(folder).resolve(strict=True)
        paths = sorted(home.iterdir()) if folder else []
    except _UNREADABLE:
        return []
    paths = [path for path in paths if name in ("", path.name)]
    return [p for p in paths if not p.name.startswith(".") and _is_inside(p, home)]


def _is_inside(path: Path, home: Path) -> bool:
    """Whether a file can be opened and lies in this folder, whatever leads to it."""
    try:
        path.name.encode()
        return path.resolve(strict=True).is_relative_to(home) and path.is_file()
    except _UNREADABLE:  # a link to nothing, or to itself
        return False


def listed() -> list[str]:
    """Keys of the tables that can be chosen."""
    return [*files()][:MOST_FILES]


def title(key: str) -> str:
    """Name of a table for people."""
    return key.removeprefix(PREFIX)


class FileStatisticsJob(Task):
    """Count over all rows of a file, as it was changed last, what its columns hold."""

    def __init__(self, dataset: Dataset, path: Path, changed: int) -> None:
        self.path, self.changed = path, changed
        target = dataset.target if dataset.task == "classification" else None
        super().__init__(partial(file_statistics, path, target), line=FILES)


_statistics = memo(8)(FileStatisticsJob)


def statistics(key: str, dataset: Dataset) -> FileStatisticsJob | None:
    """Work that counts over all rows of a file; None of what is no sample of one."""
    path = files().get(key)
    is_sample = dataset.reading is not None and dataset.reading.sampled_from
    if path is None or not is_sample:
        return None
    return _statistics(dataset, path, path.stat().st_mtime_ns)


#: Fits of all rows, the last few by what they depend on: who reloads the page, or asks
#: for the same, has them.
_fits = Store(4)


def fit_begun(key: Hashable) -> Task | None:
    """The fit of all rows of this key, if somebody has begun it."""
    return _fits.get(key)


def begin_fit(key: Hashable, work: Callable[..., Any]) -> Task:
    """Fit all rows of a file, unless somebody does so already."""
    return _fits.get_or_make(key, lambda: Task(work, line=FILES))


def load(key: str) -> Dataset:
    """Read a table, anew if its file has changed."""
    path = files(title(key)).get(key)
    try:
        if path is None:
            raise FileNotFoundError
        state = path.stat()
    except OSError:
        raise SmpcoreError(
            f"The file {title(key)[:80]!r} is not in this server's folder of tables; "
            "choose other data."
        ) from None
    changed = path.name, state.st_mtime_ns, state.st_size
    tables = cache.table_file(changed, lambda: _read(path))
    if isinstance(tables, str):
        raise SmpcoreError(
            f"The file {title(key)!r} of this server cannot be read: {tables}"
        )
    return tables


def _read(path: Path) -> Dataset | str:
    try:
        dataset = file_process.read(read_table, path, path.name, sample=True)
    except OSError:
        return "it cannot be opened; contact the operator."
    except file_process.NotReadError:  # which is not remembered
        raise
    except SmpcoreError as error:
        return str(error)
    return replace(dataset, private=False, source=f"{dataset.source} of this server")
