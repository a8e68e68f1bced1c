"""What SMP solves: rows tied to prototypes, the call of the kernel, and its bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared import dask_rows, row_blocks
from smpcore.methods.shared.distinct import MERGED, equal_groups
from smpcore.methods.shared.linear import in_units, tied_shares
from smpcore.methods.shared.problem import ClassificationProblem, SolverOptions
from smpcore.methods.smp.interior import finish, steps_before
from smpcore.methods.smp.kernel import dual_net, solve_smp
from smpcore.methods.smp.kernel_primal_dual import solve_smp_primal_dual
from smpcore.solvers.iterations import ITERATION_LIMIT, used_history
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

    @cached_property
    def newton_after(self) -> int:
        """Gradient steps after which Newton steps are tried, of rows in memory."""
        m, n = self.X.shape
        return steps_before(m, n, self.n_prototypes)

    @property
    def pair_factors(self) -> np.ndarray:
        """Of each prototype: those of a pair, multiplied, weigh its fusion penalty."""
        return self.copies * np.sqrt(self.fusion)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """First and second prototype of each pair, class by class."""
        first, second = [], []
        for code in range(self.prototype_labels[-1] + 1):
            prototypes = np.flatnonzero(self.prototype_labels == code)
            i, j = np.triu_indices(len(prototypes), 1)
            first.append(prototypes[i])
            second.append(prototypes[j])
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


def refuse_too_large(problem: SMPProblem) -> None:
    """Refuse prototypes that the solver's memory would not hold."""
    n_prototypes, n_pairs = problem.n_prototypes, problem.n_pairs
    n_columns = problem.X.shape[1]
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
    estimator: Any,
    options: SolverOptions,
    state: SMPState | None = None,
) -> Solution:
    """Call a kernel, for the objective of an estimator."""
    X, units = problem.X, problem.units
    if not (is_unscaled := (units == 1.0).all()):
        X = in_units(X, units)
    shape, lam = (problem.n_prototypes, X.shape[1]), float(estimator.lam)
    W, Y = np.zeros(shape), np.zeros((problem.n_pairs, shape[1]))
    if state is not None:
        W, Y = state.W * units, _feasible(problem, state.Y, estimator.lam) / units
    kind, labels = LOSSES[estimator.loss], problem.prototype_labels
    offsets = np.log(problem.copies) if kind == SMOOTH else np.zeros(len(W))
    starts = np.searchsorted(labels, np.arange(labels[-1] + 2))
    l1, l2 = elastic_net(problem, float(estimator.mu), float(estimator.eta))
    penalty = Penalty(
        starts, problem.pair_factors, units, lam, l1 / units, l2 / units**2
    )
    tied = problem.y_encoded, problem.assignment, problem.weights
    ties, L = Ties(*tied, labels, offsets, kind), problem.lipschitz
    limits, history = options.for_kernel(W)
    arguments, in_memory = (penalty, L, W, Y, limits), isinstance(X, np.ndarray)
    if estimator.solver == "primal-dual":
        if not in_memory:
            raise SmpcoreError(
                "solver='primal-dual' takes dense rows only; use solver='spg'."
            )
        rest = solve_smp_primal_dual(X, ties, *arguments, history)
    else:
        pause = problem.newton_after if in_memory else -1
        at, spaces = smp_start(W, Y, float(L), pause)
        if in_memory:
            inputs = X, ties, *arguments, row_blocks.NO_LOSSES
            room = np.empty(len(problem.weights)), spaces, history
            *rest, at = solve_smp(*inputs, at, *room)
            if at[0]:
                rest = _by_newton(inputs, at, room)
        else:
            rows, work = dask_rows.blocks_of_rows(X, ties), spaces[0]
            none = np.empty((0, shape[1]))
            common = none, rows.for_kernel, *arguments

            def step(losses: tuple[float, ...], at: tuple[Any, ...]) -> tuple[Any, ...]:
                if isinstance(rows, dask_rows.DaskBlocks):
                    dual = dual_net(work[2], Y, penalty, np.empty(shape))
                    rows.certify(losses, work[0], at, dual)
                return solve_smp(*common, losses, at, rows.miss, spaces, history)

            *rest, _ = row_blocks.solve_by_blocks(rows, work, at, step)
    return Solution(*rest) if is_unscaled else _in_columns(Solution(*rest), units)


def _in_columns(solution: Solution, units: np.ndarray) -> Solution:
    """A solution of columns in units as one of the columns themselves."""
    W, Y, steps = solution.W / units, solution.Y * units, solution.steps / units
    return replace(solution, W=W, Y=Y, steps=steps)


