"""What the methods are held against, by name: mostly scikit-learn's models.

Each standardises the features first, as the methods do, and a regression its target
too, so that penalties mean the same in any unit. The settings are usual ones; `grid`
says what a search may try instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["BASELINES", "GROUPS", "Baseline", "fit_weighted"]

#: What a baseline may belong to.
GROUPS = ("usual", "more", "selected")
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
_DEPTHS = (2, 3, 4, 6, None)
_NEIGHBOURS = (1, 3, 5, 9, 15)


@dataclass(frozen=True)
class Baseline:
    """One model that the methods are held against.

    Parameters
    ----------
    title : str
        Name for people, as on a page or in a table.
    models : mapping of str to str
        Task -> name of the model in `baselines.models`.
    grid : mapping of str to tuple
        Parameter -> values that a search may try.
    path : str
        A parameter of `grid` that makes the model sparse, if there is one: its
        values are a path to compare with.
    group : {"usual", "more", "selected"}
        Usual ones are shown at first, the others when asked for; "selected": answers
        come from few training rows, or few vectors of an SVM.
    remark : str
        What its sizes do not say: a sentence, or empty.
    """

    title: str
    models: Mapping[str, str]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    path: str = ""
    group: str = "usual"
    remark: str = ""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that it can do."""
        return tuple(self.models)

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
        from smpcore.baselines import models  # half a second of scikit-learn

        return models.standardised(self.models[task], values or {}, task)


def _classifier(title: str, factory: str, **grid: tuple[Any, ...]) -> Baseline:
    return Baseline(title, {"classification": factory}, grid, group="more")


def _selected(title: str, *models: str) -> Baseline:
    """Few vectors: a path over their number."""
    tasks = dict(zip(("classification", "regression"), models, strict=False))
    grid = {"n_prototypes": (2, 3, 5, 8, 12, 20, 30)}
    return Baseline(title, tasks, grid, path="n_prototypes", group="selected")


BASELINES: dict[str, Baseline] = {
    "l1_logistic": Baseline(
        "l1 logistic regression",
        {"classification": "l1_logistic"},
        {"C": tuple(np.geomspace(0.01, 10.0, 10).round(4).tolist())},
        path="C",
    ),
    "lasso": Baseline(
        "Lasso",
        {"regression": "lasso"},
        {"alpha": tuple(np.geomspace(0.5, 0.001, 10).round(4).tolist())},
        path="alpha",
    ),
    "rbf_svm": Baseline(
        "RBF-SVM",
        {"classification": "svc", "regression": "svr"},
        {"C": _PENALTIES},
    ),
    "tree": Baseline(
        "Decision tree",
        {"classification": "tree", "regression": "tree_of_numbers"},
        {"max_depth": _DEPTHS},
    ),
    "knn": Baseline(
        "k nearest neighbours",
        {"classification": "neighbours", "regression": "neighbours_of_numbers"},
        {"n_neighbors": _NEIGHBOURS},
    ),
    "forest": Baseline(
        "Random forest",
        {"classification": "forest", "regression": "forest_of_numbers"},
        {"max_depth": _DEPTHS},
    ),
    "ridge": Baseline("Ridge", {"regression": "ridge"}, {"alpha": _PENALTIES}),
    "linear_svm": Baseline(
        "Linear SVM",
        {"classification": "linear_svc"},
        {"C": _PENALTIES},
        group="more",
        remark="It keeps weights only, no support vectors.",
    ),
    "poly_svm": _classifier("Polynomial SVM", "poly_svc", C=_PENALTIES),
    "sigmoid_svm": _classifier("Sigmoid SVM", "sigmoid_svc", C=_PENALTIES),
    "logistic": _classifier("Logistic regression", "logistic", C=_PENALTIES),
    "elastic_net": _classifier("Elastic net", "elastic_net", C=_PENALTIES),
    "gaussian_process": _classifier("Gaussian process", "gaussian_process"),
    "boosting": _classifier("Gradient boosting", "boosting", max_depth=(1, 2, 3)),
    "adaboost": _classifier("AdaBoost", "adaboost", n_estimators=(25, 50, 100)),
    "quadratic": _classifier(
        "Quadratic discriminant", "quadratic", reg_param=(0.01, 0.1, 0.5)
    ),
    "gmlvq": _classifier("GMLVQ", "gmlvq", n_prototypes=(1, 2, 3, 5)),
    "local_gmlvq": _classifier(
        "GMLVQ, a matrix per prototype", "local_gmlvq", n_prototypes=(1, 2, 3, 5)
    ),
    "ps_random": _selected("PS-random", "ps_random", "ps_random_of_numbers"),
    "ps_border": _selected("PS-border", "ps_border", "ps_border_of_numbers"),
    "ps_spanning": _selected("PS-spanning", "ps_spanning", "ps_spanning_of_numbers"),
    "ps_kmedians": _selected("PS-k-medians", "ps_kmedians", "ps_kmedians_of_numbers"),
    "ps_kcentres": _selected("PS-k-centres", "ps_kcentres", "ps_kcentres_of_numbers"),
    "svm_sel": _selected("SVM-sel", "svm_sel"),
    "svm_red": _selected("SVM-red", "svm_red"),
}


def fit_weighted(
    estimator: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> Any:
    """Fit a method or a baseline on rows that may have weights.

    Parameters
    ----------
    estimator : unfitted estimator
        Of a method, or from `Baseline.estimator`.
    X : ndarray of shape (n_samples, n_features)
        Training rows, prepared.
    y : ndarray of shape (n_samples,)
        Class of each row; a number for regression, where rows have no weights here.
    weights : ndarray of shape (n_samples,), optional
        Of the rows; None: all weigh the same.

    Returns
    -------
    fitted estimator
        The same one.

    Raises
    ------
    SmpcoreError
        If it has no weights of rows.
    """
    if weights is None:
        return estimator.fit(X, y)
    if not hasattr(estimator, "steps"):
        return estimator.solve(estimator.problem(X, y, weights))
    from smpcore.baselines import models

    return models.fit_weighted(estimator, X, y, weights)
