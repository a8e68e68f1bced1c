"""What every C file of a model has around its functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smpcore.codegen.identity import model_id
from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.targets.c99.constant_tables import Source
from smpcore.codegen.templates import sections

#: What keeps every score equal to the emulator's, and the compiler strict.
FLAGS = "-std=c99 -pedantic -Wall -Wextra -ffp-contract=off"
LICENCE = "/* SPDX-License-Identifier: 0BSD. This generated code is yours. */"

_TEXTS = sections("c99/files.in")
#: Every file is C, also for a C++ compiler, whose own casts C does not know; and a NaN
#: is told by being unequal to itself. Another file may stand behind it in one unit.
CASTS, CASTS_END = _TEXTS["casts"], _TEXTS["casts end"]

#: For a file that computes with floats. Parts of -ffast-math that older compilers do
#: not tell of are taken back, and at its end given again.
FLOAT_RULES, FLOAT_RULES_END = _TEXTS["float rules"], _TEXTS["float rules end"]


def head(model: Any, prefix: str) -> str:
    """First lines of every file: licence, which model it is, what it gives away."""
    about = f"Model {prefix}, ID {model_id(model)}, {model.number}"
    text = f"{LICENCE}\n/* {about}, format {SCHEMA}. */\n"
    if rows := model.n_training_rows:
        text += f"/* Contains {rows} training rows (support vectors). */\n"
    return text


def preamble(c: Source, sizes: Mapping[str, int], rules: str = "") -> str:
    """Begin of a source file: includes, how tables are read, constants."""
    defines = "\n".join(f"#define {c.m}_{name} {n}" for name, n in sizes.items())
    flash, memory = c.readers()
    words = {"casts": CASTS, "rules": rules, "defines": defines}
    return c.text("preamble", words | {"flash": flash, "memory": memory}, "files")
