"""SMaLL in slow, plain NumPy, and exactly by an interior-point method."""

from dataclasses import dataclass, replace
from itertools import combinations, product

import cvxpy as cp
import numpy as np

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smallk.fit import Start, TaskSearch, relax_all
from smpcore.methods.smallk.problem import SMaLLProblem, Task
from tests.smpcore.methods.smp_oracle import TiedRows, curvature

BIAS_RIDGE = 1e-3


@dataclass(frozen=True)
class SparseCase(TiedRows):
    """A problem of one task and its parameters; their fields are its own."""

    problem: SMaLLProblem
    parameters: SMaLLClassifier

    def __getattr__(self, name):
        places = self.problem.tasks[0], self.parameters, self.problem
        return getattr(next(part for part in places if hasattr(part, name)), name)

    def but(self, **changes):
        """The same case with other parameters."""
        return SparseCase(self.problem, replace(self.parameters, **changes))

    @property
    def copies(self):
        return np.ones(len(self.prototype_labels))

    def squared_norm(self, w):
        """Squared k-support norm by Argyriou, Foygel and Srebro's formula."""
        a = np.r_[np.inf, np.sort(np.abs(w))[::-1]]
        for r in range(self.k):
            head, tail = a[1 : self.k - r], a[self.k - r :]
            mean = tail.sum() / (r + 1)
            if a[self.k - r - 1] > mean >= a[self.k - r]:
                return (head**2).sum() + tail.sum() ** 2 / (r + 1)
        return (a[1:] ** 2).sum()

    def relaxed(self, W):
        """Objective of the relaxation."""
        norms = sum(map(self.squared_norm, W[self.first :, : self.n_features]))
        bias = BIAS_RIDGE * (W[:, self.n_features :] ** 2).sum()
        return self.loss_at(W) + 0.5 * (self.lam * norms + float(bias))

    def integer(self, W):
        """Objective of k-sparse prototypes."""
        ridge = np.full(self.shape[1], self.lam)
        ridge[self.n_features :] = BIAS_RIDGE
        return self.loss_at(W) + 0.5 * float((ridge * W**2).sum())

    def solve(self, tol=1e-3, *, support=None, state=None, ceiling=np.inf, **options):
        """What the kernel returns; on a support it refits."""
        options = SolverOptions(tol, **({"max_iter": 5000} | options))
        if support is None:
            return relax_all(self.problem, self.parameters, options, state)[0]
        task, L = self.problem.tasks[0], self.problem.lipschitz / 8
        search = TaskSearch(self.problem, task, self.parameters, options)
        return search.refit(support, Start(np.zeros(self.shape), L, ceiling))

    def solve_exactly(self, support=None):
        """Optimum of the relaxation, or on a support, by an interior-point method."""
        n, W = self.n_features, cp.Variable(self.shape)
        limits = [W[: self.first] == 0] if self.first else []
        bias = cp.sum_squares(W[:, n:]) if n < self.shape[1] else 0
        if support is not None:
            limits.append(cp.multiply(~support, W[:, :n]) == 0)
            squares = cp.sum_squares(W[:, :n])
        else:
            shape = (self.shape[0], n)
            e, cost = cp.Variable(shape, nonneg=True), cp.Variable(shape, nonneg=True)
            parts = cost + e, 2 * W[:, :n], cost - e
            flat = [cp.vec(part, order="F") for part in parts]
            cone = cp.SOC(flat[0], cp.vstack(flat[1:]), axis=0)
            limits += [e <= 1, cp.sum(e, axis=1) <= self.k, cone]
            squares = cp.sum(cost)
        costs = 0.5 * (self.lam * squares + BIAS_RIDGE * bias)
        problem = cp.Problem(cp.Minimize(self.exact_loss(W) + costs), limits)
        return problem.solve(solver=cp.CLARABEL)

    def enumerated(self):
        """Objective of each choice of k features a prototype, refitted."""
        found, n = {}, self.n_features
        rows = combinations(range(n), self.k)
        for one in product(rows, repeat=len(self.prototype_labels) - self.first):
            support = np.zeros((self.shape[0], n), dtype=bool)
            for row, features in zip(support[self.first :], one, strict=True):
                row[list(features)] = True
            found[one] = self.solve(1e-8, support=support).objective[-1]
        return found


def make_sparse_case(
    seed=0, *, m=60, n=6, p=2, k=2, lam=0.05, n_classes=2, bias=True, weighted=False,
    positive=0.5,
):  # fmt: skip
    """Rows with a little structure, tied at random; two classes are one-sided."""
    rng = np.random.default_rng(seed)
    chances = np.r_[1 - positive, np.full(n_classes - 1, positive / (n_classes - 1))]
    y_encoded = rng.choice(n_classes, m, p=chances)
    y_encoded[:n_classes] = np.arange(n_classes)
    pulls = rng.normal(size=(n_classes, p, n)) * (rng.uniform(size=n) < 0.6)
    tie = rng.integers(p, size=m)
    X = rng.normal(size=(m, n)) + 0.8 * pulls[y_encoded, tie]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if bias:
        X = np.hstack([X, np.ones((m, 1))])
    weights = rng.uniform(0.1, 2.0, size=m) if weighted else np.ones(m)
    weights /= weights.sum()
    first = int(n_classes == 2)
    sizes = [1 if first else p] + [p] * (n_classes - 1)
    labels = np.repeat(np.arange(n_classes), sizes)
    assignment = np.where(y_encoded == 1, 1 + tie, 0) if first else y_encoded * p + tie
    task = Task(y_encoded, assignment, labels, first, labels)
    problem = SMaLLProblem(
        X=X, weights=weights, center=np.zeros(n), scale=np.ones(n),
        low=X.min(axis=0)[:n], high=X.max(axis=0)[:n], feature_names=(), named=False,
        y_encoded=y_encoded, classes=np.arange(n_classes), tasks=(task,),
        assignment=assignment, lipschitz=curvature(X, weights),
    )  # fmt: skip
    return SparseCase(problem, SMaLLClassifier(k=k, lam=lam))
