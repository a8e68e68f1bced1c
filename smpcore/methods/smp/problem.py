"""What SMP's estimator hands to its kernels, and what they return."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.dask_rows import DaskBlocks, blocks_of_rows
from smpcore.methods.shared.linear import in_units
from smpcore.methods.shared.problem import ClassificationProblem, SolverOptions
from smpcore.methods.shared.row_blocks import NO_LOSSES, solve_by_blocks
from smpcore.methods.smp.kernel import dual_net, solve_smp
from smpcore.methods.smp.kernel_primal_dual import solve_smp_primal_dual
from smpcore.solvers.iterations import ITERATION_LIMIT
from smpcore.solvers.losses import LOSSES, SMOOTH, Ties
from smpcore.solvers.prox import Penalty

SOLVERS = ("spg", "primal-dual")

#: Memory that prototypes and their pairs may take, in bytes.
MOST_BYTES = 2 * 2**30


@dataclass(frozen=True, eq=False)
class SMPProblem(ClassificationProblem):
    """Training rows for SMP, each tied to a prototype of its class."""

    #: Prototype that each row is tied to, and class of each prototype, ascending.
    assignment: np.ndarray
    prototype_labels: np.ndarray
    #: Of each prototype: how many equal ones it stands for, in loss and penalties, and
    #: its class's factor on lambda.
    copies: np.ndarray
    fusion: np.ndarray
    #: What the solvers divide each column by; ones where columns are alike.
    units: np.ndarray
    #: Bound on the curvature of the loss, of columns in these units.
    lipschitz: float

    @property
    def n_prototypes(self) -> int:
        """Prototypes of all classes together."""
        return len(self.prototype_labels)

    @property
    def n_pairs(self) -> int:
        """Pairs of prototypes of the same class."""
        sizes = np.bincount(self.prototype_labels)
        return int((sizes * (sizes - 1) // 2).sum())

    @property
    def pair_factors(self) -> np.ndarray:
        """Of each prototype: those of a pair, multiplied, weigh its fusion penalty."""
        return self.copies * np.sqrt(self.fusion)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """First and second prototype of each pair, class by class."""
        first, second = [], []
        for code in range(self.prototype_labels[-1] + 1):
            own = np.flatnonzero(self.prototype_labels == code)
            i, j = np.triu_indices(len(own), 1)
            first.append(own[i])
            second.append(own[j])
        return np.concatenate(first), np.concatenate(second)


@dataclass(frozen=True, eq=False)
class SMPState:
    """Where a solver ended, prototypes and dual of the fusion: the next warm start."""

    W: np.ndarray  # (n_prototypes, n_columns)
    Y: np.ndarray  # (n_pairs, n_columns)

    def fits(self, problem: SMPProblem) -> bool:
        """Whether the shapes are those of this problem."""
        n_columns = problem.X.shape[1]
        shapes = ((problem.n_prototypes, n_columns), (problem.n_pairs, n_columns))
        return (self.W.shape, self.Y.shape) == shapes


@dataclass(frozen=True)
class SMPParameters:
    """The objective and the algorithm, as in `SMPClassifier`."""

    lam: float
    mu: float
    eta: float
    loss: str = "smooth"
    solver: str = "spg"


@dataclass(frozen=True, eq=False)
class Solution:
    """What a kernel returned."""

    W: np.ndarray
    Y: np.ndarray
    status: int
    n_iter: int
    objective: np.ndarray  # (n_iter + 1,)
    gap: np.ndarray  # (n_iter + 1,)
    steps: np.ndarray  # (n_recorded, n_prototypes, n_columns)


def refuse_too_large(n_prototypes: int, n_pairs: int, n_columns: int) -> None:
    """Refuse prototypes that the solver's memory would not hold."""
    needed = 8 * n_columns * (4 * n_pairs + 12 * n_prototypes)
    if needed > MOST_BYTES:
        raise SmpcoreError(
            f"{n_prototypes} prototypes in {n_pairs} pairs of {n_columns} columns "
            f"would take {needed / 2**30:.3g} GiB and should take at most "
            f"{MOST_BYTES / 2**30:g}; use start='kmeans', or fewer prototypes or rows."
        )


