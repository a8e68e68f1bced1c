r"""LVQ2.1 and OLVQ1 as published, in plain NumPy: what the paper compares with.

Kohonen et al.: LVQ_PAK, the learning vector quantization program package. Helsinki
University of Technology, 1996; the paper's Table 1 names LVQ2.1. Both move few
prototypes, row by row in a random order, and answer with the class of the nearest.

OLVQ1 moves the nearest prototype :math:`m_c` of a row x, towards it if the classes are
equal (s = 1) and away if not (s = -1); each prototype has a step length of its own:

.. math:: m_c \leftarrow m_c + s \alpha_c (x - m_c), \qquad
          \alpha_c \leftarrow \min\big(\alpha, \alpha_c / (1 + s \alpha_c)\big).

LVQ2.1 moves the nearest two, if one is of the row's class and the other one is not,
and the row is in the window between them: the ratio of their distances is above
:math:`(1 - w) / (1 + w)`. One comes nearer, the other goes away, by a step length that
falls to 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.baselines.gmlvq import class_centres

#: Steps for each prototype, as the package's manual has it; of LVQ2.1 also the times
#: that every row is looked at, at least: few prototypes would see few rows.
OLVQ1_STEPS, LVQ21_STEPS, PASSES = 40, 100, 5
#: Width of LVQ2.1's window.
WINDOW = 0.3


def olvq1_step(
    Z: np.ndarray, lengths: np.ndarray, longest: float, x: np.ndarray, same: np.ndarray
) -> None:
    """Move the nearest prototype, and change its step length; in place."""
    nearest = int(((Z - x) ** 2).sum(axis=1).argmin())
    sign = 1.0 if same[nearest] else -1.0
    Z[nearest] += sign * lengths[nearest] * (x - Z[nearest])
    changed = lengths[nearest] / (1.0 + sign * lengths[nearest])
    lengths[nearest] = min(longest, changed)


def lvq21_step(Z: np.ndarray, length: float, x: np.ndarray, same: np.ndarray) -> None:
    """Move the nearest two prototypes, if the row is between their classes; in
    place.
    """
    distances = np.sqrt(((Z - x) ** 2).sum(axis=1))
    near, next_ = np.argpartition(distances, 1)[:2]
    ratio = distances[near] / max(distances[next_], np.finfo(float).tiny)
    if same[near] == same[next_] or ratio <= (1.0 - WINDOW) / (1.0 + WINDOW):
        return
    for r in (near, next_):
        Z[r] += (length if same[r] else -length) * (x - Z[r])


class _Nearest:
    """Nearest prototype, moved from the centres of clusters."""

    def __init__(
        self, n_prototypes: int = 3, length: float = 0.05, random_state: int = 0
    ) -> None:
        self.n_prototypes, self.length = n_prototypes, length
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Move prototypes; the features should be of like size."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        seed = self.random_state
        self.Z_, labels = class_centres(X, codes, self.n_prototypes, seed)
        self.prototype_labels_ = labels
        rows = _drawn_rows(len(X), np.random.default_rng(seed))
        self._move(X, codes[:, None] == labels, rows)
        return self

    @abstractmethod
    def _move(self, X: np.ndarray, same: np.ndarray, rows: Iterator[int]) -> None:
        """Move the prototypes, by rows as they are drawn."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of the nearest prototype."""
        nearest = cdist(X, self.Z_, "sqeuclidean").argmin(axis=1)
        return self.classes_[self.prototype_labels_[nearest]]


class OLVQ1(_Nearest):
    """Nearest prototype, by OLVQ1 from the centres of clusters."""

    def _move(self, X: np.ndarray, same: np.ndarray, rows: Iterator[int]) -> None:
        lengths = np.full(len(self.Z_), self.length)
        for _ in range(OLVQ1_STEPS * len(self.Z_)):
            i = next(rows)
            olvq1_step(self.Z_, lengths, self.length, X[i], same[i])


class LVQ21(_Nearest):
    """Nearest prototype, by LVQ2.1 from the centres of clusters."""

    def _move(self, X: np.ndarray, same: np.ndarray, rows: Iterator[int]) -> None:
        n_steps = max(LVQ21_STEPS * len(self.Z_), PASSES * len(X))
        for step in range(n_steps):
            i = next(rows)
            lvq21_step(self.Z_, self.length * (1 - step / n_steps), X[i], same[i])


def _drawn_rows(n_rows: int, random: np.random.Generator) -> Iterator[int]:
    """All rows in a random order, again and again."""
    while True:
        yield from random.permutation(n_rows).tolist()
