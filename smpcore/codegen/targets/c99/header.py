"""The C header of a model: names of inputs, constants, declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from smpcore.codegen.conversions import count_conversion
from smpcore.codegen.identity import interface_id, library_version, model_id
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.names import c_float
from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.targets.c99.answer import margin_words
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import CASTS, CASTS_END
from smpcore.codegen.targets.c99.inputs import MAX_MASK
from smpcore.codegen.targets.c99.probability import probability_declaration
from smpcore.errors import ExportError

#: Most inputs, and most levels of a category: an AVR's enum has 16 bits.
MAX_INPUTS = 2**15 - 1
MAX_CLASSES = 2**16


def check_size(model: Any) -> None:
    """Refuse a model that the format cannot hold."""
    entries = model.source.inputs
    sizes = {
        "inputs": (len(entries), MAX_INPUTS),
        "levels of a category": (max(len(e.levels) for e in entries), MAX_INPUTS),
        "classes": (model.n_outputs, MAX_CLASSES),
    }
    for what, (size, most) in sizes.items():
        if size > most:
            raise ExportError(
                f"The model has {size} {what}, but generated C holds at most {most}; "
                "fit a smaller model."
            )


def header(c: Source, named: bool) -> str:
    """The header file: guard, names of inputs and levels, and what is declared."""
    inputs, n = c.model.inputs if named else (), len(c.model.inputs)
    entries = c.model.source.inputs if named else ()
    words = {
        "id": model_id(c.model),
        "format": SCHEMA,
        "version": library_version(),
        "interface": f"0x{interface_id(c.model)}UL",
        "n_inputs": n,
        "counter": unsigned(n),
        "n_classes": c.model.n_outputs,
        "probability": probability_declaration(c),
    }
    words["inputs"] = input_names(c, [(one, note(c, one)) for one in inputs])
    words["levels"] = "".join(_levels(c, entry) for entry in entries if entry.levels)
    check = "check, bits" if n <= MAX_MASK else "check, count"
    words["check"] = c.text(check, words, "header")
    is_named = not c.model.is_regression
    words["classes"] = c.text("classes", words, "header") if is_named else ""
    words["about"] = _about(c, inputs)
    words["answer"] = _answer(c, words)
    return c.text("frame", words, "header")


def _levels(c: Source, entry: CompiledInput) -> str:
    """Names of a category's levels."""
    words = ((f"{c.m}_IS_{word.upper()}", "") for word in entry.level_identifiers)
    column = entry.identifier.upper()
    return c.text("levels", {"column": column, "enum": _enum(words)}, "header")


def input_names(c: Source, inputs: Sequence[tuple[Any, str]]) -> str:
    """Names of the places of inputs, with the comment behind each."""
    bare = ((one.given if isinstance(one, QuantInput) else one, n) for one, n in inputs)
    names = ((f"{c.m}_IN_{one.identifier.upper()}", text) for one, text in bare)
    return _enum(names) if inputs else ""


def _enum(entries: Iterable[tuple[str, str]]) -> str:
    """Names of the numbers from 0, with the comment behind each."""
    entries = list(entries)
    lines = [
        f"    {name} = {value}{',' if value < len(entries) - 1 else ''}{note}"
        for value, (name, note) in enumerate(entries)
    ]
    return "\n".join(["enum {", *lines, "};"])


def _about(c: Source, inputs: Sequence[Any]) -> str:
    """What an input can be, in a comment and constants."""
    missing = "None may be missing."
    if any(entry.missing is not None for entry in c.model.source.inputs):
        missing = "NAN: missing, counts as a typical training value."
    if not c.model.is_integer:
        return c.text("about floats", {"missing": missing}, "header")
    words = {
        "largest": c.model.largest,
        "ranges": input_ranges(c, inputs),
        "counts": input_counts(c, inputs, c.model.width),
        "ends": " and ".join(map(str, container_ends(c.model.width))),
    }
    return c.text("about integers", words, "header")


def input_ranges(c: Source, inputs: Sequence[QuantInput]) -> str:
    """Constants of each number: how it becomes an integer, and its range."""
    numbers = (
        {
            "column": one.given.identifier.upper(),
            **{
                name: _constant(getattr(one, name))
                for name in ("zero", "per_unit", "low", "high")
            },
        }
        for one in inputs
        if one.is_number
    )
    return "".join(c.text("range", words, "header") for words in numbers)


def input_counts(c: Source, inputs: Sequence[QuantInput], width: int) -> str:
    """How whole numbers become integers without floats."""
    text = ""
    for one in inputs:
        if found := count_conversion(one, width):
            words = found._asdict() | {"column": one.given.identifier.upper()}
            words["error"] = f"{np.ceil(1e4 * found.error) / 1e4:.5g}"
            unlike = f", {found.differ} unlike {c.prefix}_quantise"
            words["differ"] = unlike if found.differ else ""
            text += c.text("count", words, "header")
    ends = dict(zip(("least", "most"), container_ends(width), strict=True))
    ends |= {"casts": CASTS, "casts_end": CASTS_END}
    return c.text("counts", ends, "header") + text if text else ""


def _constant(value: float) -> str:
    """A float that can stand in any expression."""
    text = c_float(value)
    return f"({text})" if text.startswith("-") else text


def unit_note(unit: str) -> str:
    """A user's unit, behind a number in a comment: letters and signs of units only."""
    printable = re.sub(r"[^A-Za-z0-9 .%^/-]", "", unit).strip()
    return f" {printable}" if printable else ""


def note(c: Source, one: CompiledInput | QuantInput) -> str:
    """Comment behind the name of an input."""
    entry = one.given if isinstance(one, QuantInput) else one
    if entry.levels:
        return f" /* {c.m}_IS_{entry.identifier.upper()}_..., or -1: unknown */"
    unit, trained = unit_note(entry.unit), f"{entry.low:.6g} to {entry.high:.6g}"
    if entry is one:
        return f" /* {trained}{unit} */"
    exact = [f"{one.low:.6g} to {one.high:.6g}"] if one.exact else []
    return f" /* {', '.join([one.formula, *exact, f'{trained} in training{unit}'])} */"


def _answer(c: Source, words: dict[str, Any]) -> str:
    """Declarations of the functions that answer, and of integers their constants."""
    model, step, conversion = c.model, "", []
    tie, words = c_float(np.float32(model.tie)), words | {"unit": "", "steps": ""}
    if model.is_integer:
        tie = f"{model.tie}{'L' if model.accumulator == 32 else ''}"
        step, conversion = f", in steps of {model.step:.9g}", ["declare conversion"]
        constants = {"step": c_float(model.step), "offset": _constant(model.shift)}
        words["steps"] = c.text("step", constants, "header")
        if model.is_regression:
            words["unit"] = f"{step} above {model.shift:.9g}"
            words["steps"] += c.text("offset", constants, "header")
            conversion.append("declare value")
    words["conversion"] = "".join(c.text(one, words, "header") for one in conversion)
    if model.is_regression:
        return c.text("answer, regression", words, "header")
    words |= {"relative": "; the largest wins.", "tie": tie}
    if model.is_integer:
        less = ", less that of class 0" if model.relative else ""
        words["relative"] = f"{less}{step}."
    margin = margin_words(c)
    words["margin"] = c.text("declare margin", margin, "header")
    if margin["band"]:
        words["margin"] += c.text("declare sure", margin, "header")
    return c.text("answer, classes", words, "header")
