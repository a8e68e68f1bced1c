"""C that turns numbers in the user's units into the integers of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.quant_inputs import container_ends
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import FLOAT_RULES, preamble


def quantise_source(model: Any, prefix: str) -> str:
    """A file of its own, so that a chip that gets integers links no floats."""
    least, most = container_ends(model.width)
    number = f"int{model.width}"
    tables = {
        "zero": np.array([one.zero for one in model.inputs], np.float32),
        "per_unit": np.array([one.per_unit for one in model.inputs], np.float32),
        "missing": np.array([one.missing for one in model.inputs], number),
        "levels": np.array([len(one.given.levels) for one in model.inputs], number),
    }
    if not tables["levels"].any():
        del tables["levels"]
    c = Source(model, prefix, tables)
    words = {name: c.fetch(name, "k") for name in tables}
    words |= {"counter": unsigned(len(model.inputs)), "least": least, "most": most}
    words |= {"preamble": preamble(c, {}, FLOAT_RULES), "arrays": c.arrays()}
    is_mixed = "levels" in tables
    words["category"] = c.text("quantise category", words, "files") if is_mixed else ""
    value = c.text("value", file="files") if model.is_regression else ""
    return c.text("quantise", words, "files") + value
