"""Strings as prototypes: the best single edit, again and again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse.problem import (
    Box,
    Objective,
    Solution,
    normal_matrix,
)
from smpcore.methods.supersparse.step_log import StepLog
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, STOPPED
from smpcore.solvers.strings import neighbour_distances

#: Longest prototype.
LONGEST = 20

#: Least fall of the objective for which a prototype is edited.
LEAST = 1e-9

PADDING = -1


def encode_strings(
    texts: Sequence[str], alphabet: str | None = None, width: int | None = None
) -> tuple[np.ndarray, str]:
    """Turn texts into rows of codes, as similarity="strings" wants them.

    Parameters
    ----------
    texts : sequence of str
        Texts to encode, one for each row.
    alphabet : str, optional
        Letters in the order of their codes; those of the texts, sorted, otherwise.
    width : int, optional
        Codes in a row; the longest text's length otherwise.

    Returns
    -------
    codes : ndarray of shape (n_texts, width)
        -1 behind the end of a text.
    alphabet : str

    Raises
    ------
    SmpcoreError
        If a letter is not in `alphabet`, or a text is longer than `width`.

    Examples
    --------
    >>> encode_strings(["ab", "b"])[0].tolist()
    [[0.0, 1.0], [1.0, -1.0]]
    """
    alphabet = "".join(sorted(set("".join(texts)))) if alphabet is None else alphabet
    longest = max(map(len, texts), default=0)
    width = max(longest, 1) if width is None else width
    if longest > width:
        raise SmpcoreError(
            f"width={width} should be at least {longest}, the longest text; raise it."
        )
    codes = np.full((len(texts), width), float(PADDING))
    place = {letter: code for code, letter in enumerate(alphabet)}
    for row, text in enumerate(texts):
        for k, letter in enumerate(text):
            if letter not in place:
                raise SmpcoreError(
                    f"alphabet should hold every letter of the texts; {letter!r} is "
                    "missing, add it."
                )
            codes[row, k] = place[letter]
    return codes, alphabet


def decode_strings(codes: np.ndarray, alphabet: str) -> list[str]:
    """Turn rows of codes back into texts.

    Parameters
    ----------
    codes : ndarray of shape (n_texts, width)
        Place of each letter in the alphabet; -1 behind the end of a text.
    alphabet : str
        Letters in the order of their codes, from `encode_strings`.

    Returns
    -------
    list of str
    """
    return ["".join(alphabet[int(code)] for code in row if code >= 0) for row in codes]


def refuse_non_strings(X: np.ndarray) -> None:
    """Refuse rows that are no padded codes."""
    ended = X < 0
    good = (X == np.round(X)).all() and (X >= PADDING).all() and X.max() < 2**16
    if not good or (ended[:, :-1] & ~ended[:, 1:]).any():
        raise SmpcoreError(
            "X should hold codes 0, 1, 2, ... and -1 behind the end of a string for "
            "similarity='strings'; encode_strings makes such rows of texts."
        )


def edited(z: np.ndarray, edit: int, letters: int) -> np.ndarray:
    """Apply an edit by its number, see `smpcore.solvers.strings`."""
    codes = z[z >= 0].tolist()
    n = len(codes)
    if edit < n * letters:
        codes[edit // letters] = edit % letters
    elif edit < (2 * n + 1) * letters:
        place, letter = divmod(edit - n * letters, letters)
        codes.insert(place, letter)
    else:
        del codes[edit - (2 * n + 1) * letters]
    return np.array(codes + [PADDING] * (len(z) - len(codes)), dtype=np.int64)


def neighbour_values(
    X: np.ndarray, z: np.ndarray, letters: int, gamma: float
) -> np.ndarray:
    """Similarity of each row to every string one edit from z."""
    n = int((z >= 0).sum())
    out = np.empty((len(X), (2 * n + 1) * letters + n), dtype=np.int64)
    neighbour_distances(X, z, letters, out)
    return np.exp(-gamma * out)


def objectives_with(
    objective: Objective, S: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Exact objective with each of many columns beside those that stay."""
    u, Y, lam = objective.rows.weights, objective.rows.Y.T, objective.lam
    centred = columns - u @ columns
    lengths = u @ centred**2 + lam
    correlation = centred.T @ (u[:, None] * Y)
    if S.shape[1] == 0:
        return u @ (Y**2).sum(axis=1) - (correlation**2).sum(axis=1) / lengths
    A, _, S_centred = normal_matrix(S, u, lam)
    H = S_centred.T @ (u[:, None] * centred)
    C = S_centred.T @ (u[:, None] * Y)
    through = np.linalg.solve(A, H)
    lengths = lengths - (H * through).sum(axis=0)
    correlation = correlation - through.T @ C
    alone = objective.refit(S)[0]
    return alone - (correlation**2).sum(axis=1) / np.maximum(lengths, 1e-12)


def _best_edit(
    objective: Objective, X: np.ndarray, Z: np.ndarray, j: int, S: np.ndarray, box: Box
) -> tuple[np.ndarray, np.ndarray, float]:
    """Best string one edit from prototype j, its similarities, the objective."""
    letters = int(box.high[0]) + 1
    values = neighbour_values(X, Z[j], letters, objective.similarity.gamma)
    others = np.delete(Z, j, axis=0)
    without = np.delete(S, j, axis=1)
    F = objectives_with(objective, without, values)
    n, longest = int((Z[j] >= 0).sum()), min(LONGEST, Z.shape[1])
    if n >= longest:
        F[n * letters : (2 * n + 1) * letters] = np.inf
    if n <= 1:
        F[(2 * n + 1) * letters :] = np.inf
    while True:
        best = int(F.argmin())
        z = edited(Z[j], best, letters) if np.isfinite(F[best]) else Z[j]
        if not (others == z).all(axis=1).any() or not np.isfinite(F[best]):
            return z, values[:, best], float(F[best])
        F[best] = np.inf


def solve_strings(
    objective: Objective, Z: np.ndarray, box: Box, options: SolverOptions
) -> Solution:
    """Edit one prototype after the other until no single edit helps any more."""
    X, Z = objective.rows.cases.astype(np.int64), Z.astype(np.int64)
    Z[:, LONGEST:] = PADDING
    S = objective.similarities(Z.astype(np.float64))
    F = objective.refit(S)[0]
    trace, status = StepLog(F, Z, options), ITERATION_LIMIT
    for _ in range(options.max_iter):
        before = F
        for j in range(len(Z)):
            if options.stopped:
                break
            z, column, value = _best_edit(objective, X, Z, j, S, box)
            if value < F - LEAST:
                Z[j], S[:, j], F = z, column, value
        trace.add(F, Z, options.max_iter)
        if options.stopped:
            status = STOPPED
            break
        if before == F:
            status = CONVERGED
            break
    trace.values[-1] = objective.refit(S)[0]
    return trace.solution(objective, Z.astype(np.float64), status)
