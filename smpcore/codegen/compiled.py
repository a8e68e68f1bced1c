"""A fitted model, folded down to what a chip needs; its emulator is the specification.

A `CompiledModel` is pure data: the table columns that matter, and one sparse row of
weights per prototype, in the user's own units. With x the value of an input,

    value(x) = x - offset                             for a number
    value(x) = 1 if x is the term's level, else 0     for a category
    score_j  = (...((bias_j + w_1 value_1) + w_2 value_2)... + w_n value_n)
    score of a class = largest score_j among its own rows

in float32, each operation rounded on its own and in this order. Every back end does
the same operations, so each score of a compiled file equals `CompiledModel.scores`
bit for bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from smpcore.codegen.inputs import CompiledInput, to_float32
from smpcore.errors import ExportError

SCHEMA = 1
ARITHMETIC = (
    "float32; score of a class = max over its rows of (((bias + w1*v1) + w2*v2) + ...)"
    "; v = x - offset of a number, 1 or 0 for a category's level; ties: lowest class"
)

#: Lowest score: no row of a class has spoken yet.
LOWEST = -np.finfo(np.float32).max

_FLOATS = ("bias", "weight")
_INTEGERS = ("owner", "start", "term_input", "term_level")


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """A classifier as sparse float32 rows over the inputs it uses.

    Parameters
    ----------
    inputs : tuple of CompiledInput
    bias : ndarray of shape (n_rows,), float32
    owner : ndarray of shape (n_rows,), int64
        Class index each row speaks for, ascending.
    start : ndarray of shape (n_rows + 1,), int64
        Row j owns the terms ``start[j]:start[j + 1]``.
    term_input : ndarray of shape (n_terms,), int64
        Input of each term.
    term_level : ndarray of shape (n_terms,), int64
        Level of a category that the term waits for; -1 for a number.
    weight : ndarray of shape (n_terms,), float32
        Score per user's unit.
    classes : tuple
        Labels; ties go to the first.
    fallback : int
        Class index where no score is a number (an infinite input).
    provenance : mapping
        Where the model comes from, as plain JSON values.
    """

    inputs: tuple[CompiledInput, ...]
    bias: np.ndarray
    owner: np.ndarray
    start: np.ndarray
    term_input: np.ndarray
    term_level: np.ndarray
    weight: np.ndarray
    classes: tuple[Any, ...]
    fallback: int = 0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _FLOATS + _INTEGERS:
            dtype = np.float32 if name in _FLOATS else np.int64
            with np.errstate(over="ignore"):  # an infinite weight is refused below
                array = np.array(getattr(self, name), dtype=dtype)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        _check(self)

    @property
    def n_rows(self) -> int:
        """Rows of weights, one per prototype that can win."""
        return len(self.bias)

    @property
    def n_terms(self) -> int:
        """Multiplications of one prediction."""
        return len(self.weight)

    @property
    def labels(self) -> tuple[str, ...]:
        """Classes as text."""
        return tuple(str(label) for label in self.classes)

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

    def row_scores(self, rows: np.ndarray) -> np.ndarray:
        """Score of each prototype.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)
            As `rows` gives them; rounded to float32 first.

        Returns
        -------
        ndarray of shape (n, n_rows), float32
        """
        x = to_float32(rows)
        scores = np.empty((len(x), self.n_rows), dtype=np.float32)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            numbers = [
                entry.filled(x[:, column]) - np.float32(entry.offset)
                for column, entry in enumerate(self.inputs)
            ]
            for row, bias in enumerate(self.bias):
                total = np.full(len(x), bias)
                for column, level, weight in self.terms(row):
                    value = numbers[column]
                    if level >= 0:
                        value = (x[:, column] == level).astype(np.float32)
                    total = total + weight * value
                scores[:, row] = total
        return scores

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Score of each class.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n, n_classes), float32
            The lowest float32 where no row of the class gives a number.
        """
        scores = np.full((len(rows), len(self.classes)), LOWEST, dtype=np.float32)
        for owner, score in zip(self.owner, self.row_scores(rows).T, strict=True):
            better = score > scores[:, owner]
            scores[better, owner] = score[better]
        return scores

    def winners(self, rows: np.ndarray) -> np.ndarray:
        """Class index of each row: the first with the largest score.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n,), int64
        """
        return self.decide(self.scores(rows))

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Class index of each row of scores; the fallback where none is a number.

        Parameters
        ----------
        scores : ndarray of shape (n, n_classes), float32

        Returns
        -------
        ndarray of shape (n,), int64
        """
        spoken = (scores > LOWEST).any(axis=1)
        return np.where(spoken, scores.argmax(axis=1), self.fallback)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Label of each row.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.asarray(self.classes)[self.winners(rows)]

    def predict_frame(self, table: Any) -> np.ndarray:
        """Label of each raw row of the user's table.

        Parameters
        ----------
        table : DataFrame, mapping of columns, or ndarray of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.predict(self.rows(table))

    def terms(self, row: int) -> Iterator[tuple[int, int, np.float32]]:
        """Input, level (-1: a number) and weight of each term of a row, in order."""
        for term in range(self.start[row], self.start[row + 1]):
            yield self.term_input[term], self.term_level[term], self.weight[term]

    def tables(self) -> dict[str, np.ndarray]:
        """The constants of generated code, in the smallest types that hold them.

        Returns
        -------
        dict of str to ndarray
            ``bias, weight, owner, start, input`` always; ``missing`` (what a missing
            number counts as) and ``shift`` (minus the offset) where an input has one;
            ``level`` (level + 1, 0 for a number) where there are categories.
        """
        missing = [entry.missing for entry in self.inputs]
        # Added with the sign turned: a chip without floats in hardware then needs no
        # subtraction routine, and the bits are the same.
        shift = np.array([0.0 - entry.offset for entry in self.inputs], np.float32)
        tables = {"bias": self.bias, "weight": self.weight}
        if any(value is not None for value in missing):
            tables["missing"] = np.array([v or 0.0 for v in missing], np.float32)
        if shift.any():
            tables["shift"] = shift
        indices = {"owner": self.owner, "start": self.start, "input": self.term_input}
        if (self.term_level >= 0).any():
            indices["level"] = self.term_level + 1
        for name, values in indices.items():
            tables[name] = values.astype(np.min_scalar_type(values.max()))
        return tables

    @property
    def table_bytes(self) -> int:
        """Flash that the tables take; code comes on top."""
        return sum(table.nbytes for table in self.tables().values())

    def to_json(self) -> str:
        """The whole model as text; `from_json` gives it back bit for bit."""
        content: dict[str, Any] = {"schema": SCHEMA, "arithmetic": ARITHMETIC}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in _FLOATS:
                value = [float(f"{v:.9g}") for v in value.tolist()]
            elif entry.name in _INTEGERS:
                value = value.tolist()
            elif entry.name == "inputs":
                value = [asdict(one) for one in value]
            content[entry.name] = value
        return json.dumps(content, allow_nan=False)

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
        try:
            content = json.loads(text)
        except ValueError as error:
            raise ExportError(f"The model is not valid JSON: {error}.") from None
        if not isinstance(content, dict) or content.pop("schema", None) != SCHEMA:
            raise ExportError(f"schema should be {SCHEMA}; export the model again.")
        content.pop("arithmetic", None)
        try:
            content["classes"] = tuple(content["classes"])
            content["inputs"] = tuple(_input(entry) for entry in content["inputs"])
            return cls(**content)
        except ExportError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
            raise ExportError(f"The model has a wrong entry: {error}.") from None


