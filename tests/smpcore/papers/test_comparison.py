"""Our own comparison: ranks, sizes, condensed rows, advice, and what is concluded."""

import json
import re
from csv import DictReader
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smpcore import METHODS, SmpcoreError, load_dataset, prepare
from smpcore.baselines import BASELINES
from smpcore.papers import (
    EXPERIMENTS,
    SHIPPED,
    by_name,
    compared,
    path_of,
    shipped_advice,
)
from smpcore.papers.comparison.experiments import (
    OTHERS,
    TABLES,
    CondensedNeighbour,
    size_of_other,
)
from smpcore.papers.experiment import Trial
from smpcore.papers.findings import conclusion, mean_ranks, model_means
from smpcore.papers.protocols import grid_of

#: Accuracies of three models on six data sets; the last one was not measured by all.
VALUES = {
    "a": [0.9, 0.8, 0.9, 0.7, 0.8, np.nan],
    "b": [0.8, 0.8, 0.7, 0.6, 0.7, 0.9],
    "c": [0.6, 0.5, 0.6, 0.5, 0.6, 0.9],
}


def table(values):
    return pd.DataFrame(
        {"data": f"set {i}", "model": name, "measure": "accuracy", "measured": value}
        for name, column in values.items()
        for i, value in enumerate(column)
    )


def test_ranks_of_equal_values_are_shared_and_the_best_is_first():
    ranks = mean_ranks(table(VALUES), "accuracy")
    # By hand: a is first four times and shares once, c is always last.
    assert ranks.n_sets == 5
    assert ranks.mean.to_dict() == {"a": 1.1, "b": 1.9, "c": 3.0}
    columns = [column[:5] for column in VALUES.values()]
    assert ranks.p_value == stats.friedmanchisquare(*columns).pvalue


@pytest.mark.parametrize(("n_models", "q"), [(3, 2.343), (6, 2.850), (10, 3.164)])
def test_the_critical_difference_is_demsars(n_models, q):
    """Table 5 of Demšar: q of the Nemenyi test; CD = q sqrt(k(k+1)/6N)."""
    values = {str(i): [i + n for n in range(5)] for i in range(n_models)}
    ranks = mean_ranks(table(values), "accuracy")
    expected = q * np.sqrt(n_models * (n_models + 1) / (6 * 5))
    assert ranks.critical == pytest.approx(expected, rel=1e-3)


def test_too_few_to_rank_is_said():
    with pytest.raises(SmpcoreError, match="3 models on 2 data sets are too few"):
        mean_ranks(table({n: v[:2] for n, v in VALUES.items()}), "accuracy")


def test_the_conclusion_follows_the_numbers():
    ranks = mean_ranks(table(VALUES), "accuracy")
    text = conclusion(ranks, {"c"})
    assert "On 5 data sets a has the best mean rank, 1.10 of 3" in text
    assert "Clearly behind it: c." in text
    same = mean_ranks(table(dict.fromkeys("abc", VALUES["c"])), "accuracy")
    assert "finds no difference" in conclusion(same, {"c"}) or np.isnan(same.p_value)


def sized(rows):
    """A table of (model, data set, accuracy, bytes)."""
    return pd.concat(
        pd.DataFrame({"model": [model], "data": data, "measured": value, "at": np.nan})
        .assign(measure=measure)
        .reset_index(drop=True)
        for model, data, accuracy, size in rows
        for measure, value in (("accuracy", accuracy), ("bytes", size))
    )


SIZED = sized(
    [
        *(("small", "s", 0.6, 10.0), ("small", "t", 0.8, 1000.0)),
        *(("large", "s", 0.8, 100.0), ("large", "t", 1.0, 10000.0)),
        *(("poor", "s", 0.6, 40.0), ("poor", "t", 0.6, 4000.0)),
        ("large", "of one model only", 0.1, 1.0),
    ]
)


def test_means_are_over_the_sets_that_all_have_and_sizes_by_ratio():
    means = model_means(SIZED, "accuracy", ["bytes"])
    assert means.index.tolist() == ["large", "small", "poor"]
    assert means["accuracy"].tolist() == pytest.approx([0.9, 0.7, 0.6])
    assert means["bytes"].tolist() == pytest.approx([1000, 100, 400])
    assert means["front, bytes"].tolist() == [True, True, False]


