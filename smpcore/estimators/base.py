"""What all prototype classifiers share: the door, the scaling, the labels.

A fit has two steps, so that a dragged slider pays only for the second: `problem`
validates and scales the rows and finds the start; `solve` calls the kernel.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from smpcore.errors import SmpcoreError, checked
from smpcore.estimators.features import FeatureImportances, feature_entries
from smpcore.estimators.scaling import scaled_copy, validated
from smpcore.model import History, PrototypeModel, training_tie


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows, ready for a kernel.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        Scaled copy of the rows; a last column of ones if the method has a bias.
    codes : ndarray of int, shape (n_samples,)
        Index of each row's class.
    weights : ndarray of shape (n_samples,)
        Sample weight times class weight, sum 1.
    classes : ndarray of shape (n_classes,)
    center, scale : ndarray of shape (n_features,)
        ``(x - center) / scale`` are the scaled units.
    low, high : ndarray of shape (n_features,)
        Range of the rows, user's units.
    feature_names : tuple of str
    named : bool
        Whether the names came with the data.
    """

    X: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    classes: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    feature_names: tuple[str, ...]
    named: bool
    task: ClassVar[str] = "classification"

    @cached_property
    def n_features(self) -> int:
        """Features of an input; the bias is none."""
        return len(self.center)


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    integer: bool = False,
    above: bool = False,
) -> None:
    """Refuse a parameter that is no number between low and high.

    Parameters
    ----------
    name : str
    value : object
    low, high : float
    integer : bool
    above : bool
        Whether `low` itself is too low.

    Raises
    ------
    SmpcoreError
    """
    kind = Integral if integer else Real
    good = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if good and low <= value <= high and not (above and value == low):
        return
    noun = "a whole number" if integer else "a number"
    bound = f"above {low:g}" if above else f"of at least {low:g}"
    if high < math.inf:
        bound += f" and at most {high:g}"
    raise SmpcoreError(f"{name}={value!r} should be {noun} {bound}; change {name}.")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a parameter that is none of the choices.

    Parameters
    ----------
    name : str
    value : object
    choices : tuple

    Raises
    ------
    SmpcoreError
    """
    for choice in choices:
        if type(value) is type(choice) and value == choice:  # True is no 1
            return
    named = ", ".join(repr(choice) for choice in choices)
    raise SmpcoreError(f"{name}={value!r} should be one of {named}; choose one.")


def sample_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Check weights of rows.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), or None
    n_samples : int

    Returns
    -------
    ndarray of shape (n_samples,)
        Sum 1.
    """
    if sample_weight is None:
        return np.full(n_samples, 1.0 / n_samples)
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise SmpcoreError(
            f"sample_weight has shape {weights.shape} and should have shape "
            f"({n_samples},); give one weight for each row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise SmpcoreError(
            "sample_weight should be finite and not negative; a weight of 0 leaves a "
            "row out."
        )
    largest = weights.max()
    if largest == 0:
        raise SmpcoreError(
            "sample_weight is zero for all rows; at least one should weigh something."
        )
    weights /= largest
    return weights / weights.sum()


