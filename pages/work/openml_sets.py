"""Data sets of OpenML: fetched once for everybody, a few of them kept at hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pages.work import file_process
from pages.work.fair_line import Client, client
from pages.work.store import Store
from pages.work.tasks import DOWNLOADS, Task
from smpcore import Dataset, SmpcoreError, fetch_openml
from smpcore.datasets import search_openml

#: What the key of such a data set begins with, in links as well.
PREFIX = "openml:"
#: Data sets at hand; the one that was asked for longest ago goes.
MOST_DOWNLOADS = 8
#: A link waits so long for its data before another set is shown.
PATIENCE = 4.0
#: Data sets of a search that are listed.
MOST_LISTED = 100


class Download(Task):
    """A download, begun at once: ``fetch(stop=flag, doing=set_message)``."""

    def __init__(self, fetch: Callable[..., Any]) -> None:
        super().__init__(
            lambda stop, _: fetch(stop=stop, doing=self._set_message), line=DOWNLOADS
        )

    def _set_message(self, message: str) -> None:
        self.message = message

    @property
    def content(self) -> Any:
        """What was fetched; None before, and if nothing was."""
        return self.result() if self.done and not self.problem else None


_downloads = Store(MOST_DOWNLOADS)


def number_of(key: str) -> int | None:
    """OpenML's id in a key; None if it is none."""
    text = key.removeprefix(PREFIX)
    good = key.startswith(PREFIX) and text.isascii() and text.isdecimal()
    return int(text) if good and len(text) < 10 else None


def number_behind(dataset: Dataset) -> int | None:
    """OpenML's id of a copy of one of its data sets; None of any other table."""
    match = re.match(r"OpenML (\d{1,9}), version ", dataset.source)
    from_here = match is not None and dataset.reading and not dataset.reading.filename
    return int(match[1]) if from_here else None


def begin(number: int) -> Download:
    """Fetch a data set, or find it fetched; one that failed is tried again."""
    download = begin_once(number)
    if download.problem:
        download.start()
    return download


def _fetched(number: int, owner: Client, stop: np.ndarray, **options: Any) -> Dataset:
    """Fetch a data set, and read it when the turn of who asked for it has come."""
    read = partial(file_process.read, owner=owner, stop=stop)
    return fetch_openml(number, stop=stop, read=read, **options)


def begin_once(number: int) -> Download:
    """The download of a data set, begun if it never was; a failed one stays failed."""
    fetch = partial(_fetched, number, client())
    return _downloads.get_or_make(number, partial(Download, fetch))


def load(key: str) -> Dataset:
    """The data set of a key, after a short wait if it must be fetched."""
    number = number_of(key)
    if number is None:
        raise SmpcoreError("The link names no data set of OpenML that there can be.")
    download = begin(number)
    if not download.wait(PATIENCE):
        raise SmpcoreError(
            f"OpenML's data set {number} is being fetched; choose it on Data, under "
            "Fetch from OpenML, to see how far it is."
        )
    return download.result()


def title(key: str) -> str:
    """Name of a data set for people."""
    number = number_of(key)
    download = _downloads.get(number)
    fetched = None if download is None else download.content
    return f"OpenML {number}" + (f": {fetched.name[:60]}" if fetched else "")


def search(text: str) -> Download:
    """Begin to look for a name or an id."""
    return Download(partial(_listed, text))


def _listed(text: str, **options: Any) -> list[tuple[int, str]]:
    """What a search gives, in words for a list."""
    frame = search_openml(text, **options).head(MOST_LISTED)
    number = number_of(PREFIX + text.strip())
    if frame.empty and number:  # fetching it says what it is that stands in the way
        return [(number, f"{number} · not among the data sets that fit here")]
    return [
        (int(row.id), _line(row._asdict())) for row in frame.itertuples(index=False)
    ]


def _line(row: dict[str, Any]) -> str:
    words = f"{row['id']} · {str(row['name'])[:60]}, version {row['version']}: "
    words += f"{row['rows']:,.0f} rows, {row['columns']:,.0f} columns"
    if row["classes"] and row["classes"] > 1:
        words += f", {row['classes']:.0f} classes"
    return words
