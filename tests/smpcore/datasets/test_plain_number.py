"""Numbers as people write them: no exponent where none is needed, no digit lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore.datasets import plain_number


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1745.3, 3, "1745"),
        (-1_234_567.8, 3, "-1234568"),
        (12.3456, 4, "12.35"),
        (0.00012345, 3, "0.000123"),
        (1.5e-7, 3, "1.5e-07"),
        (999.96, 4, "1000"),
        (0.99999, 3, "1"),
        (-0.0, 4, "0"),
        (np.float32(2), 4, "2"),
        (np.inf, 4, "inf"),
        (1e15, 4, "1e+15"),
    ],
)
def test_known_numbers(value, digits, text):
    assert plain_number(value, digits) == text


@given(
    st.floats(-1e14, 1e14).filter(lambda v: v == 0 or abs(v) > 1e-300),
    st.integers(1, 8),
)
def test_it_is_the_number_to_its_digits(value, digits):
    back = float(plain_number(value, digits))
    assert abs(back - value) <= 0.5001 * 10.0 ** (1 - digits) * abs(value)
    if abs(value) >= 1:
        assert "e" not in plain_number(value, digits)
        assert abs(back - value) <= 0.5
