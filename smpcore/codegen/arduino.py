"""A model as an Arduino library: its C, a sketch that answers rows, and a self-test.

The layout is that of the library specification 1.5 (revision 2.2). All files have a
name of their own for every prefix, since all libraries share one search path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from smpcore.codegen import readme_parts as parts
from smpcore.codegen.bundle import documents, packed
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.readme import facts
from smpcore.codegen.sketches import ask_sketch, self_test_sketch
from smpcore.codegen.targets.c99.selftest import selftest_files
from smpcore.codegen.targets.c99.source import emit_c99
from smpcore.codegen.vectors import TestVectors


def emit_arduino(
    model: CompiledModel | QuantModel, prefix: str = "mdl"
) -> dict[str, bytes]:
    """Write what an Arduino library needs: properties, sources and a sketch.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        In 32-bit floats, or in integers.
    prefix : str, default "mdl"
        Begins every name in the files, and ends that of the library.

    Returns
    -------
    dict of str to bytes
        Path inside the library -> content.

    Raises
    ------
    ExportError
        See `emit_c99`.
    """
    sources = {n: text.decode("ascii") for n, text in emit_c99(model, prefix).items()}
    texts = {
        "library.properties": _properties(model, prefix),
        "keywords.txt": _keywords(sources["model.h"], prefix),
        **_sources(sources, prefix),
        "examples/Ask/Ask.ino": ask_sketch(model, prefix, _name(prefix)),
    }
    return {path: text.encode("ascii") for path, text in texts.items()}


def arduino_library(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str = "mdl"
) -> bytes:
    """Pack a model as a library that the Arduino IDE adds as it is.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model to write as C, in 32-bit floats or in integers.
    vectors : TestVectors
        Made by `test_vectors` for this model.
    prefix : str, default "mdl"
        Begin of every name in the C code; a C identifier.

    Returns
    -------
    bytes
        A zip with one folder, the same bytes for the same arguments.
    """
    texts = {
        "README.md": _readme(model, vectors, prefix),
        **_sources(selftest_files(model, vectors, prefix), prefix),
        "examples/SelfTest/SelfTest.ino": self_test_sketch(
            model, prefix, _name(prefix)
        ),
        **{f"extras/{name}": text for name, text in documents(model).items()},
    }
    return packed(emit_arduino(model, prefix), texts, f"{_name(prefix)}/")


def _name(prefix: str) -> str:
    """Of the library: no official one, which would begin with Arduino."""
    return f"model_{prefix}"


def _sources(files: Mapping[str, str], prefix: str) -> dict[str, str]:
    """C files where a library has them, named so that those of two models differ."""

    def own(name: str) -> str:
        return _name(prefix) + (name[5:] if name.startswith("model") else f"_{name}")

    def include(found: re.Match[str]) -> str:
        return f'#include "{own(found[1])}"'

    renamed = {}
    for name, text in files.items():
        renamed[f"src/{own(name)}"] = re.sub(r'#include "(\w+\.h)"', include, text)
    return renamed


def _source(model: CompiledModel | QuantModel) -> CompiledModel:
    """The model in floats, which knows the inputs as the user does."""
    return model.source if model.is_integer else model


def _what(model: CompiledModel | QuantModel) -> str:
    """Kind of answer, inputs and numbers, in a phrase without a user's word."""
    numbers, n = "32-bit floats", len(model.inputs)
    if model.is_integer:
        numbers = f"{model.width}-bit integers"
    kind = "regression" if model.is_regression else f"{model.n_outputs} classes"
    return f"{kind} from {n} input{'s' * (n != 1)}, in {numbers}"


def _properties(model: CompiledModel | QuantModel, prefix: str) -> str:
    return f"""\
name={_name(prefix)}
version=1.0.0
author=Sparse Prototype Explorer
maintainer=Whoever exported the model <your.name@example.com>
sentence=A trained model: {_what(model)}.
paragraph={_source(model).in_words}; no heap, no other library, tables in flash.
category=Data Processing
url=https://example.com/
architectures=*
includes={_name(prefix)}.h
"""


def _keywords(header: str, prefix: str) -> str:
    """Names that the IDE colours: the functions and constants of the header."""
    functions = re.findall(rf"\b({prefix}_\w+)\(", header)
    m = prefix.upper()
    constants = re.findall(rf"(?:#define |^    )({m}_\w+) ", header, re.MULTILINE)
    lines = [f"{name}\tKEYWORD2" for name in dict.fromkeys(functions)]
    lines += [f"{name}\tLITERAL1" for name in dict.fromkeys(constants)]
    return "\n".join(lines) + "\n"


def _readme(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str
) -> str:
    source, what = _source(model), _what(model)
    warnings = "".join(f"\n**{text}**\n" for text in model.warnings)
    head = _README.format(
        title=what[0].upper() + what[1:],
        size=source.in_words,
        library=_name(prefix),
        real=parts.origin_of_vectors(vectors),
        n=len(vectors.rows),
        warnings=warnings,
    )
    return "\n".join(
        [
            head,
            *facts(model, vectors, prefix),
            parts.origin(source, model.to_json()),
            _FILES.format(library=_name(prefix)),
        ]
    )


_README = """\
# {title}

An Arduino library. {size}; C99 inside, no heap, no other library. Test vectors: {real}.
{warnings}
## Use

1. In the Arduino IDE choose *Sketch, Include Library, Add .ZIP Library* and this zip.
2. *File, Examples, {library}, Ask* reads rows from the serial monitor and prints class
   and scores; *SelfTest* tries {n} test vectors on your board.
3. In a sketch of your own: `#include <{library}.h>`.
"""

_FILES = """\
## Files

`src/{library}.h` says what there is to call. `extras`: the model for programs, and
what its JSON holds. Before you pass the library on, put your name and address into
`library.properties`. Licence of the code: 0BSD, it is yours.
"""
