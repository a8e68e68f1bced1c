"""Claims of a paper that compare classifiers: each is 1 where it holds, else 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from smpcore.datasets import Dataset
from smpcore.papers.experiment import Reported

#: Model of an experiment whose measures are claims about all of its models.
CLAIMS = "claims"
#: ``measure(dataset, model, repetition)``: measures of one division of the rows.
Measure = Callable[[Dataset, str, int], Mapping[str, float]]


def once_per_dataset(function: Callable[..., Any]) -> Callable[..., Any]:
    """Remember what a function of a data set, and more, has returned.

    Claims are about the same fits as their models: what a process has measured, it does
    not measure again.
    """
    known: dict[tuple[Any, ...], Any] = {}

    @wraps(function)
    def remembered(dataset: Dataset, *more: Any) -> Any:
        key = dataset.digest, *more
        if key not in known:
            known[key] = function(dataset, *more)
        return known[key]

    return remembered


def mean_measures(
    measure: Measure, dataset: Dataset, model: str, n_halves: int
) -> dict[str, float]:
    """Means over several divisions of the rows."""
    measured = [measure(dataset, model, repetition) for repetition in range(n_halves)]
    first = next(iter(measured[0]))
    means = {
        name: float(np.mean([one[name] for one in measured])) for name in measured[0]
    }
    spread = float(np.std([one[first] for one in measured], ddof=1))
    return means | {f"{first}, standard deviation": spread}


def reported_claims(data: str, *claims: str) -> tuple[Reported, ...]:
    """Claims that the paper makes of a data set: 1 each."""
    return tuple(Reported(data, CLAIMS, one, 1.0) for one in claims)
