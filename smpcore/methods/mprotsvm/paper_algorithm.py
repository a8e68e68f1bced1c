r"""The multi-prototype SVM as printed: annealed search over assignments, paired steps.

Aiolli, Sperduti: Multi-Prototype Support Vector Machine. IJCAI 2003.

========  ===========  ========  =======================================================
symbol    name         shape     meaning
========  ===========  ========  =======================================================
x_i       X            (m, n)    distinct rows, and a column of ones (linear kernel)
K         K            (m, m)    kernel of every two rows, x . y + 1 if it is linear
y_i       tied         (m,)      prototype that a row is assigned to (pi_i in (6))
a_i^r     A            (m, R)    dual variables of the rival prototypes, >= 0
a_i^y     A.sum        (m,)      dual variable of the assigned one: the rivals' sum
C         limits       (m,)      largest sum: C times how many rows each one stands for
B         B            (m, R)    signed masses: prototypes are M_r = sum_i B_ir x_i
f_r(x_i)  F            (m, R)    scores, K B
xi_i^s    slacks       (m, R)    [1 - f_s + max rival f]_+ of the class's prototypes
T         T            number    temperature, T_0 tau^t; T_0 is 10 in print
========  ===========  ========  =======================================================

The objective is (6), whose dual for a fixed assignment is (9). The variables of a row
are optimised in pairs, section 3.1 and Figure 1 (top): of those that may still grow the
one with the largest gradient and, of those with mass, the one with the least, until no
two differ by more than epsilon. Section 3.2 and Figure 1 (bottom) are the search:

    assign each row to prototype s of its class with P_i(s) ~ exp(-C xi_i^s / T)
    set the variables of the rows that moved to 0, which restores the KKT conditions
    sweep over the rows; at T = 0 until the primal is better than the last, or optimal
    lower the temperature

Below C / 50 T is 0: rows go to the prototype of least slack, those of equal slack stay.
It ends when none moves, or when an optimal primal is no better than the last.

Where the text leaves something open: the copy at hand has no pseudocode, so the order
of the rows is the problem's, and there is one sweep a temperature. tau is not printed;
it is `COOLING`. An estimator with temperature 0 has no annealing here either. T is
compared with C xi as it is, where our solver measures it in units of C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.mprotsvm.fit import Descent
from smpcore.methods.mprotsvm.problem import SVMProblem, SVMState
from smpcore.methods.shared import paper_steps
from smpcore.model import PrototypeModel

#: Difference of gradients that counts as none, and mass that does.
EPSILON, NO_MASS = 1e-4, 1e-15

#: T_0 of the paper, and tau, which it does not print.
FIRST, COOLING = 10.0, 0.8
#: Temperature, in units of C, below which the hard rule takes over.
COLD = 0.02

#: Paired steps for a row in a sweep, and sweeps for an assignment, at most.
MOST_PAIRS, MOST_SWEEPS = 1000, 100


@dataclass(frozen=True, eq=False)
class Dual:
    """The rows, and which prototypes are whose."""

    K: np.ndarray  # (m, m)
    rival: np.ndarray  # (m, R): Whether a prototype is of another class than the row
    limits: np.ndarray  # (m,)

    def signed(self, A: np.ndarray, tied: np.ndarray) -> np.ndarray:
        """B: minus the masses of the rivals, and their sum at the assigned one."""
        B = -A
        B[np.arange(len(A)), tied] = A.sum(axis=1)
        return B

    def slacks(self, F: np.ndarray) -> np.ndarray:
        """Slack of each prototype of the row's class; infinite for rivals."""
        best = np.where(self.rival, F, -np.inf).max(axis=1, keepdims=True)
        return np.where(self.rival, np.inf, np.maximum(1.0 - F + best, 0.0))

    def primal(self, A: np.ndarray, tied: np.ndarray) -> float:
        """The objective (6)."""
        B = self.signed(A, tied)
        F = self.K @ B
        slack = self.slacks(F)[np.arange(len(A)), tied]
        return float(0.5 * (B * F).sum() + self.limits @ slack)


