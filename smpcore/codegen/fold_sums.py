"""Fold a model that mixes similarities into the parts of `SimilaritySums`."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.columns import LIMIT, FeatureMap, reach
from smpcore.codegen.feature_sums import OverlapSums
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.kernels import KERNELS
from smpcore.codegen.names import shorten
from smpcore.codegen.pooling import pooled_rows
from smpcore.codegen.unit_sums import UnitSums
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel

_SMALLEST = float(np.finfo(np.float32).tiny)


def similarity_sums(
    model: PrototypeModel, features: FeatureMap
) -> dict[str, Any] | None:
    """Parts of a `SimilaritySums` that decides as the model does.

    Equal anchors become one, and anchors without weight go. A feature goes where it
    cannot change any similarity: for a distance that is never so.

    Parameters
    ----------
    model : PrototypeModel
    features : FeatureMap

    Returns
    -------
    dict or None
        None where no input is used.

    Raises
    ------
    ExportError
        If float32 cannot hold the model inside the training range.
    """
    kind = model.similarity.kind
    kernel = KERNELS[kind]
    moved = kind in (*UnitSums.SIMILARITIES, *OverlapSums.SIMILARITIES)
    seen = kernel.looks_at(model)
    fixed = np.flatnonzero(seen & features.fixed)
    with np.errstate(over="ignore", invalid="ignore"):
        factor, constant, anchors = kernel.fold(model, features.offset)
        alike = kernel.add(0.0, (factor * features.value)[fixed], anchors[:, fixed])
    kept, mixing = distinct_anchors(model.anchors, model.mixing)
    if kind == "features":
        constant = np.exp2(-alike) @ np.array(model.similarity.weights)[fixed]
    elif kernel.is_exponential:
        mixing = mixing * np.exp2(-alike.sum(axis=1))[kept, None]
    elif not moved:
        constant = constant + alike.sum(axis=1)
    weights, bias, owner = pooled_rows(model, mixing.T, model.bias)
    used = (weights != 0).any(axis=0)
    kept, weights = kept[used], weights[:, used]
    feature = np.flatnonzero(seen & ~features.fixed)
    if not len(kept) or not len(feature):
        return None
    inputs, places = features.inputs(feature)
    level = features.level[feature]
    move = (features.offset - model.center) / model.scale
    if moved and len(fixed):
        # Lengths and unions need what never varies: 0 times the first input, moved.
        factor[fixed] = 0.0
        move[fixed] += (features.value / model.scale)[fixed]
        feature = np.r_[feature, fixed]
        places, level = (
            np.r_[of, np.full(len(fixed), of[0])] for of in (places, level)
        )
    anchor, term_row = stored_terms(weights.T)
    parts = {
        "inputs": inputs,
        "bias": bias,
        "owner": owner,
        "similarity": kind,
        "degree": int(model.similarity.degree),
        "feature_input": places,
        "feature_level": level,
        "factor": factor[feature],
        "constant": constant[kept],
        "anchor": anchors[kept][:, feature],
        "start": np.searchsorted(anchor, np.arange(len(kept) + 1)),
        "term_row": term_row,
        "weight": weights.T[anchor, term_row],
        "real_anchors": model.kind_of_prototype != "invented case",
    }
    if moved:
        parts["degree"] = 1
        parts["move"] = move[feature]
    if kind == "features":
        parts["share"] = np.array(model.similarity.weights)[feature]
    _check_range(parts, weights)
    return parts


def distinct_anchors(
    anchors: np.ndarray, mixing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First place of each different anchor, and the mixing of equal ones added up."""
    first: dict[bytes, int] = {}
    # Adding 0 turns -0 into 0: equal numbers have equal bytes.
    places = [first.setdefault(row.tobytes(), i) for i, row in enumerate(anchors + 0.0)]
    kept = np.unique(places)
    added = np.zeros((len(kept), mixing.shape[1]))
    np.add.at(added, np.searchsorted(kept, places), mixing)
    return kept, added


def stored_terms(mixing: np.ndarray, size: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Anchor and row of each stored weight: the nonzeros, or all if that is smaller.

    Weights take `size` bytes each.
    """
    anchor, row = np.nonzero(mixing)
    index = np.min_scalar_type(mixing.shape[1] - 1).itemsize
    chain = np.min_scalar_type(len(anchor)).itemsize * len(mixing)
    if size * mixing.size <= (size + index) * len(anchor) + chain:
        anchor, row = np.indices(mixing.shape).reshape(2, -1)
    return anchor, row


def _check_range(parts: dict[str, Any], weights: np.ndarray) -> None:
    """Refuse what float32 cannot hold for inputs inside the training range."""
    kernel = KERNELS[parts["similarity"]]
    most = np.abs(parts["constant"])
    moves = parts.get("move", np.zeros(len(parts["factor"])))
    columns = zip(
        parts["feature_input"], parts["factor"], moves, parts["anchor"].T, strict=True
    )
    with np.errstate(over="ignore", invalid="ignore"):
        for place, factor, move, anchor in columns:
            entry = parts["inputs"][place]
            value = factor * _farthest(entry) + abs(move)
            share = np.abs(kernel.add(0.0, value, -np.abs(anchor)))
            if (
                parts["similarity"] in UnitSums.SIMILARITIES
            ):  # it is the length that adds up squares
                share = np.maximum(share, value**2)
            if not ((_SMALLEST <= factor or not factor) and share.max() <= LIMIT):
                name = f"Input {shorten(entry.name)}" if factor else "A constant column"
                raise ExportError(
                    f"{name} has a factor of {factor:.3g} per "
                    f"unit and adds up to {share.max():.3g} inside a "
                    f"{parts['similarity']} similarity, too far from 1 for 32-bit "
                    f"floats; {_REMEDY}"
                )
            most = most + share
        largest = kernel.largest(most, parts["degree"])
        largest = largest * parts.get("share", np.ones(1)).sum()
        score = (np.abs(parts["bias"]) + np.abs(weights) @ largest).max()
    for what, size in (("Similarities reach", largest.max()), ("Scores reach", score)):
        if not size <= LIMIT:
            raise ExportError(
                f"{what} {size:.3g}, but 32-bit floats should stay below {LIMIT:.0e}; "
                f"{_REMEDY}"
            )


def _farthest(entry: CompiledInput) -> float:
    """Largest size of an input less its offset; 1 where it has a level."""
    return 1.0 if entry.levels else reach(entry) + abs(entry.offset)


_REMEDY = "fit again with a smaller degree or gamma, or on rescaled columns."
