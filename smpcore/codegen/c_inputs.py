"""C source that compares inputs with what the training rows had."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from smpcore.codegen.c_parts import FLOAT_RULES, MAX_MASK, input_type, preamble
from smpcore.codegen.c_tables import fetch, table, unsigned
from smpcore.codegen.identity import source_of
from smpcore.codegen.inputs import to_float32


def inputs_source(model: Any, prefix: str) -> str:
    """A file of its own, so that a program that does not ask links no ranges.

    A missing number counts as inside, where it may be missing; of a category only its
    levels do.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    prefix : str

    Returns
    -------
    str
    """
    m, n = prefix.upper(), len(model.inputs)
    tables = dict(zip(("low", "high"), training_ranges(model), strict=True))
    read = partial(fetch, prefix, tables)
    outside = f"x[k] < {read('low', 'k')} || x[k] > {read('high', 'k')}"
    if all(entry.missing is None for entry in source_of(model).inputs):  # nor a NaN
        outside = f"!(x[k] >= {read('low', 'k')} && x[k] <= {read('high', 'k')})"
    x, index = f"const {input_type(model)} x[{m}_N]", unsigned(n)
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
    rules = "" if hasattr(model, "source") else f"\n{FLOAT_RULES}"
    arrays = "".join(table(model, prefix, name, t) for name, t in tables.items())
    return f"""\
{preamble(prefix, tables, {}, rules)}
/* Ranges of the training rows, as the model takes its inputs. */
{arrays}
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
    """Least and largest value of each input in training, as generated code takes it.

    Parameters
    ----------
    model : CompiledModel or QuantModel

    Returns
    -------
    low, high : ndarray of shape (n_inputs,), of the type of an input
    """
    entries = source_of(model).inputs
    ends = np.array([[entry.low, entry.high] for entry in entries]).T
    if hasattr(model, "source"):
        low, high = model.quantise(ends).astype(f"int{model.width}")
    else:
        low, high = to_float32(ends)
    return low, high
