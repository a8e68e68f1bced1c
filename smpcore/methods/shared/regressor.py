"""What prototype regressors share: numbers to predict, and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from smpcore.methods.shared.allowed_values import sample_weights
from smpcore.methods.shared.base import PrototypeEstimator
from smpcore.methods.shared.features import feature_entries
from smpcore.methods.shared.scaling import validated
from smpcore.model import PrototypeModel


class PrototypeRegressor(RegressorMixin, PrototypeEstimator):
    """Base of the regressors: numbers in, a `PrototypeModel` inside, numbers out."""

    def predict(self, X: Any) -> np.ndarray:
        """Predicted number of each row, user's units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._finite_answers(PrototypeModel.predict, X, "predicted")

    def _numbered_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Checked rows, not scaled, and entries of a problem."""
        X, y = validated(self, X, y, order="C", y_numeric=True)
        weights = sample_weights(sample_weight, len(y))
        return X, {
            "y": np.asarray(y, dtype=np.float64),
            "weights": weights,
            **feature_entries(self, X, weights),
        }