def _by_newton(
    inputs: tuple[Any, ...], at: tuple[Any, ...], room: tuple[Any, ...]
) -> list[Any]:
    """Go on by Newton steps where `solve_smp` paused; arguments and results are its.

    If they come to nothing more, the others go on from their best prototypes, and
    those stay unless there are better ones at the end.
    """
    (X, ties, penalty, _, W, Y, limits, _), (_, spaces, history) = inputs, room
    state = W, Y, spaces[0][1], at[3], at[7]
    status, n_iter, bound = finish(X, ties, penalty, state, limits, history)
    if status != ITERATION_LIMIT or n_iter == limits.max_iter:
        return [W, Y, status, n_iter, *used_history(n_iter, W, limits, history)]
    spaces[0][0], best = W, (W.copy(), Y.copy(), history[0][n_iter])
    at = *at[:3], n_iter, *at[4:6], np.inf, bound, -1
    *rest, at = solve_smp(*inputs, at, *room)
    _, _, status, _, objectives, gaps, steps = rest
    if status == ITERATION_LIMIT and objectives[-1] > best[2]:
        W[:], Y[:], objectives[-1] = best
        gaps[-1], steps[-1:] = objectives[-1] - at[7], W
    return rest


def smp_start(
    W: np.ndarray, Y: np.ndarray, lipschitz: float, pause: int = -1
) -> tuple[tuple[Any, ...], tuple[np.ndarray, ...]]:
    """What `solve_smp` hands from step to step, before the first."""
    work = np.zeros((5, *W.shape))
    work[0] = W
    at = True, 1.0, ITERATION_LIMIT, -1, 0.03 * lipschitz, 2.0 * lipschitz
    spaces = np.zeros(Y.shape), np.zeros(len(Y)), np.empty(W.shape[1]), np.zeros(5)
    return (*at, np.inf, -np.inf, pause), (work, *spaces)


def _feasible(problem: SMPProblem, Y: np.ndarray, lam: float) -> np.ndarray:
    """Shrink the duals of another lambda into the balls of this one."""
    if not len(Y):  # a path of many short fits would wait for the pairs
        return Y
    first, second = problem.pairs()
    factors = problem.pair_factors
    radius = lam * factors[first] * factors[second]
    size = np.abs(Y).sum(axis=1)
    return Y * np.minimum(1.0, radius / np.where(size > 0, size, 1.0))[:, None]


def better_assignment(problem: SMPProblem, W: np.ndarray) -> np.ndarray:
    """Tie every row to the prototype of its class that scores highest."""
    columns = problem.X, problem.y_encoded, problem.assignment
    return dask_rows.row_values(_better, *columns, labels=problem.prototype_labels, W=W)


def _better(
    X: Any,
    y_encoded: np.ndarray,
    assignment: np.ndarray,
    *,
    labels: np.ndarray,
    W: np.ndarray,
) -> np.ndarray:
    def better(part: slice, block: Any) -> np.ndarray:
        rows, scores = np.arange(block.shape[0]), block @ W.T
        now = scores[rows, assignment[part]]
        scores[labels != y_encoded[part][:, None]] = -np.inf
        best = scores.argmax(axis=1)
        moved = scores[rows, best] > now + 1e-9 * (1.0 + np.abs(now))
        return np.where(moved, best, assignment[part])

    return np.concatenate(list(row_blocks.map_blocks(better, X)))


def merged_rows(W: np.ndarray, group: np.ndarray, n_features: int) -> np.ndarray:
    """What each group of equal prototypes becomes."""
    rows = np.empty((group.max() + 1, W.shape[1]))
    if len(rows) == len(W):  # none are equal
        return W.copy()
    near = MERGED * np.abs(W).max()
    for number in range(len(rows)):
        members = W[group == number]
        biases = members[:, n_features:].sum(axis=1)
        same = biases.max() - biases.min() <= near
        rows[number] = members.mean(axis=0) if same else members[biases.argmax()]
    return rows


def equal_prototypes(
    W: np.ndarray, prototype_labels: np.ndarray, n_features: int
) -> np.ndarray:
    """Find prototypes of a class that are equal, directly or through others.

    Prototypes that differ in the bias only are taken for equal: the one with the
    largest bias always scores highest, the others never decide anything.
    """
    return equal_groups(
        W[:, :n_features], np.abs(W).max(), "chebyshev", prototype_labels
    )


