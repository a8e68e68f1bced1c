"""Folds keep shares and groups; no row is scored by a model that learned from it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore import METHODS, Dataset, SmpcoreError, load_dataset, prepare, split
from smpcore.evaluation import clusters, folds, out_of_fold


def test_each_training_row_is_held_out_once_and_no_other_row_appears():
    dataset = load_dataset("breast_cancer")
    rows = split(dataset).train
    drawn = folds(dataset, rows, 5)
    held_out = np.concatenate([fold.held_out for fold in drawn])
    np.testing.assert_array_equal(np.sort(held_out), rows)
    whole = dataset.y_encoded[rows].mean()
    for fold in drawn:
        both = np.concatenate([fold.train, fold.held_out])
        np.testing.assert_array_equal(np.sort(both), rows)
        assert abs(dataset.y_encoded[fold.held_out].mean() - whole) < 0.02


def _dataset(y, task="classification", **columns) -> Dataset:
    """Rows with a feature, a target, and columns that are called as their roles."""
    frame = pd.DataFrame({"x": np.arange(len(y)) * 0.5, "y": y, **columns})
    roles = {name: name for name in columns} | {"x": "feature", "y": "target"}
    return Dataset(frame=frame, roles=roles, task=task, name="made")


def _grouped(n_groups: int) -> Dataset:
    return _dataset(["a", "b"] * 30, group=np.arange(60) % n_groups)


@pytest.mark.parametrize(
    ("n_groups", "n_folds", "words"),
    [
        *((3, 1, "at least 2"), (3, 4, "at most 3")),
        (1, 5, r"at least 2 groups .*, there is 1; give"),
    ],
)
def test_impossible_numbers_are_refused(n_groups, n_folds, words):
    with pytest.raises(SmpcoreError, match=words):
        folds(_grouped(n_groups), np.arange(60), n_folds)


def _timed(when, **groups) -> Dataset:
    return _dataset(np.arange(len(when)) ** 2.0, "regression", time=when, **groups)


@settings(deadline=None, max_examples=100)
@given(
    rows=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), min_size=3),
    n_folds=st.integers(2, 6),
    grouped=st.booleans(),
)
def test_in_time_every_fold_learns_from_the_past_only(rows, n_folds, grouped):
    when, who = map(list, zip(*rows, strict=True))
    dataset = _timed(when, **({"group": who} if grouped else {}))
    chosen = np.arange(0, len(rows), 1 + len(rows) // 40)
    try:
        drawn = folds(dataset, chosen, n_folds)
    except SmpcoreError as problem:
        assert "should be below" in str(problem)
        assert grouped or len(np.unique(dataset.times[chosen])) <= n_folds
        return
    assert len(drawn) == n_folds
    first = drawn[0].train
    held_out = np.concatenate([fold.held_out for fold in drawn])
    np.testing.assert_array_equal(np.sort(np.append(first, held_out)), chosen)
    for fold in drawn:
        assert fold.train.size and fold.held_out.size
        past, following = dataset.times[fold.train], dataset.times[fold.held_out]
        assert past.max() < following.min()
        if grouped:
            own = dataset.groups
            assert not np.intersect1d(own[fold.train], own[fold.held_out]).size


def test_the_first_block_needs_two_classes():
    dataset = _dataset(["a"] * 12 + ["b"] * 18, time=np.arange(30))
    with pytest.raises(SmpcoreError, match="first fold one class to learn from, 'a'"):
        folds(dataset, np.arange(30), 5)


def test_neighbours_in_time_are_a_cluster():
    order = np.random.default_rng(0).permutation(64)
    found = clusters(_timed(order), np.arange(64))
    np.testing.assert_array_equal(found, order // 4)
    assert clusters(_timed([1] * 9), np.arange(9)).tolist() == [0] * 9
    assert clusters(load_dataset("iris"), np.arange(9)) is None
    grouped = _grouped(7)
    np.testing.assert_array_equal(clusters(grouped, np.arange(60)), grouped.groups)


def test_a_class_smaller_than_the_folds_is_spread():
    for fold in folds(_dataset(["a"] * 27 + ["b"] * 3), np.arange(30), 5):
        assert fold.held_out.size == 6


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
    for fold in folds(dataset, parts.train):
        assert not {*dataset.groups[fold.train]} & {*dataset.groups[fold.held_out]}
    fold = folds(dataset, parts.train)[0]
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
    found = out_of_fold(METHODS[FIRST].estimator({}), dataset, parts)
    missing = np.isnan(found).all(axis=1)
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
