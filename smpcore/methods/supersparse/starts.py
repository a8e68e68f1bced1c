"""Where virtual prototypes start, and how missing ones are added."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.methods.shared.distinct import projected
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.starts import MOST_ROWS, kmeans_centers
from smpcore.methods.supersparse.problem import Box, Objective
from smpcore.methods.supersparse.removal import kept_columns, without_dead
from smpcore.methods.supersparse.rows import Rows, rows_in_any_order

#: Rows among which a greedy step chooses.
POOL = 300

#: How much more a target counts than a feature in the clusters.
TARGET_WEIGHT = 3.0

#: Below this size (rows x features x prototypes) several starts are tried.
SMALL = 100_000

#: Random starts tried then, clusterings of rows that are read in blocks, and steps of
#: each trial.
N_RANDOM, N_CLUSTERED, TRIAL_STEPS = 5, 5, 20


def draw_rows(rows: Rows, n_rows: int, random: np.random.RandomState) -> np.ndarray:
    """Draw different rows, the same ones however rows are ordered or repeated.

    Rows are lined up along a random direction, where a row of weight 3 covers the
    same stretch as three equal rows.
    """
    direction = random.normal(size=rows.cases.shape[1])
    in_memory = rows.joined is None
    along = (
        (rows.cases * direction).sum(axis=1)
        if in_memory
        else projected(rows.cases, direction)
    )
    order = np.argsort(along, kind="stable")
    reach = np.cumsum(rows.weights[order])
    draws = random.uniform(size=3 * n_rows) * reach[-1]
    places = np.minimum(np.searchsorted(reach, draws, side="right"), len(order) - 1)
    drawn = order[places]
    drawn = rows.cases[drawn] if in_memory else rows_in_any_order(rows.cases, drawn)
    _, first = np.unique(drawn, axis=0, return_index=True)
    return drawn[np.sort(first)[:n_rows]]


def cluster_start(
    rows: Rows, n_prototypes: int, random: np.random.RandomState
) -> np.ndarray:
    """Centres of clusters of rows and targets together, without the targets."""
    factor = TARGET_WEIGHT * rows.spread / math.sqrt(len(rows.Y))
    chosen = np.arange(rows.n_distinct)
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(random.choice(chosen, MOST_ROWS, replace=False))
    cases, targets, weights = rows.distinct(chosen)
    joined = np.hstack([cases, factor * targets])
    n_trials = 2 + int(math.log(n_prototypes))
    centers = kmeans_centers(
        joined, weights, n_prototypes, random, n_trials=n_trials, max_iter=8
    )
    return np.ascontiguousarray(centers[:, : rows.cases.shape[1]])


def greedy_rows(
    objective: Objective, Z: np.ndarray, pool: np.ndarray, n: int
) -> np.ndarray:
    """Add rows of a pool one by one, each the one that explains most of what is
    left.
    """
    # Hundreds of similarities of each row would be read in blocks once a prototype.
    objective = objective.condensed(np.vstack([Z, pool]))
    rows = objective.rows
    columns = objective.similarities(pool)
    centred = columns - rows.weights @ columns
    length = np.sqrt(rows.weights @ centred**2) + 1e-9
    S = objective.similarities(Z) if len(Z) else np.empty((len(columns), 0))
    free = np.ones(len(pool), dtype=bool)
    if len(Z):
        free = cdist(pool, Z).min(axis=1) > 1e-9 * rows.spread
    for _ in range(min(n, free.sum())):
        residuals = objective.refit(S)[3] if S.shape[1] else -rows.Y.T
        correlation = centred.T @ (rows.weights[:, None] * residuals)
        gain = np.where(free, np.linalg.norm(correlation, axis=1) / length, -1.0)
        best = int(gain.argmax())
        free[best] = False
        Z = np.vstack([Z, pool[best]])
        S = np.column_stack([S, columns[:, best]])
    return Z


def greedy_start(
    objective: Objective, n_prototypes: int, random: np.random.RandomState
) -> np.ndarray:
    """Choose rows greedily out of a random pool (orthogonal matching pursuit)."""
    pool = draw_rows(objective.rows, max(POOL, 2 * n_prototypes), random)
    none = np.empty((0, objective.rows.cases.shape[1]))
    return greedy_rows(objective, none, pool, n_prototypes)


def choose_start(
    objective: Objective,
    n_prototypes: int,
    start: str,
    box: Box,
    options: SolverOptions,
    random: np.random.RandomState,
) -> np.ndarray:
    """Find prototypes to start from, no two of them alike."""
    sample = objective.sample
    n_clustered = N_CLUSTERED if start == "auto" and sample is not objective else 1
    ways = _ways(sample, n_prototypes, start, n_clustered, random)
    starts = [separated(sample, Z, n_prototypes, random) for Z in ways]
    if len(starts) == 1:
        return starts[0]
    few = replace(
        options,
        max_iter=min(TRIAL_STEPS, options.max_iter),
        record=0,
        progress=np.zeros(1),
    )
    tried = [sample.solve(Z, box, few).objective[-1] for Z in starts]
    return starts[int(np.argmin(tried))]


def _ways(
    objective: Objective,
    n: int,
    start: str,
    n_clustered: int,
    random: np.random.RandomState,
) -> list[np.ndarray]:
    """The starts to try, which may hold too few or equal rows."""
    if start == "greedy" or objective.similarity.kind == "strings":
        return [greedy_start(objective, n, random)]
    if start == "random":
        return [draw_rows(objective.rows, n, random)]
    ways = [cluster_start(objective.rows, n, random) for _ in range(n_clustered)]
    if (
        start == "auto"
        and math.prod(objective.rows.cases.shape) * n < SMALL
        and objective.similarity.kind != "callable"
    ):
        ways.append(greedy_start(objective, n, random))
        ways += [draw_rows(objective.rows, n, random) for _ in range(N_RANDOM)]
    return ways


def separated(
    objective: Objective,
    Z: np.ndarray,
    n_prototypes: int,
    random: np.random.RandomState,
) -> np.ndarray:
    """Take the equal ones away and add greedy rows up to the number asked for.

    Equal prototypes have equal gradients: they would never part.
    """
    _, first = np.unique(Z, axis=0, return_index=True)
    Z = Z[np.sort(first)]
    if len(Z) < n_prototypes:
        pool = draw_rows(objective.rows, max(POOL, 2 * n_prototypes), random)
        Z = greedy_rows(objective, Z, pool, n_prototypes - len(Z))
    if len(Z) < n_prototypes:
        pool = np.unique(objective.rows.pool, axis=0)
        Z = greedy_rows(objective, Z, pool, n_prototypes - len(Z))
    return Z


def resized(
    objective: Objective,
    Z: np.ndarray,
    n_prototypes: int,
    random: np.random.RandomState,
    removal: str = "rise",
) -> np.ndarray:
    """Make a warm start of another number of prototypes out of solved ones.

    Dead ones go first, then those of `kept_columns`; missing ones are chosen greedily.
    """
    few = objective.condensed(Z)
    Z = without_dead(few, Z)
    if len(Z) > n_prototypes:
        S = few.similarities(Z)
        Z = Z[kept_columns(few, S, n_prototypes, removal)]
    return separated(objective.sample, Z, n_prototypes, random)
