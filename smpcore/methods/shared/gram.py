"""Kernel values that the user has computed: checked, and mended where they can be."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh

from smpcore.errors import SmpcoreError, caution

#: Asymmetry that counts as rounding, as a part of the largest entry.
ROUNDING = 1e-6


def refuse_standardised(name: str, standardize: bool, what: str) -> None:
    """Refuse to scale columns that are no features."""
    if standardize:
        raise SmpcoreError(
            f"standardize=True would scale each {what} on its own, with {name}; set "
            "standardize=False."
        )


def refuse_oblong(shape: tuple[int, int], setting: str, several: str = "") -> None:
    """Refuse similarities of rows that have no column for each row.

    `several` says how matrices stand, if there may be some.
    """
    n_rows, n_columns = shape
    if n_columns % n_rows if several else n_columns != n_rows:
        raise SmpcoreError(
            f"X has {n_columns} columns for {n_rows} rows and should have a column for "
            f"each row{several}; with {setting}='precomputed' X holds the similarities "
            "of the training rows to each other."
        )


def make_semidefinite(K: np.ndarray, name: str) -> float:
    """Make a table of kernel values symmetric and semidefinite, in place."""
    diagonal, top = K.diagonal(), np.abs(K).max()
    asymmetry = np.abs(K - K.T).max()
    if asymmetry > ROUNDING * top:
        raise SmpcoreError(
            f"{name} differs from its transpose by {asymmetry:.3g} and should be "
            "symmetric; use (K + K.T) / 2."
        )
    none = (diagonal <= 0.0) & (np.abs(K).max(axis=1) > ROUNDING * top)
    if none.any() or (diagonal < 0.0).any():
        least = float(diagonal.min())
        raise SmpcoreError(
            f"{name} has {least:.3g} on its diagonal, the similarity of a row to "
            "itself, and should have positive numbers there; turn distances d into "
            "similarities, as exp(-d)."
        )
    K += K.T.copy()
    K *= 0.5
    rounding = 1e-8 * top * len(K)
    if _is_definite(K, rounding):
        return 0.0
    least = float(eigvalsh(K, subset_by_index=[0, 0])[0])
    if least >= -rounding:
        return 0.0
    caution(
        f"{name} has an eigenvalue of {least:.3g} and should have none below 0; its "
        "diagonal is raised by as much."
    )
    K[np.diag_indices(len(K))] -= least
    return -least


def _is_definite(K: np.ndarray, shift: float) -> bool:
    """Whether all eigenvalues are above -shift, without the work of finding them."""
    raised = K.copy()
    raised[np.diag_indices(len(K))] += shift
    try:
        cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True
