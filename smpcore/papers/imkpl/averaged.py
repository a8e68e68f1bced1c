"""The averaged kernel, on which single-kernel baselines work, and IP there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from smpcore.methods.imkpl.kinds_of_kernels import base_kernels, model_kernel
from smpcore.methods.imkpl.problem import screen
from smpcore.similarity import Similarity


@dataclass(frozen=True, eq=False)
class AveragedKernel:
    """The mean of the base kernels of training rows, 1 on the diagonal."""

    X: np.ndarray
    similarity: Similarity
    K: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, kernels: str = "features", n_channels: int = 1) -> Self:
        """Average the kernels of rows; names as in `IMKPLClassifier`."""
        each, columns = np.ones(len(X)), np.empty((0, len(X)), dtype=np.int64)
        base = base_kernels(kernels, X, each, columns, n_channels, 0)
        _, active, K = screen(base)
        even = active / active.sum()
        similarity, rows = model_kernel(kernels, base, even, X, columns)
        return cls(rows, similarity, K)

    def values(self, X: np.ndarray) -> np.ndarray:
        """Kernel values of rows with the training rows."""
        return self.similarity.values(X, self.X)


class KernelNeighbours:
    """k nearest training rows in the feature space of the averaged kernel vote."""

    def __init__(
        self, n_neighbors: int = 5, kernels: str = "features", n_channels: int = 1
    ) -> None:
        self.n_neighbors, self.kernels = n_neighbors, kernels
        self.n_channels = n_channels

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Keep rows with labels."""
        self.classes_, self.y_encoded_ = np.unique(y, return_inverse=True)
        self.kernel_ = AveragedKernel.of(X, self.kernels, self.n_channels)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most frequent class of the neighbours; of several, the first."""
        order = np.argsort(-self.kernel_.values(X), axis=1, kind="stable")
        nearest = self.y_encoded_[order[:, : self.n_neighbors]]
        votes = np.eye(len(self.classes_))[nearest].sum(axis=1)
        return self.classes_[votes.argmax(axis=1)]


def unit_length(U: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Mixes of rows, a row each, scaled to length 1 in feature space."""
    return U / np.sqrt(np.einsum("ij,ij->i", U @ K, U))[:, None]


def interpretability_of(
    U: np.ndarray, K: np.ndarray, y_encoded: np.ndarray
) -> np.ndarray:
    """IP of mixes of rows by its formula in Section 5.2.1, in percent."""
    shares = U @ np.eye(y_encoded.max() + 1)[y_encoded]
    purity = shares.max(axis=1) / shares.sum(axis=1)
    spread = np.einsum("is,st,it->i", U, 2.0 - 2.0 * K, U, optimize=True)
    return 100.0 * purity * np.exp(-spread)
