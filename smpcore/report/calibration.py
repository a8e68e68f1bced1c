"""The section of a report from which a colleague can check probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smpcore.datasets import plain_number
from smpcore.evaluation import (
    brier_score,
    calibration_error,
    class_numbers,
    event,
    interval_coverage,
    reliability,
)
from smpcore.explain import Section
from smpcore.model import PrototypeModel
from smpcore.readouts import READOUTS

Rows = tuple[np.ndarray | None, ...]


def calibration_section(model: PrototypeModel, parts: Mapping[str, Rows]) -> Section:
    """Tell how scores become probabilities, or intervals, and how good these are.

    A part is inputs, true labels, which rows depend on each other, and maybe weights.
    """
    if model.classes is None:
        return _intervals(model, parts)
    calibration = model.calibration
    slope = plain_number(calibration.slope, 9)
    blocks: list[Any] = [
        f"Learned on out-of-fold scores of {calibration.rows} training rows, for rows "
        "with their class shares. The probabilities are the softmax of slope * score "
        f"+ offset, with the slope {slope} and these offsets."
        + " Then isotonic regression of each class, and rows are normalised."
        * bool(calibration.curves),
        [
            {"class": str(name), "offset": plain_number(offset, 9)}
            for name, offset in zip(model.classes, calibration.offsets, strict=True)
        ],
    ]
    for title, rows in parts.items():
        blocks += _quality(model, title, rows)
    return Section(READOUTS["probabilities"].label, blocks)


def _quality(model: PrototypeModel, title: str, rows: Rows) -> list[Any]:
    """Brier score, calibration error and reliability on the rows of a part."""
    X, y, *of_rows = rows
    truth, shares = class_numbers(y, model.classes), model.probabilities(X)
    score, low, high = brier_score(shares, truth, *of_rows)
    table = reliability(*event(shares, truth), *of_rows)
    subject = f"of {model.classes[1]}"
    if len(model.classes) > 2:
        subject = "that the most probable class is right"
    words = (
        f"{title}: Brier score {score:.4f}, 95 % interval {low:.4f} to {high:.4f}; "
        f"expected calibration error {calibration_error(table):.4f}. Probability "
        f"{subject}, in bins:"
    )
    lines = [
        {
            "predicted probability": f"{line.probability:.3f}",
            "observed share": f"{line.share:.3f}",
            "95 % interval": f"{line.low:.3f} to {line.high:.3f}",
            "rows": str(line.rows),
        }
        for line in table.itertuples()
    ]
    return [words, lines]


def _intervals(model: PrototypeModel, parts: Mapping[str, Rows]) -> Section:
    """Widths of the intervals of a regression, and the rows that they cover."""
    blocks: list[Any] = [
        "A prediction interval is the prediction plus and minus the width: a quantile "
        f"of the out-of-fold residuals of {model.calibration.rows} training rows. Its "
        "coverage is measured, not guaranteed."
    ]
    for title, (X, y, clusters, *_) in parts.items():
        lines = [
            {
                "interval": f"{100 * line.coverage:.0f} %",
                "width": f"± {plain_number(line.half_width, 6)}",
                "rows covered": f"{line.covered} of {line.rows}",
                "95 % interval": f"{100 * line.low:.1f} to {100 * line.high:.1f} %",
            }
            for line in interval_coverage(model, X, y, clusters).itertuples()
        ]
        blocks += [f"{title}:", lines]
    return Section("Prediction intervals", blocks)
