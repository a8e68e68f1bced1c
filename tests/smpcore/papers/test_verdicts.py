"""Reproduced, differs or undecided; and which measured numbers are results."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from pytest import approx
from scipy import stats

from smpcore.papers import EXPERIMENTS, SHIPPED, Place, by_name, read_measured, table_of
from smpcore.papers.verdicts import (
    LEVEL,
    MARGINS,
    MOST_PLACEBOS,
    SPLITS,
    relative_differences,
    verdicts,
)

MODELS, SETS = [*"abcd"], [f"set {i}" for i in range(20)]
#: Printed means of the models, further apart than the margin of accuracies.
PRINTED = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}


def table(measured, sd=0.05, n=SPLITS, printed_sd=0.04):
    """Printed and measured accuracies of four models on all sets."""
    frame = pd.DataFrame(product(MODELS, SETS), columns=["model", "data"])
    same = {"measure": "accuracy", "status": "compared", "n": n}
    return frame.assign(
        reported=frame["model"].map(PRINTED),
        measured=frame["model"].map(measured),
        reported_sd=printed_sd,
        measured_sd=sd,
        **same,
    )


def test_both_tests_are_welchs_with_the_corrected_variance():
    """Inflated spreads give SciPy's test the variance of Nadeau and Bengio."""
    n, near = 12, PRINTED["a"] - 0.02
    one = table(PRINTED | {"a": near}, n=n).iloc[:1]
    row = verdicts(one).rows.iloc[0]
    samples = 0.05 * np.sqrt(1 + n), n, 0.9, 0.04 * np.sqrt(1 + SPLITS), SPLITS
    options = {"equal_var": False}
    both = stats.ttest_ind_from_stats(near, *samples, **options)
    assert row["p different"] == approx(both.pvalue)
    above = stats.ttest_ind_from_stats(
        near + MARGINS["accuracy"], *samples, alternative="greater", **options
    )
    assert row["p not equal"] == approx(above.pvalue)
    shift = (row["high"] - row["low"]) / 2 - (row["difference"] - row["low"])
    assert shift == approx(0) and row["difference"] == approx(-0.02)


def test_a_number_without_a_spread_is_as_sure_as_its_last_digit():
    one = table(PRINTED, printed_sd=np.nan).iloc[:1]
    row = verdicts(one).rows.iloc[0]
    error = np.sqrt(0.05**2 * (1 / SPLITS + 1) + 0.1**2 / 12)
    freedom = error**4 / ((0.05**2 * (1 / SPLITS + 1)) ** 2 / (SPLITS - 1))
    half = stats.t.ppf(1 - LEVEL, freedom) * error
    assert row["high"] == approx(half, rel=1e-6)


def test_equal_means_are_reproduced_and_others_differ():
    found = verdicts(table(PRINTED | {"d": 0.75}))
    assert dict(zip(found.rows["model"], found.rows["verdict"], strict=True)) == {
        **dict.fromkeys("abc", "reproduced"),
        "d": "differs",
    }
    assert found.power > 0.9
    few = table(PRINTED)
    assert {*verdicts(few[few["data"] == "set 0"]).rows["verdict"]} == {"undecided"}


def test_a_rule_that_does_not_tell_models_apart_is_not_used():
    """Measured is what is printed of another model: the old rule took it."""
    swapped = {"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.9}
    found = verdicts(table(swapped))
    assert found.placebo > MOST_PLACEBOS and not found.is_used
    assert {*found.rows["verdict"]} == {"undecided"}
    assert "so the rule is not used" in found.summary
    assert verdicts(table(PRINTED)).placebo == 0.0


def test_means_that_are_the_margin_apart_are_seldom_called_reproduced():
    random, called = np.random.default_rng(0), []
    for _ in range(60):
        shifted = {m: x + MARGINS["accuracy"] for m, x in PRINTED.items()}
        one = table(shifted)
        for name, sd in (("measured", 0.05), ("reported", 0.04)):
            # As if each paper had drawn rows of its own, which the correction is for.
            noise = random.normal(size=len(one)) * sd * np.sqrt(1 / SPLITS + 1)
            one[name] += noise
        called += [*(verdicts(one).rows["p not equal"] < LEVEL)]
    assert np.mean(called) < 0.09


def test_what_is_printed_of_other_data_is_compared_relative_to_the_papers_own():
    """Own errors are doubled by the other model in print, and tripled here."""
    numbers = {"reported": [(1, 2), (2, 4), (4, 8.8)], "measured": [(1, 3), (3, 8.1)]}
    rows = [
        {"data": f"{column} {i}", "model": model, "measure": "test error", column: x}
        for column, pairs in numbers.items()
        for i, pair in enumerate(pairs)
        for model, x in zip(("own", "other"), pair, strict=True)
    ]
    (found,) = relative_differences(
        pd.DataFrame(rows).assign(at=np.nan), "own"
    ).itertuples()
    printed, here = np.log([2, 2, 2.2]), np.log([3, 2.7])
    apart = here.mean() - printed.mean()
    variances = [x.var(ddof=1) / len(x) for x in (here, printed)]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 1 + variances[1] ** 2 / 2)
    half = stats.t.ppf(0.95, freedom) * np.sqrt(sum(variances))
    assert (found.model, found.measure) == (
        "other",
        "test error",
    ) and found.verdict == "on other data"
    expected = [100 * (apart + sign * half) for sign in (0, -1, 1)]
    assert [found.difference, found.low, found.high] == approx(expected)


@cache
def shipped(name):
    return table_of(by_name(EXPERIMENTS, name), Place(SHIPPED))


WITH_SPREADS = [
    one.name for one in EXPERIMENTS if any(x.spread > 0 for x in one.reported)
]


@pytest.mark.parametrize("name", WITH_SPREADS)
def test_a_verdict_is_given_only_by_a_rule_that_placebos_fail(name):
    found = verdicts(shipped(name))
    assert found.is_used or {*found.rows["verdict"]} == {"undecided"}
    if name in ("smp-table-1", "small-table-1"):  # with all of their data sets
        assert found.power >= 0.75 and found.placebo <= MOST_PLACEBOS


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: one.name)
def test_settings_and_facts_of_the_data_are_no_results(one):
    """What never changes with the division of the rows was passed in, or is known."""
    numbers = {}
    for each in read_measured(one, SHIPPED).values():
        for measure, value in each.outcome.measures.items():
            of = each.trial.model, measure, each.trial.data
            numbers.setdefault(of, set()).add(value)
    table = shipped(one.name)
    settings = table[table["status"] == "a setting, no result"]
    for row in settings.itertuples():
        assert len(numbers[row.model, row.measure, row.data]) == 1, row
    of_models = {(row.model, row.measure) for row in settings.itertuples()}
    # What is passed in stands in the model's name, too.
    for model, measure in {key[:2] for key in numbers} - of_models:
        parts = (x for key, x in numbers.items() if key[:2] == (model, measure))
        values = set.union(*parts)
        counts = {float(n) for n in re.findall(r"(?<![.\d])\d+(?![.\d])", model)}
        assert len(values) > 1 or not values & counts - {0.0, 1.0}, (model, measure)
    results = table[table["status"] == "compared"]
    for model, rows in results.groupby("model"):
        assert rows["measured"].nunique() > 1 or rows["measured_sd"].max() > 0, model
