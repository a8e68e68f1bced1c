"""Recalibration against statsmodels, with an offset and without."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.metrics import brier_score_loss, log_loss

from smpcore import SmpcoreError
from smpcore.evaluation import RECALIBRATIONS, recalibrate, recalibration_table
from smpcore.model import Calibration

SIGMOID = Calibration(200, 1.3, np.array([0.2, -0.4]))
STEPS = Calibration(
    200,
    1.3,
    np.array([0.2, -0.4]),
    (
        np.array([[-2.0, -0.5, 0.5, 3.0], [0.02, 0.3, 0.3, 0.95]]),
        np.array([[-3.0, -0.4, 0.6, 2.0], [0.06, 0.7, 0.7, 0.97]]),
    ),
)


def drawn(n=400, seed=0):
    rng = np.random.default_rng(seed)
    scores, group = rng.normal(size=(n, 2)), rng.integers(80, size=n)
    lead = scores[:, 1] - scores[:, 0]
    y = (rng.random(n) < expit(0.6 * lead + 0.5)) * 1
    return scores, y, group, rng.uniform(0.2, 3.0, n)


def glm(p, y, kind, weights):
    """Intercept and slope by statsmodels."""
    lead, masses = logit(p), np.ones(len(p)) if weights is None else weights
    X, offset = np.ones((len(p), 1)), lead
    if kind != "intercept":
        X, offset = np.c_[X, lead], None
    family = sm.families.Binomial()
    model = sm.GLM(y, X, family, offset=offset, var_weights=masses)
    return [*model.fit(tol=1e-12).params, 1.0][:2]


@pytest.mark.parametrize("kind", RECALIBRATIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("calibration, off", [(SIGMOID, 1e-8), (STEPS, 0.01)])
def test_probabilities_are_those_of_a_logistic_regression(
    kind, weighted, calibration, off
):
    scores, y, _, weights = drawn()
    weights = weights if weighted else None
    p = calibration.probabilities(scores)[:, 1]
    intercept, slope = glm(p, y, kind, weights)
    changed = recalibrate(calibration, scores, y, kind, weights)
    shares = changed.probabilities(scores)
    expected = expit(intercept + slope * logit(p))
    np.testing.assert_allclose(shares[:, 1], expected, atol=off)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    mean = np.average(shares[:, 1], weights=weights)
    assert mean == pytest.approx(np.average(y, weights=weights), abs=max(off / 5, 1e-8))


@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_table_is_apparent_and_cross_validated(outcome, weighted):
    scores, y, groups, weights = drawn()
    weights = weights if weighted else None
    unknown = np.r_[y, -1], np.vstack([scores, [9.0, 9.0]])
    more = None if weights is None else np.r_[weights, 7.0]
    lines = recalibration_table(
        SIGMOID, unknown[1], unknown[0], outcome, np.r_[groups, 99], more
    ).set_index("recalibration")
    assert lines.index.tolist() == ["none", *RECALIBRATIONS]
    p, of_class = SIGMOID.probabilities(scores)[:, outcome], y == outcome
    for kind, line in lines.iterrows():
        shares, values = p, (0.0, 1.0)
        if kind != "none":
            values = glm(p, of_class, kind, weights)
            shares = expit(values[0] + values[1] * logit(p))
        assert tuple(line[["intercept", "slope"]]) == pytest.approx(values, abs=1e-7)
        expected = (
            log_loss(of_class, shares, sample_weight=weights),
            brier_score_loss(of_class, shares, sample_weight=weights),
        )
        apparent = line[["log-loss, apparent", "Brier score, apparent"]]
        assert tuple(apparent) == pytest.approx(expected)
        if kind == "none":
            continue
        apart = np.empty(len(p))
        order = np.random.default_rng(0).permutation(len(np.unique(groups)))
        fold = (order % 5)[np.unique(groups, return_inverse=True)[1]]
        for number in range(5):
            out = fold == number
            masses = None if weights is None else weights[~out]
            a, b = glm(p[~out], of_class[~out], kind, masses)
            apart[out] = expit(a + b * logit(p[out]))
        expected = (
            log_loss(of_class, apart, sample_weight=weights),
            brier_score_loss(of_class, apart, sample_weight=weights),
        )
        assert tuple(line[["log-loss", "Brier score"]]) == pytest.approx(expected)


def test_below_50_rows_or_groups_of_the_rarer_class_there_is_no_slope():
    scores, y, _, _ = drawn(80)
    lines = recalibration_table(SIGMOID, scores, y)
    assert lines["recalibration"].tolist() == ["none", "intercept"]
    scores, y, groups, _ = drawn()
    lines = recalibration_table(SIGMOID, scores, y, 1, groups % 40)
    assert lines["recalibration"].tolist() == ["none", "intercept"]


def test_what_has_no_recalibration_is_a_sentence():
    scores, y, _, _ = drawn()
    lead = scores[:, 1] - scores[:, 0]
    for labels, words in (
        (np.ones_like(y), "both classes"),
        (np.zeros_like(y), "both classes"),
        ((lead > 0) * 1, "without an error"),
        (1 - y, "does not reverse"),
    ):
        with pytest.raises(SmpcoreError, match=words):
            recalibrate(SIGMOID, scores, labels, RECALIBRATIONS[1])
        lines = recalibration_table(SIGMOID, scores, labels)
        assert lines.iloc[-1, 1:].isna().all() and lines.iloc[0].notna().all()
    lines = recalibration_table(SIGMOID, scores, np.zeros_like(y))
    assert lines["recalibration"].tolist() == ["none", "intercept"]
    with pytest.raises(SmpcoreError, match="should be one of"):
        recalibrate(SIGMOID, scores, y, "slope")
