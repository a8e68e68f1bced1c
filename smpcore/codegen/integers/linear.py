r"""Linear prototypes in integers.

    score_j = bias_j + sum of W_jf q_f      (W_jf where q_f is the level, of a category)

With u = w / per_unit the weight of a count, W = round(u / step) and one common step for
all rows: the largest weights that keep, for every row,

    sum over inputs of max|W_f| 2^(width - 1) + |bias| <= 2^(accumulator - 1) - 1

(a category counts once, with its largest weight). So neither a score nor a partial sum
overflows, in any order and for every pattern of input bits. Against the real-valued
model, |step * score_j + shift - real_j| <= eps_j with

    eps_j = sum of |u| r + sum of |step W - u| |q| + |step bias - real bias|,

where r is 1/2 count, 0 where the integer is the number itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.integers.inputs import (
    WIDEN,
    QuantInput,
    SensorRange,
    ends,
    quant_inputs,
)
from smpcore.codegen.integers.model import QuantModel
from smpcore.codegen.integers.rows import Rows, difference, largest, rounded
from smpcore.codegen.linear_rows import LinearRows
from smpcore.codegen.sizes import smallest, smallest_signed
from smpcore.errors import ExportError

#: Share of weights that are not zero from which rows are written whole.
_DENSE = 0.6

#: Whole numbers are taken as they are if that moves scores less than so much of what
#: they span, or hardly more than if they were multiplied.
_HARMLESS = 2.0**-10
_HARDLY_MORE = 1.25


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantLinear(QuantModel):
    """Sparse integer rows over the inputs.

    Parameters
    ----------
    start : ndarray of shape (n_rows + 1,), int64
        Row j owns the terms ``start[j]:start[j + 1]``.
    term_input, term_level : ndarray of shape (n_terms,), int64
        See `LinearRows`.
    weight : ndarray of shape (n_terms,), int64
    """

    INTEGERS = ("owner", "bias", "start", "term_input", "term_level", "weight")
    ARITHMETIC = (
        "integers; score of a class = max over its rows of bias + sum of weight * q; "
        "q = round((x - zero) * per_unit), half away from 0, clamped to the container; "
        "of a category 1 or 0 in place of q; real score = step * score + shift; "
        "answer: lowest class within round(tie / step) of the largest score"
    )

    ROUNDED = "weights"

    start: np.ndarray
    term_input: np.ndarray
    term_level: np.ndarray
    weight: np.ndarray

    @property
    def n_terms(self) -> int:
        """Multiplications of one prediction."""
        return len(self.weight)

    @property
    def largest(self) -> int:
        """See `QuantModel.largest`; attained by `saturating_row`."""
        return int(self._reach().max())

    def _reach(self) -> np.ndarray:
        places = self.term_row, self.term_input, self.term_level
        whole = Rows(*places, self.weight, self.bias)
        return largest(whole, self.weight, self.bias, 2.0 ** (self.width - 1))

    @property
    def saturating_row(self) -> np.ndarray:
        """Ends of the container that lead the row with the largest bound there."""
        row = int(self._reach().argmax())
        least, most = ends(self.width)
        sign = 1 if self.bias[row] >= 0 else -1
        corner = np.array([-1 if one.given.levels else 0 for one in self.inputs])
        best = np.zeros(len(self.inputs), dtype=np.int64)
        for place, level, weight in self.terms(row):
            if level < 0:
                corner[place] = most if sign * weight > 0 else least
            elif sign * weight > best[place]:
                best[place], corner[place] = sign * weight, level
        return corner

    @property
    def term_row(self) -> np.ndarray:
        """Row of each term."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))

    @property
    def is_dense(self) -> bool:
        """Whether rows are written whole: few zeros cost less than many indices."""
        n = self.n_rows * len(self.inputs)
        return self.n_terms > _DENSE * n and bool((self.term_level < 0).all())

    def dense_weights(self) -> np.ndarray:
        """Weights as a table, shape (n_rows, n_inputs), where there are no levels."""
        table = np.zeros((self.n_rows, len(self.inputs)), dtype=np.int64)
        table[self.term_row, self.term_input] = self.weight
        return table

    def terms(self, row: int) -> Iterator[tuple[int, int, int]]:
        """Input, level (-1: a number) and weight of each term of a row, in order."""
        for term in range(self.start[row], self.start[row + 1]):
            yield (
                int(self.term_input[term]),
                int(self.term_level[term]),
                int(self.weight[term]),
            )

    def row_scores(self, integers: np.ndarray) -> np.ndarray:
        """See `QuantModel.row_scores`."""
        row, place, level = self.term_row, self.term_input, self.term_level
        number = level < 0
        weights = np.zeros((self.n_rows, len(self.inputs)))
        np.add.at(weights, (row[number], place[number]), self.weight[number])
        # Exact: every partial sum is far below 2^53.
        sums = np.asarray(integers, np.float64) @ weights.T
        scores = sums.astype(np.int64) + self.bias
        for term in np.flatnonzero(~number):
            there = integers[:, place[term]] == level[term]
            scores[:, row[term]] += self.weight[term] * there
        return scores

    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """See `QuantModel.row_bounds`, and the top of this file for the formula."""
        integers = self.quantise(rows)
        rounding = np.column_stack(
            [
                one.rounding(one.given.filled(x), self.width)
                for one, x in zip(self.inputs, rows.T, strict=True)
            ]
        )
        exact = _exact(self.source, self.inputs)
        whole = {
            (row, place, level): weight
            for row in range(self.n_rows)
            for place, level, weight in self.terms(row)
        }
        bounds = np.tile(np.abs(self.step * self.bias - exact.bias), (len(rows), 1))
        for row, place, level, weight in exact.terms():
            q = integers[:, place]
            size = np.abs(q) if level < 0 else q == level
            off = abs(self.step * whole.get((row, place, level), 0) - weight)
            bounds[:, row] += off * size + abs(weight) * rounding[:, place]
        # Of the float32 weights that were rounded here, and of this sum itself.
        from_float = self.source.row_bounds(rows)
        if self.relative:
            from_float = np.column_stack([0 * from_float[:, 0], from_float.sum(axis=1)])
        return bounds * (1 + 1e-12) + from_float

    def telling_rows(self, drawn: np.ndarray) -> Iterator[np.ndarray]:
        """Ends of the container, the largest sum, corners that rows like."""
        least, most = ends(self.width)
        numbers = np.array([one.is_number for one in self.inputs])
        top = np.array([max(len(one.given.levels) - 1, 0) for one in self.inputs])
        yield np.where(numbers, least, 0)
        yield np.where(numbers, most, top)
        yield self.saturating_row
        for row in range(self.n_rows):
            corner = np.where(numbers, least, 0)
            for place, level, weight in self.terms(row):
                if weight > 0:
                    corner[place] = most if level < 0 else level
            yield corner

    def _input_of_each(self) -> tuple[np.ndarray, np.ndarray]:
        return _exact(self.source, self.inputs).place, self.term_input

    def tables(self) -> dict[str, np.ndarray]:
        """See `QuantModel.tables`.

        Returns
        -------
        dict of str to ndarray
            ``bias, weight`` always; ``owner`` of classes; ``start, input`` unless
            dense; ``level`` (level + 1, 0 for a number) where there are categories.
        """
        kind = f"int{self.accumulator}"
        tables = {"bias": self.bias.astype(kind)}
        weight = self.dense_weights() if self.is_dense else self.weight
        tables["weight"] = smallest_signed(weight)
        indices = {} if self.is_regression else {"owner": self.owner}
        if not self.is_dense:
            indices |= {"start": self.start, "input": self.term_input}
        if (self.term_level >= 0).any():
            indices["level"] = self.term_level + 1
        return tables | {name: smallest(values) for name, values in indices.items()}


