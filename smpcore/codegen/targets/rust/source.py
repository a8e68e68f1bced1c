"""A model as a crate of Rust without `std`, any other crate, or unsafe code.

Rust neither contracts nor reorders operations of floats: each result has the bits of
the emulator. Integers are proved to fit, so a build that checks for overflow runs too.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from smpcore.codegen.constants import smallest, smallest_signed
from smpcore.codegen.describe import SCHEMA
from smpcore.codegen.names import c_float, without_surrogates
from smpcore.codegen.package import Files, Package
from smpcore.codegen.targets.scripts import (
    Constants,
    Language,
    constants_of_interval,
    script,
)

#: Array of an operation -> constant of its length.
_LENGTHS = {"BIAS": "N_SUMS", "FACTOR": "N_FEATURES", "CONSTANT": "N_ANCHORS"}
#: Constant -> type; of others it follows from the value.
_TYPES = {
    **dict.fromkeys(("CODE_SIZE", "MOST_STEPS", "WITHOUT_CODE", "FALLBACK"), "usize"),
    **dict.fromkeys(("LEAD_BELOW", "LEAD_ABOVE", "LEAD_PER_UNIT"), "Lead"),
    **dict.fromkeys(("TIE", "NOT_SURE"), "Lead"),
    "TOP": "i32",
}


def emit_rust(model: Any, name: str = "mdl", number: str = "", what: str = "") -> str:
    """Write a model as the root of a crate."""
    floats = {"cell": "f32", "score": "f32", "lead": "f32"}
    whole = {"cell": f"i{getattr(model, 'width', 0)}", "score": "i32", "lead": "i64"}
    kinds = whole if model.is_integer else floats

    def declared(constants: Constants, before: str = "") -> str:
        return "".join(
            f"{_declared(n, v, kinds['lead'], before)}\n" for n, v in constants.items()
        )

    language = Language("rust/program.in", declared, "_".join)
    more, texts, _ = script(model, language, "input_values(x)")
    first = language.text("integers" if model.is_integer else "floats")
    text = "\n".join(dict.fromkeys(filter(None, [first, *texts])))
    inputs = [entry.identifier.upper() for entry in model.source.inputs]
    public = {"NAME": name, "ID": number, "FORMAT": SCHEMA, "N_INPUTS": len(inputs)}
    public |= {f"IN_{one}": place for place, one in enumerate(inputs)}
    public |= {"LABELS": list(model.labels)} if model.labels else {}
    public |= {"N_ROWS": model.n_rows, **constants_of_interval(model)}
    more |= {n: len(more[one]) for one, n in _LENGTHS.items() if one in more}
    used = {n: v for n, v in more.items() if re.search(rf"\b{n}\b", text)}
    head = language.text("head", what=what, id=number, **kinds)
    return "\n".join([head, declared(public, "pub "), declared(used), text])


def _declared(name: str, value: Any, lead: str, before: str) -> str:
    """A constant with its type; arrays of integers have the smallest."""
    if isinstance(value, list | np.ndarray):
        kind, words = _array(name, value)
        lines = [", ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
        text = "".join(f"    {line},\n" for line in lines)
        skip = "#[rustfmt::skip]\n"  # it would write one number a line
        return f"{skip}{before}static {name}: [{kind}; {len(words)}] = [\n{text}];"
    if isinstance(value, str):
        return f"{before}const {name}: &str = {_text(value)};"
    kind = "usize" if name.startswith(("N_", "IN_")) else _TYPES.get(name)
    kind = kind or {np.float32: "f32", float: "f64"}.get(type(value), "u32")
    is_float = (lead if kind == "Lead" else kind).startswith("f")
    return f"{before}const {name}: {kind} = {float(value) if is_float else value};"


def _array(name: str, values: Any) -> tuple[str, list[str]]:
    """Type of the entries of an array, and each as a literal."""
    if isinstance(values, list):  # texts, or nothing
        return "&str" if values else "u8", [_text(value) for value in values]
    values = values.ravel()
    if values.dtype.kind == "f":
        return "f32", [_float(value) for value in values]
    has_signs = name == "LEVEL" or values.min(initial=0) < 0
    values = smallest_signed(values) if has_signs else smallest(values)
    return f"{values.dtype.kind}{8 * values.itemsize}", list(map(str, values))


def _float(value: Any) -> str:
    return "f32::NAN" if np.isnan(value) else c_float(value).rstrip("f")


def _text(text: str) -> str:
    """A literal in ASCII: what is no plain character is an escape."""
    known = without_surrogates(text)
    escaped = re.sub(r"[^ !#-\[\]-~]", lambda m: rf"\u{{{ord(m[0]):x}}}", known)
    return f'"{escaped}"'


def rust(package: Package) -> Files:
    """The root of the crate, and the model for programs."""
    text = emit_rust(package.model, package.name, package.id, package.what)
    return package.documents | {"src/lib.rs": text}
