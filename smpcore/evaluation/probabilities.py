"""How good probabilities are: calibration, Brier score, decision curve."""

from __future__ import annotations

import numpy as np
import pandas as pd

from smpcore.evaluation.clustered import mean_interval
from smpcore.evaluation.rates import rate
from smpcore.model import PrototypeModel

#: Bins of a reliability table at most, and rows in each at least where there are more
#: bins than one.
MOST_BINS, FEWEST_IN_BIN = 10, 15
#: Shares of the rows that intervals are checked at.
COVERAGES = (0.5, 0.8, 0.9, 0.95)
#: Threshold probabilities of a decision curve.
THRESHOLDS = np.arange(1, 100) / 100


def event(
    probabilities: np.ndarray, y_encoded: np.ndarray, positive: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """What a probability is checked against: of two classes that a row is positive.

    Of more classes, that the most probable class is right (Guo et al., ICML 2017).

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Probability of each class.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row.
    positive : {0, 1}
        Number of the positive class, of two.

    Returns
    -------
    probability : ndarray of shape (n_samples,)
    truth : ndarray of bool, shape (n_samples,)
    """
    if probabilities.shape[1] == 2:
        return probabilities[:, positive], y_encoded == positive
    return probabilities.max(axis=1), probabilities.argmax(axis=1) == y_encoded


def reliability(
    probability: np.ndarray,
    truth: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """Predicted probability beside observed share, in bins of about equally many rows.

    Parameters
    ----------
    probability : ndarray of shape (n_samples,)
        Probability of an event, from `event`.
    truth : ndarray of bool, shape (n_samples,)
        Whether it occurred.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    DataFrame
        A line for each of at most 10 bins, by probability: ``from`` and ``to``,
        ``probability`` (mean), ``share`` observed, ``low`` and ``high`` (Wilson's 95 %
        interval of the share), ``rows`` and ``weight`` (the sum of theirs). Equal
        probabilities share a bin.
    """
    n_bins = int(np.clip(len(probability) // FEWEST_IN_BIN, 1, MOST_BINS))
    inner = np.quantile(probability, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(np.unique(inner), probability)
    lines = []
    for number in np.unique(bins):
        rows = bins == number
        hits, p = truth[rows], probability[rows]
        units, masses = (None if of is None else of[rows] for of in (clusters, weights))
        means = (np.average(of, weights=masses) for of in (p, hits))
        total = len(p) if masses is None else masses.sum()
        limits = rate(hits, units, weights=masses).interval
        lines.append((p.min(), p.max(), *means, *limits, len(p), total))
    names = ["from", "to", "probability", "share", "low", "high", "rows", "weight"]
    return pd.DataFrame(lines, columns=names)


def calibration_error(table: pd.DataFrame) -> float:
    """Expected calibration error: mean distance of probability and share over rows.

    It depends on the bins, and of few rows it is above 0 also for exact probabilities.

    Parameters
    ----------
    table : DataFrame
        From `reliability`.

    Returns
    -------
    float
    """
    distance = (table["probability"] - table["share"]).abs()
    return float(np.average(distance, weights=table["weight"]))


def brier_score(
    probabilities: np.ndarray,
    y_encoded: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> tuple[float, float, float]:
    """Mean squared error of probabilities, as scikit-learn's ``brier_score_loss``.

    Of two classes that of the positive class, from 0 to 1; of more the sum over all
    classes, from 0 to 2.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Probability of each class.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    score, low, high : float
        With the ends of Student's 95 % interval; NaN of a single row or cluster.
    """
    n_classes = probabilities.shape[1]
    errors = np.array(probabilities)
    errors[np.arange(len(errors)), y_encoded] -= 1
    losses = np.sum(errors**2, axis=1) / (2 if n_classes == 2 else 1)
    low, high = mean_interval(losses, clusters, weights=weights)
    return float(np.average(losses, weights=weights)), low, high


def decision_curve(
    probability: np.ndarray,
    truth: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """Net benefit of acting on a probability, for every threshold probability.

    The share of rows that are treated rightly, less the share treated in vain at the
    odds of the threshold (Vickers and Elkin, Medical Decision Making 26, 2006). To
    treat nobody has the net benefit 0.

    Parameters
    ----------
    probability : ndarray of shape (n_samples,)
        Probability of the positive class.
    truth : ndarray of bool, shape (n_samples,)
        Whether each row is positive.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    DataFrame
        ``threshold`` from 0.01 to 0.99, ``net_benefit``, ``low`` and ``high``
        (Student's 95 % interval), ``treat_all``, ``treat_none``.
    """
    truth, lines = np.asarray(truth, dtype=bool), []
    for threshold in THRESHOLDS:
        price = threshold / (1 - threshold)
        benefit = np.where(truth, 1.0, -price)
        treated = benefit * (probability >= threshold)
        low, high = mean_interval(treated, clusters, weights=weights)
        mean, of_all = (np.average(of, weights=weights) for of in (treated, benefit))
        lines.append((threshold, mean, low, high, of_all, 0.0))
    names = ["threshold", "net_benefit", "low", "high", "treat_all", "treat_none"]
    return pd.DataFrame(lines, columns=names)


def interval_coverage(
    model: PrototypeModel,
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """How many rows the intervals of a regression cover, beside how many they should.

    Parameters
    ----------
    model : PrototypeModel
        Regression with a calibration.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows that the model has not learned from.
    y : ndarray of shape (n_samples,)
        True number of each row.
    clusters : ndarray of int, shape (n_samples,), optional
        Which rows depend on each other.

    Returns
    -------
    DataFrame
        ``coverage``, ``half_width`` in the target's unit, ``share`` covered, ``low``
        and ``high`` (Wilson's 95 % interval of the share), ``covered`` and ``rows``.
    """
    lines = []
    for coverage in COVERAGES:
        low, high = model.intervals(X, coverage).T
        inside = (low <= y) & (y <= high)
        half, limits = (high - low)[0] / 2, rate(inside, clusters).interval
        lines.append((coverage, half, inside.mean(), *limits, inside.sum(), len(y)))
    names = ["coverage", "half_width", "share", "low", "high", "covered", "rows"]
    return pd.DataFrame(lines, columns=names)
