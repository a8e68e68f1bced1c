"""What Table 1 of SMP and that of SMaLL share: small data sets, accuracies, their form.

Numbers to predict are cut at their mean, as in OpenML's binary versions. The target is
the last column.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from smpcore.papers.conclusions import read_rows
from smpcore.papers.experiment import Case, Outcome, Reported
from smpcore.papers.sources import of_openml

#: Name -> where it comes from: a number at OpenML, with a number to predict or cut at
#: its mean there; a target that is not the usual guess; a column that names the rows.
TABLE_1 = {
    row["data"]: of_openml(
        int(row["openml"]),
        row["data"],
        target=row["target"],
        dropped=tuple(row["dropped"].split()),
    )
    for row in read_rows(Path(__file__).with_name("openml.csv"))
}


def read_accuracies(path: Path) -> tuple[Reported, ...]:
    """Printed accuracies: a line for each data set, a column for each model."""
    return tuple(
        Reported(row["data"], model, "accuracy", *map(float, row[model].split("±")))
        for row in read_rows(path)
        for model in row
        if model != "data"
    )


def tabled_accuracy(case: Case) -> Outcome:
    """Accuracy on the test rows of a `Fit`, at its best setting."""
    rows, method = case.rows, case.declared.method
    try:
        values, fitted = case.declared.chosen(rows, case.trial.repetition)
    except np.linalg.LinAlgError:  # QDA, where a class has hardly any rows
        return Outcome({"accuracy": np.nan})
    share = rows.test_accuracy(fitted)
    return Outcome({"accuracy": share}, method=method, values=values if method else {})
