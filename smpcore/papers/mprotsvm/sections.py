"""Sections 3 and 4: the search, the slack as a bound on errors, polynomial kernels.

The search is run with and without annealing, and with both ways to restore moved rows.
The paper leaves polynomial kernels to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import lt
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.fit import begin_run
from smpcore.methods.mprotsvm.paper_algorithm import (
    COLD,
    COOLING,
    EPSILON,
    FIRST,
    dual_of,
    search,
)
from smpcore.methods.mprotsvm.problem import SVMProblem
from smpcore.methods.shared.problem import SolverOptions
from smpcore.papers.conclusions import Claim, Holds
from smpcore.papers.experiment import Case, Experiment, Outcome, by_declared
from smpcore.papers.mprotsvm.tables import chosen
from smpcore.papers.protocols import grid_of
from smpcore.papers.sources import bundled

#: Prototypes of a class, and the price of slack.
COUNT, PRICE = 5, 1.0
#: Sweeps that the curves are shown at.
SWEEPS = (1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150)
PRINTED = {"as printed, T0 = 10": FIRST, "as printed, no annealing": 0.0}
ANNEALED, WITHOUT = PRINTED
#: Model -> first temperature, in units of C.
SOLVERS = {"whole rows, T0 = 10 C": FIRST, "whole rows, no annealing": 0.0}
_OBJECTIVE, _ERROR = "objective with best assignments", "test error"


def as_printed(
    problem: SVMProblem, T: float, C: float
) -> Iterator[tuple[int, np.ndarray]]:
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
    problem: SVMProblem, temperature: float, C: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Sweeps and prototypes at each certificate of our solver, from one start."""
    estimator = MultiPrototypeSVC(C=C, temperature=temperature, cooling=COOLING)
    options = SolverOptions(tol=1e-2, max_iter=SWEEPS[-1], record=1)
    run = begin_run(problem, estimator, options, None, (0.0, 1.0))
    run.go()
    monitor = run.candidate().monitor
    recorder = monitor.recorder
    for place, (_, M) in zip(recorder.places, recorder.states, strict=True):
        yield int(monitor.rows[place][0]), M


def best_objective(problem: SVMProblem, M: np.ndarray, C: float) -> float:
    """The objective (6) if every row is assigned to its best prototype."""
    F = problem.X @ M
    same_class = problem.prototype_labels == problem.y_encoded[:, None]
    best = np.where(same_class, F, -np.inf).max(axis=1)
    rival = np.where(same_class, -np.inf, F).max(axis=1)
    slack = np.maximum(1.0 - best + rival, 0.0)
    return float(0.5 * (M**2).sum() + C * problem.shares @ slack)


def _annealed(case: Case) -> Outcome:
    """The search on one half of the rows, its prototypes on the other."""
    rows = case.rows
    values, C = case.experiment.values, case.experiment.values["C"]
    estimator = MultiPrototypeSVC(**values, random_state=case.trial.repetition)
    problem = estimator.problem(rows.X, rows.y)
    run = as_printed if case.trial.model in PRINTED else by_rows
    states = [*run(problem, case.declared, C)]
    scaled = (rows.X_test - problem.center) / problem.scale
    X_test = np.column_stack([scaled, np.ones(len(scaled))])

    def error(M: np.ndarray) -> float:
        codes = problem.prototype_labels[(X_test @ M).argmax(axis=1)]
        return float(np.mean(problem.classes[codes] != rows.y_test))

    curves: dict[str, dict[float, float]] = {_OBJECTIVE: {}, _ERROR: {}}
    for n in SWEEPS:
        M = [M for sweeps, M in states if sweeps <= n][-1:]
        if M:
            curves[_OBJECTIVE][n] = best_objective(problem, M[0], C)
            curves[_ERROR][n] = error(M[0])
    n_sweeps, M = states[-1]
    measures = {_OBJECTIVE: best_objective(problem, M, C), _ERROR: error(M)}
    return Outcome(measures | {"sweeps": n_sweeps}, curves)


EXPERIMENTS = (
    Experiment(
        name="mprotsvm-annealing",
        where="Section 3.2",
        title="Objective and test error along the search, with and without annealing",
        values={"n_prototypes": COUNT, "C": PRICE},
        data=bundled("checkerboard", "circles", "spirals", "breast_cancer"),
        models=PRINTED | SOLVERS,
        measure=_annealed,
        repetitions=5,
        axis="sweeps over the rows",
        checks={"annealing": Claim(ANNEALED, lt, (WITHOUT,), _OBJECTIVE)},
    ),
)


#: Prototypes per class, and prices of slack that are tried.
COUNTS, PRICES = (1, 2, 3, 5, 10), (0.03, 0.1, 0.3, 1.0, 3.0)
#: Price of slack of the printed search.
C = 0.1
OURS, SEARCH = "MProtSVM", "as printed"
_ANY = "the slack of each positive prototype is at least the 0-1 loss, row by row"
_RISES = "no sweep lowers the Lagrangian"
_FALLS = "each new assignment ends at a lower primal"
_MEAN, _WHOLE = "mean slack", "objective / C, per row"


def _machine(n_prototypes: int, C: float, **more: object) -> MultiPrototypeSVC:
    return MultiPrototypeSVC(n_prototypes, C, n_init=1, **more)


