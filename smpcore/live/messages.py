"""What the live figure is sent (assets/canvas/payload.schema.json) and may say."""

from __future__ import annotations

import json
import logging
import struct
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from smpcore.errors import SmpcoreError

log = logging.getLogger(__name__)
#: Array types of a payload, by the kind of the numpy array.
ARRAY_TYPES = {"b": "u1", "u": "u1", "i": "i4", "f": "f4"}

#: No number is free: Python has integers of any length.
Number = (
    Annotated[float, Meta(ge=-1e300, le=1e300)]
    | Annotated[int, Meta(gt=-(2**53), lt=2**53)]
)


class Record(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Entries with these names and types, and no others."""


_Index = Annotated[int, Meta(ge=0, lt=2**53)]
_Name = Annotated[str, Meta(max_length=64)]
_Text = Annotated[str, Meta(max_length=10_000)]
#: As many points as can be drawn.
_Places = Annotated[list[tuple[Number, Number]], Meta(max_length=3000)]
UNEXPECTED = "The page sent something unexpected; reload it."


class Message(Record):
    """What the figure sends; of kind "full" is none, but what draws everything."""

    kind: Literal["set", "reset", "edit", "knots", "steps", "select", "poll", "stop"]
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
