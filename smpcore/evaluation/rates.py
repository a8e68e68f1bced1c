"""Shares of rows with their intervals, and the predictive values made from two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from smpcore.errors import SmpcoreError
from smpcore.evaluation.clustered import effective_rows, normal_quantile
from smpcore.evaluation.scores import wilson


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
    def interval(self) -> tuple[float, float]:
        """Wilson's interval; from 0 to 1 without rows."""
        hits = self.share * self.effective if self.n else 0.0
        return wilson(hits, self.effective, self.level)


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
        Of the rows, as from `smpcore.datasets.censoring_weights`.

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
            among = rows == number
            units, masses = (
                None if of is None else of[among] for of in (clusters, weights)
            )
            counted = rate((truth == answers)[among], units, weights=masses)
            low, high = counted.interval if counted.n else (np.nan, np.nan)
            line |= {
                {"recall": "rows", "precision": "predicted"}[name]: counted.n,
                "hits": counted.hits,
                name: counted.share,
                f"{name}_low": low,
                f"{name}_high": high,
            }
        lines.append(line)
    return pd.DataFrame(lines)


def predictive_values(
    sensitivity: Rate, specificity: Rate, prevalence: float
) -> dict[str, tuple[float, float, float]]:
    """Predictive values where the positive class has a given share, by Bayes' rule.

    Their intervals are by the delta method on the logit scale, the prevalence taken as
    known (Mercaldo, Lau and Zhou, Statistics in Medicine 26, 2007, equations 8 to 11);
    where one of both shares is 0 or 1, by their adjusted estimates, which add half the
    squared normal quantile to the hits and to the misses.

    Parameters
    ----------
    sensitivity, specificity : Rate
        Of rows of the positive class, and of the others.
    prevalence : float
        Share of the positive class where the model is to be used, between 0 and 1.

    Returns
    -------
    dict
        ``positive`` and ``negative`` predictive value: share, low, high. The share is
        NaN where a class has no rows, or no row gets this answer.

    Raises
    ------
    SmpcoreError
        If the prevalence is not between 0 and 1.

    Examples
    --------
    Apolipoprotein E and Alzheimer's disease, as in the paper, at 3 % prevalence:

    >>> values = predictive_values(Rate(240, 418, 418), Rate(288, 375, 375), 0.03)
    >>> [f"{share:.3f}" for share in values["positive"]]
    ['0.071', '0.059', '0.086']
    """
    if not 0 < prevalence < 1:
        raise SmpcoreError(
            f"prevalence={prevalence:g} should be above 0 and below 1; give the share "
            "of the positive class where the model is to be used."
        )
    shares = sensitivity.share, specificity.share
    values = {
        "positive": _by_bayes(shares[0], 1 - shares[1], prevalence),
        "negative": _by_bayes(shares[1], 1 - shares[0], 1 - prevalence),
    }
    if min(sensitivity.effective, specificity.effective) <= 0:
        return {name: (share, 0.0, 1.0) for name, share in values.items()}
    at_an_end = any(share in (0.0, 1.0) for share in shares)
    (yes, n_yes), (no, n_no) = (
        _adjusted(one, at_an_end) for one in (sensitivity, specificity)
    )
    quantile = normal_quantile(sensitivity.level)
    # Odds of a right answer among all of its kind, and the variance of their logarithm.
    odds = {
        "positive": (
            yes / (1 - no) * prevalence / (1 - prevalence),
            (1 - yes) / (yes * n_yes) + no / ((1 - no) * n_no),
        ),
        "negative": (
            no / (1 - yes) * (1 - prevalence) / prevalence,
            yes / ((1 - yes) * n_yes) + (1 - no) / (no * n_no),
        ),
    }
    result = {}
    for name, (middle, variance) in odds.items():
        share, factor = values[name], np.exp(quantile * np.sqrt(variance))
        low, high = (
            float(odd / (1 + odd)) for odd in (middle / factor, middle * factor)
        )
        # The adjusted interval may end short of a share that is 0 or 1 itself.
        result[name] = share, float(np.fmin(low, share)), float(np.fmax(high, share))
    return result


def _by_bayes(right: float, wrong: float, part: float) -> float:
    """Share of the right answers among those that are given."""
    total = right * part + wrong * (1 - part)
    return right * part / total if total else np.nan


def _adjusted(rate: Rate, add: bool) -> tuple[float, float]:
    """A share and its rows, with as many added as Agresti and Coull do."""
    added = normal_quantile(rate.level) ** 2 if add else 0.0
    n = rate.effective + added
    return (rate.share * rate.effective + added / 2) / n, n
