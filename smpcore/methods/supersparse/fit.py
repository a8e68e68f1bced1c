"""One super-sparse fit, from an objective to prototypes and coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from smpcore.errors import SmpcoreError, warn
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse.blackbox import solve_blackbox
from smpcore.methods.supersparse.problem import (
    Box,
    Objective,
    Solution,
    SuperSparseState,
)
from smpcore.methods.supersparse.removal import without_dead, without_idle
from smpcore.methods.supersparse.selection import fit_columns
from smpcore.methods.supersparse.starts import choose_start, resized
from smpcore.methods.supersparse.strings import solve_strings
from smpcore.similarity import SMOOTH
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT

#: Times that dead or idle prototypes may be revived.
MOST_REVIVALS = 2


@dataclass(frozen=True)
class Recipe:
    """How to search for prototypes."""

    n_prototypes: int
    start: str  # {"auto", "kmeans", "greedy", "random"}
    #: {"rise", "coefficient"}: Which prototypes a warm start leaves out
    removal: str = "rise"


def fit_rows(
    objective: Objective,
    recipe: Recipe,
    box: Box,
    options: SolverOptions,
    random: np.random.RandomState,
    state: SuperSparseState | None = None,
) -> tuple[Solution, np.ndarray]:
    """Find prototypes and their coefficients."""
    if objective.similarity.kind == "precomputed":
        return fit_columns(objective, recipe.n_prototypes, options, state)
    Z, rows = _start(objective, recipe, box, options, random, state), objective.rows
    if rows.constant:
        recorded = ([Z], [0]) if options.record else ()
        ended = CONVERGED, 0, np.zeros(1)
        return Solution(Z, *objective.coefficients(Z), *ended, *recorded), Z
    if (sample := objective.sample) is not objective:
        # Its steps cost little, and go on where all rows would end on a plateau.
        few = replace(options, tol=0.01 * options.tol, record=0, progress=np.zeros(1))
        near = _solved(sample, Z, recipe, box, few, random)
        return objective.solve(near.Z, box, options, near.pairs), Z
    return _solved(objective, Z, recipe, box, options, random), Z


def _solved(
    objective: Objective,
    Z: np.ndarray,
    recipe: Recipe,
    box: Box,
    options: SolverOptions,
    random: np.random.RandomState,
) -> Solution:
    """Solve from a start, and once more where prototypes are dead or idle."""
    solve = _solver(objective)
    solution = solve(objective, Z, box, options)
    for _ in range(MOST_REVIVALS):
        revived = _revived(objective, solution, box, options, random)
        if revived is None:
            break
        left = options.max_iter - solution.n_iter
        more = solve(objective, revived, box, replace(options, max_iter=left))
        solution = _joined(solution, more)
    return solution


def _start(
    objective: Objective,
    recipe: Recipe,
    box: Box,
    options: SolverOptions,
    random: np.random.RandomState,
    state: SuperSparseState | None,
) -> np.ndarray:
    """Prototypes to start from, inside the box."""
    m = recipe.n_prototypes
    if state is not None:
        Z = resized(objective, state.Z, m, random, recipe.removal)
    else:
        Z = choose_start(objective, m, recipe.start, box, options, random)
        if box.radius > 0:
            length = np.linalg.norm(Z, axis=1, keepdims=True)
            Z = Z * (box.radius / np.maximum(length, box.radius))
    return np.clip(Z, box.low, box.high)


def _solver(objective: Objective) -> Callable[..., Solution]:
    """The solver for a kind of similarity, and of rows."""
    kind = objective.similarity.kind
    if kind == "strings":
        return solve_strings
    if kind not in SMOOTH:
        return solve_blackbox
    return type(objective).solve


def _revived(
    objective: Objective,
    solution: Solution,
    box: Box,
    options: SolverOptions,
    random: np.random.RandomState,
) -> np.ndarray | None:
    """Prototypes with the dead, or else an idle one, replaced by rows, if it helps."""
    if options.max_iter <= solution.n_iter or options.stopped or solution.status > 1:
        return None
    few = objective.condensed(solution.Z)
    alive = without_dead(few, solution.Z)
    if len(alive) == len(solution.Z):
        alive = without_idle(few, solution.Z)
    if len(alive) == len(solution.Z):
        return None
    Z = resized(objective, alive, len(solution.Z), random)
    Z = np.clip(Z, box.low, box.high)
    few = objective.condensed(Z)
    F = few.refit(few.similarities(Z))[0]
    return Z if F < solution.objective[-1] else None


def _joined(first: Solution, second: Solution) -> Solution:
    """Two runs as one; the second began where the first had ended, or below."""
    return replace(
        second,
        n_iter=first.n_iter + second.n_iter,
        objective=np.concatenate([first.objective, second.objective[1:]]),
        steps=[*first.steps, *second.steps[1:]],
        places=[*first.places, *np.add(second.places[1:], first.n_iter)],
    )


def refuse_diverged(solution: Solution) -> None:
    """Refuse a fit that is not finite."""
    good = np.isfinite(solution.objective).all() and np.isfinite(solution.Z).all()
    if not (good and np.isfinite(solution.B).all()):
        raise SmpcoreError(
            "The objective is not finite; raise lam, use standardize=True "
            "or divide large columns by a power of ten."
        )


def warn_if_unfinished(solution: Solution, max_iter: int) -> None:
    """Warn of a fit that reached the limit of steps."""
    if solution.status != ITERATION_LIMIT:
        return
    objective = solution.objective[-4:]
    fall = (objective[0] - objective[-1]) / max(objective[-1], 1e-300)
    fall /= max(len(objective) - 1, 1)
    warn(
        f"The limit of {solution.n_iter} steps (max_iter={max_iter}) was reached; the "
        f"last ones still lowered the objective by {fall:.1e} each; raise max_iter or "
        "tol.",
        ConvergenceWarning,
    )
