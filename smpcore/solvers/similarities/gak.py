"""sum_c weights_c times the global alignment kernel of x_c and z_c, of channels c."""

import numpy as np

from ..alignment import alignment_logs, own_logs
from ..similarity_kind import SimilarityKind


def alignment_kernel(A: np.ndarray, B: np.ndarray, sigma: float) -> np.ndarray:
    """Global alignment kernel of series, 1 for a series with itself.

    Parameters
    ----------
    A : ndarray of shape (n_samples, n_times)
        Series of one channel, one for each row of the result.
    B : ndarray of shape (n_anchors, n_times)
        Series of one channel, one for each column of the result.
    sigma : float
        Width of the similarity of two values.

    Returns
    -------
    ndarray of shape (n_samples, n_anchors)
    """
    logs, row = np.empty((len(A), len(B))), np.empty(B.shape[1] + 1)
    x, e = np.empty((2, B.shape[1]))
    room = row, x, e, e.view(np.int64)
    is_symmetric = A is B
    A, B = np.array(A, order="C"), np.array(B, order="C")
    alignment_logs(A, B, sigma, is_symmetric, logs, *room)
    if is_symmetric:
        of_rows = of_anchors = logs.diagonal().copy()
    else:
        of_rows, of_anchors = np.empty(len(A)), np.empty(len(B))
        own_logs(A, sigma, of_rows, *room)
        own_logs(B, sigma, of_anchors, *room)
    return np.exp(logs - 0.5 * (of_rows[:, None] + of_anchors))


def _values(X, anchors, similarity):
    values = np.zeros((len(X), len(anchors)))
    channels = np.split(np.arange(X.shape[1]), len(similarity.weights))
    for part, weight, sigma in zip(
        channels, similarity.weights, similarity.widths, strict=True
    ):
        if weight > 0:
            values += weight * alignment_kernel(X[:, part], anchors[:, part], sigma)
    return values


KIND = SimilarityKind(_values)
