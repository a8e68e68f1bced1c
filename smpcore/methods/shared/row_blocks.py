"""Rows that are read a block at a time, and the loss of linear prototypes on them.

A row table is an array, a sparse matrix, or `ScaledRows` around anything else that
gives rows by slice: a memory-mapped array, or a file that is read piece by piece. Only
`RowBlocks` touches the rows while a problem is solved, by two products with each block;
`dask_rows.DaskBlocks` does the same on the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from smpcore.solvers.losses import Ties, softmax_block
from smpcore.solvers.rows import scale_rows
from smpcore.threads import one_core

#: Rows whose scores are held in memory at once.
ROWS_AT_ONCE = 8192

#: Rows that one core reads before it tells what it made of them.
MOST_STRETCH = 2**22

#: What a solver gets in place of losses where it has the rows itself.
NO_LOSSES = (0.0, 0.0, 0.0, 0.0)

#: Numbers of a block that is scaled as it is read: they fit into a processor's cache.
BLOCK_SIZE = 2**18


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Rows that are scaled as they are read: there is never a scaled copy of all."""

    #: Rows in user's units; gives arrays by slice and by an array of row numbers.
    source: Any
    #: ``(x - center) / scale`` are the scaled units.
    center: np.ndarray
    scale: np.ndarray
    #: Whether each column is set to 0.
    constant: np.ndarray
    #: Whether a last column of ones is added.
    bias: bool
    #: Columns of the source that are read, whose center, scale and constant are the
    #: ones above; None: all.
    columns: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, with that of the bias."""
        return self.source.shape[0], len(self.center) + self.bias

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        """Scaled rows, a new array."""
        at = rows if self.columns is None else (rows, self.columns)
        values = np.asarray(self.source[at])
        scaled = np.empty((len(values), self.shape[1]))
        scaled[:, : values.shape[1]] = values
        scale_rows(scaled, self.center, self.scale, self.constant)
        return scaled

    def narrowed(self, columns: np.ndarray) -> ScaledRows:
        """The same rows with some columns only, of which slices can be read."""
        n = len(self.center)
        features = columns[columns < n]
        read = features if self.columns is None else self.columns[features]
        parts = self.center[features], self.scale[features], self.constant[features]
        return ScaledRows(self.source, *parts, len(features) < len(columns), read)


def row_blocks(
    X: Any, stretch: int = 0, n_stretches: int = 1
) -> Iterator[tuple[slice, Any]]:
    """Read rows a block at a time."""
    n_samples, n_columns = X.shape
    at_once = ROWS_AT_ONCE
    if isinstance(X, ScaledRows):
        at_once = min(at_once, max(1, BLOCK_SIZE // n_columns))
    firsts = range(0, n_samples, at_once)
    begin = len(firsts) * stretch // n_stretches
    end = len(firsts) * (stretch + 1) // n_stretches
    for first in firsts[begin:end]:
        part = slice(first, min(first + at_once, n_samples))
        yield part, _csr_view(X, part) if sparse.issparse(X) else X[part]


def map_blocks(work: Callable[[slice, Any], Any], X: Any) -> Iterator[Any]:
    """Do the same with each block of rows, on as many cores as the caller grants.

    The caller grants them by ``joblib.parallel_config(n_jobs=...)`` around a fit; one
    core without it. Blocks and their order do not depend on it, so sums of what comes
    are the same bit by bit. Each core reads a stretch of its own, so that of a file
    each row group is read by one of them only, but for those at the ends.
    """
    few = X.shape[0] <= ROWS_AT_ONCE
    if few and isinstance(X, np.ndarray):  # as in a drag, where each call counts
        yield work(slice(0, len(X)), X)
        return
    n_threads = 1 if few else effective_n_jobs(None)
    if n_threads == 1:
        with nullcontext() if few else one_core:
            for part, block in row_blocks(X):
                yield work(part, block)
        return
    n_stretches = n_threads * -(-X.shape[0] // (n_threads * MOST_STRETCH))

    def answers(context: Context, stretch: int) -> list[Any]:
        blocks = row_blocks(X, stretch, n_stretches)
        return context.run(lambda: [work(part, block) for part, block in blocks])

    # In the caller's context: NumPy's warnings are switched off there.
    contexts = [copy_context() for _ in range(n_stretches)]
    with one_core, ThreadPoolExecutor(n_threads) as pool:
        for several in pool.map(answers, contexts, range(n_stretches)):
            yield from several


def _csr_view(X: sparse.csr_array, part: slice) -> sparse.csr_array:
    """Some rows of a sparse matrix, without copying what it stores."""
    start, end = X.indptr[part.start], X.indptr[part.stop]
    pointers = X.indptr[part.start : part.stop + 1] - start
    parts = X.data[start:end], X.indices[start:end], pointers
    return sparse.csr_array(parts, (len(pointers) - 1, X.shape[1]), copy=False)


def weighted_product(left: Any, weights: np.ndarray, right: Any) -> np.ndarray:
    """Compute left' diag(weights) right, of columns so few that it is dense."""
    if sparse.issparse(right):
        return (left.T @ right.multiply(weights[:, None])).toarray()
    return (left.T * weights) @ right


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Training rows in blocks, each row tied to a prototype, and the loss on them."""

    #: Scaled rows, a last column of ones for a bias: array, sparse or `ScaledRows`.
    X: Any
    ties: Ties

    @property
    def for_kernel(self) -> Ties:
        """The rows that a solver adds up itself."""
        return self.ties

    @cached_property
    def miss(self) -> np.ndarray:
        """Probability that the rivals of each row got when the loss was last taken."""
        return np.empty(len(self.ties.weights))

    def loss_and_gradient(
        self, W: np.ndarray, T: float, G: np.ndarray
    ) -> tuple[float, ...]:
        """Loss and entropy at W; the gradient in G."""
        N, total = len(W), np.zeros(4)
        *rows, labels, offsets, kind = self.ties

        def sums(part: slice, block: Any) -> tuple[tuple[float, ...], np.ndarray]:
            k = block.shape[0]
            S, E, triple = np.empty((N + 1) * k), np.empty(N * k), np.empty((3, k))
            scores = S[: N * k].reshape(N, k)
            scores[:] = (block @ W.T).T
            ties = Ties(*(column[part] for column in rows), labels, offsets, kind)
            losses = softmax_block(S, E, ties, T, triple, self.miss[part])
            return losses, scores @ block

        G[:] = 0.0
        for losses, gradient in map_blocks(sums, self.X):
            total += losses
            G += gradient
        return tuple(total.tolist())


def solve_by_blocks(
    rows: RowBlocks,
    work: np.ndarray,
    at: tuple[Any, ...],
    solve: Callable[..., tuple[Any, ...]],
) -> tuple[Any, ...]:
    """Call a compiled solver for every step, as rows are read in blocks."""
    results: list[Any] = []
    while at[0]:
        losses = rows.loss_and_gradient(work[0], at[1], work[2])
        *results, at = solve(losses, at)
    return *results, at
