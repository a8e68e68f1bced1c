"""A model as a program, in float32 or in integers: scores, answers, bounds, text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np

from smpcore.codegen import program
from smpcore.codegen.arithmetic import to_float32
from smpcore.codegen.bounds import bounded
from smpcore.codegen.constants import Tables, features_differ, tables
from smpcore.codegen.describe import to_text
from smpcore.codegen.inputs import CompiledInput, QuantInput, container_ends
from smpcore.codegen.names import shorten
from smpcore.codegen.probability import ProbabilityTable
from smpcore.codegen.rounding import integer_bounds, row_reach, rows_over_counts
from smpcore.codegen.run import class_scores, input_values, run
from smpcore.errors import ExportError
from smpcore.model.ties import lowest_within

_Kind = TypeVar("_Kind", bound=program.Operation)


@dataclass(frozen=True, eq=False, kw_only=True)
class Program(ABC):
    """What both number formats share.

    Parameters
    ----------
    operations : tuple of program.Operation
        What is computed from the inputs, one after the other (`program`).
    prototype_labels : ndarray of shape (n_rows,), int64
        Class index of each score, ascending.
    probability : ProbabilityTable or None
        Probabilities of the classes, where they are known (`calibrated`).
    half_width : float, int or None
        Of regression half the width of the 90 % interval, where it is known: in the
        units of the score.
    """

    #: Whether all arithmetic is that of integers.
    is_integer: ClassVar[bool]

    operations: tuple[program.Operation, ...]
    prototype_labels: np.ndarray
    probability: ProbabilityTable | None = None
    half_width: float | None = None

    def __post_init__(self) -> None:
        labels = np.array(self.prototype_labels, dtype=np.int64)
        labels.flags.writeable = False
        object.__setattr__(self, "prototype_labels", labels)
        for rule, holds in chain(self._rules(), self._calibration_rules()):
            if not holds:
                raise ExportError(f"{rule}; compile or quantise the model again.")

    @abstractmethod
    def _rules(self) -> Iterator[program.Rule]:
        """What the parts have to fulfil, in words."""

    def _calibration_rules(self) -> Iterator[program.Rule]:
        table, width = self.probability, self.half_width
        same = table is None or table.is_integer == self.is_integer
        yield (
            "probability should be of two classes, or have an offset for each",
            table is None or self.n_outputs == (len(table.offset) or 2),
        )
        yield "probability should be in the number format of the model", same
        fits = width is None or (self.is_regression and 0 <= width < 2.0**128)
        yield "half_width should be a number of at least 0, for regression", fits

    @abstractmethod
    def _values(self, given: np.ndarray) -> np.ndarray:
        """Values of the inputs, see `program`."""

    @abstractmethod
    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """How far each score can be from the float64 model's, at most."""

    @abstractmethod
    def to_inputs(self, rows: np.ndarray) -> np.ndarray:
        """What `scores` takes, of raw rows."""

    def row_scores(self, given: np.ndarray, until: type | None = None) -> np.ndarray:
        """Score of each row of the model."""
        operations = self.operations
        if until is not None:
            operations = operations[: operations.index(self.find(until))]
        return run(operations, self._values(given))

    def find(self, kind: type[_Kind]) -> _Kind | None:
        """The operation of this type, if there is one."""
        return next((one for one in self.operations if isinstance(one, kind)), None)

    @property
    def number(self) -> str:
        """Number format: "float32", "int16" or "int8"."""
        return f"int{self.width}" if self.is_integer else "float32"

    @property
    def types(self) -> tuple[np.dtype, np.dtype]:
        """Types of an input and of a score in generated code."""
        if not self.is_integer:
            return np.dtype(np.float32), np.dtype(np.float32)
        return np.dtype(f"int{self.width}"), np.dtype(f"int{self.accumulator}")

    @property
    def n_rows(self) -> int:
        """Scores that compete."""
        return len(self.prototype_labels)

    @property
    def n_terms(self) -> int:
        """Multiplications of one prediction by a number from a table."""
        return sum(operation.n_terms for operation in self.operations)

    @property
    def n_outputs(self) -> int:
        """Classes, or 1 for regression."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def labels(self) -> tuple[str, ...]:
        """Classes as text."""
        return tuple(str(label) for label in self.classes or ())

    @property
    def is_regression(self) -> bool:
        """Whether the answer is a number."""
        return self.classes is None

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What the model is made of, for a README."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever gets the files should know first, in whole sentences."""
        if not self.n_training_rows:
            return ()
        return (
            f"This model contains {self.n_training_rows} training rows (support "
            "vectors): whoever has these files can read them. Pass them on only if you "
            "may pass on those rows.",
        )

    def tables(self) -> Tables:
        """The constants of generated code, see `constants.tables`."""
        return tables(self)

    @property
    def table_bytes(self) -> int:
        """Flash that the tables take; code comes on top."""
        return sum(table.nbytes for table in self.tables().values())

    def scores(self, given: np.ndarray) -> np.ndarray:
        """Score of each class; for regression the value, whatever it is."""
        scores = self.row_scores(given)
        if self.is_regression:
            return scores
        return class_scores(scores, self.prototype_labels, self.n_outputs)

    def real_scores(self, rows: np.ndarray) -> np.ndarray:
        """Scores of raw rows in the units of the float64 model."""
        return self.scores(self.to_inputs(rows))

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """The lowest class within `tie` of the best; `fallback` if none is a number."""
        if self.is_regression:
            return np.zeros(len(scores), dtype=np.int64)
        winner = lowest_within(scores, self.tie)
        return np.where((scores > program.LOWEST).any(axis=1), winner, self.fallback)

    def winners(self, given: np.ndarray) -> np.ndarray:
        """Class index of each row of inputs, see `decide`."""
        return self.decide(self.scores(given))

    def margins(self, given: np.ndarray) -> np.ndarray:
        """How far the best class of each row is above the next."""
        top = np.sort(self.scores(given), axis=1)
        return np.subtract(top[:, -1], top[:, -2])

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Label or value of each raw row."""
        if self.is_regression:
            return self.real_scores(rows)[:, 0]
        return np.asarray(self.classes)[self.winners(self.to_inputs(rows))]

    def predict_frame(self, table: Any) -> np.ndarray:
        """Label or value of each raw row of the user's table."""
        return self.predict(self.rows(table))

    def to_json(self) -> str:
        """The whole model as text, as its `schema` describes it."""
        return to_text(self)


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
    shift: ClassVar[float] = 0.0
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
    def not_sure(self) -> np.float32 | int:
        """A margin up to this is inside the "not sure" band; -1 without a band."""
        return np.float32(self.band) if self.band else -1

    @property
    def stack_bytes(self) -> int:
        """RAM that one prediction takes for arrays."""
        sums, code = self.find(program.WeightedSums), self.find(program.SparseCode)
        arrays = 4 * sums.n_rows if sums else 0
        if features_differ(self):
            arrays += 4 * self.find(program.Features).n_features
        if code is None:
            return arrays
        m, limit = code.n_prototypes, code.limit
        index = np.min_scalar_type(m).itemsize
        # Sums count those of all prototypes themselves.
        slopes = 4 * m if arrays else 8 * m
        factor = 4 * (limit * (limit + 1) // 2)
        return arrays + slopes + m + (8 + index) * limit + factor

    @property
    def in_words(self) -> str:
        """See `Program.in_words`."""
        code, sums = self.find(program.SparseCode), self.find(program.WeightedSums)
        if sums is None:
            rows = self.find(program.WeightedInputs)
            n_rows, n_terms = rows.n_rows, rows.n_terms
            one = f"A sum of {n_terms} weighted inputs"
            several = f"{n_rows} sparse prototypes with {n_terms} weights in all"
        else:
            kind = self.find(program.Similarities).similarity
            d = self.find(program.Features).n_features
            of = f"anchors of {d} features ({kind} similarity)"
            alike = f"{sums.n_anchors} similarities to {of}"
            one = f"A sum of {alike}"
            several = f"{sums.n_rows} prototypes mixed from {sums.n_anchors} {of}"
            if not self.n_training_rows and (np.diff(self.prototype_labels) > 0).all():
                # The anchors are the prototypes, and all of them count for each class.
                several = f"{sums.n_rows} sums, one for each class, of {alike}"
        if code is None:
            return one if self.is_regression else several
        return f"Codes of at most {code.limit} of {several}"

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
        return bounded(self, rows).errors

    def _rules(self) -> Iterator[program.Rule]:
        labels, n_classes = self.prototype_labels, self.n_outputs
        yield "inputs should not be empty", len(self.inputs) > 0
        yield "operations should not be empty", len(self.operations) > 0
        yield from program.rules(self.operations, self.inputs, self.n_rows, False)
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

    source: CompiledModel
    inputs: tuple[QuantInput, ...]
    width: int
    accumulator: int
    step: float
    shift: float
    relative: bool = False

    def _rules(self) -> Iterator[program.Rule]:
        yield from program.rules(self.operations, self.source.inputs, self.n_rows, True)
        fits = self.largest <= 2 ** (self.accumulator - 1) - 1
        bits = f"{self.accumulator} bits hold"
        yield (
            f"A score can reach {self.largest}, but should be no more than {bits}",
            fits,
        )

    @cached_property
    def largest(self) -> int:
        """No score and no partial sum is larger in size, for any bits of the inputs."""
        return int(row_reach(self).max())

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
        sums = self.find(program.WeightedSums)
        return min(sums.n_anchors, self.source.n_training_rows) if sums else 0

    @property
    def converts(self) -> bool:
        """Whether some input is a number that becomes another one as an integer."""
        return any(one.is_number and not one.is_itself for one in self.inputs)

    @property
    def zero_weights(self) -> dict[str, tuple[int, int]]:
        """Column -> how many of its weights round to 0, and how many it has."""
        n, whole = len(self.inputs), self.find(program.FixedPointFeatures)
        if whole:
            before = self.source.find(program.Features).input
            left = before[whole.feature]
        else:
            before = rows_over_counts(self.source, self.inputs).place
            left = self.find(program.WeightedInputs).input
        counts = np.bincount(before, minlength=n), np.bincount(left, minlength=n)
        return {
            one.given.name: (int(total - kept), int(total))
            for one, total, kept in zip(self.inputs, *counts, strict=True)
            if kept < total
        }

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

    @property
    def in_words(self) -> str:
        """See `Program.in_words`; of integers also what rounds to 0."""
        whole = self.source.in_words, self.zero_weights_in_words()
        return ". ".join(filter(None, whole))

    def zero_weights_in_words(self, escape: Callable[[str], str] = str) -> str:
        """Which weights round to 0, in a sentence; empty if none does."""
        columns = [
            f"{zero} of {total} of {escape(shorten(name))}"
            for name, (zero, total) in self.zero_weights.items()
        ]
        if not columns:
            return ""
        what = "Features" if self.find(program.FixedPointFeatures) else "Weights"
        return (
            f"{what} too small for {self.width} bits, which count as 0: "
            f"{', '.join(columns)}."
        )
