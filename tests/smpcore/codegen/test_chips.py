"""Simulated chips: every score bit for bit, and what an answer takes as limits."""

import subprocess
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from smpcore import METHODS, chips
from smpcore.chips import CHIPS, available, measure, programs, sizes
from smpcore.chips.programs import simavr_runner
from smpcore.codegen import compile_model, quantise, sample
from smpcore.codegen.constants import has_tables
from smpcore.codegen.vectors import conversions, extreme_rows
from smpcore.errors import ExportError
from tests.bench.export import fitted
from tests.smpcore.codegen.c_programs import near_rows, odd_case
from tests.smpcore.codegen.integers.test_integers_sums import (
    fitted as super_sparse_digits,
)
from tests.smpcore.codegen.models import conversion_models, groups
from tests.smpcore.codegen.toolchain import STRICT, run

#: Too large for a chip, or the same code as another one.
LARGE = ("300 features", "300 anchors", "300 proto", "256", "weights", "code, wide")


def _cases():
    """Every model on every chip; one of each group on each by default."""
    for group, models in groups().items():
        names = [n for n in models if not any(word in n for word in LARGE)]
        for (n, name), (c, chip) in product(enumerate(names), enumerate(CHIPS)):
            usual = (n - 3 * c - len(group)) % len(names) == 0
            marks = () if usual else pytest.mark.exhaustive
            yield pytest.param(group, name, chip, marks=marks)


def rows_of(model, n):
    """Rows that a model may get: any bits of integers, or odd floats."""
    case = odd_case(model, n)
    return case.rows.astype(np.int64 if model.is_integer else np.float64)


@pytest.mark.parametrize(("group", "name", "chip"), _cases())
def test_a_chip_gives_every_score(simulated, group, name, chip):
    model = groups()[group][name]
    rows = rows_of(model, 20 if "300" in name else 100)
    found = measure(model, rows, simulated(chip), STRICT)
    wanted = model.scores(rows)
    gone = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found.scores), gone)
    bits = np.where(gone, 0, wanted).astype(found.scores.dtype)
    assert np.where(gone, 0, found.scores).tobytes() == bits.tobytes()
    np.testing.assert_array_equal(found.winners, model.decide(wanted))
    assert found.ram < 4  # nothing but what rounds the size of the inputs up
    assert found.stack < 2048 and (found.counts > 0).all()
    code = found.flash - model.table_bytes
    assert code > 0 or not has_tables(model)


def test_a_program_without_an_answer_is_told(simulated, monkeypatch):
    """What a chip does not answer is no score."""
    model = groups()["int8, 0"]["mixed"]
    rows = rows_of(model, 20)
    monkeypatch.setattr(programs, "_on_avr", lambda *asked: np.empty(0, asked[-1]))
    with pytest.raises(ExportError, match="answered 0 of 20 rows"):
        measure(model, rows, simulated("ATmega328P"))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", conversion_models())
def test_a_chip_that_is_given_floats_converts_them(simulated, name, chip):
    """Also ends of ranges, halves between two integers, and what is missing."""
    width = 8 if name in ("mixed", "large") else 16
    model = conversion_models()[name](width)
    rows = np.vstack([conversions(model).values, sample(model.source, 20)])
    alone = measure(model, model.quantise(rows), simulated(chip), STRICT)
    found = measure(model, rows, simulated(chip), STRICT, converted=True)
    np.testing.assert_array_equal(found.scores, alone.scores)
    np.testing.assert_array_equal(found.winners, alone.winners)
    assert found.flash > alone.flash + 8 * len(model.inputs)
    assert found.ram == len(model.inputs) * width // 8
    assert (found.counts > alone.counts).all() and found.stack >= alone.stack


