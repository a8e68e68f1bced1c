"""Whole numbers in the smallest types that hold them."""

from __future__ import annotations

import numpy as np


def smallest(values: np.ndarray) -> np.ndarray:
    """The same whole numbers, none of them negative, in the smallest unsigned type."""
    return values.astype(np.min_scalar_type(values.max(initial=0)))


def smallest_signed(values: np.ndarray) -> np.ndarray:
    """The same whole numbers in the smallest signed type."""
    largest = int(np.abs(values).max(initial=0))
    return values.astype(np.min_scalar_type(-largest - 1))
