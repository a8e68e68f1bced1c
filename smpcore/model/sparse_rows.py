"""How models compare sparse rows: linear ones without their zeros, others by blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

#: Numbers of the dense rows that are in memory at once.
BLOCK_SIZE = 2**20

if TYPE_CHECKING:
    from smpcore.model import PrototypeModel


def sparse_activations(model: PrototypeModel, X: Any) -> np.ndarray:
    """Activations of the prototypes, shape (n_samples, n_prototypes)."""
    if not model.is_linear or model.gram is not None:
        rows, at_once = X.tocsr(), max(1, BLOCK_SIZE // X.shape[1])
        firsts = range(0, max(1, X.shape[0]), at_once)
        blocks = (rows[first : first + at_once].toarray() for first in firsts)
        return np.concatenate([model.activations(block) for block in blocks])
    weights = model.weights / model.scale
    return X @ weights.T + (model.bias - weights @ model.center)
