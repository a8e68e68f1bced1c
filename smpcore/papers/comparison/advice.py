"""Whether to advise a method by what a table is like, learned from the comparison.

The rule was fixed before any of its regrets was computed. Candidates are the five
methods. A ridge regression with intercept, from the logarithms of training rows,
columns and classes and from the share of 0/1 columns, all standardised, gives each
method's accuracy above the mean of the five; its penalty is chosen by leave-one-out
among 0.1 to 10,000, where a large one gives the means over tables. The method with the
largest value is advised. Each table is left out in turn. Regret is how far the accuracy
of the advised method is below that of the best one there. Advice is shown only if its
mean regret is below that of the method that is best on average over the other tables,
with a 95 % interval of the paired difference that is above 0.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smpcore.datasets import Dataset, prepare
from smpcore.evaluation.differences import Difference, paired_difference
from smpcore.methods import METHODS
from smpcore.papers.comparison.experiments import EXPERIMENTS
from smpcore.papers.table import table_of
from smpcore.papers.trial_files import SHIPPED, Place

#: Penalties that leave-one-out chooses among.
_PENALTIES = np.logspace(-1, 4, 11)
TABLES = Path(__file__).with_name("tables.csv")


class Advice(NamedTuple):
    """Mean regrets over tables that were left out, in accuracy, and their difference.

    ``gain`` is how much lower the regret of the advice is; ``best`` is the method that
    is best on average.
    """

    regret: float
    regret_of_best: float
    gain: Difference
    best: str
    n_tables: int

    @property
    def in_words(self) -> str:
        """What a visitor is told, as long as the advice is not better."""
        mean, low, high = (
            f"{100 * x:+.1f}" for x in (self.gain.mean, self.gain.low, self.gain.high)
        )
        return (
            "No advice by the number of rows, columns and classes and the share of 0/1 "
            f"columns is better than trying all {len(METHODS)} methods: on "
            f"{self.n_tables} tables the advised one was {100 * self.regret:.1f} "
            f"points of accuracy below the best, {self.best} on every table "
            f"{100 * self.regret_of_best:.1f} (gain {mean}, 95 % interval {low} to "
            f"{high})."
        )


def described(dataset: Dataset, rows: np.ndarray) -> dict[str, float]:
    """What the advice knows of a table whose training rows these are."""
    X = prepare(dataset, rows).transform(dataset.frame.iloc[rows])
    return {
        "rows": len(rows),
        "columns": X.shape[1],
        "classes": len(dataset.classes),
        "share of 0/1": float(np.isin(X, (0.0, 1.0)).all(axis=0).mean()),
    }


def _inputs(tables: pd.DataFrame) -> np.ndarray:
    logs = np.log(tables[["rows", "columns", "classes"]])
    return np.column_stack([logs, tables["share of 0/1"]])


def regrets(tables: pd.DataFrame, accuracies: pd.DataFrame) -> pd.DataFrame:
    """Regrets of the advice and of one method for all, a row a table left out."""
    inputs, shares = _inputs(tables), accuracies.to_numpy()
    relative, rows = shares - shares.mean(axis=1, keepdims=True), []
    for i, values in enumerate(shares):
        others = np.arange(len(shares)) != i
        model = make_pipeline(StandardScaler(), RidgeCV(alphas=_PENALTIES))
        model.fit(inputs[others], relative[others])
        advised = model.predict(inputs[[i]])[0].argmax()
        best = shares[others].mean(axis=0).argmax()
        rows.append(values.max() - values[[advised, best]])
    return pd.DataFrame(rows, index=accuracies.index, columns=["advice", "best"])


def advice_of(numbers: pd.DataFrame) -> Advice:
    """What the rule comes to on the numbers of the comparison."""
    titles = [method.title for method in METHODS.values()]
    rows = numbers[(numbers["measure"] == "accuracy") & numbers["at"].isna()]
    accuracies = rows.pivot_table("measured", "data", "model")[titles].dropna()
    tables = pd.read_csv(TABLES, index_col="data").loc[accuracies.index]
    each = regrets(tables, accuracies)
    gain = paired_difference(each["advice"].to_numpy(), each["best"].to_numpy())
    best = accuracies.mean().idxmax().split(":")[0]
    return Advice(*each.mean(), gain, best, len(each))


@cache
def shipped_advice() -> str:
    """What follows from the numbers that the makers of this program measured.

    Returns
    -------
    str
    """
    (experiment,) = EXPERIMENTS
    return advice_of(table_of(experiment, Place(SHIPPED))).in_words
