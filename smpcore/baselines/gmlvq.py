r"""GMLVQ as published, in plain NumPy: nearest prototypes in a learned distance.

Schneider, Biehl, Hammer: Adaptive relevance matrices in learning vector quantization.
Neural Computation 21, 2009. With the distance

.. math:: d(x, w) = (x - w)^T \Omega^T \Omega (x - w)

of a row to the nearest prototype of its class, :math:`d_+`, and to the nearest of
another class, :math:`d_-`, it minimises the mean of

.. math:: \mu = (d_+ - d_-) / (d_+ + d_-)

over prototypes and :math:`\Omega`, whose trace :math:`\sum \Omega_{ij}^2` is 1. With
local relevances each prototype has a matrix of its own (the paper's section 2.3). The
paper goes down the gradient row by row and sets the trace to 1 after each step; here
L-BFGS goes down the gradient of all rows, of matrices divided by their length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin

from smpcore.methods.shared.starts import cluster_rows


def class_centres(
    X: np.ndarray, codes: np.ndarray, n_prototypes: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the clusters of each class, by k-means."""
    tied, labels = cluster_rows(X, codes, np.ones(len(X)), n_prototypes, seed)
    return np.array([X[tied == r].mean(axis=0) for r in range(len(labels))]), labels


def glvq_cost(
    distances: np.ndarray, is_own: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Mean of mu, and its slopes by the distance of each row to each prototype."""
    rows, slopes = np.arange(len(distances)), np.zeros_like(distances)
    near, far = (
        np.where(side, distances, np.inf).argmin(axis=1) for side in (is_own, ~is_own)
    )
    plus, minus = distances[rows, near], distances[rows, far]
    total = np.maximum(plus + minus, 1e-30)  # of a row that lies on both, mu is 0
    slopes[rows, near] = 2.0 * weights * minus / total**2
    slopes[rows, far] = -2.0 * weights * plus / total**2
    return float(weights @ ((plus - minus) / total)), slopes


def matrix_distances(X: np.ndarray, Z: np.ndarray, omegas: np.ndarray) -> np.ndarray:
    """Distance of each row to each prototype: all have one matrix, or each its own."""
    distances = np.empty((len(X), len(Z)))
    for k, omega in enumerate(omegas):
        members = slice(k, None, len(omegas))
        P, Q = X @ omega.T, Z[members] @ omega.T
        distances[:, members] = cdist(P, Q, "sqeuclidean")
    return distances


def mean_cost(
    Z: np.ndarray,
    omegas: np.ndarray,
    X: np.ndarray,
    is_own: np.ndarray,
    weights: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean of mu, and its gradients."""
    value, slopes = glvq_cost(matrix_distances(X, Z, omegas), is_own, weights)
    of_Z, of_omegas = np.zeros_like(Z), np.zeros_like(omegas)
    for k, omega in enumerate(omegas):
        members = slice(k, None, len(omegas))
        S, W = slopes[:, members], Z[members]
        sums = S.T @ X
        apart = sums - S.sum(axis=0)[:, None] * W  # sums of x - w
        of_Z[members] = -2.0 * apart @ (omega.T @ omega)
        squares = (X.T * S.sum(axis=1)) @ X - sums.T @ W - W.T @ apart
        of_omegas[k] = 2.0 * omega @ squares
    return value, of_Z, of_omegas


@dataclass(eq=False, repr=False)
class GMLVQ(ClassifierMixin, BaseEstimator):
    """Nearest prototype in a learned distance; from the centres of clusters."""

    n_prototypes: int = 1  # of each class
    local: bool = False
    max_iter: int = 200
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GMLVQ:
        """Move prototypes and distances from the centres of clusters."""
        X = np.asarray(X, dtype=float)
        self.classes_, codes = np.unique(y, return_inverse=True)
        u = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        u = u / u.sum()
        Z, labels = class_centres(X, codes, self.n_prototypes, self.random_state)
        is_own, n_features = codes[:, None] == labels, X.shape[1]
        n_matrices = len(Z) if self.local else 1
        shape = n_matrices, n_features, n_features

        def parts(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Prototypes, matrices of trace 1, and the lengths that they had."""
            omegas = flat[Z.size :].reshape(shape)
            lengths = np.linalg.norm(omegas, axis=(1, 2), keepdims=True)
            return flat[: Z.size].reshape(Z.shape), omegas / lengths, lengths

        def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
            W, omegas, lengths = parts(flat)
            value, of_Z, slopes = mean_cost(W, omegas, X, is_own, u)
            along = (slopes * omegas).sum(axis=(1, 2), keepdims=True)
            of_omegas = (slopes - along * omegas) / lengths
            return value, np.concatenate([of_Z.ravel(), of_omegas.ravel()])

        eyes = np.tile(np.eye(n_features), (n_matrices, 1, 1))
        start = np.concatenate([Z.ravel(), eyes.ravel()])
        limits = {"maxiter": self.max_iter}
        optimum = minimize(cost, start, jac=True, method="L-BFGS-B", options=limits)
        self.Z_, self.omega_, _ = parts(optimum.x)
        self.prototype_labels_, self.cost_ = labels, float(optimum.fun)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class of the nearest prototype."""
        nearest = matrix_distances(np.asarray(X), self.Z_, self.omega_).argmin(axis=1)
        return self.classes_[self.prototype_labels_[nearest]]
