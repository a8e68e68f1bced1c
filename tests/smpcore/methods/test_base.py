"""The door of all classifiers: what is refused, how rows are scaled and weighed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_moons

from smpcore import (
    METHODS,
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SmpcoreError,
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.methods.shared.problem import Start, starts_in_words
from smpcore.methods.shared.scaling import scaled_copy

X, Y = load_iris(return_X_y=True)
LINEAR = SMPClassifier, SMaLLClassifier


def fit(rows=X, labels=Y, sample_weight=None, **params):
    return SMPClassifier(**params).fit(rows, labels, sample_weight)


BAD_PARAMETERS = {
    "n_prototypes": (0, 2.5, "2", None, True),
    "lam": (-0.1, np.nan, np.inf, 1e99, "0.1", None),
    "mu": (-1, np.nan, 1e13),
    "eta": (-1e-9, np.inf),
    "tol": (0, -1e-3, 2.0, np.nan),
    "max_iter": (0, -5, 1.5),
    "record": (-1, 0.5),
    "random_state": (-1, "seed", 2**32),
    "loss": ("squared", None, 3),
    "start": ("random", "<script>"),
    "solver": ("cp", ""),
    "bias": ("yes", 1, None),
    "reassign": (0, "no"),
    "standardize": ("true", 2),
    "class_weight": ("even", 3, ["balanced"]),
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in BAD_PARAMETERS.items() for v in values]
)
def test_bad_parameters_are_refused_by_name_and_value(name, value):
    with pytest.raises(SmpcoreError, match=f"{name}=.*should be") as error:
        fit(**{name: value})
    assert repr(value) in str(error.value)


def test_values_of_a_grid_of_numpy_are_those_of_python():
    grid = {"loss": ["smooth", "max"], "bias": [True, False], "n_prototypes": [1, 2]}
    for name, values in grid.items():
        for value, own in zip(np.array(values), values, strict=True):
            one, other = (fit(**{name: v}).model_.scores(X) for v in (value, own))
            np.testing.assert_array_equal(one, other)
    for name, value in (("lam", np.float64(-1.0)), ("loss", np.array(["squared"])[0])):
        with pytest.raises(SmpcoreError) as error:
            fit(**{name: value})
        assert f"{name}={value.item()!r} should be" in str(error.value)


def huge(value):
    rows = X.copy()
    rows[3, 1] = value
    return rows


BAD_ROWS = {
    "one class": ((X[:50], Y[:50]), "one class only"),
    "one row": ((X[:1], Y[:1]), "one class only"),
    "no rows": ((X[:0], Y[:0]), "0 sample"),
    "too large": ((huge(1e308), Y), "as large as 1e.308, too large to be scaled"),
    "lengths": ((X, Y[:-1]), "inconsistent numbers of samples"),
    "text": (([*X.astype(str).tolist(), [*"abcd"]], [*Y, 0]), "prepare.*string"),
    "dates": (
        (pd.DataFrame(X).assign(a=pd.Timestamp(0)).rename(columns=str), Y),
        "dates",
    ),
    "numbers to predict": ((X, X[:, 0]), "continuous"),
    "labels of two kinds": (
        (X, np.array(["a", 1, 2], object)[Y]),
        "make them all texts",
    ),
    "names of two kinds": ((pd.DataFrame(X, columns=["a", 1, "b", 2]), Y), "string"),
    "weights in words": ((X, Y, ["much"] * 150), "much"),
    "weights of 0": ((X, Y, np.zeros(150)), "zero for all rows"),
    "negative weight": ((X, Y, np.arange(150) - 1), "not negative"),
    "infinite weight": ((X, Y, np.full(150, np.inf)), "finite"),
    "weights' shape": ((X, Y, np.ones((150, 2))), r"should have shape \(150,\)"),
    "class without weight": ((X, Y, Y > 0), "every row of class 0"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_refused_in_words(name):
    arguments, words = BAD_ROWS[name]
    with pytest.raises(SmpcoreError, match=words):
        fit(*arguments)


def test_words_are_no_numbers_to_predict():
    with pytest.raises(SmpcoreError, match="low"):
        SuperSparseRegressor().fit(X, np.array(["low", "high", "top"])[Y])


@pytest.mark.parametrize("make", LINEAR)
def test_unscaled_rows_that_overflow_are_refused(make):
    with pytest.raises(SmpcoreError, match="standardize=True"):
        make(standardize=False).fit(huge(1e200), Y)


@pytest.mark.parametrize("key", ["smp", "smallk", "mprotsvm", "imkpl"])
def test_fewer_rows_than_prototypes_warn_with_value_and_bound(key):
    rows = np.vstack([X[:60], np.repeat(X[100:101], 5, axis=0)])
    with pytest.warns(UserWarning, match=r"n_prototypes=3 is more .* 1.0 gets 1"):
        fitted = METHODS[key].estimator({"n_prototypes": 3})
        fitted.fit(rows, np.repeat([0.0, 1.0], [60, 5]))
    assert fitted.n_asked_ == 4 - 2 * (key == "smallk")
    assert fitted.predict(rows)[-1] == 1.0


def test_rows_that_are_too_large_to_be_scored_are_refused():
    fitted = fit(standardize=False)
    with pytest.raises(SmpcoreError, match="too large to be scored"):
        fitted.predict(np.full((1, 4), 1e308) * [1, -1, 1, -1])


def test_weights_of_no_class_and_below_0_are_refused():
    with pytest.raises(SmpcoreError, match="names the class 5"):
        fit(class_weight={5: 1.0})
    with pytest.raises(SmpcoreError, match=r"class_weight\[0\]=-1.0 should be"):
        fit(class_weight={0: -1.0})


def test_balanced_equals_repeating_the_rare_class():
    few = np.r_[0:50, 50:75]
    weighed = fit(X[few], Y[few], class_weight="balanced", tol=1e-8, standardize=False)
    rows = np.r_[0:50, 50:75, 50:75]
    repeated = fit(X[rows], Y[rows], tol=1e-8, standardize=False)
    assert weighed.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


def test_rows_are_scaled_by_mean_and_deviation():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3)) * [1e-3, 5.0, 1e9] + [1e6, 0.0, -3e9]
    rows = np.column_stack([rows, np.full(50, 0.1)])
    scaled, center, scale = scaled_copy(rows, np.full(50, 0.02), True, True)
    assert scaled.flags.c_contiguous and scaled.shape == (50, 5)
    np.testing.assert_allclose(scaled[:, :3].mean(axis=0), 0.0, atol=1e-7)
    np.testing.assert_allclose(scaled[:, :3].std(axis=0), 1.0)
    assert not scaled[:, 3].any() and scale[3] == 1.0
    assert (scaled[:, 4] == 1.0).all()
    np.testing.assert_allclose(center, rows.mean(axis=0))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_rows_that_tie_get_the_lowest_class(method):
    """Two equal halves with other labels: no score tells the classes apart."""
    rows = np.tile(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), (6, 1))
    fitted = method.estimator(method.defaults())
    fitted.fit(rows, np.repeat([0, 1], 12))
    model, shuffled = fitted.model_, rows[::-1]
    largest = np.abs(model.scores(rows)).max()
    assert model.tie == pytest.approx(1e-6 * largest, rel=1e-9)
    sides = fitted.decision_function(shuffled)
    np.testing.assert_array_equal(fitted.predict(shuffled), (sides > 0).astype(int))
    np.testing.assert_array_equal(fitted.predict(rows), model.predict(rows))
    scores = model.scores(rows)
    equal = np.abs(scores[:, 0] - scores[:, 1]) < 1e-9 * largest
    assert not fitted.predict(rows)[equal].any()


def test_what_is_behind_a_fit_is_said_of_the_starts_with_all_prototypes():
    starts = [Start(1, 3.0, 2.0, True), Start(2, 2.2, 1.9, False)]
    assert starts_in_words(starts) == {}, "a single one was not chosen"
    starts += [Start(2, 2.0, 1.9, True), Start(2, 2.001, 1.8, False)]
    assert starts_in_words(starts)["start"] == (
        "best of 3",
        "2 of 3 came within 0.1 % of the lowest objective; the highest was 10 % above; "
        "2 left on the way",
    )


@pytest.mark.parametrize("family", [MultiPrototypeSVC, SuperSparseClassifier])
def test_a_fit_that_is_not_convex_knows_how_many_starts_are_behind_it(family):
    X, y = make_moons(90, noise=0.2, random_state=0)
    fitted = family(2).fit(X, y)
    most = [one for one in fitted.starts_ if one.n_prototypes == 2]
    assert len(most) > 1
    value, words = starts_in_words(fitted.starts_)["start"]
    assert value == f"best of {len(most)}"
    lowest = min(one.objective for one in most)
    near = sum(one.objective <= 1.001 * lowest for one in most)
    assert words.startswith(f"{near} of {len(most)} came within 0.1 %")
    shown = fitted.measures_.get("start")
    assert shown == ((value, words) if family is MultiPrototypeSVC else None)
    assert fitted.objective_ <= 1.05 * lowest
