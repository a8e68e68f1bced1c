"""From a fitted model and the preparation of its table to a program in floats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen import program
from smpcore.codegen.constants import smallest_signed
from smpcore.codegen.inputs import (
    LIMIT,
    RESCALE,
    CompiledInput,
    FeatureMap,
    feature_map,
    fixed_features,
    reach,
)
from smpcore.codegen.model import CompiledModel
from smpcore.codegen.names import shorten
from smpcore.codegen.run import added, finished
from smpcore.errors import ExportError
from smpcore.model import UNREPRESENTED, PrototypeModel
from smpcore.similarity import Export

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def pooled_rows(model: PrototypeModel, weights: np.ndarray, bias: np.ndarray) -> Rows:
    """Rows whose largest score per class is the score of the model."""
    if model.pooling == "sum":
        owner = np.arange(model.n_outputs)
        return model.votes.T @ weights, model.votes.T @ bias + model.intercept, owner
    owner, prototype = np.nonzero(model.votes.T)
    weights, bias = weights[prototype], bias[prototype] + model.intercept[owner]
    # Without those that a twin of the same class always equals or beats.
    best: dict[tuple[int, bytes], int] = {}
    for row, own in enumerate(weights):
        key = (int(owner[row]), own.tobytes())
        if key not in best or bias[row] > bias[best[key]]:
            best[key] = row
    kept = np.sort(list(best.values()))
    return weights[kept], bias[kept], owner[kept]


_SMALLEST = float(np.finfo(np.float32).tiny)

_REMEDY = "fit again with a smaller degree or gamma, or on rescaled columns."


def lower_similarities(
    model: PrototypeModel, features: FeatureMap
) -> dict[str, Any] | None:
    """Parts of a program that decides as the model does."""
    name = model.similarity.kind
    kind = program.SIMILARITIES[name]
    is_moved, seen = _is_moved(kind), seen_by_similarity(model)
    fixed = np.flatnonzero(seen & features.fixed)
    (factor, constant, anchors), kept, rows = _stored(model, features)
    weights, bias, labels = rows
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
    folded = program.Folded(factor[feature], constant[kept], anchors[kept][:, feature])
    share = np.array(model.similarity.weights)[feature] if kind.step == "exp2" else None
    moves = move[feature] if is_moved else None
    sized = {"factor": folded.factor, "move": moves, "normalise": kind.normalise}
    alike = program.Similarities(
        similarity=name,
        constant=folded.constant,
        anchor=folded.anchors,
        share=share,
        degree=1 if kind.finish != "power" else int(model.similarity.degree),
    )
    entries = [inputs[place] for place in places]
    _check_range(entries, folded, moves, alike, weights, bias)
    first = program.Features(input=places, level=level, **sized)
    # Rows of weights of the anchors, stored in the smaller way.
    anchor, row = stored_terms(weights.T)
    start = np.searchsorted(anchor, np.arange(len(kept) + 1))
    weight = weights.T[anchor, row]
    sums = program.WeightedSums(bias=bias, start=start, row=row, weight=weight)
    return {
        "inputs": inputs,
        "operations": (first, alike, sums),
        "prototype_labels": labels,
        "n_training_rows": len(kept) * (model.kind_of_prototype != "invented case"),
    }


def stored_anchors(model: PrototypeModel, preparation: Any = None) -> np.ndarray:
    """Which anchors of a model its program holds."""
    return _stored(model, feature_map(model, preparation)).anchor


class _Stored(NamedTuple):
    """Anchors that have a weight, each once."""

    folded: program.Folded
    anchor: np.ndarray
    rows: Rows


def _is_moved(kind: Export) -> bool:
    """Lengths and unions need what never varies, and the model's centre."""
    return bool(kind.normalise) or kind.step == "overlap"