def loss_gradient(problem: SMPProblem, W: np.ndarray) -> np.ndarray:
    """Gradient of the smooth loss."""
    gradient = np.zeros_like(W)
    for part, X in row_blocks.row_blocks(problem.X):
        assignment = problem.assignment[part]
        tied = problem.y_encoded[part], assignment, problem.prototype_labels
        share = tied_shares(X @ W.T, *tied, np.log(problem.copies))
        share[np.arange(len(share)), assignment] -= 1.0
        gradient += (problem.weights[part][:, None] * share).T @ X
    return gradient


def lam_max(problem: SMPProblem, estimator: Any) -> float:
    """Smallest lambda for which all prototypes of a class are certainly equal.

    At the solution tied within classes, with gradient G, the duals
    ``(G_j - G_i) / |J_c|`` certify that it is optimal for every lambda that, times the
    class's factor, is at least the largest of their l1 norms.
    """
    sizes = np.bincount(problem.prototype_labels).astype(np.float64)
    tied = replace(
        problem,
        assignment=problem.y_encoded,
        prototype_labels=np.arange(len(sizes)),
        copies=sizes,
        fusion=np.ones(len(sizes)),
    )
    smooth = replace(estimator, lam=0.0, loss="smooth", solver="spg")
    W = solve_problem(tied, smooth, SolverOptions(tol=1e-5)).W
    gradient = loss_gradient(problem, W[problem.prototype_labels])
    largest = 0.0
    for code, size in enumerate(sizes):
        of_class = problem.prototype_labels == code
        slopes, shrunk = gradient[of_class], size * problem.fusion[of_class][0]
        for i in range(len(slopes) - 1):
            difference = np.abs(slopes[i + 1 :] - slopes[i]).sum(axis=1).max() / shrunk
            largest = max(largest, float(difference))
    return largest


def mu_max(problem: SMPProblem, estimator: Any) -> float:
    """Smallest mu, nearly, for which all feature weights are certainly zero.

    Without features only the bias of each prototype is left to solve for; mu must reach
    the largest gradient there. The bias depends on mu by its ridge: a fixed point.
    """
    n_prototypes, n = problem.n_prototypes, problem.n_features
    sums = np.zeros((n_prototypes, problem.X.shape[1]))
    for prototype in range(n_prototypes):
        rows = np.flatnonzero(problem.assignment == prototype)
        for part in np.array_split(rows, len(rows) // row_blocks.ROWS_AT_ONCE + 1):
            sums[prototype] += problem.weights[part] @ problem.X[part]
    mass = np.bincount(problem.assignment, problem.weights, n_prototypes)
    used = np.flatnonzero(mass > 0)
    bare = replace(
        problem,
        X=np.ones((len(used), 1)),
        y_encoded=problem.prototype_labels[used],
        weights=mass[used],
        assignment=used,
        center=np.empty(0),
        units=np.ones(1),
        lipschitz=0.5,
    )
    grouped = replace(bare, X=sums[used] / mass[used][:, None])

    def gradient_at(mu: float) -> float:
        W = np.zeros((n_prototypes, problem.X.shape[1]))
        if W.shape[1] > n:
            smooth = replace(estimator, mu=mu, loss="smooth", solver="spg")
            W[:, n:] = solve_problem(bare, smooth, SolverOptions(tol=1e-8)).W
        return float(np.abs(loss_gradient(grouped, W)[:, :n]).max())

    mu = gradient_at(0.0)
    for _ in range(20):
        gradient = gradient_at(mu)
        if gradient <= mu <= (1.0 + 1e-6) * gradient:
            break
        mu = max(gradient, 0.5 * (mu + gradient)) * (1.0 + 1e-7)
    return mu


#: The last prototypes often merge at `lam_max` only: not at the very end of the slider.
BEYOND = 4.0


def slider_ranges(
    problem: SMPProblem, estimator: Any
) -> dict[str, tuple[float, float]]:
    """Useful ranges of `lam` and `mu`, up to `BEYOND` times `lam_max` and to `mu_max`.

    At prototypes of 0 the hinge pulls a row away from its rivals with weight 1, where
    the smooth loss does with 1 - 1 / |K| of its |K| prototypes, at least 1 / 2: the
    range of `mu` is twice as long.
    """
    if dask_rows.is_dask(problem.X):
        raise SmpcoreError(
            "The ranges of lam and mu are those of rows in memory; ask for them with a "
            "sample of the rows of the Dask array."
        )
    highest = {
        "lam": BEYOND * lam_max(problem, estimator),
        "mu": mu_max(problem, estimator) * (2.0 if estimator.loss == "hinge" else 1.0),
    }
    lowest = {"lam": 1e-6 if estimator.start == "each" else 1e-4, "mu": 1e-4}
    return {
        name: (min(lowest[name], high / 100), high) if high > 0 else (lowest[name], 0.4)
        for name, high in highest.items()
    }
