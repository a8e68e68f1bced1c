"""Compile generated C for this computer and for two chips."""

import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from smpcore.codegen import emit_c99
from smpcore.codegen.inputs import to_float32

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
#ifndef MDL_ANSWER
#define MDL_ANSWER unsigned
#endif
float x[MDL_N];
volatile MDL_ANSWER answer;
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

# A program that tells something to the serial port; sleeping without interrupts ends
# the simulation.
_AVR_START = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include "model.h"
static void tell(char letter)
{
    loop_until_bit_is_set(UCSR0A, UDRE0);
    UDR0 = (uint8_t)letter;
}
static void finish(void)
{
    tell('\\n');
    cli();
    sleep_mode();
}
"""

# Compares the scores of rows that lie in flash, bit for bit.
_AVR_MAIN = """
static const uint32_t rows[] PROGMEM = {%s};
static const uint32_t wanted[] PROGMEM = {%s};
static union { uint32_t bits[MDL_N]; float numbers[MDL_N]; } x;
static union { uint32_t bits[MDL_CLASSES]; float numbers[MDL_CLASSES]; } scores;
int main(void)
{
    unsigned i, k;
    UCSR0B = _BV(TXEN0);
    for (i = 0; i < %d; ++i) {
        char same = '=';
        for (k = 0; k < MDL_N; ++k) {
            x.bits[k] = pgm_read_dword(&rows[i * MDL_N + k]);
        }
        mdl_scores(x.numbers, scores.numbers);
        for (k = 0; k < MDL_CLASSES; ++k) {
            if (scores.bits[k] != pgm_read_dword(&wanted[i * MDL_CLASSES + k])) {
                same = '!';
            }
        }
        tell(same);
    }
    finish();
    return 0;
}
"""

# Clock cycles of a tick -> how to ask the timer for it. It counts 65536 ticks.
_TICKS = {64: "_BV(CS11) | _BV(CS10)", 1024: "_BV(CS12) | _BV(CS10)"}

# Counts how many ticks one prediction takes.
_AVR_CLOCK = """
#ifndef MDL_ANSWER
#define MDL_ANSWER unsigned
#endif
static const uint32_t row[] PROGMEM = {%s};
static union { uint32_t bits[MDL_N]; float numbers[MDL_N]; } x;
volatile MDL_ANSWER answer;
int main(void)
{
    unsigned k, ticks;
    UCSR0B = _BV(TXEN0);
    for (k = 0; k < MDL_N; ++k) {
        x.bits[k] = pgm_read_dword(&row[k]);
    }
    TCCR1B = %s;
    TCNT1 = 0;
    answer = mdl_predict(x.numbers);
    ticks = TCNT1;
    tell(TIFR1 & _BV(TOV1) ? '!' : '=');
    for (k = 10000; k > 0; k /= 10) {
        tell((char)('0' + ticks / k %% 10));
    }
    finish();
    return 0;
}
"""

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
#define MDL_ANSWER float
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


def same_on_avr(compiled, rows, compiler="avr-gcc", simulator="simavr", wanted=None):
    """Whether each row's scores are bit for bit the emulator's on a simulated AVR."""
    rows = to_float32(rows)
    wanted = compiled.scores(rows) if wanted is None else wanted
    main = _AVR_MAIN % (_words(rows), _words(wanted), len(rows))
    said = _simulated(compiled, main, compiler, simulator)
    told = max(re.findall("[=!]+", said), key=len, default="")
    assert len(told) == len(rows), said
    return np.array([mark == "=" for mark in told])


def avr_cycles(compiled, row) -> int:
    """Clock cycles of one prediction on a simulated ATmega328P, in steps of a tick."""
    for cycles, timer in _TICKS.items():
        main = _AVR_CLOCK % (_words(to_float32(row)), timer)
        said = _simulated(compiled, main, "avr-gcc", "simavr")
        told = re.search(r"=(\d{5})", said)
        if told is not None:
            return cycles * int(told[1])
    raise CommandFailed(f"the clock ran over\n{said}")


def _words(numbers) -> str:
    """Bits of float32 numbers as C constants."""
    return ", ".join(f"0x{word:08x}UL" for word in np.ravel(numbers).view(np.uint32))


def _simulated(compiled, main, compiler, simulator) -> str:
    """What a program around a model says on the simulated chip."""
    with tempfile.TemporaryDirectory() as name:
        folder = write_sources(name, compiled, _AVR_START + main)
        flags = ["-std=gnu99", "-Os", "-mmcu=atmega328p", "-ffp-contract=off"]
        run(compiler, *flags, "main.c", "model.c", "-o", "chip.elf", cwd=folder)
        command = f"{simulator} -m atmega328p chip.elf 2>&1"
        return run("sh", "-c", command, cwd=folder).decode()
