"""Nested cross-validation of the five methods and of what they are held against.

**Nearest neighbour with prototype selection** is edited, then condensed training rows.
Wilson: Asymptotic Properties of Nearest Neighbor Rules Using Edited Data. IEEE
Transactions on Systems, Man, and Cybernetics 2, 1972. Hart: The Condensed Nearest
Neighbor Rule. IEEE Transactions on Information Theory 14, 1968.

**Sizes** are counted alike for prototypes, trees and neighbours. Numbers are what a
model's answers are made from: weights, places and coefficients that are not zero, a
threshold for each branch, a value for each leaf and class. Biases, and what
standardises a feature, are not counted. Bytes are those of the tables of a program: 32
bits for each number, for each bias, for what standardises a feature and what a missing
value counts as; whole numbers (the column of a weight, the child of a branch, a class)
in as few bytes as they need.

**Log-loss** is that of a model's own probabilities. Scores that are margins, those of
the methods and of the RBF-SVM, are calibrated as on Performance, by five folds of the
training rows. A probability below 1 / (training rows + 2) counts as that: no model can
know of a rarer error. GMLVQ has no scores.

**Whether to advise a method** by what a table is like is learned from the comparison.
The rule was fixed before any of its regrets was computed. Candidates are the five
methods. A ridge regression with intercept, from the logarithms of training rows,
columns and classes and from the share of 0/1 columns, all standardised, gives each
method's accuracy above the mean of the five; its penalty is chosen by leave-one-out
among 0.1 to 10,000, where a large one gives the means over tables. The method with the
largest value is advised. Each table is left out in turn. Regret is how far the accuracy
of the advised method is below that of the best one there. Advice is shown only if its
mean regret is below that of the method that is best on average over the other tables,
with a 95 % interval of the paired difference that is above 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from smpcore.baselines import BASELINES
from smpcore.codegen import compile_model
from smpcore.datasets import Dataset, Preparation, prepare
from smpcore.errors import ExportError, SmpcoreError
from smpcore.evaluation import (
    Fold,
    calibrate,
    class_numbers,
    fit_compared,
    folds,
    score_answers,
)
from smpcore.evaluation.calibrate import log_loss
from smpcore.evaluation.differences import paired_difference
from smpcore.evaluation.sweep import linear_weights
from smpcore.methods import METHODS
from smpcore.model import PrototypeModel
from smpcore.papers.comparison.rivals import RIVALS
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.findings import table_of
from smpcore.papers.protocols import Fit, Halves, Values, grid_of, prepared
from smpcore.papers.sources import bundled
from smpcore.papers.table_1 import TABLE_1
from smpcore.papers.trial_files import SHIPPED, Place


class CondensedNeighbour(KNeighborsClassifier):
    """Answer with the class of the nearest of few training rows."""

    def __init__(self, editing: int = 3, random_state: int = 0) -> None:
        super().__init__(1, algorithm="brute")
        self.editing, self.random_state = editing, random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Edit, then condense."""
        X, y = np.asarray(X), np.asarray(y)
        codes = np.unique(y, return_inverse=True)[1]
        distances = cdist(X, X, "sqeuclidean")
        rows = np.arange(len(X))
        if self.editing:
            rows = _edited(distances, codes, self.editing)
        rows = np.random.default_rng(self.random_state).permutation(rows)
        self.selected_ = _condensed(distances, codes, rows)
        return super().fit(X[self.selected_], y[self.selected_])


def _edited(distances: np.ndarray, codes: np.ndarray, n_neighbours: int) -> np.ndarray:
    """Rows whose nearest others are mostly of their class; each class keeps one."""
    others = distances + np.diag(np.full(len(distances), np.inf))
    nearest = others.argsort(axis=1, kind="stable")[:, :n_neighbours]
    share = (codes[nearest] == codes[:, None]).mean(axis=1)
    remains = share >= 0.5
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        remains[members[share[members].argmax()]] = True
    return np.flatnonzero(remains)


