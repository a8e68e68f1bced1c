"""A data set as the figure works with it, and names for what is made of it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from smpcore import datasets
from smpcore.datasets import Dataset
from smpcore.evaluation import RegressionScores, Scores, clusters, evaluate
from smpcore.model import PrototypeModel

#: Names of the parts of a split.
PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Parts:
    """A data set, split and prepared: what every page works with.

    `X` has all rows as the models want them, `row_weights` what each of them weighs: by
    its column, and for censoring as learned on the training rows.
    """

    dataset: Dataset
    split: datasets.Split
    preparation: datasets.Preparation
    X: np.ndarray
    y: np.ndarray
    row_weights: np.ndarray | None = None

    def of(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of "train", "validation" or "test"."""
        rows = getattr(self.split, part)
        return self.X[rows], self.y[rows]

    @property
    def scored_part(self) -> str:
        """Validation rows, training rows where there are none."""
        return "validation" if len(self.split.validation) else "train"

    def weights(self, part: str) -> np.ndarray | None:
        """Weights of the rows of a part; None: all weigh the same."""
        return self._weights[part]

    def metadata(self, part: str) -> dict[str, np.ndarray]:
        """Groups and times of the rows of a part, as `fit` takes them."""
        return self.dataset.metadata(getattr(self.split, part))

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
    def training_median(self) -> float:
        """Median of the numbers to predict in the training rows, by their weights."""
        y, weights = self.of("train")[1], self.weights("train")
        if weights is None:
            return float(np.median(y))
        return float(datasets.weighted_median(y[:, None], weights)[0])

    @cached_property
    def median_baselines(self) -> dict[str, str]:
        """Error of the training median as the answer to each part, in words."""
        usual, words, text = self.training_median, {}, datasets.plain_number
        for part in PARTS:
            off = np.abs(self.of(part)[1] - usual)
            mean = np.average(off, weights=self.weights(part)) if off.size else None
            error = "" if mean is None else text(mean, 3, ",") + self.target_unit
            always = f"always {text(usual, 3, ',')}{self.target_unit}"
            words[part] = f"training-median baseline ({always}): {error}"
        return words

    @cached_property
    def target_unit(self) -> str:
        """Unit of the number to predict, after a space; empty if it is not known."""
        unit = datasets.column_unit(self.dataset, self.dataset.target)
        return f" {unit:.20}" if unit else ""

    def unit_of_score(self, key: str) -> str:
        """The target's unit in brackets, to follow a score that is in it."""
        has_unit = key == "mae" and self.target_unit
        return f" [{self.target_unit[1:]}]" if has_unit else ""

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
        """What rows are weighted for, for a sentence; empty if nothing."""
        if self.row_weights is None:
            return ""
        column, asks = self.dataset.weight, self.dataset.follow_up
        reasons = [f"by {datasets.shorten_name(column, 40)}"] if column else []
        reasons += ["for censoring"] if asks else []
        words = [f"weighted {' and '.join(reasons)}"]
        words += ["censored rows are not counted"] if asks else []
        if self.dataset.groups is None and self.dataset.times is None:
            words.append("intervals by Kish's effective number of rows")
        return "; ".join(words)

    @cached_property
    def weight_note(self) -> str:
        """The same in brackets, to follow a share."""
        return f" ({self.weight_summary})" if self.weight_summary else ""

    def named(self, part: str) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs with their names, and labels: what estimators take names from."""
        X, y = self.of(part)
        return pd.DataFrame(X, columns=self.preparation.feature_names), y


Pairs = tuple[tuple[str, Any], ...]
#: Solver status of a fit that was asked to stop.
STOPPED = 2


def pairs(values: Mapping[str, Any]) -> Pairs:
    """Values as a cache key."""
    return tuple(sorted(values.items()))


def short_digest(*values: Any) -> str:
    """A name that is the same for equal plain values only."""
    return hashlib.blake2b(repr(values).encode(), digest_size=8).hexdigest()


def in_key(value: Any) -> Any:
    """A digest in place of an array, and pairs in place of a mapping."""
    if isinstance(value, Parts):
        return value.dataset.digest, value.split.key
    if isinstance(value, Dataset):
        return value.digest
    if isinstance(value, datasets.Split):
        return value.key
    return pairs(value) if isinstance(value, Mapping) else value


def count_in_key(function: Callable) -> int:
    """How many arguments are a key: what begins with _ follows from the others."""
    names = inspect.signature(function).parameters
    return sum(not name.startswith("_") for name in names)
