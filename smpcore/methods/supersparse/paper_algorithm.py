r"""Super-sparse learning as printed: Algorithm 1, one prototype after the other.

Demontis, Melis, Biggio, Fumera, Roli: Super-sparse learning in similarity spaces. IEEE
Computational Intelligence Magazine 11(4), 2016.

========  ===========  ========  =======================================================
symbol    name         shape     meaning
========  ===========  ========  =======================================================
x_i       X            (n, d)    rows
y         Y            (n, c)    targets in standard units, a column for each output
u_i       u            (n,)      weight of each row in the loss
z_j       Z            (m, d)    virtual prototypes; at first m rows drawn at random
S_xz      S            (n, m)    similarity of each row to each prototype
beta, b   beta, b      (m, c),   coefficients and intercept, equation (4)
                       (c,)
g         S beta + b   (n, c)    predictions, equation (1)
M         M            (m + 1,   matrix of equation (4)
                       m + 1)
Omega     omega        number    the objective (3)
eta       eta          number    gradient step, printed .5
t         t            int       iteration; prototypes repel each other by 1 / t^2
========  ===========  ========  =======================================================

The gradient is (5) with all its terms. Those with the derivatives (6) of beta and b
cancel at the best coefficients, where every iteration is; they are computed here as
printed. (6) needs S' and 1' of all prototypes where the text prints those of z_j.

The slope of the similarity is the RBF's own; for every other similarity it is the
heuristic s(x, z) (x - z) of equation (7), which asks nothing but values. Several
outputs, which the paper leaves to another one, share the prototypes: their gradients
are added.

The paper does not say how u is scaled. ``loss="sum"`` has weights that sum to the
number of rows, so 1 for equal ones; with the step of .5 it diverges on some hundred
rows. ``loss="mean"`` has weights that sum to 1 and lambda n times smaller: the same
minimiser, with a step that is n times shorter. Objectives are those of the mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.shared import paper_steps
from smpcore.methods.shared.allowed_values import OneOf
from smpcore.methods.supersparse.problem import (
    SQUARED,
    AnyProblem,
    scaled_box,
    similarity_model,
)
from smpcore.similarity import Similarity

LOSSES = ("sum", "mean")

#: Step along the gradient, as printed.
ETA = 0.5

#: Beyond this an objective has diverged.
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Ridge:
    """What Algorithm 1 minimises."""

    X: np.ndarray  # (n, d)
    Y: np.ndarray  # (n, c)
    u: np.ndarray  # (n,)
    lam: float  # Ridge that goes with these weights
    similarity: Similarity

    def matrix(self, S: np.ndarray) -> np.ndarray:
        """M of equation (4)."""
        ones = np.ones((len(S), 1))
        T = np.hstack([S, ones])
        M = T.T @ (self.u[:, None] * T)
        M[np.diag_indices(S.shape[1])] += self.lam
        return M

    def coefficients(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercept of equation (4)."""
        T = np.hstack([S, np.ones((len(S), 1))])
        right = T.T @ (self.u[:, None] * self.Y)
        solution = np.linalg.lstsq(self.matrix(S), right, rcond=None)[0]
        return solution[:-1], solution[-1]

    def omega(self, Z: np.ndarray) -> float:
        """The objective (3) at the best coefficients."""
        S = self.similarity.values(self.X, Z)
        beta, b = self.coefficients(S)
        errors = S @ beta + b - self.Y
        return float(self.u @ (errors**2).sum(axis=1) + self.lam * (beta**2).sum())

    def changes(self, Z: np.ndarray, j: int) -> np.ndarray:
        """Derivatives (6) of beta and b along z_j, shape (m + 1, c, d)."""
        S = self.similarity.values(self.X, Z)
        beta, b = self.coefficients(S)
        slope = self.u[:, None] * slopes(self.similarity, self.X, Z[j])
        M, T = self.matrix(S), np.hstack([S, np.ones((len(S), 1))])
        V = np.zeros_like(T)
        parts = []
        for output, error in enumerate((S @ beta + b - self.Y).T):
            V[:, j] = error
            right = (beta[j, output] * T + V).T @ slope
            parts.append(-np.linalg.lstsq(M, right, rcond=None)[0])
        return np.stack(parts, axis=1)

    def gradient(self, Z: np.ndarray, j: int) -> np.ndarray:
        """The gradient (5) in z_j, shape (d,)."""
        S = self.similarity.values(self.X, Z)
        beta, b = self.coefficients(S)
        slope = slopes(self.similarity, self.X, Z[j])
        changes, total = self.changes(Z, j), np.zeros(Z.shape[1])
        for output, error in enumerate((S @ beta + b - self.Y).T):
            of_beta, of_b = changes[:-1, output], changes[-1, output]
            inner = beta[j, output] * slope + S @ of_beta + of_b
            total += 2.0 * (error * self.u) @ inner
            total += 2.0 * self.lam * beta[:, output] @ of_beta
        return total


