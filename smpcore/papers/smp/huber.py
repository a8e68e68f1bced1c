r"""A linear classifier with the Huber loss of two classes, which no library has.

Minimises, over w and b, with z_i = y_i (w . x_i + b) and y_i = 1 or -1,

.. math:: \frac1m\sum_i \ell(z_i) + \mu\|w\|_1 + \frac{\nu}{2}\|w\|_2^2 ,

the loss being max(0, 1 - z)^2 for z >= -1 and -4 z below. It is one of the baselines in
Figure 2 of Garg, Dekel, Xiao (UAI 2018), solved here by FISTA in plain NumPy.
"""

from __future__ import annotations

import numpy as np


def huber_loss(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss at z and its slope, both of the shape of z."""
    short = np.clip(1.0 - z, 0.0, 2.0)
    return short * (np.maximum(1.0 - z, 0.0) * 2.0 - short), -2.0 * short


class HuberClassifier:
    """Linear classifier of two classes with the Huber loss and an elastic net."""

    def __init__(
        self, l1: float, l2: float, tol: float = 1e-6, max_iter: int = 5000
    ) -> None:
        self.l1, self.l2, self.tol, self.max_iter = l1, l2, tol, max_iter

    def fit(self, X: np.ndarray, y: np.ndarray) -> HuberClassifier:
        """Fit rows of two classes; the second one is positive."""
        self.classes_ = np.unique(y)
        sign = np.where(y == self.classes_[1], 1.0, -1.0)
        rows = np.column_stack([X, np.ones(len(X))]) * sign[:, None]
        free = np.arange(rows.shape[1]) == X.shape[1]
        l1, l2 = np.where(free, 0.0, self.l1), np.where(free, 0.0, self.l2)
        # The loss has a curvature of at most 2.
        step = 0.5 / max(np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1], 1e-12)
        w = v = np.zeros(rows.shape[1])
        t = 1.0
        for _ in range(self.max_iter):
            slope = rows.T @ huber_loss(rows @ v)[1] / len(rows)
            u = v - step * slope
            new = np.sign(u) * np.maximum(np.abs(u) - step * l1, 0) / (1 + step * l2)
            change = new - w
            if (v - new) @ change > 0.0:
                t = 1.0  # the momentum points uphill
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            v, w, t = new + (t - 1.0) / grown * change, new, grown
            if np.abs(change).max() <= self.tol:
                break
        self.coef_, self.intercept_ = w[:-1], float(w[-1])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of each row."""
        return self.classes_[(X @ self.coef_ + self.intercept_ > 0.0).astype(int)]
