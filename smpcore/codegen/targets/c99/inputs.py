"""C source that compares inputs with what the training rows had."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.float32 import to_float32
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import FLOAT_RULES, MAX_MASK, preamble


def inputs_source(model: Any, prefix: str) -> str:
    """A file of its own, so that a program that does not ask links no ranges."""
    tables = dict(zip(("low", "high"), training_ranges(model), strict=True))
    c = Source(model, prefix, tables)
    m, n, x, read = c.m, len(model.inputs), c.x, c.fetch
    outside = f"x[k] < {read('low', 'k')} || x[k] > {read('high', 'k')}"
    if all(entry.missing is None for entry in model.source.inputs):  # nor a NaN
        outside = f"!(x[k] >= {read('low', 'k')} && x[k] <= {read('high', 'k')})"
    index = unsigned(n)
    if n <= MAX_MASK:
        head = f"uint32_t {prefix}_check_inputs({x})"
        declare, first, found = (
            "uint32_t outside = 0;",
            "",
            "outside |= (uint32_t)1 << k",
        )
        answer = "outside"
    else:
        head = f"{index} {prefix}_check_inputs({x}, uint8_t outside[({m}_N + 7) / 8])"
        declare, answer = f"{index} count = 0;", "count"
        first = (
            "        if (k % 8 == 0) {\n            outside[k / 8] = 0;\n        }\n"
        )
        found = "outside[k / 8] = (uint8_t)(outside[k / 8] | 1U << k % 8);"
        found += "\n            ++count"
    rules = "" if model.is_integer else f"\n{FLOAT_RULES}"
    return f"""\
{preamble(c, {}, rules)}
/* Ranges of the training rows, as the model takes its inputs. */
{c.arrays()}
{head}
{{
    {declare}
    {index} k;

    for (k = 0; k < {m}_N; ++k) {{
{first}        if ({outside}) {{
            {found};
        }}
    }}
    return {answer};
}}
"""


def training_ranges(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of each input in training, as generated code takes it."""
    entries = model.source.inputs
    ends = np.array([[entry.low, entry.high] for entry in entries]).T
    if model.is_integer:
        low, high = model.quantise(ends).astype(f"int{model.width}")
    else:
        low, high = to_float32(ends)
    return low, high
