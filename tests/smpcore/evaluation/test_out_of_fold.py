"""Out-of-fold scores: no row is scored by a model that has learned from it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from smpcore import METHODS, Dataset, SmpcoreError, load_dataset, prepare, split
from smpcore.evaluation import folds, out_of_fold, rates_at, wilson

FIRST = next(iter(METHODS))


def _table(role: str) -> Dataset:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=240), "kind": ["u", "v", "w"] * 80})
    frame["y"] = np.where(frame["x"] + rng.normal(size=240) > 0, "a", "b")
    frame["extra"] = np.arange(240) // 8
    roles = {"x": "feature", "kind": "feature", "y": "target", "extra": role}
    return Dataset(frame=frame, roles=roles, task="classification", name="table")


def test_rows_are_scored_by_models_of_the_other_groups_with_their_own_preparation():
    dataset = _table("group")
    parts = split(dataset)
    found = out_of_fold(METHODS[FIRST].estimator({}), dataset, parts)
    assert found.shape == (parts.train.size, 2) and np.isfinite(found).all()
    fold = folds(dataset, parts.train)[0]
    assert not {*dataset.groups[fold.train]} & {*dataset.groups[fold.held_out]}
    preparation = prepare(dataset, fold.train)
    X = preparation.transform(dataset.frame)
    row = METHODS[FIRST]
    estimator = row.estimator(row.defaults(dataset.task), dataset.task)
    estimator.fit(X[fold.train], dataset.y[fold.train])
    np.testing.assert_allclose(
        found[np.isin(parts.train, fold.held_out)],
        estimator.model_.scores(X[fold.held_out]),
        rtol=1e-9,
    )


def test_other_rows_than_those_of_training_change_nothing():
    dataset = _table("group")
    parts = split(dataset)
    frame = dataset.frame.copy()
    frame.loc[parts.validation, "x"] = 1e6
    other = dataclasses.replace(dataset, frame=frame)
    found = [
        out_of_fold(METHODS[FIRST].estimator({}), each, parts)
        for each in (dataset, other)
    ]
    np.testing.assert_array_equal(*found)


def test_the_earliest_rows_of_a_time_column_have_no_score():
    dataset = _table("time")
    parts = split(dataset)
    missing = np.isnan(out_of_fold(METHODS[FIRST].estimator({}), dataset, parts)).all(
        axis=1
    )
    times = dataset.times[parts.train]
    assert missing.any() and times[missing].max() < times[~missing].min()


def test_a_regression_has_one_column_and_a_stop_is_said():
    dataset = load_dataset("diabetes")
    parts = split(dataset)
    method = next(m for m in METHODS.values() if dataset.task in m.estimators)
    estimator = method.estimator({}, dataset.task)
    with pytest.raises(SmpcoreError, match="stopped"):
        out_of_fold(estimator, dataset, parts, stop=np.ones(1, dtype=np.int64))
    progress = np.zeros(1)
    found = out_of_fold(estimator, dataset, parts, n_folds=2, progress=progress)
    assert found.shape == (parts.train.size, 1) and progress[0] == 1.0
    truth = dataset.y[parts.train]
    assert np.corrcoef(found[:, 0], truth)[0, 1] > 0.3


def test_rates_have_wilsons_interval_and_fewer_rows_where_they_depend():
    margin = np.array([2.0, 1.0, -1.0, 0.1, -2.0, -3.0, 0.5])
    truth = np.array([True, True, True, True, False, False, False])

    def counted(rates, name):
        return (rates[name].hits, rates[name].n, *rates[name].interval)

    plain = rates_at(margin, truth)
    assert counted(plain, "sensitivity") == (3, 4, *wilson(3, 4))
    assert counted(plain, "specificity") == (2, 3, *wilson(2, 3))
    banded = rates_at(margin, truth, 0.0, 0.3)
    assert counted(banded, "sensitivity") == (2, 3, *wilson(2, 3))
    grouped = rates_at(margin, truth, clusters=np.array([0, 0, 1, 1, 2, 2, 3]))
    low, high = plain["sensitivity"].interval
    wider = grouped["sensitivity"].interval
    assert wider[0] < low and wider[1] > high
    none = rates_at(-margin, truth, 9.0, 99.0)
    assert counted(none, "sensitivity") == (0, 0, 0.0, 1.0)
