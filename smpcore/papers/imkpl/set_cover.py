r"""Prototype selection by covering, the paper's PS in its distance-based form.

Bien, Tibshirani: Prototype selection for interpretable classification. Annals of
Applied Statistics 5(4), 2011.

For each class l rows are chosen so that balls of radius epsilon around them cover the
rows of l and few others: minimise the sum over rows of (1 if no ball of its class
covers it) + (balls of other classes that cover it) + lambda times the number of balls,
lambda = 1 / n. The greedy algorithm of Section 3.2 is here: it takes the ball that
lowers the sum most until none does. A new row gets the class of the nearest prototype.
"""

from __future__ import annotations

import numpy as np

from smpcore.papers.imkpl.averaged import AveragedKernel, unit_length


def cover(D: np.ndarray, y_encoded: np.ndarray, radius: float) -> list[tuple[int, int]]:
    """Choose balls of all classes."""
    covers, chosen = D < radius, []
    for label in range(y_encoded.max() + 1):
        same_class = y_encoded == label
        wrong = covers[:, ~same_class].sum(axis=1)
        uncovered = same_class.copy()
        while True:
            gains = covers[:, uncovered].sum(axis=1) - wrong - 1.0 / len(D)
            best = int(gains.argmax())
            if gains[best] <= 0.0:
                break
            chosen.append((best, label))
            uncovered &= ~covers[best]
    return chosen


class SetCoverPrototypes:
    """Nearest selected row in the feature space of the averaged kernel."""

    def __init__(
        self, share: float = 0.1, kernels: str = "features", n_channels: int = 1
    ) -> None:
        self.share, self.kernels, self.n_channels = share, kernels, n_channels

    def fit(self, X: np.ndarray, y: np.ndarray) -> SetCoverPrototypes:
        """Select among rows with labels."""
        self.classes_, self.y_encoded_ = np.unique(y, return_inverse=True)
        self.kernel_ = AveragedKernel.of(X, self.kernels, self.n_channels)
        K = self.kernel_.K
        D = np.sqrt(np.maximum(2.0 - 2.0 * K, 0.0))
        pairs = D[np.triu_indices(len(D), 1)]
        radius = max(float(np.quantile(pairs, self.share)), 1e-9)
        chosen = cover(D, self.y_encoded_, radius)
        # None is chosen where every ball covers more rows of other classes.
        chosen = chosen or [(int(K.sum(axis=1).argmax()), 0)]
        self.rows_, self.labels_ = np.array(chosen).T
        self.U_ = unit_length((D[self.rows_] < radius).astype(float), K)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of the nearest selected row."""
        nearest = self.kernel_.values(X)[:, self.rows_].argmax(axis=1)
        return self.classes_[self.labels_[nearest]]
