"""A fitted model, folded down to what a chip needs; its emulator is the specification.

A `CompiledModel` is pure data in the user's own units. Its emulator computes in
float32, each operation rounded on its own and in a fixed order. Every back end does
the same operations, so each score of a compiled file equals `CompiledModel.scores`
bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from smpcore.codegen.inputs import CompiledInput, rows_given_away
from smpcore.codegen.json_text import from_text, to_text
from smpcore.errors import ExportError
from smpcore.model.ties import lowest_within

#: Lowest score: no row of a class has spoken yet.
LOWEST = -np.finfo(np.float32).max


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledModel(ABC):
    """A model of float32 rows: the largest score among a class's rows counts.

    The forms below it say how the score of a row comes from the inputs.

    Parameters
    ----------
    inputs : tuple of CompiledInput
        Columns of the user's table that the model reads, in their order.
    bias : ndarray of shape (n_rows,), float32
        Constant part of the score of each row of the model.
    owner : ndarray of shape (n_rows,), int64
        Class index each row speaks for, ascending.
    classes : tuple or None
        Labels. None for regression: the score of the only row is the answer.
    fallback : int
        Class index where no score is a number (an infinite input).
    band : float
        Margins up to this are "not sure"; 0: there is no such band.
    tie : float
        A float32; the answer is the lowest class within it of the largest score.
    provenance : mapping
        Where the model comes from, as plain JSON values.
    """

    FLOATS: ClassVar[tuple[str, ...]] = ("bias",)
    INTEGERS: ClassVar[tuple[str, ...]] = ("owner",)
    #: Similarities of the models that a form holds.
    SIMILARITIES: ClassVar[tuple[str, ...]]
    #: The formula, for a reader of the JSON text.
    ARITHMETIC: ClassVar[str]

    inputs: tuple[CompiledInput, ...]
    bias: np.ndarray
    owner: np.ndarray
    classes: tuple[Any, ...] | None
    fallback: int = 0
    band: float = 0.0
    tie: float = 0.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.FLOATS + self.INTEGERS:
            dtype = np.float32 if name in self.FLOATS else np.int64
            with np.errstate(over="ignore"):  # an infinite weight is refused below
                array = np.array(getattr(self, name), dtype=dtype)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        for rule, holds in self._rules().items():
            if not holds:
                raise ExportError(f"{rule}; compile the model again.")

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """Multiplications of one prediction by a number from a table."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What the model is made of, for a README."""

    @property
    @abstractmethod
    def code_bytes(self) -> dict[str, tuple[int, int]]:
        """Chip -> least and most flash that code adds to the tables, as measured."""

    def with_less(
        self, measured: dict[str, tuple[int, int]]
    ) -> dict[str, tuple[int, int]]:
        """Code sizes; one value alone needs up to 30 % less, as nothing competes."""
        less = 7 if self.is_regression else 10
        return {
            chip: (less * low // 10, high) for chip, (low, high) in measured.items()
        }

    @property
    def n_training_rows(self) -> int:
        """Rows of the training table that the model carries, readable by anyone."""
        return 0

    @property
    def stack_bytes(self) -> int:
        """RAM that one prediction takes for arrays."""
        return 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever gets the files should know first, in whole sentences."""
        return rows_given_away(self.n_training_rows)

    @abstractmethod
    def row_scores(self, rows: np.ndarray) -> np.ndarray:
        """Score of each row.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)
            As `rows` gives them; rounded to float32 first.

        Returns
        -------
        ndarray of shape (n, n_rows), float32
        """

    @abstractmethod
    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """How far each float32 row score can be from the float64 model's, at most.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs), float64

        Returns
        -------
        ndarray of shape (n, n_rows), float64
        """

    @abstractmethod
    def telling_rows(self, drawn: np.ndarray) -> Iterator[np.ndarray]:
        """Rows of inputs where a wrong number of the model shows, the best first.

        Parameters
        ----------
        drawn : ndarray of shape (n, n_inputs)
            Random rows to choose from.
        """

    def untold(self, rows: np.ndarray) -> str:
        """Numbers that these rows do not try, in a sentence; empty if none is known."""
        return ""

    @abstractmethod
    def tables(self) -> dict[str, np.ndarray]:
        """The constants of generated code, in the smallest types that hold them.

        Returns
        -------
        dict of str to ndarray
            ``bias`` always, ``owner`` of classes, `input_tables`, and the form's.
        """

    @abstractmethod
    def _form_rules(self) -> dict[str, bool]:
        """What the parts of a form have to fulfil, in words."""

    @property
    def n_rows(self) -> int:
        """Scores that compete, one per prototype that can win."""
        return len(self.bias)

    @property
    def labels(self) -> tuple[str, ...]:
        """Classes as text."""
        return tuple(str(label) for label in self.classes or ())

    @property
    def is_regression(self) -> bool:
        """Whether the answer is a number."""
        return self.classes is None

    @property
    def n_outputs(self) -> int:
        """Classes, or 1 for regression."""
        return 1 if self.classes is None else len(self.classes)

    def rows(self, table: Any) -> np.ndarray:
        """Values of the inputs, taken from raw rows of the user's table.

        Parameters
        ----------
        table : DataFrame, mapping of columns, or ndarray of shape (n, n_columns)
            Raw values. An array is read by column index.

        Returns
        -------
        ndarray of shape (n, n_inputs), float64
            See `CompiledInput.read`.
        """
        columns = (
            table[:, entry.index]
            if isinstance(table, np.ndarray)
            else table[entry.name]
            for entry in self.inputs
        )
        pairs = zip(self.inputs, columns, strict=True)
        return np.column_stack([entry.read(column) for entry, column in pairs])

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Score of each class.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n, n_outputs), float32
            The lowest float32 where no row of the class gives a number; for regression
            the value, whatever it is.
        """
        if self.is_regression:
            return self.row_scores(rows)
        scores = np.full((len(rows), self.n_outputs), LOWEST, dtype=np.float32)
        for owner, score in zip(self.owner, self.row_scores(rows).T, strict=True):
            better = score > scores[:, owner]
            scores[better, owner] = score[better]
        return scores

    def real_scores(self, rows: np.ndarray) -> np.ndarray:
        """Scores in the units of the float64 model."""
        return self.scores(rows)

    def winners(self, rows: np.ndarray) -> np.ndarray:
        """Class index of each row of inputs, see `decide`."""
        return self.decide(self.scores(rows))

    def margins(self, rows: np.ndarray) -> np.ndarray:
        """How far the best class of each row is above the next, float32."""
        top = np.sort(self.scores(rows), axis=1)
        return np.subtract(top[:, -1], top[:, -2])

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """The lowest class within `tie` of the best; `fallback` if none is a number.

        Parameters
        ----------
        scores : ndarray of shape (n, n_outputs), float32

        Returns
        -------
        ndarray of shape (n,), int64
            Zeros for regression.
        """
        if self.is_regression:
            return np.zeros(len(scores), dtype=np.int64)
        spoken = (scores > LOWEST).any(axis=1)
        return np.where(spoken, lowest_within(scores, self.tie), self.fallback)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Label or value of each row.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.is_regression:
            return self.scores(rows)[:, 0]
        return np.asarray(self.classes)[self.winners(rows)]

    def predict_frame(self, table: Any) -> np.ndarray:
        """Label or value of each raw row of the user's table.

        Parameters
        ----------
        table : DataFrame, mapping of columns, or ndarray of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.predict(self.rows(table))

    def value(self, x: np.ndarray, column: int, level: int) -> np.ndarray:
        """What one input counts as: a number less its offset, or 1 at a level.

        Parameters
        ----------
        x : ndarray of shape (n, n_inputs), float32 or float64
            The offset is subtracted in the precision of x.
        column : int
        level : int
            -1 for a number.

        Returns
        -------
        ndarray of shape (n,), dtype of x
        """
        if level >= 0:
            return (x[:, column] == level).astype(x.dtype)
        entry = self.inputs[column]
        return entry.filled(x[:, column]) - x.dtype.type(entry.offset)

    def input_tables(self) -> dict[str, np.ndarray]:
        """Constants of the inputs, as far as one needs them.

        Returns
        -------
        dict of str to ndarray
            ``missing`` (what a missing number counts as), ``shift`` (minus the offset).
        """
        missing = [entry.missing for entry in self.inputs]
        # Added with the sign turned: a chip without floats in hardware then needs no
        # subtraction routine, and the bits are the same.
        shift = np.array([0.0 - entry.offset for entry in self.inputs], np.float32)
        tables = {}
        if any(value is not None for value in missing):
            tables["missing"] = np.array([v or 0.0 for v in missing], np.float32)
        if shift.any():
            tables["shift"] = shift
        return tables

    @property
    def table_bytes(self) -> int:
        """Flash that the tables take; code comes on top."""
        return sum(table.nbytes for table in self.tables().values())

    def to_json(self) -> str:
        """The whole model as text; `from_json` gives it back bit for bit."""
        return to_text(self)

    @classmethod
    def from_json(cls, text: str) -> CompiledModel:
        """Read a model written by `to_json`.

        Parameters
        ----------
        text : str

        Returns
        -------
        CompiledModel

        Raises
        ------
        ExportError
            If the text is not such a model: which entry, and why.
        """
        return from_text(text, forms())

    def _rules(self) -> dict[str, bool]:
        n_classes = self.n_outputs
        return {
            "inputs should not be empty": len(self.inputs) > 0,
            **self._form_rules(),
            "owner should name a class for each row, in ascending order, and every "
            "class": (
                len(self.owner) == self.n_rows
                and bool((np.diff(self.owner) >= 0).all())
                and np.array_equal(np.unique(self.owner), np.arange(n_classes))
            ),
            f"{', '.join(self.FLOATS)} should be finite": all(
                np.isfinite(getattr(self, name)).all() for name in self.FLOATS
            ),
            "bias should be one number for regression": (
                self.n_rows == 1 or not self.is_regression
            ),
            "fallback should be a class index": 0 <= self.fallback < n_classes,
            "band should be a number of at least 0": 0 <= self.band < np.inf,
            "tie should be a 32-bit float of at least 0": (
                0 <= self.tie < np.inf and self.tie == np.float32(self.tie)
            ),
        }

    def levels_fit(self, place: np.ndarray, level: np.ndarray) -> bool:
        """Whether each (input, level) exists; the level is -1 for a number only."""
        if (place < 0).any() or (place >= len(self.inputs)).any():
            return False
        n_levels = np.array([len(entry.levels) for entry in self.inputs])[place]
        return bool(((level >= 0) == (n_levels > 0)).all() and (level < n_levels).all())


def forms() -> dict[str, type[CompiledModel]]:
    """Similarity -> form that holds models with it."""
    found = CompiledModel.__subclasses__()
    for form in found:  # grows on the way: the forms of a form come behind it
        found += form.__subclasses__()
    return {name: form for form in found for name in form.SIMILARITIES}
