"""What the controls of pages say: kept across pages, and in links.

Streamlit forgets a control that is not on the page. What differs from the start is
remembered here, and stands in the address bar behind ``p.``; what a link says is
taken only where the control itself could say it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import streamlit as st

#: Before a control's key in a link.
PREFIX = "p."
#: Controls, and characters of what one says, that a link may have.
MOST, LONGEST = 40, 400


def open_link(query: Mapping[str, str]) -> None:
    """Remember what a link says of the pages' controls."""
    told = {
        name.removeprefix(PREFIX): text[:LONGEST]
        for name, text in query.items()
        if name.startswith(PREFIX) and len(name) <= LONGEST
    }
    st.session_state["kept"] = dict(list(told.items())[:MOST])


def query() -> dict[str, str]:
    """What the pages' controls say, for a link; what they say at first is left out."""
    kept = st.session_state.get("kept", {})
    return {PREFIX + key: text for key, text in kept.items()}


def pick(key: str, options: Collection[Any], start: Any) -> dict[str, Any]:
    """Let a selectbox say what it said last.

    Parameters
    ----------
    key : str
        Of the control.
    options : collection
    start : object

    Returns
    -------
    dict
        Its key and where it begins.
    """
    said = _remember(key, start, _one_of(options), str)
    place = list(options).index(said) if said in options else 0
    return {"key": key, "index": place}


def press(key: str, options: Collection[Any], start: Any) -> dict[str, Any]:
    """Let a row of buttons say what it said last; as `pick`."""
    said = _remember(key, start, _one_of(options), str)
    return {"key": key, "default": said if said in options else start}


def enter(key: str, options: Collection[Any], start: Any) -> dict[str, Any]:
    """Let a toggle or a number say what it said last; as `pick`."""
    said = _remember(key, start, _one_of(options), str)
    return {"key": key, "value": said if said in options else start}


def words(key: str, longest: int, start: str) -> dict[str, Any]:
    """Let a text of at most so many characters say what it said last; as `pick`."""
    return {"key": key, "value": _remember(key, start, lambda t: t[:longest], str)}


def several(key: str, options: Collection[str], start: list[str]) -> dict[str, Any]:
    """Let a list of words say what it said last; as `pick`."""

    def read(text: str) -> list[str] | None:
        found = [word for word in text.split(",") if word]
        known = all(word in options for word in found)
        return list(dict.fromkeys(found)) if known else None

    said = _remember(key, start, read, ",".join)
    return {"key": key, "default": [word for word in said if word in options]}


def say(key: str, value: Any) -> None:
    """Have a control say this, wherever it is."""
    st.session_state[key] = st.session_state.setdefault("begun", {})[key] = value


def _one_of(options: Collection[Any]) -> Callable[[str], Any]:
    return {str(option): option for option in options}.get


def _remember(key: str, start: Any, read: Any, write: Any) -> Any:
    """Remember what a control says; where it begins.

    It is given its beginning, and not set by the session: a browser that is given two
    pictures of a page at once may draw the second only, in which nothing is set.
    """
    session = st.session_state
    kept, starts, begun = (
        session.setdefault(name, {}) for name in ("kept", "starts", "begun")
    )
    if key not in session:
        said = read(kept[key]) if key in kept else None
        begun[key] = start if said is None else said
        starts[key] = start
    starts.setdefault(key, start)  # a button may have set the control before
    said = session.get(key, begun[key])
    kept.pop(key, None)
    # A start that has moved since, with the model say, is not what the visitor said.
    if said is not None and said != starts[key]:
        kept[key] = write(said)
    return begun[key]
