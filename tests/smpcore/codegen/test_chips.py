"""Simulated chips: every score bit for bit, and what an answer takes as limits."""

import subprocess
import tempfile
import time

import numpy as np
import pytest

from smpcore import METHODS, chips
from smpcore.chips import CHIPS, available, measure, programs, sizes
from smpcore.chips.programs import HERE, simavr_runner
from smpcore.codegen import QuantModel, compile_model, quantise, sample
from smpcore.errors import ExportError
from tests.bench.export import fitted
from tests.smpcore.codegen.integers.test_integers_linear import drawn_integers
from tests.smpcore.codegen.kernel_models import coded_model, random_kernel_model
from tests.smpcore.codegen.programs import changed, part
from tests.smpcore.codegen.test_c99 import _rows
from tests.smpcore.codegen.test_regression import _one_value
from tests.smpcore.codegen.toolchain import STRICT

#: Model, bits of its inputs (32: floats), and chip. Where there are three widths each
#: model meets every chip and every width, each width every chip; the rest by --all.
CASES = [
    pytest.param(name, width, chip, marks=() if usual else pytest.mark.exhaustive)
    for m, name in enumerate(("mixed", "value", "digits", "rbf"))
    for w, width in enumerate((8, 16, 32))
    for c, chip in enumerate(CHIPS)
    for usual in [(m + w + c) % 3 == 0]
] + [
    (name, width, chip)
    for name, width in (("written out", 8), ("300 classes", 8), ("code", 32))
    for chip in CHIPS
]


@pytest.fixture(scope="module")
def model_of(mixed_model, random_model):
    """A model of random numbers, in floats or integers."""
    made = {
        "mixed": lambda: mixed_model,
        "value": lambda: compile_model(_one_value(random_model, 6)),
        "digits": lambda: compile_model(random_model(64, 10, 2, 0.6)),
        "written out": lambda: compile_model(random_model(5, 2, 2, 0.8)),
        "300 classes": lambda: compile_model(random_model(3, 300, 1)),
        "rbf": lambda: compile_model(random_kernel_model()),
        "code": lambda: compile_model(coded_model()),
    }

    def make(name, width):
        compiled = made[name]()
        return compiled if width == 32 else quantise(compiled, width)

    return make


def rows_of(model, n):
    """Rows that a model may get: any bits of integers, or odd floats."""
    if isinstance(model, QuantModel):
        return drawn_integers(model, n)
    return _rows(model, n)


@pytest.mark.parametrize(("name", "width", "chip"), CASES)
def test_a_chip_gives_every_score(model_of, simulated, name, width, chip):
    model = model_of(name, width)
    rows = rows_of(model, 20 if name == "300 classes" else 120)
    found = measure(model, rows, simulated(chip), STRICT)
    wanted = model.scores(rows)
    gone = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found.scores), gone)
    bits = np.where(gone, 0, wanted).astype(found.scores.dtype)
    assert np.where(gone, 0, found.scores).tobytes() == bits.tobytes()
    np.testing.assert_array_equal(found.winners, model.decide(wanted))
    assert found.ram == 0
    assert found.flash > model.table_bytes * (name != "written out")
    assert found.stack < 2048 and (found.counts > 0).all()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("name", "width"), [("mixed", 8), ("value", 16)])
def test_a_chip_that_is_given_floats_converts_them(
    model_of, simulated, name, width, chip
):
    model = model_of(name, width)
    rows = sample(model.source, 20)
    alone = measure(model, model.quantise(rows), simulated(chip), STRICT)
    found = measure(model, rows, simulated(chip), STRICT, converted=True)
    np.testing.assert_array_equal(found.scores, alone.scores)
    np.testing.assert_array_equal(found.winners, alone.winners)
    assert found.flash > alone.flash + 8 * len(model.inputs)
    assert found.ram == len(model.inputs) * width // 8
    assert (found.counts > alone.counts).all() and found.stack >= alone.stack


@pytest.mark.parametrize("chip", CHIPS)
def test_a_wrong_score_is_noticed(model_of, simulated, chip):
    for width in (16, 32):
        model = model_of("digits", width)
        rows = rows_of(model, 50)
        found = measure(model, rows, simulated(chip))
        bias = part(model, "bias")
        wrong = changed(model, bias=bias - np.sign(bias))  # never too large
        assert (found.scores != wrong.scores(rows)).any(axis=1).mean() > 0.5


#: Version of the compiler that the limits below were measured with.
VERSIONS = {"avr": "5.4.0", "arm-none-eabi": "12.2.1"}
#: Chip, data -> bits of an input -> flash, stack, most cycles or instructions, of SMaLL
#: at its defaults, whatever the inputs.
LIMITS = {
    ("ATmega328P", "breast_cancer"): {
        8: (112, 2, 72),
        16: (288, 18, 378),
        32: (1238, 42, 3210),
    },
    ("Cortex-M0", "breast_cancer"): {
        8: (112, 12, 48),
        16: (124, 12, 45),
        32: (2280, 112, 1914),
    },
    ("Cortex-M4F", "breast_cancer"): {
        8: (132, 12, 43),
        16: (100, 12, 32),
        32: (268, 36, 186),
    },
    ("ATmega328P", "digits"): {
        8: (500, 21, 4282),
        16: (610, 24, 6679),
        32: (1928, 93, 29025),
    },
    ("Cortex-M0", "digits"): {
        8: (356, 52, 1087),
        16: (432, 52, 1427),
        32: (2868, 160, 17880),
    },
    ("Cortex-M4F", "digits"): {
        8: (368, 44, 1051),
        16: (440, 44, 1071),
        32: (848, 84, 1479),
    },
}


