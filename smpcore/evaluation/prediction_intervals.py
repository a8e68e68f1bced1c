"""Intervals around a predicted number: how wide, and how many rows they cover.

The interval of a row goes from m(x) - w b(x) to m(x) + w a(x): m is the prediction, a
and b are its `spread` above and below, and w is a quantile of scaled residuals, see
`half_widths`. The spread is a function of the prediction, one of `SPREADS`:

- constant: 1, so that all intervals are equally wide;
- residual size: the mean absolute residual of rows with a similar prediction, which
  makes normalised residuals (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, JASA 113,
  2018, section 5.2);
- residual quantiles: the 5 % and 95 % quantile of the residual by linear quantile
  regression, after Romano, Patterson and Candes (NeurIPS 2019); as a ratio, which
  keeps an interval from being empty (Sesia and Candes, Stat 9, 2020).

The spread of a row is learned on other folds of the rows, as its residual is. The one
is taken whose coverage in the quarters of the predictions is nowhere far from what it
should be, on folds that w was not learned from; of equal ones the narrower. Below
`FEW_ROWS` independent rows it is constant: a choice needs more rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from smpcore.errors import SmpcoreError
from smpcore.evaluation.scores import chosen_rows, kish_rows, rate
from smpcore.model import Calibration, PrototypeModel
from smpcore.model.calibration import FEW_ROWS, N_WIDTHS, spread_at
from smpcore.readouts import COVERAGE

#: An interval of 90 % takes that many independent residuals: below, it is infinite.
FEWEST_CLUSTERS = 9


def half_widths(
    residuals: np.ndarray, clusters: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Half-widths of the intervals that cover 1, 2, ..., 99 % of the rows.

    Each of the G clusters (groups; single rows where they are independent) has the mass
    1 / (G + 1), spread evenly over its rows, and 1 / (G + 1) lies at infinity; a
    half-width is a quantile of that. Of single rows it is the usual
    ceil(c (n + 1))-th smallest residual; of groups the hierarchical method of Lee,
    Barber and Willett (arXiv 2306.06342). Weights share out the mass of a group; of
    single rows they share out that of all, and G is their `kish_rows`.

    *Guarantee for one model and rows that it did not learn from* (split conformal): a
    random row of a new cluster is covered with probability c at least. Proof: take the
    c-quantile Q of the residuals of all G + 1 clusters, each with its mass. Clusters
    are exchangeable, so the expected share of the new cluster's rows with a residual
    of at most Q is the mean over all clusters, which is at least c. To move the new
    cluster's mass to infinity only raises the quantile.

    *Guarantee here.* The residuals are those of K models, each fitted without a fold,
    pooled; the interval surrounds the answer m(x) of the model of all rows. For this no
    theorem gives c; in practice it is met (a test counts it). What holds of n single
    rows in equal folds, with a = 1 - c, half-width w and fold models m_k, for any e:

        P(|Y - m(X)| <= w + e)
            >= 1 - 2 a - 2 (1 - 1/K) / (n/K + 1) - P(max_k |m_k(X) - m(X)| > e).

    Proof: if |Y - m(X)| > w + e, and no fold's model differs by more than e, then
    |Y - m_k(X)| > w for every k. At least c (n + 1) residuals are at most w, so Y is
    not in the cross-conformal set, which has the probability 1 - 2 a -
    2 (1 - 1/K) / (n/K + 1) at least (Vovk, Nouretdinov, Manokhin and Gammerman, COPA
    2018; Barber, Candes, Ramdas and Tibshirani, Annals of Statistics 49, 2021,
    Theorem 4). With a time column rows are not exchangeable: blocks count as clusters,
    and nothing is guaranteed where the future differs from the past.
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    weights = np.ones(len(residuals)) if weights is None else weights
    sizes = np.bincount(cluster, weights)
    units = sizes if len(sizes) == len(residuals) else np.ones(len(sizes))
    n_units = kish_rows(units)
    if n_units < FEWEST_CLUSTERS:
        raise SmpcoreError(
            f"{n_units:.3g} independent training rows or groups have an out-of-fold "
            f"residual, a 90 % interval should have at least {FEWEST_CLUSTERS}; give "
            "training more of them."
        )
    order = np.argsort(residuals, kind="stable")
    mass = np.cumsum((weights * (units / sizes)[cluster])[order])
    mass /= units.sum() * (1 + 1 / n_units)
    coverages = np.arange(1, N_WIDTHS + 1) / 100
    # A sum of masses that is exactly the coverage may be rounded below it.
    places = np.searchsorted(mass, coverages - 1e-9)
    return np.append(residuals[order], np.inf)[places]


#: Calibrations are compared on so many folds of the rows.
N_FOLDS = 5


def held_out_rows(clusters: np.ndarray) -> list[np.ndarray]:
    """Which rows each fold holds out; those of a cluster are in one."""
    _, unit = np.unique(clusters, return_inverse=True)
    order = np.random.default_rng(0).permutation(int(unit.max()) + 1)
    fold = (order % N_FOLDS)[unit]
    return [fold == number for number in np.unique(fold)]


def learn_intervals(
    predicted: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray,
    weights: np.ndarray | None = None,
) -> Calibration:
    """Learn the intervals of a regression from predictions out of fold.

    Parameters
    ----------
    predicted, y : ndarray of shape (n_samples,)
        Predictions of models that have not seen the row, and the true numbers.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    Calibration
        Its ``losses`` are, for each of `SPREADS`, by how much the coverage of a quarter
        misses at most; empty where the rows are too few to compare.
    """
    residuals, n = y - predicted, len(y)
    constant = half_widths(np.abs(residuals), clusters, weights)
    usual = Calibration(n, half_widths=constant)
    if len(np.unique(clusters)) < FEW_ROWS or not residuals.any():
        return usual
    of_rows = clusters, np.ones(n) if weights is None else weights
    learned, order = [], []
    for spread in _LEARNED:
        scaled = _scaled_out_of_fold(spread, predicted, residuals, *of_rows)
        whole = spread(predicted, residuals, of_rows[1])
        widths = half_widths(scaled, clusters, weights)
        learned.append(Calibration(n, half_widths=widths, spread=whole))
        miss = _largest_miss(scaled, predicted, clusters, weights)
        low, high = learned[-1].interval(predicted, COVERAGE).T
        order.append((round(miss, 9), np.average(high - low, weights=weights)))
    best = min(range(len(order)), key=order.__getitem__)
    return replace(learned[best], losses=np.array([miss for miss, _ in order]))


def _scaled_out_of_fold(
    learn: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    predicted: np.ndarray,
    residuals: np.ndarray,
    clusters: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Residuals in units of a spread that was learned without their fold."""
    scaled = np.empty(len(residuals))
    for held_out in held_out_rows(clusters):
        spread = learn(*chosen_rows(~held_out, predicted, residuals, weights))
        below, above = spread_at(spread, predicted[held_out])
        residual = residuals[held_out]
        scaled[held_out] = np.maximum(residual / above, -residual / below)
    return scaled


