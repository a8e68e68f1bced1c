"""The similarity of histograms: intersection over union."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from smpcore.codegen.inputs import UNIT
from smpcore.codegen.kernel import Folded, Kernel
from smpcore.model import PrototypeModel


class Intersection(Kernel):
    """``sum_f min(x_f, z_f) / sum_f max(x_f, z_f)``; `add` sums the larger ones."""

    is_exponential = False
    ARITHMETIC = "intersection: s = sum of min(t, anchor) / sum of max(t, anchor)"
    CODE_BYTES: ClassVar = {"ATmega328P": (1100, 2000), "Cortex-M0": (2200, 3800)}
    C_STEP = (
        "const float other = {anchor};",
        "const uint8_t below = {value} < other;",
        "",
        "total += below ? {value} : other;",
        "most += below ? other : {value};",
    )

    def fold(self, model: PrototypeModel, offset: np.ndarray) -> Folded:
        """Leave the anchors as they are."""
        anchors = model.anchors
        return Folded(1 / model.scale, np.zeros(len(anchors)), anchors)

    def looks_at(self, model: PrototypeModel) -> np.ndarray:
        """Every feature: each adds to the union."""
        return np.ones(model.n_features, dtype=bool)

    def add(self, total: np.ndarray, value: np.ndarray, anchor: np.ndarray):
        """Add the larger of two."""
        return total + np.maximum(np.abs(value), np.abs(anchor))

    def similarity(self, total: np.ndarray, degree: int) -> np.ndarray:
        """1 at most where nothing is negative."""
        return np.ones_like(total)

    def largest(self, total: np.ndarray, degree: int) -> np.ndarray:
        """1 where nothing is negative."""
        return np.ones_like(total)

    def total_error(
        self, value: np.ndarray, anchor: np.ndarray, error: np.ndarray, reach: float
    ) -> np.ndarray:
        """The error of one of both."""
        return error + UNIT * np.abs(anchor)

    def error(self, total: np.ndarray, off: np.ndarray, degree: int) -> np.ndarray:
        """Ratio of an error and a total."""
        return off / total
