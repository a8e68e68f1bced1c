"""Which models are worth a look: none smaller is better, as far as folds can tell.

Scores on folds of the same rows are not independent: their training rows overlap. The
variance of a mean is therefore ``(1 / n + n_held_out / n_train) s^2`` instead of
``s^2 / n``, as Nadeau and Bengio propose (Inference for the generalization error,
Machine Learning 52, 2003, section 3), here for error bars and for paired differences.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from smpcore.evaluation.sizes import CHIP_SIZES, SIZES

#: A difference whose p-value is not below this is none that can be told.
LEVEL = 0.05
#: What names a point: one model family at one value.
POINT = ["method", "parameter", "value"]


def corrected_error(scores: np.ndarray, n_train: float, n_held_out: float) -> float:
    """Standard error of a mean over folds that share training rows.

    Parameters
    ----------
    scores : ndarray of shape (n_folds,)
    n_train, n_held_out : float
        Rows of a fold.

    Returns
    -------
    float
        NaN of fewer than two scores.
    """
    if len(scores) < 2:
        return float("nan")
    inflated = 1 / len(scores) + n_held_out / n_train
    return float(np.sqrt(inflated * np.var(scores, ddof=1)))


def corrected_t_test(
    differences: np.ndarray, n_train: float, n_held_out: float
) -> float:
    """Two-sided p-value of a mean difference over folds (Nadeau and Bengio).

    Parameters
    ----------
    differences : ndarray of shape (n_folds,)
        Of two models' scores on the same folds.
    n_train, n_held_out : float
        Rows of a fold.

    Returns
    -------
    float
        1.0 where nothing can be told: equal scores, or fewer than two of them.
    """
    error = corrected_error(differences, n_train, n_held_out)
    mean = float(np.mean(differences)) if len(differences) else 0.0
    if not np.isfinite(error) or mean == 0:
        return 1.0
    if error == 0:
        return 0.0
    return float(2 * stats.t.sf(abs(mean) / error, len(differences) - 1))


def summary(table: pd.DataFrame, score: str, n_folds: int = 0) -> pd.DataFrame:
    """Mean and standard error of each point.

    Parameters
    ----------
    table : DataFrame
        From `sweep_table`: one row per fit.
    score : str
        One of the task's `SCORES`.
    n_folds : int
        Points known on fewer folds than this are left out: a mean over the easy folds
        is no mean. What failed counts as known.

    Returns
    -------
    DataFrame
        `POINT`; ``mean``, ``error``, ``n`` (folds with a score); mean `SIZES` (NaN
        where one fold has none; of `CHIP_SIZES` those of one fold) and ``seconds``.
    """
    lines = []
    for point, own in table.groupby(POINT, dropna=False, sort=True):
        scores = own[score].to_numpy(np.float64)
        good = np.isfinite(scores)
        if len(own) < n_folds or not good.any():
            continue
        rows = own["n_train"].mean(), own["n_held_out"].mean()
        line = dict(zip(POINT, point, strict=True)) | {
            "mean": float(scores[good].mean()),
            "error": corrected_error(scores[good], *rows),
            "n": int(good.sum()),
        }
        for size in SIZES:
            # A chip's are known of one fold only.
            line[size] = own.loc[good, size].mean(skipna=size in CHIP_SIZES)
        lines.append(line | {"seconds": own["seconds"].mean()})
    columns = [*POINT, "mean", "error", "n", *SIZES, "seconds"]
    return pd.DataFrame(lines, columns=columns)


def pareto_front(
    points: pd.DataFrame,
    table: pd.DataFrame,
    size: str,
    score: str,
    larger_is_better: bool = True,
) -> pd.DataFrame:
    """Mark the points of which no other is both smaller and better.

    Parameters
    ----------
    points : DataFrame
        From `summary`.
    table : DataFrame
        Its fits: they are compared on the folds that two points share.
    size : str
        One of `SIZES`.
    score : str
    larger_is_better : bool

    Returns
    -------
    DataFrame
        `points` with three more bool columns. ``front``: no point is at most as large
        and at least as good, and better in one of both. ``undecided``: not on the
        front, but no point of the front that is at most as large is better by more
        than chance (p >= `LEVEL`, not corrected for the number of comparisons).
        ``best``: the best mean. ``sparsest``: the smallest whose mean is within one
        standard error (the best one's) of the best.
    """
    points = points.reset_index(drop=True)
    sign = 1.0 if larger_is_better else -1.0
    x, y = points[size].to_numpy(np.float64), sign * points["mean"].to_numpy()
    known = np.isfinite(x)
    front = np.zeros(len(points), dtype=bool)
    for i in np.flatnonzero(known):
        as_good = known & (x <= x[i]) & (y >= y[i])
        front[i] = not (as_good & ((x < x[i]) | (y > y[i]))).any()
    best, sparsest = np.zeros_like(front), np.zeros_like(front)
    if known.any():
        top = np.flatnonzero(front)[y[front].argmax()]
        best[top] = True
        error = points["error"][top]
        near = known & (y >= y[top] - (error if np.isfinite(error) else 0.0))
        smallest = np.flatnonzero(near & (x == x[near].min()))
        sparsest[smallest[y[smallest].argmax()]] = True
    undecided = _undecided(points, table, score, sign, x, front, known)
    return points.assign(front=front, undecided=undecided, best=best, sparsest=sparsest)


def _undecided(
    points: pd.DataFrame,
    table: pd.DataFrame,
    score: str,
    sign: float,
    x: np.ndarray,
    front: np.ndarray,
    known: np.ndarray,
) -> np.ndarray:
    """Points off the front that no smaller point of the front is sure to beat."""
    keys = list(points[POINT].itertuples(index=False, name=None))
    grouped = dict(list(table.groupby(POINT, dropna=False)))
    own = {_key(key): group for key, group in grouped.items()}
    fits = [own[_key(key)].set_index(["repeat", "fold"]) for key in keys]
    rows = table["n_train"].mean(), table["n_held_out"].mean()
    marked = np.zeros(len(points), dtype=bool)
    for i in np.flatnonzero(known & ~front):
        rivals = np.flatnonzero(front & (x <= x[i]))
        marked[i] = True
        for j in rivals:
            ahead = sign * (fits[j][score] - fits[i][score]).dropna().to_numpy()
            if ahead.size and ahead.mean() > 0:
                marked[i] &= corrected_t_test(ahead, *rows) >= LEVEL
    return marked


def _key(point: tuple) -> tuple:
    """A point's name that is equal to itself: NaN is not."""
    return tuple("" if part != part else part for part in point)
