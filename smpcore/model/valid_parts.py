"""What the parts of a model have to fulfil."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.model.calibration import N_WIDTHS

if TYPE_CHECKING:
    from smpcore.model import PrototypeModel


def check_parts(model: PrototypeModel) -> None:
    """Refuse a model whose parts do not fit together."""
    d, m, k = model.n_features, model.n_prototypes, model.n_outputs
    expected = {
        "center": (d,),
        "scale": (d,),
        "low": (d,),
        "high": (d,),
        "anchors": (len(model.anchors), d),
        "mixing": (len(model.anchors), m),
        "bias": (m,),
        "votes": (m, k),
        "counts": (m,),
        "intercept": (k,),
    }
    for name, shape in expected.items():
        array = getattr(model, name)
        if array.shape != shape:
            raise SmpcoreError(f"{name} should have shape {shape}, not {array.shape}.")
        if not np.isfinite(array).all():
            raise SmpcoreError(f"{name} should be finite everywhere.")
    if len(model.feature_names) != d or int(np.prod(model.sample_shape)) != d:
        raise SmpcoreError(f"feature_names and sample_shape should fit {d} features.")
    if model.classes is not None and model.classes.shape != (k,):
        raise SmpcoreError(f"classes should have {k} entries, one for each output.")
    if model.pooling not in ("max", "sum"):
        raise SmpcoreError(f"pooling={model.pooling!r} should be 'max' or 'sum'.")
    if model.pooling == "max" and not (model.votes != 0).any(axis=0).all():
        raise SmpcoreError("votes should give each output at least one prototype.")
    if (model.scale <= 0).any():
        raise SmpcoreError("scale should be positive everywhere.")
    for name in ("band", "tie"):
        value = getattr(model, name)
        if not (isinstance(value, Real) and 0 <= value < np.inf):
            raise SmpcoreError(f"{name}={value!r} should be a number of at least 0.")
    _check_code(model)
    if model.calibration is not None:
        _check_calibration(model)


def _check_code(model: PrototypeModel) -> None:
    """Refuse a coding stage that is not whole."""
    m, size, gram = model.n_prototypes, model.code_size, model.gram
    if not (isinstance(size, Integral) and size >= 0):
        raise SmpcoreError(f"code_size={size!r} should be a whole number, 0 or more.")
    if (size > 0) != (gram is not None):
        raise SmpcoreError("gram should be given with a code_size above 0 only.")
    if gram is None:
        return
    if gram.shape != (m, m) or not np.isfinite(gram).all():
        raise SmpcoreError(f"gram should be finite, of shape ({m}, {m}).")
    if model.pooling != "sum" or model.bias.any() or model.intercept.any():
        raise SmpcoreError(
            "A code is pooled with pooling='sum', without bias or intercept."
        )


def _check_calibration(model: PrototypeModel) -> None:
    """Refuse a calibration of another model."""
    calibration = model.calibration
    n_classes = 0 if model.classes is None else model.n_outputs
    shapes = calibration.offsets.shape, calibration.half_widths.shape
    if shapes != ((n_classes,), (0 if n_classes else N_WIDTHS,)):
        raise SmpcoreError(
            f"calibration should have an offset for each of {n_classes} classes"
            f"{'' if n_classes else f', and {N_WIDTHS} half_widths'}."
        )
    if len(calibration.curves) not in (0, n_classes):
        raise SmpcoreError("calibration should have a curve for each class, or none.")
    for curve in calibration.curves:
        if curve.ndim != 2 or len(curve) != 2 or (np.diff(curve) < 0).any():
            raise SmpcoreError("curves of a calibration should ascend.")
    numbers = calibration.slope, *calibration.offsets
    if not np.isfinite(numbers).all() or calibration.slope < 0:
        raise SmpcoreError(
            "calibration should have finite offsets and a slope of at least 0."
        )
