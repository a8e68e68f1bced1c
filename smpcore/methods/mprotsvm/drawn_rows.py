"""Smooth objective of the multi-prototype SVM: sums over rows, and Newton steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smpcore.methods.mprotsvm.kernel_smooth import smooth_change, smooth_rows
from smpcore.methods.mprotsvm.problem import SVMProblem
from smpcore.methods.shared.row_blocks import map_blocks

#: Conjugate gradients end at this part of the first residual, or after so many steps.
RESIDUAL, MOST_PRODUCTS = 0.03, 100

#: Newton steps on the drawn rows for one pass over all, and the part of the gradient
#: at which they end.
MOST_STEPS, LEFT = 12, 0.05

#: Pairs of steps and changes of the gradient that are remembered.
MEMORY = 10

#: Part of the decrease that the slope promises which a step has to reach.
DECREASE = 1e-4


@dataclass(frozen=True, eq=False)
class Margins:
    """What a row's share of the sums depends on, besides its scores."""

    #: (n_classes + 1,): First prototype of each class, and their number at the end
    starts: np.ndarray
    price: float  # Most dual mass of a row, in units of its weight
    h: float = 1.0  # Of the smoothing


def summed(
    X: Any,
    y_encoded: np.ndarray,
    weights: np.ndarray,
    *,
    Mt: np.ndarray,
    tied: np.ndarray | None,
    margins: Margins,
) -> np.ndarray:
    """Sum up what rows tell of prototypes."""
    # What came from another worker may be read-only.
    y_encoded = np.require(y_encoded, requirements=["C", "W"])

    def sums(part: slice, block: Any) -> np.ndarray:
        F = block @ Mt
        masses, limits = np.empty(F.shape), margins.price * weights[part]
        T = F if tied is None else block @ tied
        at = y_encoded[part], margins.starts, limits, margins.h
        totals = smooth_rows(F, T, *at, masses)
        return np.concatenate([totals, (block.T @ masses).ravel()])

    return sum(map_blocks(sums, X))


class DrawnRows:
    """Some rows that stand for all of them where curvature is concerned."""

    def __init__(self, problem: SVMProblem, margins: Margins) -> None:
        self.X, self.y_encoded, self.margins = problem.X, problem.y_encoded, margins
        self.limits = margins.price * problem.shares / problem.shares.sum()
        self.masses = np.empty((len(self.limits), margins.starts[-1]))
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []

    def smoothen(self, Mt: np.ndarray, part: float) -> None:
        """Halve smoothing until it changes the objective by at most that part of it."""
        half = 0.5 * (Mt**2).sum()
        while True:
            loss, _, _, met, _ = self._sums(Mt, self.X @ Mt)
            if loss - met <= part * (half + loss):
                return
            self.halve_smoothing()

    def halve_smoothing(self) -> None:
        """Halve the width by which margins are smoothed."""
        self.margins = replace(self.margins, h=0.5 * self.margins.h)
        self.forget()

    def forget(self) -> None:
        """The smooth objective has changed: what passes told of it does not hold."""
        self.pairs = []

    def learn(self, move: np.ndarray, change: np.ndarray) -> None:
        """Remember what the gradient of all rows changes by."""
        if _inner(move, change) > 1e-10 * _inner(change, change):
            self.pairs = [*self.pairs, (move, change)][-MEMORY:]

    def step(
        self, Mt: np.ndarray, gradient: np.ndarray, tied: np.ndarray
    ) -> np.ndarray:
        """Newton step of the smooth objective of all rows."""
        T = self.X @ tied
        if not self.pairs:
            return self._descended(Mt, gradient, T) - Mt
        self._sums(Mt, T)
        left, shares = -gradient, []
        for move, change in reversed(self.pairs):
            shares.append(_inner(move, left) / _inner(move, change))
            left = left - shares[-1] * change
        step = self._solved(left)
        for (move, change), share in zip(self.pairs, reversed(shares), strict=True):
            step += (share - _inner(change, step) / _inner(move, change)) * move
        return step

    def _descended(
        self, Mt: np.ndarray, gradient: np.ndarray, T: np.ndarray
    ) -> np.ndarray:
        """Minimise the drawn rows' objective, with the gradient of all rows at Mt."""
        value, at_start = self._smooth(Mt, T, np.zeros(Mt.shape))
        shift, now, slope = gradient - at_start, Mt, gradient
        value += _inner(shift, Mt)
        first = _inner(gradient, gradient)
        for _ in range(MOST_STEPS):
            if _inner(slope, slope) <= LEFT**2 * first:
                break
            step = self._solved(-slope)
            promised = _inner(slope, step)
            while True:
                value_new, slope_new = self._smooth(now + step, T, shift)
                if (
                    value_new <= value + DECREASE * promised
                    or promised > -1e-12 * value
                ):
                    break
                step, promised = 0.5 * step, 0.5 * promised
            now, value, slope = now + step, value_new, slope_new
        return now

    def _smooth(
        self, Mt: np.ndarray, T: np.ndarray, shift: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Smooth objective of the drawn rows plus shift' Mt, and its gradient."""
        smooth = self._sums(Mt, T)[4]
        value = 0.5 * _inner(Mt, Mt) + smooth + _inner(shift, Mt)
        return value, Mt - self.X.T @ self.masses + shift

    def _sums(self, Mt: np.ndarray, T: np.ndarray) -> tuple[float, ...]:
        """Sums over the drawn rows; their masses are kept."""
        at = self.y_encoded, self.margins.starts, self.limits, self.margins.h
        return smooth_rows(self.X @ Mt, T, *at, self.masses)

    def _solved(self, target: np.ndarray) -> np.ndarray:
        """Curvature, where `_sums` was last taken, into target: conjugate gradients."""
        step, left, along = np.zeros(target.shape), target.copy(), target
        square = first = _inner(target, target)
        for _ in range(MOST_PRODUCTS):
            if square <= RESIDUAL**2 * first:
                break
            change = self.X @ along
            smooth_change(self.masses, self.limits, self.margins.h, change)
            curved = along - self.X.T @ change
            length = square / _inner(along, curved)
            step += length * along
            left -= length * curved
            square, before = _inner(left, left), square
            along = left + square / before * along
        return step


def _inner(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.vdot(a, b))
