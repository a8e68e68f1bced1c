"""What a super-sparse fit may use: how many prototypes, how wide, and where."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError, caution
from smpcore.methods.shared.scaling import gamma_range
from smpcore.methods.shared.starts import count_distinct
from smpcore.methods.supersparse.problem import Box
from smpcore.methods.supersparse.rows import Rows
from smpcore.similarity import SIMILARITIES

#: gamma of strings: how much one edit counts.
STRING_GAMMA = 0.3

#: Most prototypes that a slider offers.
MOST_PROTOTYPES = 40


def slider_ranges(rows: Rows, kind: str) -> dict[str, tuple[float, float]]:
    """Useful ranges of `n_prototypes`, `gamma` and `lam` for these rows."""
    return {
        "n_prototypes": (1, count_distinct(rows.pool, MOST_PROTOTYPES)),
        "gamma": gamma_range(natural_gamma(rows, kind)),
        "lam": (1e-6, 0.1),
    }


def natural_gamma(rows: Rows, kind: str) -> float:
    """Give the gamma that suits the spread of the rows; 1 / features if
    standardised.
    """
    if kind == "strings":
        return STRING_GAMMA
    if kind == "callable":
        return 1.0  # it is not asked for
    if SIMILARITIES[kind].power == 1:
        return 1.0 / (rows.spread * math.sqrt(rows.cases.shape[1]))
    return 1.0 / rows.spread**2


def clipped_count(rows: Rows, requested: int) -> int:
    """Clip the number of prototypes to the distinct rows; warn if that changes it."""
    distinct = count_distinct(rows.pool, requested)
    if distinct < requested:
        caution(
            f"n_prototypes={requested} is more than the {distinct} distinct rows; "
            f"{distinct} are used."
        )
    return distinct


def scaled_box(box: Any, kind: str, center: np.ndarray, scale: np.ndarray) -> Box:
    """Where prototypes may be: a box given in the user's units, or the method's own.

    Without a box those of products stay in the unit ball, because longer prototypes
    make the ridge on their coefficients void.
    """
    low, high = np.full(len(center), -np.inf), np.full(len(center), np.inf)
    if box is not None:
        try:
            bounds = [np.asarray(end, dtype=np.float64) for end in box]
            low, high = (np.broadcast_to(end, center.shape).copy() for end in bounds)
        except (TypeError, ValueError):
            low, high = np.full((2, len(center)), np.nan)
        if not (low < high).all():
            raise SmpcoreError(
                f"box={box!r} should be (low, high) with low below high, two numbers "
                "or one pair for each feature; change box."
            )
    row = SIMILARITIES[kind]
    low, high = np.maximum(low, row.least), np.maximum(high, row.least)
    radius = 1.0 if row.in_ball and box is None else 0.0
    return Box((low - center) / scale, (high - center) / scale, radius)
