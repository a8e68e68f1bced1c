"""Section 3: both propositions, the rate O(1/t), and what 200 steps are worth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smp import SMPClassifier
from smpcore.methods.smp.paper_algorithm import (
    algorithm_2,
    cluster_centres,
    difference_matrix,
    loss_gradient,
    objective,
    printed_curvature,
    printed_norm,
    step_lengths,
)
from smpcore.methods.smp.problem import SMPProblem, solve_problem
from smpcore.papers.conclusions import Holds, Numbers, where_known
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.sources import bundled

#: Steps at which the objective is looked at.
STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000)
#: Model -> step lengths, loss, and whether it starts at the cluster centres.
RUNS = {
    "Algorithm 2, printed steps": ("printed", "smooth", False),
    "Algorithm 2, printed steps, from cluster centres": ("printed", "smooth", True),
    "Algorithm 2, printed steps, from cluster centres, max loss": (
        "printed",
        "max",
        True,
    ),
    "Algorithm 2, longer safe steps": ("tight", "smooth", False),
    "Algorithm 2, longer safe steps, max loss": ("tight", "max", False),
}
OURS = "proximal gradient (ours)"
_AFTER, _ABOVE = (
    "objective after 200 steps, above the optimum",
    "objective above the optimum",
)
_RATE = "O(1/t) bound holds for the averages"


def _estimator(loss: str = "smooth") -> SMPClassifier:
    return SMPClassifier(lam=0.01, mu=0.005, bias=False, loss=loss)


def _optimum(problem: SMPProblem, estimator: SMPClassifier) -> tuple[np.ndarray, float]:
    """Prototypes within 1e-5 of the optimum, and a certified lower bound on it."""
    options = SolverOptions(tol=1e-5, max_iter=50_000)
    solution = solve_problem(problem, estimator, options)
    return solution.W, float(solution.objective[-1] - solution.gap[-1])


def rate_constant(
    problem: SMPProblem, lam: float, steps: tuple[float, float], best: np.ndarray
) -> float:
    """C of Chambolle and Pock's bound: P(mean of W_1 ... W_t) - P(W*) <= C / t.

    From W = 0 and V = 0, every row of V in the unit ball of l1, so that |V|^2 <= b.
    """
    (tau, sigma), B = steps, difference_matrix(problem)
    primal = (best**2).sum() / (2.0 * tau)
    dual = len(B) / (2.0 * sigma) if len(B) and sigma else 0.0
    coupling = lam * np.abs(B @ best).max(axis=1, initial=0.0).sum()
    return float(primal + dual + coupling)


def _algorithm_2(
    problem: SMPProblem, kind: str, loss: str, from_centres: bool
) -> Outcome:
    estimator = _estimator(loss)
    best, bound = _optimum(problem, estimator)
    W = np.zeros_like(best)
    start = cluster_centres(problem) if from_centres else W
    states = islice(algorithm_2(problem, estimator, start, kind), STEPS[-1] + 1)
    at, mean_at, mean = {}, {}, np.zeros_like(W)
    for t, (W, _) in enumerate(states):
        mean += (W - mean) / max(t, 1) if t else 0.0
        if t in STEPS:
            at[t] = objective(problem, estimator, W) / bound - 1.0
            mean_at[t] = objective(problem, estimator, mean) - bound
    measures = {_AFTER: at[200]}
    if loss == "smooth" and not from_centres:
        steps = step_lengths(problem, estimator.lam, kind)
        # The bound on the optimum is below it by at most 1e-5 of it.
        C, slack = rate_constant(problem, estimator.lam, steps, best), 2e-5 * bound
        measures[_RATE] = all(gap <= C / t + slack for t, gap in mean_at.items())
    return Outcome(measures, {_ABOVE: at})


def _proximal_gradient(problem: SMPProblem) -> Outcome:
    estimator = _estimator()
    _, bound = _optimum(problem, estimator)
    options = SolverOptions(tol=1e-7, max_iter=STEPS[-1])
    solution = solve_problem(problem, estimator, options)
    last = len(solution.objective) - 1
    above = {t: solution.objective[min(t, last)] / bound - 1.0 for t in STEPS}
    return Outcome({_AFTER: above[200]}, {_ABOVE: above})


def _convergence(case: Case) -> Outcome:
    problem = _estimator().problem(case.rows.X, case.rows.y)
    if case.trial.model == OURS:
        return _proximal_gradient(problem)
    return _algorithm_2(problem, *case.declared)


_PROPOSITION_1 = "Proposition 1 holds: L_f is at most N R^2"
_PROPOSITION_2 = "Proposition 2 holds: singular values of B"
_LOOSE = "N R^2 / our bound on L_f"


def _is_loose(numbers: Numbers) -> Iterator[float]:
    """Whether the paper's bound is twice ours or more."""
    ratios = (numbers(model, _LOOSE) for model in _SIZES)
    return (where_known(ratio >= 2.0, ratio) for ratio in ratios)


def _largest_slope(problem: SMPProblem) -> float:
    """Largest change of the gradient seen between two points, per distance."""
    random, largest = np.random.default_rng(0), 0.0
    shape = problem.n_prototypes, problem.X.shape[1]
    for size in np.geomspace(1e-3, 1.0, 7).repeat(30):
        W, step = size * random.normal(size=shape), 1e-4 * random.normal(size=shape)
        slopes = [loss_gradient(problem, V, "smooth") for V in (W, W + step)]
        change = np.linalg.norm(slopes[1] - slopes[0]) / np.linalg.norm(step)
        largest = max(largest, float(change))
    return largest


def _propositions(case: Case) -> Outcome:
    rows = case.rows
    problem = SMPClassifier(case.declared, bias=False).problem(rows.X, rows.y)
    printed, seen = printed_curvature(problem), _largest_slope(problem)
    values = np.linalg.svd(difference_matrix(problem), compute_uv=False)
    near = np.minimum(abs(values), abs(values - printed_norm(problem)))
    return Outcome(
        {
            _PROPOSITION_1: seen <= printed,
            _PROPOSITION_2: (near < 1e-9).all() and len(values) > 0,
            _LOOSE: printed / problem.lipschitz,
            "our bound / largest slope seen": problem.lipschitz / seen,
        }
    )


_DATA = bundled("iris", "wine", "breast_cancer")
_SIZES = {"p = 2": 2, "p = 5": 5}
_OF_THE_RATE = [name for name, run in RUNS.items() if run[1:] == ("smooth", False)]
EXPERIMENTS = (
    Experiment(
        name="smp-propositions",
        where="Propositions 1 and 2",
        title="Bounds on the Lipschitz constants",
        values={"bias": False},
        data=_DATA,
        models=_SIZES,
        measure=_propositions,
        checks={
            "1": Holds(_PROPOSITION_1, (*_SIZES,)),
            "2": Holds(_PROPOSITION_2, (*_SIZES,)),
            "loose": _is_loose,
        },
    ),
    Experiment(
        name="smp-convergence",
        where="Section 3.2",
        title="Convergence of Algorithm 2",
        values={"lam": 0.01, "mu": 0.005, "bias": False},
        data=_DATA,
        models=RUNS | {OURS: None},
        measure=_convergence,
        checks={"rate": Holds(_RATE, (*_OF_THE_RATE,))},
        axis="steps",
    ),
)
