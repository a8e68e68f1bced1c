"""The five papers: their algorithms as printed, and their experiments.

``EXPERIMENTS`` holds the papers' tables and figures: what is reported, and how it is
measured here (``python -m smpcore.papers list``).

The algorithms, as printed, are in readable NumPy: for teaching.

Each file opens with a table of the paper's symbols and says where the print had to be
mended to run at all. Nothing here is fast, and some of it does not converge: that is
what it is for. What a fit uses is in `smpcore.solvers`.

``PRINTED[key](estimator, problem, n_steps)`` runs the algorithm of a method of
`METHODS` on the rows of ``problem = estimator.problem(X, y)`` and returns each state
with its objective, in the units of our solver (but see ``OTHER_OBJECTIVES``), and the
model that it is:

>>> from sklearn.datasets import load_iris
>>> from smpcore import SMPClassifier
>>> X, y = load_iris(return_X_y=True)
>>> estimator = SMPClassifier()
>>> steps = PRINTED["smp"](estimator, estimator.problem(X, y), n_steps=200)
>>> steps[-1].objective > 1.5 * estimator.fit(X, y).objective_
True
"""

from collections.abc import Callable
from typing import Any

from smpcore.papers import comparison, imkpl, mprotsvm, small, smp, supersparse
from smpcore.papers.comparison import Comparison, compared
from smpcore.papers.experiment import Experiment, Outcome, Reported, Trial, by_name
from smpcore.papers.imkpl.printed import other_objective, printed_imkpl
from smpcore.papers.mprotsvm.printed import printed_mprotsvm
from smpcore.papers.results import (
    MEASURED_HERE,
    SHIPPED,
    Measured,
    Place,
    begin_process,
    missing_data,
    path_of,
    read_measured,
    run_experiment,
    together,
)
from smpcore.papers.small.printed import printed_small
from smpcore.papers.smp.printed import printed_smp
from smpcore.papers.sources import MissingDataError, Source
from smpcore.papers.steps import PrintedStep, as_step
from smpcore.papers.supersparse.printed import printed_supersparse
from smpcore.papers.table import compare, overview, table_of

PRINTED: dict[str, Callable[..., tuple[PrintedStep, ...]]] = {
    "smp": printed_smp,
    "smallk": printed_small,
    "mprotsvm": printed_mprotsvm,
    "supersparse": printed_supersparse,
    "imkpl": printed_imkpl,
}

#: Where a paper may minimise something else than our solver: what, in a sentence.
OTHER_OBJECTIVES: dict[str, Callable[[Any], str]] = {"imkpl": other_objective}

EXPERIMENTS: tuple[Experiment, ...] = (
    *smp.EXPERIMENTS,
    *small.EXPERIMENTS,
    *mprotsvm.EXPERIMENTS,
    *supersparse.EXPERIMENTS,
    *imkpl.EXPERIMENTS,
    *comparison.EXPERIMENTS,
)

__all__ = [
    "EXPERIMENTS",
    "MEASURED_HERE",
    "OTHER_OBJECTIVES",
    "PRINTED",
    "SHIPPED",
    "Comparison",
    "Experiment",
    "Measured",
    "MissingDataError",
    "Outcome",
    "Place",
    "PrintedStep",
    "Reported",
    "Source",
    "Trial",
    "as_step",
    "begin_process",
    "by_name",
    "compare",
    "compared",
    "missing_data",
    "overview",
    "path_of",
    "read_measured",
    "run_experiment",
    "table_of",
    "together",
]
