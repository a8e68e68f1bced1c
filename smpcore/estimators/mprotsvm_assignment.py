"""How rows find their prototypes: annealing first, then the best one, repeatedly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smpcore.estimators.mprotsvm_problem import ROWS_AT_ONCE, Look, SVMProblem, SVMState
from smpcore.solvers.mprotsvm import gather, judge, sweep
from smpcore.solvers.mprotsvm_kernel import gather_gram, sweep_gram

#: Annealing ends at this temperature, in units of C.
COLD = 0.05

#: Sweeps over the rows that need it, between two over all.
POLISH = 5

#: Rows whose own mass is between its limits have no slack but rounding's: they stay.
ROUNDING = 1e-9

#: Sweeps after which rounding is swept out of the prototypes.
RENEWED = 100


class Descent:
    """A dual, its assignments and the prototypes they stand for, moved by sweeps.

    Parameters
    ----------
    problem : SVMProblem
    C : float
    tol : float
    pairwise : bool
        The paper's steps instead of exact ones.
    state : SVMState or None
        Start; zeros otherwise.
    stop : ndarray of int64, shape (1,)
    """

    def __init__(
        self,
        problem: SVMProblem,
        C: float,
        tol: float,
        pairwise: bool,
        state: SVMState | None,
        stop: np.ndarray,
    ) -> None:
        self.problem, self.C, self.tol, self.stop = problem, C, tol, stop
        self.pairwise = pairwise
        self.skip = min(1e-4, 0.01 * tol) if pairwise else 1e-9
        self.limits = C * problem.shares
        self.starts = problem.starts
        n, n_prototypes = len(problem.codes), len(problem.owners)
        self.slack = np.empty((n, int(np.diff(self.starts).max())))
        self.psi = np.full(n, np.inf)
        self.orders = np.random.default_rng([problem.seed, 0])
        self.draws = np.random.default_rng([problem.seed, 1])
        self.n_sweeps = 0
        width = problem.X.shape[1] if problem.gram is None else n_prototypes
        height = n_prototypes if problem.gram is None else n
        self.scores = np.zeros((width, height))
        if state is None:
            state = SVMState(
                problem.owners,
                problem.assignment,
                self.limits,
                np.zeros(n, dtype=np.int64),
                np.empty(0, dtype=np.int32),
                np.empty(0),
            )
        self.load(state)

    @property
    def dual(self) -> tuple[np.ndarray, ...]:
        """The lists as kernels take them."""
        return self.first, self.count, self.index, self.value

    def load(self, state: SVMState) -> None:
        """Start from another's dual, scaled to these limits.

        Parameters
        ----------
        state : SVMState
        """
        self.assign = state.assignment.copy()
        self.count = state.count.copy()
        self.room = state.count.copy()
        self.first = np.cumsum(self.count) - self.count
        self.used = np.array([len(state.index)])
        room = len(state.index) + 2 * len(self.assign) + 4 * len(self.problem.owners)
        self.index = np.zeros(room, dtype=np.int32)
        self.value = np.zeros(room)
        self.index[: len(state.index)] = state.index
        factor = np.repeat(self.limits / state.limits, self.count)
        self.value[: len(state.index)] = state.value * factor
        if len(state.index):
            self.renew()

    def save(self) -> SVMState:
        """The dual without unused places.

        Returns
        -------
        SVMState
        """
        entries = np.arange(self.count.sum())
        entries += np.repeat(
            self.first - np.cumsum(self.count) + self.count, self.count
        )
        return SVMState(
            self.problem.owners,
            self.assign.copy(),
            self.limits,
            self.count.copy(),
            self.index[entries],
            self.value[entries],
        )

    def renew(self) -> None:
        """Compute the prototypes, or their scores, from the dual."""
        gram = self.problem.gram
        rows, kernel = (self.problem.X, gather) if gram is None else (gram, gather_gram)
        kernel(rows, self.assign, *self.dual, self.scores)

    def sweep(self, order: np.ndarray) -> None:
        """Solve rows one after the other.

        Parameters
        ----------
        order : ndarray of int
        """
        gram, problem = self.problem.gram, self.problem
        rows, kernel = (problem.X, sweep) if gram is None else (gram, sweep_gram)
        self.n_sweeps += 1
        reached = 0
        while True:
            reached = kernel(
                rows, order, reached, problem.codes, self.starts, self.assign,
                self.limits, problem.squares, self.scores, self.first, self.room,
                self.count, self.index, self.value, self.used, self.psi, self.skip,
                self.pairwise, self.stop,
            )  # fmt: skip
            if reached == len(order) or self.stop[0]:
                break
            self._tidy()
        if self.n_sweeps % RENEWED == 0:
            self.renew()

    def full_sweep(self) -> None:
        """Solve all rows once, in a random order."""
        self.sweep(self.orders.permutation(len(self.assign)))

    def polish(self, sweeps: int) -> None:
        """A few sweeps over the rows that were far from optimal when last seen.

        Parameters
        ----------
        sweeps : int
        """
        far = 0.2 * self.tol
        active = np.arange(len(self.assign))
        for _ in range(sweeps):
            active = active[self.psi[active] > far]
            if not len(active) or self.stop[0]:
                return
            self.sweep(self.orders.permutation(active))

    def look(self) -> Look:
        """Compute all scores, slacks and violations, and the certificate.

        Returns
        -------
        Look
        """
        found = np.zeros(4)
        problem = self.problem
        for first in range(0, len(self.assign), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            if problem.gram is None:
                F = problem.X[part] @ self.scores
            else:
                F = np.ascontiguousarray(self.scores[:, part].T)
            found += judge(
                F, first, problem.codes, self.starts, self.assign, self.limits,
                *self.dual, self.slack, self.psi,
            )  # fmt: skip
        loss, free, mass, norm = found.tolist()
        return Look(0.5 * norm + loss, 0.5 * norm + free, norm + loss - mass)

    def tie(self, assign: np.ndarray) -> None:
        """Tie rows to other prototypes of their class; their mass goes along.

        Parameters
        ----------
        assign : ndarray of int, shape (n_distinct,)
        """
        self.assign = assign.copy()
        self.renew()

    def _tidy(self) -> None:
        """Pack the lists and double the room."""
        state = self.save()
        self.first = np.cumsum(self.count) - self.count
        self.room[:] = self.count
        n_used = len(state.index)
        self.used[0] = n_used
        room = 2 * n_used + 2 * len(self.assign) + 4 * len(self.problem.owners)
        self.index, self.value = np.zeros(room, dtype=np.int32), np.zeros(room)
        self.index[:n_used], self.value[:n_used] = state.index, state.value


def gibbs_probabilities(
    slack: np.ndarray, weights: np.ndarray, temperature: float
) -> np.ndarray:
    """Chance of each prototype of a row's class, by the loss it would leave.

    Parameters
    ----------
    slack : ndarray of shape (n_distinct, n_prototypes_of_a_class)
        inf where the class has fewer.
    weights : ndarray of shape (n_distinct,)
    temperature : float
        Above 0, in units of C.

    Returns
    -------
    ndarray of shape (n_distinct, n_prototypes_of_a_class)
        Rows sum to 1.
    """
    excess = slack - slack.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        chances = np.exp(-(weights[:, None] / temperature) * excess)
    return chances / chances.sum(axis=1, keepdims=True)


def drawn_assignment(descent: Descent, temperature: float) -> np.ndarray:
    """Draw a prototype for every row, all from the same prototypes.

    Parameters
    ----------
    descent : Descent
        After a look.
    temperature : float

    Returns
    -------
    ndarray of int, shape (n_distinct,)
    """
    chances = gibbs_probabilities(descent.slack, descent.problem.shares, temperature)
    reach = np.cumsum(chances, axis=1)
    draws = descent.draws.random(len(reach)) * reach[:, -1]
    place = (reach <= draws[:, None]).sum(axis=1)
    last = np.diff(descent.starts)[descent.problem.codes] - 1
    return descent.starts[descent.problem.codes] + np.minimum(place, last)


def best_assignment(descent: Descent) -> np.ndarray:
    """Tie every row to its best prototype; where it is as good already, it stays.

    Parameters
    ----------
    descent : Descent
        After a look.

    Returns
    -------
    ndarray of int, shape (n_distinct,)
    """
    lowest = descent.starts[descent.problem.codes]
    best = descent.slack.argmin(axis=1)
    rows = np.arange(len(best))
    now = descent.slack[rows, descent.assign - lowest]
    better = descent.slack[rows, best] < now - ROUNDING
    return np.where(better, lowest + best, descent.assign)


def anneal(
    descent: Descent,
    temperature: float,
    cooling: float,
    note: Callable[[Look, int, np.ndarray], None],
) -> None:
    """Tie rows to prototypes by chance, less and less so.

    Parameters
    ----------
    descent : Descent
    temperature : float
        At first, in units of C.
    cooling : float
        Factor from one temperature to the next.
    note : callable
        Is given every look, the sweeps so far and the scores.
    """
    while temperature > COLD and not descent.stop[0]:
        note(descent.look(), descent.n_sweeps, descent.scores)
        descent.tie(drawn_assignment(descent, temperature))
        descent.full_sweep()
        temperature *= cooling


def settle(
    descent: Descent, max_sweeps: int, note: Callable[[Look, int, np.ndarray], None]
) -> tuple[SVMState, Look, np.ndarray, bool]:
    """Solve for the assignments, tie every row to its best prototype, and again.

    Rows move as soon as that pays: when the objective with best assignments falls
    below the lowest so far. The end is a certified solution from which no move pays.

    Parameters
    ----------
    descent : Descent
    max_sweeps : int
    note : callable
        Is given every look, the sweeps so far and the scores.

    Returns
    -------
    state : SVMState
        Where the objective with best assignments is lowest, among certified ones if
        there are any.
    look : Look
    scores : ndarray
        Of the descent there.
    finished : bool
    """
    kept, lowest = None, np.inf
    while True:
        look = descent.look()
        note(look, descent.n_sweeps, descent.scores)
        closed = look.gap <= descent.tol * look.objective
        improved = look.free < lowest
        assign = best_assignment(descent)
        over = descent.n_sweeps >= max_sweeps or bool(descent.stop[0])
        settled = closed and (
            not improved
            or np.array_equal(assign, descent.assign)
            or look.objective - look.free <= 0.1 * descent.tol * look.objective
        )
        certified = kept is not None and kept[1].gap <= descent.tol * kept[1].objective
        if kept is None or improved or (settled and not certified):
            kept = descent.save(), look, descent.scores.copy()
        if settled or over:
            return *kept, settled
        if improved:
            lowest = look.free
            descent.tie(assign)
        descent.full_sweep()
        descent.polish(POLISH)
