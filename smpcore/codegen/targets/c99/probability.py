"""The C functions that give probabilities, and an interval's constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.constants import Tables
from smpcore.codegen.names import c_float
from smpcore.codegen.targets.c99.answer import difference
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned

#: Types of the tables; an offset of floats stays one.
_TYPES = {"begin": "uint16", "value": "uint16", "slope": "uint32", "offset": "int32"}


def probability_tables(model: Any) -> Tables:
    """The constants of the function; none where the model gives no probability."""
    tables = {name: getattr(model.probability, name, ()) for name in _TYPES}
    return {
        f"probability_{name}": values.astype(_TYPES[name])
        if values.dtype.kind == "i"
        else values
        for name, values in tables.items()
        if len(values)
    }


def probability_declaration(c: Source) -> str:
    """Declaration of the function, or the constant of an interval; else empty."""
    kind = "integers" if c.model.is_integer else "floats"
    if c.model.probability is not None:
        return c.text(c.model.probability.kind, file="header")
    if (width := c.model.half_width) is None:
        return ""
    words = {"width": width if c.model.is_integer else c_float(width)}
    return c.text(f"half width, {kind}", words, "header")


def probability_function(c: Source) -> str:
    """The function that `probability_declaration` declares."""
    table, kind = c.model.probability, "integers" if c.model.is_integer else "floats"
    ends = {"below": table.below, "above": table.above}
    words = {n: f"{v}U" if c.model.is_integer else c_float(v) for n, v in ends.items()}
    words |= {
        n.removeprefix("probability_"): c.fetch(n, "k")
        for n in c.tables
        if n.startswith("probability_")
    }
    words["last"], words["drop"] = len(table.begin) - 1, table.drop
    words["per_unit"] = c_float(table.per_unit)
    share = c.text(f"share, {kind}", words)
    if not len(table.offset):
        if c.model.is_integer:
            scores = "scores[1]", "scores[0]"
            words["ahead"] = difference(c.score, *scores)
            words["behind"] = difference(c.score, *scores[::-1])
        return share + "\n" + c.text(f"probability, {kind}", words)
    words |= {"lead": c.score, "counter": unsigned(c.model.n_outputs)}
    words["offset_type"] = c.type("probability_offset")
    if c.model.is_integer:
        most = c.model.largest + int(np.abs(table.offset).max())
        words["lead"] = "int32_t" if most < 2**31 else "int64_t"
        words["gap"] = difference(words["lead"], "best", "lead")
    words["put"] = c.text(f"put, {kind}", words)
    return share + "\n" + c.text("probabilities", words)
