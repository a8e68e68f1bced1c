"""Read-outs that lessons ask about, measured on real fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pages.work import printed
from pages.work.parts import Parts
from smpcore.baselines import BASELINES, fit_weighted
from smpcore.model import Step
from smpcore.readouts import READOUTS


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit whose read-outs are taken, and what it is compared with."""

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


def measured(fitted: Fitted, text: str = "") -> dict[str, float]:
    """Read-outs of a fitted model, slow ones where a text names them."""
    return {
        key: float(row.value(fitted))
        for key, row in READOUTS.items()
        if row.value and (not row.is_slow or key in text)
    }
