"""A model of integers only; its emulator is the specification of the integer code.

A `QuantModel` is rounded from a `CompiledModel`. All its arithmetic is exact: there is
a proved bound on every score and every partial sum for every pattern of input bits, so
that each back end gives each score of `QuantModel.scores` on any machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import rows_given_away
from smpcore.codegen.integers.inputs import QuantInput, ends
from smpcore.codegen.integers.json_text import from_text, to_text
from smpcore.codegen.names import shorten
from smpcore.errors import ExportError
from smpcore.model.ties import lowest_within


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantModel(ABC):
    """Integer rows; the largest score among a class's rows counts.

    The answer is the lowest class within `tie` of the largest score.

    A score of the real-valued model is ``step * score + shift``.

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
    owner : ndarray of shape (n_rows,), int64
        Class index each row speaks for, ascending.
    bias : ndarray of shape (n_rows,), int64
        Constant part of the score of each row, in integer units.
    """

    INTEGERS: ClassVar[tuple[str, ...]] = ("owner", "bias")
    #: The formula, for a reader of the JSON text.
    ARITHMETIC: ClassVar[str]
    #: What of an input can round to 0.
    ROUNDED: ClassVar[str]

    source: CompiledModel
    inputs: tuple[QuantInput, ...]
    width: int
    accumulator: int
    step: float
    shift: float
    relative: bool = False
    owner: np.ndarray
    bias: np.ndarray

    def __post_init__(self) -> None:
        for name in self.INTEGERS:
            array = np.array(getattr(self, name), dtype=np.int64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        limit = 2 ** (self.accumulator - 1) - 1
        if not self.largest <= limit:
            raise ExportError(
                f"A score can reach {self.largest}, more than {self.accumulator} bits "
                "hold; quantise the model again."
            )

    @property
    @abstractmethod
    def largest(self) -> int:
        """No score and no partial sum is larger in size, for any bits of the inputs."""

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """Multiplications of one prediction by a number from a table."""

    @property
    @abstractmethod
    def saturating_row(self) -> np.ndarray:
        """Integers of the inputs that attain `largest`, or come as near as is known."""

    @abstractmethod
    def row_scores(self, integers: np.ndarray) -> np.ndarray:
        """Score of each row.

        Parameters
        ----------
        integers : ndarray of shape (n, n_inputs), int64
            As `quantise` gives them, or any others that the container holds.

        Returns
        -------
        ndarray of shape (n, n_rows), int64
        """

    @abstractmethod
    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """How far each score can be from the float64 model's, at most.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs), float64
            As `rows` gives them.

        Returns
        -------
        ndarray of shape (n, n_rows), float64
            In the units of the real-valued score.
        """

    @abstractmethod
    def telling_rows(self, drawn: np.ndarray) -> Iterator[np.ndarray]:
        """Integer rows where a wrong number of the model shows, the best first."""

    @abstractmethod
    def _input_of_each(self) -> tuple[np.ndarray, np.ndarray]:
        """Input of each weight or feature, before rounding and of those left."""

    @abstractmethod
    def tables(self) -> dict[str, np.ndarray]:
        """The numbers of the model, in the smallest types that hold them."""

    @property
    def n_rows(self) -> int:
        """Scores that compete."""
        return len(self.owner)

    @property
    def n_outputs(self) -> int:
        """Classes, or 1 for regression."""
        return self.source.n_outputs

    @property
    def in_words(self) -> str:
        """What the model is made of, and what of it rounds to 0."""
        zeros = self.zero_weights_in_words()
        return ". ".join(filter(None, [self.source.in_words, zeros]))

    @property
    def n_training_rows(self) -> int:
        """See `CompiledModel.n_training_rows`."""
        return 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `CompiledModel.warnings`."""
        return rows_given_away(self.n_training_rows)

    @property
    def is_regression(self) -> bool:
        """Whether the answer is a number."""
        return self.source.is_regression

    @property
    def converts(self) -> bool:
        """Whether some input is a number that becomes another one as an integer."""
        return any(one.is_number and not one.is_itself for one in self.inputs)

    @property
    def zero_weights(self) -> dict[str, tuple[int, int]]:
        """Column -> how many of its weights round to 0, and how many it has.

        Columns without such weights are left out.
        """
        n = len(self.inputs)
        before, left = (np.bincount(of, minlength=n) for of in self._input_of_each())
        return {
            one.given.name: (int(total - kept), int(total))
            for one, total, kept in zip(self.inputs, before, left, strict=True)
            if kept < total
        }

    def zero_weights_in_words(self, escape: Callable[[str], str] = str) -> str:
        """Which weights round to 0, in a sentence; empty if none does.

        Parameters
        ----------
        escape : callable, optional
            What makes a column's name part of a text.

        Returns
        -------
        str
        """
        columns = [
            f"{zero} of {total} of {escape(shorten(name))}"
            for name, (zero, total) in self.zero_weights.items()
        ]
        if not columns:
            return ""
        return (
            f"{self.ROUNDED.capitalize()} too small for {self.width} bits, which count "
            f"as 0: {', '.join(columns)}."
        )

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
        """Integers of raw rows, as the generated ``quantise`` computes them.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)
            As `rows` gives them.

        Returns
        -------
        ndarray of shape (n, n_inputs), int64
        """
        pairs = zip(self.inputs, np.asarray(rows).T, strict=True)
        return np.column_stack([one.quantise(x, self.width) for one, x in pairs])

    def values(self, integers: np.ndarray) -> np.ndarray:
        """Raw rows that integers stand for, float64."""
        pairs = zip(self.inputs, integers.T, strict=True)
        return np.column_stack([one.values(q) for one, q in pairs])

    def saturated(self, integers: np.ndarray) -> np.ndarray:
        """How many inputs of each row lie at an end of the container.

        Parameters
        ----------
        integers : ndarray of shape (n, n_inputs), int64

        Returns
        -------
        ndarray of shape (n,), int64
        """
        numbers = [one.is_number for one in self.inputs]
        at_end = np.isin(integers[:, numbers], ends(self.width))
        return at_end.sum(axis=1)

    def scores(self, integers: np.ndarray) -> np.ndarray:
        """Score of each class: the largest of its rows; for regression the value.

        Parameters
        ----------
        integers : ndarray of shape (n, n_inputs), int64

        Returns
        -------
        ndarray of shape (n, n_outputs), int64
        """
        first = np.searchsorted(self.owner, np.arange(self.n_outputs))
        return np.maximum.reduceat(self.row_scores(integers), first, axis=1)

    def winners(self, integers: np.ndarray) -> np.ndarray:
        """Class index of each row, see `decide`."""
        return self.decide(self.scores(integers))

    def margins(self, integers: np.ndarray) -> np.ndarray:
        """How far the best class of each row is above the next, int64."""
        best = np.sort(self.scores(integers), axis=1)
        return best[:, -1] - best[:, -2]

    def real_scores(self, rows: np.ndarray) -> np.ndarray:
        """Scores of raw rows in the units of the real-valued model.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs), float64

        Returns
        -------
        ndarray of shape (n, n_outputs), float64
        """
        return self.scores(self.quantise(rows)) * self.step + self.shift

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Lowest class within `tie` of the best of each row; zeros for regression."""
        return lowest_within(scores, self.tie)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Label or value of each raw row.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.is_regression:
            return self.real_scores(rows)[:, 0]
        return np.asarray(self.source.classes)[self.winners(self.quantise(rows))]

    def predict_frame(self, table: Any) -> np.ndarray:
        """Label or value of each raw row of the user's table."""
        return self.predict(self.rows(table))

    @property
    def table_bytes(self) -> int:
        """Flash that the tables take; code comes on top."""
        return sum(table.nbytes for table in self.tables().values())

    def to_json(self) -> str:
        """The model and its source as text; `from_json` gives both back exactly."""
        return to_text(self)

    @classmethod
    def from_json(cls, text: str) -> QuantModel:
        """Read a model written by `to_json`.

        Parameters
        ----------
        text : str

        Returns
        -------
        QuantModel

        Raises
        ------
        ExportError
            If the text is not such a model: which entry, and why.
        """
        return from_text(text, {form.__name__: form for form in _forms(QuantModel)})


def _forms(above: type) -> Iterator[type]:
    for form in above.__subclasses__():
        yield form
        yield from _forms(form)