@pytest.mark.parametrize(("chip", "data"), LIMITS)
def test_an_answer_takes_what_it_took(simulated, chip, data):
    tools, limits = simulated(chip).tools, LIMITS[chip, data]
    command = [f"{tools}-gcc", "-dumpversion"]
    there = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if there != VERSIONS[tools]:
        pytest.skip(f"these are the figures of {tools}-gcc {VERSIONS[tools]}")
    *_, compiled = fitted(data, METHODS["smallk"])
    for width, wanted in limits.items():
        model = compiled if width == 32 else quantise(compiled, width)
        found = measure(model, rows_of(model, 100), CHIPS[chip])
        told = found.flash, found.stack, found.counts.max()
        assert told == pytest.approx(wanted, rel=0.02, abs=1), width


def test_counting_is_exact(simulated):
    """A program of which every cycle is known: one that calls and returns."""
    avr = simulated("ATmega328P")
    with tempfile.TemporaryDirectory() as folder:
        told = _count_assembly(folder, avr)
    # rcall 3, ret 4, its 5 nops, and the mark itself: ldi 1, out 1.
    assert told == (14, 2)


def _count_assembly(folder, avr):
    """Cycles and stack that the runner tells of a few instructions."""
    source = """
.global main
nothing:
    nop
    nop
    nop
    nop
    nop
    ret
main:
    ldi r24, 1
    out 0x1e, r24
    ldi r24, 2
    out 0x1e, r24
    rcall nothing
    ldi r24, 3
    out 0x1e, r24
    ldi r24, 4
    out 0x1e, r24
    rjmp main
"""
    path = f"{folder}/count.S"
    with open(path, "w") as file:
        file.write(source)
    command = ["avr-gcc", "-mmcu=atmega328p", path, "-o", f"{folder}/count.elf"]
    subprocess.run(command, check=True)
    command = [f"{simavr_runner().name}/simavr", f"{folder}/count.elf", avr.machine]
    done = subprocess.run([*command, "1", "0"], input=b"x", capture_output=True)
    return tuple(np.frombuffer(done.stdout, np.uint32).tolist())


def test_a_model_that_does_not_fit_is_told(random_model, simulated):
    avr = simulated("ATmega328P")
    larger = compile_model(random_model(300, 10, 4, 0.9))
    with pytest.raises(ExportError, match=r"one can have 32,767"):
        sizes(larger, avr)
    large = compile_model(random_model(300, 10, 4, 0.45))
    assert sizes(large, avr).flash > avr.flash
    with pytest.raises(ExportError, match=r"bytes of flash, but an ATmega328P has 32,"):
        measure(large, rows_of(large, 5), avr)
    wide = quantise(compile_model(random_model(1100, 2, 1, 1.0)), 16)
    with pytest.raises(ExportError, match=r"bytes of RAM, but an ATmega328P has 2,048"):
        measure(wide, rows_of(wide, 5), avr)


def test_without_tools_nothing_is_available(model_of, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert available() == []
    with pytest.raises(ExportError, match="avr-gcc cannot be run"):
        sizes(model_of("written out", 8), CHIPS["ATmega328P"])


def test_a_simulation_that_does_not_end_is_stopped(model_of, simulated, monkeypatch):
    avr = simulated("ATmega328P")
    monkeypatch.setattr(chips.programs, "PATIENCE", 1e-3)
    with pytest.raises(ExportError, match=r"avr-gcc did not end within 0\.001 seconds"):
        measure(model_of("written out", 8), np.zeros((1, 5)), avr)


def test_the_programs_are_part_of_the_library():
    programs = {path.name for path in HERE.iterdir() if path.suffix != ".py"}
    assert programs >= {"avr.c", "cortex.c", "cortex.ld", "simavr.c", "size.c"}


def test_what_takes_too_long_ends_with_its_children(monkeypatch, tmp_path):
    """The compiler proper is a child of its driver, and would go on alone."""
    monkeypatch.setattr(programs, "PATIENCE", 0.5)
    late = tmp_path / "late"
    with pytest.raises(ExportError, match=r"did not end within 0\.5 seconds"):
        programs.run("sh", "-c", f"(sleep 2; touch {late}) & wait")
    time.sleep(2.5)
    assert not late.exists()


def test_a_command_reads_what_it_is_given_and_its_failure_is_told():
    assert programs.run("cat", given=b"rows") == b"rows"
    with pytest.raises(ExportError, match="sh failed: no room"):
        programs.run("sh", "-c", "echo no room >&2; exit 3")
    with pytest.raises(ExportError, match="no-such-tool cannot be run"):
        programs.run("no-such-tool")
