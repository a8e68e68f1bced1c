"""Intervals around predicted numbers, from out-of-fold residuals."""

from __future__ import annotations

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.model.calibration import N_WIDTHS

#: An interval of 90 % takes that many independent residuals: below, it is infinite.
FEWEST_CLUSTERS = 9


def half_widths(residuals: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Half-widths of the intervals that cover 1, 2, ..., 99 % of the rows.

    Each of the G clusters (groups; single rows where they are independent) has the mass
    1 / (G + 1), spread evenly over its rows, and 1 / (G + 1) lies at infinity; a
    half-width is a quantile of that. Of single rows it is the usual
    ceil(c (n + 1))-th smallest residual; of groups the hierarchical method of Lee,
    Barber and Willett (arXiv 2306.06342).

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
    _, cluster, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    if len(sizes) < FEWEST_CLUSTERS:
        raise SmpcoreError(
            f"{len(sizes)} independent training rows or groups have an out-of-fold "
            f"residual, a 90 % interval should have at least {FEWEST_CLUSTERS}; give "
            "training more of them."
        )
    order = np.argsort(residuals, kind="stable")
    mass = np.cumsum(1 / sizes[cluster[order]]) / (len(sizes) + 1)
    coverages = np.arange(1, N_WIDTHS + 1) / 100
    # A sum of masses that is exactly the coverage may be rounded below it.
    places = np.searchsorted(mass, coverages - 1e-9)
    return np.append(residuals[order], np.inf)[places]
