"""Candidates are fitted alike, and differences are tested on the same rows."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import cross_val_score

from smpcore import BASELINES, METHODS, SmpcoreError, load_dataset, split
from smpcore.evaluation import (
    baseline_paths,
    fit_compared,
    folds,
    holm,
    paired_difference,
    sweep,
)
from smpcore.evaluation.differences import holm_levels


@pytest.fixture(scope="module")
def iris():
    dataset = load_dataset("iris")
    return dataset, split(dataset).train


@pytest.mark.parametrize("key", [*METHODS, *BASELINES])
def test_everyone_who_can_takes_part(key, iris):
    dataset, rows = iris
    row = METHODS.get(key) or BASELINES[key]
    tasks = row.estimators if key in METHODS else row.tasks
    if "classification" not in tasks:
        dataset = load_dataset("diabetes")
        rows = split(dataset).train
    candidate = fit_compared(key, dataset, rows)
    X = dataset.frame[dataset.feature_columns].to_numpy(float)
    answers = candidate.answers(X)
    if dataset.task == "classification":
        assert (answers == dataset.y).mean() > 0.8
    else:
        error = np.abs(answers - dataset.y).mean()
        assert error < np.abs(dataset.y - np.median(dataset.y)).mean()
    assert candidate.sizes["n_features"] <= X.shape[1]
    assert not candidate.searched


def test_of_many_rows_a_baseline_has_a_sample_and_says_how_many(iris, monkeypatch):
    dataset, rows = iris
    few = replace(BASELINES["knn"], most_rows=30)
    monkeypatch.setitem(BASELINES, "knn", few)
    found = fit_compared("knn", dataset, rows, drawn=folds(dataset, rows))
    chosen = split(dataset).thinned(dataset.y, 30, True).train
    assert found.n_rows == len(chosen) <= 33
    assert fit_compared("tree", dataset, rows).n_rows == len(rows)
    X = dataset.frame[dataset.feature_columns].to_numpy(float)
    plain = few.estimator(found.settings).fit(X[chosen], dataset.y[chosen])
    np.testing.assert_array_equal(found.answers(X), plain.predict(X))
    assert np.bincount(np.unique(dataset.y[chosen], return_inverse=True)[1]).min() >= 9
    assert fit_compared("smp", dataset, rows).n_rows == len(rows)


def test_a_search_takes_the_best_of_the_grid_on_these_folds(iris):
    dataset, rows = iris
    drawn = folds(dataset, rows)
    found = fit_compared("knn", dataset, rows, drawn=drawn)
    X = dataset.frame[dataset.feature_columns].to_numpy(float)
    both = [(fold.train, fold.held_out) for fold in drawn]
    means = {
        n: cross_val_score(
            BASELINES["knn"].estimator({"n_neighbors": n}),
            X,
            dataset.y,
            cv=both,
            scoring="balanced_accuracy",
        ).mean()
        for n in BASELINES["knn"].grid["n_neighbors"]
    }
    assert means[found.settings["n_neighbors"]] == max(means.values())
    assert found.searched


def test_a_stopped_search_says_so(iris):
    dataset, rows = iris
    stop = np.ones(1, dtype=np.int64)
    with pytest.raises(SmpcoreError, match="stopped"):
        fit_compared("tree", dataset, rows, drawn=folds(dataset, rows), stop=stop)


def test_who_cannot_learn_says_so():
    dataset = load_dataset("iris")
    with pytest.raises(SmpcoreError, match="Linear SVM cannot learn this"):
        fit_compared("linear_svm", dataset, np.arange(50))


def test_more_neighbours_than_rows_are_refused_on_folds_too():
    dataset, rows = load_dataset("iris"), np.arange(0, 150, 30)
    with pytest.raises(
        SmpcoreError, match="15 nearest neighbours cannot answer from 5"
    ):
        fit_compared("knn", dataset, rows, {"n_neighbors": 15})
    (path,) = (p for p in baseline_paths("classification") if p.key == "knn")
    (fit, *_) = sweep(dataset, folds(dataset, rows, 5), [path])
    assert fit["status"].startswith("failed: 5 nearest neighbours cannot answer from 4")


def test_hits_are_compared_as_mcnemar_does():
    first, second = np.zeros(100), np.zeros(100)
    first[:5], second[3:18] = 1, 1
    found = paired_difference(first, second)
    assert found.mean == pytest.approx(0.10)
    assert found.p_value == stats.binomtest(13, 16).pvalue
    # Clopper and Pearson: of 16 rows on which one alone is right, 13 are the first's.
    share = stats.beta.ppf([0.025, 0.975], [13, 14], [4, 3])
    assert found.low == pytest.approx((2 * share[0] - 1) * 16 / 100)
    # The other end is Agresti's and Min's: half a row more in each of the four cells.
    b, c, n = 13.5, 3.5, 102.0
    error = np.sqrt(b + c - (b - c) ** 2 / n) / n
    assert found.high == pytest.approx((b - c) / n + 1.959963984540054 * error)
    assert paired_difference(first, first).p_value == 1.0
    alike = paired_difference(np.zeros(20), np.zeros(20))
    assert alike.low < 0 < alike.high  # twenty rows do not show that two are equal


def test_errors_are_compared_by_a_paired_t():
    rng = np.random.default_rng(0)
    first, second = rng.random(40), rng.random(40) + 0.1
    found = paired_difference(first, second)
    exact = stats.ttest_rel(second, first)
    ends = exact.confidence_interval(0.95)
    assert found.p_value == pytest.approx(exact.pvalue)
    np.testing.assert_allclose([found.low, found.high], [ends.low, ends.high])


def test_rows_of_a_group_count_once():
    rng = np.random.default_rng(1)
    first, second = rng.random(10), rng.random(10) + 0.3
    groups = np.repeat(np.arange(10), 50)
    many = paired_difference(np.repeat(first, 50), np.repeat(second, 50), groups)
    once = paired_difference(first, second)
    assert many.p_value == pytest.approx(once.p_value)
    assert many.high == pytest.approx(once.high)


def test_an_interval_excludes_no_difference_exactly_where_the_test_says_different():
    random = np.random.default_rng(0)
    n_different = 0
    for case in range(150):
        groups = np.repeat(np.arange(20), 3) if case % 3 == 0 else None
        draw = random.random if case % 3 == 1 else partial(random.binomial, 1, 0.4)
        to = draw(size=60)
        share = random.random(4)[:, None]
        rivals = np.where(random.random((4, 60)) < share, draw(size=(4, 60)) * 0.3, to)
        rivals = rivals if case % 3 == 1 else np.round(rivals)
        p_values = [paired_difference(one, to, groups).p_value for one in rivals]
        levels, adjusted = holm_levels(p_values), holm(p_values)
        for one, level, p_value in zip(rivals, levels, adjusted, strict=True):
            found = paired_difference(one, to, groups, level)
            assert found.low <= found.mean <= found.high
            excluded = found.low > 0 or found.high < 0
            assert excluded == (p_value < 0.05), (case, found, p_value)
            n_different += excluded
    assert 50 < n_different < 500


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.5, 0.9]), [1.0, 1.0])
    assert holm([]).size == 0


def test_the_interval_covers_a_difference_that_there_is():
    # At 60 rows 93 to 97 % are measured; fixed discordant rows alone give 52 to 97 %.
    rng = np.random.default_rng(4)
    for only_second, only_first in [(0.1, 0.1), (0.2, 0.02), (0.3, 0.0)]:
        covered = 0
        for _ in range(400):
            drawn = rng.random(60)
            first = (drawn < only_second).astype(float)
            second = (drawn > 1 - only_first).astype(float)
            found = paired_difference(first, second)
            covered += found.low <= only_first - only_second <= found.high
        assert covered / 400 >= 0.90