def optimise_row(
    scores: np.ndarray,
    mass: np.ndarray,
    square: float,
    limit: float,
    epsilon: float = EPSILON,
) -> tuple[np.ndarray, float]:
    """Figure 1, top: paired steps on the variables of one row."""
    # Slot 0 is the mass that is not used: to take from it is the step of a single
    # rival together with the assigned prototype.
    f, slots = scores.copy(), np.r_[limit - mass.sum(), mass]
    first = None
    for _ in range(MOST_PAIRS):
        gain = np.r_[0.0, 1.0 - f[0] + f[1:]]
        up = int(gain.argmax())
        used = np.flatnonzero(slots > NO_MASS)
        down = int(used[gain[used].argmin()])
        psi = float(gain[up] - gain[down])
        first = psi if first is None else first
        if psi <= epsilon:
            break
        rho = min(psi / (2.0 * square), slots[down])
        slots[up] += rho
        slots[down] -= rho
        # f[0] is the assigned prototype, which gains what the unused slot loses.
        f[up] -= rho * square
        f[down] += rho * square
    return slots[1:], first


def sweep(dual: Dual, A: np.ndarray, tied: np.ndarray) -> tuple[np.ndarray, float]:
    """Optimise the variables of every row once, in their order."""
    A, worst = A.copy(), 0.0
    B = dual.signed(A, tied)
    F = dual.K @ B
    for i, rival in enumerate(dual.rival):
        slots = np.r_[tied[i], np.flatnonzero(rival)]
        mass, psi = optimise_row(
            F[i, slots], A[i, slots[1:]], dual.K[i, i], dual.limits[i]
        )
        change = np.r_[mass.sum() - A[i].sum(), A[i, slots[1:]] - mass]
        if change.any():
            F[:, slots] += np.outer(dual.K[:, i], change)
            A[i, slots[1:]] = mass
        worst = max(worst, psi)
    return A, worst


def draw_assignment(
    dual: Dual,
    F: np.ndarray,
    tied: np.ndarray,
    T: float,
    random: np.random.RandomState,
) -> np.ndarray:
    """Draw a prototype of its class for each row; at T = 0 take the least slack."""
    slacks = dual.slacks(F)
    if T == 0.0:
        stays = slacks[np.arange(len(F)), tied] <= slacks.min(axis=1)
        return np.where(stays, tied, slacks.argmin(axis=1))
    above = slacks - slacks.min(axis=1, keepdims=True)
    P = np.exp(-dual.limits[:, None] * above / T)
    running = np.cumsum(P, axis=1)
    drawn = random.uniform(size=(len(F), 1)) * running[:, -1:]
    return (running <= drawn).sum(axis=1)


def search(
    dual: Dual,
    tied: np.ndarray,
    n_prototypes: int,
    temperatures: tuple[float, float, float],
    random: np.random.RandomState,
) -> Iterator[tuple[int, str, np.ndarray, np.ndarray, float]]:
    """Figure 1, bottom: anneal the assignment and optimise, until nothing improves."""
    T, tau, cold = temperatures
    T = T if cold < T else 0.0
    A, n_sweeps, last = np.zeros((len(tied), n_prototypes)), 0, np.inf
    yield n_sweeps, "start", A, tied, T
    was_optimal = False
    while True:
        F = dual.K @ dual.signed(A, tied)
        drawn = draw_assignment(dual, F, tied, T, random)
        moved = drawn != tied
        if was_optimal and not moved.any():
            return
        A, tied = np.where(moved[:, None], 0.0, A), drawn
        yield n_sweeps, "assignment", A, tied, T
        is_optimal = False
        for _ in range(MOST_SWEEPS):
            A, psi = sweep(dual, A, tied)
            n_sweeps += 1
            yield n_sweeps, "sweep", A, tied, T
            is_optimal, primal = psi <= EPSILON, dual.primal(A, tied)
            # A tie is no improvement: sums of the same numbers differ by rounding.
            is_better = primal < last * (1.0 - 1e-9)
            if T > 0.0 or is_optimal or is_better:
                break
        if was_optimal and is_optimal and not is_better:
            return
        last, was_optimal = primal, T == 0.0 and is_optimal
        T = T * tau if tau * T > cold else 0.0