def slacks(fitted: MultiPrototypeSVC, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Slack of each prototype of the row's class; infinite for rivals."""
    model = fitted.model_
    F = model.activations(X)
    same_class = fitted.classes_[model.prototype_labels] == y[:, None]
    best = np.where(same_class, -np.inf, F).max(axis=1, keepdims=True)
    return np.where(same_class, np.maximum(1.0 - F + best, 0.0), np.inf)


def _bound(case: Case) -> Outcome:
    rows, seed = case.rows, case.trial.repetition
    price = chosen(partial(_machine, 1), grid_of(C=PRICES), rows, seed)["C"]
    curves: dict[str, dict[float, float]] = {}
    holds = True
    for count in COUNTS:
        fitted = _machine(count, price, random_state=seed)
        fitted.fit(rows.X, rows.y)
        wrong = fitted.predict(rows.X) != rows.y
        xi = slacks(fitted, rows.X, rows.y)
        holds &= bool((xi >= wrong[:, None] - 1e-9).all())
        numbers = {
            _WHOLE: fitted.objective_ / (price * len(rows.y)),
            _MEAN: float(xi.min(axis=1).mean()),
            "training error": float(wrong.mean()),
            "test error": 1.0 - rows.test_accuracy(fitted),
        }
        for name, value in numbers.items():
            curves.setdefault(name, {})[count] = value
    values = {"n_prototypes": COUNTS[-1], "C": price, "n_init": 1}
    return Outcome({_ANY: holds, "C": price}, curves, "mprotsvm", values)


def _search(case: Case) -> Outcome:
    """Lagrangian and primal along the printed search without annealing."""
    rows, seed = case.rows, case.trial.repetition
    problem = _machine(3, C, random_state=seed).problem(rows.X, rows.y)
    dual, R = dual_of(problem, C), len(problem.prototype_labels)
    random = np.random.RandomState(problem.seed)
    run = search(dual, problem.assignment, R, (0.0, 0.0, 0.0), random)
    rises, lagrangian, primal, endings = True, 0.0, np.inf, []
    for n_sweeps, phase, A, tied, _ in run:
        B = dual.signed(A, tied)
        value = float(A.sum() - 0.5 * (B * (dual.K @ B)).sum())
        if phase == "sweep":
            rises &= value >= lagrangian - 1e-9
            primal = dual.primal(A, tied)
        elif n_sweeps:
            endings.append(primal)
        lagrangian = value
    # Rows are optimised to a difference of gradients: so far from the least primal.
    rounding = EPSILON * float(dual.limits.sum())
    falls = (np.diff([*endings, primal]) <= rounding).all()
    counts = {"assignments": len(endings), "primal": primal}
    return Outcome({_RISES: rises, _FALLS: falls} | counts)


_DATA = ("iris", "wine", "breast_cancer", "digits")
EXPERIMENTS += (
    Experiment(
        name="mprotsvm-bound",
        where="Sections 3, 3.1 and 3.2",
        title="The slack as a bound on errors, and what each step improves",
        data=bundled(*_DATA),
        models={OURS: _bound, SEARCH: _search},
        measure=by_declared,
        repetitions=3,
        axis="prototypes per class",
        checks={
            "slack": Holds(_ANY, (OURS,)),
            "Lagrangian": Holds(_RISES, (SEARCH,)),
            "primal": Holds(_FALLS, (SEARCH,)),
        },
    ),
)


#: Degrees, the experiment's axis, and prices of slack that are tried at each.
DEGREES, FEW_PRICES = (1, 2, 3, 4, 5), (0.1, 1.0, 10.0)


def _pairs(degree: int, C: float) -> Any:
    machine = SVC(C=C, kernel="poly", degree=degree, gamma="auto", coef0=1.0)
    return make_pipeline(StandardScaler(), machine)


def _polynomial(n_prototypes: int, degree: int, C: float) -> MultiPrototypeSVC:
    return MultiPrototypeSVC(n_prototypes, C, "poly", degree=degree, n_init=1)


#: Model -> what makes it from a degree and a price of slack.
MODELS = {
    "MProtSVM, 1 prototype per class": partial(_polynomial, 1),
    "MProtSVM, 3 prototypes per class": partial(_polynomial, 3),
    "SVM of pairs of classes": _pairs,
}


def _by_degree(case: Case) -> Outcome:
    rows, error = case.rows, {}
    measures: dict[str, float] = {}
    for degree in DEGREES:
        make = partial(case.declared, degree)
        values = chosen(make, grid_of(C=FEW_PRICES), rows, case.trial.repetition)
        fitted = make(**values).fit(rows.X, rows.y)
        error[degree] = 1.0 - rows.test_accuracy(fitted)
        measures[f"C, degree {degree}"] = values["C"]
    return Outcome(measures, {"test error": error})


EXPERIMENTS += (
    Experiment(
        name="mprotsvm-polynomial",
        where="Section 4",
        title="Test error of polynomial kernels by their degree",
        data=bundled("wine", "digits", "checkerboard"),
        models=MODELS,
        measure=_by_degree,
        repetitions=3,
        axis="degree",
    ),
)
