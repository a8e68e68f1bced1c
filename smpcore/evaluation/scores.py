"""How good a model is, and how sure of that one can be: shares, means, intervals."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from smpcore.errors import SmpcoreError
from smpcore.model import PrototypeModel
from smpcore.readouts import Estimate

WILSON, STUDENT, MOVER = "Wilson's", "Student's", "Wilson's of each class, MOVER"
#: In place of a method where all rows depend on each other: from 0 to 1.
NO_METHOD = "none (too few rows)"


@functools.cache  # one is asked for at every picture of a drag
def normal_quantile(level: float = 0.05) -> float:
    """Point that a standard normal variable is beyond, on either side, so often."""
    return -float(ndtri(level / 2))


def kish_rows(weights: np.ndarray) -> float:
    """How many rows of equal weight tell as much as rows of these weights.

    The squared sum of the weights by the sum of their squares, which their scale does
    not change (Kish, Survey Sampling, 1965, section 11.2).
    """
    return float(weights.sum() ** 2 / np.sum(weights**2))


def mean_error(
    values: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> tuple[float, float]:
    """Standard error of a mean, and the number of clusters that it is over.

    Rows depend on each other within clusters: it is the error of the ratio of the
    clusters' sums to their sizes (Cochran, Sampling Techniques, 1977, section 9A.1),
    with weights that are taken as known. Without clusters each row is one; with weights
    rows are as many as in `kish_rows` then.
    """
    if len(values) < 2:
        return math.inf, len(values)
    if weights is not None and clusters is None:
        n, left = kish_rows(weights), values - np.average(values, weights=weights)
        variance = np.average(left**2, weights=weights)
        return (float(np.sqrt(variance / (n - 1))) if n > 1 else math.inf), n
    sums, total = values - np.average(values, weights=weights), len(values)
    if weights is not None:
        sums, total = sums * weights, weights.sum()
    if clusters is not None:
        sums = np.bincount(np.unique(clusters, return_inverse=True)[1], sums)
    count = len(sums)
    if count < 2:
        return math.inf, count
    return float(np.sqrt(count / (count - 1) * np.sum(sums**2)) / total), count


def mean_interval(
    values: np.ndarray,
    clusters: np.ndarray | None = None,
    level: float = 0.05,
    weights: np.ndarray | None = None,
) -> tuple[float, float]:
    """Student's interval of a mean, over clusters where rows depend on each other."""
    count = len(values)
    if clusters is None and weights is None and count > 1:  # quick: a drag asks for it
        spread = float(np.std(values, ddof=1)) / math.sqrt(count)
    else:
        spread, count = mean_error(values, clusters, weights)
    if count < 2:
        return math.nan, math.nan
    mean = float(np.average(values, weights=weights))
    half = float(stdtrit(count - 1, 1 - level / 2) * spread)
    lowest = 0.0 if values.min() >= 0 else -math.inf
    return max(lowest, mean - half), mean + half


def independent_rows(
    hits: np.ndarray, clusters: np.ndarray | None, weights: np.ndarray | None = None
) -> tuple[float, float]:
    """Clustered rows divided by the design effect of their share; else `kish_rows`.

    That is the variance of the share over clusters beside that of as many independent
    rows, not below 1 (Rao and Scott, Biometrics 48, 1992). Where all rows are hits, or
    none is, nothing tells how alike the rows of a cluster are: they count as wholly
    alike then, a cluster as one row. So a single miss may make an interval narrower.
    """
    if clusters is None and weights is not None:
        return (kish_rows(weights),) * 2
    n, share = len(hits), float(np.average(hits, weights=weights))
    error, count = mean_error(np.asarray(hits, np.float64), clusters, weights)
    if count < 2:
        return 0.0, count
    if 0 < share < 1:
        return n / max(1.0, error**2 * n / (share * (1 - share))), count
    sizes = np.bincount(np.unique(clusters, return_inverse=True)[1], weights)
    return kish_rows(sizes), count