def class_weights(
    class_weight: Any, classes: np.ndarray, totals: np.ndarray
) -> np.ndarray:
    """Factor of each class.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        A dict maps a class to its factor; classes that it leaves out have 1.
    classes : ndarray of shape (n_classes,)
    totals : ndarray of shape (n_classes,)
        Sum of the sample weights of each class.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return 1.0 / totals
    if not isinstance(class_weight, dict):
        raise SmpcoreError(
            f"class_weight={class_weight!r} should be None, 'balanced' or a dict from "
            "class to weight; choose one."
        )
    known = classes.tolist()
    factors = np.ones(len(classes))
    for label, factor in class_weight.items():
        if label not in known:
            raise SmpcoreError(
                f"class_weight names the class {label!r}, which y does not hold; its "
                "keys should be classes of y."
            )
        check_number(f"class_weight[{label!r}]", factor, 0.0, 1e12, above=True)
        factors[known.index(label)] = factor
    return factors


def keep_fitted(
    estimator: Any, problem: Any, model: PrototypeModel, history: History, n_asked: int
) -> None:
    """Set the attributes that every fitted estimator has, whatever its task."""
    estimator.model_ = model
    estimator.n_asked_ = n_asked
    estimator.automatic_ = {}
    estimator.measures_ = {}
    estimator.history_ = history
    estimator.n_features_in_ = problem.n_features
    estimator.n_iter_ = history.n_iter
    estimator.objective_ = float(history.objective[-1])
    estimator.gap_ = float(history.gap[-1])
    if problem.named:
        estimator.feature_names_in_ = np.array(problem.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


class PrototypeClassifier(FeatureImportances, ClassifierMixin, BaseEstimator):
    """Base of the classifiers: labels in, a `PrototypeModel` inside, labels out.

    A subclass has the class attribute `problem_params` (names of the parameters that
    `problem` depends on, besides the data) and the methods `problem` and `solve`.

    What pages say of a fit comes from here too: `certificate` completes "at most 2 %
    from ..." for `gap_`, `loss_of_prototypes` says why the model has fewer prototypes
    than `n_asked_`, `automatic_` is what parameters left at None became.
    """

    problem_params: ClassVar[tuple[str, ...]]
    certificate: ClassVar[str] = "the best value of the objective"
    loss_of_prototypes: ClassVar[str] = "merged"

    @abstractmethod
    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """Validate and scale the rows and find the start."""

    @abstractmethod
    def solve(
        self,
        problem: Problem,
        state: Any = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem and keep the model."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows with labels, from a cold start.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A whole weight counts as that many equal rows.

        Returns
        -------
        self
        """
        return self.solve(self.problem(X, y, sample_weight))

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each class; of two, second minus first minus the model's `tie`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.model_.scores(X)
        if not np.isfinite(scores).all():
            raise SmpcoreError(
                f"X holds values as large as {np.abs(X).max():.3g}, too large to be "
                "scored; leave such rows out."
            )
        two = scores.shape[1] == 2
        return scores[:, 1] - (scores[:, 0] + self.model_.tie) if two else scores

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row: the lowest class within `tie` of the highest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        codes = scores > 0 if scores.ndim == 1 else self.model_.decide(scores)
        return self.classes_[np.asarray(codes, dtype=np.int64)]

    def _scaled_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        bias: bool,
        standardize: bool | None = None,
        distances: bool = False,
    ) -> dict[str, Any]:
        """Entries of `Problem` for these rows, checked; None: as the parameter says.

        `distances` is that of `scaled_copy`.
        """
        X, y = validated(self, X, y, order="C")
        checked(check_classification_targets, y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise SmpcoreError(
                f"y holds one class only ({classes[0]!s}) in {len(y)} rows; to tell "
                "classes apart takes at least two classes."
            )
        weights = sample_weights(sample_weight, len(y))
        totals = np.bincount(codes, weights, len(classes))
        if not totals.all():
            empty = classes[totals.argmin()]
            raise SmpcoreError(
                f"sample_weight is 0 for every row of class {empty!s}; weigh one of "
                "its rows or leave the class out."
            )
        if standardize is None:
            standardize = self.standardize
        scaled, center, scale = scaled_copy(X, weights, standardize, bias, distances)
        features = feature_entries(self, X, weights)
        weights *= class_weights(self.class_weight, classes, totals)[codes]
        return {
            "X": scaled,
            "codes": codes.astype(np.int64),
            "weights": weights / weights.sum(),
            "classes": classes,
            "center": center,
            "scale": scale,
            **features,
        }

    def _keep(
        self,
        problem: Problem,
        model: PrototypeModel,
        history: History,
        n_asked: int,
        scores: np.ndarray | None = None,
    ) -> None:
        """Set what every fitted classifier has; `scores` of its rows, if known."""
        if scores is None:
            rows = problem.X[:, : problem.n_features]
            scores = model.scores(rows * problem.scale + problem.center)
        model = replace(model, tie=training_tie(scores))
        keep_fitted(self, problem, model, history, n_asked)
        self.classes_ = problem.classes
