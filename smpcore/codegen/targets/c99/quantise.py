"""C that turns numbers in the user's units into the integers of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.quant_inputs import container_ends
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import FLOAT_RULES, preamble


def quantise_source(model: Any, prefix: str) -> str:
    """A file of its own, so that a chip that gets integers links no floats."""
    width, n = model.width, unsigned(len(model.inputs))
    least, most = container_ends(width)
    levels = np.array([len(one.given.levels) for one in model.inputs])
    tables = {
        "zero": np.array([one.zero for one in model.inputs], np.float32),
        "per_unit": np.array([one.per_unit for one in model.inputs], np.float32),
        "missing": np.array([one.missing for one in model.inputs], f"int{width}"),
    }
    if levels.any():
        tables["levels"] = levels.astype(f"int{width}")
    c = Source(model, prefix, tables)
    m, read = c.m, c.fetch
    category = ""
    if levels.any():
        category = f"""\
    if ({read("levels", "k")} != 0) {{ /* a category */
        if (value >= 0.0f && value < (float){read("levels", "k")}) {{
            return (int{width}_t)value;
        }}
        return -1; /* unknown */
    }}
"""
    return f"""\
{preamble(c, {}, f"{chr(10)}{FLOAT_RULES}")}
{c.arrays()}
static int{width}_t {prefix}_count(float value, {n} k)
{{
    float scaled;

{category}    if (value != value) {{ /* NaN: missing */
        return {read("missing", "k")};
    }}
    scaled = (value - {read("zero", "k")}) * {read("per_unit", "k")};
    scaled += scaled < 0.0f ? -0.5f : 0.5f;
    if (!(scaled > {least}.0f)) {{
        return {least};
    }}
    if (scaled > {most}.0f) {{
        return {most};
    }}
    return (int{width}_t)scaled;
}}

void {prefix}_quantise(const float values[{m}_N], int{width}_t x[{m}_N])
{{
    {n} k;

    for (k = 0; k < {m}_N; ++k) {{
        x[k] = {prefix}_count(values[k], k);
    }}
}}
{_value(c) if model.is_regression else ""}"""


def _value(c: Source) -> str:
    """The function that gives an answer in the units of the table."""
    return f"""
float {c.prefix}_value({c.score} answer)
{{
    const float steps = (float)answer * {c.m}_STEP;

    return steps + {c.m}_OFFSET;
}}
"""
