"""Read-outs that lessons ask about, measured on real fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pages.work import printed
from pages.work.parts import Parts
from smpcore.baselines import BASELINES, fit_weighted
from smpcore.datasets import plain_number
from smpcore.model import Step


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit whose read-outs are taken, and what it is compared with.

    Parameters
    ----------
    data : Parts
    method : str
    values : dict
    estimator : fitted estimator
    """

    data: Parts
    method: str
    values: Mapping[str, Any]
    estimator: Any

    @cached_property
    def printed(self) -> Step | None:
        """The last state of the paper's own algorithm; None where it has none."""
        request = self.data, self.method, self.values
        if not printed.has_printed(*request):
            return None
        return printed.printed_run(*request, self.estimator).finished()[-1]

    @cached_property
    def svm(self) -> Any:
        """An RBF-SVM of the same training rows; None for a number or a large table."""
        X, y = self.data.of("train")
        task = self.data.dataset.task
        if task != "classification" or X.size > printed.MOST_VALUES:
            return None
        unfitted = BASELINES["rbf_svm"].estimator()
        return fit_weighted(unfitted, X, y, self.data.weights("train"))


@dataclass(frozen=True)
class Measure:
    """A read-out of a fitted model.

    Parameters
    ----------
    label : str
    of : callable
        ``of(fitted)``, a number; NaN where there is none.
    unit : str
        ``"%"``, ``"count"`` or ``""``.
    is_slow : bool
        It is taken only where it is asked for by name.
    """

    label: str
    of: Callable[[Fitted], float]
    unit: str = "count"
    is_slow: bool = False

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


def _score(part: str, name: str, factor: float = 1.0) -> Callable[[Fitted], float]:
    def score(fitted: Fitted) -> float:
        scores = fitted.data.evaluate(fitted.estimator.model_, part)
        return factor * float(getattr(scores, name, np.nan))

    return score


def _columns(fitted: Fitted) -> float:
    used = fitted.data.preparation.used_columns(fitted.estimator.model_.support)
    return float(used.sum())


def _far_cases(fitted: Fitted) -> float:
    value, _ = fitted.estimator.measures_.get("Far from all data", ("nan", ""))
    return float(value.split()[0])


def _gap(fitted: Fitted) -> float:
    estimator = fitted.estimator
    return 100 * estimator.gap_ / max(abs(estimator.objective_), 1e-300)


def _as_printed(
    label: str, of: Callable[[Step], float], unit: str = "count"
) -> Measure:
    """A read-out of the paper's own algorithm."""

    def last(fitted: Fitted) -> float:
        return np.nan if fitted.printed is None else float(of(fitted.printed))

    return Measure(f"{label}, as printed", last, unit, is_slow=True)


def _n_distinct(step: Step) -> int:
    """Prototypes that differ; the printed algorithms do not merge equal ones."""
    model = step.model
    made = model.mixing.T @ model.anchors
    rows = np.c_[made, model.bias, model.prototype_labels]
    return len(np.unique(rows, axis=0))


def _support_vectors(fitted: Fitted) -> float:
    return np.nan if fitted.svm is None else float(len(fitted.svm[-1].support_))


def _svm_accuracy(fitted: Fitted) -> float:
    if fitted.svm is None:
        return np.nan
    return 100 * float(fitted.svm.score(*fitted.data.of("validation")))


MEASURES: Mapping[str, Measure] = {
    "validation_accuracy": Measure(
        "Validation accuracy", _score("validation", "accuracy", 100), "%"
    ),
    "training_accuracy": Measure(
        "Training accuracy", _score("train", "accuracy", 100), "%"
    ),
    "validation_error": Measure("Validation error", _score("validation", "mae"), ""),
    "prototypes": Measure(
        "Prototypes", lambda f: float(f.estimator.model_.n_prototypes)
    ),
    "weights": Measure("Non-zeros", lambda f: float(f.estimator.model_.n_nonzeros)),
    "columns": Measure("Columns used", _columns),
    "cases": Measure("Cases", lambda f: float(len(f.estimator.model_.anchors))),
    "far_cases": Measure("Far from all data", _far_cases),
    "gap": Measure("Optimality gap", _gap, "%"),
    "objective": Measure("Objective", lambda f: float(f.estimator.objective_), ""),
    "iterations": Measure("Iterations", lambda f: float(f.estimator.history_.n_iter)),
    "printed_objective": _as_printed("Objective", lambda step: step.objective, ""),
    "printed_prototypes": _as_printed("Prototypes", _n_distinct),
    "printed_iterations": _as_printed("Iterations", lambda step: step.iteration),
    "support_vectors": Measure("Support vectors", _support_vectors, is_slow=True),
    "svm_accuracy": Measure(
        "Validation accuracy of a support vector machine",
        _svm_accuracy,
        "%",
        is_slow=True,
    ),
}


def measured(fitted: Fitted, text: str = "") -> dict[str, float]:
    """Read-outs of a fitted model."""
    asked = {n: row for n, row in MEASURES.items() if not row.is_slow or n in text}
    return {name: row.of(fitted) for name, row in asked.items()}
