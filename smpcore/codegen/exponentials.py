"""Similarities that fade with a distance: 2 to the power of -u."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from smpcore.codegen.inputs import UNIT
from smpcore.codegen.kernel import OWN, RBF_OR_POLY, Folded, Kernel
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


class Exponential(Kernel):
    """2^-u with u a distance in the folded units."""

    is_exponential = True

    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Every feature: one that all anchors share still moves all similarities."""
        return np.ones(model.n_features, dtype=bool)

    def similarity(self, total: np.ndarray, degree: int) -> np.ndarray:
        """2^-total; in float64 by the library."""
        return exp2_minus(total) if total.dtype == np.float32 else np.exp2(-total)

    def largest(self, total: np.ndarray, degree: int) -> np.ndarray:
        """1 at no distance."""
        return np.ones_like(total)

    def error(self, total: np.ndarray, off: np.ndarray, degree: int) -> np.ndarray:
        """2^-u (2^off (1 + error of exp2) - 1), and what the cutoff takes away."""
        rest = 2.0 ** (1 - float(CUTOFF))
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.expm1(np.log(2) * off + np.log1p(EXP2_ERROR))
            change = np.exp2(-total) * grown
        # Both similarities are at most 1, however far a total is off.
        return np.where(change < 1, change, 1) + rest


class Rbf(Exponential):
    """``exp(-gamma |x - z|^2)`` as ``2^-u`` with ``u`` the sum of (t - a)^2."""

    ARITHMETIC = RBF_OR_POLY
    CODE_BYTES: ClassVar = {"ATmega328P": (1500, 2000), "Cortex-M0": (3300, 3700)}
    C_STEP = (
        "const float apart = {value} - {anchor};",
        "",
        "total += apart * apart;",
    )

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Fold the root of gamma log2(e) into both sides of the difference."""
        factor = np.sqrt(model.similarity.gamma * np.log2(np.e)) / model.scale
        return _distances(factor, model, offset)

    def add(self, total: np.ndarray, value: np.ndarray, anchor: np.ndarray):
        """Add a squared difference."""
        apart = value - anchor
        return total + apart * apart

    def total_error(
        self, value: np.ndarray, anchor: np.ndarray, error: np.ndarray, reach: float
    ) -> np.ndarray:
        """2|t - a|e + e^2 and the square's rounding."""
        apart = np.abs(value - anchor)
        off = error + UNIT * np.abs(anchor) + UNIT * apart
        own = OWN * (value**2 + anchor**2 + reach**2)
        return 2 * apart * off + off**2 + UNIT * (apart + off) ** 2 + own


class FeatureWise(Rbf):
    """``sum_f weights_f exp(-(x_f - z_f)^2 / widths_f)``, an exponential each."""

    ARITHMETIC = "features: s = sum of share * 2^-(t - anchor)^2"
    CODE_BYTES: ClassVar = {"ATmega328P": (1500, 2100), "Cortex-M0": (3300, 3900)}
    C_STEP = (
        "const float apart = {value} - {anchor};",
        "",
        "total += {share} * {exp2}(apart * apart);",
    )

    def beside(self, n_features: int) -> float:
        """Each feature fades on its own."""
        return super().beside(1)

    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Features with weight."""
        return np.array(model.similarity.weights) > 0

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Fold the widths into both sides of the difference."""
        factor = np.sqrt(np.log2(np.e) / np.array(model.similarity.widths))
        return _distances(factor / model.scale, model, offset)


class Laplacian(Exponential):
    """``exp(-gamma |x - z|_1)`` as ``2^-u`` with ``u`` the sum of |t - a|."""

    ARITHMETIC = "laplacian: s = 2^-(sum of |t - anchor|)"
    CODE_BYTES: ClassVar = {"ATmega328P": (1500, 2000), "Cortex-M0": (3300, 3800)}
    C_STEP = (
        "const float apart = {value} - {anchor};",
        "",
        "total += apart < 0.0f ? -apart : apart;",
    )

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Fold gamma log2(e) into both sides of the difference."""
        factor = model.similarity.gamma * np.log2(np.e) / model.scale
        return _distances(factor, model, offset)

    def beside(self, n_features: int) -> float:
        """Step that leads to the same total as squared ones do."""
        return super().beside(n_features) ** 2

    def add(self, total: np.ndarray, value: np.ndarray, anchor: np.ndarray):
        """Add the size of a difference."""
        return total + np.abs(value - anchor)

    def total_error(
        self, value: np.ndarray, anchor: np.ndarray, error: np.ndarray, reach: float
    ) -> np.ndarray:
        """The errors of both sides and the difference's rounding."""
        size, apart = np.abs(anchor), np.abs(value - anchor)
        off = error + UNIT * size
        return off + UNIT * (apart + off) + OWN * (np.abs(value) + size + reach)


def _distances(factor: np.ndarray, model: PrototypeModel, offset: np.ndarray) -> Folded:
    """Anchors in the units of factor * (x - offset), without constants."""
    scale = factor * model.scale
    anchors = scale * model.anchors + factor * (model.center - offset)
    return Folded(factor, np.zeros(len(anchors)), anchors)
