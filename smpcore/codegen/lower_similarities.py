"""From a model that mixes similarities to the operations of a program in floats."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen.columns import LIMIT, FeatureMap, feature_map, reach
from smpcore.codegen.constants import smallest_signed
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import shorten
from smpcore.codegen.pooling import Rows, pooled_rows
from smpcore.codegen.program import (
    Features,
    Similarities,
    WeightedSums,
)
from smpcore.codegen.run import added, finished
from smpcore.codegen.similarities import SIMILARITIES, Folded
from smpcore.codegen.similarities import Similarity as SimilarityKind
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel

_SMALLEST = float(np.finfo(np.float32).tiny)

_REMEDY = "fit again with a smaller degree or gamma, or on rescaled columns."


def lower_similarities(
    model: PrototypeModel, features: FeatureMap
) -> dict[str, Any] | None:
    """Parts of a program that decides as the model does."""
    name = model.similarity.kind
    kind = SIMILARITIES[name]
    is_moved, seen = _is_moved(kind), seen_by_similarity(model)
    fixed = np.flatnonzero(seen & features.fixed)
    stored = _stored(model, features)
    factor, constant, anchors = stored.folded
    kept, weights, bias, labels = stored.anchor, *stored.rows
    feature = np.flatnonzero(seen & ~features.fixed)
    if not len(kept) or not len(feature):
        return None
    inputs, places = features.inputs(feature)
    level = features.level[feature]
    move = (features.offset - model.center) / model.scale
    if is_moved:  # what never varies is 0 times the first input, moved
        factor[fixed] = 0.0
        move[fixed] += (features.value / model.scale)[fixed]
        feature = np.r_[feature, fixed]
        places, level = (np.r_[of, fixed * 0 + of[0]] for of in (places, level))
    folded = Folded(factor[feature], constant[kept], anchors[kept][:, feature])
    share = np.array(model.similarity.weights)[feature] if kind.step == "exp2" else None
    moves = move[feature] if is_moved else None
    degree = 1 if kind.finish != "power" else int(model.similarity.degree)
    first = Features(
        input=places,
        level=level,
        factor=folded.factor,
        move=moves,
        normalise=kind.normalise,
    )
    alike = Similarities(
        similarity=name,
        constant=folded.constant,
        anchor=folded.anchors,
        share=share,
        degree=degree,
    )
    entries = [inputs[place] for place in places]
    _check_range(entries, folded, moves, alike, weights, bias)
    operations = first, alike, _sums(weights, bias)
    return {
        "inputs": inputs,
        "operations": operations,
        "prototype_labels": labels,
        "n_training_rows": len(kept) * (model.kind_of_prototype != "invented case"),
    }


def stored_anchors(model: PrototypeModel, preparation: Any = None) -> np.ndarray:
    """Which anchors of a model its program holds."""
    return _stored(model, feature_map(model, preparation)).anchor


class _Stored(NamedTuple):
    """Anchors that have a weight, each once."""

    folded: Folded
    anchor: np.ndarray
    rows: Rows


def _is_moved(kind: SimilarityKind) -> bool:
    """Lengths and unions need what never varies, and the model's centre."""
    return bool(kind.normalise) or kind.step == "overlap"


def _stored(model: PrototypeModel, features: FeatureMap) -> _Stored:
    """Fold a similarity, and what features that never vary do to it."""
    kind = SIMILARITIES[model.similarity.kind]
    fixed = np.flatnonzero(seen_by_similarity(model) & features.fixed)
    with np.errstate(over="ignore", invalid="ignore"):
        folded = kind.fold(model, features.offset)
        values = (folded.factor * features.value)[fixed]
        alike = _total(kind.step, values, folded.anchors[:, fixed])
    kept, mixing = distinct_anchors(model.anchors, model.mixing)
    constant = folded.constant
    if kind.step == "exp2":
        constant = np.exp2(-alike) @ np.array(model.similarity.weights)[fixed]
    elif kind.finish == "exp2":
        mixing = mixing * np.exp2(-alike.sum(axis=1))[kept, None]
    elif not _is_moved(kind):
        constant = constant + alike.sum(axis=1)
    weights, bias, labels = pooled_rows(model, mixing.T, model.bias)
    used = (weights != 0).any(axis=0)
    folded = folded._replace(constant=constant)
    return _Stored(folded, kept[used], (weights[:, used], bias, labels))