def _input(entry: Mapping[str, Any]) -> CompiledInput:
    levels = {name: tuple(entry[name]) for name in ("levels", "level_identifiers")}
    return CompiledInput(**{**entry, **levels})


def _check(model: CompiledModel) -> None:
    """Refuse a model whose parts do not fit together."""
    n_inputs, n_classes = len(model.inputs), len(model.classes)
    one_each = len(model.term_input) == len(model.term_level) == model.n_terms
    chained = len(model.start) == model.n_rows + 1 and (np.diff(model.start) >= 0).all()
    known = (model.term_input >= 0).all() and (model.term_input < n_inputs).all()
    rules = {
        "inputs should not be empty": n_inputs > 0,
        "each term should have an input, a level and a weight": one_each,
        "start should lead through all terms": (
            chained and model.start[0] == 0 and model.start[-1] == model.n_terms
        ),
        "owner should name a class for each row, in ascending order, and every class": (
            len(model.owner) == model.n_rows
            and (np.diff(model.owner) >= 0).all()
            and np.array_equal(np.unique(model.owner), np.arange(n_classes))
        ),
        "term_input should be an index of inputs": known,
        "term_level should be a level of its input, -1 for a number": (
            one_each and known and _levels_fit(model)
        ),
        "weights and biases should be finite": (
            np.isfinite(model.weight).all() and np.isfinite(model.bias).all()
        ),
        "fallback should be a class index": 0 <= model.fallback < n_classes,
    }
    for rule, holds in rules.items():
        if not holds:
            raise ExportError(f"{rule}; compile the model again.")


def _levels_fit(model: CompiledModel) -> bool:
    n_levels = np.array([len(entry.levels) for entry in model.inputs])[model.term_input]
    level = model.term_level
    return bool(((level >= 0) == (n_levels > 0)).all() and (level < n_levels).all())
