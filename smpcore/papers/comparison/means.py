"""Means of models over data sets, and which of them none is both smaller and better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from smpcore.evaluation.pareto import on_front


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
