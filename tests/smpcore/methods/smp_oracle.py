"""SMP in slow, plain NumPy: every formula written out, one example at a time."""

from dataclasses import dataclass, fields, replace
from itertools import combinations

import cvxpy as cp
import numpy as np
from scipy.special import expit, xlogy

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smp import SMPClassifier
from smpcore.methods.smp.problem import SMPProblem, solve_problem
from smpcore.solvers.losses import LOSSES


def curvature(X, weights):
    """Half the largest eigenvalue of X' diag(u) X."""
    return 0.5 * float(np.linalg.eigvalsh((X.T * weights) @ X)[-1])


class TiedRows:
    """Losses of rows that are each tied to a prototype, one row at a time."""

    @property
    def smooth(self):
        return self.loss == "smooth"

    @property
    def kind(self):
        return LOSSES[self.loss]

    @property
    def shape(self):
        return len(self.prototype_labels), self.X.shape[1]

    def per_example(self, W, T=1.0):
        """Loss and probabilities (own first, then rivals) of each example."""
        for x, y, a in zip(self.X, self.y_encoded, self.assignment, strict=True):
            rivals = np.flatnonzero(self.prototype_labels != y)
            s = W[rivals] @ x
            if self.smooth:
                s = s + np.log(self.copies[rivals])
            top = s.max()
            powers = np.exp((s - top) / T)
            soft = top + T * np.log(powers.sum())
            margin, outer = soft - W[a] @ x, 1.0
            if self.loss == "hinge":
                margin, outer = margin + 1.0, T
            miss = expit(margin / outer)
            loss = outer * np.logaddexp(0.0, margin / outer)
            yield loss, rivals, miss * powers / powers.sum(), miss

    def loss_at(self, W, T=None):
        """Loss (4), (2) or the hinge of (2); with T the annealed one."""
        T = (1.0 if self.smooth else 1e-12) if T is None else T
        return float(self.weights @ [entry[0] for entry in self.per_example(W, T)])

    def gradient(self, W, T=1.0):
        G = np.zeros(self.shape)
        for i, (_, rivals, q, miss) in enumerate(self.per_example(W, T)):
            G[rivals] += self.weights[i] * q[:, None] * self.X[i]
            G[self.assignment[i]] -= self.weights[i] * miss * self.X[i]
        return G

    def exact_loss(self, W):
        """The loss of an interior-point method's prototypes."""
        scores, loss = self.X @ W.T, 0
        for a in np.unique(self.assignment):
            rows = np.flatnonzero(self.assignment == a)
            rivals = np.flatnonzero(self.prototype_labels != self.prototype_labels[a])
            own = scores[rows, a]
            if self.smooth:
                shift = np.tile(np.log(self.copies[rivals]), (len(rows), 1))
                every = cp.hstack([scores[rows][:, rivals] + shift, own[:, None]])
                each = cp.log_sum_exp(every, axis=1) - own
            else:
                lead = cp.max(scores[rows][:, rivals], axis=1) - own
                each = cp.pos(1.0 + lead) if self.loss == "hinge" else cp.logistic(lead)
            loss += self.weights[rows] @ each
        return loss


