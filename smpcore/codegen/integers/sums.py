r"""Similarities to anchors in integers: rbf and laplacian.

    c_f = q of the feature's input, or 1 where that is the feature's level, else 0
    t_f = clip((c_f factor_f + origin_f) >> places_f, 0, top)
    d_i = sum over f of (t_f - A_if)^2     rbf
    d_i = sum over f of |t_f - A_if|       laplacian
    s_i = 2^-(d_i / scale) in Q.15         `fade`: shifts, one product, a table
    score_j = bias_j + sum over i of W_ij s_i

**No overflow, for every pattern of input bits.** As 0 <= factor < 2^15, |origin| < 2^30
and |c| <= 2^15, |c factor + origin| < 2^31. t never falls as c grows: it lies between
its values at the ends of the container. The farther end is put in for each anchor and
feature, and the grid is only as fine as keeps the largest such d_i <= 2^32 - 1. `fade`
stays below 2^32. With s_i < 2^15 the weights keep

    sum over i of |W_ij| 2^15 + |bias_j| <= 2^31 - 1     for each row, in any order.

**How far scores are from the real ones.** With g whole numbers per unit, let t' be the
real feature clipped to the grid and A' = A / g + zero. |t / g + zero - t'| <= E with

    E = slope r + (1/2 + |(c factor + origin) / 2^places - 1/2 - exact|) / g

where r is the rounding of the input (half a count; none if the integer is the number
itself). So the exponent is off from u' = sum of (t' - A')^2 by at most

    e_i = sum of 2 |t' - A'| E + E^2       (laplacian: sum of E)

and s_i from 2^-u' by at most 2^-u' (2^(e_i + exponent error of `fade`) - 1) + error of
`fade`. What the rounded parameters change at a row (anchors, weights, clips) is not
bounded but computed there: both sides of it are real numbers that are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.integers.fade import ONE, TABLE, Fade
from smpcore.codegen.integers.grid import (
    POWERS,
    Lines,
    feature_lines,
    whole_features,
)
from smpcore.codegen.integers.inputs import (
    QuantInput,
    ends,
)
from smpcore.codegen.integers.model import QuantModel
from smpcore.codegen.sizes import smallest, smallest_signed


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantSums(QuantModel):
    """Integer rows that are sums of similarities to integer anchors.

    Parameters
    ----------
    feature : ndarray of shape (n_features,), int64
        Features of the source that were kept.
    per_unit : float
        Whole numbers per unit of a feature.
    zero : ndarray of shape (n_features,), float64
        What 0 stands for.
    factor, origin, places : ndarray of shape (n_features,), int64
    top : int
    anchor : ndarray of shape (n_anchors, n_features), int64
    fade : Fade
    start : ndarray of shape (n_anchors + 1,), int64
        Anchor i owns the terms ``start[i]:start[i + 1]``.
    term_row : ndarray of shape (n_terms,), int64
    weight : ndarray of shape (n_terms,), int64
    """

    INTEGERS = (
        *("owner", "bias", "feature", "factor", "origin", "places", "anchor"),
        *("start", "term_row", "weight"),
    )

    ROUNDED = "features"

    feature: np.ndarray
    per_unit: float
    zero: np.ndarray
    factor: np.ndarray
    origin: np.ndarray
    places: np.ndarray
    top: int
    anchor: np.ndarray
    fade: Fade
    start: np.ndarray
    term_row: np.ndarray
    weight: np.ndarray

    @property
    def ARITHMETIC(self) -> str:
        """See `QuantModel.ARITHMETIC`."""
        apart = "(t - anchor)^2" if self.power == 2 else "|t - anchor|"
        return (
            "integers; q = round((x - zero) * per_unit), half away from 0, clamped to "
            "the container; c = q, of a category's level 1 or 0; t = clip((c * factor "
            f"+ origin) >> places, 0, top); d = sum of {apart}; coarse = d >> drop; "
            "u = (coarse * gain + half) >> down; s = 2^-(u / 4096) in Q.15 by table, 0 "
            "where coarse > last; score of a class = max over its rows of bias + sum "
            "of weight * s; real score = step * score + shift; answer: lowest "
            "class within round(tie / step) of the largest score"
        )

    @property
    def power(self) -> int:
        """Power of a difference that adds up."""
        return POWERS[self.source.similarity]

    @property
    def n_training_rows(self) -> int:
        """Anchors that are rows of the training table."""
        return self.n_anchors if self.source.real_anchors else 0

    @property
    def n_anchors(self) -> int:
        """Similarities of one prediction."""
        return len(self.anchor)

    @property
    def n_features(self) -> int:
        """Entries of an anchor."""
        return len(self.factor)

    @property
    def first_row(self) -> int:
        """Rows before this one are nothing."""
        return int(self.relative)

    @property
    def is_dense(self) -> bool:
        """Whether every anchor adds to every row, so that no index is needed."""
        return len(self.weight) == self.n_anchors * (self.n_rows - self.first_row)

    @property
    def n_terms(self) -> int:
        """See `QuantModel.n_terms`: numbers in anchors and mixing."""
        return self.anchor.size + len(self.weight)

    @property
    def largest(self) -> int:
        """See `QuantModel.largest`; all similarities at most `fade.ONE`."""
        return int((np.abs(self.mixing()).sum(axis=0) * ONE + np.abs(self.bias)).max())

    @property
    def saturating_row(self) -> np.ndarray:
        """Beside the anchors, or far from all: the largest score that is known."""
        tried = np.vstack([self.farthest_rows, self.nearest_rows])
        return tried[np.abs(self.row_scores(tried)).max(axis=1).argmax()]

    @property
    def farthest_rows(self) -> np.ndarray:
        """Integers of the inputs with the largest distance to each anchor."""
        return self._extreme(1)

    @property
    def nearest_rows(self) -> np.ndarray:
        """Integers of the inputs with the smallest distance to each anchor."""
        return self._extreme(-1)

    def mixing(self) -> np.ndarray:
        """Weights as a table, shape (n_anchors, n_rows)."""
        mixing = np.zeros((self.n_anchors, self.n_rows), dtype=np.int64)
        owner = np.repeat(np.arange(self.n_anchors), np.diff(self.start))
        mixing[owner, self.term_row] = self.weight
        return mixing

    def features(self, integers: np.ndarray) -> np.ndarray:
        """Whole features, shape (n, n_features), int64."""
        numbers = self.factor, self.origin, self.places, self.top
        return whole_features(self._counts(integers), *numbers)

    def distances(self, integers: np.ndarray) -> np.ndarray:
        """Whole distances to each anchor, shape (n, n_anchors), int64."""
        total = np.zeros((len(integers), self.n_anchors), dtype=np.int64)
        for t, anchor in zip(self.features(integers).T, self.anchor.T, strict=True):
            total += np.abs(t[:, None] - anchor) ** self.power
        return total

    def row_scores(self, integers: np.ndarray) -> np.ndarray:
        """See `QuantModel.row_scores`."""
        alike = self.fade.similarity(self.distances(integers))
        return self.bias + alike @ self.mixing()

    def row_bounds(self, rows: np.ndarray) -> np.ndarray:
        """See `QuantModel.row_bounds`, and the top of this file for the formula."""
        source = self.source
        real = source.feature_bounds(rows)[0]
        apart = np.zeros((len(rows), source.n_anchors))
        for t, anchor in zip(real, source.anchor.T.astype(np.float64), strict=True):
            apart += np.abs(t[:, None] - anchor) ** self.power
        exact = np.exp2(-apart) @ source.mixing().astype(np.float64) + source.bias
        exact = exact - (exact[:, :1] if self.relative else self.shift)
        alike, error = self._on_grid(real[self.feature], rows)
        one = 2.0**15 * self.step
        found = one * alike @ self.mixing() + self.step * self.bias
        bounds = np.abs(found - exact) + one * error @ np.abs(self.mixing())
        # Of the float32 numbers that were rounded here, and of this sum itself.
        from_float = source.row_bounds(rows)
        if self.relative:
            from_float = np.column_stack([0 * from_float[:, 0], from_float.sum(axis=1)])
        return bounds * (1 + 1e-9) + from_float

    def _on_grid(
        self, real: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Similarities 2^-u', and how far those in integers can be off."""
        reach = self.top / self.per_unit
        total = np.zeros((len(rows), self.n_anchors))
        off = np.full(total.shape, self.fade.exponent_error)
        columns = zip(real, self.zero, self._off_grid(rows), self.anchor.T, strict=True)
        for value, zero, wrong, anchor in columns:
            t = np.clip(value - zero, 0, reach)[:, None]
            apart, each = np.abs(t - anchor / self.per_unit), wrong[:, None]
            total += apart**self.power
            off += each if self.power == 1 else (2 * apart + each) * each
        alike = np.exp2(-total)
        with np.errstate(over="ignore", invalid="ignore"):
            error = (
                alike * np.expm1(np.log(2) * np.minimum(off, 1000)) + self.fade.error
            )
        return alike, np.minimum(error, 1)

    def _off_grid(self, rows: np.ndarray) -> np.ndarray:
        """E_f of each row, shape (n_features, n)."""
        lines, kept = self._lines(), self.feature
        count = self._counts(self.quantise(rows)).T
        scale = 2.0 ** self.places[:, None]
        zero = self.zero[:, None]
        whole = (self.factor[:, None] * count + self.origin[:, None]) / scale - 0.5
        exact = lines.slope[kept, None] * count + lines.base[kept, None] - zero
        wrong = (0.5 + np.abs(whole - self.per_unit * exact)) / self.per_unit
        for feature, (place, level) in enumerate(self._places()):
            one, x = self.inputs[place], rows[:, place]
            if level < 0:
                rounding = one.rounding(one.given.filled(x), self.width)
                wrong[feature] += lines.slope[kept[feature]] * rounding
        # Both sides are clipped to the grid.
        return np.minimum(wrong, self.top / self.per_unit)

    def telling_rows(self, drawn: np.ndarray) -> Iterator[np.ndarray]:
        """Far from anchors, beside them, and where each row wins."""
        yield self.saturating_row
        least, most = ends(self.width)
        numbers = np.array([one.is_number for one in self.inputs])
        yield np.where(numbers, least, 0)
        yield np.where(numbers, most, 0)
        beside = np.array(list(self.source.telling_rows(self.values(drawn))))
        yield from self.quantise(beside)
        yield from self.farthest_rows

    def _input_of_each(self) -> tuple[np.ndarray, np.ndarray]:
        places = self.source.feature_input
        return places, places[self.feature]

    def tables(self) -> dict[str, np.ndarray]:
        """See `QuantModel.tables`.

        Returns
        -------
        dict of str to ndarray
            ``bias, weight, anchor, factor, origin, halving`` always; ``owner`` of
            classes; ``places`` where they differ; ``input, level`` of the features
            where they are not the inputs; ``end, row`` of a sparse mixing.
        """
        kind = f"uint{self.width}"
        tables = {"bias": self.bias.astype("int32"), "anchor": self.anchor.astype(kind)}
        weight = self.weight
        if self.is_dense:
            weight = weight.reshape(self.n_anchors, -1)
        tables["weight"] = smallest_signed(weight)
        tables["factor"] = smallest_signed(self.factor)
        tables["origin"] = smallest_signed(self.origin)
        indices = {"halving": TABLE}
        if not self.is_regression:
            indices["owner"] = self.owner
        if not self.is_dense:
            indices |= {"end": self.start[1:], "row": self.term_row}
        if np.ptp(self.places):
            indices["places"] = self.places
        place, level = self._place_level()
        if (level >= 0).any():
            indices["level"] = level + 1
        if not np.array_equal(place, np.arange(len(self.inputs))):
            indices["input"] = place
        return tables | {name: smallest(values) for name, values in indices.items()}

    def _lines(self) -> Lines:
        return feature_lines(self.source, self.inputs, self.width)

    def _place_level(self) -> tuple[np.ndarray, np.ndarray]:
        kept, source = self.feature, self.source
        return source.feature_input[kept], source.feature_level[kept]

    def _places(self) -> Iterator[tuple[int, int]]:
        """Input and level of each feature."""
        return zip(*(numbers.tolist() for numbers in self._place_level()), strict=True)

    def _counts(self, integers: np.ndarray) -> np.ndarray:
        place, level = self._place_level()
        taken = integers[:, place]
        return np.where(level < 0, taken, taken == level)

    def _extreme(self, sign: int) -> np.ndarray:
        """Rows farthest from each anchor (sign 1), or nearest (-1)."""
        rows = np.zeros((self.n_anchors, len(self.inputs)), dtype=np.int64)
        places, levels = self._place_level()
        for place, one in enumerate(self.inputs):
            own = np.flatnonzero(places == place)
            if not len(own):
                continue
            counts = self._candidates(own[0], one)
            level, numbers = levels[own], (self.factor, self.origin, self.places)
            taken = counts[:, :, None]
            taken = np.where(level < 0, taken, taken == level)
            t = whole_features(taken, *(n[own] for n in numbers), self.top)
            apart = (np.abs(t - self.anchor[:, own]) ** self.power).sum(axis=2)
            best = (sign * apart).argmax(axis=0)
            rows[:, place] = np.take_along_axis(counts, best[None], axis=0)[0]
        return rows

    def _candidates(self, feature: int, one: QuantInput) -> np.ndarray:
        """Counts at the ends and beside each anchor; all levels of a category."""
        if not one.is_number:
            levels = np.arange(-1, len(one.given.levels))
            return np.repeat(levels[:, None], self.n_anchors, axis=1)
        least, most = ends(self.width)
        whole = (self.anchor[:, feature] << self.places[feature]) - self.origin[feature]
        below = whole // max(self.factor[feature], 1)
        counts = [np.full_like(below, least), np.full_like(below, most)]
        return np.clip([*counts, below, below + 1], least, most)
