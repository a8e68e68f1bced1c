"""Section 3: the propositions; Mirror-Prox with fixed steps against other solvers."""

from __future__ import annotations

from itertools import islice, product

import numpy as np
from scipy.optimize import linprog

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smallk.fit import relax_all
from smpcore.methods.smallk.kernel_support_norm import project_shares as nearest_shares
from smpcore.methods.smallk.paper_algorithm import (
    Saddle,
    algorithm_1,
    project_shares,
    saddle_of,
)
from smpcore.methods.smallk.problem import SMaLLParameters, SMaLLProblem
from smpcore.papers.conclusions import Holds
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.sources import bundled

#: Iterations at which the relaxation's value is looked at.
STEPS = (5, 10, 20, 50, 100, 200, 500, 1000)
#: Model -> gradients, alpha and beta of Algorithm 1.
RUNS = {
    "printed gradients, steps .01 and .01": ("printed", (0.01, 0.01)),
    "printed gradients, steps .01 and .001": ("printed", (0.01, 0.001)),
    "derived gradients, steps .01 and .01": ("derived", (0.01, 0.01)),
    "derived gradients, steps .01 and .001": ("derived", (0.01, 0.001)),
}
#: Model -> solver of the estimator.
OURS = {"Mirror-Prox, adaptive steps": "mirror-prox", "FISTA (ours)": "fista"}
_CLOSE = "within 1 % of the optimum after 200 iterations"
_ABOVE = "above the optimum after 200 iterations"


def _problem(case: Case, lam: float) -> tuple[SMaLLClassifier, SMaLLProblem]:
    small = SMaLLClassifier(k=3, lam=lam, bias=False)
    return small, small.problem(case.rows.X, case.rows.y)


def relaxed_curve(
    problem: SMaLLProblem, small: SMaLLClassifier, solver: str, tol: float, n: int
) -> np.ndarray:
    """Objective of the relaxation after each step of a solver of the estimator."""
    parameters = SMaLLParameters(small.k, small.lam, solver)
    (solution,) = relax_all(problem, parameters, SolverOptions(tol=tol, max_iter=n))
    return solution.objective


def _printed_curve(saddle: Saddle, gradients: str, steps: tuple) -> dict[int, float]:
    shares = np.full((saddle.rivals.shape[1], saddle.X.shape[1]), saddle.k)
    start = saddle.duals(np.zeros(shares.shape))
    run = algorithm_1(saddle, shares / saddle.n_features, start, steps, gradients)
    states = islice(run, STEPS[-1] + 1)
    return {
        t: saddle.objective(saddle.prototypes(*state), saddle.k)
        for t, state in enumerate(states)
        if t in STEPS
    }


def _convergence(case: Case) -> Outcome:
    name, lam = case.declared
    small, problem = _problem(case, lam)
    optimum = relaxed_curve(problem, small, "fista", 1e-7, 20_000)[-1]
    if name in RUNS:
        values = _printed_curve(saddle_of(small, problem), *RUNS[name])
    else:
        objective = relaxed_curve(problem, small, OURS[name], 1e-9, STEPS[-1])
        values = {t: objective[min(t, len(objective) - 1)] for t in STEPS}
    above = {t: value / optimum - 1.0 for t, value in values.items()}
    measures = {_ABOVE: above[200], _CLOSE: above[200] <= 0.01}
    return Outcome(measures, {"above the optimum": above})


_CONJUGATE = "Proposition 2 holds: the duals attain the loss"
_BEST_W = "Proposition 3 holds: no other W is lower"
_PROJECTION = "Proposition 4 holds: Algorithm 2 is a projection"
_CONTAINED = "Proposition 1 holds: every k-DNF is such a predictor"
_WITHOUT = "with the threshold 0 of the decision rule"


def _phi(saddle: Saddle, W: np.ndarray, shares: np.ndarray, S: np.ndarray) -> float:
    """Phi(W, shares, S) of (9), with a plus where the print has a minus."""
    rest = np.maximum(1.0 + S.sum(axis=1), 0.0)
    used = np.where(saddle.rivals, -S, 0.0)
    entropy = (used * np.log(np.where(used > 0, used, 1.0))).sum(axis=1)
    entropy += rest * np.log(np.where(rest > 0, rest, 1.0))
    linear = (S * (saddle.X @ (W * shares).T)).sum(axis=1) * saddle.signs
    ridge = 0.5 * float((saddle.ridge * W**2).sum())
    return float(saddle.counts @ (linear - entropy) / len(saddle.X)) + ridge


