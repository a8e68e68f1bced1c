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


def best_in_words(means: pd.DataFrame, score: str, ours: set[str]) -> str:
    """The best mean of all models, and that of ours, in a sentence."""
    best = means.index[0]
    text = f"{best} has the best mean {score}, {means[score].iloc[0]:.3f}"
    if best in ours:
        return f"{text}."
    best_of_ours = next((name for name in means.index if name in ours), None)
    return (
        f"{text}; of ours {best_of_ours} has, {means.loc[best_of_ours, score]:.3f}."
        if best_of_ours
        else text
    )


def front_in_words(means: pd.DataFrame, score: str, size: str, ours: set[str]) -> str:
    """Which models are on the front, and which of ours are not, in sentences."""
    front = means[means[f"front, {size}"]].sort_values(size)
    listed = ", ".join(
        f"{name} ({row[size]:,.0f}, {row[score]:.3f})" for name, row in front.iterrows()
    )
    text = f"No model is both smaller in {size} and better on average than {listed}."
    behind = []
    for name in means.index:
        if name in ours and name not in front.index:
            smaller = front[front[size] <= means.loc[name, size]]
            better = smaller.index[smaller[score].argmax()]
            behind.append(f"{name} (by {better})")
    return text + (f" Of ours, beaten in both: {', '.join(behind)}." if behind else "")
