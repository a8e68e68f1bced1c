"""How alike an input and an anchor are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.solvers.similarities import SIMILARITIES, SMOOTH
from smpcore.solvers.similarities.gak import alignment_kernel
from smpcore.solvers.similarity_kind import Export, SimilarityKind

__all__ = [
    "SIMILARITIES",
    "SMOOTH",
    "Export",
    "Similarity",
    "SimilarityKind",
    "alignment_kernel",
]


#: Similarities that are mixed at once; more than that are mixed in tiles of so many
#: rows and anchors, which stay near the processor.
MOST_AT_ONCE, TILE = 2**24, (256, 512)


@dataclass(frozen=True)
class Similarity:
    """How alike an input x and an anchor z are.

    Parameters
    ----------
    kind : str
        A key of `SIMILARITIES`, whose file in `smpcore.solvers.similarities` has the
        formula.
    gamma : float
        Above 0, per squared (or absolute) scaled unit: the larger, the nearer only
        close rows are alike.
    degree : int
        At least 1: power of "poly".
    coef0 : float
        At least 0: added before the power of "poly".
    weights, widths : tuple of float
        Of each feature, for "features"; of each channel, for "gak".
    function : callable or None
        ``(X, anchors) -> (n_samples, n_anchors)``, for "callable".
    """

    kind: str = "linear"
    gamma: float = 1.0
    degree: int = 1
    coef0: float = 0.0
    weights: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    function: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        if self.kind not in SIMILARITIES:
            raise SmpcoreError(
                f"kind={self.kind!r} should be one of {sorted(SIMILARITIES)}."
            )
        if not (_is_number(self.gamma) and self.gamma > 0):
            raise SmpcoreError(f"gamma={self.gamma!r} should be a number above 0.")
        if not (_is_number(self.coef0) and self.coef0 >= 0):
            raise SmpcoreError(
                f"coef0={self.coef0!r} should be a number of at least 0."
            )
        if not (isinstance(self.degree, Integral) and self.degree >= 1):
            raise SmpcoreError(f"degree={self.degree!r} should be 1, 2, 3 or more.")
        for weight in self.weights:
            if not (_is_number(weight) and weight >= 0):
                raise SmpcoreError("weights should be numbers of at least 0.")
        for width in self.widths:
            if not (_is_number(width) and width > 0):
                raise SmpcoreError("widths should be numbers above 0.")
        if len(self.weights) != len(self.widths):
            raise SmpcoreError("weights and widths should be as many.")
        if (self.kind == "callable") != callable(self.function):
            raise SmpcoreError("function should be given for kind='callable' only.")

    def values(self, X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Similarity of each row of X to each anchor, both in scaled units."""
        return SIMILARITIES[self.kind].values(X, anchors, self)

    def mixed(
        self, X: np.ndarray, anchors: np.ndarray, mixing: np.ndarray
    ) -> np.ndarray:
        """Similarities to the anchors, mixed; of very many, some at a time."""
        values = SIMILARITIES[self.kind].values
        if len(X) * len(anchors) <= MOST_AT_ONCE:
            return values(X, anchors, self) @ mixing
        mixed = np.zeros((len(X), mixing.shape[1]), mixing.dtype)
        for row in range(0, len(X), TILE[0]):
            rows = slice(row, row + TILE[0])
            for anchor in range(0, len(anchors), TILE[1]):
                part = slice(anchor, anchor + TILE[1])
                mixed[rows] += values(X[rows], anchors[part], self) @ mixing[part]
        return mixed


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
