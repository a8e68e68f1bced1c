"""The live figure: assets/canvas, mounted once, what it is sent and what it may say.

assets/canvas/payload.schema.json describes what it is sent.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator, validators

from pages.ui.component import ASSETS, component
from pages.work import json_schema

#: Array types of a payload, by the kind of the numpy array.
ARRAY_TYPES = {"b": "u1", "u": "u1", "i": "i4", "f": "f4"}

#: Numbers as the figure sends them, each asked for its ends in one call: a message of a
#: drag has several. The standard takes NaN, and 1.0 for an integer.
_NUMBERS = {
    "index": lambda _, value: type(value) is int and 0 <= value < 2**53,
    "finite": lambda _, value: type(value) in (int, float) and abs(value) <= 1e300,
}
_INDEX, _FINITE = {"type": "index"}, {"type": "finite"}
_NAME = json_schema.text(64)
#: As many points as can be drawn; what is in such a list is checked where it is used.
_LIST = {"type": "array", "maxItems": 3000}
_VALUE = {"type": ["finite", "string", "boolean", "null"], "maxLength": 10_000}
_MESSAGE = json_schema.record(
    {
        "kind": {"enum": ["set", "reset", "edit", "knots", "steps", "poll", "stop"]},
        "seq": _INDEX,
        "have": _NAME,
        **{
            name: {"type": "boolean"}
            for name in ("dragging", "printed", "assignments", "present")
        },
        "values": json_schema.mapping(_VALUE, most=200, longest=64),
        "want": _LIST,
        "op": _NAME,
        **{n: json_schema.nullable(_FINITE) for n in ("x", "y", "value", "dx", "dy")},
        **{name: json_schema.nullable(_INDEX) for name in ("label", "row")},
        "places": json_schema.nullable(_LIST),
    }
) | {"required": ["kind", "seq"]}
_checker = Draft202012Validator.TYPE_CHECKER.redefine_many(_NUMBERS)
_validator = validators.extend(Draft202012Validator, type_checker=_checker)(_MESSAGE)


def pack(header: dict[str, Any]) -> bytes:
    """Write a payload: a JSON header with its arrays beside it."""
    blob = bytearray()

    def place(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        kind = ARRAY_TYPES[value.dtype.kind]
        offset = len(blob)
        blob.extend(np.ascontiguousarray(value, dtype="<" + kind).tobytes())
        blob.extend(bytes(-len(blob) % 8))
        return {"$": [kind, offset, *value.shape]}

    text = json.dumps(header, default=place, allow_nan=False).encode()
    start = struct.pack("<I", len(text)) + text
    return start + bytes(-len(start) % 8) + bytes(blob)


def message_problem(message: Any) -> str:
    """Why this is no message of the figure, for the log; empty if it is one."""
    try:
        error = next(_validator.iter_errors(message), None)
    except (RecursionError, ValueError):
        # The text of an error holds what is refused: too deep, or too many digits.
        return "what it holds is too long or too deep to be shown"
    if error is None:
        return ""
    field = error.path[0] if error.path else "it"
    return f"{field} should fulfil {error.validator} of the schema"


def figure_script() -> None:
    """Mount the figure's script, unseen: an answer to a drag goes without its 100 kB.

    It is built from the modules of assets/canvas: Streamlit takes a script as one text.
    """
    style = (ASSETS / "canvas/figure.css").read_text("utf-8")
    component("canvas")(key="figure_script", data=style)


def live_figure(
    payload: bytes, key: str, on_msg: Callable[[], None] | None = None
) -> dict[str, Any] | None:
    """Mount the live figure, or hand it new content."""
    mounted = component("live_figure")
    return mounted(key=key, data=payload, on_msg_change=on_msg or (lambda: None)).msg
