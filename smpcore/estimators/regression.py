"""What prototype regressors share: the door, the scaling, predictions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from smpcore.errors import SmpcoreError
from smpcore.estimators.base import (
    keep_fitted,
    sample_weights,
)
from smpcore.estimators.features import FeatureImportances, feature_entries
from smpcore.estimators.scaling import scaled_copy, validated
from smpcore.model import History, PrototypeModel


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Training rows with numbers to predict, ready for a kernel.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Scaled copy of the rows.
    y : ndarray of shape (n_samples,)
        Targets, user's units.
    weights : ndarray of shape (n_samples,)
        Sample weights, sum 1.
    center, scale : ndarray of shape (n_features,)
        ``(x - center) / scale`` are the scaled units.
    low, high : ndarray of shape (n_features,)
        Range of the rows, user's units.
    feature_names : tuple of str
    named : bool
        Whether the names came with the data.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    feature_names: tuple[str, ...]
    named: bool
    task: ClassVar[str] = "regression"

    @property
    def n_features(self) -> int:
        """Features of an input."""
        return len(self.center)


class PrototypeRegressor(FeatureImportances, RegressorMixin, BaseEstimator):
    """Base of the regressors: numbers in, a `PrototypeModel` inside, numbers out.

    A subclass has what a subclass of `PrototypeClassifier` has: `problem_params`,
    `problem`, `solve`, and the words of `certificate` and `loss_of_prototypes`.
    """

    problem_params: ClassVar[tuple[str, ...]]
    certificate: ClassVar[str] = "the best value of the objective"
    loss_of_prototypes: ClassVar[str] = "merged"

    @abstractmethod
    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> RegressionProblem:
        """Validate and scale the rows."""

    @abstractmethod
    def solve(
        self,
        problem: RegressionProblem,
        state: Any = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem and keep the model."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows with numbers, from a cold start.

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

    def predict(self, X: Any) -> np.ndarray:
        """Predicted number of each row, user's units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.model_.predict(X)
        if not np.isfinite(values).all():
            raise SmpcoreError(
                f"X holds values as large as {np.abs(X).max():.3g}, too large to be "
                "predicted; leave such rows out."
            )
        return values

    def _scaled_rows(
        self, X: Any, y: Any, sample_weight: Any, *, standardize: bool
    ) -> dict[str, Any]:
        """Entries of `RegressionProblem` for these rows, checked."""
        X, y = validated(self, X, y, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weights = sample_weights(sample_weight, len(y))
        scaled, center, scale = scaled_copy(X, weights, standardize, False)
        return {
            "X": scaled,
            "y": y,
            "weights": weights,
            "center": center,
            "scale": scale,
            **feature_entries(self, X, weights),
        }

    def _keep(
        self,
        problem: RegressionProblem,
        model: PrototypeModel,
        history: History,
        n_asked: int,
    ) -> None:
        """Set the attributes that every fitted regressor has."""
        keep_fitted(self, problem, model, history, n_asked)