def _largest_miss(
    scaled: np.ndarray,
    predicted: np.ndarray,
    clusters: np.ndarray,
    weights: np.ndarray | None,
) -> float:
    """How far the coverage of a quarter of the predictions is off, on held-out rows."""
    inside = np.empty(len(scaled), dtype=bool)
    for held_out in held_out_rows(clusters):
        widths = half_widths(*chosen_rows(~held_out, scaled, clusters, weights))
        inside[held_out] = scaled[held_out] <= widths[round(100 * COVERAGE) - 1]
    quarter, of_all = quarters(predicted), weights
    shares = [
        np.average(inside[rows], weights=None if of_all is None else of_all[rows])
        for rows in (quarter == number for number in np.unique(quarter))
    ]
    return float(np.abs(np.array(shares) - COVERAGE).max())


#: Points of a spread at most, and rows for each of them at least.
_MOST_POINTS, _ROWS_OF_POINT = 10, 25
#: A spread is nowhere a smaller share of its mean.
_LEAST_SHARE = 0.1
#: A quantile regression of more rows takes long; they are evenly spread ones.
_MOST_ROWS = 2000


def _no_spread(*_: np.ndarray) -> np.ndarray:
    return np.empty(0)


def _parts(predicted: np.ndarray) -> list[np.ndarray]:
    """Rows in order of their prediction, in parts of about equally many."""
    n_parts = int(np.clip(len(predicted) // _ROWS_OF_POINT, 1, _MOST_POINTS))
    return np.array_split(np.argsort(predicted, kind="stable"), n_parts)


def _residual_size(
    predicted: np.ndarray, residuals: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Mean absolute residual of parts of the rows."""
    sizes = np.abs(residuals)
    mean, points = np.average(sizes, weights=weights), {}
    for rows in _parts(predicted):
        size = np.average(sizes[rows], weights=weights[rows])
        points[float(np.median(predicted[rows]))] = max(size, _LEAST_SHARE * mean)
    return np.array([[*points], [*points.values()], [*points.values()]])


def _residual_quantiles(
    predicted: np.ndarray, residuals: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Quantiles of the residual, linear in the prediction."""
    from sklearn.linear_model import QuantileRegressor

    points = np.unique([np.median(predicted[rows]) for rows in _parts(predicted)])
    order = np.argsort(predicted, kind="stable")
    evenly = np.linspace(0, len(order) - 1, min(len(order), _MOST_ROWS)).astype(int)
    rows, unit = order[evenly], np.ptp(predicted) or 1.0
    size, curves = np.average(np.abs(residuals), weights=weights), []
    for sign, share in ((-1, (1 - COVERAGE) / 2), (1, (1 + COVERAGE) / 2)):
        fit = QuantileRegressor(quantile=share, alpha=0.0)
        # Without units linear programmes have tolerances that mean something.
        fit.fit(predicted[rows, None] / unit, residuals[rows] / size, weights[rows])
        quantile = sign * size * fit.predict(points[:, None] / unit)
        curves.append(np.maximum(quantile, _LEAST_SHARE * size))
    return np.stack([points, *curves])


#: How each of `SPREADS` is learned.
_LEARNED = _no_spread, _residual_size, _residual_quantiles


def quarters(predicted: np.ndarray) -> np.ndarray:
    """Number of the quarter by prediction of each row; equal ones are in one."""
    return np.searchsorted(np.quantile(predicted, [0.25, 0.5, 0.75]), predicted)


#: Shares of the rows that intervals are checked at.
COVERAGES = (0.5, 0.8, 0.9, 0.95)


def interval_coverage(
    model: PrototypeModel,
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
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
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    DataFrame
        ``coverage``, ``narrowest`` and ``widest`` interval in the target's unit,
        ``share`` covered, ``low`` and ``high`` (Wilson's 95 % interval of the share),
        ``covered`` and ``rows``.
    """
    lines = []
    for coverage in COVERAGES:
        low, high = model.intervals(X, coverage).T
        inside = (low <= y) & (y <= high)
        covered = rate(inside, clusters, weights=weights)
        widths, shares = high - low, covered.estimate[:3]
        of_widths = widths.min(), widths.max()
        lines.append((coverage, *of_widths, *shares, covered.hits, covered.n))
    names = ["coverage", "narrowest", "widest", "share", "low", "high"]
    names += ["covered", "rows"]
    return pd.DataFrame(lines, columns=names)


def quartile_coverage(
    model: PrototypeModel,
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """How many rows of each quarter by prediction the usual interval covers.

    An interval that is as wide for every row covers too few where the model errs more.

    Parameters
    ----------
    model : PrototypeModel
        Regression with a calibration.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows that the model has not learned from.
    y : ndarray of shape (n_samples,)
        True number of each row.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    DataFrame
        ``least`` and ``most`` prediction of a quarter, ``share`` covered, ``low`` and
        ``high`` (Wilson's 95 % interval), ``covered`` and ``rows``. The same
        predictions are in one quarter, so that there may be fewer than four.
    """
    predicted, lines = model.predict(X), []
    low, high = model.intervals(X, COVERAGE).T
    inside = (low <= y) & (y <= high)
    edges = np.quantile(predicted, [0.25, 0.5, 0.75])
    quarters = np.searchsorted(edges, predicted)
    for quarter in np.unique(quarters):
        rows = quarters == quarter
        of_rows = [None if of is None else of[rows] for of in (clusters, weights)]
        covered = rate(inside[rows], of_rows[0], weights=of_rows[1])
        limits, shares = predicted[rows], covered.estimate[:3]
        lines.append((limits.min(), limits.max(), *shares, covered.hits, covered.n))
    names = ["least", "most", "share", "low", "high", "covered", "rows"]
    return pd.DataFrame(lines, columns=names)
