"""Intervals of dependent rows: by hand, by their level; as ever without groups."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from smpcore import load_dataset
from smpcore.datasets import make_dataset
from smpcore.evaluation import RegressionScores, clusters, clusters_like, wilson
from smpcore.evaluation.scores import count_answers, effective_rows

CLASSES = np.array(["no", "yes"])


def interval(hits, groups=None):
    truth = np.zeros(len(hits), dtype=int)
    return count_answers(truth, 1 - hits.astype(int), CLASSES, groups).interval


def test_where_all_are_right_a_group_counts_as_a_row():
    groups = np.repeat(np.arange(20), 4)
    few = (1.959963984540054 / t.ppf(0.975, 19)) ** 2
    assert effective_rows(np.ones(80, bool), groups) == pytest.approx(20 * few)
    assert interval(np.ones(80, bool), groups)[0] < 0.85 < 0.95 < wilson(80, 80)[0]


def test_one_group_tells_nothing():
    hits, groups = np.arange(9) > 2, np.zeros(9, dtype=int)
    assert interval(hits, groups) == (0.0, 1.0)
    scores = RegressionScores(np.zeros(9), np.arange(9.0), groups)
    assert np.isnan(scores.interval).all()


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