def _sums(weights: np.ndarray, bias: np.ndarray) -> WeightedSums:
    """Rows of weights of the anchors, stored in the smaller way."""
    anchor, row = stored_terms(weights.T)
    start = np.searchsorted(anchor, np.arange(weights.shape[1] + 1))
    return WeightedSums(bias=bias, start=start, row=row, weight=weights.T[anchor, row])


def seen_by_similarity(model: PrototypeModel) -> np.ndarray:
    """Features that can change a similarity, bool of shape (n_features,)."""
    kind = SIMILARITIES[model.similarity.kind]
    if kind.finish == "power":
        return (model.anchors != 0).any(axis=0)
    if kind.step == "exp2":
        return np.array(model.similarity.weights) > 0
    return np.ones(model.n_features, dtype=bool)


def distinct_anchors(
    anchors: np.ndarray, mixing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First place of each different anchor, and the mixing of equal ones added up."""
    first: dict[bytes, int] = {}
    # Adding 0 turns -0 into 0: equal numbers have equal bytes.
    places = [first.setdefault(row.tobytes(), i) for i, row in enumerate(anchors + 0.0)]
    kept = np.unique(places)
    added_up = np.zeros((len(kept), mixing.shape[1]))
    np.add.at(added_up, np.searchsorted(kept, places), mixing)
    return kept, added_up


def stored_terms(mixing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Anchor and row of each stored weight: the nonzeros, or all if that is smaller."""
    anchor, row = np.nonzero(mixing)
    size = 4 if mixing.dtype.kind == "f" else smallest_signed(mixing).itemsize
    index = np.min_scalar_type(mixing.shape[1] - 1).itemsize
    chain = np.min_scalar_type(len(anchor)).itemsize * len(mixing)
    if size * mixing.size <= (size + index) * len(anchor) + chain:
        anchor, row = np.indices(mixing.shape).reshape(2, -1)
    return anchor, row


def _total(step: str, value: np.ndarray, anchor: np.ndarray) -> np.ndarray:
    """What a feature adds to a total; of an overlap the larger of the two."""
    if step == "overlap":
        return np.maximum(np.abs(value), np.abs(anchor))
    return added("square" if step == "exp2" else step, value, anchor, np.float64(1))


def _check_range(
    entries: list[CompiledInput],
    folded: Folded,
    moves: np.ndarray | None,
    alike: Similarities,
    weights: np.ndarray,
    bias: np.ndarray,
) -> None:
    """Refuse what float32 cannot hold for inputs inside the training range."""
    kind, most = SIMILARITIES[alike.similarity], np.abs(folded.constant)
    moves = np.zeros(len(entries)) if moves is None else moves
    columns = zip(entries, folded.factor, moves, folded.anchors.T, strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        for entry, factor, move, anchor in columns:
            value = factor * _farthest(entry) + abs(move)
            size = np.abs(_total(kind.step, value, -np.abs(anchor)))
            if kind.normalise:  # it is the length that adds up squares
                size = np.maximum(size, value**2)
            if not ((_SMALLEST <= factor or not factor) and size.max() <= LIMIT):
                column = (
                    f"Input {shorten(entry.name)}" if factor else "A constant column"
                )
                raise ExportError(
                    f"{column} has a factor of {factor:.3g} per unit and adds up to "
                    f"{size.max():.3g} inside a {alike.similarity} similarity, too far "
                    f"from 1 for 32-bit floats; {_REMEDY}"
                )
            most = most + size
        largest = np.ones_like(most)  # of an exponential and a ratio
        if kind.step == "product":
            largest = finished("power", most, alike.degree)
        largest = largest * (1.0 if alike.share is None else alike.share.sum())
        score = (np.abs(bias) + np.abs(weights) @ largest).max()
    for what, size in (("Similarities reach", largest.max()), ("Scores reach", score)):
        if not size <= LIMIT:
            raise ExportError(
                f"{what} {size:.3g}, but 32-bit floats should stay below {LIMIT:.0e}; "
                f"{_REMEDY}"
            )


def _farthest(entry: CompiledInput) -> float:
    """Largest size of an input less its offset; 1 where it has a level."""
    return 1.0 if entry.levels else reach(entry) + abs(entry.offset)
