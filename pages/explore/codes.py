"""Which training rows each drawn row is reconstructed from, of a model with codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.explore.assignments import NONE
from pages.explore.scene import Scene
from pages.work import cache
from smpcore.evaluation import class_numbers
from smpcore.explain import heaviest_cases

#: Prototypes of a row's code, and cases of a prototype, that are sent at most.
MOST_ENTRIES, MOST_CASES = 10, 20


def codes(estimator: Any, scene: Scene, data: cache.Parts) -> dict[str, Any] | None:
    """Codes of the drawn rows, and the training rows that prototypes are mixed from."""
    model = estimator.model_
    if not model.code_size or model.n_prototypes > NONE:
        return None
    weights = model.activations(scene.X)
    entered = np.argsort(-weights, axis=1, kind="stable")[:, :MOST_ENTRIES]
    weight = np.take_along_axis(weights, entered, axis=1)
    case, _ = heaviest_cases(model, MOST_CASES)
    share = model.mixing[case, np.arange(model.n_prototypes)[:, None]]
    rows = data.split.train[estimator.anchor_rows_]
    return {
        "prototype": np.where(weight > 0, entered, NONE).astype(np.uint8),
        "weight": weight.astype(np.float32),
        "case": case.astype(np.int32),
        "share": np.where(case < 0, 0.0, share).astype(np.float32),
        "row": data.dataset.row_numbers(rows).astype(np.int32),
        "label": class_numbers(data.y[rows], model.classes).astype(np.uint8),
    }
