r"""SMaLL as printed: Mirror-Prox with fixed steps (Algorithm 1), then rounding.

Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018.

========  ===========  ========  =======================================================
symbol    name         shape     meaning
========  ===========  ========  =======================================================
x_i       X            (m, n)    rows, and a column of ones if there is a bias
y_i       signs        (m,)      1 for the positive class, -1 for the other
T_i       rivals       (m, p)    prototypes that count for a row: its own one if it is
                                 positive, all if it is negative
epsilon   shares       (p, n)    relaxed choice of features: in [0, 1], rows sum to k
S         S            (m, p)    dual of the loss: s_ij <= 0, rows sum to -1 at least
lambda    ridge        (n,)      ridge of each column
W         W            (p, n)    prototypes, equation (10)
alpha     alpha        number    step of the shares, printed .01
beta      beta         number    step of S, printed .01 or .001
k         k            number    features that a prototype may have
========  ===========  ========  =======================================================

Algorithm 1 solves the saddle problem (13), min over the shares, max over S, from
averages of the extragradient points. Its gradients are of m times the objective.

``gradients="printed"`` takes the gradients as they are printed below Algorithm 1. They
differ from those of (8) in two ways: (11) and (12) carry 1 / (m lambda) where
1 / (2 m lambda) is right, so the gradient in epsilon is twice as long; and the gradient
in s_i has no term of the conjugate u*, so S is driven to 0, where W is 0 as well.
``gradients="derived"`` takes those of (8) instead, with the same fixed steps.

`project_shares` is Algorithm 2 as printed: it clips to [0, 1] first, which is no
projection where a share is above 1. (3, 0.9) with k = 1 becomes (0.55, 0.45) and not
(1, 0). Its loop never ends if tol is below rounding; here 200 halvings end it.

(10) recovers the prototypes of rounded shares without a refit, as printed. A bias is
not in the paper: it has a share of 1 and a tiny ridge, for which the fixed steps are
too long; use an estimator with bias=False.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.shared import paper_steps
from smpcore.methods.shared.allowed_values import OneOf
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk.fit import relax_all
from smpcore.methods.smallk.problem import SMaLLProblem, SMaLLState

GRADIENTS = ("printed", "derived")
ALPHA, BETA = 0.01, 0.01

#: Logarithms are cut here: the slope of u* is unbounded.
SMALLEST = 1e-12
MOST_HALVINGS = 200


@dataclass(frozen=True, eq=False)
class Saddle:
    """The saddle problem (13) of one class against the other."""

    X: np.ndarray
    signs: np.ndarray
    #: How many rows each one stands for; sum m.
    counts: np.ndarray
    rivals: np.ndarray
    ridge: np.ndarray
    problem: SMaLLProblem
    parameters: Any

    @property
    def k(self) -> int:
        """Features that a prototype may have."""
        return self.parameters.k

    @property
    def n_features(self) -> int:
        """Columns that k counts, the first ones."""
        return self.problem.n_features

    def pull(self, S: np.ndarray) -> np.ndarray:
        """Sum of y_i s_i x_i' over the rows, shape (p, n)."""
        return ((self.counts * self.signs)[:, None] * S).T @ self.X

    def prototypes(self, shares: np.ndarray, S: np.ndarray) -> np.ndarray:
        """W of equation (10)."""
        return -shares * self.pull(S) / (len(self.X) * self.ridge)

    def gradients(
        self, shares: np.ndarray, S: np.ndarray, kind: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients in the shares and in S, as printed or as derived from (8)."""
        slope = -(self.pull(S) ** 2) / (len(self.X) * self.ridge)
        rise = self.signs[:, None] * (self.X @ self.prototypes(shares, S).T)
        if kind == "derived":
            slope = slope / 2.0
            rest = np.maximum(1.0 + S.sum(axis=1), SMALLEST)
            rise = rise + np.log(np.maximum(-S, SMALLEST)) - np.log(rest)[:, None]
        slope[:, self.n_features :] = 0.0
        return slope, np.where(self.rivals, self.counts[:, None] * rise, 0.0)

    def duals(self, W: np.ndarray) -> np.ndarray:
        """The S that attains the loss at W."""
        powers = np.where(self.rivals, np.exp(-self.margins(W)), 0.0)
        return -powers / (1.0 + powers.sum(axis=1, keepdims=True))

    def margins(self, W: np.ndarray) -> np.ndarray:
        """y_i w_j x_i, at least -700, shape (m, p)."""
        return np.maximum(self.signs[:, None] * (self.X @ W.T), -700.0)

    def objective(self, W: np.ndarray, k: int) -> float:
        """Our solver's objective at W, before its first step, relaxed to k features.

        That is (6) where no prototype has more.
        """
        W = np.pad(W, ((1, 0), (0, 0)))  # of the other class there is a prototype 0
        start = SMaLLState((W,), (), (self.problem.lipschitz,))
        parameters = replace(self.parameters, k=k, solver="fista")
        options = SolverOptions(max_iter=0)
        (run,) = relax_all(self.problem, parameters, options, start)
        return float(run.objective[0])


def project_shares(share: np.ndarray, k: int, tol: float = 1e-10) -> np.ndarray:
    """Algorithm 2 as printed, for one row: clip, then halve the range of a
    threshold.
    """
    share = np.clip(share, 0.0, 1.0)
    if share.sum() <= k:
        return share
    low, high = (share.sum() - k) / len(share), share.max() - k / len(share)
    for _ in range(MOST_HALVINGS):
        threshold = (low + high) / 2.0
        shifted = np.clip(share - threshold, 0.0, 1.0)
        if abs(shifted.sum() - k) < tol:
            break
        if shifted.sum() > k:
            low = threshold
        else:
            high = threshold
    return shifted


def project_duals(S: np.ndarray) -> np.ndarray:
    """Rows on s <= 0 with a sum of -1 at least."""
    return -np.array([paper_steps.nearest_mass(np.maximum(-s, 0.0)) for s in S])


def algorithm_1(
    saddle: Saddle,
    shares: np.ndarray,
    S: np.ndarray,
    steps: tuple[float, float] = (ALPHA, BETA),
    gradients: str = "printed",
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Run Mirror-Prox with fixed steps."""
    alpha, beta = steps
    mean_shares, mean_S, t = shares, S, 0
    while True:
        yield mean_shares, mean_S
        slope, rise = saddle.gradients(shares, S, gradients)
        shares_hat = _moved(saddle, shares - alpha * slope)
        S_hat = project_duals(S + beta * rise)
        slope, rise = saddle.gradients(shares_hat, S_hat, gradients)
        shares = _moved(saddle, shares - alpha * slope)
        S = project_duals(S + beta * rise)
        t += 1  # the first average is the first point, without the start
        mean_shares = mean_shares + (shares_hat - mean_shares) / t
        mean_S = mean_S + (S_hat - mean_S) / t


def _moved(saddle: Saddle, shares: np.ndarray) -> np.ndarray:
    """Shares with each row's features projected; the bias has a share of 1."""
    n, moved = saddle.n_features, shares.copy()
    moved[:, :n] = [project_shares(row, saddle.k) for row in shares[:, :n]]
    return moved


def largest_shares(shares: np.ndarray, k: int) -> np.ndarray:
    """The k largest shares of each row as 1, the others as 0."""
    rounded = np.zeros_like(shares)
    order = np.argsort(-shares, axis=1, kind="stable")[:, :k]
    np.put_along_axis(rounded, order, 1.0, axis=1)
    return rounded


def random_rounding(
    shares: np.ndarray, k: int, random: np.random.RandomState
) -> np.ndarray:
    """Each share becomes 1 with its own probability, at most k in a row.

    The paper does not say which. This one is systematic sampling: one uniform number
    a row, and a 1 where the running sum passes it or it plus a whole number.
    """
    running = np.minimum(np.cumsum(shares, axis=1), k)
    passed = np.floor(running - random.uniform(size=(len(shares), 1)))
    return np.diff(passed, axis=1, prepend=-1.0).clip(0.0, 1.0)


def saddle_of(estimator: Any, problem: SMaLLProblem) -> Saddle:
    """The saddle problem of two classes."""
    if estimator.loss != "smooth":
        raise SmpcoreError("The paper's algorithm needs loss='smooth'; choose it.")
    if len(problem.classes) != 2:
        raise SmpcoreError(
            f"y has {len(problem.classes)} classes and should have 2: the paper's "
            "algorithm is for two; join classes, or leave some out."
        )
    if estimator.k == 0:
        raise SmpcoreError("k=0 should be at least 1; raise k.")
    task = problem.tasks[0]
    positive = task.y_encoded == 1
    places = np.arange(1, len(task.prototype_labels))
    return Saddle(
        X=problem.X,
        signs=np.where(positive, 1.0, -1.0),
        counts=problem.weights * len(problem.X),
        rivals=~positive[:, None] | (task.assignment[:, None] == places),
        ridge=problem.ridge(float(estimator.lam)),
        problem=problem,
        parameters=estimator._parameters(problem),
    )


def run_as_printed(
    estimator: Any,
    problem: SMaLLProblem,
    n_steps: int = 200,
    start: Any = None,
    steps: tuple[float, float] = (ALPHA, BETA),
    gradients: str = "printed",
    stop: np.ndarray | None = None,
) -> tuple[paper_steps.PrintedStep, ...]:
    """Algorithm 1 on the rows of an estimator, then both roundings of its shares."""
    paper_steps.check_request(problem, SMaLLProblem, n_steps)
    OneOf(GRADIENTS).check("gradients", gradients)
    saddle = saddle_of(estimator, problem)
    n = saddle.n_features
    shares = np.ones((saddle.rivals.shape[1], saddle.X.shape[1]))
    shares[:, :n] = saddle.k / n
    S = saddle.duals(paper_steps.checked_start(start, np.zeros_like(shares)))
    run = algorithm_1(saddle, shares, S, steps, gradients)
    states = [*paper_steps.until(islice(run, n_steps + 1), stop)]
    phases = ["start"] + ["Mirror-Prox step"] * (len(states) - 1)
    if saddle.k < n:
        shares, S = states[-1]
        random, inner = check_random_state(estimator.random_state), shares[:, :n]
        largest = largest_shares(inner, saddle.k)
        for rounded in (largest, random_rounding(inner, saddle.k, random)):
            states.append((np.concatenate([rounded, shares[:, n:]], axis=1), S))
        phases += ["largest shares", "random rounding"]
    printed, (labels, order) = [], problem.voters
    for t, (phase, (shares, S)) in enumerate(zip(phases, states, strict=True)):
        W = saddle.prototypes(shares, S)
        value = saddle.objective(W, saddle.k)
        history = paper_steps.history_at(t, value)
        full = np.r_[np.zeros((1, W.shape[1])), W][order]  # the other class's prototype
        model = problem.linear_model(
            full, labels[order], history, outcome=problem.outcome
        )
        arrays = {"shares": shares, "S": S, "W": W}
        of_state = t, phase, value, arrays, problem.assignment, model
        printed.append(paper_steps.PrintedStep(*of_state))
    return tuple(printed)
