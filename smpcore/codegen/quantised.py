"""A program in integers, rounded from one in float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smpcore.codegen import describe
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.discriminating import saturating_row
from smpcore.codegen.integer_bounds import integer_bounds, largest_score
from smpcore.codegen.model import Program
from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.valid_programs import Rule, rules


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantModel(Program):
    """A program in integers, rounded from one in float32.

    All its arithmetic is exact: there is a proved bound on every score and every
    partial sum for every pattern of input bits. A score of the real-valued model is
    ``step * score + shift``.

    Parameters
    ----------
    source : CompiledModel
        What it was rounded from: names, classes, origin.
    inputs : tuple of QuantInput
        Integer inputs, in the order of the columns that the model reads.
    width : {8, 16}
        Bits of an input.
    accumulator : {16, 32}
        Bits of a score and of all sums on the way to it.
    step, shift : float
        Real score per integer unit and real score at integer 0.
    relative : bool
        Whether scores are less that of the first class: two rows made one.
    """

    is_integer = True
    SOURCE = CompiledModel

    source: CompiledModel
    inputs: tuple[QuantInput, ...]
    width: int
    accumulator: int
    step: float
    shift: float
    relative: bool = False

    def _rules(self) -> Iterator[Rule]:
        yield from rules(self.operations, self.source.inputs, self.n_rows, True)
        fits = self.largest <= 2 ** (self.accumulator - 1) - 1
        bits = f"{self.accumulator} bits hold"
        yield (
            f"A score can reach {self.largest}, but should be no more than {bits}",
            fits,
        )

    @cached_property
    def largest(self) -> int:
        """No score and no partial sum is larger in size, for any bits of the inputs."""
        return largest_score(self)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """See `CompiledModel`."""
        return self.source.classes

    @property
    def fallback(self) -> int:
        """See `CompiledModel`; of integers there always is a score."""
        return self.source.fallback

    @property
    def n_training_rows(self) -> int:
        """See `CompiledModel`; an anchor that rounding leaves no weight is gone."""
        return min(describe.n_anchors(self), self.source.n_training_rows)

    @property
    def saturating_row(self) -> np.ndarray:
        """Integers of the inputs that attain `largest`, or come as near as is known."""
        return saturating_row(self)

    @property
    def converts(self) -> bool:
        """Whether some input is a number that becomes another one as an integer."""
        return any(one.is_number and not one.is_itself for one in self.inputs)

    @property
    def zero_weights(self) -> dict[str, tuple[int, int]]:
        """Column -> how many of its weights round to 0, and how many it has."""
        return describe.zero_weights(self)

    @property
    def tie(self) -> int:
        """`CompiledModel.tie` in steps of a score."""
        tie = np.rint(self.source.tie / self.step)
        return int(min(tie, 2.0 ** (self.accumulator - 1) - 1))

    @property
    def not_sure(self) -> int:
        """A margin up to this is inside the "not sure" band; -1 without a band."""
        band = self.source.band
        # Two scores are never further apart: the lowest number is unused.
        most = 2.0**self.accumulator - 2
        return int(min(np.floor(band / self.step), most)) if band else -1

    def rows(self, table: Any) -> np.ndarray:
        """Values of the inputs, see `CompiledModel.rows`."""
        return self.source.rows(table)

    def quantise(self, rows: np.ndarray) -> np.ndarray:
        """Integers of raw rows, as the generated ``quantise`` computes them."""
        pairs = zip(self.inputs, np.asarray(rows).T, strict=True)
        return np.column_stack([one.quantise(x, self.width) for one, x in pairs])

    to_inputs = quantise

    def values(self, integers: np.ndarray) -> np.ndarray:
        """Raw rows that integers stand for, float64."""
        pairs = zip(self.inputs, integers.T, strict=True)
        return np.column_stack([one.values(q) for one, q in pairs])

    def saturated(self, integers: np.ndarray) -> np.ndarray:
        """How many inputs of each row lie at an end of the container."""
        numbers = [one.is_number for one in self.inputs]
        return np.isin(integers[:, numbers], container_ends(self.width)).sum(axis=1)

    def _values(self, given: np.ndarray) -> np.ndarray:
        """The integers themselves."""
        return np.asarray(given, dtype=np.int64)

    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """See `Program.row_bounds`."""
        return integer_bounds(self, rows)

    def real_scores(self, rows: np.ndarray) -> np.ndarray:
        """Scores of raw rows in the units of the float64 model."""
        return super().real_scores(rows) * self.step + self.shift

    def zero_weights_in_words(self, escape: Callable[[str], str] = str) -> str:
        """See `describe.zero_weights_in_words`."""
        return describe.zero_weights_in_words(self, escape)
