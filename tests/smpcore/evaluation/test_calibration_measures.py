"""Intercept, slope and curve against statsmodels, and what their intervals cover."""

import numpy as np
import pytest
from scipy.special import expit

from smpcore.evaluation import (
    calibration_curve,
    calibration_intercept,
    calibration_measures,
    calibration_slope,
)
from tests.shown import oracle


def drawn(n=300, seed=0, groups=60):
    """Probabilities that are too extreme and too low, with groups and weights."""
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=n)
    lead = rng.normal(size=n) + rng.normal(size=groups)[group]
    truth = rng.random(n) < expit(0.6 * lead + 0.4)
    return expit(lead), truth, group, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("dependent", ["rows", "groups", "weights", "both"])
def test_intercept_and_slope_are_those_of_statsmodels(dependent):
    p, truth, groups, weights = drawn()
    clusters = groups if dependent in ("groups", "both") else None
    weights = weights if dependent in ("weights", "both") else None
    for measure, of in (
        (calibration_intercept, oracle.recalibrated(p, truth, clusters, weights)[0]),
        (calibration_slope, oracle.recalibrated(p, truth, clusters, weights)[1]),
    ):
        found = measure(p, truth, clusters, weights)
        assert tuple(found[:3]) == pytest.approx(of, rel=1e-6)
        assert found.method == ("Wald's" if dependent == "rows" else "Wald's, robust")


def test_the_slope_of_the_other_class_is_the_same_and_its_intercept_the_contrary():
    p, truth, groups, _ = drawn()
    one, other = ((p, truth, groups), (1 - p, ~truth, groups))
    assert calibration_slope(*other)[:3] == pytest.approx(calibration_slope(*one)[:3])
    value, low, high, _ = calibration_intercept(*one)
    assert calibration_intercept(*other)[:3] == pytest.approx((-value, -high, -low))


@pytest.mark.parametrize("clustered", [False, True])
def test_the_curve_is_a_logistic_regression_on_natural_splines(clustered):
    p, truth, groups, weights = drawn(800, groups=200)
    of_rows = (groups, weights) if clustered else (None, None)
    found = calibration_curve(p, truth, *of_rows)
    at, knots = found["probability"], (0.05, 0.275, 0.5, 0.725, 0.95)
    expected = oracle.smoothed(p, truth, *of_rows, at, knots)
    np.testing.assert_allclose(found[["share", "low", "high"]].T, expected, atol=1e-5)
    np.testing.assert_allclose(
        at.iloc[[0, -1]], np.quantile(p, [0.05, 0.95]), rtol=0.02
    )


def test_the_intervals_cover_what_they_say():
    """Of 200 tables each: slope, intercept, and the curve at its middle."""
    rows, groups = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        lead = rng.normal(scale=1.5, size=200)
        truth = rng.random(200) < expit(lead)
        p = expit(lead)
        curve = calibration_curve(p, truth).iloc[50]
        rows.append(
            (
                calibration_slope(p, truth).low
                <= 1
                <= calibration_slope(p, truth).high,
                abs(sum(calibration_intercept(p, truth)[1:3]))
                <= np.ptp(calibration_intercept(p, truth)[1:3]),
                curve["low"] <= curve["probability"] <= curve["high"],
            )
        )
        # Rows of a group share all: counted as single rows, too few are covered.
        unit = np.repeat(np.arange(50), 4)
        p, truth = p[:50][unit], truth[:50][unit]
        for clusters in (unit, None):
            _, low, high, _ = calibration_intercept(p, truth, clusters)
            groups.append(low <= 0 <= high)
    assert (np.mean(rows, axis=0) >= 0.92).all()
    by_group, by_row = np.mean(np.reshape(groups, (-1, 2)), axis=0)
    assert by_group >= 0.92 and by_row < 0.8


def test_what_has_no_finite_value_is_not_a_number():
    p, truth, _, _ = drawn()
    cases = {
        "parted": (p, p > 0.5, True, False),
        "the contrary": (p, p < 0.5, True, False),
        "equal": (np.full(300, 0.3), truth, True, False),
        "never": (p, np.zeros(300, bool), False, False),
    }
    for name, (probability, of, intercept, slope) in cases.items():
        values = (
            calibration_intercept(probability, of),
            calibration_slope(probability, of),
        )
        assert np.isfinite(values[0].value) == intercept, name
        assert np.isfinite(values[1].value) == slope, name
        assert not values[1].method
        assert not len(calibration_curve(probability, of)), name
    two = np.arange(300) % 2  # groups tell nothing of two coefficients
    value, low, _, method = calibration_slope(p, truth, two)
    assert value == pytest.approx(calibration_slope(p, truth).value)
    assert np.isnan(low) and not method and not len(calibration_curve(p, truth, two))
    # Log-odds of 0 and 1 are as far as a float can tell.
    sure = np.where(np.arange(300) < 100, np.round(p), p)
    assert np.isfinite(calibration_slope(sure, truth).value)


def test_fewer_rows_have_fewer_knots():
    p, truth, _, _ = drawn(2000, groups=2000)
    rare = np.flatnonzero(truth)
    for n, shares in (
        (40, (0.05, 0.95)),
        (50, (0.1, 0.5, 0.9)),
        (150, (0.05, 0.35, 0.65, 0.95)),
        (250, (0.05, 0.275, 0.5, 0.725, 0.95)),
    ):
        rows = np.append(np.flatnonzero(~truth)[:400], rare[:n])
        found = calibration_curve(p[rows], truth[rows])
        expected = oracle.smoothed(
            p[rows], truth[rows], None, None, found["probability"], shares
        )
        np.testing.assert_allclose(found["share"], expected[0], atol=1e-5)


def test_measures_are_of_the_event():
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([1, 1, 1], 200)
    y = np.array([rng.choice(3, p=one) for one in shares])
    unknown = np.append(y, -1), np.vstack([shares, shares[:1]])
    of = calibration_measures(unknown[1], unknown[0])
    top, right = shares.max(axis=1), shares.argmax(axis=1) == y
    names = [one.label for one in of]
    assert names[0] == "Brier score" and names[2:] == [
        "Calibration intercept",
        "Calibration slope",
    ]
    for one, expected in zip(of[2:], oracle.recalibrated(top, right), strict=True):
        assert tuple(one.estimate[:3]) == pytest.approx(expected, rel=1e-6)
    two = calibration_measures(shares[:, :2] / shares[:, :2].sum(1)[:, None], y % 2, 0)
    assert two[3].text and two[3].interval
    same = calibration_measures(np.tile([0.4, 0.6], (200, 1)), y % 2)
    assert same[3].text == "none (equal probabilities)" and same[2].text
    sure = calibration_measures(np.eye(2)[y % 2] * 0.8 + 0.1, y % 2)
    assert sure[3].text == "none (perfect separation)"
