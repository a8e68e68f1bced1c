"""Compiled models: the emulator beside float64, what is folded, said and refused."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from smpcore import (
    METHODS,
    Dataset,
    SMPClassifier,
    codegen,
    export,
    prepare,
    similarity,
)
from smpcore.codegen import (
    CompiledInput,
    agreement,
    arithmetic,
    compile_model,
    error_bound,
    quantise,
    sample,
)
from smpcore.codegen.arithmetic import CUTOFF, ROOT_ERROR, exp2_minus
from smpcore.codegen.lower import used_inputs
from smpcore.codegen.program import SIMILARITIES, WeightedSums
from smpcore.datasets import CleaningStep, make_dataset
from smpcore.errors import ExportError
from smpcore.similarity import Similarity
from tests.smpcore.codegen import models
from tests.smpcore.codegen.toolchain import contents, readme

KINDS = ["linear", *SIMILARITIES]


def _model(kind, *sizes, **changes):
    """A model of random numbers, linear or of a similarity."""
    if kind == "linear":
        return models.random_linear(*sizes, **changes)
    return models.random_kernel_model(kind, *sizes, **changes)


def test_functions_of_float32_are_as_exact_as_said():
    first, last = (int(np.float32(end).view(np.int32)) for end in (1, 4))
    square = np.arange(first, last, 5, dtype=np.int32).view(np.float32)
    for scale in (np.float32(2.0**-98), np.float32(1), np.float32(2.0**120)):
        number = square * scale
        exact = 1 / np.sqrt(number.astype(np.float64))
        assert np.abs(arithmetic.inverse_root(number) / exact - 1).max() < ROOT_ERROR
    last = int(CUTOFF.view(np.int32))
    u = np.arange(0, last, 4001, dtype=np.int32).view(np.float32)
    exact = np.exp2(-u.astype(np.float64))
    assert np.abs(exp2_minus(u) / exact - 1).max() < arithmetic.EXP2_ERROR
    whole = np.arange(126, dtype=np.float32)
    np.testing.assert_array_equal(exp2_minus(whole), np.exp2(-whole))


def test_functions_of_float32_end_in_zero_and_keep_a_nan():
    ends = np.float32([0, arithmetic.LEAST, -1, arithmetic.MOST, np.inf, np.nan])
    found = arithmetic.inverse_root(ends)
    np.testing.assert_array_equal(found, [0, 0, 0, 0, np.nan, np.nan])
    ends = np.float32([CUTOFF, 1e30, np.inf, np.nan])
    np.testing.assert_array_equal(exp2_minus(ends), [0, 0, 0, np.nan])
    assert exp2_minus(np.nextafter(CUTOFF, np.float32(0))) >= 2.0**-126


def test_far_from_zero_an_offset_saves_the_digits(random_model):
    low = np.array([101_300.0, 0.0])
    ends = {"center": low + 5, "scale": np.ones(2), "low": low, "high": low + 10}
    model = random_model(n_features=2, density=1.0, **ends)
    compiled = compile_model(model)
    assert [entry.offset for entry in compiled.inputs] == [101_305.0, 0.0]
    X = np.random.default_rng(0).integers(0, 160, (5000, 2)) / 16 + low
    assert agreement(compiled, model, X).score_error < 1e-5
    (rows,) = compiled.operations
    bare = tuple(replace(entry, offset=0.0) for entry in compiled.inputs)
    bias = rows.bias - rows.weight.reshape(-1, 2) @ [101_305.0, 0.0]
    folded = agreement(models.changed(compiled, inputs=bare, bias=bias), model, X)
    assert folded.score_error > 1e-3


@pytest.mark.parametrize(
    ("kind", "inputs", "n"),
    [("linear", [0, 2, 4, 5], 5), ("poly", [0, 2, 4], 5), ("rbf", [0, 1, 2, 3, 4], 5)],
)
def test_what_is_unused_is_dropped(kind, inputs, n):
    """Twins, anchors without a weight, and zeros; a distance drops no feature."""
    model = _model(kind, density=1.0)
    anchors, mixing = model.anchors.copy(), model.mixing.copy()
    anchors[:, [1, 3]] = 0.0
    anchors[1] = anchors[0]
    mixing[2] *= kind == "linear"
    model = replace(model, anchors=anchors, mixing=mixing)
    compiled = compile_model(model)
    assert [entry.index for entry in compiled.inputs] == inputs
    if kind == "linear":
        assert (compiled.n_rows, compiled.n_terms) == (n, n * len(inputs))
    else:
        assert models.part(compiled, "n_anchors") == n
    X = np.random.default_rng(0).uniform(model.low, model.high, (500, len(model.low)))
    assert agreement(compiled, model, X).n_equal == 500


def test_max_pooling_takes_the_intercept_and_shared_prototypes(random_model):
    votes = np.eye(3)[[0, 1, 1, 2, 2, 2]]
    votes[1, 0] = 1.0
    model = random_model(votes=votes, intercept=np.array([0.1, -0.2, 0.3]))
    compiled = compile_model(model)
    assert compiled.prototype_labels.tolist() == [0, 0, 1, 1, 2, 2, 2]
    X = np.random.default_rng(1).normal(size=(500, 6)) * 4
    assert agreement(compiled, model, X).score_error < 1e-5


def test_a_preparation_of_another_model_is_refused(mixed, random_model):
    with pytest.raises(ExportError, match="gives 6 features, but the model"):
        compile_model(random_model(n_features=7), mixed[1])


def test_random_rows_stay_in_range_and_whole(mixed_model):
    rows = sample(mixed_model, 1000)
    size, *whole = mixed_model.inputs
    assert size.low - 1e-4 <= rows[:, 0].min() <= rows[:, 0].max() <= size.high + 1e-4
    for column, entry in zip(rows.T[1:], whole, strict=True):
        assert (column == np.floor(column)).all()
        assert (column.min(), column.max()) == (entry.low, entry.high)
    np.testing.assert_array_equal(rows, sample(mixed_model, 1000))


def test_other_similarities_are_refused_by_name(random_model, monkeypatch):
    monkeypatch.setitem(similarity.SIMILARITIES, "strange", None)
    words = "='strange' cannot be exported; supported are .*, linear, .* or rbf"
    with pytest.raises(ExportError, match=words):
        compile_model(random_model(similarity=Similarity("strange")))


@pytest.mark.parametrize("value", [np.nan, object(), np.float32(1)])
def test_provenance_is_json(random_model, value):
    with pytest.raises(ExportError, match="provenance should hold plain JSON"):
        compile_model(random_model(), provenance={"a": value})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"identifier": "A b"}, "identifier='A b'"),
        ({"kind": "category"}, "levels should be given"),
        ({"levels": ("a",)}, "levels should be given"),
        ({"low": np.inf}, "should be finite"),
    ],
)
def test_an_input_is_checked(changes, words):
    good = {"index": 0, "name": "a", "identifier": "a", "kind": "number"}
    with pytest.raises(ExportError, match=words):
        CompiledInput(**{**good, "low": 0.0, "high": 1.0, **changes})


def test_an_offset_that_takes_all_digits_of_a_float_is_refused():
    model = models.random_linear(n_features=4, density=1.0)
    assert len(compile_model(models.far_from_0(model, 1e5)).inputs) == 4
    with pytest.raises(ExportError, match=r"Input .* goes from .*; subtract 1e\+09"):
        compile_model(models.far_from_0(model, 1e9))


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
    model = models.one_value(make, 6) if is_value else make()
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
    model = models.one_value(partial(_model, kind), 6) if is_value else _model(kind)
    X = np.random.default_rng(1).uniform(model.low, model.high, (5000, len(model.low)))
    compiled = compile_model(model)
    found = agreement(compiled, model, X)
    assert found.n_certified >= (5000 if is_value else 4995)
    assert found.n_equal >= found.n_certified and "is proved" in found.in_words
    assert 0 < found.score_error <= found.score_bound < 1e-2
    for name in ("bias", "weight", "factor", "constant", "anchor"):
        if any(hasattr(one, name) for one in compiled.operations):
            wrong = models.changed(
                compiled, **{name: 1.5 * models.part(compiled, name) + 0.5}
            )
            assert agreement(wrong, model, X).n_broken > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_without_any_score_gets_the_fallback(kind):
    compiled = compile_model(_model(kind, density=1.0, fallback=2))
    assert compiled.predict(np.full((1, len(compiled.inputs)), np.nan)) == ["class 2"]


@pytest.mark.parametrize("kind", ["rbf", "poly"])
def test_a_compiled_svm_decides_as_the_svm(kind):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) * [1, 10, 100] + [0, 0, 5000]
    y = np.where(np.hypot(X[:, 0], X[:, 1] / 10) > 1.2, "out", "in")
    ends = {"center": X.mean(axis=0), "scale": X.std(axis=0)}
    scaled = (X - ends["center"]) / ends["scale"]
    how = {"gamma": 0.4, "degree": 3, "coef0": 1.0}
    machine = SVC(kernel=kind, **how).fit(scaled, y)
    ends |= {"low": X.min(axis=0), "high": X.max(axis=0), "classes": machine.classes_}
    model = models.kernel_model(
        scaled[machine.support_],
        machine.dual_coef_.T * [-0.5, 0.5],
        Similarity(kind, **how),
        bias=machine.intercept_ * [-0.5, 0.5],
        **ends,
    )
    compiled = compile_model(model)
    assert models.part(compiled, "n_anchors") == machine.n_support_.sum() > 10
    lead = np.diff(model.scores(X))[:, 0]
    np.testing.assert_allclose(lead, machine.decision_function(scaled), atol=1e-9)
    answers = compiled.predict(compiled.rows(X))
    np.testing.assert_array_equal(answers, machine.predict(scaled))


@pytest.mark.parametrize("kind", KINDS)
def test_raw_rows_give_the_same_labels(mixed, kind):
    data, preparation = mixed
    names, table = preparation.feature_names, data.frame
    model = _model(kind, len(names), n_classes=2, density=1.0, feature_names=names)
    compiled = compile_model(model, preparation)
    rows = compiled.rows(table)
    assert np.isnan(rows[3, 0]) and set(rows[:, 1]) == {-1.0, 0.0, 1.0}
    levels = [entry.levels for entry in compiled.inputs]
    assert levels == [(), ("female", "male"), ("1", "2", "3.5"), ()]
    strange = table.assign(sex="other", stage="7", year=[1e300] * len(table))
    for frame in (table, strange):
        found = agreement(compiled, model, frame, preparation)
        assert found.n_equal == found.n_rows == 60
        expected = model.predict(preparation.transform(frame))
        np.testing.assert_array_equal(compiled.predict_frame(frame), expected)
    # Of two levels, no level counts as the commoner, in the page and in the export.
    common = table["sex"].iloc[:40].value_counts().index[0]
    for sex in ("other", None):
        for x in (preparation.transform, lambda t: compiled.scores(compiled.rows(t))):
            unseen, known = (x(table.assign(sex=word)) for word in (sex, common))
            np.testing.assert_array_equal(unseen, known)


@pytest.mark.parametrize(("density", "dense"), [(1.0, True), (0.3, False)])
def test_mixing_is_stored_in_the_smaller_way(density, dense):
    compiled = compile_model(models.random_kernel_model(n_anchors=20, density=density))
    tables = compiled.tables()
    assert models.part(compiled, "is_dense") is dense
    assert ("row" not in tables) is dense
    stored = sum(t.nbytes for n, t in tables.items() if n in ("weight", "row", "end"))
    assert stored <= compiled.find(WeightedSums).mixing().nbytes
    assert dense or np.all(models.part(compiled, "weight"))


@pytest.mark.parametrize(
    ("kind", "field", "value", "words"),
    [
        ("linear", "anchors", 0, "uses no input, it always answers 'class"),
        ("rbf", "mixing", 0, "uses no input, it always answers 'class"),
        ("poly", "anchors", 0, "uses no input, it always answers"),
        ("linear", "high", 1e31, r"Input 'feature 0' reaches 1e\+31, .*rescale"),
        ("linear", "low", -1e300, r"reaches 1e\+300"),
        ("linear", "scale", 1e-300, "Input 'feature 0' has weights .*too far from 1"),
        ("linear", "scale", 1e60, "has weights .*too far from 1"),
        ("linear", "bias", 1e31, r"The bias reaches 1e\+31"),
        ("linear", "intercept", -1e31, r"The bias reaches 1e\+31"),
        ("rbf", "bias", 1e31, r"Scores reach 1e\+31"),
        ("rbf", "high", 1e31, r"Input 'feature 0' reaches 1e\+31"),
        ("rbf", "high", 1e20, "Input 'feature 0' has a factor .* rbf"),
        ("rbf", "scale", 1e60, "'feature 0' has a factor of .* too far from 1"),
        ("rbf", "scale", 1e-200, "'feature 0' has a factor of .* too far from 1"),
        ("poly", "scale", 1e-60, "Input 'feature 0' .* inside a poly"),
    ],
)
def test_what_cannot_be_exported_is_said(kind, field, value, words):
    model = _model(kind)
    changes = {field: np.full_like(getattr(model, field), value)}
    if field == "low":
        changes["center"] = changes[field] / 10
    with pytest.raises(ExportError, match=words):
        compile_model(replace(model, **changes))


def test_what_has_no_form_is_refused():
    value = {"classes": None, "intercept": np.zeros(1), "votes": np.ones((6, 1))}
    with pytest.raises(ExportError, match="pooling='max' of a regression cannot be"):
        compile_model(replace(_model("linear"), **value))
    steep = Similarity("poly", gamma=1.0, degree=40, coef0=1.0)
    with pytest.raises(ExportError, match=r"Similarities reach .* smaller degree or"):
        compile_model(replace(_model("poly"), similarity=steep))


@pytest.mark.parametrize(
    ("kind_of_prototype", "n"),
    [("real case", 7), ("mix of real cases", 7), ("invented case", 0)],
)
def test_training_rows_inside_are_announced(kind_of_prototype, n):
    model = models.random_kernel_model(kind_of_prototype=kind_of_prototype)
    compiled = compile_model(model)
    assert compiled.n_training_rows == n
    files = codegen.emit_c99(compiled)
    assert (b"/* Contains 7 training rows" in files["mdl.h"]) is (n > 0)
    text = readme(compiled, codegen.test_vectors(compiled))
    said = "**This model contains 7 training rows (support vectors): whoever has"
    assert (said in text) is (n > 0)
    assert f"Its arrays take {4 * (5 + 6)} bytes of stack." in text
    assert "6 prototypes mixed from 7 anchors of 5 features (rbf similarity)" in text


def _constant_table():
    """Two classes, constants between two columns, and one level for everything."""
    random = np.random.default_rng(0)
    y = random.choice(["a", "b"], 120)
    frame = pd.DataFrame({"p": random.normal(size=120) + (y == "a")})
    frame = frame.assign(**{"region | pixels": 9.0, "far": 1e30, "place": "here"})
    frame["q"] = random.integers(0, 9, 120) + 4.0 * (y == "b")
    roles = dict.fromkeys(frame, "feature") | {"y": "target"}
    dataset = Dataset("constants", frame.assign(y=y), roles, "classification")
    return dataset, prepare(dataset, np.arange(80))


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_is_no_input_of_any_method(method):
    dataset, preparation = _constant_table()
    X = preparation.transform(dataset.frame)
    estimator = METHODS[method].estimator(METHODS[method].defaults())
    model = estimator.fit(X[:80], dataset.y[:80]).model_
    compiled = compile_model(model, preparation)
    assert {one.name for one in compiled.inputs} <= {"p", "q"}
    assert set(used_inputs(model, preparation)) <= {"p", "q"}
    found = agreement(compiled, model, dataset.frame, preparation)
    assert found.n_equal == found.n_rows and not found.n_broken
    left_0 = dataset.frame.assign(**{"region | pixels": 0.0, "far": 0.0})
    expected = model.predict(X)
    np.testing.assert_array_equal(compiled.predict_frame(left_0), expected)
    try:
        whole = quantise(compiled, 16)
    except ExportError as error:
        assert "32-bit floats" in str(error)
    else:
        assert (whole.predict_frame(left_0) == expected).mean() >= 0.99


@pytest.mark.parametrize("name", [*KINDS, "code"])
def test_the_value_of_a_constant_is_in_the_program(name):
    """In floats and in integers; of a row with another value nothing is proved."""
    model = models.coded_model() if name == "code" else _model(name)
    values = (0.7 * model.low + 0.3 * model.high)[[1, 3]]
    ends = {"low": model.low.copy(), "high": model.high.copy()}
    ends["low"][[1, 3]] = ends["high"][[1, 3]] = values
    model = replace(model, **ends)
    compiled = compile_model(model)
    told = compiled.provenance["constant_in_training"]
    assert told == dict(zip(["feature 1", "feature 3"], values, strict=True))
    random = np.random.default_rng(1)
    X = random.uniform(model.low, model.high, (400, model.n_features))
    programs = [compiled]
    if name in ("linear", "rbf", "laplacian"):
        programs.append(quantise(compiled, 16))
    for program in programs:
        assert len(program.inputs) == model.n_features - 2
        found = agreement(program, model, X)
        assert found.n_broken == 0 and found.n_certified > 300
        assert found.n_unbounded == 0 or name == "code"
    text = readme(compiled, codegen.test_vectors(compiled))
    assert f"take in: feature 1 ({values[0]:.9g}), feature 3 (" in text
    X[:20, 3] += 1.0
    other = agreement(compiled, model, X)
    assert other.n_unbounded >= 20 and other.n_broken == 0
    assert other.n_unbounded == 20 or name == "code"


def test_the_value_of_a_constant_is_in_a_new_similarity(monkeypatch):
    models.new_similarity(monkeypatch, "cosine")
    test_the_value_of_a_constant_is_in_the_program("cosine")


STEPS = (
    CleaningStep("chol", codes=("-9",), low=50, unit="mg/dl", impute="most frequent"),
    CleaningStep("kind", codes=("unknown",), impute="most frequent"),
    CleaningStep("age", high=60, unit="years", indicator=True),
)


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(1)
    chol, age = rng.integers(150, 160, 120), rng.integers(20, 70, 120)
    kind = rng.choice(["a", "b", "b", "c", "unknown"], 120)
    parts = {"chol": np.where(rng.random(120) < 0.2, -9, chol), "age": age}
    y = ((chol > 154) ^ (kind == "c") ^ (age > 60)).astype(int)
    frame = pd.DataFrame({**parts, "kind": kind, "y": y})
    data = make_dataset(frame, "heart", cleaning=STEPS, roles={"y": "target"})
    preparation = prepare(data, np.arange(120))
    X = preparation.transform(data.frame)
    model = SMPClassifier(lam=1e-4, mu=1e-4).fit(X, data.y).model_
    return data, preparation, model, X


def test_missing_values_become_what_the_preparation_makes_of_them(learned):
    data, preparation, model, X = learned
    compiled = compile_model(model, preparation)
    kind = next(one for one in compiled.inputs if one.name == "kind")
    assert kind.levels[kind.missing_level] == "b"
    gone = data.frame["kind"].isna().to_numpy()
    values = kind.read(data.frame["kind"])
    assert gone.any() and (values[gone] == kind.missing_level).all()
    assert kind.read(["never seen"]).tolist() == [-1]
    rows = compiled.rows(data.frame)
    answers = compiled.predict(rows)
    labels = [compiled.labels[k] for k in answers]
    assert labels == [str(label) for label in model.predict(X)]


@pytest.mark.parametrize("target", ["c99", "python"])
def test_json_and_readme_say_what_was_done_to_a_column(target, learned):
    _, preparation, model, _ = learned
    files = contents(export(model, preparation, target, name="heart"))
    told = {one["name"]: one for one in json.loads(files["heart.json"])["inputs"]}
    assert [told[n]["unit"] for n in ("chol", "age", "kind")] == ["mg/dl", "years", ""]
    assert told["chol"]["cleaning"][0] == "chol: -9 is missing."
    text = files["README.md"].decode().replace("\\", "")
    assert "- chol: -9 is missing." in text
    assert "- chol: values below 50 mg/dl are missing." in text
    assert "- kind: 'unknown' is missing." in text
    assert "`HEART_IS_KIND_B`" in text or "| 1 |" in text
