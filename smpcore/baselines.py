"""What the methods are held against: scikit-learn's models, by name.

Each standardises the features first, as the methods do, and a regression its target
too, so that penalties mean the same in any unit. The settings are usual ones; `grid`
says what a search may try instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["BASELINES", "Baseline"]

Factory = Callable[..., BaseEstimator]

#: liblinear draws from one generator in the whole process: of two fits at once, each
#: would get what the other one leaves.
_liblinear = threading.Lock()

_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
_DEPTHS = (2, 3, 4, 6, None)
_NEIGHBOURS = (1, 3, 5, 9, 15)


@dataclass(frozen=True)
class Baseline:
    """One model of scikit-learn's.

    Parameters
    ----------
    title : str
    factories : mapping of str to callable
        Task -> what makes the estimator from its parameters.
    grid : mapping of str to tuple
        Parameter -> values that a search may try.
    path : str
        A parameter of `grid` that makes the model sparse, if there is one: its
        values are a path to compare with.
    folded : bool
        Whether it is one of those that are shown only when asked for.
    remark : str
        What its sizes do not say, in words.
    """

    title: str
    factories: Mapping[str, Factory]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    path: str = ""
    folded: bool = False
    remark: str = ""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that it can do."""
        return tuple(self.factories)

    def estimator(
        self, values: Mapping[str, Any] | None = None, task: str = "classification"
    ) -> BaseEstimator:
        """A new estimator at these values, standardising first.

        Parameters
        ----------
        values : mapping, optional
            Names as in `grid`; what is left out stays as usual.
        task : str

        Returns
        -------
        Pipeline, or TransformedTargetRegressor of one
        """
        found = make_pipeline(StandardScaler(), self.factories[task](**(values or {})))
        if task == "regression":
            return TransformedTargetRegressor(found, transformer=StandardScaler())
        return found


class _OneAtATime:
    """Fit with liblinear as if nobody else did."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        with _liblinear:
            return super().fit(X, y)


class _LiblinearLogistic(_OneAtATime, LogisticRegression):
    """l1-penalised logistic regression, the same beside others as alone."""


class _LiblinearSVC(_OneAtATime, LinearSVC):
    """Linear SVM, the same beside others as alone."""


def _l1_logistic(C: float = 1.0) -> BaseEstimator:
    one = _LiblinearLogistic(
        l1_ratio=1.0, solver="liblinear", C=C, max_iter=1000, random_state=0
    )
    return OneVsRestClassifier(one)


def _elastic_net(C: float = 1.0, l1_ratio: float = 0.5) -> BaseEstimator:
    return LogisticRegression(
        l1_ratio=l1_ratio, solver="saga", C=C, max_iter=2000, tol=1e-3, random_state=0
    )


def _logistic(C: float = 1.0) -> BaseEstimator:
    return LogisticRegression(C=C, max_iter=1000)


def _svm(kernel: str) -> Factory:
    def make(C: float = 1.0, gamma: float | str = "scale") -> BaseEstimator:
        return SVC(C=C, kernel=kernel, gamma=gamma)

    return make


def _linear_svm(C: float = 1.0) -> BaseEstimator:
    return _LiblinearSVC(C=C, random_state=0, max_iter=5000)


def _tree(max_depth: int | None = None) -> BaseEstimator:
    return DecisionTreeClassifier(max_depth=max_depth, random_state=0)


def _tree_of_values(max_depth: int | None = None) -> BaseEstimator:
    return DecisionTreeRegressor(max_depth=max_depth, random_state=0)


def _forest(max_depth: int | None = None) -> BaseEstimator:
    return RandomForestClassifier(max_depth=max_depth, random_state=0)


def _forest_of_values(max_depth: int | None = None) -> BaseEstimator:
    return RandomForestRegressor(max_depth=max_depth, random_state=0)


def _boosting(max_depth: int = 3) -> BaseEstimator:
    return GradientBoostingClassifier(max_depth=max_depth, random_state=0)


def _adaboost(n_estimators: int = 50) -> BaseEstimator:
    return AdaBoostClassifier(n_estimators=n_estimators, random_state=0)


def _gaussian_process() -> BaseEstimator:
    return GaussianProcessClassifier(random_state=0)


def _quadratic(reg_param: float = 0.1) -> BaseEstimator:
    return QuadraticDiscriminantAnalysis(reg_param=reg_param)


def _classifier(title: str, factory: Factory, **grid: tuple[Any, ...]) -> Baseline:
    return Baseline(title, {"classification": factory}, grid, folded=True)


BASELINES: dict[str, Baseline] = {
    "l1_logistic": Baseline(
        "l1 logistic regression",
        {"classification": _l1_logistic},
        {"C": tuple(np.geomspace(0.01, 10.0, 10).round(4).tolist())},
        path="C",
    ),
    "lasso": Baseline(
        "Lasso",
        {"regression": lambda alpha=0.1: Lasso(alpha=alpha, max_iter=10_000)},
        {"alpha": tuple(np.geomspace(0.5, 0.001, 10).round(4).tolist())},
        path="alpha",
    ),
    "rbf_svm": Baseline(
        "RBF-SVM",
        {"classification": _svm("rbf"), "regression": lambda C=1.0: SVR(C=C)},
        {"C": _PENALTIES},
    ),
    "tree": Baseline(
        "Decision tree",
        {"classification": _tree, "regression": _tree_of_values},
        {"max_depth": _DEPTHS},
    ),
    "knn": Baseline(
        "k nearest neighbours",
        {"classification": KNeighborsClassifier, "regression": KNeighborsRegressor},
        {"n_neighbors": _NEIGHBOURS},
    ),
    "forest": Baseline(
        "Random forest",
        {"classification": _forest, "regression": _forest_of_values},
        {"max_depth": _DEPTHS},
    ),
    "ridge": Baseline("Ridge", {"regression": Ridge}, {"alpha": _PENALTIES}),
    "linear_svm": Baseline(
        "Linear SVM",
        {"classification": _linear_svm},
        {"C": _PENALTIES},
        folded=True,
        remark="it keeps weights only, no support vectors",
    ),
    "poly_svm": _classifier("Polynomial SVM", _svm("poly"), C=_PENALTIES),
    "sigmoid_svm": _classifier("Sigmoid SVM", _svm("sigmoid"), C=_PENALTIES),
    "logistic": _classifier("Logistic regression", _logistic, C=_PENALTIES),
    "elastic_net": _classifier("Elastic net", _elastic_net, C=_PENALTIES),
    "gaussian_process": _classifier("Gaussian process", _gaussian_process),
    "boosting": _classifier("Gradient boosting", _boosting, max_depth=(1, 2, 3)),
    "adaboost": _classifier("AdaBoost", _adaboost, n_estimators=(25, 50, 100)),
    "quadratic": _classifier(
        "Quadratic discriminant", _quadratic, reg_param=(0.01, 0.1, 0.5)
    ),
}
