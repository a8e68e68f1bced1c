"""Similarities made of an inner product."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from smpcore.codegen.inputs import UNIT
from smpcore.codegen.kernel import OWN, RBF_OR_POLY, Folded, Kernel
from smpcore.model import PrototypeModel


class Product(Kernel):
    """A total of products."""

    is_exponential = False
    C_STEP = ("total += {anchor} * {value};",)

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
        return size * error + 2.01 * UNIT * size * np.abs(value) + OWN * size * reach

    def error(self, total: np.ndarray, off: np.ndarray, degree: int) -> np.ndarray:
        """(|total| + off)^degree with its roundings, less |total|^degree."""
        size = np.abs(total)
        with np.errstate(over="ignore", invalid="ignore"):
            most = self.similarity(size + off, degree) * (1 + 1.01 * degree * UNIT)
            return most - self.similarity(size, degree) + 1e-44


class Poly(Product):
    """``(gamma x . z + coef0)^degree``, multiplied out."""

    ARITHMETIC = RBF_OR_POLY
    CODE_BYTES: ClassVar = {"ATmega328P": (1100, 1600), "Cortex-M0": (2200, 3000)}

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Fold scaling and gamma into the anchors, the centre into the constants."""
        how = model.similarity
        anchors = how.gamma * model.anchors / model.scale
        constant = how.coef0 - anchors @ (model.center - offset)
        return Folded(np.ones(model.n_features), constant, anchors)

    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Features that are not 0 in every anchor."""
        return (model.anchors != 0).any(axis=0)


class Cosine(Product):
    """``x . z / (|x| |z|)``: of features made as long as 1, and unit anchors."""

    ARITHMETIC = "cosine: t of length 1, s = sum of anchor * t"
    CODE_BYTES: ClassVar = {"ATmega328P": (1300, 2000), "Cortex-M0": (3000, 3600)}
    #: Whether features and anchors lose their mean first.
    is_centred: ClassVar[bool] = False

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Make the anchors as long as 1."""
        anchors = model.anchors
        if self.is_centred:
            anchors = anchors - anchors.mean(axis=1, keepdims=True)
        length = np.linalg.norm(anchors, axis=1, keepdims=True)
        anchors = anchors / np.where(length > 0, length, 1.0)
        return Folded(1 / model.scale, np.zeros(len(anchors)), anchors)

    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Every feature: each adds to the length."""
        return np.ones(model.n_features, dtype=bool)


class Ncc(Cosine):
    """The cosine of features and anchors less their means."""

    ARITHMETIC = "ncc: t less its mean, of length 1, s = sum of anchor * t"
    is_centred = True
