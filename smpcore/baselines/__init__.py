"""What the methods are held against, by name: mostly scikit-learn's models.

Each standardises the features first, as the methods do, and a regression its target
too, so that penalties mean the same in any unit. The settings are usual ones; `grid`
says what a search may try instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

from smpcore.errors import SmpcoreError

__all__ = ["BASELINES", "GROUPS", "Baseline", "fit_weighted"]

#: What a baseline may belong to.
GROUPS = ("usual", "more", "selected")
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
_DEPTHS = (2, 3, 4, 6, None)


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
    most_rows : int
        Of more training rows a sample stands in a comparison: what a fit or an answer
        takes grows faster than their number, or with many trees.
    """

    title: str
    models: Mapping[str, str]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    path: str = ""
    group: str = "usual"
    remark: str = ""
    most_rows: int = 100_000

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


def _row(
    title: str,
    *models: str,
    group: str = "usual",
    path: str = "",
    remark: str = "",
    most_rows: int = Baseline.most_rows,
    **grid: tuple[Any, ...],
) -> Baseline:
    """A baseline by its model of classification, then that of regression."""
    both = zip(("classification", "regression"), models, strict=False)
    tasks = {task: model for task, model in both if model}
    return Baseline(title, tasks, grid, path, group, remark, most_rows)


#: Of models that compare rows with each other; and of a hundred trees.
_PAIRS, _TREES = 10_000, 20_000
_more = partial(_row, group="more")
#: Few vectors: a path over their number.
_selected = partial(
    _row,
    group="selected",
    path="n_prototypes",
    most_rows=_PAIRS,
    n_prototypes=(2, 3, 5, 8, 12, 20, 30),
)
_RISING, _FALLING = np.geomspace(0.01, 10.0, 10), np.geomspace(0.5, 0.001, 10)
BASELINES: dict[str, Baseline] = {
    "l1_logistic": _row(
        "l1 logistic regression",
        "l1_logistic",
        path="C",
        C=tuple(_RISING.round(4).tolist()),
    ),
    "lasso": _row(
        "Lasso", "", "lasso", path="alpha", alpha=tuple(_FALLING.round(4).tolist())
    ),
    "rbf_svm": _row("RBF-SVM", "svc", "svr", most_rows=_PAIRS, C=_PENALTIES),
    "tree": _row("Decision tree", "tree", "tree_of_numbers", max_depth=_DEPTHS),
    "knn": _row(
        "k nearest neighbours",
        "neighbours",
        "neighbours_of_numbers",
        most_rows=_TREES,
        n_neighbors=(1, 3, 5, 9, 15),
    ),
    "forest": _row(
        "Random forest",
        "forest",
        "forest_of_numbers",
        most_rows=_TREES,
        max_depth=_DEPTHS,
    ),
    "ridge": _row("Ridge", "", "ridge", alpha=_PENALTIES),
    "linear_svm": _more(
        "Linear SVM",
        "linear_svc",
        remark="It keeps weights only, no support vectors.",
        C=_PENALTIES,
    ),
    "poly_svm": _more("Polynomial SVM", "poly_svc", most_rows=_PAIRS, C=_PENALTIES),
    "sigmoid_svm": _more("Sigmoid SVM", "sigmoid_svc", most_rows=_PAIRS, C=_PENALTIES),
    "logistic": _more("Logistic regression", "logistic", C=_PENALTIES),
    "elastic_net": _more("Elastic net", "elastic_net", C=_PENALTIES),
    "gaussian_process": _more("Gaussian process", "gaussian_process", most_rows=1_000),
    "boosting": _more(
        "Gradient boosting", "boosting", most_rows=_TREES, max_depth=(1, 2, 3)
    ),
    "adaboost": _more(
        "AdaBoost", "adaboost", most_rows=_TREES, n_estimators=(25, 50, 100)
    ),
    "quadratic": _more(
        "Quadratic discriminant", "quadratic", reg_param=(0.01, 0.1, 0.5)
    ),
    "gmlvq": _more("GMLVQ", "gmlvq", most_rows=_PAIRS, n_prototypes=(1, 2, 3, 5)),
    "local_gmlvq": _more(
        "GMLVQ, a matrix per prototype",
        "local_gmlvq",
        most_rows=_PAIRS,
        n_prototypes=(1, 2, 3, 5),
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
    estimator: Any,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    metadata: Mapping[str, np.ndarray] | None = None,
) -> Any:
    """Fit a method or a baseline on rows that may have weights.

    Parameters
    ----------
    estimator : unfitted estimator
        Of a method, or from `Baseline.estimator`.
    X : ndarray of shape (n_samples, n_features)
        Training rows, prepared.
    y : ndarray of shape (n_samples,)
        Class of each row, or its number.
    weights : ndarray of shape (n_samples,), optional
        Of the rows; None: all weigh the same.
    metadata : mapping of str to ndarray of shape (n_samples,), optional
        Groups and times of the rows; no baseline chooses anything on folds.

    Returns
    -------
    fitted estimator
        The same one.

    Raises
    ------
    SmpcoreError
        If it has no weights of rows, or looks for more neighbours than there are rows.
    """
    for name, k in estimator.get_params().items():
        if name.endswith("__n_neighbors") and k > len(y):  # seen by `predict` only
            raise SmpcoreError(
                f"{k} nearest neighbours cannot answer from {len(y)} training rows; "
                "give training more of them."
            )
    if has_fit_parameter(estimator, "groups"):
        return estimator.fit(X, y, weights, **(metadata or {}))
    if weights is None:
        return estimator.fit(X, y)
    from smpcore.baselines import models

    return models.fit_weighted(estimator, X, y, weights)
