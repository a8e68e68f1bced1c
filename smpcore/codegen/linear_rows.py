"""Linear prototypes: one sparse row of weights each, in the user's own units.

With x the value of an input,

    value(x) = x - offset                             for a number
    value(x) = 1 if x is the term's level, else 0     for a category
    score_j  = (...((bias_j + w_1 value_1) + w_2 value_2)... + w_n value_n)
    score of a class = largest score_j among its own rows
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import UNIT, input_rounding, to_float32
from smpcore.codegen.sizes import smallest


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearRows(CompiledModel):
    """A model as sparse float32 rows over the inputs it uses.

    Parameters
    ----------
    start : ndarray of shape (n_rows + 1,), int64
        Row j owns the terms ``start[j]:start[j + 1]``.
    term_input : ndarray of shape (n_terms,), int64
        Input of each term.
    term_level : ndarray of shape (n_terms,), int64
        Level of a category that the term waits for; -1 for a number.
    weight : ndarray of shape (n_terms,), float32
        Score per user's unit.
    """

    FLOATS = ("bias", "weight")
    INTEGERS = ("owner", "start", "term_input", "term_level")
    SIMILARITIES = ("linear",)
    ARITHMETIC = (
        "float32; score of a class = max over its rows of (((bias + w1*v1) + w2*v2) + "
        "...); v = x - offset of a number, 1 or 0 for a category's level; answer: "
        "lowest class within tie of the largest score"
    )

    start: np.ndarray
    term_input: np.ndarray
    term_level: np.ndarray
    weight: np.ndarray

    @property
    def n_terms(self) -> int:
        """Multiplications of one prediction."""
        return len(self.weight)

    @property
    def in_words(self) -> str:
        """Rows and weights."""
        if self.is_regression:
            return f"A sum of {self.n_terms} weighted inputs"
        return f"{self.n_rows} sparse prototypes with {self.n_terms} weights in all"

    @property
    def code_bytes(self) -> dict[str, tuple[int, int]]:
        """See `CompiledModel.code_bytes`."""
        measured = {"ATmega328P": (1000, 1500), "Cortex-M0": (2100, 2500)}
        return self.with_less(measured)

    def row_scores(self, rows: np.ndarray) -> np.ndarray:
        """Score of each prototype, see `CompiledModel.row_scores`."""
        x = to_float32(rows)
        scores = np.empty((len(x), self.n_rows), dtype=np.float32)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            numbers = [self.value(x, place, -1) for place in range(len(self.inputs))]
            for row, bias in enumerate(self.bias):
                total = np.full(len(x), bias)
                for place, level, weight in self.terms(row):
                    value = numbers[place]
                    if level >= 0:
                        value = self.value(x, place, level)
                    total = total + weight * value
                scores[:, row] = total
        return scores

    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        r"""Bound of the rounding, see `CompiledModel.row_bounds`.

        With unit roundoff u = 2^-24, n terms in a row and t = x - offset, rounding
        weights, bias, differences, products and sums costs at most
        ``(n + 4) u (|bias| + Σ|w||t|)``, with room for the second order, and rounding
        the inputs themselves ``Σ|w||x - float32(x)|``.
        """
        rounding = input_rounding(self.inputs, rows)
        n_terms = np.diff(self.start)
        size = np.tile(np.abs(self.bias.astype(np.float64)), (len(rows), 1))
        bound = np.tile(1e-44 * n_terms, (len(rows), 1))
        row = np.repeat(np.arange(self.n_rows), n_terms)
        for term, weight in enumerate(np.abs(self.weight.astype(np.float64))):
            place, level = self.term_input[term], self.term_level[term]
            size[:, row[term]] += weight * np.abs(self.value(rows, place, level))
            bound[:, row[term]] += weight * rounding[:, place]
        return bound + (n_terms + 4) * UNIT * size

    def telling_rows(self, drawn: np.ndarray) -> Iterator[np.ndarray]:
        """Ends of all ranges, and for each prototype the corner that it likes best."""
        low = np.array([entry.low for entry in self.inputs])
        high = np.array([entry.high for entry in self.inputs])
        yield low
        yield high
        for row in range(self.n_rows):
            corner = low.copy()
            for place, level, weight in self.terms(row):
                if weight > 0:
                    corner[place] = high[place] if level < 0 else level
            yield corner

    def terms(self, row: int) -> Iterator[tuple[int, int, np.float32]]:
        """Input, level (-1: a number) and weight of each term of a row, in order."""
        for term in range(self.start[row], self.start[row + 1]):
            yield self.term_input[term], self.term_level[term], self.weight[term]

    def tables(self) -> dict[str, np.ndarray]:
        """The constants of generated code, see `CompiledModel.tables`.

        Returns
        -------
        dict of str to ndarray
            ``bias, weight, start, input`` always; ``owner`` of classes; `input_tables`;
            ``level`` (level + 1, 0 for a number) where there are categories.
        """
        tables = {"bias": self.bias, "weight": self.weight, **self.input_tables()}
        indices = {"start": self.start, "input": self.term_input}
        if not self.is_regression:
            indices = {"owner": self.owner, **indices}
        if (self.term_level >= 0).any():
            indices["level"] = self.term_level + 1
        return tables | {name: smallest(values) for name, values in indices.items()}

    def _form_rules(self) -> dict[str, bool]:
        n_terms = self.n_terms
        one_each = len(self.term_input) == len(self.term_level) == n_terms
        known = (self.term_input >= 0) & (self.term_input < len(self.inputs))
        chained = (
            len(self.start) == self.n_rows + 1 and (np.diff(self.start) >= 0).all()
        )
        return {
            "each term should have an input, a level and a weight": one_each,
            "start should lead through all terms": (
                chained and self.start[0] == 0 and self.start[-1] == n_terms
            ),
            "term_input should be an index of inputs": bool(known.all()),
            "term_level should be a level of its input, -1 for a number": (
                one_each and self.levels_fit(self.term_input, self.term_level)
            ),
        }
