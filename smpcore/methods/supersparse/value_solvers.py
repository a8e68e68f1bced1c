"""Solvers that need values of a similarity only: edits, columns, and any function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.supersparse import problem as problems
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT
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
    objective: problems.Objective, S: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Exact objective with each of many columns beside those that stay."""
    u, Y, lam = objective.rows.weights, objective.rows.Y.T, objective.lam
    centred = columns - u @ columns
    lengths = u @ centred**2 + lam
    correlation = centred.T @ (u[:, None] * Y)
    if S.shape[1] == 0:
        return u @ (Y**2).sum(axis=1) - (correlation**2).sum(axis=1) / lengths
    A, _, S_centred = problems.normal_matrix(S, u, lam)
    H = S_centred.T @ (u[:, None] * centred)
    C = S_centred.T @ (u[:, None] * Y)
    through = np.linalg.solve(A, H)
    lengths = lengths - (H * through).sum(axis=0)
    correlation = correlation - through.T @ C
    alone = objective.refit(S)[0]
    return alone - (correlation**2).sum(axis=1) / np.maximum(lengths, 1e-12)


def _best_edit(
    objective: problems.Objective,
    X: np.ndarray,
    Z: np.ndarray,
    j: int,
    S: np.ndarray,
    box: problems.Box,
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
    objective: problems.Objective,
    Z: np.ndarray,
    box: problems.Box,
    options: SolverOptions,
) -> problems.Solution:
    """Edit one prototype after the other until no single edit helps any more."""
    X, Z = objective.rows.cases.astype(np.int64), Z.astype(np.int64)
    Z[:, LONGEST:] = PADDING
    S = objective.similarities(Z.astype(np.float64))
    F = objective.refit(S)[0]
    trace, status = problems.StepLog(F, Z, options), ITERATION_LIMIT
    for _ in range(options.max_iter):
        before = F
        for j in range(len(Z)):
            if options.stopped:
                break
            z, column, value = _best_edit(objective, X, Z, j, S, box)
            if value < F - LEAST:
                Z[j], S[:, j], F = z, column, value
        status = trace.add(F, Z, options.max_iter, before == F)
        if status != ITERATION_LIMIT:
            break
    trace.values[-1] = objective.refit(S)[0]
    return trace.solution(objective, Z.astype(np.float64), status)


def chosen_columns(Z: np.ndarray) -> np.ndarray:
    """Column that each prototype stands for."""
    return Z.argmax(axis=1)


def fit_columns(
    objective: problems.Objective,
    n_prototypes: int,
    options: SolverOptions,
    state: problems.SuperSparseState | None,
) -> tuple[problems.Solution, np.ndarray]:
    """Choose columns greedily, then change one for a better one until none is."""
    X = objective.rows.cases
    chosen = np.empty(0, np.int64) if state is None else chosen_columns(state.Z)
    if len(chosen) > n_prototypes:
        chosen = chosen[problems.kept_columns(objective, X[:, chosen], n_prototypes)]
    while len(chosen) < n_prototypes:
        chosen = np.append(chosen, _best_column(objective, chosen)[0])
    start = _selectors(chosen, X.shape[1])
    trace = problems.StepLog(objective.refit(X[:, chosen])[0], start, options)
    status = CONVERGED if objective.rows.constant else ITERATION_LIMIT
    for _ in range(0 if objective.rows.constant else options.max_iter):
        before = trace.values[-1]
        F, chosen = _exchanged(objective, chosen, before, options)
        Z = _selectors(chosen, X.shape[1])
        status = trace.add(F, Z, options.max_iter, before == F)
        if status != ITERATION_LIMIT:
            break
    return trace.solution(objective, _selectors(chosen, X.shape[1]), status), start


