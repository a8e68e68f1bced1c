"""A data set as every page works with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from smpcore import Dataset, PrototypeModel, evaluate
from smpcore.datasets import Preparation, Split, plain_number
from smpcore.evaluation import RegressionScores, Scores, clusters

#: Names of the parts of a split.
PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Parts:
    """A data set, split and prepared: what every page works with.

    `X` has all rows as the models want them, `row_weights` those of a question of time
    to event, as learned on the training rows.
    """

    dataset: Dataset
    split: Split
    preparation: Preparation
    X: np.ndarray
    y: np.ndarray
    row_weights: np.ndarray | None = None

    def of(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of "train", "validation" or "test"."""
        rows = getattr(self.split, part)
        return self.X[rows], self.y[rows]

    def weights(self, part: str) -> np.ndarray | None:
        """Weights of the rows of a part; None: all weigh the same."""
        return self._weights[part]

    def evaluate(self, model: PrototypeModel, part: str) -> Scores | RegressionScores:
        """Score a model on a part: rows may depend on each other, and have weights."""
        beside = self._clusters[part], self._weights[part]
        return evaluate(model, *self.of(part), *beside)

    def clusters(self, part: str) -> np.ndarray | None:
        """Which rows of a part depend on each other; None: none do."""
        return self._clusters[part]

    @cached_property
    def _clusters(self) -> dict[str, np.ndarray | None]:
        return {n: clusters(self.dataset, getattr(self.split, n)) for n in PARTS}

    @cached_property
    def _weights(self) -> dict[str, np.ndarray | None]:
        if self.row_weights is None:
            return dict.fromkeys(PARTS)
        weights = {n: self.row_weights[getattr(self.split, n)] for n in PARTS}
        return {n: None if np.all(w == 1.0) else w for n, w in weights.items()}

    @cached_property
    def median_baselines(self) -> dict[str, str]:
        """Error of the training median as the answer to each part, in words."""
        usual, words = float(np.median(self.of("train")[1])), {}
        for part in PARTS:
            errors = np.abs(self.of(part)[1] - usual)
            error = plain_number(errors.mean(), 3) if errors.size else ""
            always = f"always {plain_number(usual, 3)}"
            words[part] = f"training-median baseline ({always}): {error}"
        return words

    @cached_property
    def cluster_summary(self) -> str:
        """Which rows intervals count together, for a sentence; empty if none."""
        if self.dataset.times is not None:
            return "rows near each other in time count together"
        return "" if self.dataset.groups is None else "rows of one group count together"

    @cached_property
    def cluster_note(self) -> str:
        """The same in brackets, to follow an interval."""
        return f" ({self.cluster_summary})" if self.cluster_summary else ""

    @cached_property
    def weight_summary(self) -> str:
        """What shares of rows are weighted for, for a sentence; empty if nothing."""
        if self.row_weights is None:
            return ""
        return "shares weighted for censoring; censored rows are not counted"

    @cached_property
    def weight_note(self) -> str:
        """The same in brackets, to follow a share."""
        return f" ({self.weight_summary})" if self.weight_summary else ""

    def named(self, part: str) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs with their names, and labels: what estimators take names from."""
        X, y = self.of(part)
        return pd.DataFrame(X, columns=self.preparation.feature_names), y
