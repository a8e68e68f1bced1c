"""The similarities that generated code computes: folding, arithmetic, bound and C.

A kernel adds up one total per anchor, feature by feature, then turns the total into a
similarity. Its parameters are folded into the features' factors and the anchors, so
that no constant of its own is left but the degree of a power.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from smpcore.codegen.inputs import UNIT
from smpcore.model import PrototypeModel

#: From here on 2^-u counts as 0: below it a product could leave the normal floats.
CUTOFF = np.float32(125.5)

#: 2^-f for |f| <= 1/2, highest power first: minimax of relative error, and exact at 0.
EXP2 = np.array(
    [-1.32639776e-3, 9.67186689e-3, -5.55075742e-2, 0.24022235, -0.693146944, 1.0],
    dtype=np.float32,
)

#: Largest relative error of `exp2_minus`: 3.1 units were found over all arguments.
EXP2_ERROR = 4 * UNIT

# Rounding of the float64 model, which expands |x - z|^2 and so cancels digits.
_OWN = 2.0**-46


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


def exp2_minus(u: np.ndarray) -> np.ndarray:
    """2^-u in float32, in the operations that every back end repeats.

    Parameters
    ----------
    u : ndarray, float32
        At least 0; a NaN stays one.

    Returns
    -------
    ndarray, float32
    """
    inside = u < CUTOFF
    small = np.where(inside, u, np.float32(0))
    whole = np.floor(small + np.float32(0.5))
    rest = small - whole
    power = np.full_like(rest, EXP2[0])
    for coefficient in EXP2[1:]:
        power = power * rest + coefficient
    power = np.ldexp(power, -whole.astype(np.int32))
    return np.where(inside, power, np.where(np.isnan(u), u, np.float32(0)))


class Kernel(ABC):
    """One similarity; the methods work on arrays of shape (n, n_anchors)."""

    #: Whether the similarity is 2^-total, so that its table of coefficients is needed.
    is_exponential: ClassVar[bool]
    #: Lines of C that add feature `{value}` and anchor entry `{anchor}` to `total`.
    C_STEP: ClassVar[tuple[str, ...]]
    #: Chip -> least and most flash of the code, as measured.
    CODE_BYTES: ClassVar[dict[str, tuple[int, int]]]

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


class Rbf(Kernel):
    """``exp(-gamma |x - z|^2)`` as ``2^-u`` with ``u`` the sum of (t - a)^2."""

    is_exponential = True
    CODE_BYTES: ClassVar = {"ATmega328P": (1500, 2000), "Cortex-M0": (3300, 3700)}
    C_STEP = (
        "const float apart = {value} - {anchor};",
        "",
        "total += apart * apart;",
    )

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Fold the root of gamma log2(e) into both sides of the difference."""
        factor = np.sqrt(model.similarity.gamma * np.log2(np.e)) / model.scale
        scale = factor * model.scale
        anchors = scale * model.anchors + factor * (model.center - offset)
        return Folded(factor, np.zeros(len(anchors)), anchors)

    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Every feature: one that all anchors share still moves all similarities."""
        return np.ones(model.n_features, dtype=bool)

    def add(self, total: np.ndarray, value: np.ndarray, anchor: np.ndarray):
        """Add a squared difference."""
        apart = value - anchor
        return total + apart * apart

    def similarity(self, total: np.ndarray, degree: int) -> np.ndarray:
        """2^-total; in float64 by the library."""
        return exp2_minus(total) if total.dtype == np.float32 else np.exp2(-total)

    def largest(self, total: np.ndarray, degree: int) -> np.ndarray:
        """1 at no distance."""
        return np.ones_like(total)

    def total_error(
        self, value: np.ndarray, anchor: np.ndarray, error: np.ndarray, reach: float
    ) -> np.ndarray:
        """2|t - a|e + e^2 and the square's rounding."""
        apart = np.abs(value - anchor)
        off = error + UNIT * np.abs(anchor) + UNIT * apart
        own = _OWN * (value**2 + anchor**2 + reach**2)
        return 2 * apart * off + off**2 + UNIT * (apart + off) ** 2 + own

    def error(self, total: np.ndarray, off: np.ndarray, degree: int) -> np.ndarray:
        """2^-u (2^off (1 + error of exp2) - 1), and what the cutoff takes away."""
        rest = 2.0 ** (1 - float(CUTOFF))
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.expm1(np.log(2) * off + np.log1p(EXP2_ERROR))
            change = np.exp2(-total) * grown
        # Both similarities are at most 1, however far a total is off.
        return np.where(change < 1, change, 1) + rest


class Poly(Kernel):
    """``(gamma x . z + coef0)^degree``, multiplied out."""

    is_exponential = False
    CODE_BYTES: ClassVar = {"ATmega328P": (1100, 1600), "Cortex-M0": (2200, 3000)}
    C_STEP = ("total += {anchor} * {value};",)

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Fold scaling and gamma into the anchors, the centre into the constants."""
        how = model.similarity
        anchors = how.gamma * model.anchors / model.scale
        constant = how.coef0 - anchors @ (model.center - offset)
        return Folded(np.ones(model.n_features), constant, anchors)

    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Features that are not 0 in every anchor."""
        return (model.anchors != 0).any(axis=0)

    def add(self, total: np.ndarray, value: np.ndarray, anchor: np.ndarray):
        """Add a product."""
        return total + anchor * value

    def similarity(self, total: np.ndarray, degree: int) -> np.ndarray:
        """The total multiplied by itself."""
        power = total
        for _ in range(degree - 1):
            power = power * total
        return power

    def largest(self, total: np.ndarray, degree: int) -> np.ndarray:
        """Power of the largest total."""
        return self.similarity(total, degree)

    def total_error(
        self, value: np.ndarray, anchor: np.ndarray, error: np.ndarray, reach: float
    ) -> np.ndarray:
        """|a|e and the rounding of anchor and product."""
        size = np.abs(anchor) + 1e-45
        return size * error + 2.01 * UNIT * size * np.abs(value) + _OWN * size * reach

    def error(self, total: np.ndarray, off: np.ndarray, degree: int) -> np.ndarray:
        """(|total| + off)^degree with its roundings, less |total|^degree."""
        size = np.abs(total)
        with np.errstate(over="ignore", invalid="ignore"):
            most = self.similarity(size + off, degree) * (1 + 1.01 * degree * UNIT)
            return most - self.similarity(size, degree) + 1e-44


#: Name of a similarity -> how generated code computes it.
KERNELS: dict[str, Kernel] = {"rbf": Rbf(), "poly": Poly()}
