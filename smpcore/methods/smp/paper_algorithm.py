r"""SMP as printed: Algorithm 2, the form of Chambolle and Pock's steps for SMP.

Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018.

========  ===========  ========  =======================================================
symbol    name         shape     meaning
========  ===========  ========  =======================================================
x_i       X            (m, n)    rows, and a column of ones if there is a bias
j(i)      assignment   (m,)      prototype that a row is tied to
W         W            (N, n)    prototypes, one a row
V         V            (b, n)    dual of the fusion penalty, a row for each pair
W-bar     W_bar        (N, n)    extrapolation, 2 W_new - W
B         B            (b, N)    difference matrix: 1 and -1 at the two of a pair
f         loss         number    equation (4), or (2): the mean loss of the rows
R         R            number    longest row
p         p            number    prototypes of the largest class
tau       tau          number    step of W, printed 1 / (2 p R^2 |Y|) = 1 / (2 N R^2)
sigma     sigma        number    step of V, printed 1 / (2 lambda^2 p tau)
========  ===========  ========  =======================================================

The objective is (6). The step lengths are those below Proposition 2. They follow from
L_f <= N R^2 (Proposition 1), which holds but is hundreds of times too large, so that
200 iterations, as in the paper's experiments, end far from the optimum. The paper
expects "some trial-and-error for tuning the step sizes": `STEPS` has longer ones that
condition (8) allows, too, and any others can be given.

Where the print is mended: line 8 of Algorithm 2 has the gradient of h_y, which would
leave out the data; Proposition 3 has that of f, as here. Equation (10) stacks W by rows
though the text says columns. The unit ball of V is that of each row (Proposition 4),
not of each class.

The ridge of at least 1e-6 and the bias are ours: they belong to the objective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared import paper_steps
from smpcore.methods.shared.allowed_values import Number, OneOf
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smp.problem import SMPProblem, SMPState, elastic_net, solve_problem


def algorithm_2(
    problem: SMPProblem, estimator: Any, W: np.ndarray, steps: Steps = "printed"
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Run Algorithm 2 from V = 0."""
    lam, B = estimator.lam, difference_matrix(problem)
    l1, l2 = elastic_net(problem, estimator.mu, estimator.eta)
    tau, sigma = step_lengths(problem, lam, steps)
    V, W_bar = np.zeros((len(B), W.shape[1])), W
    while True:
        yield W, V
        Z = V + sigma * lam * (B @ W_bar)
        V = project_rows(Z)
        slope = loss_gradient(problem, W, estimator.loss)
        U = W - tau * (slope + lam * (B.T @ V))
        W_new = np.sign(U) * np.maximum(np.abs(U) - tau * l1, 0.0) / (1.0 + tau * l2)
        W_bar = 2.0 * W_new - W
        W = W_new


def printed_steps(problem: SMPProblem, lam: float) -> tuple[float, float]:
    """The tau and sigma below Proposition 2; sigma is 0 without pairs."""
    L = lam * printed_norm(problem)
    tau = 1.0 / (2.0 * max(printed_curvature(problem), 1e-12))
    return tau, 1.0 / (2.0 * L**2 * tau) if L > 0.0 else 0.0


def printed_norm(problem: SMPProblem) -> float:
    """Spectral norm of B by Proposition 2: sqrt(p) of the largest class with pairs."""
    sizes = np.bincount(problem.prototype_labels)
    first = np.searchsorted(problem.prototype_labels, np.arange(len(sizes)))
    norms = np.sqrt(sizes) * problem.fusion[first]
    return float(norms[sizes > 1].max(initial=0.0))


def printed_curvature(problem: SMPProblem) -> float:
    """N R^2, the bound of Proposition 1 on L_f."""
    return problem.n_prototypes * float((problem.X**2).sum(axis=1).max())


def tight_steps(problem: SMPProblem, lam: float) -> tuple[float, float]:
    """The steps that (8) allows with a bound on L_f that does not grow with N.

    The Hessian of a row is (diag q - q q') x x' with q in a simplex, and diag q - q q'
    has no eigenvalue above 1/2: L_f is at most half the largest one of X' diag(u) X.
    """
    L = lam * printed_norm(problem)
    return 1.0 / max(problem.lipschitz + L, 1e-12), 1.0 / L if L > 0.0 else 0.0


