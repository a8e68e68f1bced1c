"""Where a binary model says yes: its threshold, and the band in which it is not sure.

The *margin* of a row is the score of the model's outcome minus that of the other class,
less the model's `tie` where the outcome is the second class, more where it is the
first; a model says yes above its threshold, which is 0 as it was fitted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from smpcore.errors import SmpcoreError
from smpcore.evaluation.scores import (
    WILSON,
    Rate,
    chosen_rows,
    kish_rows,
    rate,
    wilson,
)
from smpcore.model import PrototypeModel
from smpcore.readouts import Estimate


def margins(model: PrototypeModel, X: np.ndarray) -> np.ndarray:
    """How much more the outcome scores than the other class; above 0: the answer.

    Parameters
    ----------
    model : PrototypeModel
        Of two classes.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows to be scored; one column for each feature.

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    SmpcoreError
        If the model has not two classes.
    """
    if model.classes is None or len(model.classes) != 2:
        raise SmpcoreError(
            "A threshold needs a model of two classes; choose such data on Data."
        )
    scores = model.scores(X)
    return _direction(model) * (scores[:, 1] - (scores[:, 0] + model.tie))


def _direction(model: PrototypeModel) -> int:
    """Of a margin or a threshold: equal scores are answered by the first class."""
    return 1 if model.outcome else -1


def operating_points(
    margin: np.ndarray, truth: np.ndarray, weights: np.ndarray | None = None
) -> pd.DataFrame:
    """Every threshold that answers these rows differently, with what it does.

    Parameters
    ----------
    margin : ndarray of shape (n_samples,)
        Score of the outcome minus that of the other class, from `margins`.
    truth : ndarray of bool, shape (n_samples,)
        Whether a row is positive.
    weights : ndarray of shape (n_samples,), optional
        Of the rows; all columns are weighted then.

    Returns
    -------
    DataFrame
        ``threshold`` ascending, halfway between two margins (so that no row stands on
        it); ``sensitivity``, ``specificity``, ``precision`` (NaN where the answer is
        never yes), ``false_positives``, ``false_negatives``.

    Raises
    ------
    SmpcoreError
        Where one of both classes has no row.
    """
    from sklearn.metrics import roc_curve

    truth = np.asarray(truth, dtype=bool)
    if truth.all() or not truth.any():
        raise SmpcoreError(
            "These rows hold one class only; a threshold takes rows of both. Give "
            "validation a larger share on Data."
        )
    fpr, tpr, edges = roc_curve(
        truth, margin, sample_weight=weights, drop_intermediate=False
    )
    weights = np.ones(len(truth), np.int64) if weights is None else weights
    n_positive, n_negative = weights[truth].sum(), weights[~truth].sum()
    hits, alarms = tpr * n_positive, fpr * n_negative
    if weights.dtype.kind == "i":
        hits, alarms = np.rint(hits).astype(int), np.rint(alarms).astype(int)
    low, high = margin.min(), margin.max()
    around = max(high - low, 1e-6)
    edges = np.concatenate([[high + around], edges[1:], [low - around]])
    with np.errstate(invalid="ignore"):
        precision = hits / (hits + alarms)
    return pd.DataFrame(
        {
            "threshold": (edges[:-1] + edges[1:]) / 2,
            "sensitivity": tpr,
            "specificity": 1 - fpr,
            "precision": precision,
            "false_positives": alarms,
            "false_negatives": n_positive - hits,
        }
    )[::-1].reset_index(drop=True)


def rates_at(
    margin: np.ndarray,
    truth: np.ndarray,
    threshold: float = 0.0,
    band: float = 0.0,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> dict[str, Rate]:
    """Sensitivity and specificity of rows that took no part in choosing a threshold.

    Parameters
    ----------
    margin : ndarray of shape (n_samples,)
        Score of the outcome minus that of the other class, from `margins`.
    truth : ndarray of bool, shape (n_samples,)
        Whether each row is positive.
    threshold, band : float
        Rows within the band count for neither rate.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    dict of str to Rate
        ``sensitivity`` and ``specificity``: the right answers among the rows.
    """
    truth = np.asarray(truth, dtype=bool)
    right, sure = (margin > threshold) == truth, np.abs(margin - threshold) > band
    rates = {}
    for name, kind in (("sensitivity", truth), ("specificity", ~truth)):
        hits, units, masses = chosen_rows(kind & sure, right, clusters, weights)
        rates[name] = rate(hits, units, weights=masses)
    return rates


def roc_area(
    margin: np.ndarray,
    truth: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Estimate:
    """Area under the ROC curve: how often a positive row lies above a negative one.

    The interval is DeLong's (Biometrics 1988) on the logit scale, as Pepe (2003, 5.2)
    advises near 1, by Student's t with the rows of the rarer class, of weighted rows
    with as many as `kish_rows`; rows of one cluster
    count together as in Obuchowski (Biometrics 1997). Where all pairs are in order, or
    none is, nothing varies, and the interval is Wilson's for as many rows as the rarer
    class has: the variance is never larger than that share's (Birnbaum and Klose,
    Annals of Mathematical Statistics 1957). With the weights of a question of time to
    event it is the cumulative/dynamic area at the horizon (Uno et al., Journal of the
    American Statistical Association 102, 2007); the interval takes them as known.

    Parameters
    ----------
    margin : ndarray of shape (n_samples,)
        Score of the outcome minus that of the other class, from `margins`.
    truth : ndarray of bool, shape (n_samples,)
        Whether each row is positive.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Estimate
        NaN without rows of both classes; it says which of both intervals it is.
    """
    truth = np.asarray(truth, dtype=bool)
    n_yes, n_no = int(truth.sum()), int((~truth).sum())
    if not n_yes or not n_no:
        return Estimate(np.nan)
    is_clustered = clusters is not None
    clusters = clusters if is_clustered else np.arange(len(truth))
    weights = np.ones(len(truth)) if weights is None else weights
    above = np.empty(len(truth))
    above[truth] = _share_below(margin, truth, weights)
    above[~truth] = _share_below(-margin, ~truth, weights)
    share = float(np.average(above[truth], weights=weights[truth]))
    _, place = np.unique(clusters, return_inverse=True)
    n_units, parts, there, effective = place.max() + 1, [], [], []
    for kind in (truth, ~truth):
        of_kind = weights[kind]
        sums = np.bincount(place[kind], of_kind * (above[kind] - share), n_units)
        parts.append(sums / of_kind.sum())
        there.append(len(np.unique(place[kind])))
        effective.append(there[-1] * kish_rows(of_kind) / kind.sum())
    variance = 0.0
    if min(there) > 1:
        variance = 2 * np.dot(*parts) * n_units / (n_units - 1)
        for part, n in zip(parts, there, strict=True):
            variance += part @ part * n / (n - 1)
    # Weighted sums of pairs that are all in order may be rounded below 1.
    if variance <= 0 or not 1e-12 < share < 1 - 1e-12:
        rarer = min(effective)
        interval = wilson(share * rarer, rarer)
        return Estimate(share, *interval, f"{WILSON} for the rows of the rarer class")
    # The rarer class says how well the variance is known.
    known = there if is_clustered else effective
    quantile = stdtrit(max(min(known) - 1, 1), 0.975)
    spread = quantile * np.sqrt(variance) / (share * (1 - share))
    middle = np.log(share / (1 - share))
    low, high = (1 / (1 + np.exp(-(middle + sign * spread))) for sign in (-1, 1))
    return Estimate(share, float(low), float(high), "DeLong's, logit")


def _share_below(
    margin: np.ndarray, kind: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Share of the rows of the other kind that lie below each row of this kind."""
    values, place = np.unique(margin, return_inverse=True)
    others = np.bincount(place, weights * ~kind, len(values))
    below = np.cumsum(others) - others / 2  # equal margins count half
    return below[place[kind]] / weights[~kind].sum()


