"""Which columns of the user's table can change an answer of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from smpcore.codegen.columns import fixed_features
from smpcore.codegen.lower_similarities import distinct_anchors, seen_by_similarity
from smpcore.codegen.pooling import pooled_rows
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.model import PrototypeModel


def used_features(model: PrototypeModel) -> np.ndarray:
    """Which features an exported model uses."""
    return seen_features(model) & ~fixed_features(model)


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
    known = model.similarity.kind in SIMILARITIES
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
    used = used_features(model)
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
    )
