"""Section 3: the propositions; Mirror-Prox with fixed steps against other solvers.

Then what a fit finds again: planted prototypes, and the same data from other starts.
The paper recovers its prototypes by (10) from rounded shares and says nothing of how
good they are.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from smpcore.datasets import Dataset
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smallk.fit import largest_shares, relax_all, shares
from smpcore.methods.smallk.kernel_support_norm import project_shares as nearest_shares
from smpcore.methods.smallk.paper_algorithm import (
    Saddle,
    algorithm_1,
    project_shares,
    saddle_of,
)
from smpcore.methods.smallk.problem import SMaLLProblem
from smpcore.papers.conclusions import Holds
from smpcore.papers.experiment import Case, Experiment, Outcome, by_declared
from smpcore.papers.protocols import accuracy
from smpcore.papers.sources import Source, bundled

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
    small = replace(small, solver=solver)
    (solution,) = relax_all(problem, small, SolverOptions(tol=tol, max_iter=n))
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


_CANCER = bundled("breast_cancer")
EXPERIMENTS = (
    Experiment(
        name="small-propositions",
        where="Propositions 1 to 4",
        title="What is proved, tried on numbers",
        values={"k": 3, "lam": 0.1, "bias": False},
        data=_CANCER,
        models=_TRIED,
        measure=by_declared,
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


#: Training rows of the planted model, the experiment's axis.
SIZES = (50, 100, 200, 400, 800, 1600)
N_FEATURES, K, N_TEST = 30, 3, 4000
AS_PRINTED, REFIT, SWAPS = "largest shares, then (10)", "then a refit", "with swaps"


def planted(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows labelled by two prototypes of K weights among `N_FEATURES`, 5 % wrong."""
    random = np.random.default_rng(seed)
    W = np.zeros((2, N_FEATURES))
    for w, places in zip(W, (slice(0, K), slice(K, 2 * K)), strict=True):
        w[places] = random.choice((-1.0, 1.0), K)
    X = random.normal(size=(n_rows, N_FEATURES))
    y = (X @ W.T - 2.0).max(axis=1) > 0.0
    return X, (y ^ (random.uniform(size=n_rows) < 0.05)).astype(int), W


def _recovered(V: np.ndarray) -> float:
    """Share of the planted features that some prototype uses."""
    return float((V[:, : 2 * K] != 0).any(axis=0).mean())


def _planted_fit(model: str, n_rows: int, seed: int) -> tuple[float, float]:
    """Share of planted features found, and test accuracy."""
    X, y, _ = planted(n_rows + N_TEST, seed)
    train, test = slice(0, n_rows), slice(n_rows, None)
    swaps = {SWAPS: {}, REFIT: {"n_draws": 0, "n_swaps": 0}}.get(model, {})
    small = SMaLLClassifier(k=K, lam=0.03, **swaps)
    if model != AS_PRINTED:
        small.fit(X[train], y[train])
        return _recovered(small.model_.anchors), accuracy(small, X[test], y[test])
    problem = small.problem(X[train], y[train])
    (solution,) = relax_all(problem, small, SolverOptions(1e-5))
    saddle, n = saddle_of(small, problem), problem.n_features
    W = solution.W[1:]
    S = saddle.duals(W)
    chosen = np.ones_like(W)
    chosen[:, :n] = largest_shares(shares(W[:, :n], K), W[:, :n], K)
    W = saddle.prototypes(chosen, S)
    scaled = (X[test] - problem.center) / problem.scale
    positive = (scaled @ W[:, :n].T + W[:, n:].sum(axis=1)).max(axis=1) > 0.0
    return _recovered(W[:, :n]), float(np.mean(positive == (y[test] == 1)))


def _run_planted(case: Case) -> Outcome:
    _, model, seed = case.trial
    pairs = [_planted_fit(model, m, seed) for m in SIZES]
    names = "share of planted features found", "test accuracy"
    curves = {
        name: dict(zip(SIZES, values, strict=True))
        for name, values in zip(names, zip(*pairs, strict=True), strict=True)
    }
    recovered, accuracies = (curves[name][400] for name in names)
    measures = {"features found, 400 rows": recovered}
    return Outcome(measures | {"test accuracy, 400 rows": accuracies}, curves)


def _planted_rows() -> Dataset:
    """One draw of the planted rows, for the name and to look at."""
    X, y, _ = planted(400, 0)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(N_FEATURES)])
    roles = {**dict.fromkeys(frame, "feature"), "class": "target"}
    frame["class"] = np.where(y == 1, "P", "N")
    return Dataset("Planted prototypes", frame, roles, "classification", "generated")


#: Starts of k-means in the experiment on restarts.
N_STARTS = 20


def _run_restarts(case: Case) -> Outcome:
    rows = case.rows
    starts = [
        SMaLLClassifier(case.declared, random_state=seed).fit(rows.X, rows.y)
        for seed in range(N_STARTS)
    ]
    objectives = [one.objective_ for one in starts]
    accuracies = [rows.test_accuracy(one) for one in starts]
    best, test = int(np.argmin(objectives)), "test accuracy"
    return Outcome(
        {
            "objective, best of all starts": objectives[best],
            "objective, mean over starts": np.mean(objectives),
            "objective, worst start": np.max(objectives),
            "lowest bound of a start": min(one.bound_ for one in starts),
            f"{test} of the best objective": accuracies[best],
            f"{test}, mean over starts": np.mean(accuracies),
            f"{test}, standard deviation over starts": np.std(accuracies, ddof=1),
        }
    )


EXPERIMENTS += (
    Experiment(
        name="small-planted",
        where="Equation (10)",
        title="Recovery of planted prototypes, with and without a refit",
        data={"planted": Source(make=_planted_rows)},
        models=dict.fromkeys((AS_PRINTED, REFIT, SWAPS)),
        measure=_run_planted,
        repetitions=5,
        axis="training rows",
    ),
    Experiment(
        name="small-restarts",
        where="Section 2",
        title="Other clusters of the positive rows",
        data=bundled("breast_cancer", "friedman"),
        models={"p = 2": 2, "p = 4": 4},
        measure=_run_restarts,
    ),
)
