"""What every similarity of generated code says about itself.

A kernel adds up one total per anchor, feature by feature, then turns the total into a
similarity. Its parameters are folded into the features' factors and the anchors, so
that no constant of its own is left but the degree of a power.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from smpcore.model import PrototypeModel

#: Rounding of the float64 model, which expands |x - z|^2 and so cancels digits.
OWN = 2.0**-46

#: Arithmetic of the two similarities that one text describes.
RBF_OR_POLY = (
    "rbf: s = 2^-(sum of (t - anchor)^2); poly: s = (constant + sum of anchor * t)"
    "^degree"
)

# How far from an anchor, in the total of squares, a wrong digit shows best.
_NEAR = 0.7


class Folded(NamedTuple):
    """A kernel's constants, float64.

    Parameters
    ----------
    factor : ndarray of shape (n_features,)
        The feature's scaled value is ``factor * (x - offset)``.
    constant : ndarray of shape (n_anchors,)
        What the total of each anchor begins with.
    anchors : ndarray of shape (n_anchors, n_features)
    """

    factor: np.ndarray
    constant: np.ndarray
    anchors: np.ndarray


class Kernel(ABC):
    """One similarity; the methods work on arrays of shape (n, n_anchors)."""

    #: Whether the similarity is 2^-total, so that its table of coefficients is needed.
    is_exponential: ClassVar[bool]
    #: Lines of C that add feature `{value}` and anchor entry `{anchor}` to `total`.
    C_STEP: ClassVar[tuple[str, ...]]
    #: Chip -> least and most flash of the code, as measured.
    CODE_BYTES: ClassVar[dict[str, tuple[int, int]]]
    #: Its formula, for a reader of the JSON text.
    ARITHMETIC: ClassVar[str]

    def beside(self, n_features: int) -> float:
        """How far off an anchor, in each feature, its wrong digits show best."""
        return float(np.sqrt(_NEAR / n_features))

    @abstractmethod
    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Fold scaling and parameters into factors, constants and anchors."""

    @abstractmethod
    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Features that can change a similarity, bool of shape (n_features,)."""

    @abstractmethod
    def add(self, total: np.ndarray, value: np.ndarray, anchor: np.ndarray):
        """Total with one more feature."""

    @abstractmethod
    def similarity(self, total: np.ndarray, degree: int) -> np.ndarray:
        """Similarity of a total, any float type."""

    @abstractmethod
    def largest(self, total: np.ndarray, degree: int) -> np.ndarray:
        """Largest similarity where the total is at most this far from 0."""

    @abstractmethod
    def total_error(
        self, value: np.ndarray, anchor: np.ndarray, error: np.ndarray, reach: float
    ) -> np.ndarray:
        """Error of one feature's share of a total; `error` is that of the value."""

    @abstractmethod
    def error(self, total: np.ndarray, off: np.ndarray, degree: int) -> np.ndarray:
        """Error of a similarity whose total is at most `off` away."""
