r"""ProtoNN as published, in plain NumPy: prototypes in a sparse projection.

Gupta et al.: ProtoNN: Compressed and Accurate kNN for Resource-scarce Devices.
ICML 2017. Minimises the squared error of

.. math:: \hat y(x) = \sum_j z_j \exp(-\gamma^2 \|W x - b_j\|^2)

over W, b and z. The paper alternates between the three; here all move at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from smpcore.papers.small.thresholded import (
    Arrays,
    FewWeights,
    keep_columns,
    keep_largest,
    minimise,
)


@dataclass
class ProtoNN(FewWeights):
    """Prototypes in a projection, for classification."""

    projection = "W"

    n_dimensions: int = 5
    n_prototypes: int = 2
    n_features: int | None = None
    share: float = 1.0
    random_state: int = 0

    def fit(self, X: np.ndarray, y: np.ndarray) -> ProtoNN:
        """Fit standardised rows."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        Y = np.eye(len(self.classes_))[codes]
        start = self._start(X, codes)
        middle = float(np.median(_distances(X @ start["W"].T, start["B"])))
        self.gamma_ = 2.5 / np.sqrt(max(middle, 1e-12))

        def gradients(arrays: Arrays, progress: float) -> Arrays:
            return squared_error(arrays, X, Y, self.gamma_)[1]

        self.arrays_ = minimise(gradients, start, self._limits(start))
        return self

    def _start(self, X: np.ndarray, codes: np.ndarray) -> Arrays:
        """Random projection, cluster centres of each class there, and their labels."""
        random = np.random.default_rng(self.random_state)
        W = random.normal(size=(self.n_dimensions, X.shape[1])) / np.sqrt(X.shape[1])
        centres, labels = [], []
        for code in range(len(self.classes_)):
            rows = X[codes == code] @ W.T
            n = min(self.n_prototypes, len(rows))
            clusters = KMeans(n, n_init=1, random_state=self.random_state).fit(rows)
            centres.append(clusters.cluster_centers_)
            labels += [code] * n
        return {"W": W, "B": np.concatenate(centres), "Z": np.eye(code + 1)[labels]}

    def _limits(self, start: Arrays) -> dict:
        # Without its labels a class would lose its prototypes: only W is thresholded.
        n_kept = max(1, int(self.share * start["W"].size))
        limits = {"W": lambda array: keep_largest(array, n_kept)}
        if self.n_features is not None:
            limits["W"] = lambda array: keep_columns(array, self.n_features)
        return limits

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of each class, shape (n_samples, n_classes)."""
        return _similarities(self.arrays_, X, self.gamma_)[1] @ self.arrays_["Z"]


def _distances(P: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances of projected rows and prototypes."""
    return ((P[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)


def _similarities(
    arrays: Arrays, X: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Projected rows, and their similarity to each prototype."""
    P = X @ arrays["W"].T
    return P, np.exp(-(gamma**2) * _distances(P, arrays["B"]))


def squared_error(
    arrays: Arrays, X: np.ndarray, Y: np.ndarray, gamma: float
) -> tuple[float, Arrays]:
    """Mean squared error of the scores, and its gradients."""
    P, S = _similarities(arrays, X, gamma)
    B, Z = arrays["B"], arrays["Z"]
    R = S @ Z - Y
    slope = 2.0 * R / len(X)
    E = -(gamma**2) * (slope @ Z.T) * S
    to_P = 2.0 * (E.sum(axis=1)[:, None] * P - E @ B)
    to_B = 2.0 * (E.sum(axis=0)[:, None] * B - E.T @ P)
    gradients = {"W": to_P.T @ X, "B": to_B, "Z": S.T @ slope}
    return float((R**2).sum() / len(X)), gradients
