"""A model as one ECMAScript module without any import, for browsers and Node.

Numbers of JavaScript are 64-bit floats. In 32-bit floats `round` is `Math.fround`: a
sum or product of two float32 in 64 bits, rounded to float32, has the bits of the
emulator. Of integers `round` does nothing: they are exact below 2^53.
"""

from __future__ import annotations

from typing import Any

from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.program import (
    Operation,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.targets.javascript.literals import declared
from smpcore.codegen.targets.scripts import Language, constants_of_interval, script

_JAVASCRIPT = Language(
    "javascript/program.in",
    declared,
    lambda words: words[0] + "".join(map(str.capitalize, words[1:])),
)

#: Last operation -> what a score is a sum over.
PARTS: dict[type[Operation], str] = {
    WeightedInputs: "input",
    WeightedSums: "anchor",
    SparseCode: "prototype",
}


def emit_javascript(model: Any, name: str = "mdl", number: str = "") -> str:
    """Write a model as a JavaScript module."""
    constants, texts, before = script(model, _JAVASCRIPT, "inputValues(x)")
    part = PARTS[type(model.operations[-1])]
    texts.append(_JAVASCRIPT.text(f"contributions of {part}s", given=before))
    public = {
        "NAME": name,
        "ID": number,
        "FORMAT": SCHEMA,
        "INPUTS": _inputs(model),
        "CLASSES": list(model.labels),
        "PART": part,
        **constants_of_interval(model),
    }
    first = _JAVASCRIPT.text("integers" if model.is_integer else "floats")
    texts = [declared(public, "export "), declared(constants), first, *texts]
    return "\n".join([_HEAD, *dict.fromkeys(texts)])


def _inputs(model: Any) -> list[dict[str, Any]]:
    """What a page can show about each input."""
    return [
        {
            "identifier": entry.identifier,
            "name": entry.name,
            "low": float(entry.low),
            "high": float(entry.high),
            "integer": bool(entry.integer),
            "levels": list(entry.levels),
            "unit": entry.unit,
        }
        for entry in model.source.inputs
    ]


_HEAD = "// SPDX-License-Identifier: 0BSD. This generated code is yours.\n"
