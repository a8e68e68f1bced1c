"""C that turns numbers in the user's units into the integers of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import FLOAT_RULES, preamble


def quantise_source(c: Source, inputs: Sequence[QuantInput], width: int) -> str:
    """A file of its own, so that a chip that gets integers links no floats."""
    least, most = container_ends(width)
    number = f"int{width}"
    tables = {
        "zero": np.array([one.zero for one in inputs], np.float32),
        "per_unit": np.array([one.per_unit for one in inputs], np.float32),
        "missing": np.array([one.missing for one in inputs], number),
        "levels": np.array([len(one.given.levels) for one in inputs], number),
    }
    if not tables["levels"].any():
        del tables["levels"]
    c = replace(c, tables=tables)
    words = {name: c.fetch(name, "k") for name in tables} | {"number": f"{number}_t"}
    words |= {"counter": unsigned(len(inputs)), "least": least, "most": most}
    words |= {"preamble": preamble(c, {}, FLOAT_RULES), "arrays": c.arrays()}
    is_mixed = "levels" in tables
    words["category"] = c.text("quantise category", words, "files") if is_mixed else ""
    has_value = c.model.is_regression and inputs is c.model.inputs
    value = c.text("value", file="files") if has_value else ""
    return c.text("quantise", words, "files") + value
