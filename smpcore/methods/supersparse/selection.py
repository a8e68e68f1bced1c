"""Given similarities: prototypes are real cases, chosen as columns, one by one."""

from __future__ import annotations

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse.problem import (
    Objective,
    Solution,
    SuperSparseState,
)
from smpcore.methods.supersparse.removal import kept_columns
from smpcore.methods.supersparse.step_log import StepLog
from smpcore.methods.supersparse.strings import LEAST, objectives_with
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, STOPPED


def refuse_oblong(X: np.ndarray) -> None:
    """Refuse similarities without a column for each row, matrix beside matrix."""
    if X.shape[1] % len(X):
        raise SmpcoreError(
            f"X has {X.shape[1]} columns for {len(X)} rows and should have a column "
            "for each row, matrix beside matrix; with similarity='precomputed' X holds "
            "the similarities of the training rows to each other."
        )


def chosen_columns(Z: np.ndarray) -> np.ndarray:
    """Column that each prototype stands for."""
    return Z.argmax(axis=1)


def fit_columns(
    objective: Objective,
    n_prototypes: int,
    options: SolverOptions,
    state: SuperSparseState | None,
) -> tuple[Solution, np.ndarray]:
    """Choose columns greedily, then change one for a better one until none is."""
    X = objective.rows.cases
    chosen = np.empty(0, np.int64) if state is None else chosen_columns(state.Z)
    if len(chosen) > n_prototypes:
        chosen = chosen[kept_columns(objective, X[:, chosen], n_prototypes)]
    while len(chosen) < n_prototypes:
        chosen = np.append(chosen, _best_column(objective, chosen)[0])
    start = _selectors(chosen, X.shape[1])
    trace = StepLog(objective.refit(X[:, chosen])[0], start, options)
    status = CONVERGED if objective.rows.constant else ITERATION_LIMIT
    for _ in range(0 if objective.rows.constant else options.max_iter):
        before = trace.values[-1]
        F, chosen = _exchanged(objective, chosen, before, options)
        trace.add(F, _selectors(chosen, X.shape[1]), options.max_iter)
        if options.stopped or before == F:
            status = STOPPED if options.stopped else CONVERGED
            break
    return trace.solution(objective, _selectors(chosen, X.shape[1]), status), start


def _exchanged(
    objective: Objective, chosen: np.ndarray, F: float, options: SolverOptions
) -> tuple[float, np.ndarray]:
    """Objective and columns after each was exchanged once, where that helps."""
    chosen = chosen.copy()
    for j in range(len(chosen)):
        if options.stopped:
            break
        best, value = _best_column(objective, np.delete(chosen, j))
        if best != chosen[j] and value < F - LEAST:
            chosen[j] = best
            F = objective.refit(objective.rows.cases[:, chosen])[0]
    return F, chosen


def _best_column(objective: Objective, chosen: np.ndarray) -> tuple[int, float]:
    """The column that helps most beside those chosen, and the objective with it."""
    X = objective.rows.cases
    F = objectives_with(objective, X[:, chosen], X)
    F[chosen] = np.inf
    best = int(F.argmin())
    return best, float(F[best])


def _selectors(chosen: np.ndarray, n_columns: int) -> np.ndarray:
    Z = np.zeros((len(chosen), n_columns))
    Z[np.arange(len(chosen)), chosen] = 1.0
    return Z
