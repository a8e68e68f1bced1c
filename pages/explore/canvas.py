"""The live figure, assets/canvas: what it is sent (payload.schema.json) and may say."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from pages.ui.elements import ASSETS, component
from pages.work.json_files import Number, Record

#: Array types of a payload, by the kind of the numpy array.
ARRAY_TYPES = {"b": "u1", "u": "u1", "i": "i4", "f": "f4"}

_Index = Annotated[int, Meta(ge=0, lt=2**53)]
_Name = Annotated[str, Meta(max_length=64)]
_Text = Annotated[str, Meta(max_length=10_000)]
#: As many points as can be drawn; what is in such a list is checked where it is used.
_List = Annotated[list, Meta(max_length=3000)]


class _Message(Record):
    kind: Literal["set", "reset", "edit", "knots", "steps", "poll", "stop"]
    seq: _Index
    have: _Name = ""
    dragging: bool = False
    printed: bool = False
    assignments: bool = False
    present: bool = False
    values: dict[_Name, Number | bool | _Text | None] = msgspec.field(
        default_factory=dict
    )
    want: _List = ()
    op: _Name = ""
    x: Number | None = None
    y: Number | None = None
    value: Number | None = None
    dx: Number | None = None
    dy: Number | None = None
    label: _Index | None = None
    row: _Index | None = None
    places: _List | None = None


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
        msgspec.convert(message, _Message)
    except (msgspec.ValidationError, RecursionError, ValueError) as error:
        return str(error)[:150]
    return ""


def figure_script() -> None:
    """Mount the figure's script, unseen: answers to a drag go without its 100 kB."""
    style = (ASSETS / "canvas/figure.css").read_text("utf-8")
    component("canvas")(key="figure_script", data=style)


def live_figure(
    payload: bytes, key: str, on_msg: Callable[[], None] | None = None
) -> dict[str, Any] | None:
    """Mount the live figure, or hand it new content."""
    mounted = component("live_figure")
    return mounted(key=key, data=payload, on_msg_change=on_msg or (lambda: None)).msg