def _condensed(
    distances: np.ndarray, codes: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Begin with a row of each class; add every row that these get wrong."""
    first = np.unique(codes[rows], return_index=True)[1]
    selected = rows[first].tolist()
    while True:
        n_before = len(selected)
        for row in rows:
            nearest = selected[int(distances[row, selected].argmin())]
            if codes[nearest] != codes[row] and row not in selected:
                selected.append(int(row))
        if len(selected) == n_before:
            return np.array(selected)


#: Bytes of a number.
_FLOAT = 4


class Size(NamedTuple):
    """Size of a fitted model."""

    numbers: float
    n_bytes: float
    columns: float


def size_of_prototypes(model: PrototypeModel, preparation: Preparation) -> Size:
    """Count what a model of this program is made of."""
    columns = int(preparation.used_columns(model.support).sum())
    try:
        n_bytes = compile_model(model, preparation).table_bytes
    except ExportError:
        n_bytes = np.nan
    return Size(model.n_nonzeros, n_bytes, columns)


def size_of_other(pipeline: Pipeline, preparation: Preparation) -> Size:
    """Count what any other model is made of."""
    last = pipeline[-1]
    counted = next(count for has, count in _COUNTS if has(last))
    numbers, n_bytes, used = counted(last, preparation.n_features)
    n_bytes += _FLOAT * np.count_nonzero(used)  # what missing values count as
    return Size(numbers, n_bytes, int(preparation.used_columns(used).sum()))


#: Numbers, bytes, and which features are used.
_Count = tuple[int, int, np.ndarray]


def _index_bytes(largest: int) -> int:
    """Bytes of whole numbers up to the largest."""
    return np.min_scalar_type(largest).itemsize


def _linear(last: Any, n_features: int) -> _Count:
    weights = linear_weights(last)
    numbers = np.count_nonzero(weights)
    places = numbers * _index_bytes(n_features)
    return numbers, _FLOAT * (numbers + len(weights)) + places, weights.any(axis=0)


def _cases(vectors: np.ndarray, more: np.ndarray, n_other: int) -> _Count:
    """Vectors that an input is compared with, and numbers that weigh comparisons."""
    used = vectors.any(axis=0)
    numbers = np.count_nonzero(vectors) + np.count_nonzero(more)
    floats = vectors[:, used].size + more.size + n_other
    return numbers, _FLOAT * floats + len(vectors), used


def _svm(last: Any, n_features: int) -> _Count:
    n_other = len(last.intercept_) + n_features  # biases and scales
    return _cases(last.support_vectors_, last.dual_coef_, n_other)


def _neighbours(last: Any, n_features: int) -> _Count:
    return _cases(last._fit_X, np.empty(0), n_features)


def _lvq(last: Any, n_features: int) -> _Count:
    return _cases(last.Z_, last.omega_, 0)  # the scales are in the matrix


def _trees(
    trees: Iterable[tuple[np.ndarray, np.ndarray]], n_features: int, leaf: int
) -> _Count:
    """Trees as (feature of each node, whether it is a leaf); values of a leaf."""
    numbers, n_bytes, used = 0, 0, np.zeros(n_features, dtype=bool)
    for feature, is_leaf in trees:
        n_leaves = int(is_leaf.sum())
        n_branches = len(is_leaf) - n_leaves
        places = _index_bytes(n_features) + 2 * _index_bytes(len(is_leaf))
        numbers += n_branches + max(leaf, 1) * n_leaves
        n_bytes += n_branches * (_FLOAT + places)
        n_bytes += n_leaves * (_FLOAT * leaf if leaf else 1)
        used[feature[~is_leaf]] = True
    return numbers, n_bytes, used


def _grown(last: Any, n_features: int) -> _Count:
    """A tree, whose leaves have a class, or a forest that adds up shares of classes."""
    parts = getattr(last, "estimators_", None)
    leaf = 0 if parts is None else len(last.classes_) - 1
    nodes = [part.tree_ for part in parts or [last]]
    trees = ((tree.feature, tree.children_left < 0) for tree in nodes)
    return _trees(trees, n_features, leaf)


def _boosted(last: Any, n_features: int) -> _Count:
    """Trees of histogram gradient boosting, which has no public name for them."""
    nodes = [tree.nodes for trees in last._predictors for tree in trees]
    trees = ((one["feature_idx"], one["is_leaf"].astype(bool)) for one in nodes)
    return _trees(trees, n_features, 1)


def _has(name: str) -> Callable[[Any], bool]:
    return lambda last: hasattr(last, name)


_COUNTS: tuple[tuple[Callable[[Any], bool], Callable[[Any, int], _Count]], ...] = (
    (lambda last: isinstance(last, SVC), _svm),
    (_has("_predictors"), _boosted),
    (_has("omega_"), _lvq),
    (_has("_fit_X"), _neighbours),
    (lambda last: linear_weights(last) is not None, _linear),
    (_has("feature_importances_"), _grown),
)


#: Outer folds; inner ones choose among `smpcore.evaluation.BUDGET` settings each.
N_FOLDS = 5
_BASELINES = ("l1_logistic", "rbf_svm", "tree", "forest", "knn", "gmlvq")
_BUNDLED = ("iris", "wine", "breast_cancer", "moons", "circles", "xor", "spirals")


#: Name in the experiment -> a model that is neither a method nor one of `BASELINES`.
OTHERS = {
    "Histogram gradient boosting": Fit(
        partial(HistGradientBoostingClassifier, random_state=0),
        grid_of(min_samples_leaf=(1, 2, 4, 8, 14, 20)),
    ),
    "Nearest of condensed rows": Fit(
        CondensedNeighbour, grid_of(editing=(0, 1, 3, 5, 9, 15))
    ),
}
#: Name in the experiment -> key of a method or baseline.
KEYS = {METHODS[key].title: key for key in METHODS} | {
    BASELINES[key].title: key for key in _BASELINES
}


def fit_other(
    other: Fit, rows: Halves, drawn: Sequence[Halves]
) -> tuple[Any, dict[str, Any]]:
    """Fit at the best of its settings, as `fit_compared` does for the usual models."""

    def fitted(values: Values, rows: Halves) -> Any:
        estimator = make_pipeline(StandardScaler(), other.make(**values))
        return estimator.fit(rows.X, rows.y)

    def total(values: Values) -> float:
        return sum(r.test_accuracy(fitted(values, r)) for r in drawn)

    values = max(other.grid, key=total)
    return fitted(values, rows), dict(values)


def _outer_fold(dataset: Dataset, repetition: int) -> Fold:
    return folds(dataset, np.arange(dataset.n_samples), N_FOLDS)[repetition]


def compare_models(case: Case) -> Outcome:
    """Fit a model on an outer fold's training rows and score it on the others.

    Its setting is the best of six by five folds of the training rows.
    """
    dataset, outer, model = case.dataset, case.rows, case.declared
    inner = folds(dataset, outer.train, N_FOLDS)
    inner = [fold for fold in inner if fold.repeat == 0]
    rows = prepared(dataset, outer.train, outer.held_out)
    if isinstance(model, Fit):
        drawn = [prepared(dataset, fold.train, fold.held_out) for fold in inner]
        estimator, values = fit_other(model, rows, drawn)
    else:
        compared = fit_compared(model, dataset, outer.train, drawn=inner)
        estimator, values = compared.estimator, dict(compared.settings)
    answers = estimator.predict(rows.X_test)
    scores = score_answers(rows.y_test, answers, dataset.classes)
    method = "" if isinstance(model, Fit) or model not in METHODS else model
    preparation = prepare(dataset, outer.train)
    if method:
        size = size_of_prototypes(estimator.model_, preparation)
    else:
        size = size_of_other(estimator, preparation)
    measures = {
        "accuracy": scores.accuracy,
        "balanced accuracy": scores.balanced_accuracy,
        "log-loss": _log_loss(estimator, rows, dataset.classes, bool(method)),
        "numbers": size.numbers,
        "bytes": size.n_bytes,
        "columns": size.columns,
        "fit seconds": _seconds(estimator, rows.X, rows.y),
    }
    return Outcome(measures, method=method, values=values)


def _log_loss(
    estimator: Any, rows: Halves, classes: np.ndarray, is_margin: bool
) -> float:
    """Log-loss of the test rows; NaN of a model that has no probabilities."""
    if not is_margin and hasattr(estimator, "predict_proba"):
        shares = estimator.predict_proba(rows.X_test)
    elif hasattr(estimator, "decision_function"):
        scores = cross_val_predict(
            clone(estimator), rows.X, rows.y, cv=N_FOLDS, method="decision_function"
        )
        try:
            calibration = calibrate(_of_each_class(scores), rows.y, classes)
        except SmpcoreError:  # a class has too few rows
            return np.nan
        scores = estimator.decision_function(rows.X_test)
        shares = calibration.probabilities(_of_each_class(scores))
    else:
        return np.nan
    shares = np.maximum(shares, 1 / (len(rows.X) + 2))
    return log_loss(shares, class_numbers(rows.y_test, classes), None)


def _of_each_class(scores: np.ndarray) -> np.ndarray:
    """Scores with a column for each class, also of two."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _seconds(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds of a core that the same fit takes, whatever else the machine does."""
    started = time.thread_time()
    clone(estimator).fit(X, y)
    return time.thread_time() - started


EXPERIMENTS = (
    Experiment(
        name="comparison",
        where="five methods, twelve others",
        title="Nested cross-validation on small tables",
        data={**bundled(*_BUNDLED), **TABLE_1},
        models=KEYS | OTHERS,
        rivals=RIVALS,
        measure=compare_models,
        divide=_outer_fold,
        repetitions=N_FOLDS,
        elsewhere=("fit seconds",),
        ranked="accuracy",
        sizes=("bytes", "numbers", "columns"),
    ),
)


#: Penalties that leave-one-out chooses among.
_PENALTIES = np.logspace(-1, 4, 11)
TABLES = Path(__file__).with_name("tables.csv")


def regrets(tables: pd.DataFrame, accuracies: pd.DataFrame) -> np.ndarray:
    """Regrets of the advice and of one method for all, a row a table left out."""
    logs, shares = np.log(tables.drop(columns="share of 0/1")), accuracies.to_numpy()
    inputs = np.column_stack([logs, tables["share of 0/1"]])
    relative, rows = shares - shares.mean(axis=1, keepdims=True), []
    for i, values in enumerate(shares):
        others = np.arange(len(shares)) != i
        model = make_pipeline(StandardScaler(), RidgeCV(alphas=_PENALTIES))
        model.fit(inputs[others], relative[others])
        advised = model.predict(inputs[[i]])[0].argmax()
        best = shares[others].mean(axis=0).argmax()
        rows.append(values.max() - values[[advised, best]])
    return np.array(rows)


@cache
def shipped_advice() -> str:
    """What a visitor is told, as long as the advice is not better: measured by us.

    Returns
    -------
    str
    """
    titles = [method.title for method in METHODS.values()]
    numbers = table_of(EXPERIMENTS[0], Place(SHIPPED)).query("measure == 'accuracy'")
    accuracies = numbers.pivot_table("measured", "data", "model")[titles]
    tables = pd.read_csv(TABLES, index_col="data").loc[accuracies.index]
    advised, best = 100 * regrets(tables, accuracies).T
    gain = paired_difference(advised, best)
    return (
        f"Try all {len(METHODS)} methods: a rule that chose one by a table's size and "
        f"kinds of columns was {advised.mean():.1f} points of accuracy below the best "
        f"one, on average over {len(best)} tables that it did not know; "
        f"{accuracies.mean().idxmax()}, always taken, {best.mean():.1f} (difference "
        f"{gain.mean:+.1f}, 95 % interval {gain.low:+.1f} to {gain.high:+.1f})."
    )
