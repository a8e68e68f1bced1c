"""The five papers: the algorithms as printed, and the experiments.

``EXPERIMENTS`` holds the papers' tables and figures: what is reported, and how it is
measured here (``python -m smpcore.papers list``).

The algorithms, as printed, are in readable NumPy: for teaching.

Each file opens with a table of the paper's symbols and says where the print had to be
mended to run at all. Nothing here is fast, and some of it does not converge: that is
what it is for. What a fit uses is in `kernel.py`, beside each `paper_algorithm.py`.

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

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

from smpcore.methods import METHODS
from smpcore.methods.shared.paper_steps import PrintedStep, as_step
from smpcore.papers import conclusions
from smpcore.papers.comparison.experiments import shipped_advice
from smpcore.papers.comparison.rivals import beside_methods
from smpcore.papers.conclusions import VERDICTS
from smpcore.papers.experiment import Experiment, by_name
from smpcore.papers.findings import (
    Comparison,
    compare,
    compared,
    conclusions_table,
    differences,
    first_line,
    overview,
    table_of,
)
from smpcore.papers.note import hardly_fails, note
from smpcore.papers.readings import beside, other_readings
from smpcore.papers.trial_files import (
    SHIPPED,
    Measured,
    Place,
    missing_data,
    path_of,
    read_measured,
    run_experiment,
)

_ALGORITHMS = {
    key: import_module(f"smpcore.methods.{key}.paper_algorithm") for key in METHODS
}

PRINTED: dict[str, Callable[..., tuple[PrintedStep, ...]]] = {
    key: algorithm.run_as_printed for key, algorithm in _ALGORITHMS.items()
}

#: Where a paper may minimise something else than our solver: what, in a sentence.
OTHER_OBJECTIVES: dict[str, Callable[[Any], str]] = {
    key: algorithm.other_objective
    for key, algorithm in _ALGORITHMS.items()
    if hasattr(algorithm, "other_objective")
}

#: Key of a method, or "all" -> its folder, and the modules that declare experiments.
_MODULES = {
    "smp": ("smp", "table_1", "sparsity", "convergence"),
    "smallk": ("small", "table_1", "sparsity", "convergence", "budget"),
    "mprotsvm": ("mprotsvm", "tables", "sections"),
    "supersparse": ("supersparse", "figures", "regression"),
    "imkpl": ("imkpl", "tables", "figures"),
    "all": ("comparison", "experiments"),
}

_DECLARED = {
    one.name: replace(
        one,
        paper=paper,
        protocol=conclusions.protocol_of(one.name, vars(module)),
    )
    for paper, (folder, *names) in _MODULES.items()
    for module in (import_module(f"smpcore.papers.{folder}.{name}") for name in names)
    for one in module.EXPERIMENTS
}


def _with_others() -> Iterator[Experiment]:
    """Each experiment with those of its other readings, which follow it."""
    for one in _DECLARED.values():
        others = tuple(_DECLARED[name] for name in beside(one.name))
        anew = other_readings(replace(one, others=others))
        readings = (anew,) if anew else ()
        yield replace(one, others=(*others, *readings))
        yield from readings


EXPERIMENTS: tuple[Experiment, ...] = tuple(_with_others())
