"""An explicit map of many rows for a kernel: similarities to a few landmarks.

Nyström's approximation: with k the similarities to the landmarks and L the Cholesky
factor of those among them, ``phi(x) = inv(L) k(x)``, and ``phi(x) . phi(z)`` is the
kernel itself where x is a landmark. A prototype M of the mapped rows is the mix
``inv(L).T M`` of landmarks, whose norm and scores under the kernel are those of M: its
objective is that of a model of the kernel. Pivots leave out landmarks that others are
as good as: under a smooth kernel most are.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.starts import kmeans_centers
from smpcore.similarity import Similarity

#: Similarities beyond this leave no digits for the margin of 1.
MOST_SIMILAR = 1e12

#: Rows whose similarities are computed at once.
ROWS_AT_ONCE = 2048

#: Landmarks where no number is asked for.
N_LANDMARKS = 500

#: A landmark is left out if others make up all of it but this part.
SAME = 1e-8

#: Rows for each landmark that are clustered, and steps of k-means.
CLUSTERED, MOST_STEPS = 20, 10

#: Memory that mapped rows may take, in bytes.
MOST_MAP_BYTES = 2**31


def refuse_values(kernel: str, top: float) -> None:
    """Refuse similarities that leave no digits for the margin."""
    if not top <= MOST_SIMILAR:
        remedy = "lower degree, gamma or coef0, or use standardize=True."
        if kernel == "precomputed":
            remedy = "divide X, to fit and to predict, by a power of ten."
        raise SmpcoreError(
            f"kernel={kernel!r} gives values as large as {top:.3g} and "
            f"should give at most {MOST_SIMILAR:g}; {remedy}"
        )


def _values(similarity: Similarity, X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        values = similarity.values(X, anchors)
        top = np.abs(values).max()
    refuse_values(similarity.kind, top)
    return values


class Landmarks(NamedTuple):
    """Training rows whose similarities to an input are its features."""

    points: np.ndarray  # (n_landmarks, n_features), scaled units
    #: (n_landmarks, n_landmarks): Turns the similarities into the map: the inverse of
    #: the Cholesky factor
    root: np.ndarray

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        weights: np.ndarray,
        similarity: Similarity,
        count: int | None,
        random: Any,
    ) -> Self:
        """The rows nearest to the centres of k-means, less those that others make
        up.
        """
        from sklearn.metrics import pairwise_distances_argmin

        count, some = min(count or N_LANDMARKS, len(X)), np.arange(len(X))
        if len(X) > CLUSTERED * count:
            some = random.choice(len(X), CLUSTERED * count, replace=False)
        points = np.unique(X[some], axis=0)
        if len(points) > count:
            rows, limits = X[some], {"max_iter": MOST_STEPS, "tol": 1e-12}
            centres = kmeans_centers(
                rows.copy(), weights[some], count, random, **limits
            )
            points = rows[np.unique(pairwise_distances_argmin(centres, rows))]
        gram = _values(similarity, points, points)
        # Of length 1 each: beside a far one others would seem to be made up.
        lengths = np.sqrt(gram.diagonal())
        lengths[lengths == 0] = 1.0
        gram /= lengths * lengths[:, None]
        factor, order, rank, _ = dpstrf(gram, tol=SAME, lower=1)
        if not rank:  # every row is like nothing, not even like itself
            return cls(points[:1], np.zeros((1, 1)))
        kept, factor = order[:rank] - 1, np.tril(factor[:rank, :rank])
        root = solve_triangular(factor, np.diag(1.0 / lengths[kept]), lower=True)
        return cls(points[kept], np.ascontiguousarray(root))

    def mixed(self, prototypes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prototypes of mapped rows as mixes of landmarks."""
        return self.points, self.root.T @ prototypes

    def mapped(self, X: np.ndarray, similarity: Similarity) -> np.ndarray:
        """Map rows."""
        needed = 8 * len(X) * len(self.points)
        if needed > MOST_MAP_BYTES:
            raise SmpcoreError(
                f"landmarks={len(self.points)} with {len(X)} different rows take "
                f"{needed / 2**30:.3g} GiB and should take at most "
                f"{MOST_MAP_BYTES / 2**30:g}; use fewer landmarks or rows."
            )
        rows = np.empty((len(X), len(self.points)))
        for first in range(0, len(X), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            rows[part] = _values(similarity, X[part], self.points) @ self.root.T
        return rows
