"""SMP in slow, plain NumPy: every formula written out, one example at a time."""

from dataclasses import dataclass, replace
from itertools import combinations

import cvxpy as cp
import numpy as np
from scipy.special import expit

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smp.kernel import solve_smp
from smpcore.methods.smp.kernel_primal_dual import solve_smp_primal_dual
from smpcore.methods.smp.problem import smp_start
from smpcore.solvers.losses import LOSSES


@dataclass(frozen=True)
class Case:
    """A problem; the last column of X is the bias if there is one."""

    X: np.ndarray
    y_encoded: np.ndarray
    assign: np.ndarray
    weights: np.ndarray
    prototype_labels: np.ndarray
    copies: np.ndarray
    lam: float
    l1: np.ndarray
    l2: np.ndarray
    loss_name: str = "smooth"
    #: Factor on lambda of each prototype's class.
    fusion_factors: np.ndarray | float = 1.0

    @property
    def smooth(self):
        return self.loss_name == "smooth"

    @property
    def kind(self):
        return LOSSES[self.loss_name]

    @property
    def units(self):
        return np.ones(self.X.shape[1])

    @property
    def offsets(self):
        return np.log(self.copies) * self.smooth

    @property
    def shape(self):
        return len(self.prototype_labels), self.X.shape[1]

    @property
    def pairs(self):
        return [
            (i, j)
            for i, j in combinations(range(len(self.prototype_labels)), 2)
            if self.prototype_labels[i] == self.prototype_labels[j]
        ]

    @property
    def radius(self):
        copies, factors = self.copies, self.fusion_factors * np.ones(self.shape[0])
        return np.array(
            [self.lam * factors[i] * copies[i] * copies[j] for i, j in self.pairs]
        )

    @property
    def lipschitz(self):
        gram = (self.X.T * self.weights) @ self.X
        return 0.5 * float(np.linalg.eigvalsh(gram)[-1])

    def per_example(self, W, T=1.0):
        """Loss and probabilities (own first, then rivals) of each example."""
        for x, y, a in zip(self.X, self.y_encoded, self.assign, strict=True):
            rivals = np.flatnonzero(self.prototype_labels != y)
            s = W[rivals] @ x
            if self.smooth:
                s = s + np.log(self.copies[rivals])
            top = s.max()
            powers = np.exp((s - top) / T)
            soft = top + T * np.log(powers.sum())
            margin, outer = soft - W[a] @ x, 1.0
            if self.loss_name == "hinge":
                margin, outer = margin + 1.0, T
            miss = expit(margin / outer)
            loss = outer * np.logaddexp(0.0, margin / outer)
            yield loss, rivals, miss * powers / powers.sum(), miss

    def loss(self, W, T=None):
        """Loss (4), (2) or the hinge of (2); with T the annealed one."""
        T = (1.0 if self.smooth else 1e-12) if T is None else T
        losses = [entry[0] for entry in self.per_example(W, T)]
        return float(self.weights @ losses)

    def gradient(self, W, T=1.0):
        G = np.zeros(self.shape)
        for i, (_, rivals, q, miss) in enumerate(self.per_example(W, T)):
            G[rivals] += self.weights[i] * q[:, None] * self.X[i]
            G[self.assign[i]] -= self.weights[i] * miss * self.X[i]
        return G

    def fusion(self, W):
        differences = [np.abs(W[i] - W[j]).max() for i, j in self.pairs]
        return float(self.radius @ differences) if self.pairs else 0.0

    def objective(self, W):
        net = (self.l1 * np.abs(W) + 0.5 * self.l2 * W**2).sum()
        return self.loss(W) + self.fusion(W) + float(net)

    def spread_duals(self, Y):
        Z = np.zeros(self.shape)
        for (i, j), y in zip(self.pairs, Y, strict=True):
            Z[i] += y
            Z[j] -= y
        return Z

    def dual(self, share, Y):
        """Dual value at any probabilities (rows on K_i) and feasible duals."""
        tied = np.eye(len(self.prototype_labels))[self.assign]
        Z = (self.weights[:, None] * (share - tied)).T @ self.X + self.spread_duals(Y)
        if self.smooth:
            rival = self.prototype_labels[None, :] != self.y_encoded[:, None]
            base = np.where(rival, self.copies[None, :], 1.0)
            entropy = _xlogx(share) - share * np.log(base)
        elif self.loss_name == "hinge":
            entropy = -share * (1.0 - tied)
        else:
            own = (share * tied).sum(axis=1, keepdims=True)
            entropy = np.hstack([_xlogx(own), _xlogx(1.0 - own)])
        excess = np.maximum(np.abs(Z) - self.l1, 0.0)
        return float(
            -(self.weights @ entropy.sum(axis=1)) - (excess**2 / self.l2).sum() / 2
        )

    def solve(self, tol=1e-3, state=None, kernel=solve_smp, **options):
        """What the kernel returns."""
        W, Y = np.zeros(self.shape), np.zeros((len(self.pairs), self.shape[1]))
        if state is not None:
            W, Y = state[0].copy(), state[1].copy()
        settings = {"max_iter": 5000, "record": 0, "stop": np.zeros(1, np.int64)}
        settings |= {"progress": np.zeros(1)} | options
        powers = np.empty(32 * len(W))
        options = SolverOptions(tol, **settings)
        more = (options.for_kernel(W)[1],)
        if kernel is solve_smp:
            at, spaces = smp_start(W, Y, float(self.lipschitz))
            more = (0.0,) * 4, at, np.empty(len(self.X)), spaces, *more
        found = kernel(
            self.X,
            self.y_encoded,
            self.assign,
            self.weights,
            self.prototype_labels,
            np.searchsorted(
                self.prototype_labels, np.arange(self.prototype_labels[-1] + 2)
            ),
            self.copies * np.sqrt(self.fusion_factors),
            self.units,
            self.offsets,
            self.lam,
            self.l1,
            self.l2,
            self.lipschitz,
            self.kind,
            W,
            Y,
            powers,
            powers.view(np.int64),
            tol,
            *settings.values(),
            *more,
        )
        return found[:7]

    def solve_primal_dual(self, tol=1e-3, **options):
        return self.solve(tol, kernel=solve_smp_primal_dual, **options)

    def solve_exactly(self, units=1.0):
        """Optimum by an interior-point method, which takes columns in these units."""
        W = cp.multiply(cp.Variable(self.shape), 1.0 / (units * np.ones(self.shape)))
        scores = self.X @ W.T
        loss = 0
        for a in np.unique(self.assign):
            rows = np.flatnonzero(self.assign == a)
            rivals = np.flatnonzero(self.prototype_labels != self.prototype_labels[a])
            own = scores[rows, a]
            if self.smooth:
                shift = np.tile(np.log(self.copies[rivals]), (len(rows), 1))
                every = cp.hstack([scores[rows][:, rivals] + shift, own[:, None]])
                loss += self.weights[rows] @ (cp.log_sum_exp(every, axis=1) - own)
            else:
                best = cp.max(scores[rows][:, rivals], axis=1)
                lead = best - own
                hinge = self.loss_name == "hinge"
                each = cp.pos(1.0 + lead) if hinge else cp.logistic(lead)
                loss += self.weights[rows] @ each
        net = cp.sum(cp.multiply(self.l1, cp.abs(W)))
        net += 0.5 * cp.sum(cp.multiply(self.l2, cp.square(W)))
        fusion = sum(
            radius * cp.norm_inf(W[i] - W[j])
            for radius, (i, j) in zip(self.radius, self.pairs, strict=True)
        )
        problem = cp.Problem(cp.Minimize(loss + net + fusion))
        problem.solve(solver=cp.CLARABEL)
        return W.value, float(problem.value)


