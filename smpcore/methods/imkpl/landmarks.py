"""Landmarks of IMKPL: rows that are fitted first, where there are many."""

from __future__ import annotations

import numpy as np

from smpcore.errors import caution
from smpcore.methods.imkpl.kinds_of_kernels import (
    CLASS_TABLES,
    MIXED_TABLES,
    FeatureKernels,
    fits_memory,
    refuse_large,
    refuse_thick,
)
from smpcore.methods.imkpl.problem import class_blocks

#: Landmarks where no number is asked for and a class has too many rows; and of a class
#: at least.
N_LANDMARKS, LEAST_OF_CLASS = 2000, 50


def landmark_rows(
    kernels: FeatureKernels, y_sorted: np.ndarray, count: int | None
) -> np.ndarray | None:
    """Landmarks, where they are asked for or a class has too many rows."""
    if not kernels.is_low_rank:
        refuse_large(len(y_sorted), MIXED_TABLES)
        return None
    refuse_thick(len(y_sorted), kernels.levels.most_columns)
    largest = int(np.bincount(y_sorted).max())
    if count is None and not fits_memory(largest, CLASS_TABLES):
        count = N_LANDMARKS
        caution(
            f"Of {len(y_sorted)} rows, about {count} landmarks are fitted first, and "
            "give the neighbours; raise landmarks to use more of them."
        )
    if not count:
        refuse_large(largest, CLASS_TABLES)
        return None
    rows = spread_rows(y_sorted, count)
    refuse_large(int(np.bincount(y_sorted[rows]).max()), CLASS_TABLES)
    return rows


def spread_rows(y_sorted: np.ndarray, count: int) -> np.ndarray:
    """About so many rows, spread evenly over those of each class."""
    chosen = []
    for rows in class_blocks(y_sorted):
        size = rows.stop - rows.start
        share = max(LEAST_OF_CLASS, round(count * size / len(y_sorted)))
        places = np.linspace(rows.start, rows.stop - 1, min(size, share))
        chosen.append(np.round(places).astype(np.int64))
    return np.concatenate(chosen)
