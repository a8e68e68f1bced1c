"""The conversion of numbers to integers: vectors that try it, on every chip."""

import re

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import SensorRange, compile_model, emit_c99, quantise
from smpcore.codegen.inputs import container_ends
from smpcore.codegen.targets.c99.source import selftest_files
from smpcore.codegen.vectors import conversions
from tests.smpcore.codegen.models import conversion_models, random_linear
from tests.smpcore.codegen.toolchain import STRICT, CommandFailed, run, unnoticed, write

widths = pytest.mark.parametrize("width", [8, 16])


@widths
@pytest.mark.parametrize("name", conversion_models())
def test_vectors_are_what_they_are_called(name, width):
    quant = conversion_models()[name](width)
    found, (least, most) = conversions(quant), container_ends(width)
    at = {kind: row for row, kind in enumerate(found.kinds)}
    assert len(at) == len(found.values) == len(found.integers)
    for place, one in enumerate(quant.inputs):
        x, q = found.values[:, place], found.integers[:, place].astype(int)
        assert np.isnan(x[at["missing"]]) and q[at["missing"]] == one.missing
        assert (q == one.quantise(x, width)).all()
        if not one.is_number:
            levels = len(one.given.levels)
            assert set(q) == {-1, *range(levels)}
            assert (x == levels).any() and (x == -0.5).any()
            continue
        assert x[at["low end of the range"]] == np.float32(one.low)
        for kind in ("far below", "infinite, below"):
            assert q[at[kind]] == least
        for kind in ("far above", "infinite, above"):
            assert q[at[kind]] == most
        halves = [kind[:-10] for kind in at if kind.endswith("under it")]
        assert len(halves) == 6
        for kind in halves:
            under, over = at[f"{kind}, under it"], at[f"{kind}, over it"]
            assert np.nextafter(x[under], np.float32(np.inf)) == x[over]
            assert q[under] < q[over]
        over = x[at["half above 0, over it"]]
        if np.spacing(over) * one.per_unit > 0.01:
            continue  # so far from 0 floats pass over integers
        for kind in ("low end of the range", "high end of the range", "middle"):
            assert least < q[at[kind]] < most
        assert {least, least + 1, -1, 0, 1, most - 1, most} <= set(q)
        exact = (over.astype(float) - one.zero) * one.per_unit
        assert exact == pytest.approx(0.5, abs=0.01)


#: Counts that a converter gives: 10 bits, 12 bits, with a sign, and with halves.
COUNTS = [(0, 1023), (0, 4095), (-512, 511), (302, 3757)]
_EVERY_COUNT = """
#include <stdio.h>
#include "mdl.h"
int main(void)
{
    int32_t count;
    for (count = -600; count < 4200; ++count) {
        printf("%d %d %d %d\\n", MDL_COUNT_FEATURE_0(count), MDL_COUNT_FEATURE_1(count),
            MDL_COUNT_FEATURE_2(count), MDL_COUNT_FEATURE_3(count));
    }
    return 0;
}
"""


def test_rows_of_many_inputs_leave_an_avr_room_for_the_model():
    quant = quantise(compile_model(random_linear(181, 2, 1)), 16)
    tried, vectors = conversions(quant), codegen.test_vectors(quant, n=64)
    tables = tried.values, tried.integers, vectors.rows
    assert sum(table.nbytes for table in tables) < 25_000


@widths
def test_every_count_of_a_converter_is_converted_without_floats(tool, tmp_path, width):
    """As far from exact numbers as the header says, for all 10 and 12 bits."""
    compiled = compile_model(random_linear(4, 2, 1, 1.0))
    spans = zip((entry.name for entry in compiled.inputs), COUNTS, strict=True)
    ranges = {n: SensorRange(*ends, True, "counts") for n, ends in spans}
    quant = quantise(compiled, width, ranges)
    write(tmp_path, emit_c99(quant) | {"main.c": _EVERY_COUNT.encode()})
    flags = [*STRICT, "-fsanitize=integer,undefined", "-fno-sanitize-recover=all"]
    run(tool("clang"), *flags, "main.c", "-o", "run", cwd=tmp_path)
    found = np.loadtxt(run(tmp_path / "run").decode().splitlines(), dtype=int)
    counts, header = np.arange(-600, 4200), (tmp_path / "mdl.h").read_text()
    least, most = container_ends(width)
    told = re.findall(r"COUNT_FEATURE_\d.*most ([\d.]+)(?:, (\d+) unlike)?", header)
    for one, (low, high), q, (off, unlike) in zip(
        quant.inputs, COUNTS, found.T, told, strict=True
    ):
        assert (q[counts < low] == least).all() and (q[counts > high] == most).all()
        inside = (counts >= low) & (counts <= high)
        exact = (counts[inside] - one.zero) * one.per_unit
        real = np.abs(q[inside] - exact).max()
        assert real <= float(off) <= min(0.5001, real + 2e-4)
        differ = q[inside] != one.quantise(counts[inside], width)
        assert int(unlike or 0) == differ.sum()
    arm = ["-mcpu=cortex-m0", "-mthumb", "-Os", "-c", "main.c", "-o", "m.o"]
    run(tool("arm-none-eabi-gcc"), *arm, cwd=tmp_path)
    assert b"aeabi" not in run(tool("arm-none-eabi-nm"), "m.o", cwd=tmp_path)


_MAIN = """
#include "mdl_selftest.h"
int main(void) { return mdl_selftest_quantise(); }
"""


def _put(folder, quant):
    files = emit_c99(quant) | {"main.c": _MAIN.encode()}
    texts = selftest_files(quant, codegen.test_vectors(quant), "mdl")
    write(folder, files | {name: text.encode() for name, text in texts.items()})


#: Line of the conversion -> what a careless hand would write.
CARELESS = [
    ("scaled += scaled < 0.0f ? -0.5f : 0.5f;", ""),
    ("scaled < 0.0f ? -0.5f : 0.5f", "0.5f"),
    ("-0.5f : 0.5f", "-0.499f : 0.499f"),
    ("if (!(scaled >", "if (!(scaled - 1.0f >"),
    ("if (scaled >", "if (scaled + 1.0f >"),
    ("if (value != value)", "if (0)"),
    ("value >= 0.0f && ", "value > -0.75f && "),
    ("&& value < ", "&& value <= "),
    ("return -1; /* unknown */", "return 0;"),
]


@widths
def test_a_careless_conversion_is_told(tool, tmp_path, width):
    _put(tmp_path, conversion_models()["mixed"](width))
    path = tmp_path / "mdl_quantise.c"
    text = path.read_text()
    files = ["main.c", "mdl_selftest_quantise.c", "mdl_quantise.c", "-o", "run"]
    for line, careless in CARELESS:
        assert text.count(line) == 1
        path.write_text(text.replace(line, careless))
        run(tool("gcc"), "-std=c99", "-w", *files, cwd=tmp_path)
        with pytest.raises(CommandFailed):
            run(tmp_path / "run")


@widths
def test_every_wrong_number_is_told(tool, tmp_path, width):
    tool("gcc")
    _put(tmp_path, conversion_models()["large"](width))
    test = "mdl_selftest_quantise"
    every, unseen = unnoticed(tmp_path, "mdl_quantise.c", test, flags=())
    assert len(every) == 12 and unseen == []
