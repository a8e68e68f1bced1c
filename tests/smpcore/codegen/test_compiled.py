from dataclasses import replace

import numpy as np
import pytest

from smpcore.codegen import (
    CompiledInput,
    agreement,
    compile_model,
    sample,
)
from smpcore.errors import ExportError
from smpcore.similarity import SIMILARITIES, Similarity
from tests.smpcore.codegen.programs import changed
from tests.smpcore.codegen.random_models import random_linear


def test_far_from_zero_an_offset_saves_the_digits(random_model):
    model = random_model(n_features=2, density=1.0)
    low = np.array([101_300.0, 0.0])
    model = replace(model, center=low + 5, scale=np.ones(2), low=low, high=low + 10)
    compiled = compile_model(model)
    assert [entry.offset for entry in compiled.inputs] == [101_305.0, 0.0]
    X = np.random.default_rng(0).integers(0, 160, (5000, 2)) / 16 + low
    assert agreement(compiled, model, X).score_error < 1e-5

    (rows,) = compiled.operations
    bare = tuple(replace(entry, offset=0.0) for entry in compiled.inputs)
    bias = [
        float(rows.bias[row])
        - sum(float(w) * compiled.inputs[i].offset for i, _, w in rows.terms(row))
        for row in range(compiled.n_rows)
    ]
    folded = agreement(changed(compiled, inputs=bare, bias=bias), model, X)
    assert folded.score_error > 1e-3


def test_what_is_unused_is_dropped(random_model):
    model = random_model(n_features=5, n_classes=2, per_class=2, density=1.0)
    anchors = model.anchors.copy()
    anchors[:, [1, 3]] = 0.0
    anchors[1] = anchors[0]
    bias = np.array([0.5, 2.0, 0.0, 0.0])
    model = replace(model, anchors=anchors, bias=bias)
    compiled = compile_model(model)
    assert [entry.index for entry in compiled.inputs] == [0, 2, 4]
    assert compiled.n_rows == 3
    assert compiled.n_terms == 9
    X = np.random.default_rng(0).normal(size=(500, 5)) * 4
    assert agreement(compiled, model, X).n_equal == 500


def test_max_pooling_takes_the_intercept_and_shared_prototypes(random_model):
    votes = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
    intercept = np.array([0.1, -0.2, 0.3])
    model = random_model(votes=votes.astype(float), intercept=intercept)
    compiled = compile_model(model)
    assert compiled.prototype_labels.tolist() == [0, 0, 1, 1, 2, 2, 2]
    X = np.random.default_rng(1).normal(size=(500, 6)) * 4
    assert agreement(compiled, model, X).score_error < 1e-5


def test_raw_rows_give_the_same_labels(mixed, random_model):
    data, preparation = mixed
    d = preparation.n_features
    model = random_model(
        n_features=d, n_classes=2, density=1.0, feature_names=preparation.feature_names
    )
    compiled = compile_model(model, preparation)
    table = data.frame
    rows = compiled.rows(table)
    assert np.isnan(rows[3, 0])
    assert set(rows[:, 1]) == {-1.0, 0.0, 1.0}
    assert [entry.levels for entry in compiled.inputs] == [
        (),
        ("female", "male"),
        ("1", "2", "3.5"),
        (),
    ]
    strange = table.assign(sex="other", stage="7", year=[1e300] * len(table))
    for frame in (table, strange):
        found = agreement(compiled, model, frame, preparation)
        assert found.n_equal == found.n_rows == 60
    # Of two levels, no level counts as the commoner, in the page and in the export.
    common = table["sex"].iloc[:40].value_counts().index[0]
    for sex in ("other", None):
        for x in (preparation.transform, lambda t: compiled.scores(compiled.rows(t))):
            unseen, known = (x(table.assign(sex=word)) for word in (sex, common))
            np.testing.assert_array_equal(unseen, known)
        expected = model.predict(preparation.transform(frame))
        np.testing.assert_array_equal(compiled.predict_frame(frame), expected)


def test_a_preparation_of_another_model_is_refused(mixed, random_model):
    with pytest.raises(
        ExportError, match="preparation gives 6 features, but the model"
    ):
        compile_model(random_model(n_features=7), mixed[1])


def test_random_rows_stay_in_range_and_whole(mixed, random_model):
    _, preparation = mixed
    model = random_model(
        n_features=6, density=1.0, feature_names=preparation.feature_names
    )
    compiled = compile_model(model, preparation)
    rows = sample(compiled, 1000)
    size, *whole = compiled.inputs
    assert rows[:, 0].min() >= size.low - 1e-4
    assert rows[:, 0].max() <= size.high + 1e-4
    for column, entry in enumerate(whole, start=1):
        assert (rows[:, column] == np.floor(rows[:, column])).all()
        found = np.unique(rows[:, column])
        assert (found[0], found[-1]) == (entry.low, entry.high)
    np.testing.assert_array_equal(rows, sample(compiled, 1000))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"classes": None, "intercept": np.zeros(1), "votes": np.ones((6, 1))},
            "pooling='max' of a regression cannot be exported; supported are",
        ),
        ({"anchors": np.zeros((6, 6))}, "uses no input, it always answers 'class"),
        ({"high": np.full(6, 1e31)}, "Input 'feature 0' reaches 1e\\+31, .*rescale"),
        ({"low": np.full(6, -1e300), "center": np.full(6, -1e299)}, "reaches 1e\\+300"),
        (
            {"scale": np.full(6, 1e-300)},
            "Input 'feature 0' has weights .*too far from 1",
        ),
        ({"scale": np.full(6, 1e60)}, "has weights .*too far from 1"),
        ({"bias": np.full(6, 1e31)}, "The bias reaches 1e\\+31"),
        ({"intercept": np.full(3, -1e31)}, "The bias reaches 1e\\+31"),
    ],
)
def test_what_cannot_be_exported_is_said(random_model, changes, words):
    with pytest.raises(ExportError, match=words):
        compile_model(random_model(**changes))


def test_other_similarities_are_refused_by_name(random_model, monkeypatch):
    monkeypatch.setitem(SIMILARITIES, "strange", None)
    model = random_model(similarity=Similarity("strange"))
    words = (
        "similarity='strange' cannot be exported; supported are .*, linear, .* or rbf"
    )
    with pytest.raises(ExportError, match=words):
        compile_model(model)


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
    def far(offset):
        model = random_linear(n_features=4, density=1.0)
        parts = {n: getattr(model, n) + offset for n in ("low", "high", "center")}
        return compile_model(replace(model, **parts))

    assert len(far(1e5).inputs) == 4
    with pytest.raises(ExportError, match=r"Input .* goes from .*; subtract 1e\+09"):
        far(1e9)
