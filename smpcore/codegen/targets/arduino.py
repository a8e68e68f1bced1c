"""A model as an Arduino library: its C, a sketch that answers rows, and a self-test.

The layout is that of the library specification 1.5 (revision 2.2).
"""

from __future__ import annotations

import re

from smpcore.codegen.package import Files, Package
from smpcore.codegen.readme import use_in_c
from smpcore.codegen.target import Target
from smpcore.codegen.targets.c_libraries import library
from smpcore.codegen.targets.sketches import ask_sketch, self_test_sketch
from smpcore.errors import ExportError


def _arduino(package: Package) -> Files:
    """Write properties, sources and sketches."""
    model, name = package.model, package.name
    if name.startswith("arduino"):
        raise ExportError(
            f"name={name!r} should not begin with 'arduino': Arduino keeps such names "
            "for its own libraries."
        )
    return library(package) | {
        "library.properties": _properties(package),
        "keywords.txt": _keywords(package.sources[f"{name}.h"], name),
        "examples/Ask/Ask.ino": ask_sketch(model, name),
        "examples/SelfTest/SelfTest.ino": self_test_sketch(model, name),
    }


def _use_arduino(package: Package) -> str:
    name, n = package.name, len(package.vectors.rows)
    return f"""\
1. In the Arduino IDE choose *Sketch, Include Library, Add .ZIP Library* and this zip.
2. *File, Examples, {name}, SelfTest* tries {n} test vectors on your board: open the
   serial monitor at 9600 baud, it says `selftest: 0 of {n} differ`. *Ask* reads rows
   from the serial monitor and prints class and scores.
3. In a sketch of your own:

{use_in_c(package, f"<{name}.h>", _PRINT_LABEL)}
Before you pass the library on, put your name and address into `library.properties`.
"""


def _properties(package: Package) -> str:
    name = package.name
    return f"""\
name={name}
version=1.0.0
author=Sparse Prototype Explorer
maintainer=Whoever exported the model <your.name@example.com>
sentence=A trained {package.what}.
paragraph={package.source.in_words}; no heap, no other library, tables in flash.
category=Data Processing
url=https://example.com/
architectures=*
includes={name}.h
"""


def _keywords(header: str, name: str) -> str:
    """Names that the IDE colours: the functions and constants of the header."""
    functions = re.findall(rf"\b({name}_\w+)\(", header)
    m = name.upper()
    constants = re.findall(rf"(?:#define |^    )({m}_\w+) ", header, re.MULTILINE)
    lines = [f"{word}\tKEYWORD2" for word in dict.fromkeys(functions)]
    lines += [f"{word}\tLITERAL1" for word in dict.fromkeys(constants)]
    return "\n".join(lines) + "\n"


#: On an AVR a label lies in flash, where `puts` does not look for it.
_PRINT_LABEL = "Serial.println((const __FlashStringHelper *){label});"

ARDUINO = Target("Arduino library", _arduino, _use_arduino)