def dual_of(problem: SVMProblem, C: float) -> Dual:
    """The rows of a problem as the search wants them."""
    if problem.landmarks is not None and not problem.is_plain:
        raise SmpcoreError(
            f"The algorithm as printed compares all {len(problem.X)} rows and takes no "
            "landmarks; use fewer rows, or kernel='linear'."
        )
    K = problem.X @ problem.X.T if problem.gram is None else problem.gram
    return Dual(
        K=np.asarray(K, dtype=np.float64),
        rival=problem.prototype_labels != problem.y_encoded[:, None],
        limits=C * problem.shares,
    )


def objective(
    problem: SVMProblem, estimator: Any, A: np.ndarray, tied: np.ndarray
) -> float:
    """The objective (6) as our solver certifies it."""
    C = float(estimator.C)
    rows, rivals = np.nonzero(A)
    lists = np.bincount(rows, minlength=len(A)), rivals.astype(np.int32), A[A != 0.0]
    state = SVMState(problem.prototype_labels, tied, C * problem.shares, *lists)
    stop = np.zeros(1, dtype=np.int64)
    return Descent(problem, C, 1.0, state, stop).certify().objective


def run_as_printed(
    estimator: Any,
    problem: SVMProblem,
    n_steps: int = 200,
    start: Any = None,
    stop: np.ndarray | None = None,
) -> tuple[paper_steps.PrintedStep, ...]:
    """The annealed search on the rows of an estimator."""
    paper_steps.check_request(problem, SVMProblem, n_steps)
    tied = _first_assignment(problem, start)
    dual, R = dual_of(problem, float(estimator.C)), len(problem.prototype_labels)
    temperatures = (
        FIRST if estimator.temperature else 0.0,
        COOLING,
        COLD * float(estimator.C),
    )
    random = np.random.RandomState(problem.seed)
    run = search(dual, tied, R, temperatures, random)
    steps = []
    for n_sweeps, phase, A, now, T in paper_steps.until(run, stop):
        if n_sweeps > n_steps:
            break
        value = objective(problem, estimator, A, now)
        model = _model(problem, dual.signed(A, now), n_sweeps, value)
        arrays = {"A": A, "tied": now, "T": np.array(T)}
        of_rows = np.where(problem.row >= 0, now[problem.row], 0)
        steps.append(
            paper_steps.PrintedStep(n_sweeps, phase, value, arrays, of_rows, model)
        )
    return tuple(steps)


def _first_assignment(problem: SVMProblem, start: Any) -> np.ndarray:
    """The assignment that was asked for, or the usual one."""
    tied = problem.assignment if start is None else np.asarray(start)
    if tied.shape != problem.assignment.shape or tied.dtype.kind != "i":
        raise SmpcoreError(
            f"start has the shape {tied.shape} and should hold a whole number for each "
            f"of the {len(problem.assignment)} distinct rows; or give None."
        )
    is_inside = (tied >= 0) & (tied < len(problem.prototype_labels))
    labels = problem.prototype_labels[np.where(is_inside, tied, 0)]
    wrong = np.flatnonzero(~is_inside | (labels != problem.y_encoded))
    if len(wrong):
        raise SmpcoreError(
            f"start[{wrong[0]}]={tied[wrong[0]]} should be a prototype of the row's "
            "class; see problem.prototype_labels and problem.y_encoded."
        )
    return tied.copy()


def _model(
    problem: SVMProblem, B: np.ndarray, n_sweeps: int, value: float
) -> PrototypeModel:
    """Wrap all prototypes, also those without rows: the paper removes none."""
    labels = problem.prototype_labels
    history = paper_steps.history_at(n_sweeps, value)
    if problem.gram is None:
        return problem.linear_model(B.T @ problem.X, labels, history)
    heavy = np.flatnonzero(B.any(axis=1))
    heavy = heavy if len(heavy) else np.arange(1)
    return problem.mixed_model(problem.anchors(heavy), B[heavy], labels, history)