def threshold_for_sensitivity(points: pd.DataFrame, wanted: float) -> float:
    """The highest threshold that still finds this share of the positive rows.

    Parameters
    ----------
    points : DataFrame
        From `operating_points`.
    wanted : float
        Least share of the positive rows that is found, from 0 to 1.

    Returns
    -------
    float
    """
    return float(points["threshold"][points["sensitivity"] >= wanted].max())


def threshold_for_cost(points: pd.DataFrame, miss: float, alarm: float) -> float:
    """The threshold at which these rows cost least; of several the one nearest to 0.

    Parameters
    ----------
    points : DataFrame
        From `operating_points`.
    miss, alarm : float
        Price of a positive row that is missed, and of a negative one that is not.

    Returns
    -------
    float

    Raises
    ------
    SmpcoreError
        If a price is negative, or both are 0.
    """
    if min(miss, alarm) < 0 or miss == alarm == 0:
        raise SmpcoreError(
            f"The prices miss={miss:g} and alarm={alarm:g} should not be negative, and "
            "one of them above 0."
        )
    cost = miss * points["false_negatives"] + alarm * points["false_positives"]
    cheapest = points["threshold"][cost <= cost.min() * (1 + 1e-12)]
    return float(cheapest.iloc[cheapest.abs().argmin()])


