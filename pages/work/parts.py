"""A data set as every page works with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from smpcore import Dataset
from smpcore.datasets import Preparation, Split
from smpcore.evaluation import clusters


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
    """

    dataset: Dataset
    split: Split
    preparation: Preparation
    X: np.ndarray
    y: np.ndarray

    def of(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of "train", "validation" or "test"."""
        rows = getattr(self.split, part)
        return self.X[rows], self.y[rows]

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

    def named(self, part: str) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs with their names, and labels: what estimators take names from."""
        X, y = self.of(part)
        return pd.DataFrame(X, columns=self.preparation.feature_names), y
