"""Section 3.2: the search with and without annealing, and how moved rows are restored.

Aiolli, Sperduti: Multi-prototype Support Vector Machine. IJCAI 2003.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from smpcore.datasets import Dataset, load_dataset
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.paper_algorithm import COLD, dual_of, search
from smpcore.methods.mprotsvm.problem import SVMParameters, SVMProblem
from smpcore.methods.mprotsvm.starts import descend_from
from smpcore.methods.shared.problem import SolverOptions
from smpcore.papers.claims import CLAIMS, once_per_dataset, reported_claims
from smpcore.papers.experiment import Experiment, Outcome, Trial
from smpcore.papers.protocols import halves
from smpcore.papers.sources import Source

#: Prototypes of a class, and the price of slack.
COUNT, C = 5, 1.0
#: First temperature of the paper, and the factor that it does not print.
HOT, COOLING = 10.0, 0.8
#: Sweeps that the curves are shown at.
SWEEPS = (1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150)
N_DRAWN = 5
PRINTED = {"as printed, T0 = 10": HOT, "as printed, no annealing": 0.0}
#: Model -> first temperature, in units of C, and restoration.
SOLVERS = {
    "whole rows, T0 = 10 C": (HOT, "transfer"),
    "whole rows, no annealing": (0.0, "transfer"),
    "whole rows, T0 = 10 C, moved rows at 0": (HOT, "zero"),
    "whole rows, no annealing, moved rows at 0": (0.0, "zero"),
}
_LOWER = "annealing ends at a lower objective"
_OBJECTIVE, _ERROR = "objective with best assignments", "test error"


def as_printed(problem: SVMProblem, T: float) -> Iterator[tuple[int, np.ndarray]]:
    """Sweeps and prototypes after each sweep of the paper's search."""
    dual, R = dual_of(problem, C), len(problem.prototype_labels)
    random = np.random.RandomState(problem.seed)
    temperatures = T, COOLING, COLD * C
    for n, phase, A, tied, _ in search(
        dual, problem.assignment, R, temperatures, random
    ):
        if n > SWEEPS[-1]:
            return
        if phase == "sweep":
            yield n, problem.X.T @ dual.signed(A, tied)


def by_rows(
    problem: SVMProblem, temperature: float, restore: str
) -> Iterator[tuple[int, np.ndarray]]:
    """Sweeps and prototypes at each certificate of our solver, from one start."""
    parameters = SVMParameters(C, temperature, COOLING, "random", 1, restore=restore)
    options = SolverOptions(tol=1e-2, max_iter=SWEEPS[-1], record=1)
    monitor = descend_from(problem, parameters, options, None, (0.0, 1.0)).monitor
    recorder = monitor.recorder
    for place, (_, M) in zip(recorder.places, recorder.states, strict=True):
        yield int(monitor.rows[place][0]), M


def best_objective(problem: SVMProblem, M: np.ndarray) -> float:
    """The objective (6) if every row is assigned to its best prototype."""
    F = problem.X @ M
    same_class = problem.prototype_labels == problem.y_encoded[:, None]
    best = np.where(same_class, F, -np.inf).max(axis=1)
    rival = np.where(same_class, -np.inf, F).max(axis=1)
    slack = np.maximum(1.0 - best + rival, 0.0)
    return float(0.5 * (M**2).sum() + C * problem.shares @ slack)


@once_per_dataset
def measured(dataset: Dataset, model: str, repetition: int) -> Outcome:
    """The search on one half of the rows, its prototypes on the other."""
    rows = halves(dataset, repetition)
    estimator = MultiPrototypeSVC(COUNT, C, random_state=repetition)
    problem = estimator.problem(rows.X, rows.y)
    if model in PRINTED:
        states = [*as_printed(problem, PRINTED[model])]
    else:
        states = [*by_rows(problem, *SOLVERS[model])]
    scaled = (rows.X_test - problem.center) / problem.scale
    X_test = np.column_stack([scaled, np.ones(len(scaled))])

    def error(M: np.ndarray) -> float:
        codes = problem.prototype_labels[(X_test @ M).argmax(axis=1)]
        return float(np.mean(problem.classes[codes] != rows.y_test))

    objective, errors = [], []
    for n in SWEEPS:
        M = [M for sweeps, M in states if sweeps <= n][-1:]
        if M:
            objective.append((float(n), best_objective(problem, M[0])))
            errors.append((float(n), error(M[0])))
    n_sweeps, M = states[-1]
    measures = {_OBJECTIVE: best_objective(problem, M), _ERROR: error(M)}
    measures["sweeps"] = float(n_sweeps)
    return Outcome(measures, {_OBJECTIVE: objective, _ERROR: errors})


def _run(trial: Trial, dataset: Dataset) -> Outcome:
    if trial.model != CLAIMS:
        return measured(dataset, trial.model, trial.repetition)
    hot, cold = (
        np.mean([measured(dataset, m, r).measures[_OBJECTIVE] for r in range(N_DRAWN)])
        for m in PRINTED
    )
    return Outcome({_LOWER: float(hot < cold)})


_DATA = ("checkerboard", "circles", "spirals", "breast_cancer")
EXPERIMENTS = (
    Experiment(
        name="mprotsvm-annealing",
        paper="mprotsvm",
        where="Section 3.2",
        title="Objective and test error along the search, with and without annealing",
        protocol=(
            f"{COUNT} prototypes per class, C = {C:g}, five random halves, each with a "
            "start of its own. As printed: pairs of variables, rows that move to "
            f"another prototype start at 0, T is {HOT:g} at first, {COOLING:g} times "
            "as much after each sweep (the factor is not printed), and 0 below C / 50. "
            "Whole rows is our solver from the same start, without its further starts "
            "and splits, to a gap of 1 %; T is in units of C, and rows that move take "
            "their variables along or start at 0. A curve ends with its search: its "
            "last value is kept; 150 sweeps at most. The claim is of means as printed."
        ),
        data={
            key: Source(make=partial(load_dataset, key), bundled=key) for key in _DATA
        },
        models=(*PRINTED, *SOLVERS, CLAIMS),
        run=_run,
        repetitions=N_DRAWN,
        axis="sweeps over the rows",
        reported=tuple(one for key in _DATA for one in reported_claims(key, _LOWER)),
    ),
)
