"""A weight of a row counts as that many equal rows, from the table to the scores."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from smpcore import METHODS, SmpcoreError, evaluate, prepare, split
from smpcore.baselines import BASELINES
from smpcore.datasets import check_fit, event_within, row_weights
from smpcore.datasets.preparation import weighted_median
from smpcore.datasets.splits import Split
from smpcore.evaluation import calibrate, fit_compared, rate, roc_area
from smpcore.evaluation.scores import mean_interval
from tests.smpcore.datasets.cases import made, refused, said

#: How many classes; 0: a number is predicted.
TASKS = [
    (key, n_classes)
    for key, method in METHODS.items()
    for n_classes in (2, 3, 0)
    if ("classification" if n_classes else "regression") in method.estimators
]


def table(n_classes, n=60, seed=0, **columns):
    """Numbers with gaps, a category with gaps, and whole weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(2)
    value = X[:, 0] - 0.7 * X[:, 1] + 0.4 * rng.normal(size=n)
    X[rng.random((n, 3)) < 0.06] = np.nan
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = rng.choice(["u", "v", "w"], n)
    frame.loc[rng.random(n) < 0.06, "kind"] = np.nan
    frame["y"] = value.round(3)
    if n_classes:
        cuts = np.quantile(value, np.linspace(0, 1, n_classes + 1)[1:-1])
        frame["y"] = np.array(list("PQR"))[np.searchsorted(cuts, value)]
    frame["w"] = rng.choice([0, 1, 1, 2, 3], n)
    return frame.assign(**columns)


def repeated(frame, parts, weight="w"):
    """The table with each row as often as it weighs, and the same parts of it."""
    counts = frame[weight].to_numpy()
    of_row = np.repeat(np.arange(len(frame)), counts)

    def places(rows):
        return np.flatnonzero(np.isin(of_row, rows))

    three = (places(getattr(parts, name)) for name in ("train", "validation", "test"))
    division = Split(*three, 0, 0.2, 0.2, censored=places(parts.censored))
    rows = frame.iloc[of_row].drop(columns=weight).reset_index(drop=True)
    return rows, division


def both(n_classes, seed=0):
    """A table with weights, and the one with repeated rows, each with its parts."""
    frame = table(n_classes, seed=seed)
    weighted = made(frame, "y", {"w": "weight"})
    parts = split(weighted, seed=seed)
    rows, division = repeated(frame, parts)
    return (weighted, parts), (made(rows, "y"), division)


def fitted(dataset, parts, key, **values):
    """What every page does: prepare, weigh, fit."""
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)
    estimator = METHODS[key].estimator_for(dataset, values)
    weights = row_weights(dataset, parts.with_censored, parts.train)
    problem = estimator.problem(X[parts.train], dataset.y[parts.train], weights)
    return estimator.solve(problem), preparation, X


@pytest.mark.parametrize(("key", "n_classes"), TASKS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fit_is_that_of_repeated_rows(key, n_classes, seed):
    (weighted, parts), (plain, division) = both(n_classes, seed)
    one, preparation, X = fitted(weighted, parts, key)
    other, same, _ = fitted(plain, division, key)
    assert preparation.inputs == same.inputs
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)
    np.testing.assert_allclose(
        one.model_.scores(X), other.model_.scores(X), rtol=1e-6, atol=1e-6
    )
    # Scores: shares, errors and confusion in weights.
    rows, again = parts.validation, division.validation
    weights = row_weights(weighted, parts.with_censored, rows)
    ours = evaluate(one.model_, X[rows], weighted.y[rows], None, weights)
    whole = same.transform(plain.frame)[again]
    theirs = evaluate(one.model_, whole, plain.y[again])
    names = ("accuracy", "balanced_accuracy", "majority")
    names = names if n_classes else ("mae", "rmse", "r2")
    for name in names:
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-12)
    if n_classes:
        np.testing.assert_allclose(ours.sums, theirs.confusion, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_calibration_is_that_of_repeated_rows(n_classes):
    rng, n = np.random.default_rng(3), 300
    codes, weights = rng.integers(0, n_classes, n), rng.integers(1, 4, n)
    scores = np.eye(n_classes)[codes] + rng.normal(size=(n, n_classes))
    classes = np.arange(n_classes)
    one = calibrate(scores, codes, classes, None, weights.astype(float))
    many = np.repeat(np.arange(n), weights)
    # Copies are in one fold where calibrators are compared.
    other = calibrate(scores[many], codes[many], classes, many)
    np.testing.assert_allclose(
        one.probabilities(scores), other.probabilities(scores), atol=1e-4
    )


#: Baselines that have weights, as scikit-learn has them, and are no less exact for it.
EXACT = ("logistic", "ridge", "lasso", "linear_svm")


@pytest.mark.parametrize("key", BASELINES)
@pytest.mark.parametrize("n_classes", [2, 3, 0])
def test_a_baseline_is_weighted_or_refuses_in_words(key, n_classes):
    task = "classification" if n_classes else "regression"
    if task not in BASELINES[key].tasks:
        return
    (weighted, parts), (plain, division) = both(n_classes)
    X = prepare(weighted, parts.train).transform(weighted.frame)
    try:
        one = fit_compared(key, weighted, parts.with_censored).answers(X)
    except SmpcoreError as problem:
        assert "has no weights of rows, which these rows have" in str(problem)
        assert key not in EXACT
        return
    other = fit_compared(key, plain, division.with_censored).answers(X)
    if key in EXACT and n_classes:
        assert np.mean(one == other) > 0.97
    elif key in EXACT:
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_weights_of_rows_and_of_censoring_are_multiplied():
    rng, n = np.random.default_rng(0), 120
    frame = pd.DataFrame({"x": rng.normal(size=n)})
    frame["months"] = rng.exponential(20, n).round(1)
    frame["death"], frame["w"] = rng.integers(0, 2, n), rng.integers(0, 4, n)
    weighted = made(frame, "death", {"w": "weight"})
    weighted = event_within(weighted, "months", "death", 12.0)
    parts = split(weighted)
    rows, division = repeated(frame, parts)
    plain = event_within(made(rows, "death"), "months", "death", 12.0)
    ours = row_weights(weighted, parts.with_censored, parts.train)
    theirs = row_weights(plain, division.with_censored, division.train)
    sums = np.repeat(np.arange(parts.train.size), frame.w[parts.train])
    np.testing.assert_allclose(ours, np.bincount(sums, theirs), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(np.float64, (7, 2), elements=st.integers(-3, 3)),
    arrays.arrays(np.int64, 7, elements=st.integers(1, 4)),
    st.floats(0.01, 1000),
)
def test_a_median_is_that_of_repeated_rows(values, counts, scale):
    values[:3, 1] = np.nan
    wanted = np.nanmedian(np.repeat(values, counts, axis=0), axis=0)
    assert np.array_equal(weighted_median(values, scale * counts), wanted)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1.0, "'w' should have a weight.*it has '-1' in row 4.*Mend these rows"),
        (np.nan, "it has none in row 4"),
        (np.inf, "it has 'inf' in row 4"),
        ("many", "it has 'many' in row 4"),
    ],
)
def test_what_is_no_weight_is_refused_with_its_row(value, words):
    weights = pd.Series([1.0] * 60, dtype=object)
    weights[3] = value
    with refused(words):
        made(table(2, w=weights), "y", {"w": "weight"})
    plain = made(table(2, w=weights), "y", {"w": "ignore"})
    with refused(words):
        plain.with_roles({"w": "weight"})


