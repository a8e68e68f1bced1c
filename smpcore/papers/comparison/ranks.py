"""What a comparison of models comes to: ranks, means, and both in sentences.

Friedman's test and Nemenyi's critical difference after Demšar: Statistical Comparisons
of Classifiers over Multiple Data Sets. JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from smpcore.errors import SmpcoreError
from smpcore.evaluation.pareto import on_front
from smpcore.methods import METHODS
from smpcore.papers.experiment import Experiment

#: Of Friedman's test and of the critical difference.
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks of models, 1 for the best."""

    mean: pd.Series
    n_sets: int
    p_value: float
    critical: float

    @property
    def groups(self) -> list[list[str]]:
        """Largest sets of models, by rank, that do not clearly differ."""
        names, values = list(self.mean.index), self.mean.to_numpy()
        limits = np.searchsorted(values, values + self.critical, side="right")
        spans = [names[i:end] for i, end in enumerate(limits)]
        return [
            one for i, one in enumerate(spans) if not i or limits[i] > limits[i - 1]
        ]


def mean_ranks(table: pd.DataFrame, measure: str, larger: bool = True) -> Ranks:
    """Rank the models on every data set that all of them were measured on."""
    rows = table[(table["measure"] == measure) & table["measured"].notna()]
    # Files hold six digits: equal accuracies are equal in fewer.
    values = rows.pivot_table("measured", "data", "model").dropna().round(5)
    n_sets, n_models = values.shape
    if n_models < 3 or n_sets < 5:
        raise SmpcoreError(
            f"{n_models} models on {n_sets} data sets are too few to rank: measure "
            "three on five at least."
        )
    ranks = values.rank(axis="columns", ascending=not larger)
    p_value = stats.friedmanchisquare(*values.to_numpy().T).pvalue
    spread = np.sqrt(n_models * (n_models + 1) / (6.0 * n_sets))
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_models, np.inf) / np.sqrt(2)
    mean = ranks.mean().sort_values(kind="stable")
    return Ranks(mean, n_sets, float(p_value), float(quantile * spread))


def conclusion(ranks: Ranks, ours: set[str]) -> str:
    """What the ranks say, in sentences."""
    names = list(ranks.mean.index)
    best = names[0]
    near = ranks.groups[0]
    text = (
        f"On {ranks.n_sets} data sets {best} has the best mean rank, "
        f"{ranks.mean.iloc[0]:.2f} of {len(names)}. "
    )
    if ranks.p_value >= LEVEL:
        return text + (
            f"Friedman's test finds no difference between the models "
            f"(p = {ranks.p_value:.2g})."
        )
    text += (
        f"Friedman's test finds differences (p = {ranks.p_value:.2g}); mean ranks "
        f"within {ranks.critical:.2f} do not clearly differ. "
    )
    level = [name for name in near[1:] if name in ours or best in ours]
    lost = [name for name in names if name in ours and name not in near]
    if level:
        text += f"Not clearly behind {best}: {', '.join(level)}. "
    if lost:
        text += f"Clearly behind it: {', '.join(lost)}."
    return text.strip()


def model_means(
    table: pd.DataFrame, score: str, sizes: Sequence[str] = ()
) -> pd.DataFrame:
    """Average each measure over the data sets that all models were measured on."""
    rows = table[table["measured"].notna() & table["at"].isna()]
    values = rows.pivot_table("measured", ["data", "model"], "measure")
    complete = values[score].unstack().dropna().index
    values = values.loc[complete]
    logs = values.assign(**{size: np.log(values[size].clip(lower=1)) for size in sizes})
    means = logs.groupby("model", sort=False).mean().sort_values(score, ascending=False)
    means = means.assign(**{size: np.exp(means[size]) for size in sizes})
    y = means[score].to_numpy()
    fronts = {f"front, {one}": on_front(means[one].to_numpy(), y) for one in sizes}
    return means.assign(**fronts)


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
