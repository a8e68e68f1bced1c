"""Movements of a sensor, from the file to a program on a chip with the same answers."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import zipfile

import numpy as np
import pandas as pd
import pytest

from smpcore.codegen.names import c_float
from tests.smpcore.codegen.test_feature_stream import movements
from tests.walks.tables import upload

N_TIMES, KINDS = 50, ("rest", "walk", "run")
_MAIN = """
#include <avr/interrupt.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>

#include "moves_stream.h"

static const float samples[][MOVES_STREAM_N] PROGMEM = {%s};

static void put(char sign)
{
    UCSR0B = 1 << TXEN0;
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = (uint8_t)sign;
}

int main(void)
{
    static struct moves_stream stream;
    float values[MOVES_STREAM_N];
    int16_t x[MOVES_STREAM_N];
    uint16_t k;

    moves_stream_start(&stream);
    for (k = 0; k < sizeof samples / sizeof samples[0]; ++k) {
        memcpy_P(values, samples[k], sizeof values);
        moves_stream_quantise(values, x);
        if (moves_stream_push(&stream, x)) {
            put((char)('0' + moves_stream_predict(&stream)));
        }
    }
    put('\\n');
    while (!(UCSR0A & (1 << TXC0))) {
    }
    cli();
    sleep_mode(); /* for ever: simavr ends here */
}
"""


def moves(seed: int, n: int) -> tuple[list[np.ndarray], bytes]:
    """Windows of one movement each, and the .ts file of them."""
    samples, kind = movements(150 * n // 3, seed)
    rows = np.split(samples, len(samples) // N_TIMES)
    lines = ["@univariate false", "@dimensions 3", "@equalLength true"]
    lines += [f"@seriesLength {N_TIMES}", f"@classLabel true {' '.join(KINDS)}"]
    lines.append("@data")
    for row, label in zip(rows, kind[::N_TIMES], strict=True):
        channels = (",".join(f"{v:.9g}" for v in channel) for channel in row.T)
        lines.append(":".join([*channels, KINDS[label]]))
    return rows, "\n".join(lines).encode()


def test_a_simulated_chip_answers_as_the_page_does(visit, tmp_path):
    if not all(map(shutil.which, ("avr-gcc", "simavr"))):
        pytest.skip("avr-gcc or simavr is not installed")
    upload(visit, "moves.ts", moves(0, 60)[1])
    for name in ("mean", "standard deviation", "zero crossings", "band 4"):
        box = visit.page.get_by_role("combobox", name="Features in place of samples")
        box.press_sequentially(name)
        visit.page.keyboard.press("Enter")
        visit.rest()
    visit.page.keyboard.press("Escape")
    visit.reads("One count of each channel")
    visit.go("Export").click("radio", "int8")
    visit.fill("Stream: samples between answers", "50")
    data = visit.take("Download the zip")
    rows, new = moves(7, 12)
    visit.go("Apply").upload("New rows", "new.ts", new)
    table = pd.read_csv(io.BytesIO(visit.take("All predictions as CSV")))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "moves"
    values = (f"{{{', '.join(map(c_float, one))}}}" for one in np.concatenate(rows))
    (folder / "main.c").write_text(_MAIN % ",\n".join(values))
    sources = [f"moves{end}.c" for end in ("", "_quantise", "_stream")]
    words = ["avr-gcc", "-mmcu=atmega328p", "-std=c99", "-Os", "-o", "moves.elf"]
    words += ["main.c", *sources, "moves_stream_quantise.c"]
    subprocess.run(words, cwd=folder, check=True)
    words = ["simavr", "-m", "atmega328p", "-f", "16000000", "moves.elf"]
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=120)
    told = (done.stdout + done.stderr).decode()
    digits = re.search(f"[0-2]{{{len(rows)}}}", told) or pytest.fail(told)
    answers = [sorted(KINDS)[int(digit)] for digit in digits[0]]
    assert answers == table["answer"].tolist()
    assert {*answers} == {*KINDS}
