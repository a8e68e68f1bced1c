r"""IMKPL as printed: codes, prototypes and kernel weights in turn (Algorithm 1).

Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning for Discriminative
Representation and Feature Selection. CIKM 2019.

=========  ===========  ========  ======================================================
symbol     name         shape     meaning
=========  ===========  ========  ======================================================
K_l        kernels      (f, N, N) base kernels, 1 on the diagonal; rows class by class
beta_l     beta         (f,)      weights of the kernels; at first all 1
K-hat      K            (N, N)    sum of beta_l K_l
S          same         (N, N)    1 where two rows are of a class, L'L
K-tilde    K_across     (N, N)    1 - S K-hat, entry by entry
u_i        U            (c, N)    prototypes: rows here, columns in the paper
gamma_i    codes        (c, N)    codes of the rows: columns, gamma^i are rows
H          H            (N, N)    U' codes: how much of row s stands for row i
T_0        size         int       most entries of a code and of a prototype
lambda     lam          number    weight of J_dis, class overlap of codes, (5)
mu         mu           number    weight of J_ls, local separation, (6)
tau        tau          number    weight of J_ip, the sum of U
=========  ===========  ========  ======================================================

Each iteration solves (7) for every code and (9) for every prototype by Non-negative
Quadratic Pursuit (Algorithm 2), scales each prototype to length 1, and takes for beta
the solution of the linear programme (10). Its optimum is a corner: one kernel of weight
1. That is all the choice of features that is left. A kernel that sees no difference
reconstructs every row at no cost, so that only mu speaks against it in (11): with
mu = 0 it is taken. None is screened out here, as our solver does first.

Where the print does not run and is mended, all in Algorithm 2: line 5 intersects where
it must unite; the first Cholesky factor is the root of q_jj; line 10 solves for -c. The
limits "< T_0" of (7) and (9) are "at most T_0", as in (12). An entry that is cut to 0
leaves the set of chosen ones and may not come back, as its S says. Kept as printed: one
line search without a new solve, no rescaling of codes when prototypes are scaled, no
check that the objective falls. The threshold of the last line is not printed; any at or
above 0 ends after the first entry, because the objective is below 0 then, so none is
used here. A prototype that no code uses, or whose (9) is solved by 0, stays as it is.

The paper does not say how U starts. It is the start of our solver here, and codes are
0 before the first iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from smpcore.methods.imkpl.problem import IMKPLProblem, neighbour_pairs
from smpcore.methods.shared import paper_steps

#: Slope, relative to the largest of c, and share of q_jj that count as none.
FLAT, DEPENDENT = 1e-10, 1e-9

#: Relative change of the objective in an iteration that ends the search.
CONVERGED = 1e-4


@dataclass(frozen=True, eq=False)
class Terms:
    """The objective (4) and its sub-problems."""

    kernels: np.ndarray  # (f, N, N)
    same: np.ndarray  # (N, N)
    #: Pairs of neighbours: first row, second row, and -2 within a class, 1 across
    near: tuple[np.ndarray, np.ndarray, np.ndarray]
    lam: float
    mu: float
    tau: float
    size: int  # T_0 of codes and prototypes

    def mixed(self, beta: np.ndarray) -> np.ndarray:
        """K-hat."""
        return np.tensordot(beta, self.kernels, 1)

    def across(self, K: np.ndarray) -> np.ndarray:
        """K-tilde: likeness to rows of the own class is subtracted from 1."""
        return 1.0 - self.same * K

    def costs(self, kernels: Iterable[np.ndarray], H: np.ndarray) -> list[float]:
        """J_rec + lam J_dis + mu J_ls at each kernel: the entries of (11)."""
        rest = np.eye(len(H)) - H
        square = rest @ rest.T  # J_rec is tr(K (I - H) (I - H)')
        first, second, weights = self.near
        n_own, entries = (weights < 0.0).sum(), []
        for K in kernels:
            rec, dis = (K * square).sum(), (self.across(K) * H).sum()
            ls = 2.0 * n_own + weights @ K[first, second]
            entries.append(float(rec + self.lam * dis + self.mu * ls))
        return entries

    def objective(self, K: np.ndarray, U: np.ndarray, codes: np.ndarray) -> float:
        """The objective (4)."""
        return self.costs([K], U.T @ codes)[0] + self.tau * float(U.sum())

    def best_codes(self, K: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Solve (7) for every row."""
        Q = 2.0 * U @ K @ U.T
        C = U @ (self.lam * self.across(K) - 2.0 * K)
        return np.stack([pursuit(Q, c, self.size) for c in C.T], axis=1)

    def better_prototypes(
        self, K: np.ndarray, U: np.ndarray, codes: np.ndarray
    ) -> np.ndarray:
        """Solve (9) for one prototype after the other, and scale it to length 1."""
        U, across = U.copy(), self.across(K)
        for i, code in enumerate(codes):
            others = np.delete(np.arange(len(U)), i)
            # E gamma' of equation (8), without the N x N matrix E
            missed = code - U[others].T @ (codes[others] @ code)
            c = self.lam * code @ across - 2.0 * missed @ K + self.tau
            u = pursuit(2.0 * (code @ code) * K, c, self.size)
            if u.any():
                U[i] = u / np.sqrt(u @ K @ u)
        return U

    def best_weights(self, U: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Solve the linear programme (10)."""
        H = U.T @ codes
        costs = self.costs(self.kernels, H)
        one = np.ones((1, len(costs)))
        return linprog(costs, A_eq=one, b_eq=[1.0], bounds=(0.0, None)).x


def pursuit(Q: np.ndarray, c: np.ndarray, size: int) -> np.ndarray:
    """Algorithm 2: min x' Q x / 2 + c' x over x >= 0 with at most `size` entries."""
    x, chosen = np.zeros(len(c)), []
    allowed = np.ones(len(c), dtype=bool)
    flat = -FLAT * np.abs(c).max()
    while len(chosen) < size:
        slope = np.where(allowed, Q @ x + c, np.inf)
        j = int(slope.argmin())
        if not slope[j] < flat:
            break
        allowed[j] = False
        if not _is_independent(Q, chosen, j):
            continue
        chosen = [*chosen, j]
        before = x[chosen]
        after = -np.linalg.solve(Q[np.ix_(chosen, chosen)], c[chosen])
        if (after < 0.0).any():
            falling = after < 0.0
            shares = before[falling] / (before[falling] - after[falling])
            after = before + shares.min() * (after - before)
            after[after < 1e-14 * max(after.max(), 1e-300)] = 0.0
        x[chosen] = after
        chosen = [r for r in chosen if x[r] > 0.0]
    return x


def _is_independent(Q: np.ndarray, chosen: list[int], j: int) -> bool:
    """Whether q_jj > v'v, without which the Cholesky factor would not exist."""
    if not chosen:
        return bool(Q[j, j] > 0.0)
    mix = np.linalg.solve(Q[np.ix_(chosen, chosen)], Q[chosen, j])
    return bool(Q[j, j] - Q[chosen, j] @ mix > DEPENDENT * Q[j, j])


def algorithm_1(
    terms: Terms, U: np.ndarray
) -> Iterator[tuple[int, str, np.ndarray, np.ndarray, np.ndarray]]:
    """Run Algorithm 1 until an iteration hardly changes the objective."""
    beta, codes, t, last = np.ones(len(terms.kernels)), np.zeros_like(U), 0, np.inf
    yield t, "start", U, codes, beta
    while True:
        t += 1
        K = terms.mixed(beta)
        codes = terms.best_codes(K, U)
        yield t, "codes", U, codes, beta
        U = terms.better_prototypes(K, U, codes)
        yield t, "prototypes", U, codes, beta
        beta = terms.best_weights(U, codes)
        yield t, "kernel weights", U, codes, beta
        value = terms.objective(terms.mixed(beta), U, codes)
        if abs(last - value) <= CONVERGED * abs(value):
            return
        last = value


def terms_of(estimator: Any, problem: IMKPLProblem) -> Terms:
    """The objective of an estimator; neighbours are those of the first K-hat."""
    f, y = len(problem.active), problem.y_encoded
    kernels = np.stack([problem.kernels.mixed(one) for one in np.eye(f)])
    k = estimator.n_neighbors or estimator.code_size
    return Terms(
        kernels=kernels,
        same=(y[:, None] == y).astype(np.float64),
        near=neighbour_pairs(kernels.sum(axis=0), y, k, np.ones(len(y))),
        lam=float(estimator.lam),
        mu=float(estimator.mu),
        tau=float(estimator.tau),
        size=int(estimator.code_size),
    )


def other_objective(estimator: Any) -> str:
    """What our objective has that (4) has not, in a sentence; empty if nothing."""
    if estimator.kernel_weights != "ridge" or estimator.kappa == math.inf:
        return ""
    return (
        "The paper's objective has no term for even weights β, as ours has: the two "
        "cannot be compared."
    )


def run_as_printed(
    estimator: Any,
    problem: IMKPLProblem,
    n_steps: int = 20,
    start: Any = None,
    stop: np.ndarray | None = None,
) -> tuple[paper_steps.PrintedStep, ...]:
    """Algorithm 1 on the rows of an estimator, equal ones once."""
    paper_steps.check_request(problem, IMKPLProblem, n_steps)
    usual = problem
    if estimator.n_prototypes is None:
        usual = problem.with_prototypes(estimator.code_size, estimator.code_size)
    terms = terms_of(estimator, problem)
    first = paper_steps.checked_start(start, usual.U)
    printed = []
    for t, phase, U, codes, beta in paper_steps.until(algorithm_1(terms, first), stop):
        if t > n_steps:
            break
        K = terms.mixed(beta)
        value = terms.objective(K, U, codes)
        model = problem.mixed_model(
            estimator.kernels,
            U,
            beta,
            paper_steps.history_at(t, value),
            code_size=terms.size,
            gram=U @ K @ U.T,
            sample_shape=estimator.sample_shape(problem),
        )
        assignment = codes.argmax(axis=0)[problem.place]
        arrays = {"U": U, "codes": codes, "beta": beta}
        of_state = t, phase, value, arrays, assignment, model
        printed.append(paper_steps.PrintedStep(*of_state))
    return tuple(printed)
