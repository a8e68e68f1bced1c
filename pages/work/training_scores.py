"""Out-of-fold scores of the training rows, and the calibration learned on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.work import study_pool
from pages.work.memo import memo
from pages.work.parts import Parts
from smpcore import METHODS, SmpcoreError
from smpcore.evaluation import calibrate, class_numbers, out_of_fold
from smpcore.model import Calibration


class TrainingScores:
    """Out-of-fold scores of one method with its values, once `compute` has run."""

    def __init__(self, data: Parts, method: str, values: dict[str, Any]) -> None:
        self._data, self._method, self._values = data, method, dict(values)
        self.scores: np.ndarray | None = None
        self.calibration: Calibration | None = None
        self.problem = ""

    def compute(self, stop: np.ndarray, progress: np.ndarray) -> np.ndarray:
        """Fit on folds of the training rows; the work of a task."""
        if self.scores is None:
            data = self._data
            unfitted = METHODS[self._method].estimator_for(data.dataset, self._values)
            of = unfitted, data.dataset, data.split
            with study_pool.executor_for(data.dataset) as executor:
                options = {"stop": stop, "progress": progress, "executor": executor}
                scores = out_of_fold(*of, **options)
            try:
                self.calibration = self._calibrated(scores)
            except SmpcoreError as error:
                self.problem = str(error)
            self.scores = scores  # last: whoever sees them finds the rest as well
        return self.scores

    def _calibrated(self, scores: np.ndarray) -> Calibration:
        data, y = self._data, self._data.of("train")[1]
        if data.dataset.classes is None:
            return calibrate(scores, y, None, data.clusters("train"))
        # A model has the classes of its training rows only.
        classes = np.unique(y)
        columns = class_numbers(classes, data.dataset.classes)
        of_rows = data.clusters("train"), data.weights("train")
        return calibrate(scores[:, columns], y, classes, *of_rows)


training_scores = memo(64)(TrainingScores)
