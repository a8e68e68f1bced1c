r"""GMLVQ as published, in plain NumPy: nearest prototypes in a learned distance.

Schneider, Biehl, Hammer: Adaptive relevance matrices in learning vector quantization.
Neural Computation 21, 2009. With the distance

.. math:: d(x, w) = (x - w)^T \Omega^T \Omega (x - w)

of a row to the nearest prototype of its class, :math:`d_+`, and to the nearest of
another class, :math:`d_-`, it minimises the mean of

.. math:: \mu = (d_+ - d_-) / (d_+ + d_-)

over prototypes and :math:`\Omega`. The paper goes down the gradient row by row, with a
trace of 1; as :math:`\mu` does not depend on the trace, here L-BFGS goes down the
gradient of all rows, and the trace is set to 1 at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin

from smpcore.methods.shared.starts import cluster_rows


def class_centres(
    X: np.ndarray, codes: np.ndarray, n_prototypes: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the clusters of each class, by k-means."""
    tied, labels = cluster_rows(X, codes, np.ones(len(X)), n_prototypes, seed)
    return np.array([X[tied == r].mean(axis=0) for r in range(len(labels))]), labels


def squared_distances(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Squared Euclidean distance of each row of P to each of Q."""
    distances = (P**2).sum(axis=1)[:, None] - 2.0 * P @ Q.T + (Q**2).sum(axis=1)
    return np.maximum(distances, 0.0)


def mean_cost(
    Z: np.ndarray,
    omega: np.ndarray,
    X: np.ndarray,
    is_own: np.ndarray,
    weights: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean of mu, and its gradients."""
    distances = squared_distances(X @ omega.T, Z @ omega.T)
    of_Z, of_omega, rows = np.zeros_like(Z), np.zeros_like(omega), np.arange(len(X))
    nearest = [
        np.where(side, distances, np.inf).argmin(axis=1) for side in (is_own, ~is_own)
    ]
    plus, minus = (distances[rows, places] for places in nearest)
    total = np.maximum(plus + minus, 1e-30)  # of a row that lies on both, mu is 0
    # Derivatives of mu by both distances; those of a distance are linear in x - w.
    slopes = 2.0 * minus / total**2, -2.0 * plus / total**2
    for places, slope in zip(nearest, slopes, strict=True):
        E = X - Z[places]
        pulled = (weights * slope)[:, None] * E
        of_omega += 2.0 * omega @ (pulled.T @ E)
        np.subtract.at(of_Z, places, 2.0 * pulled @ (omega.T @ omega))
    return float(weights @ ((plus - minus) / total)), of_Z, of_omega


@dataclass(eq=False, repr=False)
class GMLVQ(ClassifierMixin, BaseEstimator):
    """Nearest prototype in a learned distance; from the centres of clusters."""

    n_prototypes: int = 1  # of each class
    max_iter: int = 200
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GMLVQ:
        """Move prototypes and distance from the centres of clusters."""
        X = np.asarray(X, dtype=float)
        self.classes_, codes = np.unique(y, return_inverse=True)
        u = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        u = u / u.sum()
        Z, labels = class_centres(X, codes, self.n_prototypes, self.random_state)
        is_own = codes[:, None] == labels

        def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, of_Z, of_omega = mean_cost(*_parts(flat, Z.shape), X, is_own, u)
            return value, np.concatenate([of_Z.ravel(), of_omega.ravel()])

        start = np.concatenate([Z.ravel(), np.eye(Z.shape[1]).ravel()])
        limits = {"maxiter": self.max_iter}
        optimum = minimize(cost, start, jac=True, method="L-BFGS-B", options=limits)
        self.Z_, omega = _parts(optimum.x, Z.shape)
        self.omega_ = omega / np.linalg.norm(omega)
        self.prototype_labels_, self.cost_ = labels, float(optimum.fun)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class of the nearest prototype."""
        P, Q = (np.asarray(rows) @ self.omega_.T for rows in (X, self.Z_))
        nearest = squared_distances(P, Q).argmin(axis=1)
        return self.classes_[self.prototype_labels_[nearest]]


def _parts(flat: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Prototypes and omega of the one vector that L-BFGS moves."""
    n_all, n_features = shape
    n = n_all * n_features
    return flat[:n].reshape(shape), flat[n:].reshape(n_features, n_features)
