"""Values of the pages' controls: kept across pages, and in links.

Streamlit forgets a control that is not on the page. What differs from its default is
remembered here, and stands in the address bar behind ``p.``; what a link says is
taken only where the control itself could have that value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import streamlit as st

from pages.state import session


def for_selectbox(key: str, options: Collection[Any], default: Any) -> dict[str, Any]:
    """Arguments of a selectbox that keeps its value."""
    value = _option(key, options, default)
    return {"key": key, "index": list(options).index(value)}


def selectbox(
    place: Any, label: str, options: Collection[Any], key: str, **more: Any
) -> Any:
    """A selectbox that keeps its value; at first the first option, or ``default``."""
    default = more.pop("default", next(iter(options)))
    state = for_selectbox(key, options, default)
    return place.selectbox(label, list(options), **state, **more)


def for_buttons(key: str, options: Collection[Any], default: Any) -> dict[str, Any]:
    """Arguments of a row of buttons; as `for_selectbox`."""
    return {"key": key, "default": _option(key, options, default)}


def for_value(key: str, options: Collection[Any], default: Any) -> dict[str, Any]:
    """Arguments of a toggle or a number; as `for_selectbox`."""
    return {"key": key, "value": _option(key, options, default)}


def for_text(key: str, longest: int, default: str) -> dict[str, Any]:
    """Arguments of a text of at most so many characters; as `for_selectbox`."""
    return {"key": key, "value": _remember(key, default, lambda t: t[:longest], str)}


def for_multiselect(
    key: str, options: Collection[str], default: list[str]
) -> dict[str, Any]:
    """Arguments of a list of options; as `for_selectbox`."""

    def read(text: str) -> list[str] | None:
        names = dict.fromkeys(filter(None, text.split(",")))
        return list(names) if all(name in options for name in names) else None

    names = _remember(key, default, read, ",".join)
    return {"key": key, "default": [name for name in names if name in options]}


def set_value(key: str, value: Any) -> None:
    """Give a control this value, wherever it is."""
    st.session_state[key] = session.get().widget_starts[key] = value


def _option(key: str, options: Collection[Any], default: Any) -> Any:
    read = {str(option): option for option in options}.get
    value = _remember(key, default, read, str)
    return value if value in options else default


def _remember(
    key: str,
    default: Any,
    read: Callable[[str], Any],
    write: Callable[[Any], str],
) -> Any:
    """Remember the value of a control; where it begins.

    It is given its beginning, and not set by the session: a browser that is given two
    pictures of a page at once may draw the second only, in which nothing is set.
    """
    visit, widgets = session.get(), st.session_state
    if key not in widgets:
        text = visit.widget_texts.get(key)
        value = None if text is None else read(text)
        visit.widget_starts[key] = default if value is None else value
        visit.defaults[key] = default
    visit.defaults.setdefault(key, default)  # a button may have set the control before
    value = widgets.get(key, visit.widget_starts[key])
    visit.widget_texts.pop(key, None)
    # A default that has moved since, with the model say, was not chosen.
    if value is not None and value != visit.defaults[key]:
        visit.widget_texts[key] = write(value)
    return visit.widget_starts[key]
