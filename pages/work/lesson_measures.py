"""Read-outs that lessons ask about, measured on real fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages.work.parts import Parts
from smpcore.datasets import plain_number


@dataclass(frozen=True)
class Measure:
    """A read-out of a fitted model.

    Parameters
    ----------
    label : str
    of : callable
        ``of(estimator, data)``, a number; NaN where there is none.
    unit : str
        ``"%"``, ``"count"`` or ``""``.
    """

    label: str
    of: Callable[[Any, Parts], float]
    unit: str = "count"

    def text(self, value: float) -> str:
        """The value for people."""
        if not np.isfinite(value):
            return "none"
        if self.unit == "%":
            return (
                f"{plain_number(value, 2)}\u00a0%"
                if 0 < value < 1
                else f"{value:.1f}\u00a0%"
            )
        return f"{value:.0f}" if self.unit == "count" else plain_number(value, 4)

    def change(self, before: float, after: float) -> str:
        """How far the value has moved, with its sign."""
        if not np.isfinite(after - before):
            return "none"
        size = self.text(abs(after - before)).replace("%", "points")
        return size if after == before else f"{'+' if after > before else '−'}{size}"


def _score(part: str, name: str, factor: float = 1.0) -> Callable[[Any, Parts], float]:
    def measured(estimator: Any, data: Parts) -> float:
        scores = data.evaluate(estimator.model_, part)
        return factor * float(getattr(scores, name, np.nan))

    return measured


def _columns(estimator: Any, data: Parts) -> float:
    return float(data.preparation.used_columns(estimator.model_.support).sum())


def _far_cases(estimator: Any, data: Parts) -> float:
    value, _ = estimator.measures_.get("Far from all data", ("nan", ""))
    return float(value.split()[0])


def _gap(estimator: Any, data: Parts) -> float:
    return 100 * estimator.gap_ / max(abs(estimator.objective_), 1e-300)


MEASURES: Mapping[str, Measure] = {
    "validation_accuracy": Measure(
        "Validation accuracy", _score("validation", "accuracy", 100), "%"
    ),
    "training_accuracy": Measure(
        "Training accuracy", _score("train", "accuracy", 100), "%"
    ),
    "validation_error": Measure("Validation error", _score("validation", "mae"), ""),
    "prototypes": Measure("Prototypes", lambda e, _: float(e.model_.n_prototypes)),
    "weights": Measure("Non-zeros", lambda e, _: float(e.model_.n_nonzeros)),
    "columns": Measure("Columns used", _columns),
    "cases": Measure("Cases", lambda e, _: float(len(e.model_.anchors))),
    "far_cases": Measure("Far from all data", _far_cases),
    "gap": Measure("Optimality gap", _gap, "%"),
    "objective": Measure("Objective", lambda e, _: float(e.objective_), ""),
    "iterations": Measure("Iterations", lambda e, _: float(e.history_.n_iter)),
}


def measured(estimator: Any, data: Parts) -> dict[str, float]:
    """All read-outs of a fitted model.

    Parameters
    ----------
    estimator : fitted estimator
    data : Parts

    Returns
    -------
    dict of str to float
    """
    return {name: row.of(estimator, data) for name, row in MEASURES.items()}
