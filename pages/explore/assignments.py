"""Which prototype each row is tied to, and which one decides where in the window."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.explore.scene import Scene
from smpcore import PrototypeModel
from smpcore.explain import deciding_prototypes

#: Number that stands for no prototype; a model with more of them has no such layer.
NONE = 255


def assignments(estimator: Any, scene: Scene, n_nodes: int) -> dict[str, Any] | None:
    """Prototypes of the drawn rows and of the window's nodes."""
    model = estimator.model_
    if model.classes is None or model.n_prototypes > NONE:
        return None
    activations = model.activations(scene.view.nodes(n_nodes))
    winner = deciding_prototypes(model, activations)
    return {
        "rows": _tied(estimator, scene).astype(np.uint8),
        "winner": winner.astype(np.uint8),
        "lead": _lead(model, activations, winner),
    }


def _tied(estimator: Any, scene: Scene) -> np.ndarray:
    """Prototype of each drawn row: training rows as the solver tied them."""
    model = estimator.model_
    tied = deciding_prototypes(model, model.activations(scene.X))
    place = scene.place_in_training
    # A fit on a part of the rows has tied others than those that are drawn.
    if len(estimator.assignment_) == scene.n_training:
        training = place >= 0
        tied[training] = estimator.merged_[estimator.assignment_[place[training]]]
    return np.where(tied < 0, NONE, tied)


def _lead(
    model: PrototypeModel, activations: np.ndarray, winner: np.ndarray
) -> np.ndarray:
    """How far the deciding prototype leads over the next of its class, as a margin."""
    # A prototype with votes for several classes counts as one of each of them.
    output = model.decide(model.pool(activations))
    votes = model.votes[:, output].T
    terms = activations * votes if model.pooling == "sum" else activations
    others = np.where(votes != 0, terms, -np.inf)
    rows = np.arange(len(winner))
    others[rows, winner] = -np.inf
    lead = np.maximum(terms[rows, winner] - others.max(axis=1), 0.0)
    finite = np.isfinite(lead)
    most = lead[finite].max(initial=0.0) or 1.0
    share = np.where(finite, lead, most) / most
    return np.rint(255 * np.sqrt(share)).astype(np.uint8)
