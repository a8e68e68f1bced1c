"""From a fitted model and the preparation of its table to a `CompiledModel`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import identifier, shorten
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel

#: Inputs, weights and scores stay this far inside float32 (largest 3.4e38).
LIMIT = 1e30
_SMALLEST = float(np.finfo(np.float32).tiny)

# An offset costs one subtraction per term. It is taken where it makes the input's
# share of the rounding bound this many times smaller (4 of float32's 24 bits).
_WORTH_AN_OFFSET = 16.0


class _Column(NamedTuple):
    """What is known about one feature column of the user's table."""

    name: str
    low: float
    high: float
    integer: bool = False
    missing: float | None = None
    levels: tuple[str, ...] | None = None


def compile_model(
    model: PrototypeModel,
    preparation: Any = None,
    provenance: Mapping[str, Any] | None = None,
) -> CompiledModel:
    """Fold preparation and scaling into the weights and drop what is unused.

    Scaling is folded in float64 and rounded once: ``w / scale`` per user's unit, the
    centre into the bias. Where a column lies far from zero compared with its spread
    the centre stays as an `offset` that is subtracted first: a folded bias would
    cancel most digits of a float32.

    Parameters
    ----------
    model : PrototypeModel
        A classifier with linear similarity.
    preparation : Preparation, optional
        What turned the user's table into the model's features. Without it the
        features themselves are the inputs, and none may be missing.
    provenance : mapping, optional
        Data digest, split, parameters, accuracy ...: JSON values, kept as they are.

    Returns
    -------
    CompiledModel

    Raises
    ------
    ExportError
        If the model has no such form, or leaves the range of float32.
    """
    _check_supported(model)
    columns = _columns(model, preparation)
    column, level = _places(columns, model.n_features)
    offset = np.where(level < 0, _offsets(columns, column, model.center), 0.0)
    weights, bias, owner = _distinct(*_raw_rows(model, offset))
    row, feature = np.nonzero(weights)
    used = np.unique(column[feature])
    if not len(used):
        label = shorten(str(model.classes[owner[bias.argmax()]]))
        raise ExportError(
            f"The model uses no input, it always answers {label}; models with at least "
            "one input are supported: fit again with a smaller penalty."
        )
    offsets = dict(zip(column.tolist(), offset.tolist(), strict=True))
    inputs = _inputs(columns, {place: offsets[place] for place in used.tolist()})
    _check_range(inputs, weights, bias, column)
    return CompiledModel(
        inputs=inputs,
        bias=bias,
        owner=owner,
        start=np.searchsorted(row, np.arange(len(bias) + 1)),
        term_input=np.searchsorted(used, column[feature]),
        term_level=level[feature],
        weight=weights[row, feature],
        classes=tuple(model.classes.tolist()),
        fallback=int(model.fallback),
        provenance=_json_values(provenance or {}),
    )


def _check_supported(model: PrototypeModel) -> None:
    supported = "classifiers with linear similarity (max or sum pooling)"
    if not model.is_linear:
        raise ExportError(
            f"similarity={model.similarity.kind!r} cannot be exported; "
            f"supported are {supported}."
        )
    if model.classes is None:
        raise ExportError(
            f"classes=None (regression) cannot be exported; supported are {supported}."
        )


def _columns(model: PrototypeModel, preparation: Any) -> list[_Column]:
    if preparation is None:
        ranges = zip(model.feature_names, model.low, model.high, strict=True)
        return [_Column(name, float(low), float(high)) for name, low, high in ranges]
    return [
        _Column(c.name, 0.0, float(len(c.levels) - 1), True, None, tuple(c.levels))
        if c.kind == "category"
        else _Column(
            c.name, float(c.low), float(c.high), bool(c.integer), float(c.median)
        )
        for c in preparation.inputs
    ]


