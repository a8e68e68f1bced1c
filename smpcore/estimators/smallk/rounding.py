"""SMaLL's relaxation, its rounding to k weights, and the refit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from smpcore.estimators.smallk.problem import (
    SMaLLProblem,
    SMaLLState,
    Solution,
    Task,
)
from smpcore.estimators.smallk.swaps import swap_changes
from smpcore.solvers.smallk import solve_smallk
from smpcore.solvers.smallk_mirror_prox import solve_smallk_mirror_prox
from smpcore.solvers.smp import STOPPED
from smpcore.solvers.support_norm import squared_support_norm

#: A refit is that much more exact than the relaxation.
REFIT = 0.1

#: Swaps are tried if the quadratic model lets the objective rise by that part at most.
PROMISING = 2e-3


@dataclass(frozen=True)
class Limits:
    """When kernels end.

    Parameters
    ----------
    tol : float
    max_iter, record : int
    stop : ndarray of int64, shape (1,)
    progress : ndarray of float64, shape (1,)
        Of the relaxation.
    """

    tol: float
    max_iter: int
    record: int
    stop: np.ndarray
    progress: np.ndarray


def relax_all(
    problem: SMaLLProblem,
    k: int,
    lam: float,
    solver: str,
    state: SMaLLState | None,
    limits: Limits,
) -> list[Solution]:
    """Solve the convex relaxation of every task.

    Parameters
    ----------
    problem : SMaLLProblem
    k : int
        At most ``n_features``. There, and at 0, the relaxation is exact: a ridge.
    lam : float
    solver : {"fista", "mirror-prox"}
    state : SMaLLState, optional
        Warm start.
    limits : Limits

    Returns
    -------
    list of Solution
    """
    found = []
    for number, task in enumerate(problem.tasks):
        start = None
        if state is not None:
            start = state.relaxed[number], state.curvature[number]
        inner = limits
        if len(problem.tasks) > 1:
            inner = replace(limits, progress=np.zeros(1))
        found.append(relax(problem, task, k, lam, solver, start, inner))
        limits.progress[0] = (number + 1) / len(problem.tasks)
    return found


def relax(
    problem: SMaLLProblem,
    task: Task,
    k: int,
    lam: float,
    solver: str,
    start: tuple[np.ndarray, float] | None,
    limits: Limits,
) -> Solution:
    """Solve the relaxation of one task, from prototypes and curvature of another."""
    n = problem.n_features
    shape = (len(task.owners), problem.X.shape[1])
    W, curvature = np.zeros(shape), 0.125 * problem.lipschitz
    if start is not None:
        W, curvature = start[0].copy(), start[1]
    if solver == "mirror-prox" and 0 < k < n:
        found = solve_smallk_mirror_prox(
            problem.X, task.codes, task.assignment, problem.weights, task.owners,
            task.first, n, k, problem.ridge(lam), W, float(limits.tol),
            int(limits.max_iter), int(limits.record), limits.stop, limits.progress,
        )  # fmt: skip
        return replace(Solution(*found), curvature=0.125 * problem.lipschitz)
    support = np.ones(shape)
    if k == 0:
        support[:, :n] = 0.0
        W[:, :n] = 0.0
    return _run(
        problem.X, problem, task, k, k in (0, n), support, lam, curvature, W, np.inf,
        limits,
    )  # fmt: skip


def refit(
    problem: SMaLLProblem,
    task: Task,
    support: np.ndarray,
    lam: float,
    start: np.ndarray,
    curvature: float,
    limits: Limits,
    ceiling: float = np.inf,
) -> Solution:
    """Best prototypes whose weights lie on given supports: a ridge problem.

    Only columns that some prototype uses are looked at.

    Parameters
    ----------
    problem : SMaLLProblem
    task : Task
    support : ndarray of bool, shape (n_prototypes, n_features)
    lam : float
    start : ndarray of shape (n_prototypes, n_columns)
    curvature : float
    limits : Limits
    ceiling : float
        Give up once it is certain that the objective will not be lower.

    Returns
    -------
    Solution
    """
    wide = np.ones_like(start)
    wide[:, : problem.n_features] = support
    columns = np.flatnonzero(wide[task.first :].any(axis=0))
    X = problem.X
    if len(columns) < X.shape[1]:
        X = np.take(X, columns, axis=1)
    narrow = np.ascontiguousarray(wide[:, columns])
    found = _run(
        X, problem, task, 0, True, narrow, lam, curvature, narrow * start[:, columns],
        ceiling, replace(limits, tol=REFIT * limits.tol, progress=np.zeros(1)),
    )  # fmt: skip
    W = np.zeros_like(start)
    W[:, columns] = found.W
    steps = np.zeros((len(found.steps), *start.shape))
    steps[:, :, columns] = found.steps
    return replace(found, W=W, steps=steps)


def _run(
    X: np.ndarray,
    problem: SMaLLProblem,
    task: Task,
    k: int,
    fixed: bool,
    support: np.ndarray,
    lam: float,
    curvature: float,
    W: np.ndarray,
    ceiling: float,
    limits: Limits,
) -> Solution:
    """Call the kernel on these columns."""
    n_features = X.shape[1] - problem.n_bias
    ridge = problem.ridge(lam)[problem.n_features - n_features :]
    found = solve_smallk(
        X, task.codes, task.assignment, problem.weights, task.owners, task.first,
        n_features, k, fixed, support, ridge, problem.lipschitz, float(curvature), W,
        float(ceiling), float(limits.tol), int(limits.max_iter), int(limits.record),
        limits.stop, limits.progress,
    )  # fmt: skip
    return Solution(*found)


def shares(W: np.ndarray, k: int) -> np.ndarray:
    """How much of each feature the relaxation uses: 1 fully, 0 not at all.

    Parameters
    ----------
    W : ndarray of shape (n_prototypes, n_features)
    k : int
        Above 0 and below ``n_features``.

    Returns
    -------
    ndarray of shape (n_prototypes, n_features)
        Rows sum to at most k.
    """
    found, sizes = np.empty(W.shape), np.empty((2, W.shape[1]))
    for row, share in zip(np.ascontiguousarray(W), found, strict=True):
        squared_support_norm(row, k, share, sizes)
    return found


def largest_shares(share: np.ndarray, W: np.ndarray, k: int) -> np.ndarray:
    """The k features of each prototype with the largest shares, then weights.

    Parameters
    ----------
    share, W : ndarray of shape (n_prototypes, n_features)
    k : int

    Returns
    -------
    ndarray of bool, shape (n_prototypes, n_features)
    """
    order = np.lexsort((-np.abs(W), -share), axis=1)
    chosen = np.zeros(share.shape, dtype=bool)
    np.put_along_axis(chosen, order[:, :k], True, axis=1)
    return chosen


def draw_support(share: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """A random support: a feature is in with its share as probability.

    Systematic sampling: features lie along a line in random order, as long as their
    shares; those are chosen that a comb with unit spacing hits. So a prototype never
    gets more than the sum of its shares, rounded up.

    Parameters
    ----------
    share : ndarray of shape (n_prototypes, n_features)
    random : RandomState

    Returns
    -------
    ndarray of bool, shape (n_prototypes, n_features)
    """
    order = random.uniform(size=share.shape).argsort(axis=1)
    ends = np.cumsum(np.take_along_axis(share, order, axis=1), axis=1)
    # A sum that is whole but for rounding must not hit one feature too few.
    ends += 1e-12 - random.uniform(size=(len(share), 1))
    chosen = np.empty(share.shape, dtype=bool)
    hits = np.diff(np.floor(ends), axis=1, prepend=-1.0) > 0
    np.put_along_axis(chosen, order, hits, axis=1)
    return chosen


def round_all(
    problem: SMaLLProblem,
    relaxed: list[Solution],
    k: int,
    lam: float,
    n_draws: int,
    n_swaps: int,
    random: np.random.RandomState,
    state: SMaLLState | None,
    limits: Limits,
) -> list[Solution]:
    """The best k-sparse prototypes found from the relaxation of every task.

    Parameters
    ----------
    problem : SMaLLProblem
    relaxed : list of Solution
    k : int
        Above 0 and below ``n_features``.
    lam : float
    n_draws : int
        Random supports tried besides the largest shares.
    n_swaps : int
        Supports tried that differ from the best one in one feature.
    random : RandomState
    state : SMaLLState, optional
        An earlier fit: where a support has not changed, its prototypes are a better
        start.
    limits : Limits

    Returns
    -------
    list of Solution
        Their gap is that of the refit, not that to the best k-sparse model.
    """
    none = [None] * len(relaxed)
    starts = none if state is None else state.rounded
    rounded = []
    for task, solution, start in zip(problem.tasks, relaxed, starts, strict=True):
        starts_of_swaps = round_and_refit(
            problem, task, solution, k, lam, n_draws, random, limits, start
        )
        ends = [
            swap_features(problem, task, found, lam, n_swaps, limits)
            for found in starts_of_swaps
        ]
        rounded.append(min(ends, key=lambda end: end.objective[-1]))
    return rounded


def round_and_refit(
    problem: SMaLLProblem,
    task: Task,
    relaxed: Solution,
    k: int,
    lam: float,
    n_draws: int,
    random: np.random.RandomState,
    limits: Limits,
    before: np.ndarray | None,
) -> list[Solution]:
    """Round the relaxation of one task; `before` are an earlier fit's prototypes.

    Returns the refit of the largest shares, and that of a draw if it is better.
    """
    W = relaxed.W[:, : problem.n_features]
    share = shares(W, k)
    share[: task.first] = 0.0
    tried: set[bytes] = set()
    first: Solution | None = None
    best: Solution | None = None
    for draw in range(n_draws + 1):
        support = draw_support(share, random) if draw else largest_shares(share, W, k)
        support[: task.first] = False
        if support.tobytes() in tried or not support.any():
            continue
        tried.add(support.tobytes())
        known = before is not None and _same_support(before, support)
        found = refit(
            problem, task, support, lam, before if known else relaxed.W,
            relaxed.curvature, limits, np.inf if best is None else best.objective[-1],
        )  # fmt: skip
        if best is None or found.objective[-1] < best.objective[-1]:
            best = found
        first = first or found
        if found.status == STOPPED:
            break
    return [first] if best is first else [first, best]


def _same_support(W: np.ndarray, support: np.ndarray) -> bool:
    """Whether the weights of W are zero where the support says so, and only there."""
    return bool(((W[:, : support.shape[1]] != 0) == support).all())


def swap_features(
    problem: SMaLLProblem,
    task: Task,
    best: Solution,
    lam: float,
    n_swaps: int,
    limits: Limits,
) -> Solution:
    """Exchange one feature of one prototype at a time while that lowers the objective.

    At most `n_swaps` are tried, in the order of `swap_changes`, a quadratic model;
    most refits end after some steps, when their bound reaches the best objective.
    """
    n, improved = problem.n_features, n_swaps > 0
    while improved and best.status != STOPPED:
        improved = False
        support, lowest = best.W[:, :n] != 0, best.objective[-1]
        changes = swap_changes(problem, task, best.W, lam)
        order = np.argsort(changes, axis=None)[:n_swaps]
        for place in order[changes.ravel()[order] < PROMISING * lowest]:
            prototype, out, into = np.unravel_index(place, changes.shape)
            swapped, start = support.copy(), best.W.copy()
            swapped[prototype, [out, into]] = False, True
            start[prototype, out] = 0.0
            found = refit(
                problem, task, swapped, lam, start, best.curvature, limits, lowest
            )
            n_swaps -= 1
            if found.objective[-1] < lowest:
                best, improved = found, n_swaps > 0
                break
    return best
