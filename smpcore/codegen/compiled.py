"""A program in float32."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from smpcore.codegen import describe
from smpcore.codegen.bounds import float_bounds
from smpcore.codegen.float32 import to_float32
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.model import Program
from smpcore.codegen.run import input_values
from smpcore.codegen.valid_programs import Rule, rules


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledModel(Program):
    """A program in float32; see `Program` for what integers have too.

    Parameters
    ----------
    inputs : tuple of CompiledInput
        Columns of the user's table that the model reads, in their order.
    classes : tuple or None
        Labels. None for regression: the only score is the answer.
    fallback : int
        Class index where no score is a number (an infinite input).
    band : float
        Margins up to this are "not sure"; 0: there is no such band.
    tie : float
        A float32; the answer is the lowest class within it of the largest score.
    n_training_rows : int
        Rows of the training table that the model carries, readable by anyone.
    provenance : mapping
        Where the model comes from, as plain JSON values.
    """

    is_integer = False
    #: Scores are those of the real-valued model, and none is less that of the first.
    step: ClassVar[float] = 1.0
    relative: ClassVar[bool] = False

    inputs: tuple[CompiledInput, ...]
    classes: tuple[Any, ...] | None
    fallback: int = 0
    band: float = 0.0
    tie: float = 0.0
    n_training_rows: int = 0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> CompiledModel:
        """The model in floats, which knows the inputs as the user does."""
        return self

    @property
    def stack_bytes(self) -> int:
        """RAM that one prediction takes for arrays."""
        return describe.stack_bytes(self)

    def rows(self, table: Any) -> np.ndarray:
        """Values of the inputs, taken from raw rows of the user's table."""
        by_place = isinstance(table, np.ndarray)
        return np.column_stack(
            [
                entry.read(table[:, entry.index] if by_place else table[entry.name])
                for entry in self.inputs
            ]
        )

    def to_inputs(self, rows: np.ndarray) -> np.ndarray:
        """The rows themselves."""
        return rows

    def _values(self, given: np.ndarray) -> np.ndarray:
        """Rounded to float32 first."""
        return input_values(self.inputs, to_float32(given))

    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """See `Program.row_bounds`."""
        return float_bounds(self, rows)

    def _rules(self) -> Iterator[Rule]:
        labels, n_classes = self.prototype_labels, self.n_outputs
        yield "inputs should not be empty", len(self.inputs) > 0
        yield "operations should not be empty", len(self.operations) > 0
        yield from rules(self.operations, self.inputs, self.n_rows, False)
        ascending = bool((np.diff(labels) >= 0).all())
        each = np.array_equal(np.unique(labels), np.arange(n_classes))
        yield (
            "prototype_labels should name a class for each row, in ascending order, "
            "and every class",
            ascending and each,
        )
        one = self.n_rows == 1 or not self.is_regression
        yield "bias should be one number for regression", one
        yield "fallback should be a class index", 0 <= self.fallback < n_classes
        yield "band should be a number of at least 0", 0 <= self.band < np.inf
        fits = 0 <= self.tie < np.inf and self.tie == np.float32(self.tie)
        yield "tie should be a 32-bit float of at least 0", bool(fits)
        held = self.n_training_rows
        whole = type(held) is int and held >= 0
        yield "n_training_rows should be a whole number of at least 0", whole
