"""From a fitted model and the preparation of its table to a program in floats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from smpcore.codegen.columns import LIMIT, RESCALE, FeatureMap, feature_map, reach
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.lower_similarities import lower_similarities
from smpcore.codegen.names import shorten
from smpcore.codegen.pooling import pooled_rows
from smpcore.codegen.program import SparseCode, WeightedInputs
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.codegen.used_inputs import of_prototypes, seen_features
from smpcore.errors import ExportError
from smpcore.model import UNREPRESENTED, PrototypeModel

_SMALLEST = float(np.finfo(np.float32).tiny)


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
    provenance = dict(provenance or {})
    if fixed := features.constants(np.flatnonzero(seen_features(model))):
        provenance["constant_in_training"] = fixed
    compiled = _compiled(model, features, provenance)
    if compiled is None:
        (answer,) = model.predict(model.center[None])
        label = f"{answer:.6g}" if model.classes is None else shorten(str(answer))
        raise ExportError(
            f"The model uses no input, it always answers {label}; models with at least "
            "one input are supported: fit again with a smaller penalty."
        )
    return compiled


def _compiled(
    model: PrototypeModel, features: FeatureMap, provenance: Mapping[str, Any]
) -> CompiledModel | None:
    """The program of a model; None where no input is used."""
    alone = of_prototypes(model) if model.code_size else model
    lower = _linear if model.is_linear else lower_similarities
    parts = lower(alone, features)
    if parts is None:
        return None
    fallback, tie = int(model.fallback), float(np.float32(model.tie))
    if model.code_size:
        code = SparseCode(
            size=int(model.code_size),
            gram=(model.gram + model.gram.T) / 2,
            votes=model.votes,
            fallback=fallback,
            unrepresented=UNREPRESENTED + 2 * tie,
        )
        parts["operations"] += (code,)
        parts["prototype_labels"] = np.arange(model.n_outputs)
    return CompiledModel(
        **parts,
        classes=None if model.classes is None else tuple(model.classes.tolist()),
        fallback=fallback,
        band=float(model.band),
        tie=tie,
        provenance=_json_values(provenance),
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
    kinds = sorted(["linear", *SIMILARITIES])
    supported = (
        f"models with {', '.join(kinds[:-1])} or {kinds[-1]} similarity "
        "(max or sum pooling; sum pooling for regression)"
    )
    if model.similarity.kind not in kinds:
        raise ExportError(
            f"similarity={model.similarity.kind!r} cannot be exported; "
            f"supported are {supported}. Choose another similarity or method."
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
    _check_range(inputs, weights[row, feature], places, bias)
    rows = WeightedInputs(
        bias=bias,
        start=np.searchsorted(row, np.arange(len(bias) + 1)),
        input=places,
        level=features.level[feature],
        weight=weights[row, feature],
    )
    return {"inputs": inputs, "operations": (rows,), "prototype_labels": labels}


def _check_range(
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


def _json_values(provenance: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(dict(provenance), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"provenance should hold plain JSON values only: {error}."
        ) from None
