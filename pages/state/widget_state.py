"""Values of the pages' controls: kept across pages, and in links.

Streamlit forgets a control that is not on the page. What differs from its default is
remembered here, and stands in the address bar behind ``p.``; what a link says is
taken only where the control itself could have that value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import streamlit as st

from pages.state import session


def choose_one(
    place: Any, label: str, options: Iterable[Any], key: str, **more: Any
) -> Any:
    """One of several, kept; at first the first one, or ``default``.

    It is chosen from a list, or with ``buttons`` in a row of them.
    """
    options, default = list(options), more.pop("default", None)
    start = _option(key, options, options[0] if default is None else default)
    if more.pop("buttons", False):
        more |= {"required": True, "default": start}
        return place.segmented_control(label, options, key=key, **more)
    return place.selectbox(label, options, options.index(start), key=key, **more)


def for_value(key: str, options: Collection[Any], default: Any) -> dict[str, Any]:
    """Arguments of a toggle or a number that keeps its value."""
    return {"key": key, "value": _option(key, options, default)}


def for_text(key: str, longest: int, default: str) -> dict[str, Any]:
    """Arguments of a text of at most so many characters; as `for_value`."""
    return {"key": key, "value": _remember(key, default, lambda t: t[:longest], str)}


def for_multiselect(
    key: str, options: Collection[str], default: list[str]
) -> dict[str, Any]:
    """Arguments of a list of options; as `for_value`."""

    def read(text: str) -> list[str] | None:
        names = dict.fromkeys(filter(None, text.split(",")))
        return list(names) if all(name in options for name in names) else None

    names = _remember(key, default, read, ",".join)
    return {"key": key, "default": [name for name in names if name in options]}


def set_value(key: str, value: Any) -> None:
    """Give a control this value, wherever it is."""
    st.session_state[key] = session.get().widget_starts[key] = value


def for_choice(name: str, value: Any, choose: Callable[[Any], None]) -> dict[str, Any]:
    """Arguments of a control of what the session has chosen, and others choose too.

    Where another has, it is a new control: a browser that has not drawn it yet sends
    the value before, which the visitor would seem to have chosen.
    """
    editions, widgets = session.get().editions, st.session_state
    before = widgets.get(f"{name}_{editions[name]}", value)
    if before != value and (not isinstance(value, list) or {*before} != {*value}):
        editions[name] += 1
    number, key = editions[name], f"{name}_{editions[name]}"
    widgets[key] = value

    def changed() -> None:
        if number == session.get().editions[name]:  # else a browser is late
            choose(widgets[key])

    return {"key": key, "on_change": changed}


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
