r"""Sparse kernelised generalised LVQ, the paper's AKGLVQ.

Schleif, Villmann, Hammer, Schneider: Efficient kernelized prototype based
classification. International Journal of Neural Systems 21(6), 2011.

=========  ===========  ========  ======================================================
symbol     name         shape     meaning
=========  ===========  ========  ======================================================
gamma_j    U            (c, N)    a prototype as a mix of training rows: rows here
K          K            (N, N)    kernel of the training rows, 1 on the diagonal
d_j(x)     D            (N, c)    squared distance of a row to a prototype in feature
                                  space: k(x, x) - 2 (K gamma_j)(x) + gamma_j' K gamma_j
d+, d-                  (N,)      to the nearest prototype of its class, of another one
E                       number    mean over rows of (d+ - d-) / (d+ + d-)
=========  ===========  ========  ======================================================

Coefficients are at least 0 and sum to 1, so that a prototype lies among its rows and
the paper's IP means something. Steps follow the gradient of all rows at once and are
projected; a step that does not lower E is halved. Then each prototype keeps its
largest coefficients, and the steps go on with these. The authors take the kernel's
Nyström approximation for many rows; here it is whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.baselines.gmlvq import glvq_cost
from smpcore.methods.imkpl.fit import ridge_weights
from smpcore.methods.imkpl.problem import medoid_prototypes
from smpcore.papers.imkpl.averaged import AveragedKernel, unit_length

#: Steps before and after coefficients are left out, and the least change of E.
N_STEPS, LEAST = 100, 1e-5


def cost_and_gradient(
    U: np.ndarray, K: np.ndarray, same_class: np.ndarray
) -> tuple[float, np.ndarray]:
    """E and its gradient in the coefficients."""
    KU = K @ U.T
    D = K.diagonal()[:, None] - 2.0 * KU + np.einsum("ij,ji->i", U, KU)
    value, slopes = glvq_cost(D, same_class, np.full(len(K), 1.0 / len(K)))
    gradient = 2.0 * (slopes.sum(axis=0) * KU - K @ slopes)
    return value, gradient.T


@dataclass
class AKGLVQ:
    """Nearest prototype in the feature space of the averaged kernel."""

    n_prototypes: int = 2
    size: int = 10
    kernels: str = "features"
    n_channels: int = 1

    def fit(self, X: np.ndarray, y: np.ndarray) -> AKGLVQ:
        """Fit rows with labels."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self.kernel_ = AveragedKernel.of(X[order], self.kernels, self.n_channels)
        self.y_encoded_, K = codes[order], self.kernel_.K
        start = medoid_prototypes(
            K, self.y_encoded_, np.ones(len(K)), self.n_prototypes, len(K)
        )
        start /= start.sum(axis=1, keepdims=True)
        self.labels_ = np.array([self.y_encoded_[u.argmax()] for u in start])
        same_class = self.y_encoded_[:, None] == self.labels_
        whole = descend(start, K, same_class, np.ones(start.shape, dtype=bool))
        falling = np.argsort(-whole, axis=1, kind="stable")
        allowed = np.zeros(start.shape, dtype=bool)
        np.put_along_axis(allowed, falling[:, : self.size], True, axis=1)
        few = np.where(allowed, whole, 0.0)
        few = descend(few / few.sum(axis=1, keepdims=True), K, same_class, allowed)
        self.mixes_, self.U_ = few, unit_length(few, K)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of the nearest prototype."""
        lengths = np.einsum("ij,ij->i", self.mixes_ @ self.kernel_.K, self.mixes_)
        D = lengths - 2.0 * self.kernel_.values(X) @ self.mixes_.T
        return self.classes_[self.labels_[D.argmin(axis=1)]]


def descend(
    U: np.ndarray, K: np.ndarray, same_class: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """Lower E by projected gradient steps on the coefficients that are allowed."""
    step, (value, gradient) = 1.0, cost_and_gradient(U, K, same_class)
    for _ in range(N_STEPS):
        while True:
            moved = np.zeros_like(U)
            for u, row, use in zip(moved, U - step * gradient, allowed, strict=True):
                u[use] = ridge_weights(-row[use], 1.0)  # the nearest with sum 1
            lower, slopes = cost_and_gradient(moved, K, same_class)
            if lower <= value or step < 1e-9:
                break
            step /= 2.0
        change, step = value - lower, 2.0 * step
        if change < 0.0:
            break
        U, value, gradient = moved, lower, slopes
        if change < LEAST:
            break
    return U
