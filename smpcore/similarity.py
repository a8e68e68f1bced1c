"""How alike an input and an anchor are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from smpcore.errors import SmpcoreError


def _linear(X: np.ndarray, anchors: np.ndarray, how: Similarity) -> np.ndarray:
    return X @ anchors.T


def _rbf(X: np.ndarray, anchors: np.ndarray, how: Similarity) -> np.ndarray:
    apart = -2.0 * (X @ anchors.T)
    apart += np.einsum("ij,ij->i", X, X)[:, None]
    apart += np.einsum("ij,ij->i", anchors, anchors)
    np.maximum(apart, 0.0, out=apart)
    return np.exp(-how.gamma * apart, out=apart)


def _poly(X: np.ndarray, anchors: np.ndarray, how: Similarity) -> np.ndarray:
    return (how.gamma * (X @ anchors.T) + how.coef0) ** how.degree


#: The similarities a model may use: name -> (X, anchors, parameters) -> values.
SIMILARITIES: dict[str, Callable[[np.ndarray, np.ndarray, Similarity], np.ndarray]] = {
    "linear": _linear,
    "rbf": _rbf,
    "poly": _poly,
}


@dataclass(frozen=True)
class Similarity:
    """How alike an input x and an anchor z are.

    ==========  =====================================
    ``linear``  ``x . z``
    ``rbf``     ``exp(-gamma * |x - z|^2)``
    ``poly``    ``(gamma * x . z + coef0) ** degree``
    ==========  =====================================

    Parameters
    ----------
    kind : str
        A key of `SIMILARITIES`.
    gamma : float
        Above 0.
    degree : int
        At least 1.
    coef0 : float
        At least 0.
    """

    kind: str = "linear"
    gamma: float = 1.0
    degree: int = 1
    coef0: float = 0.0

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

    def values(self, X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Similarity of each row of X to each anchor.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), scaled units
        anchors : ndarray of shape (n_anchors, n_features), scaled units

        Returns
        -------
        ndarray of shape (n_samples, n_anchors)
        """
        return SIMILARITIES[self.kind](X, anchors, self)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
