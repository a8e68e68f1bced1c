"""The conversion of numbers to integers: vectors that try it, on every chip."""

import re
from dataclasses import replace

import numpy as np
import pytest

from smpcore import codegen
from smpcore.chips import CHIPS
from smpcore.chips.measuring import simulated as simulated_rows
from smpcore.chips.programs import ChipProgram
from smpcore.codegen import SensorRange, compile_model, emit_c99, quantise, sample
from smpcore.codegen.inputs import container_ends
from smpcore.codegen.targets.c99.source import selftest_files
from smpcore.codegen.vectors import conversions
from tests.smpcore.codegen.random_models import random_linear
from tests.smpcore.codegen.toolchain import (
    SANITIZE,
    STRICT,
    CommandFailed,
    run,
    unnoticed,
)


def _scaled(exponent, offset=0.0):
    """A model whose inputs span 10^exponent around an offset."""
    model = random_linear(4, 2, 1, 1.0)
    places = {k: getattr(model, k) * 10.0**exponent for k in ("center", "low", "high")}
    places = {name: value + offset for name, value in places.items()}
    return compile_model(replace(model, scale=model.scale * 10.0**exponent, **places))


@pytest.fixture(scope="module")
def quant_of(mixed_model):
    """Integer models whose conversions differ."""
    first = mixed_model.inputs[0].name
    made = {
        "mixed": (mixed_model, {}),
        "counts": (mixed_model, {first: SensorRange(-100, 100, integer=True)}),
        "adc": (mixed_model, {first: SensorRange(0, 1023, integer=True)}),
        "small": (_scaled(-6), {}),
        "large": (_scaled(6), {}),
        "far from 0": (_scaled(0, 1e5), {}),
    }

    def make(name, width):
        compiled, ranges = made[name]
        return quantise(compiled, width, ranges)

    return make


NAMES = ["mixed", "counts", "adc", "small", "large", "far from 0"]


@pytest.fixture(params=[8, 16])
def width(request):
    """Bits of an input."""
    return request.param


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_what_they_are_called(quant_of, name, width):
    quant = quant_of(name, width)
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


def test_they_are_the_same_every_time(quant_of, width):
    one, two = (conversions(quant_of("mixed", width)) for _ in "ab")
    assert one.values.tobytes() == two.values.tobytes()


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


def test_every_count_of_a_converter_is_converted_without_floats(tool, tmp_path, width):
    """As far from exact numbers as the header says, for all 10 and 12 bits."""
    compiled = compile_model(random_linear(4, 2, 1, 1.0))
    names = [entry.name for entry in compiled.inputs]
    spans = zip(names, COUNTS, strict=True)
    ranges = {n: SensorRange(*ends, True, "counts") for n, ends in spans}
    quant = quantise(compiled, width, ranges)
    for name, content in emit_c99(quant).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "main.c").write_text(_EVERY_COUNT)
    flags = [*STRICT, "-fsanitize=integer,undefined", "-fno-sanitize-recover=all"]
    run(tool("clang"), *flags, "main.c", "-o", "run", cwd=tmp_path)
    found = np.loadtxt(run(tmp_path / "run").decode().splitlines(), dtype=int)
    counts, header = np.arange(-600, 4200), (tmp_path / "mdl.h").read_text()
    least, most = container_ends(width)
    for place, (low, high) in enumerate(COUNTS):
        line = re.search(
            rf"COUNT_FEATURE_{place}.*most ([\d.]+)(, \d+ unlike)?", header
        )
        one, q = quant.inputs[place], found[:, place]
        assert (q[counts < low] == least).all() and (q[counts > high] == most).all()
        inside = (counts >= low) & (counts <= high)
        exact = (counts[inside] - one.zero) * one.per_unit
        off = np.abs(q[inside] - exact).max()
        assert off <= float(line[1]) <= min(0.5001, off + 2e-4)
        differ = q[inside] != one.quantise(counts[inside], width)
        assert f"{differ.sum()} unlike" in line[0] if differ.any() else not line[2]
    arm = ["-mcpu=cortex-m0", "-mthumb", "-Os", "-c", "main.c", "-o", "m.o"]
    run(tool("arm-none-eabi-gcc"), *arm, cwd=tmp_path)
    assert b"aeabi" not in run(tool("arm-none-eabi-nm"), "m.o", cwd=tmp_path)