def slopes(similarity: Similarity, X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Derivative of s(x_i, z) along z: the RBF's, or the heuristic (7) for others."""
    factor = 2.0 * similarity.gamma if similarity.kind == "rbf" else 1.0
    return factor * similarity.values(X, z[None]) * (X - z)


def algorithm_1(
    ridge: Ridge,
    Z: np.ndarray,
    eta: float,
    epsilon: float,
    box: tuple[np.ndarray, np.ndarray],
    repulsion: bool = True,
) -> Iterator[tuple[np.ndarray, float]]:
    """Run Algorithm 1 until an iteration changes the objective by less than epsilon."""
    m, t = len(Z), 0
    Z = np.clip(Z, *box)
    omega = ridge.omega(Z)
    yield Z, omega
    while True:
        j = t % m
        t += 1
        step = eta * ridge.gradient(Z, j)
        if repulsion:
            others = np.delete(Z, j, axis=0)
            step += slopes(ridge.similarity, others, Z[j]).sum(axis=0) / t**2
        Z = Z.copy()
        Z[j] = np.clip(Z[j] - step, *box)
        before, omega = omega, ridge.omega(Z)
        yield Z, omega
        if not omega < LARGEST or abs(omega - before) < epsilon:
            return


def run_as_printed(
    estimator: Any,
    problem: AnyProblem,
    n_steps: int = 200,
    start: Any = None,
    loss: str = "sum",
    stop: np.ndarray | None = None,
    repulsion: bool = True,
) -> tuple[paper_steps.PrintedStep, ...]:
    """Algorithm 1 on the rows of an estimator."""
    paper_steps.check_request(problem, AnyProblem, n_steps)
    OneOf(LOSSES).check("loss", loss)
    objective = estimator.objective(problem)
    if objective.similarity.kind == "strings":
        raise SmpcoreError(
            "similarity='strings' has no gradient, and Algorithm 1 needs one; use "
            "another similarity."
        )
    if objective.free != SQUARED:
        raise SmpcoreError(
            "loss='epsilon-insensitive' is not the paper's, whose equation (4) solves "
            "squared errors; use loss='squared'."
        )
    rows, total = objective.rows, len(objective.rows.cases) if loss == "sum" else 1
    ridge = Ridge(
        X=rows.cases,
        Y=rows.Y.T,
        u=total * rows.weights,
        lam=total * float(objective.lam),
        similarity=objective.similarity,
    )
    m = min(int(estimator.resolve_defaults(problem)["n_prototypes"]), len(rows.cases))
    random = check_random_state(estimator.random_state)
    drawn = rows.cases[random.choice(len(rows.cases), m, replace=False)]
    kind, center = objective.similarity.kind, problem.center
    box = scaled_box(estimator.box, kind, center, problem.scale)
    run = algorithm_1(
        ridge,
        paper_steps.checked_start(start, drawn),
        ETA,
        total * float(estimator.tol),
        (box.low, box.high),
        repulsion,
    )
    printed = []
    for t, (Z, _) in enumerate(paper_steps.until(run, stop)):
        S = objective.similarities(Z)
        (beta, b), value = ridge.coefficients(S), float(objective.refit(S)[0])
        outputs = beta * rows.unit, b * rows.unit + rows.middle
        history = paper_steps.history_at(t, value)
        parts = {"similarity": objective.similarity}
        model = similarity_model(problem, Z.copy(), outputs, history, **parts)
        phase = f"prototype {(t - 1) % len(Z) + 1} moved" if t else "start"
        arrays = {"Z": Z, "beta": beta, "b": b}
        assignment = ridge.similarity.values(problem.X, Z).argmax(axis=1)
        of_state = t, phase, value, arrays, assignment, model
        printed.append(paper_steps.PrintedStep(*of_state))
        if t == n_steps:
            break
    return tuple(printed)
