"""Training rows in a Dask array: checked, described, scaled and sampled by chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from smpcore.errors import SmpcoreError, checked
from smpcore.methods.shared.allowed_values import (
    BAD_WEIGHTS,
    class_values,
    require_two,
    require_weight,
)
from smpcore.methods.shared.dask_rows import (
    current_client,
    futures,
    map_chunks,
    map_to_array,
)
from smpcore.methods.shared.row_blocks import ScaledRows, row_blocks
from smpcore.methods.shared.scaling import constant_columns

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
    factors = class_values("class_weight", estimator.class_weight, classes, balanced)
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
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise SmpcoreError(
            "y holds values of several types that cannot be sorted; make them all "
            "texts or all numbers."
        ) from error
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
    ends = np.cumsum(sizes)
    for part, size, end in zip(summaries, sizes, ends, strict=True):
        if not part["finite"]:
            raise SmpcoreError(
                f"X holds NaN or an infinite value in one of the rows {end - size} to "
                f"{end - 1}; leave such rows out."
            )
        if not part["weights"]:
            raise SmpcoreError(BAD_WEIGHTS)


def _classes(summaries: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The classes of all chunks, at least two, and the weight of each."""
    classes = np.unique(np.concatenate([part["classes"] for part in summaries]))
    checked(check_classification_targets, classes)
    require_two(classes)
    totals = np.zeros(len(classes))
    for part in summaries:
        totals[np.searchsorted(classes, part["classes"])] += part["totals"]
    require_weight(classes, totals)
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
    ends = np.cumsum(sizes)
    own = np.split(places, np.searchsorted(places, ends[:-1]))
    own = [part - end + size for part, end, size in zip(own, ends, sizes, strict=True)]
    drawn = map_chunks(_rows_of, futures(X), *tied, own, code=code)
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
