"""How alike an input and an anchor are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smpcore.errors import SmpcoreError


def _linear(X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    return X @ anchors.T


#: The similarities a model may use: name -> (X, anchors) -> (n_samples, n_anchors).
SIMILARITIES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "linear": _linear
}


@dataclass(frozen=True)
class Similarity:
    """How alike an input and an anchor are.

    Parameters
    ----------
    kind : str
        A key of `SIMILARITIES`.
    """

    kind: str = "linear"

    def __post_init__(self) -> None:
        if self.kind not in SIMILARITIES:
            raise SmpcoreError(
                f"kind={self.kind!r} should be one of {sorted(SIMILARITIES)}."
            )

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
        return SIMILARITIES[self.kind](X, anchors)
