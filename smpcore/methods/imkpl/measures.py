"""How readable prototypes are that mix real cases, as numbers and in words."""

from __future__ import annotations

import numpy as np

from smpcore.model import PrototypeModel

#: Kernels that are named, at most.
NAMED = 6


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


def measures_in_words(
    ip: float, dr: float, beta: np.ndarray, dropped: np.ndarray, names: tuple[str, ...]
) -> dict[str, tuple[str, str]]:
    """Interpretability, discrimination and kernels kept, each with a sentence."""
    measures = {
        "interpretability": (
            f"{ip:.1f} %",
            "mean over prototypes; 100 % if the cases of each are equal, of one class",
        ),
        "discrimination": (
            f"{dr:.1f} %" if np.isfinite(dr) else "none",
            "share of each prototype's use that is by training rows of its own class",
        ),
    }
    if len(beta) == 1:
        return measures
    none_left = np.count_nonzero(beta) == len(beta)
    detail = "all have a weight" if none_left else "the others have weight 0"
    if len(dropped):
        numbered = len(names) != len(beta)
        left = [f"number {i + 1}" if numbered else names[i][:24] for i in dropped]
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        detail = "removed before fitting (almost constant): "
        detail += ", ".join(left[:NAMED]) + more
    used = f"{np.count_nonzero(beta)} of {len(beta)}"
    return measures | {"kernels": (used, detail)}
