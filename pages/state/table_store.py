"""What a visitor uploads or draws: in memory, for that visitor only.

A table is kept under an unguessable token that stands in the visitor's own URL, and
is given out only to the browser that brought it. It is forgotten half an hour after
the last visit, or earlier when the budget is needed (of this visitor, or of all: then
the table of whoever keeps most), or at once on Delete. Each keeps its place in the
lists of data. Where the operator has a store, it comes back from there.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

from pages.work import cache, disk_store, packing, visitors
from pages.work.store import KEEP_SECONDS, Store
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import Split, join_columns
from smpcore.live import MINE, Choice

BUDGET_BYTES = 1_000_000_000
#: Of one browser's tables.
VISITOR_BYTES = 400_000_000


class Table(NamedTuple):
    """Rows, and their parts if the points were drawn."""

    dataset: Dataset
    split: Split | None


#: By token; a browser has its own.
_tables = Store(
    BUDGET_BYTES,
    VISITOR_BYTES,
    KEEP_SECONDS,
    size=lambda table: table.dataset.n_bytes,
    dropped=lambda table: cache.forget(table.dataset),
)


def keep(dataset: Dataset, split: Split | None = None, token: str = "") -> str:
    """Keep a visitor's table."""
    size, most = dataset.n_bytes, _tables.most_owned
    if size > most:
        raise SmpcoreError(
            f"The table needs {size / 1e6:.0f} MB of memory, and the server keeps "
            f"{most / 1e6:.0f} MB for each visitor; use fewer rows or columns."
        )
    owner = visitors.owner()
    before = find(token)
    if before is None:
        token = secrets.token_urlsafe(16)
    elif before.dataset is dataset and before.split is split:
        return token  # and what was made from it stays
    table = Table(dataset, split)
    _tables.put(token, table, owner)
    disk_store.put(token, partial(_packed, table))
    return token


def find(token: str) -> Table | None:
    """A table of this visitor, if it is here or in the server's store."""
    owner = visitors.owner()
    table = _tables.get(token, owner)
    if table is None and token and (data := disk_store.get(token)):
        table = _unpacked(data)
        _tables.put(token, table, owner)
    return table


class _Parts(NamedTuple):
    """A table with each of its columns once: see `join_columns`."""

    values: Dataset
    same: set[str]
    names: list[str]
    split: Split | None


def _packed(table: Table) -> bytes:
    _, parts = table.dataset.__reduce__()
    return packing.pack((*parts, table.split))


def _unpacked(data: bytes) -> Table:
    parts = packing.unpack(data, _Parts)
    values = {one.name: getattr(parts.values, one.name) for one in fields(Dataset)}
    return Table(join_columns(values, parts.same, parts.names), parts.split)


def look_again(tokens: Iterable[str]) -> None:
    """Forget what another server has changed or deleted since it was here."""
    for token in tokens:
        if disk_store.is_stale(token):
            _tables.pop(token, visitors.owner())


def stay() -> str:
    """How long a table stays after its visitor's last visit, in words."""
    return "24 hours" if disk_store.is_used() else "30 minutes"


def visit(token: str) -> Table:
    """Give this visitor's table back."""
    table = find(token)
    if table is None:
        raise SmpcoreError(
            "The table of this link is not on the server: uploads and drawings "
            "are shown only in the browser that brought them, and are forgotten "
            f"{stay()} after the last visit. Upload the file again on Data."
        )
    return table


def seconds_left(token: str) -> float:
    """How long this visitor's table stays without a visit; this is none."""
    left = _tables.seconds_left(token, visitors.owner())
    return disk_store.KEEP_SECONDS if disk_store.has(token) else left


def delete(token: str) -> None:
    """Forget a table now, if it is this visitor's."""
    _tables.pop(token, visitors.owner())
    disk_store.delete(token)


#: Drawings that stay in the lists; the oldest goes first, an upload never.
MOST_DRAWINGS = 8


def is_drawing(token: str) -> bool:
    """Whether points of this table were drawn; False too if it is gone."""
    table = find(token)
    return table is not None and table.split is not None


def show(choice: Choice, token: str) -> Choice:
    """The choice with this table of the visitor's own; the others stay at hand."""
    others = [one for one in choice.user_tables if one != token]
    drawings = [one for one in others if is_drawing(one)]
    gone = drawings[: max(0, len(drawings) - MOST_DRAWINGS + 1)]
    others = [one for one in others if one not in gone]
    return replace(choice, data=MINE, token=token, others=tuple(others))


def titles(choice: Choice) -> dict[str, str]:
    """Own tables in the lists of data: how a choice names them -> name for people.

    Looking at them keeps them: what is in a list is not forgotten.
    """
    titles_by_key, seen = {}, Counter()
    for token in sorted(choice.user_tables, key=is_drawing):
        title = _title(token)
        if not title and token != choice.token:
            continue
        title = title or "My table"
        seen[title] += 1
        key = MINE if token == choice.token else f"{MINE}:{token}"
        titles_by_key[key] = title if seen[title] == 1 else f"{title} ({seen[title]})"
    return titles_by_key


def _title(token: str) -> str:
    table = find(token)
    if table is None:
        return ""
    if table.split is None:
        return "My table"
    return "My drawing" if table.dataset.reading is None else "My table, edited"


def upload_of(choice: Choice) -> str:
    """Token of the table that a new file replaces: never that of a drawing."""
    return next((one for one in choice.user_tables if not is_drawing(one)), "")


def with_first(choice: Choice, token: str) -> dict[str, Any]:
    """The visitor's own tables as a choice holds them, this one first if it is one."""
    others = [one for one in choice.user_tables if one != token]
    first = token or (others.pop(0) if others else "")
    return {"token": first, "others": tuple(others)}
