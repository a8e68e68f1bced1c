"""How good a model is, and how sure of that one can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.evaluation.clustered import effective_rows, normal_quantile
from smpcore.evaluation.regression_scores import RegressionScores
from smpcore.model import PrototypeModel


def wilson(hits: float, n: float, level: float = 0.05) -> tuple[float, float]:
    """Wilson's interval of a share.

    Written out because it is read at every picture of a drag: scipy's binomtest gives
    the same (a test holds it) but solves for a p-value first.

    Parameters
    ----------
    hits, n : float
        `hits` of `n` rows; of dependent rows as many as there are independent ones in
        them (`effective_rows`). No rows tell nothing: from 0 to 1.
    level : float
        The interval covers 1 - level: 95 % by default.

    Returns
    -------
    low, high : float
    """
    quantile = normal_quantile(level)
    z2 = quantile**2
    middle = (hits + z2 / 2) / (n + z2)
    spread = (hits * (n - hits) / n if n else 0.0) + z2 / 4
    half = quantile * math.sqrt(spread) / (n + z2)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True, eq=False)
class Scores:
    """Answers of a classifier on some rows, counted.

    Parameters
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        Rows by true class (first axis) and answer (second axis).
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the axes of `confusion`.
    effective : float, optional
        How many independent rows tell as much of the accuracy, where rows depend on
        each other or have weights (`effective_rows`).
    weighted : ndarray of shape (n_classes, n_classes), optional
        The same sums of the rows' weights, where rows have weights: all shares are
        of these. `hits` and `rows` stay numbers of rows.
    """

    confusion: np.ndarray
    classes: np.ndarray
    effective: float | None = None
    weighted: np.ndarray | None = None

    @cached_property
    def sums(self) -> np.ndarray:
        """What shares are of: numbers of rows, or sums of their weights."""
        return self.confusion if self.weighted is None else self.weighted

    @cached_property
    def rows(self) -> int:
        """How many rows were answered."""
        return int(self.confusion.sum())

    @cached_property
    def hits(self) -> int:
        """How many answers were right."""
        return int(self.confusion.trace())

    @cached_property
    def accuracy(self) -> float:
        """Share of right answers."""
        return float(self.sums.trace() / self.sums.sum())

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy; see `effective`."""
        if self.effective is None:
            return wilson(self.hits, self.rows)
        return wilson(self.accuracy * self.effective, self.effective)

    @cached_property
    def recall(self) -> np.ndarray:
        """Share of each class that is found, NaN for a class without rows."""
        of_class = self.sums.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return self.sums.diagonal() / of_class

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that have rows."""
        return float(self.recall[~np.isnan(self.recall)].mean())

    @property
    def majority(self) -> float:
        """What always answering the most frequent class of these rows would reach."""
        return float(self.sums.sum(axis=1).max() / self.sums.sum())

    @property
    def never_answered(self) -> np.ndarray:
        """Classes with rows here that are never the answer."""
        silent = (self.confusion.sum(axis=0) == 0) & (self.confusion.sum(axis=1) > 0)
        return self.classes[silent]

    def as_dict(self) -> dict[str, Any]:
        """The scores by name, for a file."""
        low, high = self.interval
        scores = {
            "hits": self.hits,
            "rows": self.rows,
            "interval_95": [round(low, 4), round(high, 4)],
            "balanced": round(self.balanced_accuracy, 4),
            "most_frequent_class": round(self.majority, 4),
            "hits_of_most_frequent_class": int(self.confusion.sum(axis=1).max()),
        }
        if self.weighted is not None:
            scores["accuracy_weighted"] = round(self.accuracy, 4)
        if len(self.never_answered):
            scores["never_answered"] = [str(label) for label in self.never_answered]
        return scores


def count_answers(
    truth: np.ndarray,
    answers: np.ndarray,
    classes: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Scores:
    """Count the answers of a classifier."""
    n_classes = len(classes)
    known = truth >= 0
    cells = truth[known] * n_classes + answers[known]
    shape = n_classes, n_classes
    confusion = np.bincount(cells, minlength=n_classes**2).reshape(shape)
    effective = weighted = None
    if weights is not None:
        weighted = np.bincount(cells, weights[known], n_classes**2).reshape(shape)
    if known.any() and (clusters is not None or weights is not None):
        hits = truth[known] == answers[known]
        units, masses = (
            None if of is None else of[known] for of in (clusters, weights)
        )
        effective = effective_rows(hits, units, weights=masses)
    return Scores(confusion, classes, effective, weighted)


def class_numbers(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Position of each label in the sorted classes, -1 where it is none of them.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Labels to look up, of the type of `classes`.
    classes : ndarray of shape (n_classes,), sorted
        The labels that have a number.

    Returns
    -------
    ndarray of int64, shape (n_samples,)
    """
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[place] == labels, place, -1).astype(np.int64)


def score_answers(
    truth: np.ndarray,
    answers: np.ndarray,
    classes: np.ndarray | None,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Scores | RegressionScores:
    """Score predictions on rows.

    Parameters
    ----------
    truth, answers : ndarray of shape (n_samples,)
        True and predicted labels, or numbers.
    classes : ndarray of shape (n_classes,) or None
        Labels of the model, sorted; None for regression.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Scores or RegressionScores
    """
    if classes is None:
        truth = np.asarray(truth, dtype=np.float64)
        return RegressionScores(truth, answers, clusters)
    numbers = [class_numbers(labels, classes) for labels in (truth, answers)]
    return count_answers(*numbers, classes, clusters, weights)


def evaluate(
    model: PrototypeModel,
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Scores | RegressionScores:
    """Score a model on rows.

    Parameters
    ----------
    model : PrototypeModel
        Model that predicts; its classes are those that are counted.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows to predict, none of them used in the fit for an honest score.
    y : ndarray of shape (n_samples,), labels; numbers for regression
        True label or number of each row, to compare the predictions with.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Scores or RegressionScores

    Raises
    ------
    SmpcoreError
        If there are no rows.
    """
    if len(X) == 0:
        raise SmpcoreError("X has no rows; give this part at least one row.")
    if model.classes is None:
        return score_answers(y, model.predict(X), None, clusters)
    answers = model.decide(model.scores(X))
    truth = class_numbers(y, model.classes)
    return count_answers(truth, answers, model.classes, clusters, weights)
