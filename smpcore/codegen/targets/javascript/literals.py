"""Values as literals of JavaScript: nothing that a user typed leaves its literal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np


def _text(value: Any) -> str:
    """JSON in ASCII that ends neither a literal nor a <script> of HTML."""
    text = json.dumps(value, allow_nan=False)
    return "".join(f"\\u{ord(c):04x}" if c in "<>&" else c for c in text)


def literal(value: Any) -> str:
    """Write a value as JavaScript."""
    if isinstance(value, np.ndarray):
        values, is_float = value.ravel().tolist(), value.dtype.kind == "f"
        # Nine digits of a float32 lose nothing.
        words = [f"{v:.9g}" if is_float else str(v) for v in values]
        lines = (", ".join(words[i : i + 8]) for i in range(0, len(words), 8))
        text = "[\n  " + ",\n  ".join(lines).replace("nan", "NaN") + ",\n]"
        return f"new Float32Array({text})" if is_float else text
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(map(_text, value)) + ",\n]"
    return _text(value.item() if isinstance(value, np.generic) else value)


def declared(constants: Mapping[str, Any], before: str = "") -> str:
    """Declare constants."""
    return "".join(f"{before}const {n} = {literal(v)};\n" for n, v in constants.items())
