"""Calibration: independent refits give the same; intervals cover what they promise."""

from dataclasses import replace

import cvxpy
import numpy as np
import pytest
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from smpcore import (
    METHODS,
    SmpcoreError,
    load_dataset,
    prepare,
    split,
)
from smpcore.evaluation import at_threshold, calibrate, clusters, folds, out_of_fold
from smpcore.evaluation.calibrate import MANY_ROWS, half_widths

CLASSIFIERS = [
    key for key, row in METHODS.items() if "classification" in row.estimators
]


def _calibrated(key, dataset, parts, **values):
    """A fitted model with its calibration, and prepared rows."""
    row = METHODS[key]
    values = {**row.defaults(dataset.task), **values}
    estimator = row.estimator(values, dataset.task)
    scores = out_of_fold(estimator, dataset, parts)
    train = parts.train
    X = prepare(dataset, train).transform(dataset.frame)
    estimator.fit(X[train], dataset.y[train])
    model = estimator.model_
    calibration = calibrate(
        scores, dataset.y[train], model.classes, clusters(dataset, train)
    )
    return replace(model, calibration=calibration), X, estimator


@pytest.mark.parametrize("key", CLASSIFIERS)
def test_an_independent_refit_gives_the_same_probabilities(key):
    """scikit-learn's folds, scores and logistic regression; and its own sigmoid."""
    dataset = load_dataset("moons", n_samples=160, noise=0.4)
    parts = split(dataset)
    model, X, estimator = _calibrated(key, dataset, parts)
    train = parts.train
    drawn = [
        (np.searchsorted(train, fold.train), np.searchsorted(train, fold.held_out))
        for fold in folds(dataset, train)
        if fold.repeat == 0
    ]
    options = {"cv": drawn, "method": "decision_function"}
    lead = cross_val_predict(estimator, X[train], dataset.y[train], **options)
    n, positive = len(train), dataset.y_encoded[train] == 1
    weights = np.where(positive, 1 - 1 / (n + 2), 1 / (n + 2))
    sigmoid = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(
        np.tile(lead, 2)[:, None],
        np.repeat([1, 0], n),
        sample_weight=np.concatenate([weights, 1 - weights]),
    )
    rows = X[parts.validation]
    found, leads = model.probabilities(rows), estimator.decision_function(rows)
    expected = sigmoid.predict_proba(leads[:, None])
    np.testing.assert_allclose(found, expected, atol=2e-4)
    assert np.ptp(found[:, 1]) > 0.3, "the rows differ"


