"""Integer rows beside which an integer model changes its mind."""

from __future__ import annotations

import numpy as np

from smpcore.codegen.quant_inputs import container_ends
from smpcore.codegen.quantised import QuantModel

#: Steps of an input that are tried around a boundary to find equal scores.
_NEAR = 3
#: Rows tried around all boundaries together.
_TRIED = 4096


def neighbours(
    quant: QuantModel, drawn: np.ndarray, n_pairs: int
) -> dict[str, list[np.ndarray]]:
    """Rows one count apart with different labels, and rows with scores within `tie`."""
    if quant.is_regression:
        return {}
    left, right = np.roll(drawn, 1, axis=0), drawn.copy()
    fixed = [not one.is_number for one in quant.inputs]
    right[:, fixed] = left[:, fixed]
    differ = np.flatnonzero(quant.winners(left) != quant.winners(right))[:n_pairs]
    left, right = left[differ], right[differ]
    start, ties = quant.winners(left), []
    for _ in range(quant.width + 1):
        middle = (left + right) // 2
        same = (quant.winners(middle) == start)[:, None]
        ties += list(middle[_tied(quant, middle)])
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    left, right = _one_input_apart(quant, left, right, start)
    pairs = np.stack([left, right], axis=1).reshape(-1, drawn.shape[1])
    near = _around(quant, pairs)
    return {"boundary": list(pairs), "tie": ties + list(near[_tied(quant, near)])}


def _one_input_apart(
    quant: QuantModel, left: np.ndarray, right: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that differ in one input only: how many inputs of the right it takes."""
    n = left.shape[1]
    few, many = np.zeros(len(left), np.int64), np.full(len(left), n)
    for _ in range(n.bit_length()):
        half = (few + many) // 2
        same = quant.winners(_taken(left, right, half)) == start
        few, many = np.where(same, half, few), np.where(same, many, half)
    return _taken(left, right, few), _taken(left, right, few + 1)


def _taken(left: np.ndarray, right: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The first inputs of the right, the others of the left."""
    return np.where(np.arange(left.shape[1]) < count[:, None], right, left)


def _tied(quant: QuantModel, rows: np.ndarray) -> np.ndarray:
    return quant.margins(rows) <= quant.tie


def _around(quant: QuantModel, pairs: np.ndarray) -> np.ndarray:
    """Rows a few counts beside those of the pairs."""
    if not len(pairs):
        return pairs
    random = np.random.default_rng(0)
    numbers = np.array([one.is_number for one in quant.inputs])
    near = np.repeat(pairs, -(-_TRIED // len(pairs)), axis=0)[:_TRIED]
    least, most = container_ends(quant.width)
    steps = random.integers(-_NEAR, _NEAR + 1, near.shape) * numbers
    return np.where(numbers, np.clip(near + steps, least, most), near)
