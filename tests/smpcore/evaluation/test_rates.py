"""Rates and predictive values against statsmodels, scikit-learn and by counting."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import precision_score, recall_score
from statsmodels.stats.proportion import proportion_confint

from smpcore import SmpcoreError
from smpcore.evaluation import (
    Rate,
    class_rates,
    predictive_values,
    rate,
    wilson,
)
from tests.shown import oracle


@pytest.mark.parametrize("level", [0.05, 0.01, 0.05 / 7])
@pytest.mark.parametrize("hits, n", [(0, 9), (3, 10), (58, 73), (73, 73)])
def test_wilsons_interval_is_that_of_statsmodels_at_every_level(hits, n, level):
    wanted = proportion_confint(hits, n, level, "wilson")
    assert wilson(hits, n, level) == pytest.approx(wanted, abs=1e-12)
    counted = rate(np.arange(n) < hits, None, level)
    assert (counted.hits, counted.n) == (hits, n)
    assert counted.interval == pytest.approx(wanted, abs=1e-12)


def test_where_all_are_found_shares_are_adjusted():
    """Half the squared quantile is added to hits and misses (Mercaldo)."""
    z2 = norm.ppf(0.975) ** 2
    counts = (40, 40), (288, 375)
    adjusted = [((x + z2 / 2) / (n + z2), n + z2) for x, n in counts]
    found = predictive_values(*(Rate(x, n, n) for x, n in counts), 0.3)
    for share, (_, low, high) in zip(
        found.values(), oracle.predictive(*adjusted, 0.3), strict=True
    ):
        ends = min(low, share[0]), max(high, share[0])
        assert share[1:] == pytest.approx(ends, rel=1e-5)


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