def elastic_net(problem: SMPProblem, mu: float, eta: float) -> tuple[np.ndarray, ...]:
    """Weights of the elastic net for each entry of the prototypes.

    The bias pays no l1 and at least 1e-3 of ridge, features at least 1e-6: without
    it there may be no minimiser.
    """
    l1 = np.full(problem.X.shape[1], mu)
    l2 = np.full(problem.X.shape[1], max(mu * eta, 1e-6))
    l1[problem.n_features :] = 0.0
    l2[problem.n_features :] = max(mu * eta, 1e-3)
    return np.outer(problem.copies, l1), np.outer(problem.copies, l2)


def solve_problem(
    problem: SMPProblem,
    parameters: SMPParameters,
    options: SolverOptions,
    state: SMPState | None = None,
) -> Solution:
    """Call a kernel."""
    X, units = problem.X, problem.units
    if not (is_unscaled := (units == 1.0).all()):
        X = in_units(X, units)
    shape, lam = (problem.n_prototypes, X.shape[1]), float(parameters.lam)
    W, Y = np.zeros(shape), np.zeros((problem.n_pairs, shape[1]))
    if state is not None:
        W, Y = state.W * units, _feasible(problem, state.Y, parameters.lam) / units
    kind, labels = LOSSES[parameters.loss], problem.prototype_labels
    offsets = np.log(problem.copies) if kind == SMOOTH else np.zeros(len(W))
    starts = np.searchsorted(labels, np.arange(labels[-1] + 2))
    l1, l2 = elastic_net(problem, float(parameters.mu), float(parameters.eta))
    penalty = Penalty(
        starts, problem.pair_factors, units, lam, l1 / units, l2 / units**2
    )
    tied = problem.y_encoded, problem.assignment, problem.weights
    ties, L = Ties(*tied, labels, offsets, kind), problem.lipschitz
    limits, history = options.for_kernel(W)
    in_memory = isinstance(X, np.ndarray)
    if parameters.solver == "primal-dual":
        if not in_memory:
            raise SmpcoreError(
                "solver='primal-dual' takes dense rows only; use solver='spg'."
            )
        rest = solve_smp_primal_dual(X, ties, penalty, L, W, Y, limits, history)
    else:
        at, spaces = smp_start(W, Y, float(L))
        if in_memory:
            miss = np.empty(len(problem.weights))
            *rest, _ = solve_smp(
                X, ties, penalty, L, W, Y, limits, NO_LOSSES, at, miss, spaces, history
            )
        else:
            rows, work, none = (
                blocks_of_rows(X, ties),
                spaces[0],
                np.empty((0, shape[1])),
            )
            common = none, rows.for_kernel, penalty, L, W, Y, limits

            def step(losses: tuple[float, ...], at: tuple[Any, ...]) -> tuple[Any, ...]:
                if isinstance(rows, DaskBlocks):
                    dual = dual_net(work[2], Y, penalty, np.empty(shape))
                    rows.certify(losses, work[0], at, dual)
                return solve_smp(*common, losses, at, rows.miss, spaces, history)

            *rest, _ = solve_by_blocks(rows, work, at, step)
    return Solution(*rest) if is_unscaled else _in_columns(Solution(*rest), units)


def _in_columns(solution: Solution, units: np.ndarray) -> Solution:
    """A solution of columns in units as one of the columns themselves."""
    W, Y, steps = solution.W / units, solution.Y * units, solution.steps / units
    return replace(solution, W=W, Y=Y, steps=steps)


def smp_start(
    W: np.ndarray, Y: np.ndarray, lipschitz: float
) -> tuple[tuple[Any, ...], tuple[np.ndarray, ...]]:
    """What `solve_smp` hands from step to step, before the first."""
    work = np.zeros((5, *W.shape))
    work[0] = W
    at = True, 1.0, ITERATION_LIMIT, -1, 0.03 * lipschitz, 2.0 * lipschitz
    spaces = np.zeros(Y.shape), np.zeros(len(Y)), np.empty(W.shape[1]), np.zeros(5)
    return (*at, np.inf, -np.inf), (work, *spaces)


def _feasible(problem: SMPProblem, Y: np.ndarray, lam: float) -> np.ndarray:
    """Shrink the duals of another lambda into the balls of this one."""
    if not len(Y):  # a path of many short fits would wait for the pairs
        return Y
    first, second = problem.pairs()
    factors = problem.pair_factors
    radius = lam * factors[first] * factors[second]
    size = np.abs(Y).sum(axis=1)
    return Y * np.minimum(1.0, radius / np.where(size > 0, size, 1.0))[:, None]
