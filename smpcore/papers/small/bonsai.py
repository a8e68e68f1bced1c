r"""Bonsai as published, in plain NumPy: a small tree in a sparse projection.

Kumar, Goyal, Varma: Resource-efficient Machine Learning in 2 KB RAM for the Internet of
Things. ICML 2017. Every node on a row's path adds to its score,

.. math:: \hat y(x) = \sum_k I_k(x)\, W_k Z x \circ \tanh(\sigma V_k Z x) ,

and node k sends a row to its second child where :math:`\theta_k \cdot Z x > 0`. While
it is trained, a row takes all paths with weights from tanh, which become steeper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from smpcore.papers.small.thresholded import (
    Arrays,
    FewWeights,
    keep_columns,
    keep_largest,
    minimise,
)

#: sigma of the scores, and the steepness of branches at the start and end of training.
SIGMA, SOFTEST, STEEPEST = 1.0, 1.0, 30.0


@dataclass
class Bonsai(FewWeights):
    """A tree whose nodes all score, for classification."""

    projection = "Z"

    depth: int = 2
    n_dimensions: int = 5
    n_features: int | None = None
    share: float = 1.0
    ridge: float = 1e-3
    random_state: int = 0

    def fit(self, X: np.ndarray, y: np.ndarray) -> Bonsai:
        """Fit standardised rows."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        # Two classes need one score: that of the first one is 0.
        n_scores = 1 if n_classes == 2 else n_classes
        random = np.random.default_rng(self.random_state)
        n_nodes, d = 2 ** (self.depth + 1) - 1, self.n_dimensions
        start = {
            "Z": random.normal(size=(d, X.shape[1])) / np.sqrt(X.shape[1]),
            "W": random.normal(size=(n_nodes, n_scores, d)) / np.sqrt(d),
            "V": random.normal(size=(n_nodes, n_scores, d)) / np.sqrt(d),
            "theta": random.normal(size=(n_nodes // 2, d)) / np.sqrt(d),
        }

        def gradients(arrays: Arrays, progress: float) -> Arrays:
            steepness = SOFTEST * (STEEPEST / SOFTEST) ** progress
            return loss_and_gradients(arrays, X, codes, steepness, self.ridge)[1]

        self.arrays_ = minimise(gradients, start, self._limits(start))
        return self

    def _limits(self, start: Arrays) -> dict:
        limits = {}
        if self.share < 1.0:
            for name, array in start.items():
                n = max(1, int(self.share * array.size))
                limits[name] = lambda array, n=n: keep_largest(array, n)
        if self.n_features is not None:
            limits["Z"] = lambda array: keep_columns(array, self.n_features)
        return limits

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of each class, shape (n_samples, n_classes): one path for a row."""
        return _with_zero(forward(self.arrays_, X, np.inf)["scores"])


def _with_zero(scores: np.ndarray) -> np.ndarray:
    """Scores of all classes: of two, the first one has 0."""
    return scores if scores.shape[1] > 1 else np.pad(scores, ((0, 0), (1, 0)))


def forward(arrays: Arrays, X: np.ndarray, steepness: float) -> Arrays:
    """What the tree makes of rows."""
    P = X @ arrays["Z"].T
    turns = P @ arrays["theta"].T
    turns = np.sign(turns) if np.isinf(steepness) else np.tanh(steepness * turns)
    turns = np.where(turns == 0.0, -1.0, turns) if np.isinf(steepness) else turns
    reach = np.ones((len(X), len(arrays["W"])))
    for k in range(1, reach.shape[1]):
        parent = (k - 1) // 2
        reach[:, k] = 0.5 * reach[:, parent] * (1.0 + _side(k) * turns[:, parent])
    linear = np.einsum("id,kld->ikl", P, arrays["W"])
    bent = np.tanh(SIGMA * np.einsum("id,kld->ikl", P, arrays["V"]))
    scores = np.einsum("ik,ikl->il", reach, linear * bent)
    return {
        "P": P,
        "turns": turns,
        "reach": reach,
        "linear": linear,
        "bent": bent,
        "scores": scores,
    }


def _side(node: int) -> float:
    """-1 for a first child, 1 for a second one."""
    return -1.0 if node % 2 else 1.0


def loss_and_gradients(
    arrays: Arrays, X: np.ndarray, codes: np.ndarray, steepness: float, ridge: float
) -> tuple[float, Arrays]:
    """Mean logistic loss with a ridge, and its gradients."""
    at, rows = forward(arrays, X, steepness), np.arange(len(X))
    logs = log_softmax(_with_zero(at["scores"]), axis=1)
    loss = -logs[rows, codes].mean()
    loss += 0.5 * ridge * sum(float((array**2).sum()) for array in arrays.values())
    slope = np.exp(logs)
    slope[rows, codes] -= 1.0
    slope = slope[:, -at["scores"].shape[1] :] / len(X)
    reach, turns = at["reach"], at["turns"]
    to_linear = slope[:, None, :] * reach[:, :, None] * at["bent"]
    to_bent = slope[:, None, :] * reach[:, :, None] * at["linear"]
    to_bent = to_bent * SIGMA * (1.0 - at["bent"] ** 2)
    to_reach = np.einsum("il,ikl->ik", slope, at["linear"] * at["bent"])
    to_turns = np.zeros_like(turns)
    for k in range(reach.shape[1] - 1, 0, -1):
        parent, half = (k - 1) // 2, 0.5 * to_reach[:, k]
        to_turns[:, parent] += half * _side(k) * reach[:, parent]
        to_reach[:, parent] += half * (1.0 + _side(k) * turns[:, parent])
    to_theta = to_turns * steepness * (1.0 - turns**2)
    to_P = to_theta @ arrays["theta"]
    to_P += np.einsum("ikl,kld->id", to_linear, arrays["W"])
    to_P += np.einsum("ikl,kld->id", to_bent, arrays["V"])
    gradients = {
        "Z": to_P.T @ X,
        "W": np.einsum("ikl,id->kld", to_linear, at["P"]),
        "V": np.einsum("ikl,id->kld", to_bent, at["P"]),
        "theta": to_theta.T @ at["P"],
    }
    return float(loss), {
        name: slope + ridge * arrays[name] for name, slope in gradients.items()
    }
