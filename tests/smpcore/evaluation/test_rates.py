"""Rates and predictive values against statsmodels, scikit-learn and by counting."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score
from statsmodels.stats._delta_method import NonlinearDeltaCov
from statsmodels.stats.proportion import proportion_confint

from smpcore import SmpcoreError
from smpcore.evaluation import (
    Rate,
    class_rates,
    predictive_values,
    rate,
    rates_at,
    wilson,
)


@pytest.mark.parametrize("level", [0.05, 0.01, 0.05 / 7])
@pytest.mark.parametrize("hits, n", [(0, 9), (3, 10), (58, 73), (73, 73)])
def test_wilsons_interval_is_that_of_statsmodels_at_every_level(hits, n, level):
    wanted = proportion_confint(hits, n, level, "wilson")
    assert wilson(hits, n, level) == pytest.approx(wanted, abs=1e-12)
    counted = rate(np.arange(n) < hits, None, level)
    assert (counted.hits, counted.n) == (hits, n)
    assert counted.interval == pytest.approx(wanted, abs=1e-12)


def _logit_interval(counts, prevalence, positive):
    """The delta method of statsmodels, with derivatives taken numerically."""
    (x1, n1), (x0, n0) = counts
    shares = np.array([x1 / n1, x0 / n0])
    errors = np.diag(shares * (1 - shares) / [n1, n0])

    def logit(p):
        right, wrong, part = p[0], 1 - p[1], prevalence
        if not positive:
            right, wrong, part = p[1], 1 - p[0], 1 - prevalence
        return np.atleast_1d(np.log(right * part / (wrong * (1 - part))))

    found = NonlinearDeltaCov(logit, shares, errors)
    ends = found.conf_int(use_t=False)[0]
    return [1 / (1 + np.exp(-end)) for end in (found.predicted()[0], *ends)]


@pytest.mark.parametrize("prevalence", [0.03, 0.5, 0.9])
def test_predictive_values_are_by_bayes_and_the_delta_method(prevalence):
    counts = (240, 418), (288, 375)
    found = predictive_values(*(Rate(x, n, n) for x, n in counts), prevalence)
    for name in ("positive", "negative"):
        wanted = _logit_interval(counts, prevalence, name == "positive")
        assert found[name] == pytest.approx(wanted, rel=1e-5)


def test_at_the_share_in_the_data_they_are_the_precisions():
    rng = np.random.default_rng(0)
    truth = rng.random(90) < 0.3
    margin = rng.normal(size=90) + 1.5 * truth
    counted = rates_at(margin, truth, 0.4)
    found = predictive_values(*counted.values(), truth.mean())
    said = margin > 0.4
    assert found["positive"][0] == pytest.approx(precision_score(truth, said))
    assert found["negative"][0] == pytest.approx(precision_score(~truth, ~said))
    assert counted["sensitivity"].share == recall_score(truth, said)


def test_where_nothing_is_known_the_interval_says_so():
    none = predictive_values(Rate(0, 0, 0), Rate(7, 9, 9), 0.3)
    assert np.isnan(none["positive"][0]) and none["positive"][1:] == (0, 1)
    one_cluster = rate(np.ones(5, bool), np.zeros(5, int))
    assert predictive_values(one_cluster, Rate(7, 9, 9), 0.3)["negative"][1:] == (0, 1)
    never = predictive_values(Rate(0, 9, 9), Rate(9, 9, 9), 0.3)["positive"]
    assert np.isnan(never[0]) and 0 < never[1] < never[2] < 1


@pytest.mark.parametrize("prevalence", [0, 1, -0.1, float("nan")])
def test_a_prevalence_that_is_none_is_refused(prevalence):
    with pytest.raises(SmpcoreError, match="should be above 0 and below 1"):
        predictive_values(Rate(5, 9, 9), Rate(7, 9, 9), prevalence)


def test_recall_and_precision_of_classes_are_scikit_learns():
    rng = np.random.default_rng(0)
    truth, answers = rng.integers(0, 3, 80), rng.integers(-1, 3, 80)
    table = class_rates(truth, answers, np.array(["a", "b", "c", "d"]))
    options = {"labels": [0, 1, 2], "average": None}
    wanted = recall_score(truth, answers, **options)
    np.testing.assert_allclose(table["recall"][:3], wanted)
    wanted = precision_score(truth, answers, **options)
    np.testing.assert_allclose(table["precision"][:3], wanted)
    assert table["rows"].tolist() == [*np.bincount(truth), 0]
    low, high = proportion_confint(
        table["hits"][1], table["predicted"][1], method="wilson"
    )
    found = table.loc[1, ["precision_low", "precision_high"]].tolist()
    assert found == pytest.approx([low, high])
    assert table.loc[3].isna().sum() == 6
    assert not {"hit", "n"} & {*table}