@dataclass(frozen=True)
class Case(TiedRows):
    """A problem of the estimator, and its parameters; their fields are its own."""

    problem: SMPProblem
    parameters: SMPClassifier

    def __getattr__(self, name):
        owner = self.problem if hasattr(self.problem, name) else self.parameters
        return getattr(owner, name)

    def but(self, **changes):
        """The same case with other fields."""
        names = {field.name for field in fields(SMPProblem)} & {*changes}
        problem = replace(self.problem, **{name: changes.pop(name) for name in names})
        return Case(problem, replace(self.parameters, **changes))

    @property
    def net(self):
        """Weights of the elastic net for each entry: of its size, of half its square"""
        l1, l2 = np.full(self.shape, self.mu), np.full(self.shape, self.mu * self.eta)
        l2 = np.maximum(l2, 1e-6)
        l1[:, self.n_features :] = 0.0
        l2[:, self.n_features :] = np.maximum(l2[:, self.n_features :], 1e-3)
        return self.copies[:, None] * l1, self.copies[:, None] * l2

    @property
    def offsets(self):
        return np.log(self.copies) * self.smooth

    @property
    def tied(self):
        return self.y_encoded, self.assignment, self.weights

    @property
    def pairs(self):
        labels = self.prototype_labels
        every = combinations(range(len(labels)), 2)
        return [(i, j) for i, j in every if labels[i] == labels[j]]

    @property
    def radius(self):
        weights = self.lam * self.fusion * self.copies
        return np.array([weights[i] * self.copies[j] for i, j in self.pairs])

    def objective(self, W):
        l1, l2 = self.net
        differences = [np.abs(W[i] - W[j]).max() for i, j in self.pairs]
        costs = (l1 * np.abs(W) + 0.5 * l2 * W**2).sum() + self.radius @ differences
        return self.loss_at(W) + float(costs)

    def entropy(self, W):
        """The smooth loss's entropy of the dual point at W."""
        share = np.zeros((len(self.X), len(W)))
        for row, a, entry in zip(
            share, self.assignment, self.per_example(W), strict=True
        ):
            _, rivals, q, miss = entry
            row[rivals], row[a] = q, 1.0 - miss
        rival = self.prototype_labels != self.y_encoded[:, None]
        base = np.where(rival, self.copies, 1.0)
        return self.weights @ (xlogy(share, share) - share * np.log(base)).sum(axis=1)

    def solve(self, tol=1e-3, state=None, **options):
        """What the estimator's kernel returns."""
        options = SolverOptions(tol, **({"max_iter": 5000} | options))
        return solve_problem(self.problem, self.parameters, options, state)

    def solve_exactly(self):
        """Optimum by an interior-point method, of columns in their units."""
        W = cp.multiply(cp.Variable(self.shape), np.ones(self.shape) / self.units)
        l1, l2 = self.net
        costs = cp.sum(cp.multiply(l1, cp.abs(W)))
        costs += 0.5 * cp.sum(cp.multiply(l2, cp.square(W)))
        for radius, (i, j) in zip(self.radius, self.pairs, strict=True):
            costs += radius * cp.norm_inf(W[i] - W[j])
        problem = cp.Problem(cp.Minimize(self.exact_loss(W) + costs))
        return problem.solve(solver=cp.CLARABEL)


def make_case(
    seed=0, m=60, n=4, sizes=(2, 2, 2), lam=0.01, mu=0.01, eta=1.0, bias=True,
    loss="smooth", weighted=False, copies=False,
):  # fmt: skip
    """Random problem with classes that overlap."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    assignment = np.arange(len(labels)), rng.integers(len(labels), size=m)
    assignment = np.concatenate(assignment)[:m]
    centers = rng.normal(size=(len(labels), n))
    X = rng.normal(size=(m, n)) + centers[assignment]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if bias:
        X = np.hstack([X, np.ones((m, 1))])
    weights = rng.uniform(0.1, 3.0, size=m) if weighted else np.ones(m)
    weights /= weights.sum()
    counts = rng.integers(1, 4, size=len(labels)) if copies else np.ones(len(labels))
    problem = SMPProblem(
        X=np.ascontiguousarray(X), weights=weights, center=np.zeros(n),
        scale=np.ones(n), low=X.min(axis=0)[:n], high=X.max(axis=0)[:n],
        feature_names=(), named=False, y_encoded=labels[assignment],
        classes=np.arange(len(sizes)), assignment=assignment, prototype_labels=labels,
        copies=1.0 * counts, fusion=np.ones(len(labels)), units=np.ones(X.shape[1]),
        lipschitz=curvature(X, weights),
    )  # fmt: skip
    parameters = SMPClassifier(lam=lam, mu=mu, eta=eta, loss=loss)
    return Case(problem, parameters)
