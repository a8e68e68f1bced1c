"""What makes scikit-learn's models, each with the parameters that a search may try."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
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
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import has_fit_parameter

from smpcore.baselines.gmlvq import GMLVQ
from smpcore.baselines.selected import (
    WAYS,
    FewVectorSVC,
    SelectedClassifier,
    SelectedRegressor,
)
from smpcore.errors import SmpcoreError

#: liblinear draws from one generator in the whole process: of two fits at once, each
#: would get what the other one leaves.
_liblinear = threading.Lock()


class _OneAtATime:
    """Fit with liblinear as if nobody else did."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Any:
        with _liblinear:
            return super().fit(X, y, sample_weight)


class _LiblinearLogistic(_OneAtATime, LogisticRegression):
    """l1-penalised logistic regression, the same beside others as alone."""


class _LiblinearSVC(_OneAtATime, LinearSVC):
    """Linear SVM, the same beside others as alone."""


def _l1_logistic(C: float = 1.0) -> BaseEstimator:
    one = _LiblinearLogistic(
        l1_ratio=1.0, solver="liblinear", C=C, max_iter=1000, random_state=0
    )
    return OneVsRestClassifier(one)


#: Name in the table of baselines -> what makes the model, at the usual settings.
MODELS: dict[str, Callable[..., BaseEstimator]] = {
    "l1_logistic": _l1_logistic,
    "lasso": partial(Lasso, alpha=0.1, max_iter=10_000),
    "ridge": Ridge,
    "svc": SVC,
    "svr": SVR,
    "poly_svc": partial(SVC, kernel="poly"),
    "sigmoid_svc": partial(SVC, kernel="sigmoid"),
    "linear_svc": partial(_LiblinearSVC, random_state=0, max_iter=5000),
    "tree": partial(DecisionTreeClassifier, random_state=0),
    "tree_of_numbers": partial(DecisionTreeRegressor, random_state=0),
    "forest": partial(RandomForestClassifier, random_state=0),
    "forest_of_numbers": partial(RandomForestRegressor, random_state=0),
    "neighbours": KNeighborsClassifier,
    "neighbours_of_numbers": KNeighborsRegressor,
    "logistic": partial(LogisticRegression, max_iter=1000),
    "elastic_net": partial(
        LogisticRegression,
        l1_ratio=0.5,
        solver="saga",
        max_iter=2000,
        tol=1e-3,
        random_state=0,
    ),
    "gaussian_process": partial(GaussianProcessClassifier, random_state=0),
    "boosting": partial(GradientBoostingClassifier, random_state=0),
    "adaboost": partial(AdaBoostClassifier, random_state=0),
    "quadratic": partial(QuadraticDiscriminantAnalysis, reg_param=0.1),
    "gmlvq": GMLVQ,
    "local_gmlvq": partial(GMLVQ, local=True),
    **{f"ps_{way}": partial(SelectedClassifier, way) for way in WAYS},
    **{f"ps_{way}_of_numbers": partial(SelectedRegressor, way) for way in WAYS},
    "svm_sel": partial(FewVectorSVC, "selected"),
    "svm_red": partial(FewVectorSVC, "reduced"),
}


def standardised(name: str, values: Mapping[str, Any], task: str) -> BaseEstimator:
    """Make an estimator that standardises the features first, and numbers to
    predict.
    """
    estimator = make_pipeline(StandardScaler(), MODELS[name](**values))
    if task == "regression":
        return TransformedTargetRegressor(estimator, transformer=StandardScaler())
    return estimator


def fit_weighted(
    estimator: Pipeline, X: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> Pipeline:
    """Fit a pipeline of `standardised` on rows of two classes that have weights."""
    name, last = estimator.steps[-1]
    if isinstance(last, OneVsRestClassifier):  # of two classes it is one model
        estimator.steps[-1] = name, last.estimator
    if not has_fit_parameter(estimator[-1], "sample_weight"):
        raise SmpcoreError(
            "it has no weights of rows, which a question of time to event needs where "
            "rows are censored; choose another model."
        )
    names = estimator.named_steps
    return estimator.fit(X, y, **{f"{name}__sample_weight": weights for name in names})
