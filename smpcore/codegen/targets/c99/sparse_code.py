"""C of `SparseCode`: the search for the code of an input, and its votes."""

from __future__ import annotations

import numpy as np

from smpcore.codegen.names import c_float
from smpcore.codegen.program import SparseCode, WeightedInputs
from smpcore.codegen.sparse_code import (
    DEPENDENT,
    EQUAL,
    FLAT,
    GONE,
    LITTLE,
    most_steps,
)
from smpcore.codegen.targets.c99.answer import RowCode
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.functions import inverse_root_function
from smpcore.codegen.templates import filled


def sparse_code(code: SparseCode, rows: RowCode, c: Source) -> RowCode:
    """How the public functions come to the score of an output."""
    limit, functions = code.limit, rows.functions
    root = inverse_root_function(c)
    functions = functions if root in functions else root + functions
    fill = f"    {c.prefix}_rows(x, alike);\n"
    if c.model.find(WeightedInputs):
        fill = f"    for (j = 0; j < {c.m}_ROWS; ++j) {{\n"
        fill += f"        alike[j] = {c.prefix}_row(x, j);\n    }}\n"
    index, size = unsigned(code.n_prototypes), unsigned(limit)
    call = f"support, amount, size, ({c.type('target')})row"
    sizes = {"CODE": limit, "FACTOR": limit * (limit + 1) // 2}
    return RowCode(
        sizes={**rows.sizes, **sizes},
        functions=functions + "\n" + _functions(code, c, fill),
        declare=f"    {index} support[{c.m}_CODE];\n    float amount[{c.m}_CODE];\n"
        f"    {size} size;\n",
        before=f"    size = {c.prefix}_code(x, support, amount);\n",
        score=f"{c.prefix}_votes({call})",
        count="CLASSES",
    )


def _functions(code: SparseCode, c: Source, fill: str) -> str:
    """Functions for the Gram entry, the factor, the solution, the search, the votes."""
    limit, m = code.limit, code.n_prototypes
    words = {
        "name": c.prefix,
        "M": c.m,
        "index": unsigned(m),
        "size": unsigned(limit),
        "step": unsigned(most_steps(limit)),
        # Holds the product before it is halved; not a byte, which an int would widen.
        "place": unsigned(max(256, m * (m + 1))),
        "flat": c_float(FLAT),
        "equal": c_float(EQUAL),
        "dependent": c_float(DEPENDENT),
        "little": c_float(LITTLE),
        "gone": c_float(GONE),
        "steps": most_steps(limit),
        "gram": c.fetch("gram", "place + low"),
        "fill": fill,
        "output": c.type("target"),
        "term": c.type("until"),
        "until": c.fetch("until", "own"),
        "until_before": c.fetch("until", "own - 1"),
        "target": c.fetch("target", "term"),
        "vote": c.fetch("vote", "term"),
        "fallback": code.fallback,
        "unrepresented": c_float(np.float32(code.unrepresented)),
    }
    return filled("c99/sparse_code.c.in", words)
