"""Search for the smallest change of an answer where a model is not linear.

All single columns are scanned, then pairs of those that help most; columns of the
nearest rows with other answers are given back one by one. What is shortest is made
shorter still: one column moves on, another gives back more than that.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from smpcore.datasets import Input, Preparation
from smpcore.model import PrototypeModel

#: Values of a number on each side: of one column, at most of all columns together, and
#: of each of two.
_ALONE, _ALL_ALONE, _IN_PAIRS = 64, 2048, 6
#: Columns of pairs, and the nearest rows with other answers that are looked at.
_HELPERS, _STARTS = 12, 4
#: So many of the shortest changes are made shorter, each time by the best of so many
#: exchanges, and at most so many times.
_SHORTENED, _EXCHANGES, _TIMES = 3, 24, 100
#: A border is located among so many values at once, and again between two of them.
_POINTS, _ROUNDS, _SWEEPS = 8, 7, 3
#: A first step of a column, in standard deviations, and when it is too small; and how
#: much more another column gives back.
_STEP, _SMALLEST = 0.5, 1e-3
_GIVEN_BACK = np.array([1.05, 1.3, 1.8, 3.0])


@dataclass(frozen=True, eq=False)
class Block:
    """Features that change together.

    Parameters
    ----------
    part : slice
        Their positions.
    kind : {"free", "whole", "levels", "other"}
        A number of any value, a whole one, levels of which one is 1, or what is only
        taken over from another row.
    unit : float
        Of the last digit of a number's column; 0: it has any digits.
    """

    part: slice
    kind: str
    unit: float = 0.0

    @property
    def is_number(self) -> bool:
        """Whether it can move by steps."""
        return self.kind in ("free", "whole")


def _blocks(x: np.ndarray, preparation: Preparation | None) -> list[Block]:
    """Features that move together; without a preparation each is a free number."""
    if preparation is None:
        return [Block(slice(f, f + 1), "free") for f in range(len(x))]
    return [
        Block(spec.features, _kind(spec, x), 10.0**-spec.decimals)
        for spec in preparation.inputs
        if spec.width
    ]


def _kind(spec: Input, x: np.ndarray) -> str:
    """How a column changes; a number that is not whole stays free."""
    if spec.kind == "number":
        whole = spec.integer and float(x[spec.first]).is_integer()
        return "whole" if whole else "free"
    if spec.kind == "category" and spec.width == 1:
        return "whole"
    # A row without any level keeps it so.
    is_level = spec.kind == "category" and x[spec.features].sum() == 1
    return "levels" if is_level else "other"


@dataclass(eq=False)
class Search:
    """Changes of one row within limits.

    Parameters
    ----------
    model : PrototypeModel
        Classifier whose answer should change.
    x : ndarray of shape (n_features,), user's units
        The row, within the limits.
    answer : int
        Class number of the answer that should change: of the row before it was brought
        within the limits.
    limits : (low, high) of ndarray of shape (n_features,)
        Ends of every feature; both are the row's own value where it stays.
    preparation : Preparation or None
        Columns of the features.
    is_possible : callable
        Rows -> whether each can be at all.
    """

    model: PrototypeModel
    x: np.ndarray
    answer: int
    limits: tuple[np.ndarray, np.ndarray]
    preparation: Preparation | None
    is_possible: Callable[[np.ndarray], np.ndarray]
    changed: list[np.ndarray] = field(default_factory=list)

    @cached_property
    def blocks(self) -> list[Block]:
        """What may change and matters to the model."""
        low, high = self.limits
        can = (low < high) & self.model.support
        blocks = _blocks(self.x, self.preparation)
        return [block for block in blocks if can[block.part].any()]

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Sum of the changes, scaled units."""
        return np.abs((rows - self.x) / self.model.scale).sum(axis=-1)

    def flips(self, rows: np.ndarray) -> np.ndarray:
        """Whether the answer is another one, of rows that can be."""
        return self._others(self.model.scores(rows), rows)

    def _others(self, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return (self.model.decide(scores) != self.answer) & self.is_possible(rows)

    def _ahead(self, scores: np.ndarray) -> np.ndarray:
        """How far the best other class is ahead of the row's own answer."""
        others = np.delete(scores, self.answer, axis=1)
        return others.max(axis=1) - scores[:, self.answer]

    def changes(self, X: np.ndarray) -> list[np.ndarray]:
        """Rows with other answers, the shortest changes that were found first."""
        self._single()
        self._pairs()
        self.changed += [self._reduced(row) for row in self._from_rows(X)]
        return sorted(self.changed, key=self.lengths)[:_SHORTENED]

    @property
    def _best(self) -> float:
        """Length of the shortest change that was found so far."""
        return float(min(map(self.lengths, self.changed), default=np.inf))

    def _values(self, block: Block, most: int, within: float = np.inf) -> np.ndarray:
        """Other values of a block, a line each, at most so far from its own."""
        if block.kind == "other":
            return np.empty((0, block.part.stop - block.part.start))
        if block.kind == "levels":
            values = np.eye(block.part.stop - block.part.start)
            return values[values @ self.x[block.part] == 0]
        f, model = block.part.start, self.model
        now, reach = self.x[f], within * model.scale[f]
        sides = [
            np.linspace(now, end, most + 1)[1:]
            for end in (
                max(self.limits[0][f], min(model.low[f], now), now - reach),
                min(self.limits[1][f], max(model.high[f], now), now + reach),
            )
        ]
        values = np.concatenate(sides)
        values = np.unique(values.round() if block.kind == "whole" else values)
        return values[values != now][:, None]

    def _rows(self, block: Block, values: np.ndarray) -> np.ndarray:
        """The row with each of these values in a block."""
        rows = np.repeat(self.x[None], len(values), axis=0)
        rows[:, block.part] = values
        return rows

    def _single(self) -> None:
        """Scan each column alone; those that help most are kept for the pairs."""
        scans = []
        most = max(_IN_PAIRS, min(_ALONE, _ALL_ALONE // max(1, len(self.blocks))))
        for block in self.blocks:
            rows = self._rows(block, self._values(block, most))
            scores, lengths = self.model.scores(rows), self.lengths(rows)
            flips = self._others(scores, rows)
            if flips.any():
                nearest = np.where(flips, lengths, np.inf).argmin()
                self.changed.append(self._given_back(rows[nearest], block))
            scans.append((block, lengths, self._ahead(scores)))
        best = self._best
        leads = [
            leads[lengths < best].max(initial=-np.inf) for _, lengths, leads in scans
        ]
        order = np.argsort(-np.array(leads), kind="stable")[:_HELPERS]
        self._helpers = [scans[i][0] for i in order if leads[i] > -np.inf]

    def _pairs(self) -> None:
        """Scan pairs of the columns that help most, as far as they are shorter."""
        best = self._best
        values = [(b, self._values(b, _IN_PAIRS, best)) for b in self._helpers]
        starts = []
        for (one, ones), (other, others) in itertools.combinations(values, 2):
            rows = np.repeat(self._rows(one, ones), len(others), axis=0)
            rows[:, other.part] = np.tile(others, (len(ones), 1))
            rows = rows[self.lengths(rows) < best]
            if len(rows) and len(rows := rows[self.flips(rows)]):
                starts.append(rows[self.lengths(rows).argmin()])
        starts.sort(key=self.lengths)
        self.changed += [self._reduced(row) for row in starts[:_SHORTENED]]

    def _from_rows(self, X: np.ndarray) -> Iterable[np.ndarray]:
        """Of the nearest rows with other answers as many columns as are needed."""
        starts = np.clip(X, *self.limits)
        starts[:, ~self.model.support] = self.x[~self.model.support]
        for block in _blocks(self.x, self.preparation):
            part = block.part
            if part.stop - part.start > 1:
                odd = starts[:, part].sum(axis=1) != self.x[part].sum()
                starts[odd, part] = self.x[part]
        starts = starts[self.flips(starts)]
        order = np.argsort(self.lengths(starts), kind="stable")[:_STARTS]
        return [self._grown(start) for start in starts[order]]

    def _grown(self, start: np.ndarray) -> np.ndarray:
        """As many columns of a start as change the answer, the most helpful first."""
        moved = [b.part for b in self._moved(start)]
        alone = np.repeat(self.x[None], len(moved), axis=0)
        for row, part in zip(alone, moved, strict=True):
            row[part] = start[part]
        order = np.argsort(-self._ahead(self.model.scores(alone)), kind="stable")
        together = np.repeat(self.x[None], len(moved), axis=0)
        for place, part in enumerate(order):
            together[place:, moved[part]] = start[moved[part]]
        return together[self.flips(together).argmax()]

    def _moved(self, row: np.ndarray) -> list[Block]:
        """Blocks that have changed."""
        return [b for b in self.blocks if (row[b.part] != self.x[b.part]).any()]

    def _reduced(self, row: np.ndarray) -> np.ndarray:
        """Give blocks back as far as the answer stays another, short moves first."""
        for _ in range(_SWEEPS):
            before = row
            for block in sorted(
                self._moved(row),
                key=lambda b: self.lengths(self._rows(b, row[None, b.part]))[0],
            ):
                row = self._given_back(row, block)
            if self.lengths(before) - self.lengths(row) <= 1e-9:
                break
        return row

    def _given_back(self, row: np.ndarray, block: Block) -> np.ndarray:
        """Move one block towards its own value, as far as the answer stays another."""
        trial, part = row.copy(), block.part
        trial[part] = self.x[part]
        if self.flips(trial[None])[0]:
            return trial
        if not block.is_number:
            return row
        near, far = self.x[part], row[part]
        rows = np.repeat(row[None], _POINTS, axis=0)
        for _ in range(_ROUNDS):
            steps = np.linspace(0.0, 1.0, _POINTS + 1)[1:, None] * (far - near)
            if block.kind == "whole":
                steps = np.ceil(np.abs(steps)) * np.sign(steps)
            points = near + steps
            points[-1] = far
            rows[:, part] = points
            first = int(self.flips(rows).argmax())
            near, far = points[first - 1] if first else near, points[first]
        trial[part] = far
        return trial

    def shortened(self, row: np.ndarray) -> np.ndarray:
        """Exchange: one column moves on by a step, another gives back more."""
        step = _STEP
        for _ in range(_TIMES):
            if step < _SMALLEST:
                break
            rows = self._exchanged(row, step)
            rows = rows[self.lengths(rows) < self.lengths(row) - 1e-9]
            rows = rows[self.flips(rows)] if len(rows) else rows
            if len(rows):
                row, step = rows[self.lengths(rows).argmin()], 2 * step
            else:
                step /= 2
        return self._reduced(row)

    def _exchanged(self, row: np.ndarray, step: float) -> np.ndarray:
        """Exchanges of two numbers, where a small step of each promises most."""
        blocks = {id(b): b for b in [*self._moved(row), *self._helpers]}.values()
        numbers = [b for b in blocks if b.is_number]
        on = [(b, s) for b in numbers for s in (1, -1) if not s * self._way(row, b) < 0]
        back = [(b, -self._way(row, b)) for b in numbers if self._way(row, b)]
        rows = [self._stepped(row, b, sign * step) for b, sign in [*on, *back]]
        if not back:
            return row[None]
        scores = self.model.scores(np.array([row, *rows]))
        gains = self._ahead(scores[1:]) - self._ahead(scores[:1])
        apart = np.abs((np.array(rows) - row) / self.model.scale).sum(axis=1)
        gains /= np.where(apart > 0, apart, np.inf)
        promises = gains[: len(on), None] + gains[None, len(on) :]
        order = np.argsort(-promises, axis=None, kind="stable")[:_EXCHANGES]
        exchanged = rows[len(on) :]
        for i, j in zip(*np.unravel_index(order, promises.shape), strict=True):
            block, sign = back[j]
            for more in _GIVEN_BACK * apart[i]:
                exchanged.append(self._stepped(rows[i], block, sign * more))
        return np.array(exchanged)

    def _way(self, row: np.ndarray, block: Block) -> float:
        """Sign of a number's move."""
        f = block.part.start
        return float(np.sign(row[f] - self.x[f]))

    def _stepped(self, row: np.ndarray, block: Block, step: float) -> np.ndarray:
        """Move a number by scaled units, not beyond its limits or its own value."""
        row, f = row.copy(), block.part.start
        move = step * self.model.scale[f]
        if block.unit:
            move = np.sign(move) * np.ceil(abs(move) / block.unit) * block.unit
        limits = [self.limits[0][f], self.limits[1][f]]
        if (way := self._way(row, block)) * move < 0:
            limits[way < 0] = self.x[f]
        row[f] = np.clip(row[f] + move, *limits)
        return row
