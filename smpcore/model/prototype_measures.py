"""How readable prototypes are, and how much they tell classes apart."""

from __future__ import annotations

import numpy as np

from smpcore.model.prototype_model import PrototypeModel


def interpretability(model: PrototypeModel) -> np.ndarray:
    """Interpretability of each prototype (IP), in percent.

    The share of a prototype's weight that lies on cases of one class, times
    ``exp(-spread)``, the mean squared distance between its cases in feature space:
    100 if all its cases are of one class and coincide.
    """
    size = model.mixing.sum(axis=0)
    purity = model.votes.max(axis=1) / size
    # With u' K u = 1 the weighted squared distances of the cases sum to this.
    spread = 2.0 * (size**2 - 1.0)
    return 100.0 * purity * np.exp(-np.maximum(spread, 0.0))


def discrimination(
    codes: np.ndarray,
    prototype_labels: np.ndarray,
    y: np.ndarray,
    counts: np.ndarray | None = None,
) -> np.ndarray:
    """Share of each prototype's code weight that goes to its own class (DR),
    percent.
    """
    if counts is not None:
        codes = codes * counts[:, None]
    total = codes.sum(axis=0)
    class_sums = np.where(y[:, None] == prototype_labels, codes, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return 100.0 * class_sums / total
