"""Branch and bound over supports: parts of the search, and a bound that divides them.

A part of the search has a state for each weight: in, out or free.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

#: Entries of a support: the weight is 0, may be one of the k, is one of them.
OUT, FREE, IN = 0.0, 1.0, 2.0


class Cut(NamedTuple):
    """A lower bound of every model: what each weight that is in may gain."""

    constant: float
    gains: np.ndarray

    def bound(self, support: np.ndarray, k: int) -> float:
        """Objective of any model with k weights a prototype on a support, at least."""
        total = self.constant
        for gains, row in zip(self.gains, support, strict=True):
            free = np.sort(gains[row == FREE])
            left = max(k - np.count_nonzero(row == IN), 0)
            total -= gains[row == IN].sum() + free[len(free) - left :].sum()
        return float(total)

    def children(
        self, support: np.ndarray, k: int, ceiling: float
    ) -> Iterator[np.ndarray]:
        """The parts of a node that the bound leaves open.

        Weights whose other value would lift the bound above the ceiling are fixed. Then
        the one that gains most is in, or out; if none is free, the node is one part.
        """
        slack, support = ceiling - self.bound(support, k), support.copy()
        for gains, row in zip(self.gains, support, strict=True):
            free, left = np.flatnonzero(row == FREE), k - np.count_nonzero(row == IN)
            if len(free):
                order = free[np.argsort(-gains[free], kind="stable")]
                inside, outside = order[:left], order[left:]
                row[inside[gains[inside] - gains[outside[0]] > slack]] = IN
                row[outside[gains[inside[-1]] - gains[outside] > slack]] = OUT
            _settle(row, k)
        free = support == FREE
        if not free.any():
            yield support
            return
        best = np.argmax(np.where(free, self.gains, -1.0))
        place = np.unravel_index(best, support.shape)
        for state in (IN, OUT):
            child = support.copy()
            child[place] = state
            _settle(child[place[0]], k)
            yield child


def _settle(row: np.ndarray, k: int) -> None:
    """Fix the free weights of a prototype where k are in, or only k are left."""
    if np.count_nonzero(row == IN) == k:
        row[row == FREE] = OUT
    elif np.count_nonzero(row) == k:
        row[row == FREE] = IN
