"""The slack as a bound on errors, and what the text says of the search's steps."""

from __future__ import annotations

from functools import partial

import numpy as np

from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.mprotsvm.paper_algorithm import EPSILON, dual_of, search
from smpcore.papers.conclusions import Holds
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.mprotsvm.tables import chosen
from smpcore.papers.protocols import accuracy, grid_of
from smpcore.papers.sources import bundled

#: Prototypes per class, and prices of slack that are tried.
COUNTS, PRICES = (1, 2, 3, 5, 10), (0.03, 0.1, 0.3, 1.0, 3.0)
#: Price of slack of the printed search.
C = 0.1
OURS, PRINTED = "MProtSVM", "as printed"
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
            "test error": 1.0 - accuracy(fitted, rows.X_test, rows.y_test),
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


def _run(case: Case) -> Outcome:
    return case.declared(case)


_DATA = ("iris", "wine", "breast_cancer", "digits")
EXPERIMENTS = (
    Experiment(
        name="mprotsvm-bound",
        where="Sections 3, 3.1 and 3.2",
        title="The slack as a bound on errors, and what each step improves",
        protocol=(
            "Three random halves; C is chosen with one prototype per class on a "
            f"quarter of the training half among {', '.join(map(str, PRICES))}. The "
            "mean slack with best assignments is at least the training error, the "
            "objective over C at least the mean slack; the test error has no such "
            "bound. The slack is that of each positive prototype and training row, the "
            "steps are those of the search as printed, three prototypes per class, "
            f"C = {C}, no annealing, but for its precision."
        ),
        data=bundled(*_DATA),
        models={OURS: _bound, PRINTED: _search},
        measure=_run,
        repetitions=3,
        axis="prototypes per class",
        checks={
            "slack": Holds(_ANY, (OURS,)),
            "Lagrangian": Holds(_RISES, (PRINTED,)),
            "primal": Holds(_FALLS, (PRINTED,)),
        },
    ),
)
