"""Measures of probabilities: scikit-learn's figures, and intervals that cover."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from smpcore.evaluation import (
    brier_score,
    calibration_error,
    decision_curve,
    reliability,
    wilson,
)

RNG = np.random.default_rng(0)
P = RNG.beta(0.7, 1.2, 500)
TRUTH = RNG.random(500) < P
TWO = np.column_stack([1 - P, P])


def test_reliability_is_scikit_learns_curve_with_wilsons_intervals():
    table = reliability(P, TRUTH)
    share, mean = calibration_curve(TRUTH, P, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(table["share"], share)
    np.testing.assert_allclose(table["probability"], mean)
    assert table["rows"].sum() == 500 and len(table) == 10
    first = table.iloc[3]
    low, high = wilson(first["share"] * first["rows"], first["rows"])
    assert (first["low"], first["high"]) == (low, high)
    expected = np.mean(np.abs(share - mean))  # bins of equally many rows
    assert calibration_error(table) == pytest.approx(expected)


def test_the_brier_score_is_scikit_learns():
    y = TRUTH.astype(int)
    found, low, high = brier_score(TWO, y)
    assert found == pytest.approx(brier_score_loss(y, P)) and low < found < high
    three = RNG.dirichlet([1, 2, 3], 200)
    y = RNG.integers(0, 3, 200)
    expected = brier_score_loss(y, three, scale_by_half=False)
    assert brier_score(three, y)[0] == pytest.approx(expected)
    assert np.isnan(brier_score(three[:1], y[:1])[1:]).all()


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
