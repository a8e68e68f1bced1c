"""How many rows a study should have whose model predicts about as well as this one.

The criteria are those of Riley, Ensor, Snell et al. (BMJ 368, 2020, m441), whose
formulas for two classes are in Statistics in Medicine 38, 2019, 1276, and for numbers
in the same volume, 1262. They are for a regression with as many parameters as there are
candidates of predictors. A model of several prototypes has more weights than that: rows
that they ask for are the least.
"""

from __future__ import annotations

import math

import pandas as pd
from scipy.optimize import brentq

from smpcore.datasets import Preparation
from smpcore.errors import SmpcoreError

#: Shrinkage that is aimed at, and by how much R2 may be too large.
SHRINKAGE, OPTIMISM = 0.9, 0.05
#: Half-width of the interval of the overall risk.
HALF_WIDTH = 0.05
#: Of the largest R2 that there can be, where nothing is known of it.
USUAL_SHARE = 0.15
#: Rows beside parameters for a residual standard deviation within 10 %.
_FOR_DEVIATION = 234


def candidate_parameters(preparation: Preparation) -> int:
    """Count candidates of predictors: 1 of a number, levels less 1 of a category.

    Parameters
    ----------
    preparation : Preparation
        Of the training rows; columns that the model does not use count, too.

    Returns
    -------
    int
    """
    return sum(
        max(1, len(one.levels) - 1) if one.kind == "category" else one.width
        for one in preparation.inputs
    )


def largest_r2(prevalence: float) -> float:
    """Largest Cox-Snell R2 that a model of two classes can have.

    Parameters
    ----------
    prevalence : float
        Share of the rows with the event, between 0 and 1.

    Returns
    -------
    float

    Examples
    --------
    >>> round(largest_r2(0.174), 3)
    0.603
    """
    return 1 - math.exp(-2 * entropy(prevalence))


def entropy(prevalence: float) -> float:
    """Log-loss where every row has the same risk, the share of the event.

    Parameters
    ----------
    prevalence : float
        Share of the rows with the event, between 0 and 1.

    Returns
    -------
    float
    """
    if not 0 < prevalence < 1:
        raise SmpcoreError(f"prevalence={prevalence:g} should be between 0 and 1.")
    rest = 1 - prevalence
    return -prevalence * math.log(prevalence) - rest * math.log(rest)


def cox_snell_r2(loss: float, prevalence: float) -> float:
    """R2 of Cox and Snell, from the mean log-loss of a model of two classes.

    Parameters
    ----------
    loss : float
        Mean log-loss, corrected for optimism.
    prevalence : float
        Share of the rows with the event, between 0 and 1.

    Returns
    -------
    float
        Not above 0 where the model is no better than the share of the event.
    """
    return 1 - math.exp(-2 * (entropy(prevalence) - loss))


def rows_for_classes(
    parameters: int, prevalence: float, r2: float | None = None
) -> pd.DataFrame:
    """Rows that a study of an event should have, by three criteria.

    Parameters
    ----------
    parameters : int
        Candidates of predictors.
    prevalence : float
        Share of the rows with the event, between 0 and 1.
    r2 : float, optional
        Cox-Snell R2 that is expected; by default `USUAL_SHARE` of the largest.

    Returns
    -------
    DataFrame
        For each criterion ``criterion`` and ``rows``; the study should have the
        largest of these.

    Raises
    ------
    SmpcoreError
        If there are no parameters, or R2 is not between 0 and its largest value.

    Examples
    --------
    >>> rows_for_classes(24, 0.174, 0.288)["rows"].tolist()
    [623, 662, 221]
    """
    most = largest_r2(prevalence)
    r2 = USUAL_SHARE * most if r2 is None else r2
    _check(parameters, r2, most)
    needed = [
        _for_shrinkage(parameters, r2, SHRINKAGE),
        _for_shrinkage(parameters, r2, r2 / (r2 + OPTIMISM * most)),
        (1.96 / HALF_WIDTH) ** 2 * prevalence * (1 - prevalence),
    ]
    return _criteria(
        needed,
        f"shrinkage {SHRINKAGE:g}: predictions are hardly too extreme",
        f"R² too large by at most {OPTIMISM:g} (Nagelkerke's)",
        f"overall risk to within {HALF_WIDTH:g}",
    )


def expected_shrinkage(rows: float, parameters: int, r2: float) -> float:
    """Calibration slope on new rows that a regression of so many rows should have.

    Parameters
    ----------
    rows : float
        Rows to learn from.
    parameters : int
        Candidates of predictors.
    r2 : float
        Cox-Snell R2, between 0 and 1.

    Returns
    -------
    float
        The rows of `rows_for_classes` are those with `SHRINKAGE`.

    Examples
    --------
    >>> round(expected_shrinkage(662, 24, 0.288), 3)
    0.905
    """
    _check(parameters, r2, 1.0)

    def lacking(shrinkage: float) -> float:
        return parameters / rows - (shrinkage - 1) * math.log(1 - r2 / shrinkage)

    low = r2 * (1 + 1e-12)
    return low if lacking(low) >= 0 else float(brentq(lacking, low, 1.0))


def rows_for_numbers(parameters: int, r2: float) -> pd.DataFrame:
    """Rows that a study of a number should have, by three criteria.

    The fourth of Riley et al., a precise mean, depends on the mean and is left out.

    Parameters
    ----------
    parameters : int
        Candidates of predictors.
    r2 : float
        Share of the variance that is explained, adjusted or corrected for optimism.

    Returns
    -------
    DataFrame
        As that of `rows_for_classes`.

    Raises
    ------
    SmpcoreError
        If there are no parameters, or R2 is not between 0 and 1.

    Examples
    --------
    >>> rows_for_numbers(25, 0.2)["rows"].tolist()
    [918, 401, 259]
    """
    _check(parameters, r2, 1.0)

    def lacking(n: float) -> float:
        apparent = (r2 * (n - parameters - 1) + parameters) / (n - 1)
        return 1 + (parameters - 2) / (n * math.log(1 - apparent)) - SHRINKAGE

    first = last = parameters + 2.0
    while lacking(last) < 0:
        last *= 2
    needed = [
        last if last == first else brentq(lacking, first, last),
        1 + parameters * (1 - r2) / OPTIMISM,
        _FOR_DEVIATION + parameters,
    ]
    return _criteria(
        needed,
        f"shrinkage {SHRINKAGE:g}: predictions are hardly too extreme",
        f"R² too large by at most {OPTIMISM:g}",
        "residual standard deviation to within 10 %",
    )


def _check(parameters: int, r2: float, most: float) -> None:
    if parameters < 1:
        raise SmpcoreError(f"parameters={parameters} should be at least 1.")
    if not 0 < r2 < most:
        raise SmpcoreError(f"r2={r2:g} should be between 0 and {most:.3g}.")


def _for_shrinkage(parameters: int, r2: float, shrinkage: float) -> float:
    return parameters / ((shrinkage - 1) * math.log(1 - r2 / shrinkage))


def _criteria(needed: list[float], *names: str) -> pd.DataFrame:
    rows = [math.ceil(n - 1e-9) for n in needed]
    return pd.DataFrame({"criterion": names, "rows": rows})