def quantise_linear(
    compiled: LinearRows,
    width: int,
    ranges: Mapping[str, SensorRange] | None = None,
    widen: float = WIDEN,
    accumulator: int | None = None,
) -> QuantLinear:
    """Round a linear model to integers.

    Parameters
    ----------
    compiled : LinearRows
    width, ranges, widen, accumulator
        See `smpcore.codegen.quantise`.

    Returns
    -------
    QuantLinear
    """
    plain, multiplied = (
        quant_inputs(compiled, width, ranges, widen, multiplied)
        for multiplied in (False, True)
    )
    best, loss = _rounded(compiled, multiplied, width, accumulator)
    if plain != multiplied:
        with suppress(ExportError):
            other, more = _rounded(compiled, plain, width, accumulator)
            best = other if more <= max(_HARDLY_MORE * loss, _HARMLESS) else best
    return best


def _rounded(
    compiled: LinearRows,
    inputs: tuple[QuantInput, ...],
    width: int,
    accumulator: int | None,
) -> tuple[QuantLinear, float]:
    """The model over these inputs, and how much of what its scores span can be off."""
    exact = _exact(compiled, inputs)
    if accumulator is None:
        accumulator = _enough(exact, inputs, width)
    step, whole, bias = rounded(exact, width, accumulator)
    spans = [one.per_unit * (one.high - one.low) for one in inputs]
    spans = np.where(exact.level < 0, np.array(spans)[exact.place], 1.0)
    span = np.bincount(exact.row, np.abs(exact.weight) * spans)
    lost = np.add(*_lost(exact, inputs, width, step * whole))
    loss = lost.max() / span.max()
    kept = whole != 0
    made = QuantLinear(
        source=compiled,
        inputs=inputs,
        width=width,
        accumulator=accumulator,
        step=step,
        shift=exact.shift,
        relative=exact.relative,
        owner=compiled.owner,
        bias=bias,
        start=np.searchsorted(exact.row[kept], np.arange(len(bias) + 1)),
        term_input=exact.place[kept],
        term_level=exact.level[kept],
        weight=whole[kept],
    )
    return made, float(loss)


