"""What prototype classifiers share: labels, class weights, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from smpcore.errors import checked
from smpcore.methods.shared import scaling
from smpcore.methods.shared.allowed_values import (
    require_two,
    require_weight,
    sample_weights,
    weigh_classes,
)
from smpcore.methods.shared.base import Fitted, PrototypeEstimator
from smpcore.methods.shared.dask_problem import dask_entries
from smpcore.methods.shared.dask_rows import is_dask
from smpcore.methods.shared.features import feature_entries
from smpcore.methods.shared.problem import Problem
from smpcore.methods.shared.recorded import with_tie
from smpcore.methods.shared.sparse_rows import canonical_rows, scaled_sparse_copy
from smpcore.model import PrototypeModel


class PrototypeClassifier(ClassifierMixin, PrototypeEstimator):
    """Base of the classifiers: labels in, a `PrototypeModel` inside, labels out."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each class; of two, second minus first minus the model's `tie`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        scores = self._finite_answers(PrototypeModel.scores, X, "scored")
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
        y_encoded = scores > 0 if scores.ndim == 1 else self.model_.decide(scores)
        return self.classes_[np.asarray(y_encoded, dtype=np.int64)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Softmax of the scores: in the order of the classes, but not calibrated.

        The scores are margins, which no family fits to probabilities. For these put
        the estimator into scikit-learn's ``CalibratedClassifierCV``, or give its
        `model_` what `smpcore.evaluation.calibrate` learns on out-of-fold scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; the columns are in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return expit(np.column_stack([-scores, scores]))
        return softmax(scores, axis=1)

    def _labelled_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Checked rows, not scaled, and entries of a problem without class weights."""
        X, y = scaling.validated(self, X, y, order="C")
        if issparse(X):
            X = canonical_rows(X)
        checked(check_classification_targets, y)
        classes, y_encoded = np.unique(y, return_inverse=True)
        require_two(classes, f" in {len(y)} rows")
        weights = sample_weights(sample_weight, len(y))
        require_weight(classes, np.bincount(y_encoded, weights, len(classes)))
        return X, {
            "y_encoded": y_encoded.astype(np.int64),
            "weights": weights,
            "classes": classes,
            **feature_entries(self, X, weights),
        }

    def _scaled_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        bias: bool,
        distances: bool = False,
    ) -> dict[str, Any]:
        """Entries of a problem of these rows; `distances` is that of `scaled_copy`."""
        if self.reads_blocks and is_dask(X):
            return dask_entries(self, X, y, sample_weight, bias)
        X, entries = self._labelled_rows(X, y, sample_weight)
        weights, y_encoded = entries["weights"], entries["y_encoded"]
        if issparse(X):
            scaled, center, scale = scaled_sparse_copy(
                X, weights, self.standardize, bias
            )
        elif self.reads_blocks and scaling.is_large(X):
            scaled, center, scale = scaling.scaled_as_read(
                X, weights, self.standardize, bias
            )
        else:
            scaled, center, scale = scaling.scaled_copy(
                X, weights, self.standardize, bias, distances
            )
        weights = weigh_classes(
            weights, self.class_weight, entries["classes"], y_encoded
        )
        units = {"X": scaled, "center": center, "scale": scale, "weights": weights}
        return entries | units

    def _set_fitted_attributes(self, problem: Problem, fitted: Fitted) -> None:
        """Set the attributes of the contract, and the classes."""
        super()._set_fitted_attributes(problem, with_tie(problem, fitted))
        self.classes_ = problem.classes
