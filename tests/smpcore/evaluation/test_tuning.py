"""Tuners against folds, fits and a rule that are written out."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
)

from smpcore import (
    METHODS,
    SMaLLClassifierCV,
    SMPClassifier,
    SMPClassifierCV,
    SmpcoreError,
    SuperSparseRegressor,
    SuperSparseRegressorCV,
    load_dataset,
    split,
)
from smpcore.evaluation import folds, tune, tuning_paths

X, y = (array[::2] for array in load_breast_cancer(return_X_y=True))
GRID = {"mu": (0.1, 0.03, 0.003), "lam": (0.0, 0.03)}


def _chosen(means, errors, sizes):
    """The smallest of those within one standard error of the best."""
    best = np.argmax(means)
    within = np.flatnonzero(means >= means[best] - errors[best])
    return min(within, key=lambda i: (sizes[i], -means[i]))


def test_scores_are_those_of_fits_and_the_smallest_within_an_error_is_taken():
    tuned = SMPClassifierCV(param_grid=GRID).fit(X, y)
    drawn = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    settings = [(mu, lam) for mu in GRID["mu"] for lam in GRID["lam"]]
    table = tuned.tuned_.table.set_index(["mu", "lam"])
    means, errors, sizes = [], [], []
    for mu, lam in settings:
        scores, numbers = [], []
        for train, held_out in drawn:
            fit = SMPClassifier(mu=mu, lam=lam).fit(X[train], y[train])
            scores.append(
                balanced_accuracy_score(y[held_out], fit.predict(X[held_out]))
            )
            numbers.append(fit.model_.n_nonzeros)
        # Nadeau and Bengio: folds share training rows.
        spread = np.var(scores, ddof=1) * (1 / 5 + len(held_out) / len(train))
        means.append(np.mean(scores))
        errors.append(np.sqrt(spread))
        sizes.append(np.mean(numbers))
        line = table.loc[(mu, lam)]
        shown = line["mean"], line["error"]
        # Fits agree to `tol`: a row at the border may fall on the other side of it.
        assert shown == pytest.approx((means[-1], errors[-1]), abs=2 / len(y))
        assert line["numbers"] == pytest.approx(sizes[-1], rel=0.05)
    mu, lam = settings[_chosen(np.array(means), errors, sizes)]
    assert tuned.best_params_ == {"mu": mu, "lam": lam}
    best = settings[int(np.argmax(means))]
    assert tuned.tuned_.best["mu"] == best[0]
    assert table["chosen"].sum() == 1 and table["chosen"][mu, lam]
    alone = SMPClassifier(mu=mu, lam=lam).fit(X, y)
    np.testing.assert_array_equal(tuned.predict(X), alone.predict(X))
    assert tuned.model_ is tuned.best_estimator_.model_


def test_the_best_may_be_asked_for_and_threads_change_nothing():
    one = SMPClassifierCV(param_grid=GRID, rule="best").fit(X, y)
    assert one.best_params_ == one.tuned_.best
    assert one.tuned_.table["mean"].iloc[0] == one.tuned_.table["mean"].max()
    two = SMPClassifierCV(param_grid=GRID, rule="best", n_jobs=2).fit(X, y)
    assert one.tuned_.table.equals(two.tuned_.table)


def test_of_a_regression_the_error_is_the_score():
    rows, numbers = load_diabetes(return_X_y=True)
    grid = {"n_prototypes": (2, 8), "lam": (1e-2,)}
    drawn = list(KFold(3).split(rows))
    fixed = SuperSparseRegressor(start="kmeans")
    tuned = SuperSparseRegressorCV(fixed, param_grid=grid, cv=drawn).fit(rows, numbers)
    table = tuned.tuned_.table.set_index("n_prototypes")["mean"]
    assert list(table) == sorted(table) and tuned.tuned_.score == "mae"
    errors = []
    for train, held_out in drawn:
        fit = SuperSparseRegressor(8, lam=1e-2, start="kmeans")
        fit.fit(rows[train], numbers[train])
        errors.append(
            mean_absolute_error(numbers[held_out], fit.predict(rows[held_out]))
        )
    assert table[8] == pytest.approx(np.mean(errors), rel=0.02)
    assert tuned.best_estimator_.start == "kmeans"


def test_groups_are_not_parted_and_a_fold_is_later_than_what_it_is_predicted_from():
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(60, 2))
    who = np.repeat(np.arange(12), 5)
    kind = (who % 2 == 1) ^ (draw.random(60) < 0.2)
    rows[:, 0] += 10 * who  # a fold without the person tells nothing of it
    alone = SMPClassifierCV(param_grid={"lam": (0.0,)}, n_points=3)
    apart = alone.fit(rows, kind, groups=who).tuned_.table["mean"].max()
    drawn = GroupKFold(5).split(rows, kind, who)
    given = SMPClassifierCV(alone.estimator, param_grid={"lam": (0.0,)}, cv=drawn)
    given.fit(rows, kind)
    assert apart < alone.fit(rows, kind).tuned_.table["mean"].max() + 0.2
    late = alone.fit(rows, kind, times=np.arange(60)[::-1]).tuned_.table
    assert set(late["folds"]) == {5}


def test_it_can_be_nested():
    tuner = SMaLLClassifierCV(param_grid={"k": (1, 2)}, cv=3)
    scores = cross_val_score(tuner, X, y, cv=3)
    assert scores.shape == (3,) and (scores > 0.8).all()


@pytest.mark.parametrize("key", METHODS)
def test_every_method_has_settings_to_try_on_a_table(key):
    dataset = load_dataset("iris")
    rows = split(dataset).train[::2]
    paths = tuning_paths(key, dataset, rows, n_points=3)
    names = {name for path in paths for name in path.values}
    assert set(METHODS[key].tuned) <= names and 1 < len(paths) <= 9
    progress = np.zeros(1)
    tuned = tune(dataset, folds(dataset, rows, 3)[:3], paths, progress=progress)
    assert progress[0] == 1 and not tuned.failed
    table, line = tuned.table, tuned.table[tuned.table["chosen"]].iloc[0]
    assert table["mean"].is_monotonic_decreasing and line["within"]
    assert (table["numbers"][table["within"]] >= line["numbers"]).all()
    assert {name: line[name] for name in tuned.values} == tuned.values


def test_a_control_that_means_nothing_there_is_not_varied():
    dataset = load_dataset("iris")
    paths = tuning_paths("smp", dataset, split(dataset).train, {"start": "each"})
    assert {path.values["n_prototypes"] for path in paths} == {2}


def test_what_cannot_be_is_a_sentence():
    dataset = load_dataset("iris")
    rows = split(dataset).train
    paths = tuning_paths("smp", dataset, rows, n_points=2)
    drawn = folds(dataset, rows, 2)
    with pytest.raises(SmpcoreError, match="rule='least' should be one of smallest"):
        tune(dataset, drawn, paths, rule="least")
    with pytest.raises(SmpcoreError, match="was stopped; start it again"):
        tune(dataset, drawn, paths, stop=np.ones(1, np.int64))
    with pytest.raises(SmpcoreError, match="at least 2 rows"):
        SuperSparseRegressorCV().fit(X[:1], y[:1])
