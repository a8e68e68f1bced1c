"""Estimates of flash, stack and cycles, beside measurements."""

import json
from contextlib import suppress
from functools import cache

import numpy as np
import pytest

from smpcore import METHODS
from smpcore.chips import CHIPS
from smpcore.codegen import compile_model, conversion, estimated, quantise
from smpcore.codegen.constants import has_tables
from smpcore.codegen.costs import TABLE, structures
from smpcore.codegen.program import SIMILARITIES
from smpcore.errors import ExportError
from tests.bench.costs import told
from tests.bench.export import fitted, imkpl, kernel_fitted
from tests.smpcore.codegen.models import coded_model, random_kernel_model, random_linear


def _models():
    linear = ((4, 2, 1, 1.0), (30, 4, 2, 0.5), (40, 4, 1, 1.0))
    made = [random_linear(*sizes) for sizes in linear]
    made += [*map(random_kernel_model, SIMILARITIES), coded_model()]
    for compiled in map(compile_model, made):
        yield compiled
        with suppress(ExportError):
            yield from [quantise(compiled, width) for width in (8, 16)]


@cache
def _fitted(data, kind):
    """A method at its defaults, or a code of a similarity."""
    if kind in METHODS:
        return fitted(data, METHODS[kind])[-1]
    return kernel_fitted(data, imkpl, kind)[-1]


@pytest.mark.parametrize("chip", CHIPS)
def test_every_form_has_its_constants(chip):
    forms = set()
    for model in _models():
        found = estimated(model, chip)
        assert found.flash > model.table_bytes / 2 and found.count > 10
        least = 2 if chip == "ATmega328P" else 1  # a call puts its return address there
        assert least <= found.stack < 1000
        forms |= {one.form for one in structures(model)}
    assert estimated(model, "Z80") is None
    assert len(forms) >= 15


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("width", [8, 16])
def test_a_stack_is_not_told_too_small(simulated, chip, width):
    """Models that are written out, with seeds that the table was not made of."""
    for seed, sizes in enumerate(((3, 2, 1, 1.0), (4, 2, 2, 0.5), (9, 3, 1, 0.3))):
        middle = {"center": np.zeros(sizes[0])}  # both answers are near it
        model = random_linear(*sizes, seed=90 + seed, **middle)
        model = quantise(compile_model(model), width)
        assert not has_tables(model)
        real, guess = told(model, simulated(chip)), estimated(model, chip)
        assert real.stack - 4 <= guess.stack <= real.stack + 24


def test_the_table_is_whole():
    for form, chips in json.loads(TABLE.read_text()).items():
        assert set(chips) == set(CHIPS), form
        for each in chips.values():
            assert set(each) == {"flash", "stack", "count", "error"}
            for parts in each.values():
                assert all(size >= 0 for size in parts.values()), form
            assert all(0 < size < 1 for size in each["error"].values()), form


#: Data, and a method or the similarity of a code -> bits of its integers, how near an
#: estimate of flash is, and bytes of stack that it may be too large.
NEAR = {
    ("iris", "smallk"): ((None, 16, 8), 0.2, 24),
    ("breast_cancer", "smallk"): ((None, 16, 8), 0.2, 24),
    # Zeros of rows that are written whole take time too: that was forgotten once.
    ("breast_cancer", "smp"): ((8,), 0.2, 24),
    # Of four columns no more than four linear prototypes are independent.
    ("iris", "rbf"): ((None,), 0.15, 999),
    ("iris", "linear"): ((None,), 0.15, 999),
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", NEAR)
def test_an_estimate_is_near(simulated, chip, name):
    (widths, near, room), compiled = NEAR[name], _fitted(*name)
    for width in widths:
        model = quantise(compiled, width) if width else compiled
        assert "smp" not in name or structures(model)[0].form.endswith("dense")
        real, guess = told(model, simulated(chip)), estimated(model, chip)
        assert guess.flash == pytest.approx(real.flash, rel=near)
        assert guess.count == pytest.approx(real.count, rel=0.2)
        assert real.stack - 4 <= guess.stack <= real.stack + room


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("data", ["breast_cancer", "mixed"])
def test_an_estimate_with_the_conversion_is_near(simulated, mixed_model, chip, data):
    compiled = mixed_model if data == "mixed" else _fitted(data, "smallk")
    for width in (16, 8):
        quant = quantise(compiled, width)
        real = told(quant, simulated(chip), converted=True)
        guess = estimated(quant, chip, converted=True)
        alone, more = estimated(quant, chip), conversion(quant, chip)
        assert guess.flash == pytest.approx(real.flash, rel=0.1)
        assert guess.count == pytest.approx(real.count, rel=0.25)
        assert real.stack - 4 <= guess.stack <= real.stack + 48
        assert guess.flash - alone.flash == more.flash > 150
        assert guess.count - alone.count == more.count > 50
    floats = (estimated(compiled, chip, converted=way) for way in (True, False))
    assert len({*floats}) == 1 and conversion(quant, "Z80") is None
