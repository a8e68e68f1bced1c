"""The last stage of a model as rows of numbers, of which the largest counts."""

from __future__ import annotations

import numpy as np

from smpcore.model import PrototypeModel

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def pooled_rows(model: PrototypeModel, weights: np.ndarray, bias: np.ndarray) -> Rows:
    """Rows whose largest score per class is the score of the model."""
    if model.pooling == "sum":
        owner = np.arange(model.n_outputs)
        return model.votes.T @ weights, model.votes.T @ bias + model.intercept, owner
    owner, prototype = np.nonzero(model.votes.T)
    rows = weights[prototype], bias[prototype] + model.intercept[owner], owner
    return _distinct(*rows)


def _distinct(weights: np.ndarray, bias: np.ndarray, owner: np.ndarray) -> Rows:
    """Rows without those that a twin of the same class always equals or beats."""
    best: dict[tuple[int, bytes], int] = {}
    for row, own in enumerate(weights):
        key = (int(owner[row]), own.tobytes())
        if key not in best or bias[row] > bias[best[key]]:
            best[key] = row
    kept = np.sort(list(best.values()))
    return weights[kept], bias[kept], owner[kept]
