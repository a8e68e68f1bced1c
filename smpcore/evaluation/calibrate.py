"""Probabilities and intervals: learned from scores out of fold, and how good they are.

Scores of training rows by models that were fitted without them (out of fold) leave the
validation rows to judge a threshold, or a calibration, that is chosen on them.

**Classes.** Probabilities are ``softmax(slope * scores + offsets)``, with the slope (at
least 0) and the offsets of the largest likelihood. The problem is convex. Of two
classes it is Platt's sigmoid, of more the one-slope form of vector scaling (Guo et al.,
ICML 2017; Alexandari et al., ICML 2020). Of n rows each counts 1 / (n + 2) for the
other classes (Laplace's probability of an error that n rows have not shown), so that
the slope stays finite where scores part the classes without an error. Platt takes the
rows of the class for n: on folds of training rows that had a larger log loss where
classes are nearly separated, and elsewhere the same to 0.0001. At the optimum the
derivatives by the offsets are 0: the mean probability of each class equals its share of
the training rows (but for these counts). So class weights of the fit do not distort
probabilities, and for a population with other shares they do not hold.

This step may do harm: scores can be log-odds already, and a slope that is learned on
few rows misses. It is one of the three `CALIBRATORS`. Another is none: the slope 1 and
the offsets 0, which is the softmax of the scores, whatever these are. The third adds
isotonic regression of each class on its log-odds, and rows are normalised. Of two
classes that is scikit-learn's isotonic calibration; no probability is below
1 / (rows + 2) before. The one with the lowest log-loss is taken, on folds of the rows
that it has not learned from (Steyerberg, Clinical Prediction Models, 2019, chapter 15,
for why simple updates suffice of few rows). Below `FEW_ROWS` rows of the rarest class
nothing is chosen: steps need more rows, and so does a choice.

**Numbers.** See `smpcore.evaluation.prediction_intervals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp

from smpcore.datasets import Dataset, Split, shown
from smpcore.errors import SmpcoreError
from smpcore.evaluation.executors import running
from smpcore.evaluation.folds import Fold, fit_fold, folds
from smpcore.evaluation.prediction_intervals import held_out_rows, learn_intervals
from smpcore.evaluation.scores import (
    chosen_rows,
    class_numbers,
    mean_interval,
    rate,
)
from smpcore.methods.shared.base import PrototypeEstimator
from smpcore.model import Calibration, PrototypeModel, log_odds
from smpcore.model.calibration import CALIBRATORS, FEW_ROWS
from smpcore.readouts import Estimate
from smpcore.solvers.iterations import STOPPED


def out_of_fold(
    estimator: PrototypeEstimator,
    dataset: Dataset,
    split: Split,
    *,
    n_folds: int = 5,
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    progress: np.ndarray | None = None,
) -> np.ndarray:
    """Score each training row by a model of the other folds.

    The preparation (medians, category levels, scaling) is learned inside each fold;
    rows of a group stay together, and with a time column models learn from the past.

    Parameters
    ----------
    estimator : PrototypeEstimator
        Model to fit without each fold; itself it stays unfitted.
    dataset : Dataset
        Table to learn from; prepared inside each fold.
    split : Split
        Only its training rows are used.
    n_folds : int
        Fewer where there are fewer groups or rows, but at least 2.
    executor : Executor, optional
        Where the fits run: threads, processes, or a Dask client's
        (``client.get_executor()``); None: in this thread, one after the other.
    stop : ndarray of int64, shape (1,), optional
        Ends soon after this becomes non-zero.
    progress : ndarray of float64, shape (1,), optional
        Receives the share of the fits that are done.

    Returns
    -------
    ndarray of shape (n_train, n_classes), or (n_train, 1) of a regression
        In the order of ``split.train`` and ``dataset.classes``. NaN for rows that are
        never held out (the earliest of a time column) and for classes that the rows
        of a fold do not have.

    Raises
    ------
    SmpcoreError
        If the training rows cannot be divided, or it was stopped.
    """
    rows = split.train
    drawn = scoring_folds(dataset, rows, split.with_censored, n_folds)
    options = {"executor": executor, "stop": stop, "progress": progress}
    scored = fold_scores(estimator, dataset, drawn, **options)
    return in_order_of(rows, dataset, drawn, scored)


def in_order_of(
    rows: np.ndarray,
    dataset: Dataset,
    drawn: Sequence[Fold],
    scored: Sequence[np.ndarray],
) -> np.ndarray:
    """Scores of `fold_scores` in the order of sorted rows; NaN where none is."""
    n_outputs = 1 if dataset.classes is None else len(dataset.classes)
    scores = np.full((len(rows), n_outputs), np.nan)
    for fold, of_fold in zip(drawn, scored, strict=True):
        scores[np.searchsorted(rows, fold.held_out)] = of_fold
    return scores


def scoring_folds(
    dataset: Dataset, rows: np.ndarray, with_censored: np.ndarray, n_folds: int = 5
) -> list[Fold]:
    """Folds that hold out each row once; fewer where there are fewer groups or rows."""
    if dataset.times is None:
        units = rows if dataset.groups is None else dataset.groups[rows]
        n_folds = max(2, min(n_folds, np.unique(units).size))
    drawn = folds(dataset, with_censored, n_folds)
    return [fold for fold in drawn if fold.repeat == 0]


def fold_scores(
    estimator: PrototypeEstimator,
    dataset: Dataset,
    drawn: Sequence[Fold],
    *,
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    progress: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Score the held-out rows of each fold by a model of the fold's other rows.

    Parameters are those of `out_of_fold`; each array of the result is as its result,
    in the order of the ``held_out`` of one fold.
    """
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    shared, scored = (dataset, list(drawn), estimator, stop), {}
    with running(_score_fold, shared, stop, executor) as run:
        for number, scores in run((number,) for number in range(len(drawn))):
            if scores is None or stop[0]:
                break
            scored[number] = scores
            if progress is not None:
                progress[0] = len(scored) / len(drawn)
    if stop[0]:
        raise SmpcoreError("The fits on folds were stopped; start them again.")
    return [scored[number] for number in range(len(drawn))]


