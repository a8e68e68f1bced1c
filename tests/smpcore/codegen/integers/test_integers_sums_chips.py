"""Similarity sums in integers on simulated chips: every score, and what it takes."""

import subprocess

import numpy as np
import pytest

from smpcore.chips import CHIPS, measure
from smpcore.codegen import compile_model, quantise
from smpcore.codegen.discriminating import extreme_rows
from tests.smpcore.codegen.integers.chips import write_integers
from tests.smpcore.codegen.integers.test_integers_sums import fitted, tried_rows
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.programs import whole_similarities
from tests.smpcore.codegen.test_chips import VERSIONS
from tests.smpcore.codegen.test_regression import _one_value
from tests.smpcore.codegen.toolchain import STRICT, run

#: Random models: few and many rows, sparse and dense mixing, one value.
MODELS = {
    "rbf": lambda: random_kernel_model("rbf"),
    "laplacian": lambda: random_kernel_model("laplacian"),
    "sparse": lambda: random_kernel_model("rbf", 12, 20, 4, density=0.2),
    "two rows": lambda: random_kernel_model(
        "rbf", n_classes=1, votes=np.eye(2), classes=np.array(["a", "b"])
    ),
    "value": lambda: _one_value(random_kernel_model, 6, kind="rbf"),
}


def rows_near_anchors(quant, n):
    """Rows of integers that have similarities, and corners."""
    return tried_rows(quant, quant.values(extreme_rows(quant, farthest=False)), n)


#: Each model with every chip, the widths in turns; the other width by --all.
CASES = [
    pytest.param(name, width, chip, marks=() if usual else pytest.mark.exhaustive)
    for m, name in enumerate(MODELS)
    for c, chip in enumerate(CHIPS)
    for w, width in enumerate((8, 16))
    for usual in [(m + c + w) % 2 == 0]
]


@pytest.mark.parametrize(("name", "width", "chip"), CASES)
def test_a_chip_gives_every_score(simulated, name, width, chip):
    quant = quantise(compile_model(MODELS[name]()), width)
    rows = rows_near_anchors(quant, 100)
    assert (whole_similarities(quant, rows) > 0).mean() > 0.3
    found = measure(quant, rows, simulated(chip), STRICT)
    np.testing.assert_array_equal(found.scores, quant.scores(rows))
    np.testing.assert_array_equal(found.winners, quant.decide(quant.scores(rows)))
    assert found.ram < 4  # nothing but what rounds the size of the inputs up
    assert found.flash > quant.table_bytes


#: Chip -> bits of an input -> flash, stack, most cycles or instructions, of digits with
#: ten super-sparse cases, rows far from all of them included.
LIMITS = {
    "ATmega328P": {8: (2154, 173, 36022), 16: (3000, 233, 58704)},
    "Cortex-M0": {8: (1548, 180, 12600), 16: (2340, 236, 9931)},
    "Cortex-M4F": {8: (1576, 196, 9239), 16: (2376, 248, 8735)},
}


@pytest.mark.parametrize("chip", CHIPS)
def test_an_answer_takes_what_it_took(simulated, chip):
    tools = simulated(chip).tools
    command = [f"{tools}-gcc", "-dumpversion"]
    there = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    if there != VERSIONS[tools]:
        pytest.skip(f"these are the figures of {tools}-gcc {VERSIONS[tools]}")
    *_, compiled = fitted("digits")
    for width, wanted in LIMITS[chip].items():
        quant = quantise(compiled, width)
        rows = rows_near_anchors(quant, 40)
        found = measure(quant, rows, CHIPS[chip])
        np.testing.assert_array_equal(found.scores, quant.scores(rows))
        told = found.flash, found.stack, found.counts.max()
        assert told == pytest.approx(wanted, rel=0.02, abs=1), width


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_chips_compile_the_conversion_without_a_warning(tool, tmp_path, chip, width):
    compiler = tool(f"{chip.tools}-gcc")
    write_integers(tmp_path, quantise(fitted("breast cancer svm")[-1], width))
    files = ["-c", "mdl.c", "mdl_quantise.c"]
    run(compiler, *STRICT, "-Os", *chip.flags, *files, cwd=tmp_path)
