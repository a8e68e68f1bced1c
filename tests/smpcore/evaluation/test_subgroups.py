"""Subgroups: groups that a reader understands, and figures of an independent count."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import fisher_exact, norm, t, ttest_ind, ttest_rel
from sklearn.metrics import accuracy_score, recall_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, test_proportions_2indep

from smpcore import SmpcoreError
from smpcore.datasets import make_dataset
from smpcore.evaluation import (
    FEWEST_ROWS,
    RowMeasure,
    group_rows,
    row_measures,
    subgroups,
)
from smpcore.evaluation.differences import difference_of_means, difference_of_shares
from tests.shown import oracle

test_proportions_2indep.__test__ = False
ALL = np.arange(400)


def _table(column, role="ignore"):
    frame = pd.DataFrame({"x": np.arange(len(column)) * 1.0, "c": column})
    frame["y"] = np.where(np.arange(len(column)) % 2, "yes", "no")
    dataset = make_dataset(frame, "made")
    return dataset.with_roles({"y": "target", "c": role})


def test_a_number_is_cut_at_quartiles_that_can_be_read():
    ages = np.random.default_rng(0).normal(54.3, 9.1, 400)
    ages[7] = np.nan
    found = group_rows(_table(ages), "c", ALL[:300])
    *bands, missing = found.names
    assert missing == "missing value" and found.codes[7] == 4
    edges = [float(name.split()[-1]) for name in bands[:-1]]
    assert bands == [
        f"below {edges[0]:g}",
        f"{edges[0]:g} to below {edges[1]:g}",
        f"{edges[1]:g} to below {edges[2]:g}",
        f"{edges[2]:g} or more",
    ]
    assert all(float(edge).is_integer() for edge in edges)
    np.testing.assert_array_equal(
        found.codes[ages >= edges[2]], np.full((ages >= edges[2]).sum(), 3)
    )
    shares = np.bincount(found.codes[:300])[:4] / 300
    assert np.abs(shares - 0.25).max() < 0.1


@pytest.mark.parametrize(
    "numbers",
    [
        np.random.default_rng(1).normal(size=400) * 1e-7,
        np.random.default_rng(1).lognormal(3, 2, 400),
        np.concatenate([np.zeros(390), np.arange(10.0)]),
        np.arange(400.0) * 1e12 + 3e15,
        np.random.default_rng(1).integers(0, 9, 400) - 4.0,
    ],
)
def test_every_band_has_rows_whatever_the_numbers(numbers):
    found = group_rows(_table(numbers), "c", ALL)
    counts = np.bincount(found.codes)
    assert 2 <= len(counts) <= 4 and counts.min() > 0
    assert len(set(found.names)) == len(counts)


def test_few_numbers_and_levels_are_groups_of_their_own():
    found = group_rows(_table(np.arange(400) % 3 + 1.0, "feature"), "c", ALL)
    assert found.names == ("1", "2", "3")
    np.testing.assert_array_equal(found.codes, np.arange(400) % 3)
    levels = np.array([f"town {i}" for i in range(20)])
    sizes = np.arange(40, 20, -1)
    found = group_rows(_table(np.repeat(levels, sizes)[:400]), "c", ALL)
    assert found.names[0] == "town 0" and len(found.names) == 11
    assert "other level" in found.names[-1]


def test_a_time_is_cut_into_periods():
    days = pd.date_range("2020-01-01", periods=400).strftime("%Y-%m-%d")
    order = np.random.default_rng(0).permutation(400)
    found = group_rows(_table(days.to_numpy()[order], "time"), "c", ALL)
    assert found.names == (
        "before 2020-04-10",
        "2020-04-10 to before 2020-07-19",
        "2020-07-19 to before 2020-10-27",
        "2020-10-27 or later",
    )
    np.testing.assert_array_equal(found.codes, order // 100)


def test_rows_of_another_table_have_the_groups_of_the_training_rows():
    ages = np.random.default_rng(1).integers(20, 80, 400).astype(float)
    days = pd.date_range("2020-01-01", periods=400).strftime("%Y-%m-%d").to_numpy()
    towns = np.array(["a", "b"])[ALL % 2]
    for old, role, new, names in (
        (ages, "feature", ["15", "70", None], ["first", "last", "missing value"]),
        (ALL % 3 + 1.0, "feature", [3, 1, 9], ["3", "1", "1 other level"]),
        (towns, "feature", ["b", "zz", None], ["b", "1 other level", "missing value"]),
        (days, "time", ["2019-05-01", "2023-01-01"], ["first", "last"]),
    ):
        table, values = _table(old, role), pd.Series(new, index=range(5, 5 + len(new)))
        found = group_rows(table, "c", ALL, values)
        ends = group_rows(table, "c", ALL).names
        ends = {"first": ends[0], "last": ends[3 if len(ends) > 3 else -1]}
        of_rows = [found.names[code] for code in found.codes]
        assert of_rows == [ends.get(name, name) for name in names]


def test_a_column_that_makes_no_groups_is_one_sentence():
    ids = [f"id{i}" for i in range(400)]
    for column, words in (
        (ids, "has 400 levels in 400 training rows, and non"),
        (["same"] * 400, "has one value in all rows"),
        ([5.0] * 400, "has one value in all rows"),
    ):
        with pytest.raises(SmpcoreError, match=words):
            group_rows(_table(column), "c", ALL)
    with pytest.raises(SmpcoreError, match="should be a column of the table"):
        group_rows(_table(ids), "nowhere", ALL)


def test_figures_of_a_classifier_are_those_of_scikit_learn_and_statsmodels():
    of = oracle.fit("smp", "breast_cancer")
    rows = of.parts["validation"]
    grouping = group_rows(of.table, "mean texture", of.parts["train"])
    answers, truth = of.answers("validation"), of.truth("validation")
    table = subgroups(grouping, rows, row_measures(of.model.classes, answers, truth))
    codes = grouping.codes[rows]
    p_values, n_groups = [], len(np.unique(codes))
    for code, name in enumerate(grouping.names):
        lines = table[table["group"] == name].set_index("measure")
        inside = codes == code
        line = lines.loc["Accuracy"]
        assert line["value"] == accuracy_score(truth[inside], answers[inside])
        assert line["rest"] == accuracy_score(truth[~inside], answers[~inside])
        hits = (truth == answers)[inside].sum()
        wanted = proportion_confint(hits, inside.sum(), 0.05 / n_groups, "wilson")
        assert [line["low"], line["high"]] == pytest.approx(wanted)
        recall = recall_score(truth[inside], answers[inside], pos_label="malignant")
        if "Recall of malignant" in lines.index:
            assert lines.loc["Recall of malignant", "value"] == pytest.approx(recall)
        rest = (truth == answers)[~inside]
        pair = hits, inside.sum(), rest.sum(), len(rest)
        p_values.append(_p_value(*pair))
    wanted = multipletests(p_values, method="holm")[1]
    found = table[table["measure"] == "Accuracy"]["p_value"]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def _p_value(hits, n, other_hits, other_n):
    score = test_proportions_2indep(
        hits, n, other_hits, other_n, compare="diff", method="score"
    )
    misses = [[hits, n - hits], [other_hits, other_n - other_hits]]
    # Without any variance statsmodels gives NaN.
    return np.fmax(score.pvalue, fisher_exact(misses).pvalue)


def test_probabilities_are_compared_with_what_was_observed():
    of = oracle.fit("smp", "iris")
    rows, (first, second, _) = of.parts["train"], map(str, of.model.classes)
    sure = np.tile([0.5, 0.3, 0.2], (len(rows), 1))
    answers = of.model.predict(of.X[rows])
    measures = row_measures(of.model.classes, answers, of.y[rows], sure)
    table = subgroups(group_rows(of.table, of.table.target, rows), rows, measures)
    name = f"Observed - predicted frequency of {first}"
    values = table[table["measure"] == name].set_index("group")["value"]
    assert values[[first, second]].tolist() == pytest.approx([0.5, -0.5])


def test_small_groups_are_marked_and_not_tested():
    codes = np.repeat(["a", "b", "c"], [60, 31, 9])
    grouping = group_rows(_table(codes), "c", ALL[:100])
    hits = RowMeasure("Accuracy", np.arange(100) % 5 > 0, True)
    table = subgroups(grouping, ALL[:100], [hits]).set_index("group")
    assert table["few"].tolist() == [False, False, True]
    assert table["rows"].tolist() == [60, 31, 9] and FEWEST_ROWS == 10
    assert np.isnan(table.loc["c", "p_value"]) and table.loc["b", "p_value"] <= 1
    # Corrected for two tests and three intervals.
    alone = difference_of_shares((hits.values[:60], None), (hits.values[60:], None))
    assert table.loc["a", "p_value"] == pytest.approx(min(1, 2 * alone.p_value))
    wanted = proportion_confint(48, 60, 0.05 / 3, "wilson")
    assert table.loc["a", ["low", "high"]].tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("pair", [(8, 10, 50, 60), (3, 11, 90, 100), (20, 40, 5, 45)])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_the_interval_of_two_shares_inverts_the_score_test(pair, level):
    """Against likelihoods maximised numerically.

    statsmodels' own inversion of this test gives other upper ends (0.1746 for the first
    pair, where the score of the most likely shares is 1.96 at 0.1574).
    """
    x1, n1, x2, n2 = pair
    p1, p2 = x1 / n1, x2 / n2

    def score(delta):
        def loss(p):
            terms = (x1, p), (n1 - x1, 1 - p), (x2, p - delta), (n2 - x2, 1 - p + delta)
            return -sum(count * np.log(max(share, 1e-300)) for count, share in terms)

        ends = max(0, delta) + 1e-12, min(1, 1 + delta) - 1e-12
        p = minimize_scalar(loss, bounds=ends, options={"xatol": 1e-12}).x
        q = p - delta
        variance = p * (1 - p) / n1 + q * (1 - q) / n2
        return (p1 - p2 - delta) / np.sqrt(variance * (n1 + n2) / (n1 + n2 - 1))

    found = difference_of_shares(
        (np.arange(n1) < x1, None), (np.arange(n2) < x2, None), level
    )
    ends = [end for end in (found.low, found.high) if end != 0]
    assert ends
    for end in ends:
        assert abs(score(end)) == pytest.approx(norm.isf(level / 2), abs=1e-4)
    assert found.p_value == pytest.approx(_p_value(*pair))


def test_an_interval_leaves_0_out_where_the_test_rejects():
    rng = np.random.default_rng(0)
    sides = set()
    for _ in range(300):
        n1, n2 = rng.integers(10, 60, 2)
        first, second = rng.random(n1) < rng.random(), rng.random(n2) < rng.random()
        found = difference_of_shares((first, None), (second, None))
        assert found.low <= found.mean <= found.high
        rejected = found.p_value < 0.05
        assert rejected == (not found.low <= 0 <= found.high)
        sides.add(rejected)
    assert sides == {True, False}


def test_dependent_rows_differ_less_surely():
    hits = np.repeat(np.random.default_rng(0).random(40) < 0.5, 5)
    hits[:60] |= np.repeat(np.random.default_rng(1).random(12) < 0.6, 5)
    units = np.repeat(np.arange(40), 5)
    alone = difference_of_shares((hits[:60], None), (hits[60:], None))
    grouped = difference_of_shares((hits[:60], units[:60]), (hits[60:], units[60:]))
    assert grouped.mean == alone.mean
    assert grouped.p_value > alone.p_value and grouped.low < alone.low
    values = hits + np.random.default_rng(2).normal(size=200) / 10
    alone = difference_of_means((values[:60], None), (values[60:], None))
    grouped = difference_of_means((values[:60], units[:60]), (values[60:], units[60:]))
    assert grouped.p_value > alone.p_value and grouped.low < alone.low
    # Groups of one size: Welch's test of their means.
    means = values.reshape(40, 5).mean(axis=1)
    test = ttest_ind(means[:12], means[12:], equal_var=False)
    assert grouped.p_value == pytest.approx(test.pvalue)
    ends = test.confidence_interval(0.95)
    assert (grouped.low, grouped.high) == pytest.approx((ends.low, ends.high))


def _cluster_robust_p(values, inside, units):
    """By least squares with errors over clusters, as written in textbooks."""
    X = np.column_stack([np.ones(len(values)), inside])
    weights = np.linalg.lstsq(X, values, rcond=None)[0]
    scores = X * (values - X @ weights)[:, None]
    n = len(np.unique(units))
    sums = sum(
        np.outer(part, part)
        for unit in np.unique(units)
        for part in [scores[units == unit].sum(axis=0)]
    )
    bread = np.linalg.inv(X.T @ X)
    error = np.sqrt((bread @ sums @ bread)[1, 1] * n / (n - 1))
    return 2 * t.sf(abs(weights[1]) / error, n - 1)


def test_groups_that_both_sides_share_count_together():
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(30), 8)
    patient = np.repeat(rng.normal(size=30), 8)
    right, certain, n = np.zeros(2), 0, 200
    for _ in range(n):
        inside = np.tile(np.arange(8) < 3, 30)
        inside = rng.permuted(inside.reshape(30, 8), axis=1).ravel()
        noise = patient + rng.normal(size=240)
        for place, effect in enumerate((0.0, 0.4)):
            values = noise + effect * inside
            sides = [(of[inside], of[~inside]) for of in (values, units)]
            found = difference_of_means(*zip(*sides, strict=True))
            p_value = _cluster_robust_p(values, inside, units)
            assert found.p_value == pytest.approx(p_value, rel=1e-6)
            right[place] += found.p_value < 0.05
        hits = (noise + 0.4 * inside > -0.8) * 1.0
        sides = [(of[inside], of[~inside]) for of in (hits, units)]
        found = difference_of_shares(*zip(*sides, strict=True))
        certain += (
            abs(np.log(found.p_value / _cluster_robust_p(hits, inside, units))) < 1
        )
    assert right[0] < 0.1 * n and right[1] > 0.4 * n
    assert certain > 0.9 * n


def test_groups_that_only_one_side_has_do_not_vary_together():
    rng = np.random.default_rng(4)
    values, units = rng.normal(size=40), np.repeat(np.arange(20), 2)
    apart = difference_of_means((values[:20], units[:20]), (values[20:], units[20:]))
    same = difference_of_means((values[:20], units[:20]), (values[20:], units[:20]))
    assert apart.mean == same.mean and apart.p_value != same.p_value
    means = values.reshape(20, 2).mean(axis=1)
    test = ttest_ind(means[:10], means[10:], equal_var=False)
    assert apart.p_value == pytest.approx(test.pvalue)
    paired = ttest_rel(means[:10], means[10:])
    assert same.p_value == pytest.approx(paired.pvalue)