#: Version of the compiler that the limits below were measured with.
VERSIONS = {"avr": "5.4.0", "arm-none-eabi": "12.2.1"}
#: Chip, data -> bits of an input -> flash, stack, most cycles or instructions, of SMaLL
#: at its defaults, whatever the inputs; and of ten super-sparse cases of digits.
LIMITS = {
    ("ATmega328P", "breast_cancer"): ((132, 2, 74), (286, 14, 360), (1258, 42, 3168)),
    ("Cortex-M0", "breast_cancer"): ((133, 12, 49), (145, 12, 46), (2301, 112, 1915)),
    ("Cortex-M4F", "breast_cancer"): ((149, 12, 42), (125, 12, 33), (289, 36, 187)),
    ("ATmega328P", "digits"): ((520, 21, 4284), (630, 24, 6683), (1948, 93, 29027)),
    ("Cortex-M0", "digits"): ((377, 52, 1088), (453, 52, 1424), (2889, 160, 17881)),
    ("Cortex-M4F", "digits"): ((389, 44, 1052), (461, 44, 1072), (869, 84, 1480)),
    ("ATmega328P", "sums"): ((2174, 173, 36024), (3020, 233, 58706)),
    ("Cortex-M0", "sums"): ((1569, 180, 12601), (2361, 236, 9932)),
    ("Cortex-M4F", "sums"): ((1597, 196, 9240), (2397, 248, 8736)),
}


@pytest.mark.parametrize(("chip", "data"), LIMITS)
def test_an_answer_takes_what_it_took(simulated, chip, data):
    tools = simulated(chip).tools
    command = [f"{tools}-gcc", "-dumpversion"]
    there = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if there != VERSIONS[tools]:
        pytest.skip(f"these are the figures of {tools}-gcc {VERSIONS[tools]}")
    if data == "sums":
        *_, compiled = super_sparse_digits("digits")
    else:
        *_, compiled = fitted(data, METHODS["smallk"])
    for width, wanted in zip((8, 16, None), LIMITS[chip, data], strict=False):
        model = quantise(compiled, width) if width else compiled
        rows = rows_of(model, 100)
        if data == "sums":
            near = model.values(extreme_rows(model, farthest=False))
            rows = near_rows(model, near, 40)
        found = measure(model, rows, CHIPS[chip])
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
    one, two, three, four = (f"ldi r24, {n}\nout 0x1e, r24\n" for n in (1, 2, 3, 4))
    nothing = "nothing:\n" + 5 * "nop\n" + "ret\n"
    main = f"main:\n{one}{two}rcall nothing\n{three}{four}rjmp main\n"
    path = Path(folder) / "count.S"
    path.write_text(f".global main\n{nothing}{main}")
    run("avr-gcc", "-mmcu=atmega328p", path, "-o", "count.elf", cwd=folder)
    command = [f"{simavr_runner().name}/simavr", "count.elf", avr.machine, "1", "0"]
    told = run(*command, cwd=folder, given=b"x")
    return tuple(np.frombuffer(told, np.uint32).tolist())


def test_a_model_that_does_not_fit_is_told(random_model, simulated):
    avr = simulated("ATmega328P")
    larger = compile_model(random_model(300, 10, 4, 0.9))
    with pytest.raises(ExportError, match=r"one can have 32,767"):
        sizes(larger, avr)
    large = compile_model(random_model(300, 10, 4, 0.45))
    assert sizes(large, avr).flash > avr.flash
    wide = quantise(compile_model(random_model(1100, 2, 1, 1.0)), 16)
    for model, what in ((large, "flash, .* has 32,"), (wide, "RAM, .* has 2,048")):
        with pytest.raises(ExportError, match=f"bytes of {what}"):
            measure(model, rows_of(model, 5), avr)


def test_without_tools_nothing_is_available(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert available() == []
    with pytest.raises(ExportError, match="avr-gcc cannot be run"):
        sizes(groups()["int8, 1"]["written out"], CHIPS["ATmega328P"])


def test_a_simulation_that_does_not_end_is_stopped(simulated, monkeypatch):
    avr = simulated("ATmega328P")
    monkeypatch.setattr(chips.programs, "PATIENCE", 1e-3)
    with pytest.raises(ExportError, match=r"avr-gcc did not end within 0\.001 seconds"):
        measure(groups()["int8, 1"]["written out"], np.zeros((1, 5)), avr)


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