def reject_curve(
    margin: np.ndarray,
    truth: np.ndarray,
    threshold: float = 0.0,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """What a band of "not sure" around the threshold leaves, and how wrong that is.

    Parameters
    ----------
    margin : ndarray of shape (n_samples,)
        Score of the outcome minus that of the other class, from `margins`.
    truth : ndarray of bool, shape (n_samples,)
        Whether each row is positive.
    threshold : float
        Margin above which the answer is positive; the middle of the band.
    weights : ndarray of shape (n_samples,), optional
        Of the rows; numbers of rows are sums of them then.

    Returns
    -------
    DataFrame
        ``band`` ascending from 0 (half its width; rows that lie in it get no answer),
        ``answered`` (rows), ``coverage`` (their share), ``errors``, ``error`` (their
        share of the answered rows).
    """
    distance = np.abs(margin - threshold)
    wrong = (margin > threshold) != np.asarray(truth, dtype=bool)
    order = np.argsort(distance, kind="stable")
    distance, wrong = distance[order], wrong[order]
    weights = np.ones(len(order), np.int64) if weights is None else weights[order]
    last = np.flatnonzero(np.append(np.diff(distance) > 0, False))
    bands = np.concatenate([[0.0], (distance[last] + distance[last + 1]) / 2])
    first = np.searchsorted(distance, bands, side="right")
    answered, errors = (
        np.append(np.cumsum(of_row[::-1])[::-1], 0)[first]
        for of_row in (weights, weights * wrong)
    )
    frame = pd.DataFrame({"band": bands, "answered": answered, "errors": errors})
    frame["coverage"] = frame["answered"] / weights.sum()
    frame["error"] = frame["errors"] / frame["answered"].where(frame["answered"] > 0)
    return frame


def band_for_error(curve: pd.DataFrame, wanted: float) -> float:
    """The narrowest band outside which at most this share of the answers is wrong.

    Parameters
    ----------
    curve : DataFrame
        From `reject_curve`.
    wanted : float
        Largest allowed share of wrong answers, from 0 to 1.

    Returns
    -------
    float

    Raises
    ------
    SmpcoreError
        If no band does that.
    """
    good = curve["band"][curve["error"] <= wanted]
    if not len(good):
        raise SmpcoreError(
            f"No band leaves at most {100 * wanted:g} % errors: the rows that this "
            "model is surest of are among the wrong ones. Allow more errors."
        )
    return float(good.iloc[0])


def at_threshold(
    model: PrototypeModel, threshold: float, band: float = 0.0
) -> PrototypeModel:
    """The same model with another threshold: it is an intercept, so C honours it.

    Probabilities stay as they are.

    Parameters
    ----------
    model : PrototypeModel
        Of two classes.
    threshold : float
        The margin from which on the answer is the outcome.
    band : float
        Half the width of the band of margins around it in which the model is not sure.

    Returns
    -------
    PrototypeModel

    Raises
    ------
    SmpcoreError
        If the model cannot have an intercept.
    """
    if threshold and model.code_size:
        raise SmpcoreError(
            "This model explains an input by its prototypes and has no intercept, so "
            "its threshold stays at 0; a band is possible."
        )
    intercept, shift = np.array(model.intercept), _direction(model) * threshold
    intercept[1] -= shift
    calibration = model.calibration
    if calibration is not None:
        calibration = calibration.after_shift(1, shift)
    moved = {"intercept": intercept, "calibration": calibration}
    return replace(model, band=float(band), **moved)