def _xlogx(q):
    return np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0)), 0.0)


def make_case(
    seed=0,
    m=60,
    n=4,
    sizes=(2, 2, 2),
    lam=0.01,
    mu=0.01,
    eta=1.0,
    bias=True,
    loss_name="smooth",
    weighted=False,
    copies=False,
):
    """Random problem with classes that overlap."""
    rng = np.random.default_rng(seed)
    prototype_labels = np.repeat(np.arange(len(sizes)), sizes)
    assign = np.concatenate(
        [np.arange(len(prototype_labels)), rng.integers(len(prototype_labels), size=m)]
    )
    assign = assign[:m]
    centers = rng.normal(size=(len(prototype_labels), n))
    X = rng.normal(size=(m, n)) + centers[assign]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if bias:
        X = np.hstack([X, np.ones((m, 1))])
    weights = rng.uniform(0.1, 3.0, size=m) if weighted else np.ones(m)
    case = Case(
        X=np.ascontiguousarray(X),
        y_encoded=prototype_labels[assign],
        assign=assign,
        weights=weights / weights.sum(),
        prototype_labels=prototype_labels,
        copies=rng.integers(1, 4, size=len(prototype_labels)) * 1.0
        if copies
        else prototype_labels * 0 + 1.0,
        lam=lam,
        l1=np.empty(0),
        l2=np.empty(0),
        loss_name=loss_name,
    )
    return with_net(case, mu, eta, bias)


def with_net(case, mu, eta, bias=True):
    """The same problem with another elastic net."""
    l1, l2 = np.full(case.shape, mu), np.full(case.shape, max(mu * eta, 1e-6))
    if bias:
        l1[:, -1], l2[:, -1] = 0.0, max(mu * eta, 1e-3)
    many = case.copies[:, None]
    return replace(case, l1=many * l1, l2=many * l2)


def random_point(case, rng):
    """Some prototypes, some probabilities on K_i, some feasible duals."""
    W = rng.normal(size=case.shape) * rng.exponential()
    allowed = case.prototype_labels[None, :] != case.y_encoded[:, None]
    allowed[np.arange(len(case.X)), case.assign] = True
    share = allowed * rng.exponential(size=allowed.shape) ** 3
    share /= share.sum(axis=1, keepdims=True)
    Y = rng.normal(size=(len(case.pairs), case.shape[1]))
    size = np.abs(Y).sum(axis=1, keepdims=True)
    return W, share, Y / size * (case.radius * rng.uniform(size=len(Y)))[:, None]
