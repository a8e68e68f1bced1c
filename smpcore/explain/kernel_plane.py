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
    from sklearn.decomposition import KernelPCA

    similarity = model.similarity
    if equal_weights:
        similarity = replace(
            similarity,
            weights=(1.0 / len(similarity.weights),) * len(similarity.weights),
        )
    scaled = (X - model.center) / model.scale
    axes = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
    return axes.fit_transform(similarity.values(scaled, scaled))