def chosen_rows(
    rows: np.ndarray, *arrays: np.ndarray | None
) -> list[np.ndarray | None]:
    """The same rows of arrays; None of what is None."""
    return [None if one is None else one[rows] for one in arrays]


def effective_rows(
    hits: np.ndarray,
    clusters: np.ndarray | None,
    level: float = 0.05,
    weights: np.ndarray | None = None,
) -> float:
    """How many independent rows would tell as much of a share as these rows do.

    The rows of `independent_rows`; of clusters divided by the square of Student's
    quantile beside the normal one: few clusters tell their spread badly (Korn and
    Graubard, Survey Methodology 24, 1998). In Wilson's interval that keeps to its level
    best (Dean and Pagano, Journal of Survey Statistics and Methodology 3, 2015).
    """
    n, count = independent_rows(hits, clusters, weights)
    if count < 2:
        return 0.0
    if clusters is None:
        return n
    few = normal_quantile(level) / float(stdtrit(count - 1, 1 - level / 2))
    return n * few**2


def wilson(hits: Any, n: Any, level: float = 0.05) -> tuple[Any, Any]:
    """Wilson's interval of a share.

    Written out because it is read at every picture of a drag: scipy's binomtest gives
    the same (a test holds it) but solves for a p-value first.

    Parameters
    ----------
    hits, n : float or ndarray
        `hits` of `n` rows; of dependent rows as many as there are independent ones in
        them (`effective_rows`). No rows tell nothing: from 0 to 1.
    level : float
        The interval covers 1 - level: 95 % by default.

    Returns
    -------
    low, high : float or ndarray
    """
    quantile = normal_quantile(level)
    z2 = quantile**2
    middle = (hits + z2 / 2) / (n + z2)
    spread = hits * (n - hits) / np.maximum(n, 1e-300) + z2 / 4
    half = quantile * np.sqrt(spread) / (n + z2)
    return np.maximum(0.0, middle - half), np.minimum(1.0, middle + half)


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
    effective_of_class : ndarray of shape (n_classes,), optional
        As `effective`, of the recall of each class.
    """

    confusion: np.ndarray
    classes: np.ndarray
    effective: float | None = None
    weighted: np.ndarray | None = None
    effective_of_class: np.ndarray | None = None

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
    def estimate(self) -> Estimate:
        """The accuracy with its 95 % interval; see `effective`."""
        n = self.rows if self.effective is None else self.effective
        method = WILSON if n > 0 else NO_METHOD
        return Estimate(self.accuracy, *wilson(self.accuracy * n, n), method)

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
    def balanced_estimate(self) -> Estimate:
        """Balanced accuracy with its 95 % interval.

        Wilson's intervals of the recalls, put together by the method of variance
        estimates recovery (Zou and Donner, Statistics in Medicine 27, 2008): also a
        class of few rows that are all found is as unsure as it is.
        """
        known, counts = ~np.isnan(self.recall), self.effective_of_class
        n = (self.confusion.sum(axis=1) if counts is None else counts)[known]
        recall = self.recall[known]
        share = float(recall.mean())
        low, high = wilson(recall * n, n)
        below, above = math.hypot(*(recall - low)), math.hypot(*(high - recall))
        low, high = share - below / len(n), share + above / len(n)
        method = MOVER if n.all() else NO_METHOD
        return Estimate(share, max(0.0, low), min(1.0, high), method)

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
        interval, balanced = (
            [round(end, 4) for end in one[1:3]]
            for one in (self.estimate, self.balanced_estimate)
        )
        scores = {
            "hits": self.hits,
            "rows": self.rows,
            "interval_95": interval,
            "balanced": round(self.balanced_accuracy, 4),
            "balanced_interval_95": balanced,
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
    effective = weighted = of_class = None
    if weights is not None:
        weighted = np.bincount(cells, weights[known], n_classes**2).reshape(shape)
    if known.any() and (clusters is not None or weights is not None):
        hits = truth[known] == answers[known]
        units, masses = chosen_rows(known, clusters, weights)
        effective = effective_rows(hits, units, weights=masses)
        of_class = _effective_of_class(hits, truth[known], n_classes, units, masses)
    return Scores(confusion, classes, effective, weighted, of_class)


def _effective_of_class(
    hits: np.ndarray,
    truth: np.ndarray,
    n_classes: int,
    clusters: np.ndarray | None,
    weights: np.ndarray | None,
) -> np.ndarray:
    """How many independent rows tell as much of each recall.

    Fewer where the recalls of several classes vary together, as clusters have rows of
    them: by how much more their mean varies than it would otherwise.
    """
    counts, apart = np.zeros(n_classes), 0.0
    centred, shares = np.zeros(len(hits)), np.zeros(len(hits))
    for number in np.unique(truth):
        kind = truth == number
        right, units, masses = chosen_rows(kind, hits * 1.0, clusters, weights)
        counts[number] = effective_rows(right, units, weights=masses)
        shares[kind] = 1 if masses is None else masses
        shares[kind] /= shares[kind].sum()
        centred[kind] = right - np.average(right, weights=masses)
        apart += mean_error(right, units, masses)[0] ** 2
    together = mean_error(centred, clusters, shares)[0] * (counts > 0).sum()
    more = together**2 / apart if 0 < apart < math.inf else 1.0
    return counts / max(1.0, more)


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
        Labels of the model, sorted; None for regression. Rows of other classes are
        misses.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Scores or RegressionScores
    """
    if classes is None:
        truth = np.asarray(truth, dtype=np.float64)
        return RegressionScores(truth, answers, clusters, weights)
    if (class_numbers(truth, classes) < 0).any():  # no model of these can be right
        classes = np.union1d(classes, truth)
    numbers = [class_numbers(labels, classes) for labels in (truth, answers)]
    return count_answers(*numbers, classes, clusters, weights)


