"""Training rows of the multi-prototype SVM: all of them, or some that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from smpcore.errors import caution
from smpcore.methods.mprotsvm.landmarks import Landmarks
from smpcore.methods.mprotsvm.problem import (
    SVMProblem,
    compared_rows,
    distinct_rows,
    fills_memory,
    squared_lengths,
)
from smpcore.methods.mprotsvm.starts import drawn_start
from smpcore.methods.shared.dask_problem import dask_sample
from smpcore.methods.shared.dask_rows import is_dask
from smpcore.methods.shared.linear import class_totals
from smpcore.methods.shared.starts import warn_if_fewer
from smpcore.similarity import Similarity

#: Rows that are drawn, and the fewest of a class that has them.
DRAWN, FEWEST = 100_000, 1000


def in_memory_problem(
    estimator: Any,
    entries: dict[str, Any],
    total: float,
    similarity: Similarity,
    random: np.random.RandomState,
) -> SVMProblem:
    """Tie each distinct row to a prototype, and compare them all with a kernel."""
    chosen, row = distinct_rows(
        entries["X"], entries["y_encoded"], entries["weights"], random
    )
    weights = np.bincount(row[row >= 0], entries["weights"][row >= 0])
    rows, labels = entries["X"][chosen], entries["y_encoded"]
    rows = rows if issparse(rows) else np.ascontiguousarray(rows)
    entries = entries | {"X": rows, "y_encoded": labels[chosen], "weights": weights}
    columns = chosen if estimator.kernel == "precomputed" else None
    landmarks = _landmarks(estimator, rows, weights, similarity)
    seed = int(random.randint(2**31 - 1))
    assignment, prototype_labels = drawn_start(
        rows, labels[chosen], weights, estimator.n_prototypes, estimator.start, seed
    )
    if landmarks is None:
        mapped, (gram, squares) = None, compared_rows(rows, similarity, columns)
    else:
        mapped, gram = landmarks.mapped(rows, similarity), None
        squares = np.maximum(squared_lengths(mapped), 1e-12)
    warn_if_fewer(estimator.n_prototypes, prototype_labels, entries["classes"])
    return SVMProblem(
        **entries,
        shares=total * weights,
        row=row,
        assignment=assignment,
        prototype_labels=prototype_labels,
        similarity=similarity,
        landmarks=landmarks,
        mapped=mapped,
        gram=gram,
        squares=squares,
        chosen=chosen,
        seed=seed,
    )


def _landmarks(
    estimator: Any, rows: np.ndarray, weights: np.ndarray, similarity: Similarity
) -> Landmarks | None:
    """Landmarks, where they are asked for or memory is short, which is said."""
    wanted = estimator.landmarks
    if estimator.kernel not in ("rbf", "poly"):
        return None
    if not wanted and (wanted == 0 or not fills_memory(len(rows))):
        return None
    random = check_random_state(estimator.random_state)
    landmarks = Landmarks.of(rows, weights, similarity, wanted, random)
    if not wanted:
        caution(
            f"kernel={estimator.kernel!r} with {len(rows)} different rows: prototypes "
            f"are mixes of {len(landmarks.points)} landmarks; raise landmarks to come "
            "closer to mixes of all rows."
        )
    return landmarks


def total_weight(sample_weight: Any) -> float:
    """Sum of the weights that a user gave."""
    return float(np.asarray(sample_weight, dtype=np.float64).sum())


def draw_rows(entries: dict[str, Any], random: np.random.RandomState) -> dict[str, Any]:
    """Draw rows of every class, which weigh as much together as all of the class."""
    X, y_encoded, weights = (entries[name] for name in ("X", "y_encoded", "weights"))
    share = DRAWN / X.shape[0]

    def draw(n_rows: int) -> np.ndarray:
        n_drawn = min(n_rows, max(FEWEST, round(share * n_rows)))
        return np.sort(sample_without_replacement(n_rows, n_drawn, random_state=random))

    rows, masses, codes = [], [], []
    for code, total in enumerate(class_totals(entries)):
        if is_dask(X):
            of_class, mass = dask_sample(X, y_encoded, weights, code, draw)
        else:
            counted = np.flatnonzero((y_encoded == code) & (weights > 0))
            of_class = counted[draw(len(counted))]
            mass = weights[of_class]
        rows.append(of_class)
        masses.append(mass * (total / mass.sum()))
        codes.append(np.full(len(mass), code))
    rows, masses, codes = map(np.concatenate, (rows, masses, codes))
    if not is_dask(X):
        order = np.argsort(rows)  # a file is read once, from its start to its end
        rows, masses, codes = X[rows[order]], masses[order], codes[order]
    return entries | {"X": rows, "y_encoded": codes, "weights": masses}
