"""Measures of a model of two classes: each counted once, for pages and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smpcore.evaluation.operating import roc_area
from smpcore.evaluation.scores import predictive_value, rate
from smpcore.readouts import READOUTS, Shown, number_text

#: Name of all classes but one.
REST = "all other classes"


def two_class_measures(
    truth: np.ndarray,
    predicted: np.ndarray,
    margin: np.ndarray,
    names: Sequence[str],
    prevalence: float | None = None,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> list[Shown]:
    """Count sensitivity, specificity, predictive values, accuracy, coverage and AUC.

    Parameters
    ----------
    truth : ndarray of int, shape (n_samples,)
        0 where a row is of the outcome, 1 of the other class, -1 of neither.
    predicted : ndarray of int, shape (n_samples,)
        0 or 1 where that class is predicted, 2 where the model is not sure.
    margin : ndarray of shape (n_samples,)
        Score of the outcome minus that of the other class; of one class against the
        rest, minus the highest of theirs.
    names : sequence of str
        Of both classes, the outcome first; the second one is `REST` where it is all
        others of a model of more classes.
    prevalence : float, optional
        Share of the outcome where the model is to be used; by default that of the rows.
    clusters, weights : ndarray of shape (n_samples,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    list of Shown
        Rows that the model is not sure of are in the denominator of no measure but the
        coverage and both rates of a predictive value; predictive values and the area
        are left out where a class has no rows.
    """
    known, sure = truth >= 0, predicted < 2
    outside = "" if sure.all() else " outside the band"

    def share(hits: np.ndarray, of: np.ndarray) -> Any:
        dependence = (None if one is None else one[of] for one in (clusters, weights))
        clustered, weighted = dependence
        return rate(hits[of], clustered, weights=weighted)

    def counted(name: str, hits: np.ndarray, of: np.ndarray, words: str) -> Shown:
        one = share(hits, of)
        rows = f"{one.hits:,} of {one.n:,} {words}" if one.n else f"no {words}"
        return Shown(name, one.estimate, rows)

    right, kinds = truth == predicted, [truth == place for place in (0, 1)]
    measures = [
        counted(name, right, kind & sure, f"rows of {names[place]}{outside}")
        for place, (name, kind) in enumerate(
            zip(("Sensitivity (recall)", "Specificity"), kinds, strict=True)
        )
    ]
    if prevalence is None:
        prevalence = share(kinds[0], known).share
    for place, part in enumerate((prevalence, 1 - prevalence)):
        if 0 < prevalence < 1:
            rates = [share(predicted == place, kinds[k]) for k in (place, 1 - place)]
            name = f"{('Positive', 'Negative')[place]} predictive value"
            words = f"rows predicted {names[place]}, at a prevalence of "
            words += number_text(prevalence)
            value = predictive_value(*rates, part)
            measures.append(Shown(name, value, words, absent="none predicted"))
    accuracy = READOUTS["accuracy"].label
    measures.append(counted(accuracy, right, known & sure, f"rows{outside}"))
    if outside:
        measures.append(counted("Coverage", sure, known, "rows"))
    of_rows = (None if one is None else one[known] for one in (clusters, weights))
    area = roc_area(margin[known], kinds[0][known], *of_rows)
    if np.isfinite(area.value):
        words = "at every threshold"
        words += f": all {known.sum():,} rows, without a band" if outside else ""
        name = "AUC"
        if REST in names:
            name = "AUC, one against the rest"
            words += " of the margin, its score minus the highest other score"
        measures.append(Shown(name, area, words, unit=""))
    return measures
