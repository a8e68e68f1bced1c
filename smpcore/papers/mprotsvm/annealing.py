"""Section 3.2: the search with and without annealing; how moved rows are restored."""

from __future__ import annotations

from collections.abc import Iterator
from operator import lt

import numpy as np

from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.fit import descend_from
from smpcore.methods.mprotsvm.paper_algorithm import COLD, dual_of, search
from smpcore.methods.mprotsvm.problem import SVMParameters, SVMProblem
from smpcore.methods.shared.problem import SolverOptions
from smpcore.papers.conclusions import Claim
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.sources import bundled

#: Prototypes of a class, and the price of slack.
COUNT, C = 5, 1.0
#: First temperature of the paper, and the factor that it does not print.
HOT, COOLING = 10.0, 0.8
#: Sweeps that the curves are shown at.
SWEEPS = (1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150)
PRINTED = {"as printed, T0 = 10": HOT, "as printed, no annealing": 0.0}
ANNEALED, WITHOUT = PRINTED
#: Model -> first temperature, in units of C.
SOLVERS = {"whole rows, T0 = 10 C": HOT, "whole rows, no annealing": 0.0}
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
    problem: SVMProblem, temperature: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Sweeps and prototypes at each certificate of our solver, from one start."""
    parameters = SVMParameters(C, temperature, COOLING, "random", 1)
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


def measured(case: Case) -> Outcome:
    """The search on one half of the rows, its prototypes on the other."""
    rows = case.rows
    estimator = MultiPrototypeSVC(COUNT, C, random_state=case.trial.repetition)
    problem = estimator.problem(rows.X, rows.y)
    run = as_printed if case.trial.model in PRINTED else by_rows
    states = [*run(problem, case.declared)]
    scaled = (rows.X_test - problem.center) / problem.scale
    X_test = np.column_stack([scaled, np.ones(len(scaled))])

    def error(M: np.ndarray) -> float:
        codes = problem.prototype_labels[(X_test @ M).argmax(axis=1)]
        return float(np.mean(problem.classes[codes] != rows.y_test))

    curves: dict[str, dict[float, float]] = {_OBJECTIVE: {}, _ERROR: {}}
    for n in SWEEPS:
        M = [M for sweeps, M in states if sweeps <= n][-1:]
        if M:
            curves[_OBJECTIVE][n] = best_objective(problem, M[0])
            curves[_ERROR][n] = error(M[0])
    n_sweeps, M = states[-1]
    measures = {_OBJECTIVE: best_objective(problem, M), _ERROR: error(M)}
    return Outcome(measures | {"sweeps": n_sweeps}, curves)


EXPERIMENTS = (
    Experiment(
        name="mprotsvm-annealing",
        where="Section 3.2",
        title="Objective and test error along the search, with and without annealing",
        protocol=(
            f"{COUNT} prototypes per class, C = {C:g}, five random halves, each with a "
            "start of its own. As printed: pairs of variables, rows that move to "
            f"another prototype start at 0, T is {HOT:g} at first, {COOLING:g} times "
            "as much after each sweep (the factor is not printed), and 0 below C / 50. "
            "Whole rows is our solver from the same start, without its further starts "
            "and splits, to a gap of 1 %; T is in units of C, and rows that move take "
            "their variables along. A curve ends with its search: its "
            "last value is kept; 150 sweeps at most."
        ),
        values={"n_prototypes": COUNT, "C": C},
        data=bundled("checkerboard", "circles", "spirals", "breast_cancer"),
        models=PRINTED | SOLVERS,
        measure=measured,
        repetitions=5,
        axis="sweeps over the rows",
        checks={"annealing": Claim(ANNEALED, lt, (WITHOUT,), _OBJECTIVE)},
    ),
)
