"""Rows as a model's kernels see them, in a plane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smpcore.model import PrototypeModel

#: Rows of a picture: the plane takes time cubic in them.
MOST_ROWS = 250


def embedding(
    model: PrototypeModel, X: np.ndarray, equal_weights: bool = False
) -> np.ndarray:
    """First two principal axes of rows in the feature space of a sum of kernels.

    Parameters
    ----------
    model : PrototypeModel
        Whose similarity has a weight per feature or channel.
    X : ndarray of shape (n_samples, n_features), user's units
        At most `MOST_ROWS` are quick.
    equal_weights : bool
        Give all kernels the same weight, those too that the model left out.

    Returns
    -------
    ndarray of shape (n_samples, 2)
    """
    similarity = model.similarity
    if equal_weights:
        similarity = replace(
            similarity,
            weights=(1.0 / len(similarity.weights),) * len(similarity.weights),
        )
    scaled = (X - model.center) / model.scale
    kernel = similarity.values(scaled, scaled)
    kernel = kernel - kernel.mean(axis=0)
    kernel -= kernel.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh((kernel + kernel.T) / 2)
    plane = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0.0))
    # A fixed sign, so that the picture does not flip between machines.
    tips = plane[np.abs(plane).argmax(axis=0), [0, 1]]
    return plane * np.where(tips < 0, -1.0, 1.0)
