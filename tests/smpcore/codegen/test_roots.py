"""Roots of float32: exact enough, and nothing where there is none."""

import numpy as np

from smpcore.codegen.arithmetic import LEAST, MOST, ROOT_ERROR, inverse_root


def test_a_root_is_as_exact_as_said():
    first, last = (int(np.float32(end).view(np.int32)) for end in (1, 4))
    square = np.arange(first, last, 5, dtype=np.int32).view(np.float32)
    for scale in (np.float32(2.0**-98), np.float32(1), np.float32(2.0**120)):
        number = square * scale
        exact = 1 / np.sqrt(number.astype(np.float64))
        assert np.abs(inverse_root(number) / exact - 1).max() < ROOT_ERROR


def test_what_has_no_root_gives_zero_or_no_number():
    ends = np.array([0, LEAST, -1, MOST, np.inf, np.nan], dtype=np.float32)
    np.testing.assert_array_equal(inverse_root(ends), [0, 0, 0, 0, np.nan, np.nan])