#: Name -> step lengths of a problem and its lambda.
STEPS = {"printed": printed_steps, "tight": tight_steps}
#: A name of `STEPS`, or tau and sigma.
Steps = str | tuple[float, float]


def step_lengths(
    problem: SMPProblem, lam: float, steps: Steps = "printed"
) -> tuple[float, float]:
    """The tau and sigma that are asked for."""
    if isinstance(steps, str):
        OneOf(tuple(STEPS)).check("steps", steps)
        return STEPS[steps](problem, lam)
    if len(steps) != 2:
        raise SmpcoreError(f"steps={steps!r} should be a name, or tau and sigma.")
    for name, value in zip(("tau", "sigma"), steps, strict=True):
        Number(0.0, above=True).check(name, value)
    return float(steps[0]), float(steps[1])


def difference_matrix(problem: SMPProblem) -> np.ndarray:
    """B: (B W)_e = w_i - w_j for each pair e of a class, shape (n_pairs, N).

    Times the class's factor on lambda, which the paper does not have.
    """
    first, second = problem.pairs()
    one = np.eye(problem.n_prototypes)
    return problem.fusion[first, None] * (one[first] - one[second])


def project_rows(Z: np.ndarray) -> np.ndarray:
    """Each row's nearest point in the l1 ball of radius 1."""
    return np.array(
        [np.sign(z) * paper_steps.nearest_mass(np.abs(z)) for z in Z]
    ).reshape(Z.shape)


def loss_gradient(problem: SMPProblem, W: np.ndarray, loss: str) -> np.ndarray:
    """The (sub)gradient of f at W: equation (4), (2) or (2) with the hinge."""
    S = problem.X @ W.T
    rows, tied = np.arange(len(S)), problem.assignment
    rival = problem.prototype_labels != problem.y_encoded[:, None]
    lead = np.where(rival, S - S[rows, tied][:, None], -np.inf)
    if loss != "smooth":  # only the strongest rival counts
        only = np.arange(len(W)) == lead.argmax(axis=1)[:, None]
        lead = np.where(only, lead, -np.inf)
    if loss == "hinge":
        Q = np.where(lead > -1.0, 1.0, 0.0)
    else:
        top = np.maximum(lead.max(axis=1), 0.0)
        powers = np.exp(lead - top[:, None])
        Q = powers / (np.exp(-top) + powers.sum(axis=1))[:, None]
    Q[rows, tied] = -Q.sum(axis=1)
    return (problem.weights[:, None] * Q).T @ problem.X


def objective(problem: SMPProblem, estimator: Any, W: np.ndarray) -> float:
    """The objective (6) at W: our solver's before its first step."""
    start = SMPState(W, np.zeros((problem.n_pairs, W.shape[1])))
    options = SolverOptions(max_iter=0)
    run = solve_problem(problem, replace(estimator, solver="spg"), options, start)
    return float(run.objective[0])


def cluster_centres(problem: SMPProblem) -> np.ndarray:
    """Mean of the rows tied to each prototype: where the paper's experiments start."""
    share = np.eye(problem.n_prototypes)[problem.assignment] * problem.weights[:, None]
    W = share.T @ problem.X / share.sum(axis=0)[:, None]
    W[:, problem.n_features :] = 0.0
    return W


def run_as_printed(
    estimator: Any,
    problem: SMPProblem,
    n_steps: int = 200,
    start: Any = None,
    stop: np.ndarray | None = None,
    steps: Steps = "printed",
) -> tuple[paper_steps.PrintedStep, ...]:
    """Algorithm 2 on the rows and the objective of an estimator."""
    paper_steps.check_request(problem, SMPProblem, n_steps)
    W = paper_steps.checked_start(
        start, np.zeros((problem.n_prototypes, problem.X.shape[1]))
    )
    run = algorithm_2(problem, estimator, W, steps)
    printed = []
    for t, (W, V) in enumerate(paper_steps.until(islice(run, n_steps + 1), stop)):
        value = objective(problem, estimator, W)
        history = paper_steps.history_at(t, value)
        model = problem.linear_model(W, problem.prototype_labels, history)
        phase, arrays = "primal-dual step" if t else "start", {"W": W, "V": V}
        of_state = t, phase, value, arrays, problem.assignment, model
        printed.append(paper_steps.PrintedStep(*of_state))
    return tuple(printed)
