"""Rows of real numbers over counts, and how their weights are rounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.program import WeightedInputs, WeightedSums
from smpcore.codegen.quant_inputs import QuantInput
from smpcore.errors import ExportError

#: Steps tried between the smallest possible one and twice it.
STEPS = 32


@dataclass(frozen=True)
class Rows:
    """Real-valued rows over counts: what is rounded."""

    row: np.ndarray
    place: np.ndarray
    level: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    shift: float = 0.0
    relative: bool = False

    def terms(self) -> Iterator[tuple[int, int, int, float]]:
        """Row, input, level and weight of each term."""
        columns = self.row, self.place, self.level, self.weight
        return zip(*(column.tolist() for column in columns), strict=True)


def rows_over_counts(
    operation: WeightedInputs,
    given: Sequence[CompiledInput],
    inputs: Sequence[QuantInput],
    is_regression: bool,
) -> Rows:
    """A linear model over the counts of its inputs."""
    row, place, level = operation.row, operation.input, operation.level
    weight = operation.weight.astype(np.float64)
    zero, per_unit = np.array([(one.zero, one.per_unit) for one in inputs]).T
    offset = np.array([entry.offset for entry in given])
    number = level < 0
    at_zero = np.where(number, weight * (zero - offset)[place], 0.0)
    bias = operation.bias + np.bincount(row, at_zero, operation.n_rows)
    weight = np.where(number, weight / per_unit[place], weight)
    if is_regression:
        return Rows(row, place, level, weight, bias)
    return _centred(row, place, level, weight, bias)


def rows_over_similarities(operation: WeightedSums) -> Rows:
    """Sums of similarities as rows over similarities in Q.15, see
    `rows_over_counts`.
    """
    table = operation.mixing().astype(np.float64) / 2.0**15
    anchor, row = np.nonzero(table)
    level = np.full(len(row), -1)
    bias = operation.bias.astype(np.float64)
    return _centred(row, anchor, level, table[anchor, row], bias)


def _centred(
    row: np.ndarray,
    place: np.ndarray,
    level: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
) -> Rows:
    """Rows less their mean bias, or as a difference where there are two."""
    if len(bias) == 2:
        return difference(row, place, level, weight, bias)
    shift = float(bias.mean())
    return Rows(row, place, level, weight, bias - shift, shift)


def difference(
    row: np.ndarray,
    place: np.ndarray,
    level: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
) -> Rows:
    """Two rows as nothing and their difference, see `Rows` for the arguments."""
    both, of_term = np.unique(
        np.column_stack([place, level]), axis=0, return_inverse=True
    )
    signed = np.where(row == 1, weight, -weight)
    total = np.bincount(of_term.ravel(), signed, len(both))
    kept = total != 0
    return Rows(
        np.ones(kept.sum(), dtype=np.int64),
        *both[kept].T,
        total[kept],
        np.array([0.0, bias[1] - bias[0]]),
        relative=True,
    )


def largest(rows: Rows, weight: np.ndarray, bias: np.ndarray, cap: float) -> np.ndarray:
    """Most that each row's score can reach in size, if no count exceeds a cap."""
    most = np.where(rows.level < 0, cap, 1.0) * np.abs(weight)
    # At most one level of a category is there.
    per_input = np.zeros((len(bias), int(rows.place.max(initial=0)) + 1))
    np.maximum.at(per_input, (rows.row, rows.place), most)
    return per_input.sum(axis=1) + np.abs(bias)


def rounded(
    exact: Rows, width: int, accumulator: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Step, weights and biases: of some steps near the least possible, the best."""
    limit, cap = 2 ** (accumulator - 1) - 1, 2.0 ** (width - 1)
    number = exact.level < 0
    heaviest = np.where(number, cap - 1, limit)
    least = max(
        float(largest(exact, exact.weight, exact.bias, cap).max() / limit),
        float((np.abs(exact.weight) / heaviest).max(initial=0.0)),
    )
    best, least_loss = None, np.inf
    for step in least * 2.0 ** (np.arange(STEPS) / STEPS):
        weight, bias = np.round(exact.weight / step), np.round(exact.bias / step)
        lost = np.abs(step * weight - exact.weight) * np.where(number, cap, 1.0)
        loss = np.bincount(exact.row, lost, len(bias)).max()
        fits = (np.abs(weight) <= heaviest).all()
        fits = fits and (largest(exact, weight, bias, cap) <= limit).all()
        if fits and weight.any() and loss < least_loss:
            best, least_loss = (float(step), weight, bias), loss
    if best is None:
        raise ExportError(
            f"{accumulator} bits cannot hold sums of {len(exact.weight)} weights as "
            "uneven as those of this model; choose a wider number format."
        )
    step, weight, bias = best
    return step, weight.astype(np.int64), bias.astype(np.int64)