def _exchanged(
    objective: problems.Objective, chosen: np.ndarray, F: float, options: SolverOptions
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


def _best_column(
    objective: problems.Objective, chosen: np.ndarray
) -> tuple[int, float]:
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


#: Rounds over all prototypes, at most.
MOST_SWEEPS = 60

#: First and shortest step in spreads of the data; growth and shrinkage of a step.
FIRST, SHORTEST, LONGER, SHORTER = 0.5, 1e-4, 1.3, 0.5

#: Rows on which a function is tried for symmetry.
N_TRIED = 20


@dataclass(frozen=True)
class CheckedFunction:
    """A user's function of rows and prototypes; its mistakes raise SmpcoreError."""

    #: ``(X, Z) -> (n_samples, n_prototypes)``
    function: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __call__(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Call the function and check what it returns."""
        try:
            values = np.asarray(self.function(X, Z), dtype=np.float64)
        except Exception as error:  # whatever a stranger's function raises
            raise SmpcoreError(
                f"similarity should be a function of (X, Z); calling it with {len(X)} "
                f"rows and {len(Z)} prototypes raised "
                f"{type(error).__name__}: {error}; mend the function."
            ) from error
        if values.shape != (len(X), len(Z)):
            raise SmpcoreError(
                f"similarity returned values of shape {values.shape} and should return "
                f"({len(X)}, {len(Z)}), a row for each row of X; mend the function."
            )
        if not np.isfinite(values).all():
            raise SmpcoreError(
                "similarity returned values that are not finite; mend the function."
            )
        return values

    def refuse_asymmetric(self, X: np.ndarray) -> None:
        """Refuse a function for which x is not as like z as z is like x."""
        few = X[:N_TRIED]
        values = self(few, few)
        if not np.allclose(values, values.T, rtol=1e-6, atol=1e-9):
            asymmetry = np.abs(values - values.T).max()
            raise SmpcoreError(
                f"similarity(X, Z) should be symmetric, but s(x, z) and s(z, x) differ "
                f"by up to {asymmetry:.3g}; average the two."
            )


def solve_blackbox(
    objective: problems.Objective,
    Z: np.ndarray,
    box: problems.Box,
    options: SolverOptions,
) -> problems.Solution:
    """Move one prototype at a time towards the rows that want it, if the loss falls.

    The direction weighs each row by its similarity and by what it still lacks: for the
    RBF that is the gradient. A step that does not lower the true objective is undone.
    """
    Z = np.array(Z, dtype=np.float64)
    rows, S = objective.rows, objective.similarities(Z)
    F, B, _, residuals = objective.refit(S)
    trace = problems.StepLog(F, Z, options)
    length = np.full(len(Z), FIRST)
    status, sweeps = ITERATION_LIMIT, min(options.max_iter, MOST_SWEEPS)
    for _ in range(sweeps):
        for j in np.flatnonzero(length >= SHORTEST):
            if options.stopped:
                break
            z = Z[j] - length[j] * rows.spread * _direction(rows, S, B, residuals, Z, j)
            z = np.clip(z, box.low, box.high)
            trial = S.copy()
            trial[:, j] = objective.similarities(z[None])[:, 0]
            tried = objective.refit(trial)
            if tried[0] < F:
                Z[j], S = z, trial
                F, B, _, residuals = tried
                length[j] *= LONGER
            else:
                length[j] *= SHORTER
        values = [*trace.values, F]
        slow = len(values) > 3 and values[-4] - F <= 3 * options.tol * F
        status = trace.add(F, Z, sweeps, slow or (length < SHORTEST).all())
        if status != ITERATION_LIMIT:
            break
    return trace.solution(objective, Z, status)


def _direction(
    rows: problems.Rows,
    S: np.ndarray,
    B: np.ndarray,
    residuals: np.ndarray,
    Z: np.ndarray,
    j: int,
) -> np.ndarray:
    """Unit vector along which the objective should rise (equation 7)."""
    pull = rows.weights * (residuals @ B[j])
    if (S >= 0).all():
        pull = pull * S[:, j]
    ascent = pull @ rows.cases - pull.sum() * Z[j]
    size = np.linalg.norm(ascent)
    return ascent / size if size > 1e-15 else np.zeros_like(ascent)