_MAIN = """
#include "mdl_selftest.h"
int main(void) { return mdl_selftest_quantise(); }
"""


def _put(folder, quant):
    files = emit_c99(quant)
    texts = selftest_files(quant, codegen.test_vectors(quant), "mdl")
    files |= {name: text.encode() for name, text in texts.items()}
    files["main.c"] = _MAIN.encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", NAMES)
def test_every_compiler_converts_them(quant_of, tool, tmp_path, name, width, compiler):
    _put(tmp_path, quant_of(name, width))
    files = ["main.c", "mdl_selftest_quantise.c", "mdl_quantise.c", "-o", "run"]
    for flags in (["-O3"], [*SANITIZE, "-fsanitize=float-cast-overflow"]):
        run(tool(compiler), *STRICT, *flags, *files, cwd=tmp_path)
        run(tmp_path / "run")


@pytest.mark.parametrize("compiler", ["g++", "arm-none-eabi-g++", "avr-g++"])
def test_the_test_is_valid_cpp(quant_of, tool, tmp_path, width, compiler):
    _put(tmp_path, quant_of("mixed", width))
    strict = [flag for flag in STRICT if flag != "-std=c99"]
    strict += ["-mmcu=atmega328p"] if compiler == "avr-g++" else []
    command = [tool(compiler), "-x", "c++", "-std=c++98", *strict]
    run(*command, "-c", "mdl_selftest_quantise.c", "-o", "m.o", cwd=tmp_path)


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


@pytest.mark.parametrize(("line", "careless"), CARELESS)
def test_a_careless_conversion_is_told(quant_of, tool, tmp_path, width, line, careless):
    _put(tmp_path, quant_of("mixed", width))
    path = tmp_path / "mdl_quantise.c"
    text = path.read_text()
    assert text.count(line) == 1
    path.write_text(text.replace(line, careless))
    files = ["main.c", "mdl_selftest_quantise.c", "mdl_quantise.c", "-o", "run"]
    run(tool("gcc"), "-std=c99", "-w", *files, cwd=tmp_path)
    with pytest.raises(CommandFailed):
        run(tmp_path / "run")


def test_every_wrong_number_is_told(quant_of, tool, tmp_path, width):
    tool("gcc")
    _put(tmp_path, quant_of("large", width))
    source = "mdl_quantise.c"
    files = ["main.c", "mdl_selftest_quantise.c", source]
    every, unseen = unnoticed(tmp_path, files, source, flags=())
    assert len(every) == 12 and unseen == []


# The program of a chip asks for scores: here they are the integers of numbers.
_HEADER = """
#ifndef ASKED_H
#define ASKED_H
#include "quant.h"
#undef MDL_CLASSES
#define MDL_CLASSES MDL_N
#define mdl_predict(x) ((ANSWER)0)
#define mdl_scores mdl_quantise
#endif
"""


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", NAMES)
def test_a_chip_gives_every_integer(quant_of, simulated, tmp_path, name, width, chip):
    quant = quant_of(name, width)
    files = emit_c99(quant)
    (tmp_path / "quant.h").write_bytes(files["mdl.h"])
    (tmp_path / "mdl.h").write_text(_HEADER)
    (tmp_path / "mdl_quantise.c").write_bytes(files["mdl_quantise.c"])
    near = sample(quant.source, 200, seed=1)
    near[::7, 0] = np.nan
    tried = conversions(quant)
    values = np.vstack([tried.values, near, 3 * near]).astype(np.float32)
    kind = f"int{width}"
    types = ["-DINPUT=float", f"-DSCORE={kind}_t", "-DANSWER=uint8_t"]
    scores = ("scores", kind, (len(quant.inputs),))
    record = np.dtype([("count", "u4"), ("stack", "u4"), scores, ("winner", "u2")])
    asked = tmp_path, simulated(chip), [*types, "-O2"], ["mdl_quantise.c"]
    told = simulated_rows(ChipProgram(*asked), values, record)["scores"]
    np.testing.assert_array_equal(told, quant.quantise(values))
    np.testing.assert_array_equal(told[: len(tried.values)], tried.integers)
