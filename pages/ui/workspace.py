"""A visitor's workspace: saved as a file, opened again, kept over a reload."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from pages.state import links, session, state_file, table_store
from pages.state.choice import MINE, Choice
from pages.state.session import Live
from pages.state.state_file import Saved
from pages.ui.text import escape_markdown
from smpcore import SmpcoreError

#: What is kept for all browsers that were here in the last half hour.
BUDGET_BYTES = 50_000_000


@dataclass
class _File:
    content: bytes
    visited: float


_files: dict[str, _File] = {}
_lock = threading.Lock()


def current() -> Choice:
    """The visitor's choice; after a reload with what was noted before it."""
    fresh = session.is_new()
    choice = session.current()
    if fresh and (content := _kept(table_store.browser())):
        found = state_file.read(content)
        _lay_out(found)
        choice = replace(choice, opened=_most(choice.opened, found.opened))
        session.get().choice = choice
    return choice


def keep(choice: Choice) -> None:
    """Keep notes, pin and counts for this browser for half an hour."""
    found = Saved(**_noted(), opened=choice.opened)
    name = table_store.browser()
    if not name:
        return
    if not (found.notes or found.pinned or found.opened):
        with _lock:
            _files.pop(name, None)
        return
    try:
        content = state_file.write(found)
    except SmpcoreError:
        return  # more than a file may hold: what was kept before stays
    with _lock:
        _files[name] = _File(content, time.monotonic())
        while sum(len(kept.content) for kept in _files.values()) > BUDGET_BYTES:
            del _files[min(_files, key=lambda other: _files[other].visited)]


def _kept(name: str) -> bytes:
    limit = time.monotonic() - table_store.KEEP_SECONDS
    with _lock:
        for old in [key for key, kept in _files.items() if kept.visited < limit]:
            del _files[old]
        return _files[name].content if name in _files else b""


def _noted() -> dict[str, Any]:
    visit = session.get()
    return {"notes": visit.notes, "pinned": visit.pinned}


def _most(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """Counts of opened test parts: the larger of two, so that none is forgotten."""
    return {
        digest: max(one.get(digest, 0), other.get(digest, 0)) for digest in one | other
    }


def _lay_out(found: Saved) -> None:
    visit = session.get()
    visit.notes.update(found.notes)
    visit.pinned = found.pinned


def gather(choice: Choice, with_points: bool) -> Saved:
    """What a state file of this visit holds.

    Parameters
    ----------
    choice : Choice
    with_points : bool
        Whether drawn points may be in it.
    """
    link, table, points = links.write_url(choice), None, None
    if choice.data == MINE:
        del link["mine"]
        dataset, division = table_store.visit(choice.token)
        table = {"name": dataset.name[:200], "digest": dataset.digest}
        if with_points and is_drawn(choice):
            points = dataset, division
    return Saved(link, table, points, **_noted(), opened=choice.opened)


def is_drawn(choice: Choice) -> bool:
    """Whether the table is points drawn here, none of which came from a file."""
    if choice.data != MINE:
        return False
    dataset, division = table_store.visit(choice.token)
    return division is not None and dataset.reading is None


def put(found: Saved, before: Choice) -> str:
    """Make a saved state the visitor's, all of it or nothing.

    Parameters
    ----------
    found : Saved
    before : Choice
        What is chosen now.

    Returns
    -------
    str
        What the visitor has to do first; empty if all is done.

    Raises
    ------
    SmpcoreError
        If its link sets what is not here; nothing is changed then.
    """
    query, token = dict(found.link), ""
    if query.get("data") == MINE:
        if found.table is None:
            raise SmpcoreError("The state file should name its table; it does not.")
        token = _token(found, before)
        if not token:
            session.get().awaited = found
            name = found.table["name"][:60]
            return (
                f"This state is of a table of your own, {name}, whose rows are not in "
                "the file. Upload that table on Data, with the same roles: then the "
                "state is opened by itself."
            )
        query["mine"] = token
    try:
        choice = _understood(query)
    except SmpcoreError:
        if token and token not in before.own:
            table_store.delete(token)
        raise
    opened = _most(_most(before.opened, choice.opened), found.opened)
    # The visitor's own tables stay at hand.
    first, *others = dict.fromkeys([*[token] * bool(token), *before.own]) or [""]
    at_hand = {"token": first, "others": tuple(others)}
    session.choose(replace(choice, opened=opened, **at_hand))
    _lay_out(found)
    visit = session.get()
    visit.live, visit.awaited, visit.draft = Live(), None, ""
    visit.editions["controls"] += 1
    keep(visit.choice)
    return ""


def _token(found: Saved, before: Choice) -> str:
    """Of the saved table: drawn points, or the table that is here already."""
    if found.points is not None:
        return table_store.keep(*found.points)
    for token in before.own:
        try:
            here, _ = table_store.visit(token)
        except SmpcoreError:
            continue
        if here.digest == found.table["digest"]:
            return token
    return ""


def _understood(query: dict[str, str]) -> Choice:
    """The choice of a saved link, of which every word must be understood."""
    choice, notices = links.read_url(query)
    if notices:
        raise SmpcoreError(f"The state file was not understood: {notices[0]}")
    told = links.write_url(choice)
    for name, text in query.items():
        if name in told and not _same(text, told[name]):
            raise SmpcoreError(
                f"The state file sets {name[:40]} to {text[:40]}, which it cannot be: "
                f"{told[name][:40]} is nearest. Nothing was changed."
            )
    return choice


def _same(one: str, other: str) -> bool:
    try:
        return one == other or float(one) == float(other)
    except ValueError:
        return False


def await_table(choice: Choice) -> None:
    """Open the state that waits for this table; say so if the table is another."""
    found = session.get().awaited
    if found is None or choice.data != MINE:
        return
    try:
        here, _ = table_store.visit(choice.token)
    except SmpcoreError:  # the page says so itself
        return
    if here.digest == found.table["digest"]:
        try:
            put(found, choice)
            st.success("The saved state of this table is opened.")
        except SmpcoreError as problem:
            session.get().awaited = None
            st.error(escape_markdown(str(problem)))
        return
    name = escape_markdown(found.table["name"][:60])
    st.info(
        f"The state file waits for {name}: this table differs from that one in rows, "
        "roles or kinds of columns."
    )
