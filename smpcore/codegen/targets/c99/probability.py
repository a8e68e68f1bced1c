"""The C function that gives the probability of class 1, and an interval's constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.constants import Tables
from smpcore.codegen.names import c_float
from smpcore.codegen.probability import SLOPE_BITS
from smpcore.codegen.targets.c99.constant_tables import Source


def probability_tables(model: Any) -> Tables:
    """The constants of the function; none where the model gives no probability."""
    if (table := model.probability) is None:
        return {}
    return {
        "probability_begin": table.begin.astype(np.uint16),
        "probability_value": table.value.astype(np.uint16),
        "probability_slope": table.slope.astype(np.uint32),
    }


def probability_declaration(c: Source) -> str:
    """Declaration of the function, or the constant of an interval; else empty."""
    if c.model.probability is not None:
        return f"""
/* Probability of class 1 in 1/32768, from 1 to 32767; of class 0 it is the rest. */
uint16_t {c.prefix}_probability({c.x});
"""
    if c.model.half_width is None:
        return ""
    width, steps = c_float(c.model.half_width), ""
    if c.model.is_integer:
        width, steps = f"{c.model.half_width}L", ", in the same steps"
    return f"""
/* Half the out-of-fold residual interval of 90 %{steps}. */
#define {c.m}_HALF_WIDTH_90 {width}
"""


def probability_function(c: Source) -> str:
    """The function that `probability_declaration` declares; empty without a table."""
    if c.model.probability is None:
        return ""
    place = _place_of_integers(c) if c.model.is_integer else _place_of_floats(c)
    begin, value, slope = (
        c.fetch(f"probability_{name}", "k") for name in ("begin", "value", "slope")
    )
    rise = f"(({slope} * (place - {begin})) >> {SLOPE_BITS})"
    return f"""\
uint16_t {c.prefix}_probability({c.x})
{{
    {c.score} scores[{c.m}_CLASSES];
{place}    while (k > 0 && place < {begin}) {{
        --k;
    }}
    return (uint16_t)({value} + {rise});
}}
"""


def _place_of_integers(c: Source) -> str:
    """The place of a lead; the difference of two scores may need the sign bit."""
    table = c.model.probability
    most = len(table.begin) - 1
    ahead, behind = (
        f"(uint32_t)scores[{one}] - (uint32_t)scores[{other}]"
        for one, other in ((1, 0), (0, 1))
    )
    return f"""\
    uint32_t place;
    uint8_t k = {most};

    {c.prefix}_scores(x, scores);
    if (scores[1] >= scores[0]) {{
        place = {ahead};
        place = {table.below}U + (place > {table.above}U ? {table.above}U : place);
    }} else {{
        place = {behind};
        place = {table.below}U - (place > {table.below}U ? {table.below}U : place);
    }}
    place >>= {table.drop};
"""


def _place_of_floats(c: Source) -> str:
    """The place of a lead; one that is no number counts as 0."""
    table = c.model.probability
    below, above, unit = map(c_float, (table.below, table.above, table.per_unit))
    return f"""\
    float lead;
    uint32_t place;
    uint8_t k = {len(table.begin) - 1};

    {c.prefix}_scores(x, scores);
    lead = scores[1] - scores[0];
    if (lead > {above}) {{
        lead = {above};
    }} else if (lead < -{below}) {{
        lead = -{below};
    }} else if (!(lead >= -{below})) {{
        lead = 0.0f; /* NaN */
    }}
    place = (uint32_t)((lead + {below}) * {unit} + 0.5f);
"""
