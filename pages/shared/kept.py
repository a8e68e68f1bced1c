"""What the controls of pages say: kept across pages, and in links.

Streamlit forgets a control that is not on the page. What differs from the start is
remembered here, and stands in the address bar behind ``p.``; what a link says is
taken only where the control itself could say it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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


def one(key: str, options: Collection[Any], start: Any) -> str:
    """Let a control say what it said last: one of some options.

    Parameters
    ----------
    key : str
        Of the control, which gets no other start.
    options : collection
    start : object

    Returns
    -------
    str
        The key.
    """
    if st.session_state.get(key, start) not in options:
        del st.session_state[key]
    texts = {str(option): option for option in options}
    return _remember(key, start, texts.get, str)


def words(key: str, longest: int, start: str) -> str:
    """Let a control say what it said last: any text.

    Parameters
    ----------
    key : str
        Of the control, which gets no other start.
    longest : int
        Characters that it takes.
    start : str

    Returns
    -------
    str
        The key.
    """
    return _remember(key, start, lambda text: text[:longest], str)


def several(key: str, options: Collection[str], start: list[str]) -> str:
    """Let a control say what it said last: several of some words.

    Parameters
    ----------
    key : str
        Of the control, which gets no other start.
    options : collection of str
    start : list of str

    Returns
    -------
    str
        The key.
    """

    def read(text: str) -> list[str] | None:
        found = [word for word in text.split(",") if word]
        known = all(word in options for word in found)
        return list(dict.fromkeys(found)) if known else None

    return _remember(key, start, read, ",".join)


def told(key: str) -> str:
    """What a link told under a name that is no control's; empty if nothing."""
    return st.session_state.get("kept", {}).get(key, "")


def tell(key: str, text: str) -> None:
    """Have links tell this; nothing if it is empty or too long for one."""
    kept = st.session_state.setdefault("kept", {})
    kept.pop(key, None)
    if 0 < len(text) <= LONGEST:
        kept[key] = text


def _remember(key: str, start: Any, read: Any, write: Any) -> str:
    kept = st.session_state.setdefault("kept", {})
    starts = st.session_state.setdefault("starts", {})
    if key not in st.session_state:
        said = read(kept[key]) if key in kept else None
        st.session_state[key] = start if said is None else said
        starts[key] = start
    starts.setdefault(key, start)  # a button may have set the control before
    said = st.session_state[key]
    kept.pop(key, None)
    # A start that has moved since, with the model say, is not what the visitor said.
    if said is not None and said != starts[key]:
        kept[key] = write(said)
    return key
