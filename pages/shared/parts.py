"""A data set as every page works with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from smpcore import Dataset, Preparation, Split


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

    def named(self, part: str) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs with their names, and labels: what estimators take names from."""
        X, y = self.of(part)
        return pd.DataFrame(X, columns=self.preparation.feature_names), y