def _score_fold(
    shared: tuple[Dataset, list[Fold], PrototypeEstimator, np.ndarray], task: tuple[int]
) -> tuple[int, np.ndarray | None]:
    """Fit without one fold and score its rows; None if it was asked to stop."""
    (number,), (dataset, drawn, unfitted, stop) = task, shared
    if stop[0]:
        return number, None
    estimator, X_held_out = fit_fold(unfitted, dataset, drawn[number], stop)
    if estimator.history_.status == STOPPED:
        return number, None
    scores = estimator.model_.scores(X_held_out)
    if dataset.classes is None:
        return number, scores.reshape(len(X_held_out), -1)
    whole = np.full((len(X_held_out), len(dataset.classes)), np.nan)
    whole[:, class_numbers(estimator.model_.classes, dataset.classes)] = scores
    return number, whole


#: A class needs so many scored rows, one for each of the usual folds.
FEWEST_ROWS = 5


def calibrate(
    scores: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Calibration:
    """Learn a calibration from scores of rows that the scoring models had not seen.

    Probabilities refer to the class shares of these rows, and are made by the one of
    `smpcore.model.calibration.CALIBRATORS` with the lowest log-loss on rows that it has
    not learned from. That intervals cover what they say is measured, not guaranteed.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_outputs)
        From `out_of_fold`; or, of other estimators of scikit-learn, from its
        ``cross_val_predict``. Rows with a NaN are left out.
    y : ndarray of shape (n_samples,)
        Label of each row, or its number.
    classes : ndarray of shape (n_classes,), sorted, optional
        Labels in the order of the scores; None for regression.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Calibration
        For ``replace(model, calibration=...)``.

    Raises
    ------
    SmpcoreError
        If a class has too few scored rows, or the rows are too few for intervals.
    """
    scores = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
    scored = np.isfinite(scores).all(axis=1)
    scores, y = scores[scored], np.asarray(y)[scored]
    clusters = np.arange(len(y)) if clusters is None else clusters[scored]
    weights = None if weights is None else weights[scored]
    if classes is None:
        return learn_intervals(scores[:, 0], y, clusters, weights)
    y_encoded = class_numbers(y, classes)
    counts = np.bincount(y_encoded, minlength=len(classes))
    if counts.min() < FEWEST_ROWS:
        rarest = int(counts.argmin())
        raise SmpcoreError(
            f"Class {shown(classes[rarest])} has {counts[rarest]} training rows with "
            f"an out-of-fold score, calibration should have at least {FEWEST_ROWS} of "
            "each class; give training more rows of it."
        )
    weights = np.ones(len(y)) if weights is None else weights
    few = not has_enough_rows(y_encoded, clusters)
    losses = _log_losses(scores, y_encoded, clusters, weights, few)
    chosen = _candidates(scores, y_encoded, weights, few)[np.nanargmin(losses)]
    return replace(chosen, losses=losses)


def _candidates(
    scores: np.ndarray, y_encoded: np.ndarray, weights: np.ndarray, few: bool
) -> list[Calibration | None]:
    """Learn each of `CALIBRATORS`; of few rows intercept and slope only."""
    n, n_classes = scores.shape
    sigmoid = Calibration(n, *_softmax_fit(scores, y_encoded, weights))
    if few:
        return [None, sigmoid, None]
    odds = log_odds(sigmoid.slope * scores + sigmoid.offsets)
    curves = _isotonic_curves(odds, y_encoded, weights)
    none = Calibration(n, offsets=np.zeros(n_classes))
    return [none, sigmoid, replace(sigmoid, curves=curves)]


#: A probability of 0 has no logarithm.
_LEAST = np.finfo(float).tiny


def _log_losses(
    scores: np.ndarray,
    y_encoded: np.ndarray,
    clusters: np.ndarray,
    weights: np.ndarray,
    few: bool,
) -> np.ndarray:
    """Log-loss of each candidate on rows that it has not learned from.

    Rows that depend on each other are in one fold.
    """
    losses = np.full((len(CALIBRATORS), len(scores)), np.nan)
    for held_out in held_out_rows(clusters):
        rest = chosen_rows(~held_out, scores, y_encoded, weights)
        places = np.arange(held_out.sum()), y_encoded[held_out]
        for which, candidate in enumerate(_candidates(*rest, few)):
            if candidate is not None:
                shares = candidate.probabilities(scores[held_out])[places]
                losses[which, held_out] = -np.log(np.maximum(shares, _LEAST))
    return np.average(losses, axis=1, weights=weights)


def has_enough_rows(y_encoded: np.ndarray, clusters: np.ndarray) -> bool:
    """Whether each class has `FEW_ROWS` rows that do not depend on each other."""
    _, unit = np.unique(clusters, return_inverse=True)
    pairs = np.unique(np.column_stack([y_encoded, unit]), axis=0)
    return bool(np.bincount(pairs[:, 0], minlength=2).min() >= FEW_ROWS)


def log_loss(
    shares: np.ndarray, y_encoded: np.ndarray, weights: np.ndarray | None
) -> float:
    """Mean negative logarithm of the probabilities of what occurred."""
    right = shares[np.arange(len(shares)), y_encoded]
    return float(np.average(-np.log(np.maximum(right, _LEAST)), weights=weights))


def _least(weights: np.ndarray) -> float:
    """Probability of an error that these rows, a whole weight that many, show not."""
    return 1 / (max(len(weights), float(weights.sum())) + 2)


def _smoothed(y_encoded: np.ndarray, n_classes: int, error: float) -> np.ndarray:
    """What each row counts for each class, shape (n_samples, n_classes)."""
    n = len(y_encoded)
    counts = np.full((n, n_classes), error / (n_classes - 1))
    counts[np.arange(n), y_encoded] = 1 - error
    return counts


def _softmax_fit(
    scores: np.ndarray, y_encoded: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Slope and offsets of the largest likelihood; the offset of the first class is 0.

    A slope that would be negative is 0: scores say nothing then, and the probabilities
    are the class shares.
    """
    unit = float(np.std(scores - scores.mean(axis=1, keepdims=True))) or 1.0
    n, n_classes = scores.shape
    scaled, targets = scores / unit, _smoothed(y_encoded, n_classes, _least(weights))
    mass = (weights / weights.mean())[:, None]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        logits = theta[0] * scaled
        logits[:, 1:] += theta[1:]
        total = logsumexp(logits, axis=1, keepdims=True)
        error = mass * (np.exp(logits - total) - targets)
        slope, offsets = (error * scaled).sum(), error.sum(axis=0)[1:]
        value = (mass * total).sum() - (mass * targets * logits).sum()
        return float(value) / n, np.concatenate([[slope], offsets]) / n

    start = np.concatenate([[1.0], np.zeros(n_classes - 1)])
    bounds = [(0.0, None)] + [(None, None)] * (n_classes - 1)
    options = {"ftol": 0.0, "gtol": 1e-9, "maxiter": 5000, "maxfun": 20000}
    theta = minimize(loss, start, jac=True, bounds=bounds, options=options).x
    return float(theta[0]) / unit, np.concatenate([[0.0], theta[1:]])


def _isotonic_curves(
    odds: np.ndarray, y_encoded: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Log-odds and the share of the class there, ascending, for each class."""
    from sklearn.isotonic import IsotonicRegression

    least, curves = _least(weights), []
    for number in range(odds.shape[1]):
        hits = y_encoded == number
        fitted = IsotonicRegression().fit(odds[:, number], hits, weights)
        shares = fitted.y_thresholds_.clip(least, 1 - least)
        curves.append(np.stack([fitted.X_thresholds_, shares]))
    return tuple(curves)


#: Bins of a reliability table at most, and rows in each at least where there are more
#: bins than one.
MOST_BINS, FEWEST_IN_BIN = 10, 15
#: Threshold probabilities of a decision curve.
THRESHOLDS = np.arange(1, 100) / 100


def event(
    probabilities: np.ndarray, y_encoded: np.ndarray, outcome: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """What a probability is checked against: of two classes that a row is of one.

    Of more classes, that the most probable class is right (Guo et al., ICML 2017).

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Probability of each class.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row.
    outcome : {0, 1}
        Number of the class that is the event, of two.

    Returns
    -------
    probability : ndarray of shape (n_samples,)
    truth : ndarray of bool, shape (n_samples,)
    """
    if probabilities.shape[1] == 2:
        return probabilities[:, outcome], y_encoded == outcome
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
        hits, p, units, masses = chosen_rows(
            bins == number, truth, probability, clusters, weights
        )
        means = (np.average(of, weights=masses) for of in (p, hits))
        total = len(p) if masses is None else masses.sum()
        limits = rate(hits, units, weights=masses).estimate[1:3]
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
) -> Estimate:
    """Mean squared error of probabilities, as scikit-learn's ``brier_score_loss``.

    Of two classes that of the outcome, from 0 to 1; of more the sum over all
    classes, from 0 to 2.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Probability of each class.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row; rows of -1, no class of these, are left out.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Estimate
        Without an interval where there is a single row or cluster.
    """
    errors, y_encoded, clusters, weights = chosen_rows(
        y_encoded >= 0, probabilities, y_encoded, clusters, weights
    )
    n_classes = probabilities.shape[1]
    errors[np.arange(len(errors)), y_encoded] -= 1
    losses = np.sum(errors**2, axis=1) / (2 if n_classes == 2 else 1)
    low, high = mean_interval(losses, clusters, weights=weights)
    score = float(np.average(losses, weights=weights))
    return Estimate(score, low, high, "Student's" if np.isfinite(low) else "")


def threshold_probability(model: PrototypeModel) -> float:
    """Probability of the outcome at which a model changes its answer.

    Parameters
    ----------
    model : PrototypeModel
        Of two classes, with a calibration.

    Returns
    -------
    float
    """
    at_border = np.array([[0.0, model.tie]])
    return float(model.calibration.probabilities(at_border)[0, model.outcome])


def net_benefit(
    probability: np.ndarray,
    truth: np.ndarray,
    threshold: float,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Estimate:
    """Net benefit of acting on a probability from one threshold on.

    Parameters
    ----------
    probability : ndarray of shape (n_samples,)
        Probability of the outcome.
    truth : ndarray of bool, shape (n_samples,)
        Whether each row is positive.
    threshold : float
        Probability from which on a row is treated, below 1.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Estimate
        As in `decision_curve`, with Student's 95 % interval.
    """
    benefit = np.where(truth, 1.0, -threshold / (1 - threshold))
    treated = benefit * (probability >= threshold)
    low, high = mean_interval(treated, clusters, weights=weights)
    mean = float(np.average(treated, weights=weights))
    return Estimate(mean, low, high, "Student's" if np.isfinite(low) else "")


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
        Probability of the outcome.
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
        treated = net_benefit(probability, truth, threshold, clusters, weights)
        benefit = np.where(truth, 1.0, -threshold / (1 - threshold))
        of_all = np.average(benefit, weights=weights)
        lines.append((threshold, *treated[:3], of_all, 0.0))
    names = ["threshold", "net_benefit", "low", "high", "treat_all", "treat_none"]
    return pd.DataFrame(lines, columns=names)
