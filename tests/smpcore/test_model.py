"""PrototypeModel: the decision by hand, and the way through JSON."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from smpcore import (
    METHODS,
    PrototypeModel,
    SmpcoreError,
    load_dataset,
    prepare,
    report,
    similarity,
    split,
)
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
    curves = (np.array([[0.0, 1], [0.2, 0.9]]),) * 2
    losses = np.array([0.5, np.nan, 0.25])
    shares = Calibration(9, 0.5, np.ones(2), curves, losses=losses)
    widths = Calibration(9, half_widths=np.append(np.full(98, 2.0), np.inf))
    number = {"classes": None, "votes": np.ones((3, 1)), "intercept": np.zeros(1)}
    calibrated = model(calibration=shares), model(calibration=widths, **number)
    for one in (exact, coded(), *calibrated):
        back = PrototypeModel.from_json(one.to_json())
        X = rng.normal(size=(50, 2))
        np.testing.assert_array_equal(back.scores(X), one.scores(X))
        assert back.to_json() == one.to_json()
        assert np.isnan(back.history.gap[0])
        assert back.calibration is None or (
            back.calibration.calibrator == one.calibration.calibrator
        )
    np.testing.assert_array_equal(back.intervals(X, 0.99), [[-np.inf, np.inf]] * 50)
    probabilities = PrototypeModel.from_json(calibrated[0].to_json()).probabilities(X)
    np.testing.assert_array_equal(probabilities, calibrated[0].probabilities(X))


def test_a_file_from_before_an_entry_came_has_its_default():
    """Models, similarities and calibrations have got entries, all with defaults."""
    content = json.loads(model(tie=1e-6, band=0.5).to_json())
    for entry in ("tie", "band", "code_size", "gram", "calibration", "fallback"):
        del content[entry]
    del content["similarity"]["weights"], content["similarity"]["widths"]
    older = PrototypeModel.from_json(json.dumps(content))
    assert (older.tie, older.band, older.code_size, older.fallback) == (0, 0, 0, 0)
    assert older.gram is None and older.similarity == model().similarity


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
        (lambda c: c.update(history=None), "wrong entry"),
        (lambda c: c.update(anchors=3), "wrong entry"),
        (lambda c: c["low"].__setitem__(0, 10**400), "wrong entry"),
        (lambda c: c.update(sample_shape=["2", "x"]), "wrong entry"),
    ],
)
def test_a_hand_edited_file_is_refused_in_words(change, words):
    content = json.loads(model().to_json())
    change(content)
    with pytest.raises(SmpcoreError, match=words):
        PrototypeModel.from_json(json.dumps(content))
    for broken in ("{", "[" * 10**5):
        with pytest.raises(SmpcoreError, match="not valid JSON"):
            PrototypeModel.from_json(broken)


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


NASTY = "<img src=x onerror=alert(1)>\"&'"


@pytest.fixture(params=METHODS)
def classifier(request):
    return METHODS[request.param].estimators["classification"]()


def _refuses_to_run(html: str) -> bool:
    ElementTree.fromstring(f"<div>{html}</div>")  # every tag is ours, and closed
    return not re.search(r"<(script|img|a|link|iframe|style)\b|javascript:", html)


def test_names_are_text(classifier):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.where(X[:, 0] > 0, NASTY, f"other {NASTY}")
    model = classifier.fit(X, y).model_
    object.__setattr__(model, "feature_names", (NASTY, "b", f"c = {NASTY}"))
    html = model._repr_html_()
    assert _refuses_to_run(html)
    assert html.count("</figure>") == model.n_prototypes
    assert "&lt;img src=x" in html
    assert NASTY not in report(model)


def test_pictures_are_drawn_as_pictures_and_many_are_counted(classifier):
    dataset = load_dataset("digits")
    train = split(dataset).train[:150]
    X = prepare(dataset, train).transform(dataset.frame.iloc[train])
    model = classifier.fit(X, dataset.y[train]).model_
    object.__setattr__(model, "sample_shape", dataset.sample_shape)
    html = model._repr_html_()
    drawn = min(model.n_prototypes, 12)
    assert html.count("<svg") == drawn and html.count("<rect") == 64 * drawn
    more = model.n_prototypes - drawn
    assert (f"{more} more prototypes" in html) == (more > 0)
    assert len(html) < 100_000
    assert _refuses_to_run(html)


def test_a_regression_predicts_a_number():
    method = next(m for m in METHODS.values() if "regression" in m.estimators)
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = method.estimators["regression"]().fit(X, X[:, 0]).model_
    assert "<td>a number</td>" in model._repr_html_()
    assert "<td>a number</td>" in report(model)


RNG = np.random.default_rng(0)
X, Z = RNG.uniform(size=(7, 4)), RNG.uniform(size=(3, 4))
WORDS = {
    "linear": lambda x, z: x @ z,
    "rbf": lambda x, z: np.exp(-0.7 * ((x - z) ** 2).sum()),
    "poly": lambda x, z: (0.7 * x @ z + 0.5) ** 3,
    "laplacian": lambda x, z: np.exp(-0.7 * np.abs(x - z).sum()),
    "cosine": lambda x, z: x @ z / np.linalg.norm(x) / np.linalg.norm(z),
    "ncc": lambda x, z: np.corrcoef(x, z)[0, 1],
    "intersection": lambda x, z: np.minimum(x, z).sum() / np.maximum(x, z).sum(),
    "features": lambda x, z: (W * np.exp(-((x - z) ** 2) / D)).sum(),
    "callable": lambda x, z: np.tanh(x[0] * z[1]),
}
W, D = np.array([0.0, 1.0, 2.0, 0.5]), np.array([1.0, 0.3, 2.0, 1.5])


def _similarity(kind):
    more = {}
    if kind == "features":
        more = {"weights": tuple(W), "widths": tuple(D)}
    if kind == "callable":
        more = {"function": lambda X, A: np.tanh(np.outer(X[:, 0], A[:, 1]))}
    return Similarity(kind, gamma=0.7, degree=3, coef0=0.5, **more)


@pytest.mark.parametrize("kind", WORDS)
def test_values_are_those_of_the_definition(kind):
    wanted = [[WORDS[kind](x, z) for z in Z] for x in X]
    np.testing.assert_allclose(_similarity(kind).values(X, Z), wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", WORDS)
def test_similarities_are_mixed_in_tiles_where_they_are_many(kind, monkeypatch):
    chosen, mixing = _similarity(kind), RNG.normal(size=(3, 2))
    monkeypatch.setattr(similarity, "TILE", (2, 2))
    whole = chosen.mixed(X, Z, mixing)
    np.testing.assert_array_equal(whole, chosen.values(X, Z) @ mixing)
    monkeypatch.setattr(similarity, "MOST_AT_ONCE", 20)
    np.testing.assert_allclose(chosen.mixed(X, Z, mixing), whole, rtol=1e-12)


@pytest.mark.parametrize("rows", [X[:, :1], X[0], [["a", "b"]], np.ones((1, 1, 2))])
def test_rows_of_other_columns_are_refused(rows):
    with pytest.raises(SmpcoreError, match=r"2 columns|Numbers are needed"):
        model().predict(rows)


@pytest.mark.parametrize("kind", ["cosine", "ncc", "intersection"])
def test_rows_of_zeros_are_like_nothing(kind):
    blank, chosen = np.zeros((1, 4)), _similarity(kind)
    assert (chosen.values(blank, Z) == 0).all()
    assert np.isfinite(chosen.values(blank, blank)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gamma": 0.0}, "gamma=0.0 should be a number above 0"),
        ({"gamma": np.nan}, "gamma=nan should be a number above 0"),
        ({"coef0": -1.0}, "coef0=-1.0 should be a number of at least 0"),
        ({"degree": 0}, "degree=0 should be 1, 2, 3 or more"),
        ({"degree": 1.5}, "degree=1.5 should be 1, 2, 3 or more"),
        ({"weights": (1.0,)}, "weights and widths should be as many"),
        ({"weights": (-1.0,), "widths": (1.0,)}, "weights should be numbers"),
        ({"weights": (1.0,), "widths": (0.0,)}, "widths should be numbers above 0"),
        ({"kind": "callable"}, "function should be given for kind='callable' only"),
        ({"function": len}, "function should be given for kind='callable' only"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(SmpcoreError, match=words):
        Similarity(**options)
