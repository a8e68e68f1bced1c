"""How whole numbers become integers without floats; numbers that try a conversion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.vectors import most_rows

_MOST = np.finfo(np.float32).max
#: Bits of a float32: as many halvings find any one of them.
_BITS = 32


class CountConversion(NamedTuple):
    """Whole number to integer: ``first + ((count - low) * factor + add >> shift)``.

    It is at most `error` from the exact ``(count - zero) * per_unit`` for every whole
    number from `low` to `high`, of which `differ` are halves that
    `QuantInput.quantise` rounds otherwise: nearly always none.
    """

    low: int
    high: int
    first: int
    factor: int
    add: int
    shift: int
    error: float
    differ: int


def count_conversion(one: QuantInput, width: int) -> CountConversion | None:
    """Find it; None for what does not come as counts."""
    if not one.comes_as_counts:
        return None
    low, high = int(np.floor(one.low)), int(np.ceil(one.high))
    counts = np.arange(low, high + 1)
    wanted, steps = one.quantise(counts, width), counts - low
    # Every product, and its sum, stay below 2^32.
    shift = 31 - int(np.ceil(np.log2(1 + one.per_unit * len(counts))))
    shift = 0 if one.exact else shift
    for factor in (int(one.per_unit * 2.0**shift) + more for more in (1, 0)):
        # The least and the most that can be added for each number's integer.
        room = ((wanted - wanted[0]) << shift) - steps * factor
        least, most = max(int(room.max()), 0), int(room.min()) + (1 << shift) - 1
        if least <= most:
            break
    add = max((least + most) // 2, 0)
    made = wanted[0] + (steps * factor + add >> shift)
    error = np.abs((counts - float(one.zero)) * float(one.per_unit) - made).max()
    differ = int((made != wanted).sum())
    first = int(wanted[0])
    return CountConversion(low, high, first, factor, add, shift, float(error), differ)


@dataclass(frozen=True, eq=False)
class Conversions:
    """Rows of numbers with the integers that ``quantise`` makes of them."""

    values: np.ndarray
    integers: np.ndarray
    kinds: tuple[str, ...]


def conversions(quant: QuantModel) -> Conversions:
    """Choose numbers for each input: ends of its range, halves as two neighbouring
    floats, far outside, missing.
    """
    least, most = container_ends(quant.width)
    steps = {
        "low end of the integers": least + 1,
        "half below 0": 0,
        "half above 0": 1,
        "a half between": least // 2,
        "another half": most // 3,
        "high end of the integers": most,
    }
    kinds = (
        *("missing", "low end of the range", "high end of the range", "middle"),
        *("far below", "far above", "infinite, below", "infinite, above", "minus 0"),
        *(f"{name}, {side}" for name in steps for side in ("under it", "over it")),
    )
    over = np.array(list(steps.values()))
    columns = [
        _numbers(one, quant.width, over) if one.is_number else _levels(one)
        for one in quant.inputs
    ]
    n = most_rows(len(columns), np.float32().itemsize)
    values = np.column_stack(columns)[:n].astype(np.float32)
    integers = quant.quantise(values).astype(f"int{quant.width}")
    return Conversions(values, integers, kinds[:n])


def _numbers(one: QuantInput, width: int, integers: np.ndarray) -> np.ndarray:
    over = _first_floats(one, width, integers)
    pairs = np.column_stack([np.nextafter(over, np.float32(-np.inf)), over])
    ends_of_range = np.float32([one.low, one.high, one.zero])
    outside = np.float32([-_MOST, _MOST, -np.inf, np.inf, -0.0])
    return np.concatenate([[np.nan], ends_of_range, outside, pairs.ravel()])


def _first_floats(one: QuantInput, width: int, integers: np.ndarray) -> np.ndarray:
    """Smallest float32 numbers that become at least these integers."""
    low = np.full(len(integers), _place(np.float32(-np.inf)))
    high = np.full(len(integers), _place(np.float32(np.inf)))
    for _ in range(_BITS):
        middle = (low + high) // 2
        reached = one.quantise(_float(middle), width) >= integers
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return _float(high)


def _place(number: np.float32) -> int:
    """Place of a float32 among all of them, the neighbour of 0 being 1."""
    bits = int(np.abs(number).view(np.int32))
    return bits if number >= 0 else -bits


def _float(places: np.ndarray) -> np.ndarray:
    size = np.abs(places).astype(np.int32).view(np.float32)
    return np.where(places < 0, -size, size)


def _levels(one: QuantInput) -> np.ndarray:
    """Indices of levels, and as many numbers that are none as rows are left."""
    n = np.float32(len(one.given.levels))
    below = np.nextafter(n, np.float32(0))
    usual = [np.nan, 0, n - 1, n // 2, -_MOST, _MOST, -np.inf, np.inf, -0.0]
    odd = [-0.5, 0.5, -1, 1, below, n, n + 0.5, -1e-30, n - 0.5, n + 1, -0.999, 127]
    return np.array([*usual, *odd], np.float32)
