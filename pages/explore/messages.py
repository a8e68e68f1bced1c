"""The messages of the live figure: which there are, and what a field may hold."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator, validators

#: Numbers as the figure sends them; the standard takes NaN, and 1.0 for an integer.
TYPES = {
    "integer": lambda _, value: type(value) is int and 0 <= value < 2**53,
    "number": lambda _, value: type(value) in (int, float) and abs(value) <= 1e300,
}
NAME = {"type": "string", "maxLength": 64}
#: As many points as can be drawn; what is in such a list is checked where it is used.
LIST = {"type": "array", "maxItems": 3000}
SCHEMA = {
    "type": "object",
    "required": ["kind", "seq"],
    "additionalProperties": False,
    "properties": {
        "kind": {"enum": ["set", "reset", "edit", "knots", "poll", "stop"]},
        "seq": {"type": "integer"},
        "have": NAME,
        "dragging": {"type": "boolean"},
        "values": {
            "type": "object",
            "maxProperties": 200,
            "propertyNames": NAME,
            "additionalProperties": {
                "type": ["number", "string", "boolean", "null"],
                "maxLength": 10_000,
            },
        },
        "want": LIST,
        "op": NAME,
        **{n: {"type": ["number", "null"]} for n in ("x", "y", "value", "dx", "dy")},
        **{name: {"type": ["integer", "null"]} for name in ("label", "row")},
        "places": LIST | {"type": ["array", "null"]},
    },
}
_checker = Draft202012Validator.TYPE_CHECKER.redefine_many(TYPES)
_validator = validators.extend(Draft202012Validator, type_checker=_checker)(SCHEMA)


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
    try:
        error = next(_validator.iter_errors(message), None)
    except (RecursionError, ValueError):
        # The text of an error holds what is refused: too deep, or too many digits.
        return "what it holds is too long or too deep to be shown"
    if error is None:
        return ""
    field = error.path[0] if error.path else "it"
    return f"{field} should fulfil {error.validator} of the schema"
