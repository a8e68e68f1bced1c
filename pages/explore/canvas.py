"""The live figure, assets/canvas: what it is sent (payload.schema.json) and may say."""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from pages.ui.elements import ASSETS, component
from pages.work.json_files import Number, Record
from smpcore import SmpcoreError

log = logging.getLogger(__name__)
#: Array types of a payload, by the kind of the numpy array.
ARRAY_TYPES = {"b": "u1", "u": "u1", "i": "i4", "f": "f4"}

_Index = Annotated[int, Meta(ge=0, lt=2**53)]
_Name = Annotated[str, Meta(max_length=64)]
_Text = Annotated[str, Meta(max_length=10_000)]
#: As many points as can be drawn.
_Places = Annotated[list[tuple[Number, Number]], Meta(max_length=3000)]
UNEXPECTED = "The page sent something unexpected; reload it."


class Message(Record):
    """What the figure sends; of kind "full" is none, but what draws everything."""

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
    want: Annotated[list[_Index], Meta(max_length=3000)] = ()
    op: _Name = ""
    x: Number | None = None
    y: Number | None = None
    value: Number | None = None
    dx: Number | None = None
    dy: Number | None = None
    label: _Index | None = None
    row: _Index | None = None
    places: _Places | None = None


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


def read_message(sent: Any) -> Message:
    """Check what the figure sent; all else is dropped, and refused in one sentence."""
    try:
        return msgspec.convert(sent, Message)
    except (msgspec.ValidationError, RecursionError, ValueError) as error:
        log.warning("a message of the figure was dropped: %s", str(error)[:150])
        raise SmpcoreError(UNEXPECTED) from None


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
