"""How far the answers of a regression model are off, and how sure of that one is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smpcore.evaluation.clustered import mean_interval


@dataclass(frozen=True, eq=False)
class RegressionScores:
    """Answers of a regression model on some rows, beside the truth.

    The figures are written out because they are read at every picture of a drag:
    scikit-learn's functions give the same (a test holds it) after checks of their own.

    Parameters
    ----------
    truth, answers : ndarray of shape (n_samples,), user's units
        True and predicted number of each row.
    clusters : ndarray of int, shape (n_samples,), optional
        Which rows depend on each other.
    """

    truth: np.ndarray
    answers: np.ndarray
    clusters: np.ndarray | None = None

    @cached_property
    def rows(self) -> int:
        """How many rows were answered."""
        return len(self.truth)

    @cached_property
    def errors(self) -> np.ndarray:
        """Distance of each answer from the truth, shape (n_samples,)."""
        return np.abs(self.answers - self.truth)

    @cached_property
    def mae(self) -> float:
        """Mean absolute error."""
        return float(self.errors.mean())

    @cached_property
    def rmse(self) -> float:
        """Root of the mean squared error: large errors count for more."""
        return math.sqrt(np.mean(self.errors**2))

    @cached_property
    def r2(self) -> float:
        """Share of the variance that is explained; NaN where the truth has none."""
        variance = np.var(self.truth)
        return float(1 - self.rmse**2 / variance) if variance > 0 else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Student's 95 % interval of the mean absolute error; NaN of a single row.

        Over clusters where rows depend on each other; NaN of a single cluster.
        """
        return mean_interval(self.errors, self.clusters)

    def as_dict(self, median: float) -> dict[str, Any]:
        """The scores by name, for a file, beside always predicting a number."""
        numbers = {
            "mean_absolute_error": self.mae,
            "root_mean_squared_error": self.rmse,
            "r2": self.r2,
            "always_the_training_median": self.always(median),
        }
        known = {n: float(f"{v:.6g}") for n, v in numbers.items() if np.isfinite(v)}
        interval = [float(f"{end:.6g}") for end in self.interval if np.isfinite(end)]
        return {"rows": self.rows, "interval_95": interval} | known

    @property
    def worst(self) -> int:
        """Place of the answer that is farthest off."""
        return int(self.errors.argmax())

    def always(self, answer: float) -> float:
        """Give the mean absolute error of one answer to every row."""
        return float(np.abs(self.truth - answer).mean())
