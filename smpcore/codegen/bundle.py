"""One zip with everything that a model needs on its way to a chip."""

from __future__ import annotations

import io
import zipfile

import numpy as np

from smpcore.codegen.c99 import emit_c99
from smpcore.codegen.c_parts import FLAGS, LICENCE
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.names import c_float
from smpcore.codegen.readme import readme
from smpcore.codegen.vectors import TestVectors

#: The oldest date a zip can hold: the same model always gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def bundle(compiled: CompiledModel, vectors: TestVectors, prefix: str = "mdl") -> bytes:
    """Pack sources, model, test vectors and instructions.

    Parameters
    ----------
    compiled : CompiledModel
    vectors : TestVectors
        Made by `test_vectors` for this model.
    prefix : str, default "mdl"

    Returns
    -------
    bytes
        A zip, the same bytes for the same arguments.
    """
    files = emit_c99(compiled, prefix)
    texts = {
        "model.json": compiled.to_json(),
        "test_vectors.h": _vectors_header(compiled, vectors, prefix),
        "example_host.c": _example(compiled, prefix),
        "Makefile": _MAKEFILE,
        "README.md": readme(compiled, vectors, prefix),
    }
    files |= {
        name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()
    }
    packed = io.BytesIO()
    # Stored, not deflated: compressed bytes would depend on the machine's zlib.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=_DATE)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
    return packed.getvalue()


def _vectors_header(compiled: CompiledModel, vectors: TestVectors, prefix: str) -> str:
    m = prefix.upper()
    rows = ",\n".join(
        _row(r, k) for r, k in zip(vectors.rows, vectors.kinds, strict=True)
    )
    answers = _answers(compiled, vectors, prefix)
    return f"""\
{LICENCE}
#ifndef {m}_TEST_VECTORS_H
#define {m}_TEST_VECTORS_H

#include <math.h>

#include "model.h"

#define {m}_VECTORS {len(vectors.rows)} /* of them real rows: {vectors.n_real} */

static const float {prefix}_test_x[{m}_VECTORS][{m}_N] = {{
{rows}}};

/* What the emulator answers, bit for bit. */
{answers}
#endif
"""


def _answers(compiled: CompiledModel, vectors: TestVectors, prefix: str) -> str:
    m = prefix.upper()
    if compiled.is_regression:
        values = _row(vectors.scores[:, 0]).strip()
        return (
            f"static const float {prefix}_test_values[{m}_VECTORS] =\n    {values};\n"
        )
    scores = ",\n".join(_row(row) for row in vectors.scores)
    winners = ", ".join(map(str, vectors.winners))
    return f"""\
static const float {prefix}_test_scores[{m}_VECTORS][{m}_CLASSES] = {{
{scores}}};
static const unsigned {prefix}_test_class[{m}_VECTORS] = {{{winners}}};
"""


def _row(values: np.ndarray, note: str = "") -> str:
    words = ["NAN" if np.isnan(value) else c_float(value) for value in values]
    lines = [", ".join(words[i : i + 5]) for i in range(0, len(words), 5)]
    head = f"    /* {note} */\n" if note else ""
    return head + "    {" + ",\n     ".join(lines) + "}"


def _example(compiled: CompiledModel, prefix: str) -> str:
    m, first = prefix.upper(), f"{prefix}_predict({prefix}_test_x[0])"
    what, differs, kind = "score", _DIFFERS_CLASS, "%s"
    answer = f"{prefix}_label({first})"
    if compiled.is_regression:
        what, differs, kind = "value", _DIFFERS_VALUE, "%.9g"
        answer = f"(double){first}"
    differs = differs.replace("@M@", m).replace("@p@", prefix)
    return f"""\
{LICENCE}
/* Runs the model on its test vectors: each {what} must come out bit for bit. */
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "test_vectors.h"

{differs}
int main(void)
{{
    unsigned i;
    unsigned count = 0;

    for (i = 0; i < {m}_VECTORS; ++i) {{
        if (differs(i)) {{
            printf("vector %u differs\\n", i);
            ++count;
        }}
    }}
    printf("first vector: {kind}\\n", {answer});
    printf("selftest: %u of %u differ\\n", count, (unsigned){m}_VECTORS);
    return count != 0;
}}
"""


_DIFFERS_CLASS = """\
static int differs(unsigned i)
{
    float scores[@M@_CLASSES];

    @p@_scores(@p@_test_x[i], scores);
    return memcmp(scores, @p@_test_scores[i], sizeof scores) != 0
        || @p@_predict(@p@_test_x[i]) != @p@_test_class[i];
}
"""

_DIFFERS_VALUE = """\
static int differs(unsigned i)
{
    const float value = @p@_predict(@p@_test_x[i]);

    return memcmp(&value, &@p@_test_values[i], sizeof value) != 0;
}
"""

_MAKEFILE = f"""\
FLAGS = {FLAGS}

# Compile for this computer and run the self-test.
host: example_host
\t./example_host

example_host: example_host.c model.c model.h test_vectors.h
\t$(CC) $(FLAGS) -O2 -o $@ example_host.c model.c

# Compile for a chip and print the size: text is flash, data and bss are RAM.
avr:
\tavr-gcc -mmcu=atmega328p $(FLAGS) -Os -c -o model_avr.o model.c
\tavr-size model_avr.o

cortex-m0:
\tarm-none-eabi-gcc -mcpu=cortex-m0 -mthumb $(FLAGS) -Os -c -o model_m0.o model.c
\tarm-none-eabi-size model_m0.o

clean:
\trm -f example_host model_avr.o model_m0.o

.PHONY: host avr cortex-m0 clean
"""