def _stored(model: PrototypeModel, features: FeatureMap) -> _Stored:
    """Fold a similarity, and what features that never vary do to it."""
    kind = program.SIMILARITIES[model.similarity.kind]
    fixed = np.flatnonzero(seen_by_similarity(model) & features.fixed)
    with np.errstate(over="ignore", invalid="ignore"):
        folded = program.fold(model, features.offset)
        values = (folded.factor * features.value)[fixed]
        alike = _total(kind.step, values, folded.anchors[:, fixed])
    kept, mixing = distinct_anchors(model.anchors, model.mixing)
    constant = folded.constant
    if _is_moved(kind):
        pass  # they are in the total
    elif kind.step == "exp2":
        constant = np.exp2(-alike) @ np.array(model.similarity.weights)[fixed]
    elif kind.finish == "exp2":
        mixing = mixing * np.exp2(-alike.sum(axis=1))[kept, None]
    else:
        constant = constant + alike.sum(axis=1)
    weights, bias, labels = pooled_rows(model, mixing.T, model.bias)
    used = (weights != 0).any(axis=0)
    folded = folded._replace(constant=constant)
    return _Stored(folded, kept[used], (weights[:, used], bias, labels))


def seen_by_similarity(model: PrototypeModel) -> np.ndarray:
    """Features that can change a similarity, bool of shape (n_features,)."""
    kind = program.SIMILARITIES[model.similarity.kind]
    if kind.step == "product" and not kind.normalise:
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
    folded: program.Folded,
    moves: np.ndarray | None,
    alike: program.Similarities,
    weights: np.ndarray,
    bias: np.ndarray,
) -> None:
    """Refuse what float32 cannot hold for inputs inside the training range."""
    kind, most = program.SIMILARITIES[alike.similarity], np.abs(folded.constant)
    moves = np.zeros(len(entries)) if moves is None else moves
    columns = zip(entries, folded.factor, moves, folded.anchors.T, strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        for entry, factor, move, anchor in columns:
            # The largest size of an input less its offset; of a level 1.
            farthest = 1.0 if entry.levels else reach(entry) + abs(entry.offset)
            value = factor * farthest + abs(move)
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


def seen_features(model: PrototypeModel) -> np.ndarray:
    """Features that could change a score, whether or not they vary in training."""
    if model.code_size:
        model = of_prototypes(model)
    if model.is_linear:
        with np.errstate(over="ignore", invalid="ignore"):
            weights = model.weights / model.scale
        weights, _, _ = pooled_rows(model, weights, model.bias)
        return (weights != 0).any(axis=0)
    _, mixing = distinct_anchors(model.anchors, model.mixing)
    weights, _, _ = pooled_rows(model, mixing.T, model.bias)
    if not weights.any():
        return np.zeros(model.n_features, dtype=bool)
    known = model.similarity.kind in program.SIMILARITIES
    return seen_by_similarity(model) if known else model.support


def used_inputs(model: PrototypeModel, preparation: Any) -> tuple[str, ...]:
    """Names of the columns behind the features that an exported model uses.

    Parameters
    ----------
    model : PrototypeModel
        Model whose features are traced back to columns.
    preparation : Preparation
        What turned the user's table into the model's features.

    Returns
    -------
    tuple of str
        The inputs of the compiled model, in the order of the table; none of a model
        that always answers the same.
    """
    used = seen_features(model) & ~fixed_features(model)
    return tuple(
        given.name for given in preparation.inputs if used[given.features].any()
    )


def of_prototypes(model: PrototypeModel) -> PrototypeModel:
    """The same without code and votes: each prototype is a class of its own."""
    m = model.n_prototypes
    return replace(
        model,
        code_size=0,
        gram=None,
        pooling="max",
        votes=np.eye(m),
        intercept=np.zeros(m),
        classes=np.arange(m),
        fallback=0,
        band=0.0,
        calibration=None,
    )


def compile_model(
    model: PrototypeModel,
    preparation: Any = None,
    provenance: Mapping[str, Any] | None = None,
) -> CompiledModel:
    """Fold preparation and scaling into the weights and drop what is unused.

    Scaling is folded in float64 and rounded once: ``w / scale`` per user's unit, the
    centre into the bias. A feature with one value in all training rows is no input:
    that value is folded as well, see ``constant_in_training`` of the provenance.
    Where a column lies far from zero compared with its spread
    the centre stays as an `offset` that is subtracted first: a folded bias would
    cancel most digits of a float32. Of a similarity the parameters are folded as
    well, into one factor per feature and the anchors.

    Parameters
    ----------
    model : PrototypeModel
        Linear, or with one of `SIMILARITIES`; for regression with sum pooling.
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
    check_supported(model)
    features = feature_map(model, preparation)
    told = dict(provenance or {})
    if fixed := features.constants(np.flatnonzero(seen_features(model))):
        told["constant_in_training"] = fixed
    lower = _linear if model.is_linear else lower_similarities
    parts = lower(of_prototypes(model) if model.code_size else model, features)
    if parts is None:
        (answer,) = model.predict(model.center[None])
        label = f"{answer:.6g}" if model.classes is None else shorten(str(answer))
        raise ExportError(
            f"The model uses no input, it always answers {label}; models with at least "
            "one input are supported: fit again with a smaller penalty."
        )
    fallback, tie = int(model.fallback), float(np.float32(model.tie))
    if model.code_size:
        code = program.SparseCode(
            size=int(model.code_size),
            gram=(model.gram + model.gram.T) / 2,
            votes=model.votes,
            fallback=fallback,
            unrepresented=UNREPRESENTED + 2 * tie,
        )
        parts["operations"] += (code,)
        parts["prototype_labels"] = np.arange(model.n_outputs)
    try:
        told = json.loads(json.dumps(told, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"provenance should hold plain JSON values only: {error}."
        ) from None
    return CompiledModel(
        **parts,
        classes=None if model.classes is None else tuple(model.classes.tolist()),
        fallback=fallback,
        band=float(model.band),
        tie=tie,
        provenance=told,
    )


def check_supported(model: PrototypeModel) -> None:
    """Refuse a model that no target can express.

    Parameters
    ----------
    model : PrototypeModel
        Fitted model that is to be compiled.

    Raises
    ------
    ExportError
        What is not supported, and what is.
    """
    if not isinstance(model, PrototypeModel):
        raise ExportError("model should be the model_ of a fitted estimator.")
    kinds = sorted(["linear", *program.SIMILARITIES])
    supported = (
        f"models with {', '.join(kinds[:-1])} or {kinds[-1]} similarity "
        "(max or sum pooling; sum pooling for regression)"
    )
    if model.similarity.kind not in kinds:
        remedy = "Choose another similarity or method."
        if model.similarity.kind == "strings":
            remedy = "Texts have no other: run the model in Python."
        raise ExportError(
            f"similarity={model.similarity.kind!r} cannot be exported; "
            f"supported are {supported}. {remedy}"
        )
    if model.classes is None and model.pooling != "sum":
        raise ExportError(
            f"pooling={model.pooling!r} of a regression cannot be exported; supported "
            f"are {supported}."
        )


def _linear(model: PrototypeModel, features: FeatureMap) -> dict[str, Any] | None:
    """Parts of a program of linear rows; None where no input is used."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights = model.weights / model.scale
        zero = features.offset + np.where(features.fixed, features.value, 0.0)
        bias = model.bias - weights @ (model.center - zero)
        weights[:, features.fixed] = 0.0
    weights, bias, labels = pooled_rows(model, weights, bias)
    row, feature = np.nonzero(weights)
    if not len(feature):
        return None
    inputs, places = features.inputs(feature)
    _check_linear_range(inputs, weights[row, feature], places, bias)
    rows = program.WeightedInputs(
        bias=bias,
        start=np.searchsorted(row, np.arange(len(bias) + 1)),
        input=places,
        level=features.level[feature],
        weight=weights[row, feature],
    )
    return {"inputs": inputs, "operations": (rows,), "prototype_labels": labels}


def _check_linear_range(
    inputs: tuple[CompiledInput, ...],
    weight: np.ndarray,
    places: np.ndarray,
    bias: np.ndarray,
) -> None:
    """Refuse what float32 cannot hold for inputs inside the training range."""
    for place, entry in enumerate(inputs):
        size = reach(entry)
        own = np.abs(weight[places == place])
        least, most = own.min(), own.max()
        if least < _SMALLEST or not most * max(size, 1.0) <= LIMIT:
            raise ExportError(
                f"Input {shorten(entry.name)} has weights from {least:.3g} to "
                f"{most:.3g} per unit, too far from 1 for 32-bit floats; {RESCALE}"
            )
    if not np.abs(bias).max() <= LIMIT:
        raise ExportError(
            f"The bias reaches {np.abs(bias).max():.3g}, but should stay below "
            f"{LIMIT:.0e} for 32-bit floats; fit again on rescaled columns."
        )
