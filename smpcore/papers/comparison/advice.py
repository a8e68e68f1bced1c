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

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smpcore.evaluation.differences import paired_difference
from smpcore.methods import METHODS
from smpcore.papers.comparison.experiments import EXPERIMENTS
from smpcore.papers.table import table_of
from smpcore.papers.trial_files import SHIPPED, Place

#: Penalties that leave-one-out chooses among.
_PENALTIES = np.logspace(-1, 4, 11)
TABLES = Path(__file__).with_name("tables.csv")


def regrets(tables: pd.DataFrame, accuracies: pd.DataFrame) -> np.ndarray:
    """Regrets of the advice and of one method for all, a row a table left out."""
    logs, shares = np.log(tables.drop(columns="share of 0/1")), accuracies.to_numpy()
    inputs = np.column_stack([logs, tables["share of 0/1"]])
    relative, rows = shares - shares.mean(axis=1, keepdims=True), []
    for i, values in enumerate(shares):
        others = np.arange(len(shares)) != i
        model = make_pipeline(StandardScaler(), RidgeCV(alphas=_PENALTIES))
        model.fit(inputs[others], relative[others])
        advised = model.predict(inputs[[i]])[0].argmax()
        best = shares[others].mean(axis=0).argmax()
        rows.append(values.max() - values[[advised, best]])
    return np.array(rows)


@cache
def shipped_advice() -> str:
    """What a visitor is told, as long as the advice is not better: measured by us.

    Returns
    -------
    str
    """
    titles = [method.title for method in METHODS.values()]
    numbers = table_of(EXPERIMENTS[0], Place(SHIPPED)).query("measure == 'accuracy'")
    accuracies = numbers.pivot_table("measured", "data", "model")[titles]
    tables = pd.read_csv(TABLES, index_col="data").loc[accuracies.index]
    advised, best = 100 * regrets(tables, accuracies).T
    gain = paired_difference(advised, best)
    return (
        "No advice by the number of rows, columns and classes and the share of 0/1 "
        f"columns is better than trying all {len(METHODS)} methods: on {len(best)} "
        f"tables the advised one was {advised.mean():.1f} points of accuracy below the "
        f"best, {accuracies.mean().idxmax()} on every table {best.mean():.1f} (gain "
        f"{gain.mean:+.1f}, 95 % interval {gain.low:+.1f} to {gain.high:+.1f})."
    )
