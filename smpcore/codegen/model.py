"""What programs in both number formats share: scores, answers, text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np

from smpcore.codegen import describe
from smpcore.codegen.constants import Tables, tables
from smpcore.codegen.json_text import from_text, to_text
from smpcore.codegen.probability import ProbabilityTable
from smpcore.codegen.program import LOWEST, Operation
from smpcore.codegen.run import class_scores, run
from smpcore.codegen.valid_programs import Rule
from smpcore.errors import ExportError
from smpcore.model.ties import lowest_within

_Kind = TypeVar("_Kind", bound=Operation)


@dataclass(frozen=True, eq=False, kw_only=True)
class Program(ABC):
    """What both number formats share.

    Parameters
    ----------
    operations : tuple of Operation
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
    #: What it is rounded from, if it is.
    SOURCE: ClassVar[type[Program] | None] = None

    operations: tuple[Operation, ...]
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
    def _rules(self) -> Iterator[Rule]:
        """What the parts have to fulfil, in words."""

    def _calibration_rules(self) -> Iterator[Rule]:
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
    def in_words(self) -> str:
        """What the model is made of, for a README."""
        return describe.parts(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever gets the files should know first, in whole sentences."""
        return describe.warnings(self)

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
        return np.where((scores > LOWEST).any(axis=1), winner, self.fallback)

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
        """The whole model as text; `from_json` gives it back bit for bit."""
        return to_text(self)

    @classmethod
    def from_json(cls, text: str) -> Any:
        """Read a model written by `to_json`."""
        return from_text(text, cls)
