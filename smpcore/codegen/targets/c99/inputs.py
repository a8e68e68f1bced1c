"""C source that compares inputs with what the training rows had."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.float32 import to_float32
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import FLOAT_RULES, preamble

#: Up to so many inputs have a bit each in one number.
MAX_MASK = 32


def inputs_source(model: Any, prefix: str) -> str:
    """A file of its own, so that a program that does not ask links no ranges."""
    tables = dict(zip(("low", "high"), training_ranges(model), strict=True))
    c, n = Source(model, prefix, tables), len(model.inputs)
    low, high = (c.fetch(name, "k") for name in tables)
    outside = f"x[k] < {low} || x[k] > {high}"
    if all(entry.missing is None for entry in model.source.inputs):  # nor a NaN
        outside = f"!(x[k] >= {low} && x[k] <= {high})"
    words = {"counter": unsigned(n), "outside": outside, "arrays": c.arrays()}
    words["preamble"] = preamble(c, {}, "" if model.is_integer else FLOAT_RULES)
    check = "check, bits" if n <= MAX_MASK else "check, count"
    words["check"] = c.text(check, words, "files").removesuffix("\n")
    return c.text("inputs", words, "files")


def training_ranges(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of each input in training, as generated code takes it."""
    entries = model.source.inputs
    ends = np.array([[entry.low, entry.high] for entry in entries]).T
    if model.is_integer:
        low, high = model.quantise(ends).astype(f"int{model.width}")
    else:
        low, high = to_float32(ends)
    return low, high
