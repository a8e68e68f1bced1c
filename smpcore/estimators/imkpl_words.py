"""What IMKPL says of a fit in words: its measures, for those who read no code."""

from __future__ import annotations

import numpy as np

#: Kernels that are named, at most.
NAMED = 6


def measures_in_words(
    ip: float,
    dr: float,
    beta: np.ndarray,
    dropped: np.ndarray,
    names: tuple[str, ...],
) -> dict[str, tuple[str, str]]:
    """Interpretability, discrimination and kernels kept, each with a sentence.

    Parameters
    ----------
    ip, dr : float
        Percent.
    beta : ndarray of shape (n_kernels,)
        Weights of the kernels.
    dropped : ndarray of int
        Kernels that were left out beforehand.
    names : tuple of str
        Of the kernels; where they are not as many, the kernels are numbered.

    Returns
    -------
    dict
        Name -> (value, explanation).
    """
    measures = {
        "Interpretability": (
            f"{ip:.1f} %",
            "mean over prototypes: 100 if all cases of each are of one class and alike",
        ),
        "Discrimination": (
            f"{dr:.1f} %" if np.isfinite(dr) else "none",
            "training rows: share of each prototype's use that is by its own class",
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
        detail = "left out beforehand, as they hardly tell rows apart: "
        detail += ", ".join(left[:NAMED]) + more
    kept = f"{np.count_nonzero(beta)} of {len(beta)}"
    return measures | {"Kernels kept": (kept, detail)}
