"""How good probabilities are: Brier score, calibration error, intercept, slope, curve.

**Intercept and slope** are those of a logistic regression of the event on the log-odds
that were predicted of it (Cox, Biometrika 45, 1958). The intercept is taken with the
slope fixed at 1, which is calibration in the large: above 0 the event is more frequent
than predicted. A slope below 1 says that probabilities are too extreme, one above 1
that they are too moderate (Van Calster et al., Journal of Clinical Epidemiology 74,
2016, and BMC Medicine 17, 2019; Steyerberg, Clinical Prediction Models, 2019, section
15.3). Both follow from no bins.

**Intervals** are Wald's. Of independent rows the variance is the inverse of the
information. Where rows depend on each other, or have weights, it is the robust one of
the clusters' scores times G / (G - k), of G clusters and k coefficients, with Student's
quantile for G - k degrees of freedom: of a mean that is `mean_error`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import LinAlgError, eigh
from scipy.special import expit, logit, stdtrit

from smpcore.evaluation.calibrate import (
    brier_score,
    calibration_error,
    event,
    reliability,
)
from smpcore.evaluation.scores import chosen_rows, normal_quantile
from smpcore.readouts import Estimate, Shown

#: What computes the intervals, of independent rows and of others.
WALD, ROBUST = "Wald's", "Wald's, robust"
#: Probabilities nearer to 0 or 1 count as these: they have no log-odds.
_NEAREST = 1e-15
#: Shares of the rows below each knot of a curve (Harrell, Regression Modeling
#: Strategies, 2015, table 2.3), and the rows of the rarer kind that so many take: a
#: flexible curve takes 200 (Van Calster et al., Journal of Clinical Epidemiology 74,
#: 2016).
_KNOTS = (
    (200, (0.05, 0.275, 0.5, 0.725, 0.95)),
    (100, (0.05, 0.35, 0.65, 0.95)),
    (50, (0.1, 0.5, 0.9)),
    (0, (0.05, 0.95)),
)
#: Points that a curve is drawn through.
_N_POINTS = 101


class _Logistic(NamedTuple):
    """Coefficients of a logistic regression, and what their intervals need.

    Without a method there is no interval.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    quantile: float
    method: str


def fit_logistic(
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None,
    weights: np.ndarray | None,
    offset: np.ndarray | float = 0.0,
) -> _Logistic | None:
    """Fit by Newton's steps; None where the largest likelihood has no finite place.

    That is where columns depend on each other, or part the events from the rest: then
    the curvature vanishes on the way.
    """
    mass = np.ones(len(y)) if weights is None else weights / weights.mean()
    if np.linalg.matrix_rank(X) < X.shape[1]:
        return None
    theta = np.zeros(X.shape[1])

    def loss(at: np.ndarray) -> float:
        lead = offset + X @ at
        return float(mass @ (np.logaddexp(0.0, lead) - y * lead))

    for _ in range(100):
        shares = expit(offset + X @ theta)
        scores = (mass * (y - shares))[:, None] * X
        curvature = (X.T * (mass * shares * (1 - shares))) @ X
        try:
            step = np.linalg.solve(curvature, scores.sum(axis=0))
        except LinAlgError:
            return None
        gain = float(step @ scores.sum(axis=0))
        if gain < 1e-18 * len(y):
            break
        size, here = 1.0, loss(theta)
        noise = 1e-12 * abs(here)
        while loss(theta + size * step) > here + noise and size > 1e-6:
            size /= 2
        theta = theta + size * step
    if _vanished(curvature, (X.T * mass) @ X):
        return None
    inverse = np.linalg.inv(curvature)
    if clusters is None and weights is None:
        return _Logistic(theta, inverse, normal_quantile(), WALD)
    return _robust(theta, inverse, scores, clusters)


def _vanished(curvature: np.ndarray, largest: np.ndarray) -> bool:
    """Whether a direction has lost its curvature: the likelihood is flat there."""
    try:
        return bool(eigh(curvature, largest, eigvals_only=True)[0] < 1e-7)
    except LinAlgError:
        return True


def _robust(
    theta: np.ndarray,
    inverse: np.ndarray,
    scores: np.ndarray,
    clusters: np.ndarray | None,
) -> _Logistic:
    """Variance by the scores of the clusters, of which there may be too few."""
    if clusters is not None:
        scores = pd.DataFrame(scores).groupby(np.asarray(clusters)).sum().to_numpy()
    left = len(scores) - len(theta)
    if left < 1:
        return _Logistic(theta, inverse, np.nan, "")
    middle = scores.T @ scores * len(scores) / left
    quantile = float(stdtrit(left, 1 - 0.05 / 2))
    return _Logistic(theta, inverse @ middle @ inverse, quantile, ROBUST)


def clipped_log_odds(probability: np.ndarray) -> np.ndarray:
    """Log-odds, finite also where a probability is 0 or 1."""
    return logit(np.clip(probability, _NEAREST, 1 - _NEAREST))


def _estimate(fitted: _Logistic | None) -> Estimate:
    """The last coefficient with its 95 % interval."""
    if fitted is None:
        return Estimate(np.nan)
    value = float(fitted.coefficients[-1])
    if not fitted.method:
        return Estimate(value)
    half = fitted.quantile * float(np.sqrt(fitted.covariance[-1, -1]))
    return Estimate(value, value - half, value + half, fitted.method)


