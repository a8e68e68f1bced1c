"""How a linear model compares sparse rows: a zero that is not stored costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smpcore.errors import SmpcoreError

if TYPE_CHECKING:
    from smpcore.model import PrototypeModel


def sparse_activations(model: PrototypeModel, X: Any) -> np.ndarray:
    """Activations of the prototypes, shape (n_samples, n_prototypes)."""
    if not model.is_linear or model.gram is not None:
        raise SmpcoreError(
            "X is sparse, and only linear models compare sparse rows; give X.toarray() "
            "where that fits into memory."
        )
    weights = model.weights / model.scale
    return X @ weights.T + (model.bias - weights @ model.center)
