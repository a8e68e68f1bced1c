"""Sizes of models: counted by hand on models small enough to count."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smpcore import METHODS, load_dataset, prepare
from smpcore.baselines import BASELINES
from smpcore.codegen import compile_model
from smpcore.papers.comparison.experiments import (
    CondensedNeighbour,
    size_of_other,
    size_of_prototypes,
)

IRIS = load_dataset("iris")
PREPARATION = prepare(IRIS, np.arange(IRIS.n_samples))
X, Y = PREPARATION.transform(IRIS.frame), IRIS.y
N_FEATURES = X.shape[1]


def fitted(key, **values):
    return BASELINES[key].estimator(values).fit(X, Y)


def sized(estimator):
    return size_of_other(estimator, PREPARATION)


@pytest.mark.parametrize("key", METHODS)
def test_the_bytes_of_a_method_are_those_of_its_tables(key):
    method = METHODS[key]
    estimator = method.estimator(method.defaults("classification"), "classification")
    model = estimator.fit(X, Y).model_
    size = size_of_prototypes(model, PREPARATION)
    assert size.numbers == model.n_nonzeros
    assert size.n_bytes == compile_model(model, PREPARATION).table_bytes


def test_a_tree_has_a_threshold_for_each_branch_and_a_class_for_each_leaf():
    size = sized(fitted("tree", max_depth=1))
    # One branch: threshold, column and two children; two leaves with a class each;
    # what one missing column counts as.
    assert size == (3, 4 + 1 + 2 + 2 + 4, 1)


def test_a_forest_adds_up_shares_of_classes():
    forest = fitted("forest", max_depth=1)
    n_trees = len(forest[-1].estimators_)
    size = sized(forest)
    assert size.numbers == n_trees * (1 + 2 * 2)  # three shares sum to 1
    columns = {tree.tree_.feature[0] for tree in forest[-1].estimators_}
    assert size.columns == len(columns)


def test_boosted_trees_have_a_value_for_each_leaf():
    boosted = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=2)
    size = sized(make_pipeline(StandardScaler(), boosted).fit(X, Y))
    assert size.numbers == 3 * 3 * 3  # rounds, classes, a branch and two leaves
    assert 1 <= size.columns <= N_FEATURES


def test_linear_weights_that_are_zero_are_not_counted():
    logistic = fitted("l1_logistic", C=0.03)
    weights = np.vstack([one.coef_ for one in logistic[-1].estimators_])
    n = np.count_nonzero(weights)
    assert 0 < n < weights.size
    n_columns = int(weights.any(axis=0).sum())
    assert sized(logistic) == (n, 4 * (n + 3) + n + 4 * n_columns, n_columns)


def test_neighbours_are_stored_and_condensed_ones_are_fewer():
    near = sized(fitted("knn"))
    values = 4 * (len(X) * N_FEATURES + 2 * N_FEATURES)
    assert near.n_bytes == values + len(X)
    few = make_pipeline(StandardScaler(), CondensedNeighbour()).fit(X, Y)
    n_rows = len(few[-1].selected_)
    assert sized(few).n_bytes == 4 * (n_rows + 2) * N_FEATURES + n_rows
