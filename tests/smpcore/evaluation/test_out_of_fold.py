"""Out-of-fold scores: no row is scored by a model that has learned from it."""

import numpy as np
import pandas as pd
import pytest

from smpcore import METHODS, Dataset, SmpcoreError, load_dataset, prepare, split
from smpcore.evaluation import folds, out_of_fold

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