def _exact(compiled: LinearRows, inputs: tuple[QuantInput, ...]) -> Rows:
    """The model over counts; two rows as nothing and their difference."""
    row = np.repeat(np.arange(compiled.n_rows), np.diff(compiled.start))
    place, level = compiled.term_input, compiled.term_level
    weight = compiled.weight.astype(np.float64)
    zero, per_unit = np.array([(one.zero, one.per_unit) for one in inputs]).T
    offset = np.array([entry.offset for entry in compiled.inputs])
    number = level < 0
    at_zero = np.where(number, weight * (zero - offset)[place], 0.0)
    bias = compiled.bias + np.bincount(row, at_zero, compiled.n_rows)
    weight = np.where(number, weight / per_unit[place], weight)
    if compiled.is_regression:
        return Rows(row, place, level, weight, bias)
    if compiled.n_rows == 2:  # half the work, the same answer
        return difference(row, place, level, weight, bias)
    shift = float(bias.mean())
    return Rows(row, place, level, weight, bias - shift, shift)


def _enough(exact: Rows, inputs: tuple[QuantInput, ...], width: int) -> int:
    """16 bits where rounding weights costs no more than rounding inputs does."""
    if width > 8:
        return 32
    try:
        step, weight, _ = rounded(exact, width, 16)
    except ExportError:
        return 32
    from_weights, from_inputs = _lost(exact, inputs, width, step * weight)
    return 16 if (from_weights <= from_inputs).all() else 32


def _lost(
    exact: Rows, inputs: tuple[QuantInput, ...], width: int, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far rounding weights, and inputs, moves each row inside the ranges."""
    counts = np.array([_most_counts(one, width) for one in inputs])[exact.place]
    halves = np.array([0.0 if one.exact else 0.5 for one in inputs])[exact.place]
    n_rows = len(exact.bias)
    from_weights = np.bincount(
        exact.row, np.abs(weight - exact.weight) * counts, n_rows
    )
    return from_weights, np.bincount(exact.row, np.abs(exact.weight) * halves, n_rows)


def _most_counts(one: QuantInput, width: int) -> float:
    """Largest count inside the range of an input."""
    if not one.is_number:
        return 1.0
    return float(np.abs(one.quantise(np.array([one.low, one.high]), width)).max())
