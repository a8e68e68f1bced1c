"""A data set as every page works with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from smpcore import Dataset, PrototypeModel, evaluate
from smpcore.datasets import Preparation, Split
from smpcore.evaluation import RegressionScores, Scores, clusters


@dataclass(frozen=True, eq=False)
class Parts:
    """A data set, split and prepared: what every page works with.

    Parameters
    ----------
    dataset : Dataset
    split : Split
    preparation : Preparation
        Learned on the training rows.
    X : ndarray of shape (n_samples, n_features)
        All rows as the models want them.
    y : ndarray of shape (n_samples,)
    row_weights : ndarray of shape (n_samples,), optional
        Of a question of time to event, as learned on the training rows.
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
        if self.row_weights is None:
            return None
        weights = self.row_weights[getattr(self.split, part)]
        return None if np.all(weights == 1.0) else weights

    def evaluate(self, model: PrototypeModel, part: str) -> Scores | RegressionScores:
        """Score a model on a part: rows may depend on each other, and have weights."""
        return evaluate(model, *self.of(part), self.clusters(part), self.weights(part))

    def clusters(self, part: str) -> np.ndarray | None:
        """Which rows of a part depend on each other; None: none do."""
        return self._clusters[part]

    @cached_property
    def _clusters(self) -> dict[str, np.ndarray | None]:
        names = ("train", "validation", "test")
        return {n: clusters(self.dataset, getattr(self.split, n)) for n in names}

    @cached_property
    def cluster_summary(self) -> str:
        """Which rows intervals count together, for a sentence; empty if none."""
        if self.dataset.times is not None:
            return "rows near each other in time count together"
        return "" if self.dataset.groups is None else "rows of one group count together"

    @cached_property
    def weight_summary(self) -> str:
        """What shares of rows are weighted for, for a sentence; empty if nothing."""
        if self.row_weights is None:
            return ""
        return "shares weighted for censoring; censored rows are not counted"

    def named(self, part: str) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs with their names, and labels: what estimators take names from."""
        X, y = self.of(part)
        return pd.DataFrame(X, columns=self.preparation.feature_names), y
