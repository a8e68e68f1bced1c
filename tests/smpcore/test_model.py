"""PrototypeModel: the decision by hand, and the way through JSON."""

import json
from dataclasses import replace

import numpy as np
import pytest

from smpcore import PrototypeModel, SmpcoreError
from smpcore.model import Calibration, History
from smpcore.similarity import Similarity


def model(**changes):
    """Two classes, three prototypes, two features."""
    parts = {
        "center": np.array([1.0, 2.0]),
        "scale": np.array([2.0, 4.0]),
        "low": np.zeros(2),
        "high": np.full(2, 9.0),
        "similarity": Similarity("linear"),
        "anchors": np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
        "mixing": np.eye(3),
        "bias": np.array([0.0, 0.5, 0.25]),
        "pooling": "max",
        "votes": np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        "intercept": np.zeros(2),
        "classes": np.array(["no", "yes"]),
        "counts": np.array([1, 2, 1]),
        "feature_names": ("a", "b"),
        "sample_shape": (2,),
        "kind_of_prototype": "direction",
        "history": History(gap=np.array([np.nan, 0.1])),
    }
    return PrototypeModel(**{**parts, **changes})


def test_the_decision_by_hand():
    # Scaled input (1, -1): activations 1, -0.5, 0.25; "no" owns the first two.
    scores = model().scores([[3.0, -2.0]])
    np.testing.assert_allclose(scores, [[1.0, 0.25]])
    assert model().predict([[3.0, -2.0]]) == ["no"]
    votes = np.array([[2.0], [-1.0], [4.0]])
    parts = {"votes": votes, "intercept": np.array([10.0]), "classes": None}
    value = model(pooling="sum", **parts).predict([[3.0, -2.0]])
    np.testing.assert_allclose(value, [10 + 2 * 1 + 0.5 + 4 * 0.25])


def test_scores_within_tie_are_equal_and_no_chain():
    """Each of the classes 0, 1, 2 is within `tie` of the next; 1 and 2 of the best."""
    wide = model(
        bias=np.array([0.0, 0.75, 1.5]),
        anchors=np.zeros((3, 2)),
        votes=np.eye(3),
        intercept=np.zeros(3),
        classes=np.array(["a", "b", "c"]),
    )
    for tie, answer in ((0.0, "c"), (0.74, "c"), (0.75, "b"), (1.0, "b"), (1.5, "a")):
        assert replace(wide, tie=tie).predict([[0.0, 0.0]]) == [answer]
    scores = np.array([[0.0, np.inf], [-np.inf, -np.inf], [1.0, 1.0 + 1e-9]])
    assert model(tie=1e-6).decide(scores).tolist() == [1, 0, 0]


def test_no_answer_is_sure_where_no_class_has_a_score():
    X = np.array([[3.0, -2.0], [np.nan, 1.0], [np.nan, np.nan]])
    for band in (0.0, 1e-9):
        assert list(model(band=band).sure(X)) == [True, False, False]


def test_prototypes_and_sizes_in_the_users_units():
    np.testing.assert_allclose(model().prototypes[0], [0.5, 0.0])
    case = model(kind_of_prototype="real case").prototypes
    np.testing.assert_allclose(case[0], [3.0, 2.0])
    assert model().n_nonzeros == 2
    assert model().support.tolist() == [True, True]
    assert model().prototype_labels.tolist() == [0, 0, 1]
    rbf = model(similarity=Similarity("rbf"))
    weighted = Similarity("features", weights=(0.0, 1.0), widths=(1.0, 1.0))
    comparisons = [model(similarity=s).n_comparisons for s in (Similarity(), weighted)]
    assert [*comparisons, rbf.n_comparisons] == [0, 3, 3]
    with pytest.raises(ValueError, match="read-only"):
        model().anchors[0, 0] = 7.0


