"""Compile generated C for this computer."""

import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings

from smpcore.codegen import emit_c99

#: Warnings, all of them errors.
STRICT = (
    "-std=c99 -O2 -pedantic -Wall -Wextra -Wconversion -Wdouble-promotion "
    "-Wfloat-conversion -Werror -ffp-contract=off"
).split()

#: Stop at the first undefined behaviour or bad address.
SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all -O1".split()

#: For models that hypothesis draws and a compiler compiles: a fifth of what is usual.
COMPILED = settings(
    max_examples=settings.default.max_examples // 5,
    suppress_health_check=[HealthCheck.too_slow],
)

_RUNNER = """
#include <stdio.h>
#include "mdl.h"
#ifndef MDL_CLASS
#define MDL_CLASS mdl_predict
#endif
int main(void)
{
    static float x[MDL_N], scores[MDL_CLASSES];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        const unsigned k = MDL_CLASS(x);
        mdl_scores(x, scores);
        fwrite(scores, sizeof scores, 1, stdout);
        fwrite(&k, sizeof k, 1, stdout);
    }
    return 0;
}
"""


# A model with one value has no scores: what the programs above ask for instead.
_VALUE = """
#include "mdl.h"
#define MDL_CLASSES 1
#define MDL_CLASS(x) 0
#define mdl_scores(x, scores) ((void)(*(scores) = mdl_predict(x)))
"""


class CommandFailed(AssertionError):
    """A command ended with an error; the message is what it said."""


def run(*command, cwd=None, given=None) -> bytes:
    """Run a command and return what it wrote."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, input=given, capture_output=True)
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace")
        raise CommandFailed(f"{' '.join(words)}\n{said}")
    return done.stdout


def sources(compiled, main="") -> dict[str, bytes]:
    """The files of a model, and of a program around it."""
    value = _VALUE if compiled.is_regression else ""
    return {**emit_c99(compiled), "main.c": (value + main).encode()}


def write(folder, files) -> Path:
    """Put files into a folder."""
    folder = Path(folder)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def write_sources(folder, compiled, main="") -> Path:
    """Put a model, and a program around it, into a folder."""
    return write(folder, sources(compiled, main))


@lru_cache(maxsize=2)
def _built(compiler, flags, files):
    """A folder with these C files, compiled; the next rows may be of the same model."""
    folder = tempfile.TemporaryDirectory()
    write(folder.name, dict(files))
    names = [name for name, _ in files if name.endswith(".c")]
    run(compiler, *STRICT, *flags, "-o", "run", *names, cwd=folder.name)
    return folder


def told(files, rows, record, compiler, flags):
    """What a program of these files answers to rows, as an array of records."""
    folder = _built(compiler, tuple(flags), tuple(files.items()))
    found = np.frombuffer(run(f"{folder.name}/run", given=rows.tobytes()), record)
    assert len(found) == len(rows)
    return found


def answers_in_c(compiled, rows, compiler="gcc", flags=()):
    """Scores and class indices that the compiled C gives."""
    record = [("scores", np.float32, (compiled.n_outputs,)), ("k", np.uint32)]
    files, rows = sources(compiled, _RUNNER), np.asarray(rows, np.float32)
    found = told(files, rows, record, compiler, flags)
    return found["scores"], found["k"]


def unnoticed(folder, files, source="mdl.c", flags=("-fsanitize=address",)):
    """Table and place of every number of a C file, and of those that may be wrong.

    The program is compiled once; then one number of its tables at a time is changed in
    the program's own bytes. Where it does not fail, nothing has noticed.
    """
    program = Path(folder) / "wrong"
    # Nothing is constant: or the compiler puts some of the numbers into its code.
    how = ["-std=c99", "-w", "-Dconst=", "-fno-zero-initialized-in-bss", *flags]
    run("gcc", *how, "-o", program, *files, cwd=folder)
    run(program)
    right, every, unseen = program.read_bytes(), [], []
    for table, numbers, at in _tables(program, (program.parent / source).read_text()):
        for place in range(len(numbers)):
            changed = _one_off(table, numbers, place).tobytes()
            program.write_bytes(right[:at] + changed + right[at + len(changed) :])
            every.append((table, place))
            try:
                run(program)
                unseen.append((table, place))
            except CommandFailed:
                pass
    return every, unseen


def _tables(program, source):
    """Name and numbers of each table of a C file, and where a program holds them."""
    symbols, content = run("nm", program).decode(), program.read_bytes()
    sections = run("readelf", "-SW", program).decode()
    data = re.search(r" \.data +PROGBITS +(\w+) (\w+)", sections).groups()
    address, offset = (int(word, 16) for word in data)
    found = r"static const (\w+) (\w+)\[\d+\] MDL_CONST = \{([^}]*)\}"
    for kind, name, text in re.findall(found, source):
        numbers = np.array(
            [float(n.rstrip("fuUL")) for n in re.findall(r"[^\s,]+", text)]
        )
        numbers = numbers.astype(
            "float32" if kind == "float" else kind.removesuffix("_t")
        )
        at = int(re.search(rf"(\w+) \w {name}$", symbols, re.M)[1], 16)
        at += offset - address
        assert content[at:].startswith(numbers.tobytes())
        yield name, numbers, at


def _one_off(table, numbers, place):
    """A table with one number changed: an integer by 1, a float in its sixth digit.

    The last coefficients of 2^-u hardly count, and a zero has no digit.
    """
    wrong = numbers.copy()
    if numbers.dtype.kind == "f":
        small = table.endswith("exp2") or not numbers[place]
        wrong[place] = float(numbers[place]) * 1.00001 + (1e-3 if small else 1e-30)
    else:
        wrong[place] += wrong.dtype.type(1)
    return wrong
