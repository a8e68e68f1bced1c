"""Linear models in integers: proofs, errors, and C that gives every score."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from smpcore import METHODS, codegen
from smpcore.codegen import SensorRange, compile_model, quantise
from smpcore.codegen.vectors import saturating_row
from smpcore.errors import ExportError
from tests.bench import export
from tests.smpcore.codegen.c_programs import any_integers
from tests.smpcore.codegen.models import mixed_columns
from tests.smpcore.codegen.toolchain import readme as readme_of

LINEAR = ("smp", "smallk", "mprotsvm")


@cache
def fitted(data, method):
    """A model of a method at its defaults, its table, and the compiled model."""
    return export.fitted(data, METHODS[method])


@pytest.mark.parametrize("width", [8, 16])
def test_the_largest_sum_is_reached_but_not_passed(random_model, width):
    for seed in range(20):
        compiled = compile_model(random_model(12, 3, 2, 0.5, seed=seed))
        quant = quantise(compiled, width)
        reached = np.abs(quant.row_scores(saturating_row(quant)[None])).max()
        # The most positive integer is one short of the cap that is proved with.
        assert 0.99 * quant.largest <= reached <= quant.largest
        assert quant.largest <= 2 ** (quant.accumulator - 1) - 1
        drawn = np.abs(quant.row_scores(any_integers(quant, 2_000, seed)))
        assert drawn.max() <= quant.largest


def test_whole_numbers_that_fit_are_taken_as_they_are():
    quant = quantise(fitted("digits", "smallk")[-1], 16)
    assert all(one.is_itself for one in quant.inputs) and not quant.converts
    rows = quant.rows(fitted("digits", "smallk")[2])
    np.testing.assert_array_equal(quant.quantise(rows), rows)


def test_a_range_of_the_users_own_is_kept():
    compiled = fitted("iris", "smallk")[-1]
    name = compiled.inputs[0].name
    given = {name: SensorRange(0, 1023, integer=True, unit="counts")}
    quant = quantise(compiled, 16, given)
    assert quant.inputs[0].exact and quant.source.inputs[0].unit == "counts"
    assert quant.inputs[0].formula == "value * 32"  # beside inputs with a fraction
    narrow = quantise(compiled, 8, given)
    ends_8 = narrow.inputs[0].quantise(np.array([-1e6, 0, 1023, 1e6]), 8)
    assert ends_8[0] == -128 and ends_8[-1] == 127
    assert -128 < ends_8[1] < ends_8[2] < 127


@pytest.mark.parametrize(
    ("name", "ends", "told"),
    [
        ("petal length", (0, 1), "no input 'petal length'"),
        ("petal length (cm)", (1, 1), "low end should be below"),
        ("petal length (cm)", (2, 1), "low end should be below"),
        ("petal length (cm)", (0, float("nan")), "both ends should be numbers"),
        ("petal length (cm)", (0, float("inf")), "both ends should be numbers"),
    ],
)
def test_a_range_that_is_none_is_refused(name, ends, told):
    with pytest.raises(ExportError, match=told):
        quantise(fitted("iris", "mprotsvm")[-1], 8, {name: SensorRange(*ends)})


def test_a_wrong_width_is_refused():
    with pytest.raises(ExportError, match="8 or 16"):
        quantise(fitted("iris", "smp")[-1], 12)
    with pytest.raises(ExportError, match="16 or 32"):
        quantise(fitted("iris", "smp")[-1], 8, accumulator=64)


@pytest.mark.parametrize("accumulator", [16, 32])
def test_the_sums_have_the_bits_asked_for(accumulator):
    quant = quantise(fitted("iris", "smp")[-1], 8, accumulator=accumulator)
    assert quant.accumulator == accumulator


def halves(dataset, method):
    """The compiled model of half of the rows; the others, and the model's answers."""
    way = export.at_defaults, METHODS[method]
    model, preparation, table, compiled = export.fitted_to(
        dataset, *way, validation=0.0, test=0.5
    )
    return compiled, table, model.predict(preparation.transform(table))


@pytest.mark.parametrize("method", LINEAR)
@pytest.mark.parametrize(
    "name", ["flags, 12-bit counter, floats", "years, flags, floats"]
)
def test_whole_numbers_beside_others_leave_weights_their_digits(name, method):
    compiled, table, answers = halves(mixed_columns(name), method)
    for width, most in ((16, 0.005), (8, 0.03)):
        quant = quantise(compiled, width)
        differs = (quant.predict_frame(table) != answers).mean()
        assert differs <= most, f"{differs:.1%} in {width} bits"
        assert width == 8 or not quant.zero_weights


def test_a_weight_that_rounds_to_0_is_told(random_model):
    model = random_model(3, 2, 1, 1.0)
    anchors = model.anchors * [1.0, 1e-9, 1.0]
    model = replace(model, anchors=anchors, feature_names=("a", "x|y", "c"))
    for width in (8, 16):
        quant = quantise(compile_model(model), width)
        assert quant.zero_weights == {"x|y": (1, 1)}
        text = quant.to_json()
        assert json.loads(text)["zero_weights"] == {"x|y": [1, 1]}
        readme = readme_of(quant, codegen.test_vectors(quant))
        assert f"Weights too small for {width} bits" in readme
        assert "1 of 1 of 'x\\|y'" in readme


@pytest.mark.parametrize("name", ["flags", "rare flags", "flags, floats"])
def test_flags_keep_their_accuracy(name):
    dataset = mixed_columns(name)
    compiled, table, expected = halves(dataset, "mprotsvm")
    truth = dataset.y[table.index]
    right = (expected == truth).mean()
    for width in (16, 8):
        answers = quantise(compiled, width).predict_frame(table)
        assert (answers == truth).mean() >= right - 0.01


def test_8_bits_multiply_pixels_of_uneven_ranges():
    model, preparation, test, compiled = fitted("digits", "smallk")
    quant = quantise(compiled, 8)
    assert all(one.exact and one.zero == 0 for one in quant.inputs)
    answers = model.predict(preparation.transform(test))
    assert (quant.predict_frame(test) != answers).mean() <= 0.02  # .04 as they are
