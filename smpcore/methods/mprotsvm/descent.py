"""A dual of the multi-prototype SVM that sweeps move, and what it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.mprotsvm.kernel import evaluate_rows, gather, sweep
from smpcore.methods.mprotsvm.kernel_gram import gather_gram, sweep_gram
from smpcore.methods.mprotsvm.kernel_sparse import gather_sparse, sweep_sparse
from smpcore.methods.mprotsvm.monitor import Certificate
from smpcore.methods.mprotsvm.problem import (
    ROWS_AT_ONCE,
    SVMParameters,
    SVMProblem,
    SVMState,
)

#: Rows side by side in memory that a sweep visits one after the other. The problem's
#: rows are in a drawn order: a sweep draws no more than the order of such stretches.
STRETCH = 8

#: Sweeps after which rounding is swept out of the prototypes.
RENEWED = 100


class Descent:
    """A dual, its assignments and the prototypes they stand for, moved by sweeps."""

    def __init__(
        self,
        problem: SVMProblem,
        parameters: SVMParameters,
        tol: float,
        state: SVMState | None,
        stop: np.ndarray,
    ) -> None:
        self.problem, self.tol, self.stop = problem, tol, stop
        self.C = float(parameters.C)
        self.limits = self.C * problem.shares
        self.rows, self.kernels = _compiled(problem)
        self.starts = problem.starts
        n, n_prototypes = len(problem.y_encoded), len(problem.prototype_labels)
        self.slack = np.empty((n, int(np.diff(self.starts).max())))
        self.psi = np.full(n, np.inf)
        self.orders = np.random.default_rng([problem.seed, 0])
        self.draws = np.random.default_rng([problem.seed, 1])
        self.n_sweeps = 0
        width = problem.linear_rows.shape[1] if problem.gram is None else n_prototypes
        height = n_prototypes if problem.gram is None else n
        self.scores = np.zeros((width, height))
        if state is None:
            state = SVMState(
                problem.prototype_labels,
                problem.assignment,
                self.limits,
                np.zeros(n, dtype=np.int64),
                np.empty(0, dtype=np.int32),
                np.empty(0),
            )
        self.load(state)

    @property
    def single(self) -> bool:
        """Whether every class has one prototype: nothing to assign."""
        return len(self.starts) == self.starts[-1] + 1

    @property
    def dual(self) -> tuple[np.ndarray, ...]:
        """The lists as kernels take them."""
        return self.first, self.count, self.index, self.value

    def load(self, state: SVMState) -> None:
        """Start from another's dual, scaled to these limits."""
        self.assign = state.assignment.copy()
        factor = np.repeat(self.limits / state.limits, state.count)
        self._unpack(state, state.value * factor)
        if len(state.index):
            self.renew()

    def _unpack(self, state: SVMState, value: np.ndarray, more: int = 0) -> None:
        """Lists of a packed dual, with room behind them for what they grow by."""
        n_used = len(state.index)
        self.count, self.room = state.count.copy(), state.count.copy()
        self.first = np.cumsum(self.count) - self.count
        self.used = np.array([n_used])
        spare = 2 * len(self.assign) + 4 * len(self.problem.prototype_labels)
        room = n_used + more + spare
        self.index, self.value = np.zeros(room, dtype=np.int32), np.zeros(room)
        self.index[:n_used], self.value[:n_used] = state.index, value

    def save(self) -> SVMState:
        """The dual without unused places."""
        entries = np.arange(self.count.sum())
        entries += np.repeat(
            self.first - np.cumsum(self.count) + self.count, self.count
        )
        return SVMState(
            self.problem.prototype_labels,
            self.assign.copy(),
            self.limits,
            self.count.copy(),
            self.index[entries],
            self.value[entries],
        )

    def recorded(self) -> tuple[SVMState, np.ndarray]:
        """What a recorded state needs: beside a Gram matrix the dual, else its sums."""
        if self.problem.gram is not None:
            return self.save(), np.empty((0, 0))
        labels, none = self.problem.prototype_labels, np.empty(0)
        indices = np.empty(0, dtype=np.int32)
        state = SVMState(labels, self.assign.copy(), none, indices, indices, none)
        return state, self.scores.copy()

    def renew(self) -> None:
        """Compute the prototypes, or their scores, from the dual."""
        self.kernels[1](*self.rows, self.assign, *self.dual, self.scores)

    def sweep(self, order: np.ndarray) -> None:
        """Solve rows one after the other."""
        problem = self.problem
        self.n_sweeps += 1
        reached = 0
        while True:
            reached = self.kernels[0](
                *self.rows, order, reached, problem.y_encoded, self.starts, self.assign,
                self.limits, problem.squares, self.scores, self.first, self.room,
                self.count, self.index, self.value, self.used, self.psi, self.stop,
            )  # fmt: skip
            if reached == len(order) or self.stop[0]:
                break
            state = self.save()
            self._unpack(state, state.value, len(state.index))
        if self.n_sweeps % RENEWED == 0:
            self.renew()

    def full_sweep(self) -> None:
        """Solve all rows once, in a random order."""
        self.sweep(self.shuffled(np.arange(len(self.assign))))

    def shuffled(self, rows: np.ndarray) -> np.ndarray:
        """Stretches of rows in a random order."""
        stretches = self.orders.permutation(-(-len(rows) // STRETCH))
        places = (STRETCH * stretches[:, None] + np.arange(STRETCH)).ravel()
        return rows[places[places < len(rows)]]

    def polish(self, sweeps: int, far: float) -> None:
        """A few sweeps over the rows that were far from optimal when last seen."""
        active = np.arange(len(self.assign))
        for _ in range(sweeps):
            active = active[self.psi[active] > far]
            if not len(active) or self.stop[0]:
                return
            self.sweep(self.shuffled(active))

    def certify(self) -> Certificate:
        """Compute all scores, slacks and violations, and the certificate."""
        found = np.zeros(4)
        problem = self.problem
        for first in range(0, len(self.assign), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            if problem.gram is None:
                F = problem.linear_rows[part] @ self.scores
            else:
                F = self.scores[:, part].T.copy()
            found += evaluate_rows(
                F, first, problem.y_encoded, self.starts, self.assign, self.limits,
                *self.dual, self.slack, self.psi,
            )  # fmt: skip
        loss, free, mass, norm = found.tolist()
        return Certificate(0.5 * norm + loss, 0.5 * norm + free, norm + loss - mass)

    def tie(self, assign: np.ndarray) -> None:
        """Tie rows to other prototypes of their class; their masses go along."""
        self.assign = assign.copy()
        self.renew()


def _compiled(problem: SVMProblem) -> tuple[tuple[np.ndarray, ...], tuple[Any, Any]]:
    """Rows as the kernels take them, and the kernels: sweep, and gather."""
    X = problem.linear_rows
    if problem.gram is not None:
        return (problem.gram,), (sweep_gram, gather_gram)
    if not issparse(X):
        return (X,), (sweep, gather)
    columns, begins = X.indices.astype(np.int32), X.indptr.astype(np.int64)
    return (X.data, columns, begins), (sweep_sparse, gather_sparse)
