"""Similarity sums: the emulator beside float64, what is folded, said and refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from smpcore import codegen
from smpcore.codegen import (
    CompiledModel,
    agreement,
    compile_model,
    error_bound,
    sample,
)
from smpcore.codegen.float32 import CUTOFF, EXP2_ERROR, exp2_minus
from smpcore.codegen.program import WeightedSums
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.errors import ExportError
from smpcore.similarity import Similarity
from tests.smpcore.codegen.kernel_models import random_kernel_model, svm_model
from tests.smpcore.codegen.programs import changed, part, spoiled
from tests.smpcore.codegen.zips import readme


def test_two_to_the_minus_u_is_as_exact_as_said():
    last = int(CUTOFF.view(np.int32))
    u = np.arange(0, last, 4001, dtype=np.int32).view(np.float32)
    exact = np.exp2(-u.astype(np.float64))
    assert np.abs(exp2_minus(u) / exact - 1).max() < EXP2_ERROR
    whole = np.arange(126, dtype=np.float32)
    np.testing.assert_array_equal(exp2_minus(whole), np.exp2(-whole))


def test_two_to_the_minus_u_ends_in_zero_and_keeps_a_nan():
    ends = np.array([CUTOFF, 1e30, np.inf, np.nan], dtype=np.float32)
    np.testing.assert_array_equal(exp2_minus(ends), [0, 0, 0, np.nan])
    assert exp2_minus(np.nextafter(CUTOFF, np.float32(0))) >= 2.0**-126


@given(
    kind=st.sampled_from(sorted(SIMILARITIES)),
    n_features=st.integers(1, 60),
    n_anchors=st.integers(1, 20),
    density=st.sampled_from([0.1, 0.5, 1.0]),
    exponent=st.integers(-6, 6),
    away=st.integers(0, 5),
    gamma=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, deadline=None)
def test_scores_stay_within_the_bound(
    kind, n_features, n_anchors, density, exponent, away, gamma, seed
):
    model = random_kernel_model(kind, n_features, n_anchors, 3, density, seed)
    scale = model.scale * 10.0**exponent
    center = model.center * 10.0 ** (exponent + away)
    ends = {"low": center - 2 * scale, "high": center + 2 * scale}
    # Columns with fewer steps of a float are refused, see the test of offsets.
    assume((4 * scale > 64 * np.spacing(np.abs(center).astype(np.float32) * 2)).all())
    how = replace(model.similarity, gamma=gamma)
    model = replace(model, similarity=how, scale=scale, center=center, **ends)
    compiled = compile_model(model)
    X = center + scale * np.random.default_rng(seed).normal(size=(200, n_features))
    exact, rows = model.scores(X), compiled.rows(X)
    assert (np.abs(compiled.scores(rows) - exact) <= error_bound(compiled, rows)).all()
    assert agreement(compiled, model, X).n_broken == 0


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_the_bound_is_tight_enough_to_certify(kind):
    model = random_kernel_model(kind)
    X = np.random.default_rng(1).uniform(model.low, model.high, (10_000, 5))
    found = agreement(compile_model(model), model, X)
    assert found.n_certified >= 9_990
    assert found.n_equal >= found.n_certified
    assert 0 < found.score_error <= found.score_bound


@pytest.mark.parametrize("kind", SIMILARITIES)
@pytest.mark.parametrize("name", ["bias", "factor", "constant", "anchor", "weight"])
def test_a_broken_model_is_noticed(kind, name):
    model = random_kernel_model(kind)
    compiled = compile_model(model)
    wrong = changed(compiled, **{name: 1.5 * part(compiled, name) + 0.5})
    X = np.random.default_rng(1).uniform(model.low, model.high, (1000, 5))
    assert agreement(wrong, model, X).n_broken > 0


def test_a_compiled_svm_decides_as_the_svm():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) * [1, 10, 100] + [0, 0, 5000]
    y = np.where(np.hypot(X[:, 0], X[:, 1] / 10) > 1.2, "out", "in")
    for kind, degree in (("rbf", 1), ("poly", 3)):
        model, machine = svm_model(X, y, kind=kind, degree=degree, coef0=1.0)
        compiled = compile_model(model)
        assert part(compiled, "n_anchors") == machine.n_support_.sum() > 10
        scaled = (X - model.center) / model.scale
        side = machine.decision_function(scaled)
        scores = model.scores(X)
        np.testing.assert_allclose(scores[:, 1] - scores[:, 0], side, atol=1e-9)
        np.testing.assert_array_equal(
            compiled.predict(compiled.rows(X)), machine.predict(scaled)
        )


def test_what_is_unused_is_dropped():
    model = random_kernel_model("poly", n_anchors=6)
    anchors, mixing = model.anchors.copy(), model.mixing.copy()
    anchors[:, [1, 3]] = 0.0
    anchors[4] = anchors[0]
    mixing[2] = 0.0
    model = replace(model, anchors=anchors, mixing=mixing)
    compiled = compile_model(model)
    assert [entry.index for entry in compiled.inputs] == [0, 2, 4]
    assert part(compiled, "n_anchors") == 4
    assert part(compiled, "is_dense")
    X = np.random.default_rng(0).normal(size=(500, 5)) * 4
    assert agreement(compiled, model, X).n_equal == 500


def test_a_distance_drops_no_feature():
    model = random_kernel_model("rbf")
    anchors = model.anchors.copy()
    anchors[:, 1] = 0.0
    compiled = compile_model(replace(model, anchors=anchors))
    assert part(compiled, "n_features") == len(compiled.inputs) == 5


def test_a_twin_that_never_wins_is_dropped():
    model = random_kernel_model("rbf")
    mixing = model.mixing.copy()
    mixing[:, 1] = mixing[:, 0]
    compiled = compile_model(replace(model, mixing=mixing))
    assert compiled.n_rows == 5
    assert part(compiled, "bias")[0] == np.float32(model.bias[:2].max())


@pytest.mark.parametrize(("density", "dense"), [(1.0, True), (0.3, False)])
def test_mixing_is_stored_in_the_smaller_way(density, dense):
    compiled = compile_model(random_kernel_model(n_anchors=20, density=density))
    tables = compiled.tables()
    assert part(compiled, "is_dense") is dense
    assert ("row" not in tables) is dense
    stored = sum(t.nbytes for n, t in tables.items() if n in ("weight", "row", "end"))
    assert stored <= compiled.find(WeightedSums).mixing().nbytes
    assert dense or np.all(part(compiled, "weight"))


def test_sum_pooling_adds_up_to_one_row_per_class():
    votes = np.random.default_rng(0).normal(size=(6, 3))
    intercept = np.array([0.1, -0.2, 0.3])
    model = random_kernel_model(pooling="sum", votes=votes, intercept=intercept)
    compiled = compile_model(model)
    assert compiled.n_rows == 3
    X = np.random.default_rng(1).normal(size=(500, 5)) * 4
    found = agreement(compiled, model, X)
    assert found.n_equal == 500
    assert found.score_error < 1e-5


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_raw_rows_give_the_same_labels(mixed, kind):
    data, preparation = mixed
    names = preparation.feature_names
    model = random_kernel_model(kind, len(names), n_classes=2, feature_names=names)
    compiled = compile_model(model, preparation)
    table = data.frame
    strange = table.assign(sex="other", stage="7", year=[1e300] * len(table))
    for frame in (table, strange):
        found = agreement(compiled, model, frame, preparation)
        assert found.n_equal == found.n_rows == 60
        expected = model.predict(preparation.transform(frame))
        np.testing.assert_array_equal(compiled.predict_frame(frame), expected)


def test_an_input_without_any_score_gets_the_fallback():
    compiled = compile_model(random_kernel_model(fallback=2))
    assert compiled.predict(np.full((1, 5), np.nan)).tolist() == ["class 2"]


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_json_gives_the_model_back_bit_for_bit(kind, same_bits):
    compiled = compile_model(random_kernel_model(kind, density=0.4))
    back = CompiledModel.from_json(compiled.to_json())
    assert back.to_json() == compiled.to_json()
    rows = sample(compiled, 100)
    same_bits(back.scores(rows), compiled.scores(rows))
    for one, other in zip(back.operations, compiled.operations, strict=True):
        for name, numbers in other.numbers.items():
            same_bits(one.numbers[name], numbers)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"similarity": "gak"},
            r"similarity should be one of \['cosine', 'features'",
        ),
        ({"similarity": ["rbf"]}, "wrong entry"),
        ({"anchor": [[1.0], [2.0]]}, "anchor should be a table"),
        ({"anchor": 1.0}, "anchor should be a table"),
        ({"constant": [0.0]}, "constant should have a number for each anchor"),
        ({"factor": [-1.0] * 5}, "factor should be above 0"),
        ({"factor": [1e39] * 5}, "should be finite"),
        ({"level": [0] * 5}, "level should be a level of its input"),
        ({"input": [4, 3, 2, 1, 0]}, "should be all inputs in order"),
        ({"start": [0]}, "start should lead through all terms"),
        ({"row": [6] * 42}, "row should be a row"),
        ({"row": [0] * 42}, "ascending within an anchor"),
        ({"degree": 0}, "degree should be a whole number from 1 on"),
        ({"n_training_rows": 1.5}, "n_training_rows should be a whole number"),
        ({"operation": "Sums"}, "operation='Sums' should be one of"),
        ({"operations": []}, "operations should not be empty"),
    ],
)
def test_spoiled_json_is_refused_in_words(change, words):
    content = json.loads(compile_model(random_kernel_model()).to_json())
    with pytest.raises(ExportError, match=words):
        CompiledModel.from_json(spoiled(content, **change))


POLY = Similarity("poly", gamma=1.0, degree=40, coef0=1.0)


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (
            "rbf",
            {"mixing": np.zeros((7, 6))},
            "uses no input, it always answers 'class",
        ),
        ("poly", {"anchors": np.zeros((7, 5))}, "uses no input, it always answers"),
        ("poly", {"similarity": POLY}, "Similarities reach .* smaller degree or gamma"),
        ("rbf", {"bias": np.full(6, 1e31)}, r"Scores reach 1e\+31"),
        ("rbf", {"high": np.full(5, 1e31)}, r"Input 'feature 0' reaches 1e\+31"),
        ("rbf", {"high": np.full(5, 1e20)}, "Input 'feature 0' has a factor .* rbf"),
        (
            "rbf",
            {"scale": np.full(5, 1e60)},
            "Input 'feature 0' has a factor of .* too far from 1",
        ),
        (
            "rbf",
            {"scale": np.full(5, 1e-200)},
            "Input 'feature 0' has a factor of .* too far from 1",
        ),
        ("poly", {"scale": np.full(5, 1e-60)}, "Input 'feature 0' .* inside a poly"),
    ],
)
def test_what_cannot_be_exported_is_said(kind, changes, words):
    model = replace(random_kernel_model(kind), **changes)
    with pytest.raises(ExportError, match=words):
        compile_model(model)


@pytest.mark.parametrize(
    ("kind_of_prototype", "n"),
    [("real case", 7), ("mix of real cases", 7), ("invented case", 0)],
)
def test_training_rows_inside_are_announced(kind_of_prototype, n):
    model = random_kernel_model(kind_of_prototype=kind_of_prototype)
    compiled = compile_model(model)
    assert compiled.n_training_rows == n
    files = codegen.emit_c99(compiled)
    assert (b"/* Contains 7 training rows" in files["mdl.h"]) is (n > 0)
    text = readme(compiled, codegen.test_vectors(compiled))
    said = "**This model contains 7 training rows (support vectors): whoever has"
    assert (said in text) is (n > 0)
    assert f"Its arrays take {4 * (5 + 6)} bytes of stack." in text
    assert "6 prototypes mixed from 7 anchors of 5 features (rbf similarity)" in text


def test_a_linear_model_contains_no_training_row(random_model):
    model = random_model(kind_of_prototype="mix of real cases")
    compiled = compile_model(model)
    assert compiled.n_training_rows == 0
    assert compiled.stack_bytes == 0
    assert compiled.warnings == ()
