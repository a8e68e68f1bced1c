"""The multi-prototype SVM of rows too many to be solved one after the other.

A drawn part of the rows is solved in memory, annealing and all. From there Newton steps
lower the smooth loss of all rows: each needs one pass over them for the gradient, and
the drawn rows for the curvature (Byrd, Chin, Neveitt, Nocedal, SIAM J. Optimization
2011), mended by what the passes tell of it (L-BFGS). The masses that a pass sums up
meet the conditions of the dual: it certifies what it started from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.mprotsvm.fit import best_fit
from smpcore.methods.mprotsvm.kernel_smooth import smooth_change, smooth_rows
from smpcore.methods.mprotsvm.problem import (
    Certificate,
    Monitor,
    SVMProblem,
    best_of_class,
)
from smpcore.methods.shared.dask_rows import over_rows, row_values
from smpcore.methods.shared.problem import ClassificationProblem, Fitted, SolverOptions
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.model import History

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
        self.pairs = []  # what passes told of the smooth objective does not hold

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


#: Rows in memory are many beyond this number; rows elsewhere always are.
MANY_ROWS = 200_000

#: Price of slack among drawn rows: a usual row has at most this mass, in units of what
#: its margin asks for. Of so many rows a higher one moves prototypes little.
USUAL_MASS = 5.0

#: Part of the gap allowed that smoothing takes at first, and beyond which it is halved.
SMOOTHED, TOO_SMOOTH = 0.4, 0.6

#: Part of the gap allowed that a pass gains as long as rows move to better prototypes.
PAYS = 0.02

#: Steps of less than this part of the prototypes lead nowhere.
SHORTEST = 1e-9


@dataclass(frozen=True, eq=False)
class ManyRowsProblem(ClassificationProblem):
    """Training rows that are read in blocks, and some of them in memory."""

    #: Of the rows drawn; its shares count them as that many rows, not as all
    drawn: SVMProblem
    total: float  # ``C * total * weights`` is the most dual mass of each row


def are_many(X: Any) -> bool:
    """Whether rows are so many that not each is solved: all that are not in memory."""
    return not (isinstance(X, np.ndarray) or issparse(X)) or X.shape[0] > MANY_ROWS


@dataclass(frozen=True, eq=False)
class Pass:
    """What one pass over all rows tells of prototypes."""

    Mt: np.ndarray  # (n_columns, n_prototypes): The prototypes
    certificate: Certificate
    smoothing: float  # What smooth margins make of the gap
    smooth: float  # Smooth objective
    gradient: np.ndarray  # (n_columns, n_prototypes): Of the smooth objective


class NewtonDescent:
    """Prototypes that Newton steps move, and the assignments they are certified for."""

    def __init__(
        self,
        problem: ManyRowsProblem,
        prototype_labels: np.ndarray,
        C: float,
        options: SolverOptions,
        monitor: Monitor,
    ) -> None:
        self.problem, self.options, self.monitor = problem, options, monitor
        starts = np.searchsorted(prototype_labels, np.arange(len(problem.classes) + 1))
        self.drawn = DrawnRows(problem.drawn, Margins(starts, C * problem.total))
        self.n_passes = 0

    def look(self, Mt: np.ndarray, tied: np.ndarray) -> Pass:
        """Go over all rows, each tied to its best prototype among `tied`."""
        problem = self.problem
        columns = problem.X, problem.y_encoded, problem.weights
        at = {"Mt": Mt, "tied": None if tied is Mt else tied}
        sums = over_rows(summed, *columns, **at, margins=self.drawn.margins)
        self.n_passes += 1
        (loss, free, _, met, smooth), parts = sums[:5], sums[5:].reshape(Mt.shape)
        half, gradient = 0.5 * (Mt**2).sum(), Mt - parts
        gap = loss - met + 0.5 * (gradient**2).sum()
        now = Certificate(half + loss, half + free, float(gap))
        self.monitor.add(now, self.n_passes, lambda: (Mt, tied))
        return Pass(Mt, now, float(loss - met), float(half + smooth), gradient)

    def solve(self, Mt: np.ndarray) -> tuple[np.ndarray, np.ndarray, Certificate, bool]:
        """Move prototypes until they are certified and no row's move pays.

        As long as that pays, every pass ties rows to their best prototypes; then the
        assignments stay until a pass certifies them.
        """
        tol, drawn = self.options.tol, self.drawn
        drawn.smoothen(Mt, SMOOTHED * tol)
        moving, tied, certified = True, Mt, np.inf
        best: tuple[np.ndarray, np.ndarray, Certificate] | None = None
        last: tuple[Pass, np.ndarray] | None = None
        while True:
            tied = Mt if moving else tied
            now = self.look(Mt, tied)
            at, allowed = now.certificate, tol * now.certificate.objective
            closed = at.gap <= allowed
            # What moves of rows would gain now, and what the last ones did.
            gains = at.objective - at.free, certified - at.free
            done = closed and min(gains) <= 0.1 * allowed
            lower = best is None or at.free < best[2].free
            if lower or (done and best[2].gap > tol * best[2].objective):
                best = Mt, tied, at
            if done or self.options.stopped or self.n_passes >= self.options.max_iter:
                return *best, done
            if closed or now.smoothing > TOO_SMOOTH * allowed:
                # Rows move to better prototypes, or margins become sharper.
                if closed:
                    certified, moving = at.free, True
                    drawn.pairs = []
                else:
                    drawn.halve_smoothing()
                last = None
                continue
            if last is not None:
                shorter = _shorter(*last, now)
                if shorter is not None:
                    if np.abs(shorter).max() < SHORTEST * np.abs(Mt).max():
                        return *best, False
                    last = last[0], shorter
                    Mt = last[0].Mt + shorter
                    continue
                if not moving:
                    drawn.learn(last[1], now.gradient - last[0].gradient)
                elif last[0].certificate.objective - at.objective <= PAYS * allowed:
                    moving = False
            last = now, drawn.step(Mt, now.gradient, tied)
            Mt = Mt + last[1]


def _shorter(last: Pass, step: np.ndarray, now: Pass) -> np.ndarray | None:
    """A shorter step, if the smooth objective of all rows falls too little."""
    slope = float(np.vdot(last.gradient, step))
    over = now.smooth - last.smooth - slope
    if now.smooth <= last.smooth + DECREASE * slope:
        return None
    return float(np.clip(-0.5 * slope / over, 0.1, 0.5)) * step


def solve_many_rows(
    problem: ManyRowsProblem, estimator: Any, options: SolverOptions
) -> tuple[Fitted, Certificate]:
    """Solve the drawn rows, and go on from there with all of them."""
    drawn = problem.drawn
    usual = estimator.C * np.vdot(drawn.shares, drawn.squares) / len(drawn.shares)
    most = problem.total / drawn.shares.sum()
    price = estimator.C * min(USUAL_MASS / usual, most)
    begun = best_fit(drawn, replace(estimator, C=price), options, None, highest=0.5)
    alive = np.unique(begun.state.assignment)
    labels = begun.state.prototype_labels[alive]
    monitor = Monitor(options, (0.5, 0.5))
    descent = NewtonDescent(problem, labels, estimator.C, options, monitor)
    *ended, certificate, finished = descent.solve(
        np.ascontiguousarray(begun.scores[:, alive])
    )
    monitor.add(certificate, descent.n_passes, lambda: tuple(ended), last=True)
    options.progress[0] = 1.0
    build = partial(_fitted, problem, labels)
    history = monitor.history(finished, descent.n_passes, problem, build)
    fitted = build(tuple(ended), history)
    return replace(fitted, starts=begun.starts), certificate


def _fitted(
    problem: ManyRowsProblem,
    prototype_labels: np.ndarray,
    solved: tuple[np.ndarray, np.ndarray],
    history: History,
) -> Fitted:
    """Wrap prototypes without those that no row is tied to."""
    (Mt, tied), (X, y_encoded) = solved, (problem.X, problem.y_encoded)
    at = {"Mt": tied, "prototype_labels": prototype_labels}
    assignment = row_values(rows_best_of_class, X, y_encoded, **at)
    n_tied = over_rows(np.bincount, assignment, minlength=len(prototype_labels))
    used = np.flatnonzero(n_tied)
    at = {"Mt": Mt[:, used], "prototype_labels": prototype_labels[used]}
    merged = np.full(len(prototype_labels), -1)
    merged[used] = np.arange(len(used))
    return Fitted(
        problem.linear_model(Mt[:, used].T, prototype_labels[used], history),
        state=None,
        assignment=assignment,
        n_asked=len(problem.drawn.prototype_labels),
        merged=merged,
        wins=over_rows(_wins, X, y_encoded, **at),
    )


def rows_best_of_class(
    X: Any, y_encoded: np.ndarray, *, Mt: np.ndarray, prototype_labels: np.ndarray
) -> np.ndarray:
    """Best prototype of its own class for each row."""

    def best(part: slice, block: Any) -> np.ndarray:
        return best_of_class(block @ Mt, y_encoded[part], prototype_labels)

    return np.concatenate(list(map_blocks(best, X)))


def _wins(X: Any, y_encoded: np.ndarray, **prototypes: np.ndarray) -> np.ndarray:
    n_prototypes = len(prototypes["prototype_labels"])
    return np.bincount(
        rows_best_of_class(X, y_encoded, **prototypes), minlength=n_prototypes
    )
