"""One super-sparse fit, from prepared rows to the model's parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.errors import SmpcoreError
from smpcore.estimators.supersparse.blackbox import solve_blackbox
from smpcore.estimators.supersparse.paper import solve_paper
from smpcore.estimators.supersparse.problem import (
    SMOOTH,
    Limits,
    Solution,
    SuperSparseState,
    refit,
    solve_lbfgs,
)
from smpcore.estimators.supersparse.rows import Rows
from smpcore.estimators.supersparse.starts import (
    choose_start,
    resized,
    without_dead,
    without_idle,
)
from smpcore.estimators.supersparse.strings import solve_strings
from smpcore.similarity import Similarity
from smpcore.solvers.supersparse import CONVERGED, ITERATION_LIMIT

#: Prototypes closer than this, in spreads of the data, are shown as one.
MERGED = 1e-3

#: Times that dead or idle prototypes may be revived.
MOST_REVIVALS = 2


@dataclass(frozen=True)
class Recipe:
    """How to fit, apart from the rows.

    Parameters
    ----------
    how : Similarity
    lam : float
    n_prototypes : int
    start : {"auto", "kmeans", "greedy"}
    solver : {"lbfgs", "paper"}
    eta : float
        Step of the paper's algorithm.
    """

    how: Similarity
    lam: float
    n_prototypes: int
    start: str
    solver: str
    eta: float


def fit_rows(
    rows: Rows,
    recipe: Recipe,
    limits: Limits,
    state: Any,
    random: np.random.RandomState,
) -> tuple[Solution, np.ndarray]:
    """Find prototypes and their coefficients.

    Parameters
    ----------
    rows : Rows
    recipe : Recipe
    limits : Limits
    state : SuperSparseState or None
        Warm start, also of another number of prototypes; others are ignored.
    random : RandomState

    Returns
    -------
    solution : Solution
    Z : ndarray of shape (n_prototypes, n_features)
        Where the prototypes started.
    """
    how, lam, m = recipe.how, recipe.lam, recipe.n_prototypes
    fits = isinstance(state, SuperSparseState)
    fits = fits and state.Z.shape[1] == rows.cases.shape[1]
    if fits:
        Z = resized(rows, how, lam, state.Z, m, random)
    else:
        Z = choose_start(rows, how, lam, m, recipe.start, limits, random)
    if limits.radius > 0 and not fits:
        length = np.linalg.norm(Z, axis=1, keepdims=True)
        Z = Z * (limits.radius / np.maximum(length, limits.radius))
    Z = np.clip(Z, limits.low, limits.high)
    if rows.constant:
        objective = np.zeros(1)
        B, intercept = np.zeros((m, len(rows.Y))), np.zeros(len(rows.Y))
        empty = np.empty((0, *Z.shape))
        return Solution(Z, B, intercept, CONVERGED, 0, objective, empty), Z
    solve = _solver(recipe)
    solution = solve(rows, how, lam, Z, limits)
    for _ in range(MOST_REVIVALS):
        revived = _revived(rows, recipe, solution, limits, random)
        if revived is None:
            break
        left = limits.max_iter - solution.n_iter
        more = solve(rows, how, lam, revived, replace(limits, max_iter=left))
        solution = _joined(solution, more)
    return solution, Z


def _solver(recipe: Recipe) -> Callable[..., Solution]:
    """The solver for this similarity."""
    if recipe.how.kind == "strings":
        return solve_strings
    if recipe.how.kind not in SMOOTH:
        return solve_blackbox
    if recipe.solver == "paper":
        return lambda *args: solve_paper(*args, eta=recipe.eta)
    return solve_lbfgs


def _revived(
    rows: Rows,
    recipe: Recipe,
    solution: Solution,
    limits: Limits,
    random: np.random.RandomState,
) -> np.ndarray | None:
    """Prototypes with the dead, or else an idle one, reborn as rows, if that helps."""
    if limits.max_iter <= solution.n_iter or limits.stop[0] or solution.status > 1:
        return None
    alive = without_dead(rows, recipe.how, solution.Z)
    if len(alive) == len(solution.Z):
        alive = without_idle(rows, recipe.how, recipe.lam, solution.Z)
    if len(alive) == len(solution.Z):
        return None
    Z = resized(rows, recipe.how, recipe.lam, alive, len(solution.Z), random)
    Z = np.clip(Z, limits.low, limits.high)
    F = refit(recipe.how.values(rows.cases, Z), rows, recipe.lam)[0]
    return Z if F < solution.objective[-1] else None


def _joined(first: Solution, second: Solution) -> Solution:
    """Two runs as one; the second began where the first had ended, or below."""
    return replace(
        second,
        n_iter=first.n_iter + second.n_iter,
        objective=np.concatenate([first.objective, second.objective[1:]]),
        steps=np.concatenate([first.steps, second.steps[1:]])[:200],
    )


def merged(Z: np.ndarray, spread: float) -> np.ndarray:
    """Which prototypes are so close that they count as one.

    Parameters
    ----------
    Z : ndarray of shape (n_prototypes, n_features)
    spread : float

    Returns
    -------
    ndarray of int, shape (n_prototypes,)
        Group of each, numbered in order of appearance.
    """
    near = cdist(Z, Z) <= MERGED * spread
    group = np.full(len(Z), -1)
    for j in range(len(Z)):
        if group[j] < 0:
            group[near[j] & (group < 0)] = group.max() + 1
    return group


def refuse_diverged(solution: Solution) -> None:
    """Refuse a fit that is not finite.

    Parameters
    ----------
    solution : Solution

    Raises
    ------
    SmpcoreError
    """
    good = np.isfinite(solution.objective).all() and np.isfinite(solution.Z).all()
    if not (good and np.isfinite(solution.B).all()):
        raise SmpcoreError(
            "The objective is not finite; lower eta or raise lam, use standardize=True "
            "or divide large columns by a power of ten."
        )


def unfinished(solution: Solution, max_iter: int) -> str:
    """Say how a fit fell short.

    Parameters
    ----------
    solution : Solution
    max_iter : int

    Returns
    -------
    str
        Empty if it did not.
    """
    if solution.status != ITERATION_LIMIT:
        return ""
    objective = solution.objective[-4:]
    fall = (objective[0] - objective[-1]) / max(objective[-1], 1e-300)
    fall /= max(len(objective) - 1, 1)
    return (
        f"The limit of {solution.n_iter} steps (max_iter={max_iter}) was reached; the "
        f"last ones still lowered the objective by {fall:.1e} each; raise max_iter or "
        "tol."
    )
