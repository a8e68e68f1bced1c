"""Fits and scores that are weighted for censoring, beside independent refits."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from smpcore import METHODS, SmpcoreError, prepare, split
from smpcore.datasets import event_within, row_weights
from smpcore.datasets.follow_up import censoring_weight, within
from smpcore.evaluation import (
    TrainingRows,
    calibrate,
    class_rates,
    decision_curve,
    fit_compared,
    folds,
    method_path,
    operating_points,
    out_of_fold,
    paired_difference,
    rates_at,
    refits,
    reject_curve,
    reliability,
    sweep,
)
from tests.smpcore.datasets.test_time_to_event import followed, slow_weight

N, HORIZON = 240, 15.0


@pytest.fixture(scope="module")
def asked():
    """A question with its parts, its rows and their weights, computed slowly."""
    dataset = event_within(followed(N, rate=40.0), "months", "death", HORIZON)
    parts = split(dataset, seed=2)
    X = prepare(dataset, parts.train).transform(dataset.frame)
    learned = parts.with_censored
    weights = [slow_weight(dataset, learned, row, HORIZON) for row in range(N)]
    return dataset, parts, X, np.array(weights)


@pytest.mark.parametrize("key", ["logistic", "rbf_svm"])
def test_a_baseline_is_that_of_an_independent_refit(asked, key):
    dataset, parts, X, weights = asked
    train, held_out = parts.train, parts.validation
    compared = fit_compared(key, dataset, parts.with_censored)
    scaler = StandardScaler().fit(X[train], sample_weight=weights[train])
    model = LogisticRegression(max_iter=1000) if key == "logistic" else SVC()
    model.fit(scaler.transform(X[train]), dataset.y[train], weights[train])
    answers = model.predict(scaler.transform(X[held_out]))
    assert np.array_equal(compared.answers(X[held_out]), answers)
    found = row_weights(dataset, parts.with_censored, held_out)
    np.testing.assert_allclose(found, weights[held_out], rtol=1e-12)


ROWS = np.arange(120)
DRAW = np.random.default_rng(0)
MARGIN, COUNTS = DRAW.normal(size=120).round(1), DRAW.integers(1, 5, 120)
TRUTH, LOSSES = DRAW.random(120) < 0.4, (DRAW.random((2, 120)) < 0.3) * 1.0
P, CLASSES = DRAW.random(120).round(2), np.array(["no", "yes"])
YES, ANSWERS = TRUTH * 1, (MARGIN > 0) * 1


#: What is weighted -> numbers of rows with weights.
WEIGHTED = {
    "rates of classes": lambda rows, w: class_rates(
        YES[rows], ANSWERS[rows], CLASSES, weights=w
    )[["recall", "precision"]],
    "rates": lambda rows, w: [
        rate.share for rate in rates_at(MARGIN[rows], TRUTH[rows], weights=w).values()
    ],
    "thresholds": lambda rows, w: operating_points(MARGIN[rows], TRUTH[rows], w),
    "bands": lambda rows, w: reject_curve(MARGIN[rows], TRUTH[rows], 0.2, w),
    "differences": lambda rows, w: paired_difference(*LOSSES[:, rows], weights=w).mean,
    "net benefit": lambda rows, w: decision_curve(P[rows], TRUTH[rows], weights=w)[
        ["net_benefit", "treat_all"]
    ],
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_counts_as_so_many_rows(name):
    found = WEIGHTED[name](ROWS, COUNTS.astype(float))
    wanted = WEIGHTED[name](np.repeat(ROWS, COUNTS), None)
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9)


def test_without_censoring_all_is_the_plain_question_bit_for_bit():
    table = followed(200, rate=1e9)
    dataset = event_within(table, "months", "death", HORIZON)
    plain = dataset.with_roles({"a": "feature"})
    object.__setattr__(plain, "follow_up", None)
    parts = split(dataset)
    X = prepare(dataset, parts.train).transform(dataset.frame)
    for one, other in zip(
        folds(dataset, parts.with_censored), folds(plain, parts.train), strict=True
    ):
        assert np.array_equal(one.train, other.train)
        assert np.array_equal(one.held_out, other.held_out)
    for key, method in METHODS.items():
        weights = row_weights(dataset, parts.with_censored, parts.train)
        fits = []
        for sample_weight in (weights, None):
            estimator = method.estimator({}, "classification")
            assert weights is None
            problem = estimator.problem(
                X[parts.train], dataset.y[parts.train], sample_weight
            )
            fits.append(estimator.solve(problem).model_)
        assert np.array_equal(fits[0].scores(X), fits[1].scores(X)), key
        one = fit_compared(key, dataset, parts.with_censored)
        other = fit_compared(key, plain, parts.train)
        assert np.array_equal(one.answers(X), other.answers(X)), key


def test_a_method_without_weights_says_so_in_one_sentence(asked):
    dataset, parts, _, _ = asked
    for key in ("knn", "gaussian_process", "quadratic"):
        with pytest.raises(SmpcoreError, match=r"has no weights of rows.* choose"):
            fit_compared(key, dataset, parts.with_censored)


def test_folds_sweeps_and_refits_learn_with_the_weights_of_their_own_rows(asked):
    dataset, parts, X, weights = asked
    method = METHODS["smp"]
    scores = out_of_fold(method.estimator({}, "classification"), dataset, parts)
    fold = next(f for f in folds(dataset, parts.with_censored) if f.repeat == 0)
    preparation = prepare(dataset, fold.train)
    inner = [slow_weight(dataset, fold.with_censored, row, HORIZON) for row in range(N)]
    rows = preparation.transform(dataset.frame)
    by_hand = method.estimator({}, "classification")
    by_hand.fit(rows[fold.train], dataset.y[fold.train], np.array(inner)[fold.train])
    places = np.searchsorted(parts.train, fold.held_out)
    np.testing.assert_allclose(
        scores[places], by_hand.model_.scores(rows[fold.held_out]), rtol=1e-9
    )
    path = method_path("smp", dataset, parts.with_censored, n_points=2)
    row = next(sweep(dataset, [fold], [path], mode="cold"))
    values = {**path.values, path.parameter: row["value"]}
    estimator = method.estimator(values, "classification")
    estimator.fit(rows[fold.train], dataset.y[fold.train], np.array(inner)[fold.train])
    answers = estimator.predict(rows[fold.held_out])
    held_out = [inner[i] for i in fold.held_out]
    accuracy = np.average(dataset.y[fold.held_out] == answers, weights=held_out)
    assert row["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    sample = TrainingRows(
        X[parts.train], dataset.y[parts.train], None, weights[parts.train]
    )
    plain = TrainingRows(X[parts.train], dataset.y[parts.train])
    make = lambda: method.estimator({}, "classification")  # noqa: E731
    one, other = (next(refits(make, of, n_refits=1)) for of in (sample, plain))
    assert not np.allclose(one.scores(X), other.scores(X))


def test_probabilities_are_calibrated_with_the_weights():
    rng = np.random.default_rng(7)
    risk = rng.normal(size=3000)
    event, censored = rng.exponential(30 * np.exp(-risk)), rng.exponential(50, 3000)
    followed_up = np.minimum(event, censored), event <= censored
    truth, known = within(*followed_up, 25.0)
    weights = censoring_weight(*followed_up, np.minimum(followed_up[0], 25.0))[known]
    truth, score = truth[known], (risk + rng.normal(size=3000))[known]
    score = np.column_stack([0 * truth, score])
    shares = [np.average(truth, weights=of) for of in (weights, None)]
    assert shares[0] - shares[1] < -0.01
    for of, share in zip((weights, None), shares, strict=True):
        learned = calibrate(score, CLASSES[truth * 1], CLASSES, None, of)
        probability = learned.probabilities(score)[:, 1]
        assert np.average(probability, weights=of) == pytest.approx(share, abs=2e-3)
        table = reliability(probability, truth, weights=of)
        assert np.average(table.share, weights=table.weight) == pytest.approx(share)
