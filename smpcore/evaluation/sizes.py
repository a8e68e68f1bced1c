"""What a model costs: how much there is of it, and what it takes on a chip."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen import (
    compile_model,
    estimated,
    quantise,
)
from smpcore.datasets import Preparation
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel
from smpcore.readouts import CHIP

#: Bits of integers (None: floats), and the names of the costs on that chip.
_COSTS = (
    (None, "flash_bytes", "cycles_float32"),
    (16, "flash_int16", "cycles_int16"),
    (8, "flash_int8", "cycles_int8"),
)
#: What an answer takes on that chip.
CHIP_SIZES = (
    *("flash_bytes", "flash_int16", "flash_int8"),
    *("cycles_float32", "cycles_int16", "cycles_int8"),
)
#: All that a model costs.
SIZES = ("n_nonzeros", "n_features", "n_prototypes", *CHIP_SIZES)


def measure(
    model: PrototypeModel, preparation: Preparation, on_chip: bool = True
) -> dict[str, float]:
    """What a model costs.

    Parameters
    ----------
    model : PrototypeModel
        Model whose sizes are counted.
    preparation : Preparation
        Preparation that maps its features to table columns.
    on_chip : bool, default True
        Whether to compile it, which takes longer than many a fit: `CHIP_SIZES` are
        NaN otherwise.

    Returns
    -------
    dict
        `SIZES`; NaN for a number format that the model does not have. Features are
        counted by table column: a category is one, whatever its levels.
    """
    sizes = dict.fromkeys(SIZES, np.nan) | {
        "n_nonzeros": model.n_nonzeros,
        "n_features": int(preparation.used_columns(model.support).sum()),
        "n_prototypes": model.n_prototypes,
    }
    if not on_chip:
        return sizes
    try:
        compiled = compile_model(model, preparation)
    except ExportError:
        return sizes
    for width, flash, cycles in _COSTS:
        try:
            made = quantise(compiled, width) if width else compiled
        except ExportError:
            continue
        if cost := estimated(made, CHIP):
            sizes[flash], sizes[cycles] = float(cost.flash), float(cost.count)
    return sizes


def measure_baseline(estimator: Any, preparation: Preparation) -> dict[str, float]:
    """Count the columns that a baseline uses, and its weights if it has weights."""
    last = getattr(estimator, "regressor_", estimator)[-1]
    if hasattr(last, "Z_"):  # few vectors: their places, and coefficients or distance
        n_features = int(preparation.used_columns(last.Z_.any(axis=0)).sum())
        other = last.B_ if hasattr(last, "B_") else last.omega_
        numbers = np.count_nonzero(last.Z_) + np.count_nonzero(other)
        sizes = int(numbers), n_features, len(last.Z_)
        return dict(
            zip(("n_nonzeros", "n_features", "n_prototypes"), sizes, strict=True)
        )
    parts = getattr(last, "estimators_", [last])
    weights = [np.atleast_2d(p.coef_) for p in parts if hasattr(p, "coef_")]
    if len(weights) == len(parts):
        weights = np.vstack(weights)
        used = preparation.used_columns((weights != 0).any(axis=0))
        counts = np.count_nonzero(weights), np.count_nonzero(used)
        return dict(zip(("n_nonzeros", "n_features"), map(int, counts), strict=True))
    importances = getattr(last, "feature_importances_", np.ones(preparation.n_features))
    return {"n_features": int(preparation.used_columns(importances != 0).sum())}
