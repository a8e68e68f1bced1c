"""Similarity sums in integers on a simulated ATmega328P: every score, and the cost."""

import re
from typing import NamedTuple

import numpy as np
import pytest

from smpcore import METHODS, load_dataset, prepare, split
from smpcore.codegen import agreement, compile_model, quantise
from tests.smpcore.codegen.integers.chips import write_integers
from tests.smpcore.codegen.toolchain import _AVR_START, STRICT, run

# Answers rows that lie in flash; writes the clock cycles of each, and its scores.
_ASK = """
static const INPUT rows[] PROGMEM = {%s};
static INPUT x[MDL_N];
static SCORE scores[MDL_CLASSES];
static volatile uint16_t over;
volatile unsigned answer;
ISR(TIMER1_OVF_vect) { ++over; }
static void word(uint32_t bits)
{
    int8_t shift;
    for (shift = 28; shift >= 0; shift -= 4) {
        tell("0123456789abcdef"[bits >> shift & 15]);
    }
}
int main(void)
{
    unsigned i, k, ticks;
    UCSR0B = _BV(TXEN0);
    TIMSK1 = _BV(TOIE1);
    TCCR1B = _BV(CS10);
    for (i = 0; i < %d; ++i) {
        for (k = 0; k < MDL_N; ++k) {
            x[k] = sizeof(INPUT) == 1
                ? (INPUT)pgm_read_byte(&rows[i * MDL_N + k])
                : (INPUT)pgm_read_word(&rows[i * MDL_N + k]);
        }
        over = 0;
        TIFR1 = _BV(TOV1);
        TCNT1 = 0;
        sei();
        answer = mdl_predict(x);
        ticks = TCNT1;
        cli();
        tell('=');
        word(((uint32_t)over << 16) + ticks);
        mdl_scores(x, scores);
        for (k = 0; k < MDL_CLASSES; ++k) {
            word((uint32_t)scores[k]);
        }
        tell('\\n');
    }
    finish();
    return 0;
}
"""

# The same program with and without the model.
_SIZE = """
#include "model.h"
INPUT x[MDL_N];
volatile unsigned answer;
int main(void)
{
    x[0] = 1;
#ifdef WITH_MODEL
    answer = mdl_predict(x);
#else
    answer = 0;
#endif
    return 0;
}
"""

_SMALL = ["-Os", "-mmcu=atmega328p", "-ffunction-sections", "-fdata-sections"]


class Told(NamedTuple):
    """What the chip says of each row."""

    cycles: np.ndarray
    scores: np.ndarray


def asked(quant, rows, folder) -> Told:
    """Ask the simulated chip."""
    folder.mkdir()
    numbers = ", ".join(map(str, np.ravel(rows)))
    types = "#include <stdint.h>\n"
    write_integers(folder, quant, types + _AVR_START + _ASK % (numbers, len(rows)))
    sources = ["main.c", "model.c", "-o", "chip.elf"]
    run("avr-gcc", "-std=gnu99", *_SMALL, "-Wl,--gc-sections", *sources, cwd=folder)
    said = run("sh", "-c", "simavr -m atmega328p chip.elf 2>&1", cwd=folder).decode()
    words = [
        re.findall("[0-9a-f]{8}", line) for line in re.findall("=([0-9a-f]+)", said)
    ]
    told = np.array([[int(word, 16) for word in line] for line in words], np.uint32)
    assert told.shape == (len(rows), 1 + quant.n_outputs), said
    return Told(told[:, 0], told[:, 1:].view(np.int32))


def flash(quant, folder) -> int:
    """Bytes of flash that the model adds to a program."""
    folder.mkdir()
    write_integers(folder, quant, _SIZE)
    sizes = []
    for define in ([], ["-DWITH_MODEL"]):
        flags = [*STRICT, "-include", "stdint.h", *_SMALL, "-Wl,--gc-sections", *define]
        run("avr-gcc", *flags, "main.c", "model.c", "-o", "chip.elf", cwd=folder)
        table = run("avr-size", "chip.elf", cwd=folder).decode()
        sizes.append(sum(map(int, table.splitlines()[1].split()[:2])))
    return sizes[1] - sizes[0]


@pytest.fixture(scope="module")
def fitted():
    """A super-sparse model, its preparation, its test rows, and the compiled model."""

    def fit(data, **parameters):
        dataset = load_dataset(data)
        parts = split(dataset)
        preparation = prepare(dataset, parts.train)
        X = preparation.transform(dataset.frame)[parts.train]
        row = METHODS["supersparse"]
        estimator = row.estimator({**row.defaults(), **parameters})
        model = estimator.fit(X, dataset.y[parts.train]).model_
        test = dataset.frame.iloc[parts.test]
        return model, preparation, test, compile_model(model, preparation)

    return fit


@pytest.mark.parametrize(
    ("data", "parameters"),
    [("iris", {"similarity": "laplacian"}), ("breast_cancer", {})],
)
@pytest.mark.parametrize("width", [8, 16])
def test_an_avr_gives_every_score(fitted, tool, tmp_path, data, parameters, width):
    tool("avr-gcc")
    tool("simavr")
    _, _, test, compiled = fitted(data, **parameters)
    quant = quantise(compiled, width)
    near = quant.quantise(quant.rows(test))[:20]
    told = list(quant.telling_rows(near))[:12]
    rows = np.vstack([near, quant.farthest_rows, told])
    found = asked(quant, rows, tmp_path / "ask")
    np.testing.assert_array_equal(found.scores, quant.scores(rows))


@pytest.mark.parametrize(
    ("width", "most_flash", "most_cycles"), [(16, 3_000, 65_000), (8, 2_200, 42_000)]
)
def test_ten_cases_of_digits_stay_small(
    fitted, tool, tmp_path, width, most_flash, most_cycles
):
    tool("avr-gcc")
    tool("simavr")
    model, preparation, test, compiled = fitted("digits", n_prototypes=10)
    quant = quantise(compiled, width)
    rows = quant.quantise(quant.rows(test))[:24]
    rows = np.vstack([rows, quant.farthest_rows])
    found = asked(quant, rows, tmp_path / "ask")
    np.testing.assert_array_equal(found.scores, quant.scores(rows))
    assert found.cycles.max() <= most_cycles
    assert flash(quant, tmp_path / "size") <= most_flash
    same = agreement(quant, model, test, preparation)
    assert same.n_equal >= same.n_rows - {16: 0, 8: 3}[width]
