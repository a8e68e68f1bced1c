"""Compile generated C for this computer and for two chips."""

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

#: Chip -> (begin of the tools' names, flags, libraries). The Cortex-M0 is linked
#: without a C library, so that none can be needed.
CHIPS = {
    "ATmega328P": ("avr", ["-mmcu=atmega328p"], []),
    "Cortex-M0": (
        "arm-none-eabi",
        ["-mcpu=cortex-m0", "-mthumb", "-nostdlib", "-Wl,-e,main"],
        ["-lgcc"],
    ),
}

# The same program with and without the model; the inputs are in both.
_CHIP_MAIN = """
#include "model.h"
float x[MDL_N];
volatile unsigned answer;
int main(void)
{
    x[0] = 1.0f;
#ifdef WITH_MODEL
    answer = mdl_predict(x);
#else
    answer = 0;
#endif
    return 0;
}
"""

_RUNNER = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    static float x[MDL_N], scores[MDL_CLASSES];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        const unsigned k = mdl_predict(x);
        mdl_scores(x, scores);
        fwrite(scores, sizeof scores, 1, stdout);
        fwrite(&k, sizeof k, 1, stdout);
    }
    return 0;
}
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
    (folder / "main.c").write_text(main)
    return folder


def answers_in_c(compiled, rows, compiler="gcc", flags=()):
    """Scores and class indices that the compiled C gives."""
    with tempfile.TemporaryDirectory() as name:
        folder = write_sources(name, compiled, _RUNNER)
        files = ["-o", "run", "main.c", "model.c"]
        run(compiler, *STRICT, *flags, *files, cwd=folder)
        said = run(folder / "run", given=np.asarray(rows, np.float32).tobytes())
    record = [("scores", np.float32, (len(compiled.classes),)), ("k", np.uint32)]
    told = np.frombuffer(said, np.dtype(record))
    assert len(told) == len(rows)
    return told["scores"], told["k"]


def chip_size(compiled, chip):
    """Bytes of flash and of static RAM that a model adds to a program on a chip."""
    tools, flags, libraries = CHIPS[chip]
    command = [f"{tools}-gcc", *STRICT, "-Os", *flags]
    command += ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    sizes = []
    with tempfile.TemporaryDirectory() as name:
        folder = write_sources(name, compiled, _CHIP_MAIN)
        for define in ([], ["-DWITH_MODEL"]):
            files = ["main.c", "model.c", "-o", "chip.elf"]
            run(*command, *define, *files, *libraries, cwd=folder)
            table = run(f"{tools}-size", folder / "chip.elf").decode()
            text, data, bss = map(int, table.splitlines()[1].split()[:3])
            sizes.append((text + data, data + bss))
    (flash_0, ram_0), (flash, ram) = sizes
    return flash - flash_0, ram - ram_0
