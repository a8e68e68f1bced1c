"""The live figure: assets/canvas, mounted once and fed with bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

ASSETS = Path(__file__).parents[2] / "assets"
#: Array types of a payload, by the kind of the numpy array.
ARRAY_TYPES = {"b": "u1", "u": "u1", "i": "i4", "f": "f4"}


def pack(header: dict[str, Any]) -> bytes:
    """Write a payload: a JSON header with its arrays beside it.

    Parameters
    ----------
    header : dict
        Anything that JSON can say, and numpy arrays at any depth: they become
        ``{"$": [type, offset, *shape]}`` with type ``u1``, ``i4`` or ``f4``.

    Returns
    -------
    bytes
        uint32 (little-endian) length of the JSON | JSON | zeros to a multiple of 8 |
        arrays, each at a multiple of 8.
    """
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


@cache
def _component() -> Callable[..., Any]:
    css = (ASSETS / "canvas" / "figure.css").read_text("utf-8")
    # Built from the modules of assets/canvas: Streamlit takes a script as one text, and
    # sends it with every answer.
    js = (ASSETS / "canvas.js").read_text("utf-8")
    return st.components.v2.component("live_figure", css=css, js=js)


def live_figure(
    payload: bytes, key: str, on_msg: Callable[[], None] | None = None
) -> dict[str, Any] | None:
    """Mount the live figure, or hand it new content.

    Parameters
    ----------
    payload : bytes
        From `pack`.
    key : str
        Identity of the figure: the same key keeps zoom, focus and a drag.
    on_msg : callable, optional
        Called before the run that a message causes.

    Returns
    -------
    dict or None
        The browser's message, in the one run that it causes. Untrusted.
    """
    result = _component()(key=key, data=payload, on_msg_change=on_msg or (lambda: None))
    return result.msg
