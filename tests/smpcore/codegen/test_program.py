"""Operations of programs: what each computes, and that every reader knows each."""

from dataclasses import replace

import numpy as np
import pytest

from smpcore.codegen import CompiledInput, bounds, constants, program, run
from smpcore.codegen.arithmetic import ONE, FixedPointExp2
from smpcore.codegen.targets import scripts
from smpcore.codegen.targets.c99 import operations
from smpcore.codegen.targets.onnx import source as onnx

IN_INTEGERS = {program.FixedPointFeatures, program.FixedPointSimilarities}
KINDS = {*program.Operation.__subclasses__()}

#: What reads programs -> the operations that it has to know.
READERS = {
    "run": (run.apply, KINDS),
    "constants": (constants._tables, KINDS),
    "bounds": (bounds._bounds, KINDS - IN_INTEGERS),
    "words of c99": (operations._WORDS, KINDS),
    "onnx": (onnx._write, KINDS - IN_INTEGERS - {program.SparseCode}),
    "constants of scripts": (scripts.CONSTANTS, KINDS),
    "functions of scripts": (scripts.FUNCTIONS, KINDS),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_knows_every_operation(name):
    reader, kinds = READERS[name]
    known = getattr(reader, "registry", reader)
    assert kinds == {kind for kind in KINDS if kind in known}


def _rows(dtype):
    """Two rows: the second has a level of input 1."""
    return program.WeightedInputs(
        bias=np.array([10, -5], dtype),
        start=[0, 1, 3],
        input=[0, 0, 1],
        level=[-1, -1, 2],
        weight=np.array([3, -2, 7], dtype),
    )


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_rows_of_inputs_are_sums_with_levels(dtype):
    values = np.array([[4, 2], [4, 1], [0, -1]], dtype)
    scores = run.apply(_rows(dtype), values)
    assert scores.dtype == dtype
    np.testing.assert_array_equal(scores, [[22, -6], [22, -13], [10, -5]])


def test_floats_are_added_in_the_order_of_the_terms():
    rows = program.WeightedInputs(
        bias=[1.0], start=[0, 2], input=[0, 1], level=[-1, -1], weight=[1e8, -1e8]
    )
    values = np.ones((1, 2), np.float32)
    assert run.apply(rows, values) == 0.0  # 1 + 1e8 is 1e8
    other = replace(rows, bias=[0.0], start=[0, 2])
    assert run.apply(other, values[:, ::-1]) == 0.0
    after = run.apply(replace(rows, weight=[1.0, 2.0**-24]), values)
    assert after == 2.0  # 2 + 2^-24 is 2


def test_an_input_is_filled_and_shifted_and_a_category_is_not():
    number = CompiledInput(0, "a", "a", "number", 0.0, 9.0, missing=7.0, offset=2.0)
    category = CompiledInput(1, "b", "b", "category", 0.0, 1.0, levels=("x", "y"))
    category = replace(category, level_identifiers=("x", "y"))
    rows = np.array([[np.nan, 1.0], [3.0, -1.0]], np.float32)
    values = run.input_values((number, category), rows)
    np.testing.assert_array_equal(values, np.float32([[5, 1], [1, -1]]))


def test_features_are_scaled_moved_and_made_as_long_as_1():
    parts = {"input": [0, 1], "level": [-1, -1], "factor": [2.0, 1.0]}
    values = np.array([[1, 4], [0, 0]], np.float32)
    plain = program.Features(**parts, move=[1.0, 0.0])
    np.testing.assert_array_equal(run.apply(plain, values), [[3, 4], [1, 0]])
    unit = run.apply(replace(plain, normalise="length"), values)
    np.testing.assert_allclose(unit, [[0.6, 0.8], [1, 0]], rtol=1e-6)
    both = program.Features(**parts, normalise="mean and length", move=[0.0, 0.0])
    found = run.apply(both, values)
    np.testing.assert_allclose(found[0], [-(0.5**0.5), 0.5**0.5], rtol=1e-6)
    assert (found[1] == 0).all()  # no length


EXPECTED = {
    "rbf": 2.0**-5,
    "poly": (0.5 + 8) ** 2,
    "laplacian": 2.0**-3,
    "cosine": 0.5 + 8,
    "ncc": 0.5 + 8,
    "features": 0.5 + 3 * 2.0**-1 + 5 * 2.0**-4,
    "intersection": (0.5 + 1 + 2) / (0.5 + 2 + 4),
}


@pytest.mark.parametrize("name", program.SIMILARITIES)
def test_similarities_of_one_anchor(name):
    kind = program.SIMILARITIES[name]
    has_constant = kind.finish != "exp2"
    alike = program.Similarities(
        similarity=name,
        constant=[0.5 * has_constant],
        anchor=[[2.0, 2.0]],
        share=[3.0, 5.0] if kind.step == "exp2" else None,
        degree=2 if kind.finish == "power" else 1,
    )
    t = np.array([[1, 4]], np.float32)
    if kind.step == "product":
        t = np.array([[1, 3]], np.float32)
    found = run.apply(alike, t)
    np.testing.assert_allclose(found, [[EXPECTED[name]]], rtol=1e-6)


def test_whole_features_and_their_similarities():
    parts = {"input": [0, 1], "level": [-1, 1], "factor": [3, 100], "origin": [2, 0]}
    parts |= {"places": [1, 0], "top": 50, "feature": [0, 1], "per_unit": 1.0}
    features = program.FixedPointFeatures(**parts, zero=np.zeros(2))
    t = run.apply(features, np.array([[10, 1], [-9, 0]]))
    np.testing.assert_array_equal(t, [[16, 50], [0, 0]])
    anchors = {"anchor": [[16, 50], [14, 50]], "exp2": FixedPointExp2.of(4.0)}
    alike = program.FixedPointSimilarities(**anchors, power=2)
    np.testing.assert_array_equal(run.distances(alike, t[:1]), [[0, 4]])
    found = run.apply(alike, t)
    assert found[0, 0] == ONE and found[1, 0] == 0
    assert abs(found[0, 1] / 2**15 - 0.5) < 1e-3


def test_a_class_has_the_largest_score_that_is_a_number():
    scores = np.array([[1, np.nan, 3], [np.nan, np.nan, np.nan]], np.float32)
    found = run.class_scores(scores, np.array([0, 1, 1]), 2)
    np.testing.assert_array_equal(
        found, np.float32([[1, 3], [program.LOWEST, program.LOWEST]])
    )


def test_arrays_are_read_only_and_of_the_program_s_type():
    rows = _rows(np.int64)
    assert rows.weight.dtype == np.int64 and _rows(np.float32).bias.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        rows.weight[0] = 1
