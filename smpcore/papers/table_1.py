"""What Table 1 of SMP and that of SMaLL share: small data sets, accuracies, their form.

Numbers to predict are cut at their mean, as in OpenML's binary versions. The target is
the last column.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from smpcore.papers.experiment import Case, Outcome, Reported
from smpcore.papers.protocols import accuracy
from smpcore.papers.sources import of_openml

#: Columns that only name the rows.
_NAMES = {
    "analcatdata_bankruptcy": ("Company",),
    "sleuth_case1201": ("state",),
    "humandevel": ("country",),
    "analcatdata_election2000": ("County",),
    "analcatdata_cyyoung9302": ("Pitcher",),
    "chscase_funds": ("col_1",),
    "vineyard": ("row_number",),
}
#: Name -> its number at OpenML: with a number to predict, or cut at its mean there.
_OPENML = {
    "analcatdata_asbestos": 459,
    "analcatdata_bankruptcy": 476,
    "analcatdata_cyyoung9302": 479,
    "analcatdata_election2000": 527,
    "analcatdata_michiganacc": 551,
    "baskball": 214,
    "chscase_funds": 801,
    "diggle_table_a1": 817,
    "elusage": 228,
    "humandevel": 924,
    "hutsof99_logis": 804,
    "prnn_synth": 464,
    "rabe_148": 894,
    "rabe_265": 780,
    "rabe_266": 663,
    "rmftsa_ctoarrivals": 686,
    "sleuth_case1201": 892,
    "sleuth_case2002": 665,
    "sleuth_ex1605": 687,
    "sleuth_ex1714": 659,
    "sleuth_ex2016": 682,
    "vineyard": 192,
    "visualizing_environmental": 678,
}

#: Targets of those whose last column is not the usual guess.
_TARGETS = {
    "analcatdata_michiganacc": "Accidents",
    "elusage": "average_electricity_usage",
    "hutsof99_logis": "Quality",
    "rmftsa_ctoarrivals": "arrivals",
    "sleuth_case2002": "CD",
    "sleuth_ex2016": "kl",
}

#: Name -> where it comes from.
TABLE_1 = {
    name: of_openml(
        number, name, target=_TARGETS.get(name, ""), dropped=_NAMES.get(name, ())
    )
    for name, number in _OPENML.items()
}


def read_accuracies(path: Path) -> tuple[Reported, ...]:
    """Printed accuracies: a line for each data set, a column for each model."""
    text = path.read_text("utf-8")
    return tuple(
        Reported(row["data"], model, "accuracy", *map(float, row[model].split("±")))
        for row in csv.DictReader(text.splitlines())
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
    share = accuracy(fitted, rows.X_test, rows.y_test)
    return Outcome({"accuracy": share}, method=method, values=values if method else {})
