"""Proximal maps and projections against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smpcore.solvers.prox import project_l1_ball

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTORS = hnp.arrays(np.float64, st.integers(1, 30), elements=NUMBERS)
SIZES = st.floats(1e-3, 1e6)


def sorted_projection(v, radius):
    """Duchi et al. (2008): sort, cumulate, threshold."""
    if np.abs(v).sum() <= radius:
        return v.copy()
    u = -np.sort(-np.abs(v))
    levels = (np.cumsum(u) - radius) / np.arange(1, len(v) + 1)
    level = levels[np.flatnonzero(u > levels)[-1]]
    return np.sign(v) * np.maximum(np.abs(v) - level, 0.0)


@given(VECTORS, SIZES, st.floats(0, 1e6))
def test_projection_is_the_nearest_point_from_any_start(v, radius, level):
    w = v.copy()
    project_l1_ball(w, radius, np.ones(w.size), level)
    scale = max(1.0, np.abs(v).max())
    np.testing.assert_allclose(w, sorted_projection(v, radius), atol=1e-9 * scale)
    assert np.abs(w).sum() <= radius * (1 + 1e-12) + 1e-9 * scale


@pytest.mark.parametrize("radius", [0.0, 5e-324, 1e-20])
@pytest.mark.parametrize("level", [0.0, 0.5, 7.0])
def test_projection_on_next_to_nothing_ends(radius, level):
    v = np.array([3.0, -1.0, 3.0])
    project_l1_ball(v, radius, np.ones(v.size), level)
    assert np.abs(v).sum() <= 1e-15