def _places(
    columns: Sequence[_Column], n_features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Column and level (-1: a number) of each model feature."""
    places = [
        (place, level)
        for place, column in enumerate(columns)
        for level in ([-1] if column.levels is None else range(len(column.levels)))
    ]
    if len(places) != n_features:
        raise ExportError(
            f"preparation gives {len(places)} features, but the model was fitted on "
            f"{n_features}; pass the preparation it was fitted with."
        )
    column, level = np.array(places, dtype=np.int64).reshape(-1, 2).T
    return column, level


def _offsets(
    columns: Sequence[_Column], column: np.ndarray, center: np.ndarray
) -> np.ndarray:
    """What to subtract from each feature first: its centre as float32, or 0."""
    low = np.array([c.low for c in columns])[column]
    high = np.array([c.high for c in columns])[column]
    plain = np.maximum(np.abs(low), np.abs(high))
    centred = np.maximum(np.abs(low - center), np.abs(high - center))
    worth = plain > _WORTH_AN_OFFSET * centred
    within = np.clip(center, -LIMIT, LIMIT)
    return np.where(worth, within.astype(np.float32).astype(np.float64), 0.0)


def _raw_rows(
    model: PrototypeModel, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights per user's unit, bias and class of each row; rows by class.

    With sum pooling all prototypes of a linear model add up to one row per class.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weights = model.weights / model.scale
        bias = model.bias - weights @ (model.center - offset)
    if model.pooling == "sum":
        owner = np.arange(model.n_outputs)
        return model.votes.T @ weights, model.votes.T @ bias + model.intercept, owner
    owner, prototype = np.nonzero(model.votes.T)
    return weights[prototype], bias[prototype] + model.intercept[owner], owner


def _distinct(
    weights: np.ndarray, bias: np.ndarray, owner: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows without those that a twin of the same class always equals or beats."""
    best: dict[tuple[int, bytes], int] = {}
    for row, own in enumerate(weights):
        key = (int(owner[row]), own.tobytes())
        if key not in best or bias[row] > bias[best[key]]:
            best[key] = row
    kept = np.sort(list(best.values()))
    return weights[kept], bias[kept], owner[kept]


def _inputs(
    columns: Sequence[_Column], offsets: Mapping[int, float]
) -> tuple[CompiledInput, ...]:
    """The columns that have an offset (0 or not), with identifiers of their own."""
    words: set[str] = set()
    level_words: set[str] = set()
    inputs = []
    for place, offset in offsets.items():
        column = columns[place]
        word = identifier(column.name, words)
        levels = column.levels or ()
        inputs.append(
            CompiledInput(
                index=place,
                name=column.name,
                identifier=word,
                kind="category" if levels else "number",
                low=column.low,
                high=column.high,
                integer=column.integer,
                missing=column.missing,
                offset=offset,
                levels=levels,
                level_identifiers=tuple(
                    identifier(f"{word} {level}", level_words) for level in levels
                ),
            )
        )
    return tuple(inputs)


def _check_range(
    inputs: Sequence[CompiledInput],
    weights: np.ndarray,
    bias: np.ndarray,
    column: np.ndarray,
) -> None:
    """Refuse what float32 cannot hold for inputs inside the training range."""
    remedy = "rescale that column (for instance in other units) and fit again."
    for entry in inputs:
        reach = max(map(abs, (entry.low, entry.high, entry.missing or 0.0)))
        own = np.abs(weights[:, column == entry.index])
        least, most = own[own > 0].min(), own.max()
        if not reach <= LIMIT:
            raise ExportError(
                f"Input {shorten(entry.name)} reaches {reach:.3g}, but a 32-bit float "
                f"input should stay below {LIMIT:.0e}; {remedy}"
            )
        if least < _SMALLEST or not most * max(reach, 1.0) <= LIMIT:
            raise ExportError(
                f"Input {shorten(entry.name)} has weights from {least:.3g} to "
                f"{most:.3g} per unit, too far from 1 for 32-bit floats; {remedy}"
            )
    if not np.abs(bias).max() <= LIMIT:
        raise ExportError(
            f"The bias reaches {np.abs(bias).max():.3g}, but should stay below "
            f"{LIMIT:.0e} for 32-bit floats; fit again on rescaled columns."
        )


def _json_values(provenance: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(dict(provenance), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"provenance should hold plain JSON values only: {error}."
        ) from None
