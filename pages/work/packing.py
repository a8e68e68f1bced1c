"""Plain records with tables and arrays in them, as bytes and back: tables as Parquet.

What it reads has been written here; nothing in it is ever run.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np
import pandas as pd

Content = TypeVar("Content")


def pack(content: object) -> bytes:
    """A record of dataclasses, tuples and plain values."""
    return msgspec.msgpack.encode(content, enc_hook=_written)


def unpack(data: bytes, kind: type[Content]) -> Content:
    """The record of this type that was packed."""
    return msgspec.msgpack.decode(data, type=kind, dec_hook=_read)


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    file = io.BytesIO()
    if isinstance(value, pd.DataFrame):
        value.to_parquet(file, compression="zstd")
    else:
        np.save(file, value, allow_pickle=False)
    return file.getvalue()


def _read(kind: type, data: bytes) -> Any:
    file = io.BytesIO(data)
    if kind is pd.DataFrame:
        return pd.read_parquet(file)
    return np.load(file, allow_pickle=False)
