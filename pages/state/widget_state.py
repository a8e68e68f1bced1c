"""What the controls of pages say: kept across pages, and in links.

Streamlit forgets a control that is not on the page. What differs from the start is
remembered here, and stands in the address bar behind ``p.``; what a link says is
taken only where the control itself could say it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import streamlit as st

from pages.state import session


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
    st.session_state[key] = session.get().begun[key] = value


def _one_of(options: Collection[Any]) -> Callable[[str], Any]:
    return {str(option): option for option in options}.get


def _remember(key: str, start: Any, read: Any, write: Any) -> Any:
    """Remember what a control says; where it begins.

    It is given its beginning, and not set by the session: a browser that is given two
    pictures of a page at once may draw the second only, in which nothing is set.
    """
    visit, now = session.get(), st.session_state
    if key not in now:
        said = read(visit.said[key]) if key in visit.said else None
        visit.begun[key] = start if said is None else said
        visit.starts[key] = start
    visit.starts.setdefault(key, start)  # a button may have set the control before
    said = now.get(key, visit.begun[key])
    visit.said.pop(key, None)
    # A start that has moved since, with the model say, is not what the visitor said.
    if said is not None and said != visit.starts[key]:
        visit.said[key] = write(said)
    return visit.begun[key]
