"""Calibration: what out-of-fold scores of the training rows teach about scores.

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

From `MANY_ROWS` rows of the rarest class, isotonic regression of each class on its
log-odds replaces the last step, and rows are normalised. Of two classes that is
scikit-learn's isotonic calibration. No probability is below 1 / (rows + 2) before.

**Numbers.** See `smpcore.evaluation.conformal`: what is known of the intervals.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from smpcore.datasets import shown
from smpcore.errors import SmpcoreError
from smpcore.evaluation.conformal import half_widths
from smpcore.evaluation.scores import class_numbers
from smpcore.model import Calibration, log_odds

#: Isotonic regression needs that many independent rows of each class: with fewer it
#: overfits (scikit-learn's user guide, 1.16.3.2).
MANY_ROWS = 1000
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

    Probabilities refer to the class shares of these rows. That intervals cover what
    they say is measured, not guaranteed.

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
    if classes is None:
        widths = half_widths(np.abs(y - scores[:, 0]), clusters)
        return Calibration(len(y), half_widths=widths)
    y_encoded = class_numbers(y, classes)
    counts = np.bincount(y_encoded, minlength=len(classes))
    if counts.min() < FEWEST_ROWS:
        rarest = int(counts.argmin())
        raise SmpcoreError(
            f"Class {shown(classes[rarest])} has {counts[rarest]} training rows with "
            f"an out-of-fold score, calibration should have at least {FEWEST_ROWS} of "
            "each class; give training more rows of it."
        )
    weights = np.ones(len(y)) if weights is None else weights[scored]
    slope, offsets = _softmax_fit(scores, y_encoded, weights)
    curves = ()
    pairs = np.unique(np.column_stack([y_encoded, clusters]), axis=0)
    if np.bincount(pairs[:, 0]).min() >= MANY_ROWS:  # clusters of the rarest class
        odds = log_odds(slope * scores + offsets)
        curves = _isotonic_curves(odds, y_encoded, weights)
    return Calibration(len(y), slope, offsets, curves)


def _smoothed(y_encoded: np.ndarray, n_classes: int) -> np.ndarray:
    """What each row counts for each class, shape (n_samples, n_classes)."""
    n, error = len(y_encoded), 1 / (len(y_encoded) + 2)
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
    scaled, targets = scores / unit, _smoothed(y_encoded, n_classes)
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

    least, curves = 1 / (len(odds) + 2), []
    for number in range(odds.shape[1]):
        hits = y_encoded == number
        fitted = IsotonicRegression().fit(odds[:, number], hits, weights)
        shares = fitted.y_thresholds_.clip(least, 1 - least)
        curves.append(np.stack([fitted.X_thresholds_, shares]))
    return tuple(curves)