def test_a_summary_names_methods_shortly_and_has_a_row_for_each_model():
    """The numbers are made up: what counts is that all parts agree."""
    experiment = by_name(EXPERIMENTS, "comparison")
    names = "SMP: sparse multi-prototype", "RBF-SVM", "Decision tree"
    rows = [
        (name, f"set {n}", 0.9 - 0.1 * place - 0.01 * n, 10.0 * (place + 1))
        for place, name in enumerate(names)
        for n in range(6)
    ]
    experiment = replace(experiment, sizes=("bytes",))
    found = compared(experiment, sized(rows))
    assert found.means.index.tolist() == ["SMP", "RBF-SVM", "Decision tree"]
    assert found.means["mean rank"].tolist() == [1, 2, 3]
    assert "SMP has the best mean rank, 1.00 of 3" in found.conclusion


def test_a_model_of_the_comparison_alone_is_chosen_by_folds():
    """The inner folds decide; no value sees a row of the outer fold's other side."""
    seen = []

    class Watched(OTHERS["Nearest of condensed rows"].make):
        def fit(self, X, y):
            seen.append((self.editing, len(X)))
            return super().fit(X, y)

    name = "Nearest of condensed rows"
    other = OTHERS[name]._replace(make=Watched, grid=grid_of(editing=(0, 9)))
    experiment, iris = by_name(EXPERIMENTS, "comparison"), load_dataset("iris")
    experiment = replace(experiment, models={name: other})
    outcome = experiment.run(Trial("iris", name, 0), iris)
    # Five folds for each value, then twice the whole: the second fit is timed.
    n_train = 120
    assert [n for _, n in seen] == 10 * [96] + 2 * [n_train]
    assert outcome.values == {"editing": seen[-1][0]}
    assert outcome.measures["numbers"] < 0.5 * n_train * 4


def test_what_the_advice_knows_of_a_table_is_what_the_file_says():
    experiment = by_name(EXPERIMENTS, "comparison")
    tables = pd.read_csv(TABLES, index_col="data")
    assert [*tables.index] == [*experiment.data]
    for name, source in experiment.data.items():
        if source.make:
            dataset = source.load()
            train = experiment.divide(dataset, 0).train
            X = prepare(dataset, train).transform(dataset.frame.iloc[train])
            share = np.isin(X, (0, 1)).all(axis=0).mean()
            expected = [*X.shape, len(dataset.classes), share]
            assert tables.loc[name].tolist() == expected


def predicted(X, Y, penalty, x):
    """What ridge regression with an intercept says of x."""
    middle, mean = X.mean(axis=0), Y.mean(axis=0)
    A = (X - middle).T @ (X - middle) + penalty * np.eye(X.shape[1])
    return (x - middle) @ np.linalg.solve(A, (X - middle).T @ (Y - mean)) + mean


def error_without(j, X, Y, penalty):
    found = predicted(np.delete(X, j, 0), np.delete(Y, j, 0), penalty, X[j])
    return ((found - Y[j]) ** 2).sum()


def test_the_advice_on_compare_is_what_the_stored_results_say():
    """All anew from the lines of the file, by another way to leave one out."""
    values = {}
    titles = [method.title for method in METHODS.values()]
    for line in map(json.loads, path_of("comparison", SHIPPED).open()):
        if line["model"] in titles:
            of = values.setdefault(line["data"], {}).setdefault(line["model"], [])
            of.append(line["measures"]["accuracy"])
    with TABLES.open(encoding="utf-8", newline="") as file:
        rows = {
            one.pop("data"): [*map(float, one.values())] for one in DictReader(file)
        }
    inputs = np.array([[*np.log(rows[name][:3]), rows[name][3]] for name in values])
    shares = np.array([[np.mean(one[m]) for m in titles] for one in values.values()])
    regret = []
    for i in range(len(shares)):
        keep = np.arange(len(shares)) != i
        X, Y = inputs[keep], (shares - shares.mean(axis=1, keepdims=True))[keep]
        scaled = (inputs - X.mean(axis=0)) / X.std(axis=0)
        X, n = scaled[keep], range(len(X))
        errors = {
            penalty: sum(error_without(j, X, Y, penalty) for j in n)
            for penalty in np.logspace(-1, 4, 11)
        }
        advised = predicted(X, Y, min(errors, key=errors.get), scaled[i]).argmax()
        best = Y.mean(axis=0).argmax()
        assert titles[best] == "Multi-prototype SVM"
        regret.append(shares[i].max() - shares[i, [advised, best]])
    gain = stats.ttest_rel(*np.transpose(regret)[::-1])
    low, high = gain.confidence_interval(0.95)
    assert low <= 0, "the advice is better: the page should give it"
    numbers = re.findall(r"(?<![\d.])[+-]?\d+\.\d", shipped_advice())
    means = np.mean(regret, axis=0)
    expected = [*means, means[1] - means[0], low, high]
    assert [*map(float, numbers)] == [round(100 * x, 1) for x in expected]
    assert "over 30 tables" in shipped_advice() and len(shares) == 30
    assert "Multi-prototype SVM, always taken, " in shipped_advice()


