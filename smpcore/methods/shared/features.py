"""What is known of features besides their values: range, names, importance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from smpcore.errors import require_finite
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.methods.shared.scaling import is_large
from smpcore.methods.shared.sparse_rows import column_ranges
from smpcore.model import PrototypeModel


def feature_entries(estimator: Any, X: np.ndarray, weights: np.ndarray) -> dict:
    """Entries of a problem that say what its features are."""
    names = getattr(estimator, "feature_names_in_", None)
    low, high = _ranges(X, weights > 0, names)
    if names is None:
        names = [f"x{r}" for r in range(X.shape[1])]
    return {
        "low": low,
        "high": high,
        "feature_names": tuple(map(str, names)),
        "named": hasattr(estimator, "feature_names_in_"),
    }


def _ranges(
    X: Any, counted: np.ndarray, names: Sequence[Any] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each column in the rows that count."""
    if is_large(X):

        def extremes(part: slice, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            block = require_finite(block, names, part.start)[counted[part]]
            low = block.min(axis=0, initial=np.inf)
            return low, block.max(axis=0, initial=-np.inf)

        lows, highs = zip(*map_blocks(extremes, X), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)
    rows = X if counted.all() else X[counted]
    if issparse(rows):
        return column_ranges(rows)
    return rows.min(axis=0), rows.max(axis=0)


def feature_importances(model: PrototypeModel) -> np.ndarray:
    """How much a model makes of each feature; 0: nothing at all."""
    if model.is_linear and model.kind_of_prototype == "direction":
        return np.abs(model.weights).max(axis=0)
    if model.similarity.weights:
        beta = np.array(model.similarity.weights)
        return np.repeat(beta, model.n_features // len(beta))
    cases = model.anchors * model.scale + model.center
    importances = np.zeros(model.n_features)
    for feature in np.flatnonzero(model.support):
        low, high = cases.copy(), cases.copy()
        low[:, feature], high[:, feature] = model.low[feature], model.high[feature]
        moved = np.abs(model.scores(high) - model.scores(low))
        importances[feature] = moved.mean()
    return importances


class FeatureImportances:
    """Mixin: what scikit-learn's tools that choose features ask an estimator for."""

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature, as `feature_importances` says; (n_features,)."""
        check_is_fitted(self)
        if self.model_.similarity.kind == "strings":
            raise AttributeError("The places of a string have no importances.")
        return feature_importances(self.model_)