def test_weights_are_given_once_and_not_0_everywhere():
    with refused("0 in every row"):
        made(table(2, w=0), "y", {"w": "weight"})
    with refused("weight should be given once, 2 columns have it"):
        made(table(2), "y", {"w": "weight", "a": "weight"})


def test_a_weight_is_no_feature_and_a_row_of_weight_0_is_in_no_part():
    frame = table(2)
    dataset = made(frame, "y", {"w": "weight"})
    parts = split(dataset)
    check_fit(dataset, parts)
    assert dataset.feature_columns == ["a", "b", "c", "kind"]
    rows = np.concatenate([parts.train, parts.validation, parts.test])
    assert np.array_equal(np.sort(rows), np.flatnonzero(frame.w))
    assert said(parts, f"{(frame.w == 0).sum()} rows of weight 0 are in no part")
    assert dataset.digest != made(frame, "y", {"w": "ignore"}).digest
    with refused("A drawn point has no weight"):
        dataset.with_points(np.zeros((2, 4)), np.array(["P", "Q"]))


def test_intervals_count_rows_as_kish_does():
    rng = np.random.default_rng(5)
    hits, weights = rng.random(80) < 0.7, rng.uniform(0.2, 5, 80)
    n = weights.sum() ** 2 / (weights**2).sum()
    share = np.average(hits, weights=weights)
    shown = rate(hits, weights=weights)
    low, high = proportion_confint(share * n, n, method="wilson")
    np.testing.assert_allclose(shown.estimate[:3], (share, low, high), rtol=1e-12)
    values = rng.normal(size=80)
    of_mean = DescrStatsW(values, weights * n / weights.sum(), ddof=1)
    found = mean_interval(values, weights=weights)
    np.testing.assert_allclose(found, of_mean.tconfint_mean(), rtol=1e-12)
    # Their scale says nothing, and equal ones change nothing.
    assert rate(hits, weights=1e6 * weights).estimate[1:3] == pytest.approx((low, high))
    equal = rate(hits, weights=np.full(80, 3.0)).estimate[1:3]
    assert equal == pytest.approx(rate(hits).estimate[1:3])


def test_an_interval_of_a_number_covers_as_much_of_the_weights():
    rng = np.random.default_rng(6)
    scores, weights = rng.normal(size=4000), rng.uniform(0.1, 4, 4000)
    y = scores + rng.normal(size=4000) * (1 + (weights > 2))
    learned = calibrate(scores, y, None, None, weights)
    for coverage in (0.5, 0.9):
        low, high = learned.interval(scores, coverage).T
        inside = (low <= y) & (y <= high)
        assert np.average(inside, weights=weights) == pytest.approx(coverage, abs=6e-3)
    heavier = calibrate(scores, y, None, None, 7 * weights)
    np.testing.assert_allclose(
        heavier.interval(scores, 0.9), learned.interval(scores, 0.9)
    )


def test_weights_that_are_few_in_sum_are_said():
    frame = table(2)
    few = split(made(frame.assign(w=frame.w / frame.w.sum()), "y", {"w": "weight"}))
    assert said(few, "The weights sum to 1, and count as so many rows", "there are 60")
    assert not said(split(made(frame, "y", {"w": "weight"})), "The weights sum")


def test_an_area_of_1_has_an_interval_whatever_rounding_does():
    weights = np.random.default_rng(0).uniform(0.1, 9, 90)
    truth = np.arange(90) > 60
    area = roc_area(np.arange(90.0), truth, weights=weights)
    n = min(w.sum() ** 2 / (w**2).sum() for w in (weights[truth], weights[~truth]))
    assert area[:3] == pytest.approx(
        (1, proportion_confint(n, n, method="wilson")[0], 1)
    )