def _optimum(scores, y, n_classes):
    """Slope and offsets by an interior-point solver."""
    n = len(y)
    targets = np.empty((n, n_classes))
    for i, c in enumerate(y):
        targets[i] = 1 / (n + 2) / (n_classes - 1)
        targets[i, c] = (n + 1) / (n + 2)
    slope, offsets = cvxpy.Variable(nonneg=True), cvxpy.Variable((1, n_classes))
    logits = slope * scores + np.ones((len(y), 1)) @ offsets
    loss = cvxpy.sum(cvxpy.log_sum_exp(logits, axis=1))
    loss -= cvxpy.sum(cvxpy.multiply(targets, logits))
    problem = cvxpy.Problem(cvxpy.Minimize(loss), [offsets[0, 0] == 0])
    problem.solve(solver="CLARABEL")
    return float(slope.value), offsets.value[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_several_classes_have_the_optimum_of_another_solver(sign):
    rng = np.random.default_rng(0)
    y = rng.choice(4, 300, p=[0.5, 0.3, 0.15, 0.05])
    scores = 3 * rng.normal(size=(300, 4)) + 20
    scores[np.arange(300), y] += 4
    scores *= sign  # scores that say the contrary have the slope 0
    found = calibrate(scores, y, np.arange(4))
    slope, offsets = _optimum(scores, y, 4)
    assert found.slope == pytest.approx(slope, rel=1e-4, abs=1e-6)
    assert (slope > 0.1) == (sign > 0)
    np.testing.assert_allclose(
        found.probabilities(scores),
        softmax(slope * scores + offsets, axis=1),
        atol=1e-4,
    )


def test_many_rows_get_the_isotonic_regression_of_scikit_learn():
    rng = np.random.default_rng(3)
    lead = rng.normal(size=6000)
    y = (rng.random(6000) < np.where(lead > 0, 0.7, 0.2)).astype(int)
    assert np.bincount(y).min() >= MANY_ROWS
    scores = np.column_stack([np.zeros(6000), lead])
    found = calibrate(scores, y, np.arange(2)).probabilities(scores)[:, 1]
    oracle = IsotonicRegression(out_of_bounds="clip").fit(lead, y).predict(lead)
    np.testing.assert_allclose(found, oracle.clip(1 / 6002, 6001 / 6002), atol=1e-9)
    # Groups of six rows are not enough independent rows.
    grouped = calibrate(scores, y, np.arange(2), np.arange(6000) // 6)
    assert not grouped.curves
    three = np.repeat(np.arange(3), 2000)
    found = calibrate(rng.normal(size=(6000, 3)), three, np.arange(3))
    assert len(found.curves) == 3
    sums = found.probabilities(rng.normal(size=(50, 3))).sum(axis=1)
    np.testing.assert_allclose(sums, 1)


def test_a_moved_threshold_changes_answers_and_no_probability():
    dataset = load_dataset("breast_cancer")
    parts = split(dataset)
    model, X, _ = _calibrated(CLASSIFIERS[0], dataset, parts)
    rows = X[parts.validation]
    for threshold in (0.7, -0.7):
        moved = at_threshold(model, threshold)
        np.testing.assert_allclose(
            moved.probabilities(rows), model.probabilities(rows), atol=1e-9
        )
        assert (moved.predict(rows) != model.predict(rows)).any()


def _quantile_by_counting(residuals, groups, coverage):
    """The smallest residual whose groups' masses reach the coverage."""
    names = np.unique(groups)
    for width in np.sort(residuals):
        mass = sum(np.mean(residuals[groups == name] <= width) for name in names)
        if mass >= coverage * (len(names) + 1) - 1e-9:
            return width
    return np.inf


@pytest.mark.parametrize("n_groups", [9, 19, 50])
def test_half_widths_are_the_quantile_by_counting(n_groups):
    rng = np.random.default_rng(n_groups)
    residuals = rng.exponential(size=100)
    groups = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=100)])
    widths = half_widths(residuals, groups[:100])
    for coverage in (0.5, 0.9, 0.95, 0.99):
        expected = _quantile_by_counting(residuals, groups[:100], coverage)
        assert widths[round(100 * coverage) - 1] == expected
    alone = half_widths(residuals, np.arange(100))
    assert alone[89] == np.sort(residuals)[int(np.ceil(0.9 * 101)) - 1]
    assert np.isinf(half_widths(residuals[:9], np.arange(9))[90])


def test_intervals_cover_rows_of_new_groups():
    """Rows of a group share an error: counted as single rows, too few are covered."""
    by_group, by_row = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 12, 40)
        groups = np.repeat(np.arange(40), sizes)
        spread = np.where(sizes < 4, 3.0, 1.0)  # small groups err more
        residuals = np.abs(np.repeat(rng.normal(scale=spread), sizes))
        new = abs(rng.normal(scale=3.0 if rng.integers(1, 12) < 4 else 1.0))
        by_group.append(new <= half_widths(residuals, groups)[89])
        by_row.append(new <= half_widths(residuals, np.arange(len(groups)))[89])
    assert np.mean(by_group) >= 0.87
    assert np.mean(by_row) < np.mean(by_group) - 0.04


def test_what_cannot_be_calibrated_is_said_in_one_sentence():
    zeros, rare, y = np.zeros((20, 2)), np.repeat([0, 1], [17, 3]), np.arange(20) % 2
    for scores, labels, words in (
        (zeros, rare, "Class '1' has 3 training rows with an out-of-fold score"),
        (zeros, np.zeros(20, int), "Class '1' has 0 training rows"),
        (np.full((20, 2), np.nan), y, "has 0 training rows"),  # learned in no fold
    ):
        with pytest.raises(SmpcoreError, match=words):
            calibrate(scores, labels, np.arange(2))
    many = np.zeros(50)
    with pytest.raises(
        SmpcoreError, match=r"8 independent training rows .* at least 9"
    ):
        calibrate(many[:8], many[:8])
    with pytest.raises(SmpcoreError, match="1 independent training rows or groups"):
        calibrate(many, many, clusters=np.zeros(50, int))
    words = "coverage=0.905 should be a whole per cent from 0.01 to 0.99"
    with pytest.raises(SmpcoreError, match=words):
        calibrate(many, many).half_width(0.905)
