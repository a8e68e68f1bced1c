"""Which prototype a row is tied to, which prototypes are one, which ones win."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.smp_problem import ROWS_AT_ONCE, SMPProblem


def better_assignment(problem: SMPProblem, W: np.ndarray) -> np.ndarray:
    """Tie every row to the prototype of its class that scores highest.

    Parameters
    ----------
    problem : SMPProblem
    W : ndarray of shape (n_prototypes, n_columns)

    Returns
    -------
    ndarray of int, shape (n_samples,)
        A row stays where it is unless another prototype is better by more than
        rounding.
    """
    assignment = problem.assignment.copy()
    for first in range(0, len(assignment), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        rows = np.arange(len(assignment[part]))
        scores = problem.X[part] @ W.T
        now = scores[rows, assignment[part]]
        scores[problem.owners != problem.codes[part][:, None]] = -np.inf
        best = scores.argmax(axis=1)
        moved = scores[rows, best] > now + 1e-9 * (1.0 + np.abs(now))
        assignment[part] = np.where(moved, best, assignment[part])
    return assignment


def equal_prototypes(W: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Find prototypes of a class that are equal, directly or through others.

    Parameters
    ----------
    W : ndarray of shape (n_prototypes, n_columns)
    owners : ndarray of int, shape (n_prototypes,)

    Returns
    -------
    ndarray of int, shape (n_prototypes,)
        Number of the group of each, in the order of their first members.
    """
    near = 1e-3 * np.abs(W).max()
    group = np.arange(len(W))
    for i in range(len(W)):
        others = np.flatnonzero(owners == owners[i])
        equal = others[np.abs(W[others] - W[i]).max(axis=1) <= near]
        joined = np.unique(group[equal])
        group[np.isin(group, joined)] = joined[0]
    return np.unique(group, return_inverse=True)[1]


def count_wins(problem: SMPProblem, W: np.ndarray) -> np.ndarray:
    """Count the rows that each prototype decides.

    Parameters
    ----------
    problem : SMPProblem
    W : ndarray of shape (n_prototypes, n_columns)

    Returns
    -------
    ndarray of int, shape (n_prototypes,)
    """
    wins = np.zeros(len(W), dtype=np.int64)
    for first in range(0, len(problem.X), ROWS_AT_ONCE):
        best = (problem.X[first : first + ROWS_AT_ONCE] @ W.T).argmax(axis=1)
        wins += np.bincount(best, minlength=len(W))
    return wins
