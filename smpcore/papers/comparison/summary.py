"""What a comparison of models comes to: ranks, means, and both in sentences."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from smpcore.methods import METHODS
from smpcore.papers.comparison.means import model_means
from smpcore.papers.comparison.ranks import Ranks, conclusion, mean_ranks
from smpcore.papers.experiment import Experiment


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models over the data sets that all of them were measured on.

    Parameters
    ----------
    ranks : Ranks
        By the measure that the experiment names.
    means : DataFrame
        As of `model_means`, and ``mean rank``.
    ours : frozenset of str
        Names of the methods of this program.
    conclusion : str
        What follows from the ranks.
    """

    ranks: Ranks
    means: pd.DataFrame
    ours: frozenset[str]
    conclusion: str


def _short(title: str) -> str:
    """A method's name without what explains it."""
    return title.split(":")[0]


def compared(experiment: Experiment, table: pd.DataFrame) -> Comparison:
    """Sum up an experiment whose models are ranked.

    Parameters
    ----------
    experiment : Experiment
        With a measure in `ranked`.
    table : DataFrame
        Its numbers, from `smpcore.papers.compare`.

    Returns
    -------
    Comparison

    Raises
    ------
    SmpcoreError
        If there are too few models or data sets to rank.
    """
    table = table.assign(model=table["model"].map(_short))
    score = experiment.ranked
    ours = {_short(method.title) for method in METHODS.values()}
    ranks = mean_ranks(table, score)
    means = model_means(table, score, experiment.sizes)
    return Comparison(
        ranks=ranks,
        means=means.assign(**{"mean rank": ranks.mean}),
        ours=frozenset(ours),
        conclusion=conclusion(ranks, ours),
    )
