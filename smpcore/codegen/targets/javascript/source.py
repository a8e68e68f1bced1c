"""A model as one ECMAScript module without any import, for browsers and Node.

Numbers of JavaScript are 64-bit floats. In 32-bit floats `round` is `Math.fround`: a
sum or product of two float32 in 64 bits, rounded to float32, has the bits of the
emulator. Of integers `round` does nothing: they are exact below 2^53.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from smpcore.codegen.describe import SCHEMA
from smpcore.codegen.package import Files, Package
from smpcore.codegen.program import Operation, SparseCode, WeightedInputs, WeightedSums
from smpcore.codegen.targets.scripts import (
    Constants,
    Language,
    constants_of_interval,
    script,
)

#: Last operation -> what a score is a sum over.
PARTS: dict[type[Operation], str] = {
    WeightedInputs: "input",
    WeightedSums: "anchor",
    SparseCode: "prototype",
}


def javascript(package: Package) -> Files:
    """The module, and the model for programs."""
    module = emit_javascript(package.model, package.name, package.id)
    return package.documents | {f"{package.name}.mjs": module}


def words_of_javascript(package: Package) -> dict[str, str]:
    """Words of the self-test, and of the page about it."""
    part = PARTS[type(package.model.operations[-1])]
    return package.parts("javascript/parts.in") | {"part": part}


def emit_javascript(model: Any, name: str = "mdl", number: str = "") -> str:
    """Write a model as a JavaScript module."""
    constants, texts = _constants_and_functions(model)
    public = {
        "NAME": name,
        "ID": number,
        "FORMAT": SCHEMA,
        "INPUTS": _inputs(model),
        "CLASSES": list(model.labels),
        "PART": _part(model),
        **constants_of_interval(model),
    }
    return "\n".join([_HEAD, declared(public, "export "), declared(constants), *texts])


def javascript_function(model: Any) -> tuple[str, Constants]:
    """Write the module as a function of its constants, and these.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Models of one structure have the same function.

    Returns
    -------
    text : str
        A function of JavaScript without any name or number of the model; it returns
        what the module exports.
    constants : dict of str to value
        What it takes, with what the module says: of its inputs their places in the
        table. In JavaScript arrays of floats are `Float32Array`, others plain.
    """
    constants, texts = _constants_and_functions(model)
    places = np.array([one.index for one in model.inputs])
    constants |= {"INPUTS": places, "CLASSES": list(model.labels), "PART": _part(model)}
    text = "\n".join(texts)
    exported = ", ".join(re.findall(r"^export function (\w+)", text, re.MULTILINE))
    text = text.replace("export function", "function")
    taken = ", ".join(constants)
    return f"({{ {taken} }}) => {{\n{text}return {{ {exported} }};\n}}", constants


def _constants_and_functions(model: Any) -> tuple[Constants, list[str]]:
    constants, texts, before = script(model, _JAVASCRIPT, "inputValues(x)")
    texts.append(_JAVASCRIPT.text(f"contributions of {_part(model)}s", given=before))
    first = _JAVASCRIPT.text("integers" if model.is_integer else "floats")
    return constants, [*dict.fromkeys([first, *texts])]


def _part(model: Any) -> str:
    return PARTS[type(model.operations[-1])]


def _inputs(model: Any) -> list[dict[str, Any]]:
    """What a page can show about each input."""
    names = "identifier", "name", "low", "high", "integer", "levels", "unit"
    return [{n: getattr(one, n) for n in names} for one in model.source.inputs]


def _text(value: Any) -> str:
    """JSON in ASCII that ends neither a literal nor a <script> of HTML."""
    text = json.dumps(value, allow_nan=False)
    return "".join(f"\\u{ord(c):04x}" if c in "<>&" else c for c in text)


def _literal(value: Any) -> str:
    """Write a value as JavaScript."""
    if isinstance(value, np.ndarray):
        values, is_float = value.ravel().tolist(), value.dtype.kind == "f"
        # Nine digits of a float32 lose nothing.
        words = [f"{v:.9g}" if is_float else str(v) for v in values]
        lines = (", ".join(words[i : i + 8]) for i in range(0, len(words), 8))
        text = "[\n  " + ",\n  ".join(lines).replace("nan", "NaN") + ",\n]"
        return f"new Float32Array({text})" if is_float else text
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(map(_text, value)) + ",\n]"
    return _text(value.item() if isinstance(value, np.generic) else value)


def declared(constants: Mapping[str, Any], before: str = "") -> str:
    """Declare constants."""
    return "".join(
        f"{before}const {n} = {_literal(v)};\n" for n, v in constants.items()
    )


_HEAD = "// SPDX-License-Identifier: 0BSD. This generated code is yours.\n"
_JAVASCRIPT = Language(
    "javascript/program.in",
    declared,
    lambda words: words[0] + "".join(map(str.capitalize, words[1:])),
)
