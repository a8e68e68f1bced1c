"""Counted answers, rates, probabilities and errors: by hand, and by their level."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from smpcore import SMPClassifier, SmpcoreError, evaluate, load_dataset
from smpcore.datasets import make_dataset
from smpcore.evaluation import (
    Rate,
    RegressionScores,
    brier_score,
    calibration_error,
    clusters,
    clusters_like,
    decision_curve,
    predictive_value,
    rate,
    reliability,
    wilson,
)
from smpcore.evaluation.scores import count_answers, effective_rows, score_answers
from tests.shown import oracle


def test_a_dead_model_is_seen_through():
    truth = np.array([0] * 95 + [1] * 5)
    scores = count_answers(truth, np.zeros(100, dtype=int), np.array(["no", "yes"]))
    assert scores.accuracy == 0.95 == scores.majority
    assert scores.balanced_accuracy == 0.5
    assert list(scores.never_answered) == ["yes"]


def test_rows_of_a_class_that_the_model_has_not_seen_are_misses():
    model = SMPClassifier(n_prototypes=1).fit([[0.0], [1.0]], ["a", "c"]).model_
    scores = evaluate(model, np.array([[0.0], [1.0], [1.0]]), np.array(["a", "b", "c"]))
    assert (scores.hits, scores.rows) == (2, 3)
    assert scores.never_answered.tolist() == ["b"]
    after = evaluate(model, np.ones((1, 1)), np.array(["z"]))
    assert (after.hits, after.rows) == (0, 1)
    chances = np.full((3, 2), 0.5)
    assert brier_score(chances, np.array([0, -1, 1]))[0] == 0.25


def test_no_rows_is_said():
    fitted = SMPClassifier().fit([[0.0], [1.0]], [0, 1])
    model = fitted.model_
    with pytest.raises(SmpcoreError, match="the model_ of a fitted"):
        evaluate(fitted, [[0.0]], [0])
    with pytest.raises(SmpcoreError, match="X has no rows"):
        evaluate(model, np.empty((0, 1)), np.empty(0))
    with pytest.raises(SmpcoreError, match="2 rows and y has 1"):
        evaluate(model, np.ones((2, 1)), [0])


def test_what_a_single_row_cannot_tell_is_nan():
    scores = RegressionScores(np.array([2.0]), np.array([5.0]))
    assert scores.mae == scores.rmse == 3.0 and scores.mape == 1.5
    assert np.isnan(RegressionScores(np.array([2.0, 0.0]), np.ones(2)).mape)
    assert np.isnan([scores.r2, *scores.estimate[1:3]]).all()


def test_a_weight_of_a_number_is_the_row_so_many_times():
    truth, answers, weights = np.random.default_rng(0).uniform(size=(3, 20))
    times = np.ceil(3 * weights).astype(int)
    weighed = score_answers(truth, answers, None, weights=times)
    rows = score_answers(np.repeat(truth, times), np.repeat(answers, times), None)
    for name in ("mae", "rmse", "r2"):
        assert getattr(weighed, name) == pytest.approx(getattr(rows, name))
    assert weighed.always(0.5) == pytest.approx(rows.always(0.5))
    assert weighed.estimate.low < weighed.mae < weighed.estimate.high


def both_values(sensitivity, specificity, prevalence):
    """Predictive values where every row gets an answer."""
    wrong = [
        replace(of, hits=of.n - of.hits, weighted=of.weighted and 1 - of.weighted)
        for of in (specificity, sensitivity)
    ]
    return {
        "positive": predictive_value(sensitivity, wrong[0], prevalence),
        "negative": predictive_value(specificity, wrong[1], 1 - prevalence),
    }


def test_where_all_are_found_shares_are_adjusted():
    """Half the squared quantile is added to hits and misses (Mercaldo)."""
    z2 = norm.ppf(0.975) ** 2
    counts = (40, 40), (288, 375)
    adjusted = [((x + z2 / 2) / (n + z2), n + z2) for x, n in counts]
    found = both_values(*(Rate(x, n, n) for x, n in counts), 0.3)
    for share, (_, low, high) in zip(
        found.values(), oracle.predictive(*adjusted, 0.3), strict=True
    ):
        ends = min(low, share[0]), max(high, share[0])
        assert share[1:3] == pytest.approx(ends, rel=1e-5)


def test_where_nothing_is_known_the_interval_says_so():
    none = both_values(Rate(0, 0, 0), Rate(7, 9, 9), 0.3)
    assert np.isnan(none["positive"][0]) and none["positive"][1:3] == (0, 1)
    one_cluster = rate(np.ones(5, bool), np.zeros(5, int))
    assert both_values(one_cluster, Rate(7, 9, 9), 0.3)["negative"][1:3] == (0, 1)
    never = both_values(Rate(0, 9, 9), Rate(9, 9, 9), 0.3)["positive"]
    assert np.isnan(never[0]) and 0 < never[1] < never[2] < 1


@pytest.mark.parametrize("prevalence", [0, 1, -0.1, float("nan")])
def test_a_prevalence_that_is_none_is_refused(prevalence):
    with pytest.raises(SmpcoreError, match="should be above 0 and below 1"):
        predictive_value(Rate(5, 9, 9), Rate(7, 9, 9), prevalence)


RNG = np.random.default_rng(0)
P = RNG.beta(0.7, 1.2, 500)
TRUTH = RNG.random(500) < P


def test_net_benefit_counts_what_is_treated():
    curve = decision_curve(P, TRUTH)
    for threshold in (0.1, 0.35, 0.8):
        line = curve.iloc[round(100 * threshold) - 1]
        treated = threshold <= P
        right, vain = (TRUTH & treated).sum(), (~TRUTH & treated).sum()
        odds = threshold / (1 - threshold)
        assert line["threshold"] == threshold
        assert line["net_benefit"] == pytest.approx((right - odds * vain) / 500)
        every = (TRUTH.sum() - odds * (~TRUTH).sum()) / 500
        assert line["treat_all"] == pytest.approx(every)
        assert line["low"] < line["net_benefit"] < line["high"]
    assert (curve["treat_none"] == 0).all()
    # Probabilities below every threshold treat nobody, above every one all.
    nobody = decision_curve(np.zeros(500), TRUTH)
    assert (nobody["net_benefit"] == 0).all()
    everybody = decision_curve(np.ones(500), TRUTH)
    np.testing.assert_allclose(everybody["net_benefit"], everybody["treat_all"])


def test_few_rows_and_equal_probabilities_have_fewer_bins():
    assert len(reliability(P[:20], TRUTH[:20])) == 1
    assert len(reliability(P[:40], TRUTH[:40])) == 2
    steps = np.repeat([0.2, 0.8], [90, 10])
    table = reliability(steps, TRUTH[:100])
    np.testing.assert_allclose(table["probability"], [0.2, 0.8])
    off = abs(TRUTH[:90].mean() - 0.2), abs(TRUTH[90:100].mean() - 0.8)
    assert calibration_error(table) == pytest.approx(0.9 * off[0] + 0.1 * off[1])


CLASSES = np.array(["no", "yes"])


def interval(hits, groups=None):
    truth = np.zeros(len(hits), dtype=int)
    return count_answers(truth, 1 - hits.astype(int), CLASSES, groups).estimate[1:3]


def test_where_all_are_right_a_group_counts_as_a_row():
    groups = np.repeat(np.arange(20), 4)
    few = (1.959963984540054 / t.ppf(0.975, 19)) ** 2
    assert effective_rows(np.ones(80, bool), groups) == pytest.approx(20 * few)
    assert interval(np.ones(80, bool), groups)[0] < 0.85 < 0.95 < wilson(80, 80)[0]


def test_one_group_tells_nothing():
    hits, groups = np.arange(9) > 2, np.zeros(9, dtype=int)
    assert interval(hits, groups) == (0.0, 1.0)
    scores = RegressionScores(np.zeros(9), np.arange(9.0), groups)
    assert np.isnan(scores.estimate[1:3]).all()


def test_its_level_holds_where_wilsons_does_not():
    """Beta-binomial groups: 95 % intervals that hold the true share."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 6)
    held = np.zeros(2)
    for _ in range(1000):
        shares = rng.beta(1.6, 0.4, 30)
        hits = rng.uniform(size=180) < np.repeat(shares, 6)
        for k, (low, high) in enumerate((interval(hits), interval(hits, groups))):
            held[k] += low <= 0.8 <= high
    plain, ours = held / 1000
    assert plain < 0.85
    assert 0.93 < ours < 0.98


def test_rows_of_another_table_depend_as_those_of_the_data_set():
    frame = load_dataset("iris").frame.assign(patient=np.arange(150) // 3)
    frame["day"] = pd.Series(np.arange(150) % 50, dtype="int64")
    target = {"class": "target"}
    for roles in ({"patient": "group"}, {"day": "time"}):
        dataset = make_dataset(frame, "grouped", roles=target | roles)
        rows = np.arange(150)
        same = clusters_like(dataset, frame)
        np.testing.assert_array_equal(same, clusters(dataset, rows))
        assert clusters_like(dataset, frame.drop(columns=list(roles))) is None
    words = frame.assign(day="no time")
    assert clusters_like(dataset, words) is None
