"""Calibration: independent refits give the same; intervals cover what they promise."""

from dataclasses import replace

import cvxpy
import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict

from smpcore import (
    METHODS,
    SmpcoreError,
    load_dataset,
    prepare,
    split,
)
from smpcore.evaluation import at_threshold, calibrate, clusters, folds, out_of_fold
from smpcore.evaluation.prediction_intervals import half_widths
from smpcore.model.calibration import CALIBRATORS, FEW_ROWS

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


def _drawn(kind, n, seed, units=None):
    """Leads of two classes, and truths for which one calibrator is the right one."""
    rng = np.random.default_rng(seed)
    lead = rng.normal(scale=2.0, size=n if units is None else units.max() + 1)
    shares = {
        "none": expit(lead),
        "intercept and slope": expit(3 * lead - 1.5),
        "isotonic regression": np.where(lead > 0, 0.7, 0.2),
    }[kind]
    y = (rng.random(len(lead)) < shares).astype(int)
    if units is not None:
        lead, y = lead[units], y[units]
    return np.column_stack([np.zeros(n), lead]), y


def _by_scikit_learn(scores, y, cv, groups=None):
    """Log-loss of each calibrator on rows of other folds, by other code."""
    lead = scores[:, 1] - scores[:, 0]
    shares = {name: np.empty(len(y)) for name in CALIBRATORS}
    for train, held_out in cv.split(lead, y, groups):
        x, new = lead[train], lead[held_out]
        fitted = LogisticRegression(C=np.inf).fit(x[:, None], y[train])
        curve = IsotonicRegression(out_of_bounds="clip").fit(x, y[train])
        least = 1 / (len(train) + 2)
        shares["none"][held_out] = expit(new)
        shares["intercept and slope"][held_out] = fitted.predict_proba(new[:, None])[
            :, 1
        ]
        shares["isotonic regression"][held_out] = curve.predict(new).clip(
            least, 1 - least
        )
    return {name: log_loss(y, p) for name, p in shares.items()}


@pytest.mark.parametrize("kind", CALIBRATORS)
def test_the_chosen_calibration_has_the_lowest_log_loss_on_rows_it_has_not_seen(kind):
    """Never a worse one than the scores as they are, of many rows, too."""
    scores, y = _drawn(kind, 6000, 0)
    found = calibrate(scores, y, np.arange(2))
    cv = KFold(5, shuffle=True, random_state=1)
    losses = _by_scikit_learn(scores, y, cv)
    assert found.calibrator == kind == min(losses, key=losses.get)
    np.testing.assert_allclose(found.losses, [*losses.values()], atol=2e-3)
    shares = found.probabilities(scores)
    plain = softmax(scores, axis=1)
    assert log_loss(y, shares) <= log_loss(y, plain)
    assert (found.slope == 1.0 and not found.offsets.any()) == (kind == "none")
    assert (np.abs(shares - plain).max() < 1e-12) == (kind == "none")
    assert bool(found.curves) == (kind == "isotonic regression")


def test_a_sigmoid_that_does_harm_is_not_taken():
    """Scores that are log-odds: what is learned on few rows misses them."""
    kept = 0
    for seed in range(20):
        scores, y = _drawn("none", 200, seed)
        found = calibrate(scores, y, np.arange(2))
        chosen = dict(zip(CALIBRATORS, found.losses, strict=True))
        assert chosen[found.calibrator] <= chosen["none"]
        kept += found.calibrator == "none"
    assert kept >= 10


def test_rows_that_depend_on_each_other_judge_no_calibration_together():
    """Copies of a row in the fold that judges would praise isotonic steps."""
    units = np.arange(1200) // 6
    scores, y = _drawn("none", 1200, 0, units)
    alone, grouped = (calibrate(scores, y, np.arange(2), of) for of in (None, units))
    assert (alone.calibrator, grouped.calibrator) == ("isotonic regression", "none")
    losses = _by_scikit_learn(scores, y, GroupKFold(5), units)
    assert losses["none"] < losses["isotonic regression"]
    weights = 1.0 / np.arange(1, 1201)
    weighted = calibrate(scores, y, np.arange(2), units, weights)
    expected = log_loss(y, expit(scores[:, 1]), sample_weight=weights)
    assert weighted.losses[0] == pytest.approx(expected)


def test_few_rows_of_a_class_get_intercept_and_slope_only():
    scores, y = _drawn("isotonic regression", 400, 3)
    rare = np.flatnonzero(y == 1)
    for n, calibrator in ((FEW_ROWS, None), (FEW_ROWS - 1, "intercept and slope")):
        rows = np.append(np.flatnonzero(y == 0), rare[:n])
        found = calibrate(scores[rows], y[rows], np.arange(2))
        assert np.isfinite(found.losses).sum() == (3 if calibrator is None else 1)
        assert calibrator in (None, found.calibrator)
    # Rows of a group count once.
    grouped = calibrate(scores, y, np.arange(2), np.arange(400) // 10)
    assert grouped.calibrator == "intercept and slope" and not grouped.curves


def test_isotonic_steps_are_those_of_scikit_learn():
    scores, y = _drawn("isotonic regression", 6000, 3)
    lead = scores[:, 1]
    found = calibrate(scores, y, np.arange(2)).probabilities(scores)[:, 1]
    oracle = IsotonicRegression(out_of_bounds="clip").fit(lead, y).predict(lead)
    np.testing.assert_allclose(found, oracle.clip(1 / 6002, 6001 / 6002), atol=1e-9)
    rng = np.random.default_rng(3)
    three, scores = np.repeat(np.arange(3), 1000), rng.normal(size=(3000, 3))
    scores[np.arange(3000), three] += np.where(rng.random(3000) < 0.7, 4, -4)
    found = calibrate(scores, three, np.arange(3))
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
        calibrate(many, many).interval(many, 0.905)
