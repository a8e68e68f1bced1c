"""Rows in the chunks of a Dask array: they stay with the workers of a cluster.

Chunks of rows, of classes, of weights and of assignments are columns of the same
length, persisted side by side. All that a fit wants of them is one function on the
chunks, and what it returns, added up here in the order of the chunks: a result does
not depend, not even in its last digit, on how many workers there are. A worker that
dies takes chunks along that Dask computes anew, and so nothing else changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError, cluster_in_words
from smpcore.methods.shared.row_blocks import RowBlocks
from smpcore.solvers.losses import HINGE, SMOOTH, Ties, scaled_entropy
from smpcore.threads import alone


def is_dask(X: Any) -> bool:
    """Whether rows are a Dask array or dataframe; the question imports no Dask."""
    dask = sys.modules.get("dask")
    return dask is not None and dask.is_dask_collection(X)


def current_client() -> Any:
    """The client of the cluster that has the chunks."""
    from distributed import default_client

    try:
        return default_client()
    except ValueError as error:
        raise SmpcoreError(
            "X is a Dask array, and no cluster is connected to fit it; make a "
            "distributed.Client first, or give X.compute()."
        ) from error


def futures(column: Any) -> list[Any]:
    """The chunks of a column, as futures."""
    return current_client().compute(list(column.to_delayed().ravel()))


def _on_chunk(*chunk: Any, function: Callable[..., Any], shared: dict) -> Any:
    """A function of a chunk, on one core: more would add up in another order."""
    return alone(chunk, lambda _, arrays: function(*arrays, **shared), None)


def map_chunks(
    function: Callable[..., Any], *columns: list[Any], **shared: Any
) -> list[Any]:
    """What a function returns for every chunk, in the order of the chunks."""
    client = current_client()
    with cluster_in_words():
        results = client.map(
            _on_chunk, *columns, function=function, shared=shared, pure=False
        )
        return client.gather(results)


def over_rows(function: Callable[..., Any], *columns: Any, **shared: Any) -> Any:
    """A sum over rows: of all at once, or over chunks and then of the chunks."""
    if not is_dask(columns[0]):
        return function(*columns, **shared)
    return sum(map_chunks(function, *map(futures, columns), **shared))


def row_values(function: Callable[..., Any], *columns: Any, **shared: Any) -> Any:
    """A whole number for every row, stored where the rows are."""
    if not is_dask(columns[0]):
        return function(*columns, **shared)
    return map_to_array(function, *columns, **shared)


def map_to_array(
    function: Callable[..., Any],
    *columns: Any,
    n_columns: int = 0,
    dtype: type = np.int64,
    **shared: Any,
) -> Any:
    """Map columns chunk by chunk to an array that stays with the workers."""
    import dask
    import dask.array as da

    sizes, width = columns[0].chunks[0], (n_columns,) if n_columns else ()
    client = current_client()
    with cluster_in_words():
        parts = client.map(
            _on_chunk,
            *map(futures, columns),
            function=function,
            shared=shared,
            pure=False,
        )
    blocks = [
        da.from_delayed(dask.delayed(part), (size, *width), dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return client.persist(da.concatenate(blocks))


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """As `RowBlocks`, of rows that stay with the workers of a cluster."""

    X: Any
    ties: Ties
    #: In the place of all rows, for what `solve_smp` adds up over rows itself, one row:
    #: what it adds to the entropy of a scaled dual point.
    miss: np.ndarray = field(default_factory=lambda: np.ones(1))
    mass: np.ndarray = field(default_factory=lambda: np.zeros(1))

    @property
    def for_kernel(self) -> Ties:
        """As that of `RowBlocks`."""
        none = np.zeros(0, dtype=np.int64)
        return Ties(none, none, self.mass, *self.ties[3:])

    @cached_property
    def _columns(self) -> list[list[Any]]:
        return [futures(column) for column in (self.X, *self.ties[:3])]

    def loss_and_gradient(
        self, W: np.ndarray, T: float, G: np.ndarray
    ) -> tuple[float, ...]:
        """Loss and entropy at W; the gradient in G; as that of `RowBlocks`."""
        total = np.zeros(4)
        G[:] = 0.0
        at = {"T": T, "W": W, "model": self.ties[3:]}
        for losses, gradient in map_chunks(_losses, *self._columns, **at):
            total += losses
            G += gradient
        return tuple(total.tolist())

    def certify(
        self,
        losses: tuple[float, ...],
        W: np.ndarray,
        at: tuple[Any, ...],
        dual: tuple[float, float],
    ) -> None:
        """Prepare the one row for the bound of `solve_smp` at a scaled dual point.

        Without it the bound holds, but may be lower than that of a fit in memory.
        """
        (loss, entropy, _, true_entropy), (net, s), kind = losses, dual, self.ties.kind
        smooth, bound = kind == SMOOTH, max(at[-1], -true_entropy - net)
        self.mass[0] = 0.0
        hopeless = smooth and (1.0 - s) * loss - s * entropy <= bound
        if kind == HINGE or hopeless or not 0.0 < s < 1.0:
            return
        now = {"T": at[1], "W": W, "model": self.ties[3:], "s": s}
        wanted = sum(map_chunks(_scaled_entropy, *self._columns, **now))
        of_one = (1.0 - s) * np.log1p(-s)
        if smooth:
            wanted -= s * true_entropy
        else:
            of_one += s * np.log(s)
        self.mass[0] = wanted / of_one


def blocks_of_rows(X: Any, ties: Ties) -> RowBlocks | DaskBlocks:
    """Rows, each tied to a prototype, whose losses are added up block by block."""
    return (DaskBlocks if is_dask(X) else RowBlocks)(X, ties)


def _tied(chunk: tuple[np.ndarray, ...], model: tuple[Any, ...]) -> RowBlocks:
    """A chunk as `RowBlocks`; what came from another worker may be read-only."""
    X, *columns = chunk
    columns = (np.require(column, requirements=["C", "W"]) for column in columns)
    return RowBlocks(X, Ties(*columns, *model))


def _losses(
    *chunk: np.ndarray, T: float, W: np.ndarray, model: tuple[Any, ...]
) -> tuple[tuple[float, ...], np.ndarray]:
    """Losses of a chunk, and its part of the gradient."""
    G = np.empty_like(W)
    return _tied(chunk, model).loss_and_gradient(W, T, G), G


def _scaled_entropy(
    *chunk: np.ndarray, T: float, W: np.ndarray, model: tuple[Any, ...], s: float
) -> float:
    """A chunk's part of the entropy of the dual point scaled by s."""
    rows = _tied(chunk, model)
    losses = rows.loss_and_gradient(W, T, np.empty_like(W))
    return scaled_entropy(s, losses[3], rows.ties.kind, rows.miss, rows.ties.weights)
