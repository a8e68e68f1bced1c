"""How far the best class is above the next, and the band, in compiled C."""

import dataclasses
import tempfile

import numpy as np
import pytest

from smpcore.codegen import compile_model, quantise, sample
from tests.smpcore.codegen.integers.chips import write_integers
from tests.smpcore.codegen.toolchain import STRICT, run, write_sources

_RUNNER = """
#include <stdio.h>
#include "mdl.h"
int main(void)
{
    static float x[MDL_N];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        const float margin = mdl_margin(x);
        const uint8_t sure = mdl_sure(x);
        fwrite(&margin, sizeof margin, 1, stdout);
        fwrite(&sure, sizeof sure, 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_compiled_c_gives_the_margin_and_knows_the_band(
    random_model, same_bits, tool, n_classes
):
    compiled = compile_model(random_model(n_classes=n_classes))
    rows = sample(compiled, 500)
    margins = compiled.margins(rows)
    band = float(np.median(margins))
    compiled = dataclasses.replace(compiled, band=band)
    with tempfile.TemporaryDirectory() as name:
        folder = write_sources(name, compiled, _RUNNER)
        files = ["main.c", "mdl.c", "-o", "run"]
        run(tool("gcc"), *STRICT, *files, cwd=folder)
        said = run(folder / "run", given=rows.astype(np.float32).tobytes())
    told = np.frombuffer(said, [("margin", "f4"), ("sure", "u1")])
    same_bits(told["margin"], margins)
    np.testing.assert_array_equal(told["sure"], margins > np.float32(band))
    assert 0 < told["sure"].sum() < len(rows)


_INTEGER_RUNNER = """
#include <stdio.h>
#include "mdl.h"
int main(void)
{
    static INPUT x[MDL_N];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        putchar(mdl_sure(x));
    }
    return 0;
}
"""


@pytest.mark.parametrize("width", [8, 16])
def test_integer_c_is_sure_where_the_margin_is_wider_than_the_band(
    random_model, tool, width
):
    compiled = compile_model(random_model())
    rows = sample(compiled, 500)
    plain = quantise(compiled, width)
    integers = plain.quantise(rows)
    margins = plain.margins(integers) * plain.step
    band = float(np.sort(margins)[250]) + plain.step / 2  # between two margins
    quant = quantise(dataclasses.replace(compiled, band=band), width)
    with tempfile.TemporaryDirectory() as name:
        folder = write_integers(name, quant, _INTEGER_RUNNER)
        run(tool("gcc"), *STRICT, "main.c", "mdl.c", "-o", "run", cwd=folder)
        said = run(folder / "run", given=integers.astype(f"int{width}").tobytes())
    sure = np.frombuffer(said, np.uint8)
    np.testing.assert_array_equal(sure, margins > band)
    assert 0 < sure.sum() < len(rows)