def calibration_intercept(
    probability: np.ndarray,
    truth: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Estimate:
    """Calibration in the large: the intercept where the slope is 1; 0 is best.

    By how much the log-odds of all rows are too low (Cox, Biometrika 45, 1958).

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
    Estimate
        NaN where the event occurred in all rows, or in none.
    """
    constant, truth = np.ones((len(truth), 1)), np.asarray(truth, np.float64)
    offset = clipped_log_odds(probability)
    return _estimate(fit_logistic(constant, truth, clusters, weights, offset))


def calibration_slope(
    probability: np.ndarray,
    truth: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Estimate:
    """Slope of the event on the log-odds that were predicted of it; 1 is best.

    Below 1 the probabilities are too extreme, above 1 too moderate (Cox, Biometrika 45,
    1958; Van Calster et al., BMC Medicine 17, 2019).

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
    Estimate
        NaN where the probabilities are equal, or part the rows without an error. No
        interval where there are too few clusters for one.
    """
    X = np.column_stack([np.ones(len(truth)), clipped_log_odds(probability)])
    return _estimate(fit_logistic(X, np.asarray(truth, np.float64), clusters, weights))


def calibration_curve(
    probability: np.ndarray,
    truth: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """Observed share at each predicted probability, smoothed.

    A logistic regression on a restricted cubic spline of the log-odds (Harrell,
    Regression Modeling Strategies, 2015, sections 2.4 and 10.11; Van Calster et al.,
    Journal of Clinical Epidemiology 74, 2016). It has 5 knots, 4 of fewer than 200 rows
    of the rarer kind, 3 of fewer than 100, and 2 of fewer than 50, which is a straight
    line. It lies between the outer ones: beyond these it would be straight, whatever
    the few rows there are.

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
        ``probability``, ascending in even steps, ``share``, ``low`` and ``high``:
        Wald's 95 % interval of the log-odds at each point by itself. No lines where no
        curve has a largest likelihood, or the clusters are too few for an interval.
    """
    truth, lead = np.asarray(truth, np.float64), clipped_log_odds(probability)
    rarer = min(truth.sum(), len(truth) - truth.sum())
    lines = []
    for least, shares in _KNOTS:
        breakpoints = np.unique(np.quantile(lead, shares))
        if rarer < least or len(breakpoints) < len(shares):
            continue
        fitted = fit_logistic(_spline(lead, breakpoints), truth, clusters, weights)
        if fitted is not None and fitted.method:
            grid = np.linspace(*expit(breakpoints[[0, -1]]), _N_POINTS)
            X = _spline(clipped_log_odds(grid), breakpoints)
            middle = X @ fitted.coefficients
            variance = np.sum((X @ fitted.covariance) * X, axis=1)
            half = fitted.quantile * np.sqrt(variance)
            limits = middle, middle - half, middle + half
            lines = np.column_stack([grid, *map(expit, limits)])
            break
    return pd.DataFrame(lines, columns=["probability", "share", "low", "high"])


def _spline(x: np.ndarray, breakpoints: np.ndarray) -> np.ndarray:
    """Columns of a cubic spline that is straight beyond its outer breakpoints."""
    first, before, last = breakpoints[0], breakpoints[-2], breakpoints[-1]

    def cubic(place: float) -> np.ndarray:
        return np.maximum(x - place, 0.0) ** 3

    curved = [
        cubic(place)
        - cubic(before) * (last - place) / (last - before)
        + cubic(last) * (before - place) / (last - before)
        for place in breakpoints[:-2]
    ]
    return np.column_stack(
        [np.ones(len(x)), x, *np.array(curved) / (last - first) ** 2]
    )


def calibration_measures(
    probabilities: np.ndarray,
    y_encoded: np.ndarray,
    outcome: int = 1,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> list[Shown]:
    """Brier score, expected calibration error, intercept and slope.

    All but the Brier score are of `event`: of two classes the outcome, of more that the
    most probable class is right.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Probability of each class.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row; rows of -1, no class of these, are left out.
    outcome : {0, 1}
        Number of the class that is the event, of two.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    list of Shown
        With 95 % intervals, but for the calibration error, which has none.
    """
    probabilities, y_encoded, *of_rows = chosen_rows(
        y_encoded >= 0, probabilities, y_encoded, clusters, weights
    )
    checked = *event(probabilities, y_encoded, outcome), *of_rows
    error = Estimate(calibration_error(reliability(*checked)))
    reason = _why_none(*checked[:2])
    named = (
        ("Brier score", brier_score(probabilities, y_encoded, *of_rows)),
        ("Expected calibration error", error),
        ("Calibration intercept", calibration_intercept(*checked)),
        ("Calibration slope", calibration_slope(*checked)),
    )
    absent = f"none ({reason})"
    return [Shown(name, value, unit="", absent=absent) for name, value in named]


def _why_none(probability: np.ndarray, truth: np.ndarray) -> str:
    """Why a coefficient is not finite, where one is not."""
    if truth.all() or not truth.any():
        return "event in all rows" if truth.all() else "event in no row"
    return "equal probabilities" if np.ptp(probability) == 0 else "perfect separation"