def evaluate(
    model: PrototypeModel,
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Scores | Any:  # which of both it is, a type checker cannot know
    """Score a model on rows.

    Parameters
    ----------
    model : PrototypeModel
        Model that predicts; rows of a class that it does not have are misses.
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
        If it is given an estimator, no rows, or not as many true answers.
    """
    if not isinstance(model, PrototypeModel):
        raise SmpcoreError("model should be the model_ of a fitted estimator.")
    if len(X) == 0:
        raise SmpcoreError("X has no rows; give this part at least one row.")
    if len(X) != len(y):
        raise SmpcoreError(f"X has {len(X)} rows and y has {len(y)}; give as many.")
    if model.classes is None:
        return score_answers(y, model.predict(X), None, clusters, weights)
    answers = model.decide(model.scores(X))
    truth = class_numbers(y, model.classes)
    if (truth < 0).any():
        labels = model.classes[answers]
        return score_answers(y, labels, model.classes, clusters, weights)
    return count_answers(truth, answers, model.classes, clusters, weights)


@dataclass(frozen=True, eq=False)
class RegressionScores:
    """Answers of a regression model on some rows, beside the truth.

    The figures are written out because they are read at every picture of a drag:
    scikit-learn's functions give the same (a test holds it) after checks of their own.

    Parameters
    ----------
    truth, answers : ndarray of shape (n_samples,), user's units
        True and predicted number of each row.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.
    """

    truth: np.ndarray
    answers: np.ndarray
    clusters: np.ndarray | None = None
    weights: np.ndarray | None = None

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
        return float(np.average(self.errors, weights=self.weights))

    @cached_property
    def rmse(self) -> float:
        """Root of the mean squared error: large errors count for more."""
        return math.sqrt(np.average(self.errors**2, weights=self.weights))

    @cached_property
    def r2(self) -> float:
        """Share of the variance that is explained; NaN where the truth has none."""
        deviations = self.truth - np.average(self.truth, weights=self.weights)
        variance = np.average(deviations**2, weights=self.weights)
        return float(1 - self.rmse**2 / variance) if variance > 0 else math.nan

    @cached_property
    def mape(self) -> float:
        """Mean of the error as a share of the truth; NaN unless all is positive."""
        if not (self.truth > 0).all():
            return math.nan
        return float(np.average(self.errors / self.truth, weights=self.weights))

    @property
    def estimate(self) -> Estimate:
        """The mean absolute error with its 95 % interval; without one of a single row.

        Over clusters where rows depend on each other; without one of a single cluster.
        """
        limits = mean_interval(self.errors, self.clusters, weights=self.weights)
        return Estimate(self.mae, *limits, STUDENT if np.isfinite(limits[0]) else "")

    def as_dict(self, median: float) -> dict[str, Any]:
        """The scores by name, for a file, beside always predicting a number."""
        numbers = {
            "mean_absolute_error": self.mae,
            "root_mean_squared_error": self.rmse,
            "r2": self.r2,
            "always_the_training_median": self.always(median),
        }
        known = {n: float(f"{v:.6g}") for n, v in numbers.items() if np.isfinite(v)}
        interval = [float(f"{v:.6g}") for v in self.estimate[1:3] if np.isfinite(v)]
        return {"rows": self.rows, "interval_95": interval} | known

    @property
    def worst(self) -> int:
        """Place of the answer that is farthest off."""
        return int(self.errors.argmax())

    def residuals(self) -> pd.DataFrame:
        """Give each row's residual, the largest errors first.

        Returns
        -------
        DataFrame
            ``residual`` (actual - predicted), ``actual``, ``predicted``, and
            ``quantile``: that of a standard normal distribution at the residual's rank,
            (rank - 0.5) / n. The index is the place of the row.
        """
        residual, n = self.truth - self.answers, self.rows
        rows = {"residual": residual, "actual": self.truth, "predicted": self.answers}
        table = pd.DataFrame(rows)
        table["quantile"] = ndtri((table["residual"].rank(method="first") - 0.5) / n)
        return table.iloc[np.argsort(-self.errors, kind="stable")]

    def always(self, answer: float) -> float:
        """Give the mean absolute error of one answer to every row."""
        errors = np.abs(self.truth - answer)
        return float(np.average(errors, weights=self.weights))


@dataclass(frozen=True)
class Rate:
    """A share of rows, counted.

    Parameters
    ----------
    hits, n : int
        `hits` of `n` rows.
    effective : float
        How many independent rows tell as much; `n` where rows are independent.
    level : float
        The interval covers 1 - level.
    weighted : float, optional
        The share in weights of the rows, where they have some.
    """

    hits: int
    n: int
    effective: float
    level: float = 0.05
    weighted: float | None = None

    @property
    def share(self) -> float:
        """Hits among the rows; NaN without rows."""
        if self.weighted is not None:
            return self.weighted
        return self.hits / self.n if self.n else np.nan

    @property
    def estimate(self) -> Estimate:
        """Share and interval; nothing without rows."""
        if not self.n:
            return Estimate(np.nan)
        n, method = self.effective, WILSON if self.effective > 0 else NO_METHOD
        return Estimate(self.share, *wilson(self.share * n, n, self.level), method)


def rate(
    hits: np.ndarray,
    clusters: np.ndarray | None = None,
    level: float = 0.05,
    weights: np.ndarray | None = None,
) -> Rate:
    """Count a share of rows.

    Parameters
    ----------
    hits : ndarray of bool, shape (n_rows,)
        Whether each row is one of those that are counted.
    clusters : ndarray of int, shape (n_rows,), optional
        Which rows depend on each other.
    level : float
        The interval covers 1 - level: 95 % by default.
    weights : ndarray of shape (n_rows,), optional
        Of the rows, as from `smpcore.datasets.row_weights`.

    Returns
    -------
    Rate
    """
    hits = np.asarray(hits, dtype=bool)
    effective, weighted = float(len(hits)), None
    if len(hits) and (clusters is not None or weights is not None):
        effective = effective_rows(hits, clusters, level, weights)
    if len(hits) and weights is not None:
        weighted = float(np.average(hits, weights=weights))
    return Rate(int(hits.sum()), len(hits), effective, level, weighted)


def class_rates(
    truth: np.ndarray,
    answers: np.ndarray,
    classes: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """Recall and precision of each class, with Wilson's 95 % intervals.

    Parameters
    ----------
    truth, answers : ndarray of int, shape (n_rows,)
        Class numbers; an answer that is no class (-1) counts as a miss.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the class numbers.
    clusters, weights : ndarray of shape (n_rows,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    DataFrame
        ``class``, ``rows``, ``predicted``, ``hits``; ``recall`` and ``precision``, each
        with ``_low`` and ``_high``. NaN where nothing was counted.
    """
    lines = []
    for number, label in enumerate(classes):
        line = {"class": str(label)}
        for name, rows in (("recall", truth), ("precision", answers)):
            hits, units, masses = chosen_rows(
                rows == number, truth == answers, clusters, weights
            )
            counted = rate(hits, units, weights=masses)
            _, low, high, _ = counted.estimate
            line |= {
                {"recall": "rows", "precision": "predicted"}[name]: counted.n,
                "hits": counted.hits,
                name: counted.share,
                f"{name}_low": low,
                f"{name}_high": high,
            }
        lines.append(line)
    return pd.DataFrame(lines)


def predictive_value(right: Rate, wrong: Rate, prevalence: float) -> Estimate:
    """How often the answer of a class is right in rows of a given mix: Bayes' rule.

    The intervals are by the delta method on the logit scale, the prevalence taken as
    known (Mercaldo, Lau and Zhou, Statistics in Medicine 26, 2007, equations 8 to 11);
    where one of both shares is 0 or 1, by their adjusted estimates, which add half the
    squared normal quantile to the hits and to the misses.

    Parameters
    ----------
    right, wrong : Rate
        Of all rows of the class, and of all others, those that get its answer. Rows
        within a band of "not sure" get none, and are in the denominator of both.
    prevalence : float
        Share of the class where the model is to be used, between 0 and 1.

    Returns
    -------
    Estimate
        The share is NaN where a class has no rows, or no row gets this answer.

    Raises
    ------
    SmpcoreError
        If the prevalence is not between 0 and 1.

    Examples
    --------
    Apolipoprotein E and Alzheimer's disease, as in the paper, at 3 % prevalence:

    >>> values = predictive_value(Rate(240, 418, 418), Rate(87, 375, 375), 0.03)
    >>> [f"{value:.3f}" for value in values[:3]]
    ['0.071', '0.059', '0.086']
    """
    if not 0 < prevalence < 1:
        raise SmpcoreError(
            f"prevalence={prevalence:g} should be above 0 and below 1; give the share "
            "of the class where the model is to be used."
        )
    hits, misses = right.share * prevalence, wrong.share * (1 - prevalence)
    share = hits / (hits + misses) if hits + misses else np.nan
    if min(right.effective, wrong.effective) <= 0:
        return Estimate(share, 0.0, 1.0, NO_METHOD)
    at_an_end = any(one.share in (0.0, 1.0) for one in (right, wrong))
    (p, n), (p_wrong, n_wrong) = (_adjusted(one, at_an_end) for one in (right, wrong))
    # Odds of a right answer among all of its kind, and the variance of their logarithm.
    odds = p / p_wrong * prevalence / (1 - prevalence)
    variance = (1 - p) / (p * n) + (1 - p_wrong) / (p_wrong * n_wrong)
    factor = np.exp(normal_quantile(right.level) * np.sqrt(variance))
    low, high = (float(one / (1 + one)) for one in (odds / factor, odds * factor))
    # The adjusted interval may end short of a share that is 0 or 1 itself.
    interval = float(np.fmin(low, share)), float(np.fmax(high, share))
    method = "Mercaldo's logit, adjusted" if at_an_end else "Mercaldo's logit"
    return Estimate(share, *interval, method)


def _adjusted(rate: Rate, add: bool) -> tuple[float, float]:
    """A share and its rows, with as many added as Agresti and Coull do."""
    added = normal_quantile(rate.level) ** 2 if add else 0.0
    n = rate.effective + added
    return (rate.share * rate.effective + added / 2) / n, n
