"""What ProtoNN and Bonsai share: gradient steps under a limit on what is not zero.

Both papers take three thirds of the steps: with all weights, then with hard
thresholding after every step, then on the support that has come out of it. Theirs are
stochastic gradients; here all rows are looked at, with Adam's step lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

#: Arrays of a model by name.
Arrays = dict[str, np.ndarray]
#: Bytes of a weight, and of its place where only weights that are not zero are stored.
WEIGHT, PLACE = 4, 2


def keep_largest(array: np.ndarray, n_kept: int) -> np.ndarray:
    """Whether each entry is among the largest in size."""
    order = np.argsort(-np.abs(array), axis=None, kind="stable")
    chosen = np.zeros(array.size, dtype=bool)
    chosen[order[:n_kept]] = True
    return chosen.reshape(array.shape)


def keep_columns(array: np.ndarray, n_kept: int) -> np.ndarray:
    """Whether each entry is in one of the columns with the largest norms."""
    chosen = keep_largest(np.linalg.norm(array, axis=0), n_kept)
    return np.broadcast_to(chosen, array.shape)


def minimise(
    gradients: Callable[[Arrays, float], Arrays],
    start: Arrays,
    limits: Mapping[str, Callable[[np.ndarray], np.ndarray]],
    n_steps: int = 600,
    rate: float = 0.03,
) -> Arrays:
    """Take gradient steps; some arrays keep only a part of their entries."""
    arrays = {name: array.copy() for name, array in start.items()}
    first = {name: np.zeros_like(array) for name, array in start.items()}
    second = {name: np.zeros_like(array) for name, array in start.items()}
    support: Arrays = {}
    for t in range(n_steps):
        slopes = gradients(arrays, t / n_steps)
        for name, slope in slopes.items():
            first[name] += 0.1 * (slope - first[name])
            second[name] += 0.001 * (slope**2 - second[name])
            mean = first[name] / (1.0 - 0.9 ** (t + 1))
            size = np.sqrt(second[name] / (1.0 - 0.999 ** (t + 1)))
            arrays[name] -= rate * 0.1 ** (t / n_steps) * mean / (size + 1e-12)
        for name, chosen in limits.items():
            if 3 * t >= n_steps and (3 * t < 2 * n_steps or name not in support):
                support[name] = chosen(arrays[name])
            if name in support:
                arrays[name] *= support[name]
    return arrays


class FewWeights:
    """What a fitted model of such arrays answers, and what it takes."""

    #: Name of the array that projects the features.
    projection: str

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class with the highest score."""
        return self.classes_[self.scores(X).argmax(axis=1)]

    @property
    def n_bytes(self) -> int:
        """Bytes of its weights."""
        return n_bytes(self.arrays_)

    @property
    def features(self) -> np.ndarray:
        """Places of the features that it uses."""
        return np.flatnonzero(self.arrays_[self.projection].any(axis=0))


def n_bytes(arrays: Arrays) -> int:
    """Bytes of a model: each array with all weights, or with places, if that is
    less.
    """
    return sum(
        min(WEIGHT * array.size, (WEIGHT + PLACE) * int(np.count_nonzero(array)))
        for array in arrays.values()
    )