def _propositions(case: Case) -> Outcome:
    small, problem = _problem(case, 0.1)
    saddle, random = saddle_of(small, problem), np.random.default_rng(0)
    shape = saddle.rivals.shape[1], saddle.X.shape[1]
    conjugate, lower = 0.0, True
    for _ in range(50):
        W = random.normal(size=shape)
        S = saddle.duals(W)
        ones = np.ones(shape)
        value = saddle.objective(W, saddle.n_features)  # (6), without a limit
        apart = _phi(saddle, W, ones, S) - value
        conjugate = max(conjugate, abs(apart) / value)
        chosen = (random.uniform(size=shape) < 0.5).astype(float)
        best = saddle.prototypes(chosen, S)
        other = best + 0.1 * random.normal(size=shape)
        lower &= _phi(saddle, best, chosen, S) <= _phi(saddle, other, chosen, S)
    return Outcome({_CONJUGATE: conjugate < 1e-10, _BEST_W: lower})


def _projection(_: Case) -> Outcome:
    random, worst, apart = np.random.default_rng(0), 0.0, 0
    for _ in range(200):
        row, k = random.normal(0.5, 1.0, size=8), int(random.integers(1, 4))
        exact = row.copy()
        nearest_shares(exact, k, np.empty((2, 8)))
        error = float(np.abs(project_shares(row, k) - exact).max())
        worst, apart = max(worst, error), apart + (error > 1e-6)
    return Outcome(
        {
            _PROJECTION: apart == 0,
            "rows that it does not project, of 200": apart,
            "largest error": worst,
        }
    )


def _has_threshold_0(satisfied: np.ndarray, inputs: np.ndarray) -> bool:
    """Whether one prototype without a bias can have the sign of the formula."""
    rows = np.where(satisfied, -1.0, 1.0)[:, None] * inputs
    free = np.zeros(inputs.shape[1])
    result = linprog(free, rows, -np.ones(len(rows)), bounds=(None, None))
    return bool(result.status == 0)


def _dnf(_: Case) -> Outcome:
    """Whether max_j w_j x >= k is a formula, on all inputs of -1 and 1."""
    random, n, n_trials = np.random.default_rng(0), 6, 50
    inputs = np.array([*product((-1.0, 1.0), repeat=n)])
    contained, without = 0, 0
    for _ in range(n_trials):
        k, literals = int(random.integers(2, 4)), np.zeros((2, n))
        for w in literals:
            w[random.choice(n, k, replace=False)] = random.choice((-1.0, 1.0), k)
        scores = inputs @ literals.T
        satisfied = scores == k
        contained += ((scores.max(axis=1) >= k) == satisfied.any(axis=1)).all()
        without += _has_threshold_0(satisfied[:, 0], inputs)
    return Outcome(
        {
            _CONTAINED: contained == n_trials,
            f"terms that one prototype says {_WITHOUT}": without / n_trials,
        }
    )


#: Propositions -> what tests them.
_TRIED = {
    "Propositions 2 and 3": _propositions,
    "Proposition 4": _projection,
    "Proposition 1": _dnf,
}


def _try(case: Case) -> Outcome:
    return case.declared(case)


_CANCER = bundled("breast_cancer")
EXPERIMENTS = (
    Experiment(
        name="small-propositions",
        where="Propositions 1 to 4",
        title="What is proved, tried on numbers",
        protocol=(
            "Propositions 2 and 3: 50 random W and supports on the training half. "
            "Proposition 4: 200 random rows against the exact projection; the printed "
            "algorithm clips first, which is no projection of rows with an entry above "
            "1. Proposition 1: 50 random formulas of two terms on six variables of -1 "
            "and 1; it has the threshold k, the paper's decision rule has 0 and no "
            "bias, and then cannot say a single term."
        ),
        values={"k": 3, "lam": 0.1, "bias": False},
        data=_CANCER,
        models=_TRIED,
        measure=_try,
        checks={
            "1": Holds(_CONTAINED, ("Proposition 1",)),
            "2": Holds(_CONJUGATE, ("Propositions 2 and 3",)),
            "3": Holds(_BEST_W, ("Propositions 2 and 3",)),
            "4": Holds(_PROJECTION, ("Proposition 4",)),
        },
    ),
    Experiment(
        name="small-convergence",
        where="Section 3.1",
        title="Mirror-Prox with fixed steps, and other ways to the same optimum",
        protocol=(
            "Training half of one random division, k = 3, p = 2, no bias. Values of "
            "the relaxation at the averages, above its certified optimum. Algorithm 1 "
            "from shares of k / n and the duals of W = 0, with the paper's fixed "
            "steps; its gradients as printed, and as derived from (8). The paper "
            "gives no number of iterations."
        ),
        values={"k": 3, "lam": 0.1, "bias": False},
        data=bundled("breast_cancer", "friedman"),
        models={
            f"{name}, lambda = {lam}": (name, lam)
            for lam in (0.1, 0.01)
            for name in (*RUNS, *OURS)
        },
        measure=_convergence,
        checks={
            "rate": Holds(
                _CLOSE, tuple(f"{name}, lambda = 0.1" for name in [*RUNS][:2])
            )
        },
        axis="iterations",
    ),
)
