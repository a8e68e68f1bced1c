"""Rows in the chunks of a Dask array: they stay with the workers of a cluster.

Chunks of rows, of classes, of weights and of assignments are columns of the same
length, persisted side by side. All that a fit wants of them is one function on the
chunks, and what it returns, added up here in the order of the chunks: a result does
not depend, not even in its last digit, on how many workers there are. A worker that
dies takes chunks along that Dask computes anew, and so nothing else changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from smpcore.errors import SmpcoreError, checked, cluster_in_words
from smpcore.methods.shared import allowed_values
from smpcore.methods.shared.row_blocks import RowBlocks, ScaledRows, row_blocks
from smpcore.methods.shared.scaling import constant_columns
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
    with cluster_in_words():
        return current_client().gather(_mapped(function, columns, shared))


def _mapped(
    function: Callable[..., Any], columns: Sequence[list[Any]], shared: dict
) -> list[Any]:
    """Futures of a function of every chunk."""
    options = {"function": function, "shared": shared, "pure": False}
    return current_client().map(_on_chunk, *columns, **options)


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
    with cluster_in_words():
        parts = _mapped(function, [*map(futures, columns)], shared)
    blocks = [
        da.from_delayed(dask.delayed(part), (size, *width), dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return current_client().persist(da.concatenate(blocks))


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


#: Number of rows -> places of those that are drawn among them, ascending.
Draw = Callable[[int], np.ndarray]


def dask_entries(
    estimator: Any, X: Any, y: Any, sample_weight: Any, bias: bool
) -> dict[str, Any]:
    """Entries of a problem of these rows, as arrays that stay with the workers."""
    X, names = _table(X)
    named = names is not None
    names = names if named else tuple(f"x{r}" for r in range(X.shape[1]))
    columns = [X, _beside_rows("y", y, X)]
    if sample_weight is not None:
        columns.append(_beside_rows("sample_weight", sample_weight, X))
    columns = current_client().persist(columns)
    parts = [futures(column) for column in columns]
    summaries = map_chunks(_summary, *parts)
    _require_finite(summaries, X.chunks[0])
    classes, totals = _classes(summaries)
    mass = totals.sum()
    center, scale, constant = _scaling(parts, summaries, mass, estimator.standardize)
    balanced = mass / totals
    factors = allowed_values.class_values(
        "class_weight", estimator.class_weight, classes, balanced
    )
    factors = factors / (totals @ factors)
    width = X.shape[1] + bias
    y_encoded = map_to_array(_encoded, columns[1], classes=classes)
    weights = map_to_array(
        _weights, *columns[1:], dtype=np.float64, classes=classes, factors=factors
    )
    scaled = map_to_array(
        _scaled, X := columns[0], n_columns=width, dtype=np.float64,
        center=center, scale=scale, constant=constant, bias=bias,
    )  # fmt: skip
    return {
        "X": scaled,
        "y_encoded": y_encoded,
        "weights": weights,
        "classes": classes,
        "center": center,
        "scale": scale,
        "low": np.min([part["low"] for part in summaries], axis=0),
        "high": np.max([part["high"] for part in summaries], axis=0),
        "feature_names": names,
        "named": named,
    }


def _table(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Rows in chunks of known sizes, each with all columns; and names of columns."""
    names = None
    if hasattr(X, "to_dask_array"):
        names = tuple(map(str, X.columns))
        kinds = {str(kind) for kind in X.dtypes if kind.kind not in "biuf"}
        if kinds:
            raise SmpcoreError(
                f"X holds columns of type {', '.join(sorted(kinds))} and should hold "
                "numbers only; encode or leave out such columns."
            )
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise SmpcoreError(
            f"X has {X.ndim} dimensions and should have 2, rows and features; reshape "
            "it."
        )
    if 0 in X.shape:
        raise SmpcoreError(f"X has shape {X.shape} and should have rows and features.")
    if X.dtype.kind not in "biuf":
        raise SmpcoreError(
            f"X is of type {X.dtype} and should hold numbers only; encode or leave out "
            "columns of other types."
        )
    _require_sizes("X", X)
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X, names


def _require_sizes(name: str, column: Any) -> None:
    if np.isnan(np.concatenate(column.chunks)).any():
        raise SmpcoreError(
            f"{name} has chunks of unknown sizes; call {name}.compute_chunk_sizes() "
            "first."
        )


def _beside_rows(name: str, column: Any, X: Any) -> Any:
    """A column of the length of X, in chunks like those of X."""
    import dask.array as da

    if hasattr(column, "to_dask_array"):
        column = column.to_dask_array(lengths=True)
    if not isinstance(column, da.Array):
        column = np.asarray(column)
        chunks = X.chunks[0] if column.shape == X.shape[:1] else "auto"
        column = da.from_array(column, chunks=chunks)
    _require_sizes(name, column)
    if column.shape != X.shape[:1]:
        raise SmpcoreError(
            f"{name} has shape {column.shape} and should have shape "
            f"({X.shape[0]},); give one for each row."
        )
    return column.rechunk(X.chunks[:1])


