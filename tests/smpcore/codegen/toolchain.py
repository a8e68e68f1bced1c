"""Compile generated C for this computer."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from smpcore.codegen import emit_c99

#: Warnings, all of them errors.
STRICT = (
    "-std=c99 -O2 -pedantic -Wall -Wextra -Wconversion -Wdouble-promotion "
    "-Wfloat-conversion -Werror -ffp-contract=off"
).split()

#: Stop at the first undefined behaviour or bad address.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

_RUNNER = """
#include <stdio.h>
#include "model.h"
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
#include "model.h"
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


def write_sources(folder, compiled, main="") -> Path:
    """Put a model, and a program around it, into a folder."""
    folder = Path(folder)
    for name, content in emit_c99(compiled).items():
        (folder / name).write_bytes(content)
    if compiled.is_regression:
        main = _VALUE + main
    (folder / "main.c").write_text(main)
    return folder


def answers_in_c(compiled, rows, compiler="gcc", flags=()):
    """Scores and class indices that the compiled C gives."""
    with tempfile.TemporaryDirectory() as name:
        folder = write_sources(name, compiled, _RUNNER)
        files = ["-o", "run", "main.c", "model.c"]
        run(compiler, *STRICT, *flags, *files, cwd=folder)
        said = run(folder / "run", given=np.asarray(rows, np.float32).tobytes())
    record = [("scores", np.float32, (compiled.n_outputs,)), ("k", np.uint32)]
    told = np.frombuffer(said, np.dtype(record))
    assert len(told) == len(rows)
    return told["scores"], told["k"]
