"""The messages of the live figure: which there are, and what a field may hold.

A table of rules rather than a JSON schema: libraries for these put what they refuse
into the text of their error, which fails for what is nested deeply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Far below what no float holds.
LARGEST = 1e300
#: As many points as can be drawn; what is in such a list is checked where it is used.
LONGEST = 3000
MOST_VALUES, LONGEST_NAME, LONGEST_TEXT = 200, 64, 10_000

Rule = Callable[[Any], bool]


def _number(value: Any) -> bool:
    # An infinite or undefined number is refused where it is used, in words.
    return type(value) is float or (type(value) is int and abs(value) <= LARGEST)


def _integer(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _list(value: Any) -> bool:
    return type(value) is list and len(value) <= LONGEST


def _text(longest: int) -> Rule:
    return lambda value: type(value) is str and len(value) <= longest


def _one_of(*words: str) -> Rule:
    return lambda value: type(value) is str and value in words


def _or_null(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


def _flag(value: Any) -> bool:
    return type(value) is bool


def _values(value: Any) -> bool:
    named, text = _text(LONGEST_NAME), _text(LONGEST_TEXT)
    return (
        type(value) is dict
        and len(value) <= MOST_VALUES
        and all(map(named, value))
        and all(v is None or _flag(v) or _number(v) or text(v) for v in value.values())
    )


#: Field -> rule; other fields there are none.
FIELDS: dict[str, Rule] = {
    "kind": _one_of("set", "reset", "edit", "knots", "poll", "stop"),
    "seq": _integer,
    "have": _text(LONGEST_NAME),
    "dragging": _flag,
    "values": _values,
    "want": _list,
    "op": _text(LONGEST_NAME),
    "x": _or_null(_number),
    "y": _or_null(_number),
    "value": _or_null(_number),
    "dx": _or_null(_number),
    "dy": _or_null(_number),
    "label": _or_null(_integer),
    "row": _or_null(_integer),
    "places": _or_null(_list),
}
REQUIRED = ("kind", "seq")


def problem(message: Any) -> str:
    """Why this is no message of the figure, for the log; empty if it is one.

    Parameters
    ----------
    message : object
        As the browser sent it (untrusted).

    Returns
    -------
    str
        It never contains what the message holds.
    """
    if type(message) is not dict:
        return f"a {type(message).__name__} should be an object of JSON"
    for name in REQUIRED:
        if name not in message:
            return f"{name} is missing"
    for name, value in message.items():
        if name not in FIELDS:
            return "it has a field that there is not"
        if not FIELDS[name](value):
            return f"{name} is out of range or of another type"
    return ""