def _mass(y: np.ndarray, weights: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.asarray(weights[0], dtype=np.float64) if weights else np.ones(len(y))


def _summary(X: np.ndarray, y: np.ndarray, *weights: np.ndarray) -> dict[str, Any]:
    """What is wanted of a chunk before it is scaled."""
    X, mass = np.asarray(X, dtype=np.float64), _mass(y, weights)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(X.sum()) or np.isfinite(X).all())
    classes, codes = allowed_values.encode_classes(y)
    counted = X if mass.all() else X[mass != 0]
    return {
        "finite": finite,
        "weights": bool(np.isfinite(mass).all() and (mass >= 0).all()),
        "classes": classes,
        "totals": np.bincount(codes, mass, len(classes)),
        "low": counted.min(axis=0, initial=np.inf),
        "high": counted.max(axis=0, initial=-np.inf),
    }


def _require_finite(summaries: list[dict[str, Any]], sizes: tuple[int, ...]) -> None:
    """Refuse values and weights that are no numbers, and say in which rows."""
    chunk_ends = np.cumsum(sizes)
    for part, size, end in zip(summaries, sizes, chunk_ends, strict=True):
        if not part["finite"]:
            raise SmpcoreError(
                f"X holds NaN or an infinite value in one of the rows {end - size} to "
                f"{end - 1}; leave such rows out."
            )
        if not part["weights"]:
            raise SmpcoreError(allowed_values.BAD_WEIGHTS)


def _classes(summaries: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The classes of all chunks, at least two, and the weight of each."""
    of_chunks = np.concatenate([part["classes"] for part in summaries])
    classes, _ = allowed_values.encode_classes(of_chunks)
    checked(check_classification_targets, classes)
    allowed_values.require_two(classes)
    totals = np.zeros(len(classes))
    for part in summaries:
        totals[np.searchsorted(classes, part["classes"])] += part["totals"]
    allowed_values.require_weight(classes, totals)
    return classes, totals


def _scaling(
    parts: list[list[Any]],
    summaries: list[dict[str, Any]],
    mass: float,
    standardize: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre and scale of each column, and which columns are constant."""
    n_features = len(summaries[0]["low"])
    center, scale = np.zeros(n_features), np.ones(n_features)
    constant = np.zeros(n_features, dtype=bool)
    if not standardize:
        return center, scale, constant
    with np.errstate(over="ignore", invalid="ignore"):
        center = sum(map_chunks(_moments, *parts, center=center))[0] / mass
        left, squares = sum(map_chunks(_moments, *parts, center=center)) / mass
        center = center + left
        scale = np.sqrt(np.maximum(squares - left**2, 0.0))
    ranges = [(part["low"], part["high"]) for part in summaries]
    constant = constant_columns(np.concatenate(ranges), center, scale)
    scale[constant] = 1.0
    return center, scale, constant


def _moments(
    X: np.ndarray, y: np.ndarray, *weights: np.ndarray, center: np.ndarray
) -> np.ndarray:
    """Weighted sums of what the centre leaves of a chunk, and of its squares."""
    mass, n_features = _mass(y, weights), X.shape[1]
    none = np.zeros(n_features, dtype=bool)
    sums = np.zeros((2, n_features))
    rows = ScaledRows(X, center, np.ones(n_features), none, bias=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for part, block in row_blocks(rows):
            sums += mass[part] @ block, mass[part] @ block**2
    return sums


def _encoded(y: np.ndarray, *, classes: np.ndarray) -> np.ndarray:
    return np.searchsorted(classes, y).astype(np.int64)


def _weights(
    y: np.ndarray, *weights: np.ndarray, classes: np.ndarray, factors: np.ndarray
) -> np.ndarray:
    return _mass(y, weights) * factors[np.searchsorted(classes, y)]


def _scaled(X: np.ndarray, **units: Any) -> np.ndarray:
    return ScaledRows(X, **units)[:]


def dask_sample(
    X: Any, y_encoded: Any, weights: Any, code: int, draw: Draw
) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a class that count, from all chunks."""
    tied = futures(y_encoded), futures(weights)
    sizes = map_chunks(_counted, *tied, code=code)
    places = draw(int(sum(sizes)))
    starts = np.cumsum(sizes) - sizes
    parts = np.split(places, np.searchsorted(places, starts[1:]))
    in_chunks = [part - start for part, start in zip(parts, starts, strict=True)]
    drawn = map_chunks(_rows_of, futures(X), *tied, in_chunks, code=code)
    return tuple(map(np.concatenate, zip(*drawn, strict=True)))


def _counted(y_encoded: np.ndarray, weights: np.ndarray, *, code: int) -> int:
    return int(((y_encoded == code) & (weights > 0)).sum())


def _rows_of(
    X: np.ndarray,
    y_encoded: np.ndarray,
    weights: np.ndarray,
    places: np.ndarray,
    *,
    code: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows = np.flatnonzero((y_encoded == code) & (weights > 0))[places]
    return X[rows], weights[rows]
