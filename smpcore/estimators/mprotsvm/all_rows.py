"""Mixes of all rows under a kernel, without the similarities of all pairs in memory.

A fit of landmarks gives every row its dual mass. The rows with mass add up to one mix
for each prototype, along which the objective falls most steeply: the part of it that
no mix of the landmarks reaches becomes another column of the mapped rows, and the next
fit goes on from the last one. The masses meet the conditions of the dual of the whole
kernel: the size of that part completes the certificate. Each round compares all rows
with those of mass once, and keeps no more than the sums.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from smpcore.estimators.mprotsvm.assignment import SETTLED
from smpcore.estimators.mprotsvm.landmarks import MOST_MAP_BYTES, Round
from smpcore.estimators.mprotsvm.monitor import Certificate
from smpcore.estimators.mprotsvm.problem import (
    ROWS_AT_ONCE,
    SVMParameters,
    SVMProblem,
    SVMState,
    squared_lengths,
    support_rows,
)
from smpcore.estimators.mprotsvm.starts import Candidate, best_fit
from smpcore.estimators.problem import SolverOptions

#: Mixes shorter than this part of the longest are rounding of the similarities.
ROUNDING = 1e-6

#: Rounds at most.
MOST_ROUNDS = 20

#: Part of the gap allowed that fits of the columns may leave.
OF_COLUMNS = 0.5


class _Sums(NamedTuple):
    """Rows summed up by their masses: values at all rows, and what columns miss."""

    values: np.ndarray
    round: Round
    missed: float


def fit_mixes(
    problem: SVMProblem,
    parameters: SVMParameters,
    options: SolverOptions,
    state: SVMState | None,
) -> tuple[SVMProblem, Candidate, bool]:
    """Fit landmarks, and add mixes of all rows until the whole kernel is certified.

    Parameters
    ----------
    problem : SVMProblem
        Its landmarks are `RowMixes`.
    parameters : SVMParameters
    options : SolverOptions
    state : SVMState or None
        Of these rows.

    Returns
    -------
    problem : SVMProblem
        With all columns.
    found : Candidate
        Its certificate is that of the whole kernel.
    limited : bool
        Whether the limit of sweeps ended the last fit.
    """
    inner = replace(options, tol=OF_COLUMNS * options.tol)
    found = best_fit(problem, parameters, inner, state, highest=0.5)
    warm, n_sweeps = replace(parameters, temperature=0.0), found.n_sweeps
    while True:
        sums = _sums(problem, found.state, options)
        at = found.certificate
        # A pass that is stopped leaves the bound that no objective is below 0.
        gap = at.objective if sums is None else at.gap + sums.missed
        done = gap <= options.tol * at.objective
        n_rounds, size = len(problem.landmarks.rounds), problem.mapped.nbytes
        over = n_rounds == MOST_ROUNDS or 2 * size > MOST_MAP_BYTES
        if done or over or options.stopped:
            break
        problem = _widened(problem, sums)
        start = replace(found.state, n_asked=len(problem.prototype_labels))
        found = best_fit(problem, warm, inner, start)
        n_sweeps += found.n_sweeps
    whole, ended = Certificate(at.objective, at.free, gap), (found.state, found.scores)
    found.monitor.add(whole, n_sweeps, lambda: ended, last=True)
    stay = at.objective - at.free <= SETTLED * options.tol * at.objective
    finished = done and (found.finished or stay) and not options.stopped
    ended = replace(found, certificate=whole, finished=finished, n_sweeps=n_sweeps)
    return problem, ended, not found.finished


def _sums(problem: SVMProblem, state: SVMState, options: SolverOptions) -> _Sums | None:
    """Compare all rows with those of mass; None if the fit is stopped meanwhile."""
    every = np.arange(len(state.prototype_labels))
    heavy, masses = support_rows(problem, state, every)
    X = problem.X
    if problem.similarity.kind == "rbf":
        X = X - X.mean(axis=0)  # squares of large offsets would cancel
    anchors, values = X[heavy], np.empty((len(X), len(every)))
    for first in range(0, len(X), ROWS_AT_ONCE):
        if options.stopped:
            return None
        part = slice(first, first + ROWS_AT_ONCE)
        values[part] = problem.similarity.mixed(X[part], anchors, masses)
    products = masses.T @ values[heavy]
    reached = problem.mapped[heavy].T @ masses
    left = products - reached.T @ reached
    squares, turn = np.linalg.eigh(0.5 * (left + left.T))
    kept = squares > ROUNDING * products.diagonal().max(initial=0.0)
    turn = turn[:, kept] / np.sqrt(squares[kept])
    missed = 0.5 * max(float(left.trace()), 0.0)
    return _Sums(values, Round(heavy, csr_array(masses), reached, turn), missed)


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