def test_json_gives_the_same_model_back():
    rng = np.random.default_rng(0)
    exact = model(anchors=rng.normal(size=(3, 2)) * 1e-7, bias=rng.normal(size=3))
    shares = Calibration(9, 0.5, np.ones(2), (np.array([[0.0, 1], [0.2, 0.9]]),) * 2)
    widths = Calibration(9, half_widths=np.append(np.full(98, 2.0), np.inf))
    number = {"classes": None, "votes": np.ones((3, 1)), "intercept": np.zeros(1)}
    calibrated = model(calibration=shares), model(calibration=widths, **number)
    for one in (exact, coded(), *calibrated):
        back = PrototypeModel.from_json(one.to_json())
        X = rng.normal(size=(50, 2))
        np.testing.assert_array_equal(back.scores(X), one.scores(X))
        assert back.to_json() == one.to_json()
        assert np.isnan(back.history.gap[0])
    np.testing.assert_array_equal(back.intervals(X, 0.99), [[-np.inf, np.inf]] * 50)
    probabilities = PrototypeModel.from_json(calibrated[0].to_json()).probabilities(X)
    np.testing.assert_array_equal(probabilities, calibrated[0].probabilities(X))
    content = json.loads(model(tie=1e-6).to_json())
    assert content.pop("tie") == 1e-6  # a file from before there was one
    assert PrototypeModel.from_json(json.dumps(content)).tie == 0.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bias": np.zeros(2)}, "anchors|mixing|bias|votes"),
        ({"bias": np.array([0.0, np.nan, 0.0])}, "bias should be finite"),
        ({"scale": np.array([1.0, 0.0])}, "scale should be positive"),
        ({"pooling": "mean"}, "pooling='mean' should be"),
        ({"votes": np.array([[1.0, 0], [1, 0], [1, 0]])}, "at least one prototype"),
        ({"classes": np.array(["no"])}, "classes should have 2 entries"),
        ({"sample_shape": (3,)}, "should fit 2 features"),
        ({"tie": -1.0}, r"tie=-1\.0 should be a number of at least 0"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(SmpcoreError, match=words):
        model(**changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(schema=99), "schema should be"),
        (lambda c: c.pop("bias"), "differing: .'bias'."),
        (lambda c: c.update(__class__="os.system"), "differing"),
        (lambda c: c.update(bias="DROP TABLE"), "bias should be a table of numbers"),
        (lambda c: c.update(similarity={"kind": "linear", "x": 1}), "wrong entry"),
        (lambda c: c.update(history={}), "wrong entry"),
    ],
)
def test_a_hand_edited_file_is_refused_in_words(change, words):
    content = json.loads(model().to_json())
    change(content)
    with pytest.raises(SmpcoreError, match=words):
        PrototypeModel.from_json(json.dumps(content))
    with pytest.raises(SmpcoreError, match="not valid JSON"):
        PrototypeModel.from_json("{")


def coded(**changes):
    """Two prototypes of length 1 with a code of at most one entry."""
    parts = {
        "center": np.zeros(2),
        "scale": np.ones(2),
        "anchors": np.eye(2),
        "mixing": np.eye(2),
        "bias": np.zeros(2),
        "pooling": "sum",
        "votes": np.array([[1.0, 0.0], [0.0, 2.0]]),
        "counts": np.ones(2, dtype=np.int64),
        "kind_of_prototype": "mix of real cases",
        "code_size": 1,
        "gram": np.array([[1.0, 0.6], [0.6, 1.0]]),
    }
    return model(**{**parts, **changes})


def test_a_code_has_the_best_few_weights_of_prototypes():
    X = [[3.0, 2.0], [0.0, 4.0], [5.0, -1.0]]
    np.testing.assert_allclose(coded().activations(X), [[3, 0], [0, 4], [5, 0]])
    # Of both, for (3, 2): solve (1 0.6; 0.6 1) x = (3, 2); others stay at one.
    two = coded(code_size=2).activations(X)
    np.testing.assert_allclose(two, [[1.8 / 0.64, 0.2 / 0.64], [0, 4], [5, 0]])
    np.testing.assert_allclose(coded().scores(X), [[3, 0], [0, 8], [5, 0]])


@pytest.mark.parametrize("fallback", [0, 1])
def test_what_nothing_represents_gets_the_fallback(fallback):
    X = [[3.0, 2.0], [-1.0, -1.0], [0.0, 4.0]]
    blank = coded(fallback=fallback)
    assert blank.activations(X).any(axis=1).tolist() == [True, False, True]
    assert blank.predict(X).tolist() == ["no", ["no", "yes"][fallback], "yes"]
    assert coded(fallback=fallback, tie=0.5).predict(X[1:2]) == blank.predict(X[1:2])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"code_size": -1}, "code_size=-1 should be a whole number"),
        ({"code_size": 1.5}, "code_size=1.5 should be a whole number"),
        ({"code_size": 0}, "gram should be given with a code_size above 0"),
        ({"gram": None}, "gram should be given with a code_size above 0"),
        ({"gram": np.eye(3)}, r"gram should be finite, of shape \(2, 2\)"),
        ({"gram": np.full((2, 2), np.nan)}, "gram should be finite"),
        ({"bias": np.ones(2)}, "without bias or intercept"),
        ({"intercept": np.ones(2)}, "without bias or intercept"),
        ({"pooling": "max"}, "A code is pooled with pooling='sum'"),
    ],
)
def test_a_code_that_is_not_whole_is_refused(changes, words):
    with pytest.raises(SmpcoreError, match=words):
        coded(**changes)