IRIS = load_dataset("iris")


PREPARATION = prepare(IRIS, np.arange(IRIS.n_samples))


X, Y = PREPARATION.transform(IRIS.frame), IRIS.y


N_FEATURES = X.shape[1]


def fitted(key, **values):
    return BASELINES[key].estimator(values).fit(X, Y)


def size_of(estimator):
    return size_of_other(estimator, PREPARATION)


def test_a_tree_has_a_threshold_for_each_branch_and_a_class_for_each_leaf():
    size = size_of(fitted("tree", max_depth=1))
    # One branch: threshold, column and two children; two leaves with a class each;
    # what one missing column counts as.
    assert size == (3, 4 + 1 + 2 + 2 + 4, 1)


def test_a_forest_adds_up_shares_of_classes():
    forest = fitted("forest", max_depth=1)
    n_trees = len(forest[-1].estimators_)
    size = size_of(forest)
    assert size.numbers == n_trees * (1 + 2 * 2)  # three shares sum to 1
    columns = {tree.tree_.feature[0] for tree in forest[-1].estimators_}
    assert size.columns == len(columns)


def test_boosted_trees_have_a_value_for_each_leaf():
    boosted = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=2)
    size = size_of(make_pipeline(StandardScaler(), boosted).fit(X, Y))
    assert size.numbers == 3 * 3 * 3  # rounds, classes, a branch and two leaves
    assert 1 <= size.columns <= N_FEATURES


def test_linear_weights_that_are_zero_are_not_counted():
    logistic = fitted("l1_logistic", C=0.03)
    weights = np.vstack([one.coef_ for one in logistic[-1].estimators_])
    n = np.count_nonzero(weights)
    assert 0 < n < weights.size
    n_columns = int(weights.any(axis=0).sum())
    assert size_of(logistic) == (n, 4 * (n + 3) + n + 4 * n_columns, n_columns)


def test_neighbours_are_stored_and_condensed_ones_are_fewer():
    near = size_of(fitted("knn"))
    values = 4 * (len(X) * N_FEATURES + 2 * N_FEATURES)
    assert near.n_bytes == values + len(X)
    few = make_pipeline(StandardScaler(), CondensedNeighbour()).fit(X, Y)
    n_rows = len(few[-1].selected_)
    assert size_of(few).n_bytes == 4 * (n_rows + 2) * N_FEATURES + n_rows


MOONS, SIDES = make_moons(200, noise=0.2, random_state=0)


def test_answers_are_those_of_one_neighbour_among_the_selected_rows():
    fitted = CondensedNeighbour().fit(MOONS, SIDES)
    reference = KNeighborsClassifier(1).fit(
        MOONS[fitted.selected_], SIDES[fitted.selected_]
    )
    points = np.random.default_rng(0).normal(size=(300, 2))
    assert (fitted.predict(points) == reference.predict(points)).all()


@pytest.mark.parametrize("editing", [1, 3, 9])
def test_editing_drops_the_rows_that_their_neighbours_get_wrong(editing):
    """Wilson's rule by the definition; what is left is then answered without error."""
    kept = []
    for row in range(len(MOONS)):
        others = np.delete(np.arange(len(MOONS)), row)
        nearest = others[
            np.linalg.norm(MOONS[others] - MOONS[row], axis=1).argsort()[:editing]
        ]
        kept.append((SIDES[nearest] == SIDES[row]).mean() >= 0.5)
    fitted = CondensedNeighbour(editing).fit(MOONS, SIDES)
    assert set(fitted.selected_) <= set(np.flatnonzero(kept))
    assert (fitted.predict(MOONS[kept]) == SIDES[kept]).all()
