"""The coding stage: an input as a sparse sum of prototypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smpcore.solvers.nqp import nqp_rows

if TYPE_CHECKING:
    from smpcore.model import PrototypeModel


def sparse_codes(model: PrototypeModel, mixed: np.ndarray) -> np.ndarray:
    """Weights of prototypes that reconstruct inputs of these similarities."""
    codes, values = np.zeros(mixed.shape), np.empty(len(mixed))
    gram = np.array(model.gram, order="C")  # compiled code wants it writable
    size = int(model.code_size)
    nqp_rows(gram, np.ascontiguousarray(-mixed), size, codes, values)
    return codes
