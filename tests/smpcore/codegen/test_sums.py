"""Similarity sums: the emulator beside float64, what is folded, said and refused."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from smpcore import codegen
from smpcore.codegen import agreement, compile_model, error_bound
from smpcore.codegen.arithmetic import CUTOFF, EXP2_ERROR, exp2_minus
from smpcore.codegen.program import SIMILARITIES, WeightedSums
from smpcore.errors import ExportError
from smpcore.similarity import Similarity
from tests.smpcore.codegen.kernel_models import random_kernel_model, svm_model
from tests.smpcore.codegen.programs import changed, part
from tests.smpcore.codegen.random_models import one_value, random_linear
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


KINDS = ["linear", *SIMILARITIES]


def _model(kind, *sizes, **changes):
    """A model of random numbers, linear or of a similarity."""
    if kind == "linear":
        return random_linear(*sizes, **changes)
    return random_kernel_model(kind, *sizes, **changes)


@given(
    kind=st.sampled_from(sorted(KINDS)),
    is_value=st.booleans(),
    n_features=st.integers(1, 60),
    n_anchors=st.integers(1, 20),
    density=st.sampled_from([0.1, 0.5, 1.0]),
    exponent=st.integers(-6, 6),
    away=st.integers(0, 5),
    size=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=2 * settings.default.max_examples)
def test_scores_stay_within_the_bound(
    kind, is_value, n_features, n_anchors, density, exponent, away, size, seed
):
    sizes = (n_features, 3, 2) if kind == "linear" else (n_features, n_anchors, 3)
    make = partial(_model, kind, *sizes, density=density, seed=seed)
    model = one_value(make, 6) if is_value else make()
    scale = model.scale * 10.0**exponent
    center = model.center * 10.0 ** (exponent + away)
    ends = {"low": center - 2 * scale, "high": center + 2 * scale}
    # Columns with fewer steps of a float are refused, see the test of offsets.
    assume((4 * scale > 64 * np.spacing(np.abs(center).astype(np.float32) * 2)).all())
    parts = {"similarity": replace(model.similarity, gamma=size)}
    if kind == "linear":
        parts = {"anchors": size * model.anchors}
    model = replace(model, scale=scale, center=center, **ends, **parts)
    compiled = compile_model(model)
    X = center + scale * np.random.default_rng(seed).normal(size=(200, n_features))
    exact, rows = model.scores(X), compiled.rows(X)
    assert (np.abs(compiled.scores(rows) - exact) <= error_bound(compiled, rows)).all()
    assert agreement(compiled, model, X).n_broken == 0


@pytest.mark.parametrize("is_value", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_tight_enough_to_certify(kind, is_value):
    model = one_value(partial(_model, kind), 6) if is_value else _model(kind)
    X = np.random.default_rng(1).uniform(model.low, model.high, (5000, len(model.low)))
    compiled = compile_model(model)
    found = agreement(compiled, model, X)
    assert found.n_certified >= (5000 if is_value else 4995)
    assert found.n_equal >= found.n_certified and "is proved" in found.in_words
    assert 0 < found.score_error <= found.score_bound < 1e-2
    for name in ("bias", "weight", "factor", "constant", "anchor"):
        if any(hasattr(one, name) for one in compiled.operations):
            wrong = changed(compiled, **{name: 1.5 * part(compiled, name) + 0.5})
            assert agreement(wrong, model, X).n_broken > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_sum_pooling_adds_up_to_one_row_per_class(kind):
    votes = np.random.default_rng(0).normal(size=(6, 3))
    intercept = np.array([0.1, -0.2, 0.3])
    model = _model(kind, pooling="sum", votes=votes, intercept=intercept)
    compiled = compile_model(model)
    assert compiled.n_rows == 3
    X = np.random.default_rng(1).uniform(model.low, model.high, (500, len(model.low)))
    found = agreement(compiled, model, X)
    assert found.n_equal == 500 and found.score_error < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_without_any_score_gets_the_fallback(kind):
    compiled = compile_model(_model(kind, density=1.0, fallback=2))
    assert compiled.predict(np.full((1, len(compiled.inputs)), np.nan)) == ["class 2"]


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


@pytest.mark.parametrize("kind", KINDS)
def test_raw_rows_give_the_same_labels(mixed, kind):
    data, preparation = mixed
    names = preparation.feature_names
    model = _model(kind, len(names), n_classes=2, feature_names=names)
    compiled = compile_model(model, preparation)
    table = data.frame
    strange = table.assign(sex="other", stage="7", year=[1e300] * len(table))
    for frame in (table, strange):
        found = agreement(compiled, model, frame, preparation)
        assert found.n_equal == found.n_rows == 60
        expected = model.predict(preparation.transform(frame))
        np.testing.assert_array_equal(compiled.predict_frame(frame), expected)


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
