"""Mixes of all rows under a kernel, without the similarities of all pairs in memory.

A fit of landmarks gives every row its dual mass. The rows with mass add up to one mix
for each prototype, along which the objective falls most steeply: the parts of it, cell
by cell of the space, that no mix of the landmarks reaches become more columns of the
mapped rows, and the next fit goes on from the last one. The masses meet the conditions
of the dual of the whole kernel: the size of what is not reached completes the
certificate. Each round compares all rows with those of mass once, and keeps no more
than the sums.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from smpcore.methods.mprotsvm.assignment import SETTLED
from smpcore.methods.mprotsvm.landmarks import MOST_MAP_BYTES, MOST_STEPS, Round
from smpcore.methods.mprotsvm.monitor import Certificate
from smpcore.methods.mprotsvm.problem import (
    SVMParameters,
    SVMProblem,
    SVMState,
    squared_lengths,
    support_rows,
)
from smpcore.methods.mprotsvm.starts import Candidate, best_fit
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.methods.shared.starts import kmeans_centers

#: Mixes shorter than this part of the longest are rounding of the similarities.
ROUNDING = 1e-6

#: Rounds at most.
MOST_ROUNDS = 20

#: Cells at most whose rows are summed up apart: that needs no more similarities, and
#: half the rounds under a local kernel.
MOST_CELLS = 16

#: Part of the columns there is memory for that one round may take.
OF_ROOM = 0.25

#: Part of the gap allowed that fits of the columns may leave; or that of what the last
#: columns missed, if it is more, up to a part of the objective.
OF_COLUMNS, OF_MISSED, LOOSEST = 0.5, 0.1, 0.1


class _Sums(NamedTuple):
    """Rows summed up by their masses: their values at all rows.

    Half the squared length of the sums under the kernel is `half`, and `missed` is what
    the columns do not reach of it.
    """

    values: np.ndarray
    round: Round
    missed: float
    half: float

    def dual(self, of_columns: float) -> float:
        """Dual objective of the whole kernel, if masses shrink alike where that
        pays.
        """
        rise = of_columns - self.missed + self.half  # the part linear in the masses
        share = min(1.0, max(0.0, 0.5 * rise / self.half)) if self.half else 1.0
        return share * rise - share**2 * self.half


def fit_mixes(
    problem: SVMProblem,
    parameters: SVMParameters,
    options: SolverOptions,
    state: SVMState | None,
) -> tuple[SVMProblem, Candidate, bool]:
    """Fit landmarks, and add mixes of all rows until the whole kernel is certified."""
    inner = fine = replace(options, tol=OF_COLUMNS * options.tol)
    found = best_fit(problem, parameters, inner, state, highest=0.5)
    warm, n_sweeps = replace(parameters, temperature=0.0), found.n_sweeps
    ties: tuple[np.ndarray, ...] = ()
    while True:
        sums, at = _sums(problem, found.state, options), found.certificate
        before, ties = ties, (found.state.prototype_labels, found.state.assignment)
        if not (before and all(map(np.array_equal, before, ties))):
            least = 0.0  # no objective is below; a bound holds for its assignments
        if sums is not None:
            least = max(least, sums.dual(at.objective - at.gap))
        gap = at.objective - least
        stay = at.objective - at.free <= SETTLED * options.tol * at.objective
        done = gap <= options.tol * at.objective and (stay or inner is fine)
        over = len(problem.landmarks.rounds) == MOST_ROUNDS or not _room(problem)
        if done or over or options.stopped:
            break
        problem = _widened(problem, sums)
        start = replace(found.state, n_asked=len(problem.prototype_labels))
        loose = min(LOOSEST, OF_MISSED * sums.missed / at.objective)
        inner = replace(fine, tol=loose) if loose > fine.tol else fine
        found = best_fit(problem, warm, inner, start)
        n_sweeps += found.n_sweeps
    whole, ended = Certificate(at.objective, at.free, gap), (found.state, found.scores)
    found.monitor.add(whole, n_sweeps, lambda: ended, last=True)
    finished = done and (stay or found.finished) and not options.stopped
    ended = replace(found, certificate=whole, finished=finished, n_sweeps=n_sweeps)
    return problem, ended, not found.finished


def _room(problem: SVMProblem) -> int:
    """Columns that a round may sum up for each prototype; 0 if memory is full."""
    n_rows, n_columns = problem.mapped.shape
    free = MOST_MAP_BYTES // (16 * n_rows) - n_columns  # the next ones stand beside
    n_prototypes = len(problem.prototype_labels)
    return 0 if free < n_prototypes else max(1, int(OF_ROOM * free / n_prototypes))


def _cells(problem: SVMProblem, rows: np.ndarray) -> tuple[int, np.ndarray]:
    """Number of cells, and that of each of some rows: the nearest of a few centres."""
    points = np.unique(problem.landmarks.landmarks.points, axis=0)
    count = min(MOST_CELLS, max(1, _room(problem)), len(points))
    random, weights = np.random.RandomState(problem.seed), np.ones(len(points))
    centres = kmeans_centers(points, weights, count, random, max_iter=MOST_STEPS)
    return count, cdist(problem.X[rows], centres).argmin(axis=1)


def _sums(problem: SVMProblem, state: SVMState, options: SolverOptions) -> _Sums | None:
    """Compare all rows with those of mass; None if the fit is stopped meanwhile."""
    n_prototypes = len(state.prototype_labels)
    heavy, masses = support_rows(problem, state, np.arange(n_prototypes))
    n_cells, cell = _cells(problem, heavy)
    X = problem.X
    if problem.similarity.kind == "rbf":
        X = X - X.mean(axis=0)  # squares of large offsets would cancel
    parts = (np.flatnonzero(cell == number) for number in range(n_cells))
    mixes = [(X[heavy[part]], masses[part]) for part in parts]
    values = np.empty((len(X), n_cells, n_prototypes))

    def compare(rows: slice, block: np.ndarray) -> None:
        for number, mix in enumerate(mixes):
            if not options.stopped:
                values[rows, number] = problem.similarity.mixed(block, *mix)

    for _ in map_blocks(compare, X):
        pass
    if options.stopped:
        return None
    row, prototype = np.nonzero(masses)
    column = n_prototypes * cell[row] + prototype
    values = values.reshape(len(X), n_cells * n_prototypes)
    shape = len(heavy), values.shape[1]
    masses = csr_array((masses[row, prototype], (row, column)), shape=shape)
    products = masses.T @ values[heavy]
    reached = (masses.T @ problem.mapped[heavy]).T
    left = products - reached.T @ reached
    squares, turn = np.linalg.eigh(0.5 * (left + left.T))
    kept = squares > ROUNDING * products.diagonal().max(initial=0.0)
    turn = turn[:, kept] / np.sqrt(squares[kept])

    def half_length(pairs: np.ndarray) -> float:
        of_cells = pairs.reshape((n_cells, n_prototypes) * 2)
        return 0.5 * max(float(np.einsum("apbp->", of_cells)), 0.0)

    added = Round(heavy, masses, reached, turn)
    return _Sums(values, added, half_length(left), half_length(products))


def _widened(problem: SVMProblem, sums: _Sums) -> SVMProblem:
    """The same rows with the columns of another round."""
    added, mixes = sums.round, problem.landmarks
    new = (sums.values - problem.mapped @ added.reached) @ added.turn
    mapped = np.hstack([problem.mapped, new])
    return replace(
        problem,
        mapped=mapped,
        squares=np.maximum(squared_lengths(mapped), 1e-12),
        landmarks=replace(mixes, rounds=(*mixes.rounds, added)),
    )
