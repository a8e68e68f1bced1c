"""One zip with everything that a model needs on its way to a chip."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.json_text import schema
from smpcore.codegen.names import c_float
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.readme import readme
from smpcore.codegen.targets.c99.frame import FLAGS, LICENCE
from smpcore.codegen.targets.c99.selftest import selftest_files
from smpcore.codegen.targets.c99.source import emit_c99
from smpcore.codegen.targets.c99.tables import number_types
from smpcore.codegen.targets.python import emit_plain_python
from smpcore.codegen.vectors import TestVectors

#: The oldest date a zip can hold: the same model always gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def bundle(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str = "mdl"
) -> bytes:
    """Pack sources, model, test vectors and instructions.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        In 32-bit floats, or in integers.
    vectors : TestVectors
        Made by `test_vectors` for this model.
    prefix : str, default "mdl"
        Begin of every name in the C code; a C identifier.

    Returns
    -------
    bytes
        A zip, the same bytes for the same arguments.
    """
    files, tests = emit_c99(model, prefix), selftest_files(model, vectors, prefix)
    texts = {
        **documents(model),
        **tests,
        "example_host.c": _example(model, prefix),
        "Makefile": _makefile(
            *(sorted(n for n in f if n.endswith(".c")) for f in (files, tests))
        ),
        "README.md": readme(model, vectors, prefix),
    }
    return packed(files, texts)


def documents(model: CompiledModel | QuantModel) -> dict[str, str]:
    """The model for programs: JSON, its schema, and plain Python where there is any.

    Parameters
    ----------
    model : CompiledModel or QuantModel

    Returns
    -------
    dict of str to str
    """
    texts = {
        "model.json": model.to_json(),
        "model.schema.json": json.dumps(schema(model), indent=1) + "\n",
    }
    if model.is_integer:
        texts["mdl.py"] = emit_plain_python(model)
    return texts


def packed(
    files: Mapping[str, bytes], texts: Mapping[str, str], folder: str = ""
) -> bytes:
    """Files and texts as a zip, the same bytes whenever and wherever.

    Parameters
    ----------
    files : mapping of str to bytes
    texts : mapping of str to str
    folder : str, optional
        Begins every path.

    Returns
    -------
    bytes
    """
    whole = dict(files)
    whole |= {
        name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()
    }
    made = io.BytesIO()
    # Stored, not deflated: compressed bytes would depend on the machine's zlib.
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(whole):
            entry = zipfile.ZipInfo(f"{folder}{name}", date_time=_DATE)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, whole[name])
    return made.getvalue()


def _example(model: CompiledModel | QuantModel, prefix: str) -> str:
    """A program that answers one row of the user's table, then tests itself."""
    m, whole = prefix.upper(), model.is_integer
    entries = model.source.inputs if whole else model.inputs
    values = "\n".join(
        f"    {c_float((e.low + e.high) / 2 if not e.levels else 0)},"
        f" /* {m}_IN_{e.identifier.upper()} */"
        for e in entries
    )
    kind = number_types(model)[0]
    given, declare, convert, test, wrong = "values", "", "", "", ""
    if whole:
        given, wrong = "x", " || wrong != 0"
        declare = f"    {kind} x[{m}_N];\n    unsigned wrong;\n"
        convert = f"    {prefix}_quantise(values, x);\n"
        test = f"""\
    wrong = {prefix}_selftest_quantise();
    printf("conversion: %u of %u differ\\n", wrong, (unsigned){m}_CONVERSIONS);
"""
    answer = f'    printf("%s\\n", {prefix}_label({prefix}_predict({given})));'
    if model.is_regression:
        value = f"(double){prefix}_predict({given})"
        if whole:
            value = f"{value} * {model.step!r} + {model.shift!r}"
        answer = f'    printf("%.9g\\n", {value});'
    return f"""\
{LICENCE}
/* Answers one row of the table, then tries the test vectors. */
#include <stdio.h>

#include "model.h"
#include "selftest.h"

/* The middle of every range, in the units of the table. */
static const float values[{m}_N] = {{
{values}
}};

int main(void)
{{
{declare}    unsigned count;

{convert}{answer}
    count = {prefix}_selftest();
    printf("selftest: %u of %u differ\\n", count, (unsigned){m}_VECTORS);
{test}    return count != 0{wrong};
}}
"""


def _makefile(files: Iterable[str], tests: Iterable[str]) -> str:
    """Rules that compile a model, and its self-test."""
    sources, tests = (
        " ".join(sorted(name for name in names if name.endswith(".c")))
        for names in (files, tests)
    )
    chips = "\n".join(
        f"{name}:\n\t{tools}-gcc {flags} $(FLAGS) -Os -c $(SOURCES)\n"
        f"\t{tools}-size $(SOURCES:.c=.o)\n"
        for name, (tools, flags) in _CHIPS.items()
    )
    return _MAKEFILE.format(
        flags=FLAGS,
        sources=sources,
        tests=tests,
        chips=chips,
        names=" ".join(_CHIPS),
    )


#: Goal of make -> begin of the tools' names, flags.
_CHIPS = {
    "avr": ("avr", "-mmcu=atmega328p"),
    "cortex-m0": ("arm-none-eabi", "-mcpu=cortex-m0 -mthumb"),
    "cortex-m4f": (
        "arm-none-eabi",
        "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
    ),
}

_MAKEFILE = """\
FLAGS = {flags}
SOURCES = {sources}
TESTS = {tests}

# Compile for this computer and run the self-test.
host: example_host
\t./example_host

example_host: example_host.c $(TESTS) selftest.h test_vectors.h model.h $(SOURCES)
\t$(CC) $(FLAGS) -O2 -o $@ example_host.c $(TESTS) $(SOURCES)

# Compile for a chip and print the size: text is flash, data and bss are RAM.
{chips}
clean:
\trm -f example_host *.o

.PHONY: host {names} clean
"""
