"""Recalibration on other rows: an intercept, or intercept and slope, of the log-odds.

A logistic regression of the outcome on the log-odds that a model predicts of it, with
the slope fixed at 1 or not (Cox, Biometrika 45, 1958; Steyerberg, Clinical Prediction
Models, 2019, section 20.3). The intercept makes the mean probability that of the rows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import expit

from smpcore.errors import SmpcoreError
from smpcore.evaluation.calibrate import (
    brier_score,
    has_enough_rows,
    log_loss,
)
from smpcore.evaluation.calibration_measures import clipped_log_odds, fit_logistic
from smpcore.evaluation.prediction_intervals import held_out_rows
from smpcore.evaluation.scores import chosen_rows
from smpcore.model import Calibration

#: What can be fitted to other rows.
RECALIBRATIONS = "intercept", "intercept and slope"
#: Steps that a curve has between two of its points once it is recalibrated: it is
#: straight between points, and a logistic change of a straight line is not.
_STEPS = 16


def recalibrate(
    calibration: Calibration,
    scores: np.ndarray,
    y_encoded: np.ndarray,
    kind: str,
    weights: np.ndarray | None = None,
) -> Calibration:
    """Fit a calibration of two classes to the outcomes of other rows.

    Which rows depend on each other changes no coefficient, only how sure one is of it.

    Parameters
    ----------
    calibration : Calibration
        That of the model, of two classes.
    scores : ndarray of shape (n_samples, 2)
        Scores of the rows by the model.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row; rows of -1, no class of these, are left out.
    kind : {"intercept", "intercept and slope"}
        Which coefficients are fitted.
    weights : ndarray of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    Calibration
        For ``replace(model, calibration=...)``. Of one with curves, these are within
        0.01 of the logistic change, and exact at their points.

    Raises
    ------
    SmpcoreError
        If a class has no row, the rows are parted without an error, or the slope is not
        above 0: probabilities would change their order.
    """
    of_rows = chosen_rows(y_encoded >= 0, scores, y_encoded, weights)
    return _changed(calibration, *_coefficients(calibration, kind, *of_rows))


def _changed(calibration: Calibration, intercept: float, slope: float) -> Calibration:
    """The calibration after a change of the second class's log-odds."""
    if calibration.curves:
        curves = _changed_curves(calibration.curves, intercept, slope)
        return replace(calibration, curves=curves)
    offsets = slope * calibration.offsets
    offsets[1] += intercept
    return replace(calibration, slope=slope * calibration.slope, offsets=offsets)


def _coefficients(
    calibration: Calibration,
    kind: str,
    scores: np.ndarray,
    y_encoded: np.ndarray,
    weights: np.ndarray | None,
) -> tuple[float, float]:
    """Intercept and slope of the second class's log-odds."""
    if kind not in RECALIBRATIONS:
        raise SmpcoreError(f"kind={kind!r} should be one of {RECALIBRATIONS}.")
    truth = y_encoded.astype(np.float64)
    if truth.all() or not truth.any():
        raise SmpcoreError("Recalibration needs rows of both classes.")
    lead = clipped_log_odds(calibration.probabilities(scores)[:, 1])
    X, offset = np.column_stack([np.ones(len(truth)), lead]), 0.0
    if kind == RECALIBRATIONS[0]:
        X, offset = X[:, :1], lead
    fitted = fit_logistic(X, truth, None, weights, offset)
    if fitted is None:
        raise SmpcoreError(
            "The probabilities are equal, or part these rows without an error: no "
            "finite slope has the largest likelihood."
        )
    intercept, slope = map(float, [*fitted.coefficients, 1.0][:2])
    if slope <= 0:
        raise SmpcoreError(
            f"The slope would be {slope:.3g}: on these rows higher probabilities go "
            "with fewer events, and recalibration does not reverse their order."
        )
    return intercept, slope


def _changed_curves(
    curves: tuple[np.ndarray, ...], intercept: float, slope: float
) -> tuple[np.ndarray, ...]:
    """Curves of both classes that sum to 1, after a change of the log-odds."""
    (x_first, _), (x_second, _) = curves
    points = np.unique(np.concatenate([-x_first, x_second]))
    places = np.arange((len(points) - 1) * _STEPS + 1) / _STEPS
    x = np.interp(places, np.arange(len(points)), points)
    first = np.interp(-x, *curves[0])
    second = np.interp(x, *curves[1])
    lead = clipped_log_odds(second / (first + second))
    share = expit(intercept + slope * lead)
    return np.stack([-x, 1 - share])[:, ::-1], np.stack([x, share])


def recalibration_table(
    calibration: Calibration,
    scores: np.ndarray,
    y_encoded: np.ndarray,
    outcome: int = 1,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """Compare no recalibration, an intercept, and intercept and slope on some rows.

    Parameters
    ----------
    calibration : Calibration
        That of the model, of two classes.
    scores : ndarray of shape (n_samples, 2)
        Scores of the rows by the model.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row; rows of -1, no class of these, are left out.
    outcome : {0, 1}
        Number of the class whose log-odds the intercept is of.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other, and are in one fold; how much each counts.

    Returns
    -------
    DataFrame
        A line for each ``recalibration``: "none", the intercept, and from 50
        independent rows of the rarer class on intercept and slope. ``intercept``,
        ``slope``; ``log-loss`` and ``Brier score`` on folds that it is fitted without,
        NaN where the rest of a fold is too little; both ``apparent``, on its own rows.
        All are NaN where `recalibrate` raises an error.
    """
    of_rows = chosen_rows(y_encoded >= 0, scores, y_encoded, weights)
    units = np.arange(len(y_encoded)) if clusters is None else clusters
    units, lines = units[y_encoded >= 0], []
    n_kinds = 1 + has_enough_rows(of_rows[1], units)
    for kind in ("none", *RECALIBRATIONS[:n_kinds]):
        values, shares = (0.0, 1.0), calibration.probabilities(of_rows[0])
        apart = shares
        if kind != "none":
            values, shares = (np.nan, np.nan), np.full(shares.shape, np.nan)
            with suppress(SmpcoreError):
                values = _coefficients(calibration, kind, *of_rows)
                shares = _changed(calibration, *values).probabilities(of_rows[0])
            apart = _out_of_fold(calibration, kind, units, *of_rows)
        qualities = (
            quality
            for of in (apart, shares)
            for quality in (
                log_loss(of, *of_rows[1:]),
                brier_score(of, of_rows[1], weights=of_rows[2]).value,
            )
        )
        intercept = values[0] if outcome else -values[0]
        lines.append((kind, intercept, values[1], *qualities))
    names = ["recalibration", "intercept", "slope", "log-loss", "Brier score"]
    names += ["log-loss, apparent", "Brier score, apparent"]
    return pd.DataFrame(lines, columns=names)


def _out_of_fold(
    calibration: Calibration,
    kind: str,
    units: np.ndarray,
    scores: np.ndarray,
    y_encoded: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Probabilities of each row by a recalibration without its fold."""
    shares = np.full(scores.shape, np.nan)
    for held_out in held_out_rows(units):
        rest = chosen_rows(~held_out, scores, y_encoded, weights)
        with suppress(SmpcoreError):
            values = _coefficients(calibration, kind, *rest)
            changed = _changed(calibration, *values)
            shares[held_out] = changed.probabilities(scores[held_out])
    return shares
