"""Prototypes mixed from similarities to anchors.

With x the value of an input, t_f = factor_f * value_f(x), where

    value(x) = x - offset                              for a number
    value(x) = 1 if x is the feature's level, else 0   for a category

    rbf:        s_i = 2^-u, u = sum over f of (t_f - a_if)^2, beginning with 0
    laplacian:  s_i = 2^-u, u = sum over f of |t_f - a_if|, beginning with 0
    poly:       s_i = u^degree, u = constant_i + sum over f of a_if t_f
    score_j = ((bias_j + 0) + m_1j s_1) + m_2j s_2 + ...
    score of a class = largest score_j among its own rows

summed in the order of the features and of the anchors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.compiled import LOWEST, CompiledModel
from smpcore.codegen.exponentials import EXP2
from smpcore.codegen.inputs import UNIT, input_rounding, to_float32
from smpcore.codegen.kernel import Kernel
from smpcore.codegen.kernels import KERNELS
from smpcore.codegen.sizes import smallest


@dataclass(frozen=True, eq=False, kw_only=True)
class SimilaritySums(CompiledModel):
    """A model of rows that are sums of similarities to anchors.

    Parameters
    ----------
    similarity : {"rbf", "poly", "laplacian"}
        Function of an input and an anchor, in scaled units.
    degree : int
        Power of "poly"; 1 otherwise.
    feature_input, feature_level : ndarray of shape (n_features,), int64
        Input of each feature, and the level it waits for (-1: a number).
    factor : ndarray of shape (n_features,), float32
        Scaled units per user's unit.
    constant : ndarray of shape (n_anchors,), float32
        What the total of each anchor begins with.
    anchor : ndarray of shape (n_anchors, n_features), float32
        Points that inputs are compared with, scaled units.
    start : ndarray of shape (n_anchors + 1,), int64
        Anchor i owns the terms ``start[i]:start[i + 1]``.
    term_row : ndarray of shape (n_terms,), int64
        Row that each term adds to, ascending within an anchor.
    weight : ndarray of shape (n_terms,), float32
        What one unit of similarity adds; zeros only where all are written out.
    real_anchors : bool
        Whether the anchors are rows of the training table.
    """

    FLOATS = ("bias", "factor", "constant", "anchor", "weight")
    INTEGERS = ("owner", "feature_input", "feature_level", "start", "term_row")
    SIMILARITIES = ("rbf", "poly", "laplacian")

    similarity: str
    degree: int = 1
    feature_input: np.ndarray
    feature_level: np.ndarray
    factor: np.ndarray
    constant: np.ndarray
    anchor: np.ndarray
    start: np.ndarray
    term_row: np.ndarray
    weight: np.ndarray
    real_anchors: bool = True

    @property
    def kernel(self) -> Kernel:
        """How the similarity is computed."""
        return KERNELS[self.similarity]

    @property
    def ARITHMETIC(self) -> str:
        """See `CompiledModel.ARITHMETIC`."""
        return (
            "float32; t = factor * v; v = x - offset of a number, 1 or 0 for a "
            f"category's level; {self.kernel.ARITHMETIC}; score of a class = max over "
            "its rows of (bias + sum of weight * s); answer: lowest class within tie "
            "of the largest score"
        )

    @property
    def code_bytes(self) -> dict[str, tuple[int, int]]:
        """See `CompiledModel.code_bytes`."""
        return self.with_less(self.kernel.CODE_BYTES)

    @property
    def n_anchors(self) -> int:
        """Similarities of one prediction."""
        return len(self.anchor)

    @property
    def n_features(self) -> int:
        """Entries of an anchor."""
        return len(self.factor)

    @property
    def n_terms(self) -> int:
        """Numbers in anchors and mixing, each multiplied once a prediction."""
        return self.anchor.size + len(self.weight)

    @property
    def n_training_rows(self) -> int:
        """Anchors that are rows of the training table."""
        return self.n_anchors if self.real_anchors else 0

    @property
    def features_differ(self) -> bool:
        """Whether any feature is not just the input itself."""
        numbers = (self.feature_level < 0).all() and (self.factor == 1).all()
        return not numbers or bool(self.input_tables())

    @property
    def stack_bytes(self) -> int:
        """One float for each row, and for each feature that is not just an input."""
        return 4 * (self.n_rows + (self.n_features if self.features_differ else 0))

    @property
    def is_dense(self) -> bool:
        """Whether every anchor adds to every row, so that no index is needed."""
        return len(self.weight) == self.n_anchors * self.n_rows

    @property
    def in_words(self) -> str:
        """Anchors, features and prototypes."""
        if self.is_regression:
            return (
                f"A sum of {self.n_anchors} similarities to anchors of "
                f"{self.n_features} features ({self.similarity} similarity)"
            )
        return (
            f"{self.n_rows} prototypes mixed from {self.n_anchors} anchors of "
            f"{self.n_features} features ({self.similarity} similarity)"
        )

    def similarities(self, rows: np.ndarray) -> np.ndarray:
        """Similarity to each anchor.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n, n_anchors), float32
        """
        features = self.features(rows)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            total = np.tile(self.constant, (len(rows), 1))
            for value, anchor in zip(features.T, self.anchor.T, strict=True):
                total = self.kernel.add(total, value[:, None], anchor)
            return self.kernel.similarity(total, self.degree)

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Inputs as the anchors have them.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs)

        Returns
        -------
        ndarray of shape (n, n_features), float32
        """
        x = to_float32(rows)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            values = [self.value(x, *place) for place in self._places()]
            return np.column_stack(values) * self.factor

    def row_scores(self, rows: np.ndarray) -> np.ndarray:
        """Score of each prototype, see `CompiledModel.row_scores`."""
        similarities = self.similarities(rows)
        scores = np.tile(self.bias, (len(rows), 1)) + np.float32(0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for anchor, (first, end) in enumerate(self._terms()):
                weights = self.weight[first:end] * similarities[:, anchor, None]
                scores[:, self.term_row[first:end]] += weights
        return scores

    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        r"""Bound of the rounding, see `CompiledModel.row_bounds`.

        The roundings are carried along: input to feature, features to total, total to
        similarity, similarities to score. Each sum of n numbers adds ``n u`` of the
        sum of their sizes, with room for the second order.
        """
        most, error = self.similarity_bounds(rows)
        mixing = np.abs(self.mixing().astype(np.float64))
        added = np.count_nonzero(mixing, axis=0) + 4
        sums = np.abs(self.bias.astype(np.float64)) + most @ mixing
        return error @ mixing + added * (
            UNIT * sums + 1e-44 * (1 + most.max(axis=1))[:, None]
        )

    def similarity_bounds(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How large similarities can be, and how far off those of float32.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs), float64

        Returns
        -------
        most, error : ndarray of shape (n, n_anchors), float64
        """
        kernel = self.kernel
        total = np.tile(self.constant.astype(np.float64), (len(rows), 1))
        off = 2 * UNIT * np.abs(total)
        features = zip(*self.feature_bounds(rows), self.anchor.T, strict=True)
        for value, error, reach, numbers in features:
            anchor = numbers.astype(np.float64)
            total = kernel.add(total, value[:, None], anchor)
            off += kernel.total_error(value[:, None], anchor, error[:, None], reach)
            # A sum is rounded as it grows, not at the size it will have.
            off += UNIT * (np.abs(total) + off)
        error = kernel.error(total, off, self.degree)
        return np.abs(kernel.similarity(total, self.degree)) + error, error

    def feature_bounds(
        self, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features without rounding, and how far those of float32 can be off.

        Parameters
        ----------
        rows : ndarray of shape (n, n_inputs), float64

        Returns
        -------
        values, errors : ndarray of shape (n_features, n), float64
        reach : ndarray of shape (n_features,), float64
            Size that the float64 model rounds at.
        """
        rounding = input_rounding(self.inputs, rows)
        values, errors, reach = [], [], []
        for feature, (place, level) in enumerate(self._places()):
            factor, entry = float(self.factor[feature]), self.inputs[place]
            value = factor * self.value(rows, place, level)
            values.append(value)
            # Of the factor, the product, and the difference if there is any.
            rounded = (3.01 if entry.offset else 2.01) * UNIT
            errors.append(factor * rounding[:, place] + rounded * np.abs(value))
            farthest = max(abs(entry.low), abs(entry.high), abs(entry.offset), 1)
            reach.append(factor * farthest)
        return np.array(values), np.array(errors), np.array(reach)

    def mixing(self) -> np.ndarray:
        """Weights as a table, shape (n_anchors, n_rows), float32."""
        mixing = np.zeros((self.n_anchors, self.n_rows), dtype=np.float32)
        owner = np.repeat(np.arange(self.n_anchors), np.diff(self.start))
        mixing[owner, self.term_row] = self.weight
        return mixing

    def telling_rows(self, drawn: np.ndarray) -> Iterator[np.ndarray]:
        """Where each row wins among its class's, and beside each anchor.

        At an anchor itself a small error of its entries changes no distance.
        """
        beside = self._beside_anchors()
        tried = np.vstack([drawn, beside])
        scores = self.row_scores(tried)
        for row, owner in enumerate(self.owner):
            rivals = np.delete(scores, row, axis=1)[
                :, np.delete(self.owner, row) == owner
            ]
            lead = scores[:, row] - rivals.max(axis=1, initial=LOWEST)
            yield tried[lead.argmax()]
        yield from beside

    def _beside_anchors(self) -> np.ndarray:
        """A row of inputs a little off each anchor, shape (n_anchors, n_inputs)."""
        rows = np.tile([entry.low for entry in self.inputs], (self.n_anchors, 1))
        best = np.full(rows.shape, -np.inf)
        sides = np.where(np.indices(self.anchor.shape).sum(axis=0) % 2, 1.0, -1.0)
        near = self.anchor + sides * self.kernel.beside(self.n_features)
        values = self.unscaled(near)
        for feature, (place, level) in enumerate(self._places()):
            value = values[:, feature]
            if not self.factor[feature]:
                continue
            if level < 0:
                rows[:, place] = value + self.inputs[place].offset
                continue
            better = value > best[:, place]
            rows[better, place], best[better, place] = level, value[better]
        return rows

    def unscaled(self, features: np.ndarray) -> np.ndarray:
        """What inputs less their offsets are, where the features are these."""
        return features / np.where(self.factor, self.factor, 1)

    def tables(self) -> dict[str, np.ndarray]:
        """The constants of generated code, see `CompiledModel.tables`.

        Returns
        -------
        dict of str to ndarray
            ``bias, anchor, weight`` always; ``owner`` of classes; `input_tables`; where
            they are not all the same: ``factor, constant``, ``input, level`` of the
            features; ``end, row`` of a sparse mixing; ``exp2`` of an exponential.
        """
        tables = {"bias": self.bias, "anchor": self.anchor}
        tables["weight"] = self.mixing() if self.is_dense else self.weight
        tables |= self.input_tables()
        if (self.factor != 1).any():
            tables["factor"] = self.factor
        if self.constant.any():
            tables["constant"] = self.constant
        if self.kernel.is_exponential:
            tables["exp2"] = EXP2
        indices = {} if self.is_regression else {"owner": self.owner}
        if not self.is_dense:
            indices |= {"end": self.start[1:], "row": self.term_row}
        if not self._in_order:
            indices["input"] = self.feature_input
        if (self.feature_level >= 0).any():
            indices["level"] = self.feature_level + 1
        return tables | {name: smallest(values) for name, values in indices.items()}

    @property
    def _in_order(self) -> bool:
        """Whether the features are the inputs, one after the other."""
        n = len(self.inputs)
        numbers = self.n_features == n and (self.feature_level < 0).all()
        return bool(numbers and (self.feature_input == np.arange(n)).all())

    def _places(self) -> Iterator[tuple[int, int]]:
        """Input and level of each feature."""
        return zip(self.feature_input, self.feature_level, strict=True)

    def _terms(self) -> Iterator[tuple[int, int]]:
        """First and end of each anchor's terms."""
        return zip(self.start[:-1], self.start[1:], strict=True)

    def _form_rules(self) -> dict[str, bool]:
        d, n = self.n_features, self.n_anchors
        numbers = (self.feature_level < 0).all()
        places = self.feature_input[self.factor != 0]
        in_order = np.array_equal(places, np.arange(len(self.inputs)))
        steps = np.diff(self.start)
        chained = len(self.start) == n + 1 and bool((steps >= 0).all())
        chained = chained and self.start[0] == 0 and self.start[-1] == len(self.weight)
        return {
            "anchor should be a table with a column for each factor": (
                self.anchor.ndim == 2 and self.anchor.shape[1] == d and n > 0
            ),
            "constant should have a number for each anchor": len(self.constant) == n,
            "feature_input and feature_level should fit the inputs, numbers in order": (
                len(self.feature_input) == len(self.feature_level) == d
                and self.levels_fit(self.feature_input, self.feature_level)
                and (not numbers or in_order)
            ),
            # A feature of 0 times an input, and moved, never varies.
            "factor should be above 0": bool(
                (self.factor >= 0).all()
                and (hasattr(self, "move") or (self.factor > 0).all())
            ),
            "start should lead through all terms": chained,
            "term_row should be a row for each term, ascending within an anchor": (
                chained and len(self.term_row) == len(self.weight) and self._rows_fit()
            ),
            "degree should be a whole number from 1 on": (
                type(self.degree) is int and self.degree >= 1
            ),
            "real_anchors should be true or false": type(self.real_anchors) is bool,
        }

    def _rows_fit(self) -> bool:
        if ((self.term_row < 0) | (self.term_row >= self.n_rows)).any():
            return False
        return all(
            (np.diff(self.term_row[first:end]) > 0).all()
            for first, end in self._terms()
        )
