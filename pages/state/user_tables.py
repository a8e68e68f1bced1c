"""The visitor's own tables, uploads and drawings: each keeps its place in the lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from pages.state import table_store
from pages.state.choice import MINE, Choice

#: Drawings that stay in the lists; the oldest goes first, an upload never.
MOST_DRAWINGS = 8


def is_drawing(token: str) -> bool:
    """Whether points of this table were drawn; False too if it is gone."""
    table = table_store.find(token)
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
    table = table_store.find(token)
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
    tokens = [token] * bool(token) + [t for t in choice.user_tables if t != token]
    first, *others = tokens or [""]
    return {"token": first, "others": tuple(others)}
