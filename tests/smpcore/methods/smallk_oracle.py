"""SMaLL in slow, plain NumPy, and exactly by other people's solvers."""

from dataclasses import dataclass
from itertools import combinations, product

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.smallk.kernel import ITERATION_LIMIT, solve_smallk
from smpcore.methods.smallk.kernel_mirror_prox import solve_smallk_mirror_prox
from smpcore.solvers.losses import LOSSES


@dataclass(frozen=True)
class SparseCase:
    """A problem; the last column of X is the bias if there is one."""

    X: np.ndarray
    y_encoded: np.ndarray
    assign: np.ndarray
    weights: np.ndarray
    prototype_labels: np.ndarray
    first: int
    n_features: int
    k: int
    lam: float
    loss_name: str = "smooth"

    @property
    def shape(self):
        return len(self.prototype_labels), self.X.shape[1]

    @property
    def ridge(self):
        bias = self.X.shape[1] - self.n_features
        return np.r_[np.full(self.n_features, self.lam), np.full(bias, 1e-3)]

    @property
    def lipschitz(self):
        """Half the largest eigenvalue of X' diag(u) X, and no less than 1e-3."""
        rows = np.nan_to_num(self.X) * np.sqrt(self.weights)[:, None]
        return max(0.5 * float(np.linalg.norm(rows, 2)) ** 2, 1e-3)

    @property
    def tied(self):
        return np.eye(len(self.prototype_labels))[self.assign]

    @property
    def allowed(self):
        """Prototypes in the softmax of each row: its own and all rivals."""
        return (self.prototype_labels != self.y_encoded[:, None]) | (self.tied > 0)

    def share(self, W):
        """Softmax over the allowed prototypes."""
        scores = np.where(self.allowed, self.X @ W.T, -np.inf)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def loss(self, W):
        if self.loss_name != "smooth":
            return float(self.weights @ self._of_the_strongest(W))
        scores = np.where(self.allowed, self.X @ W.T, -np.inf)
        top = scores.max(axis=1)
        total = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
        return float(self.weights @ (total - scores[self.tied > 0]))

    def _of_the_strongest(self, W):
        """Max loss or hinge of each row, equation (2)."""
        scores = self.X @ W.T
        rivals = np.where(self.allowed & (self.tied == 0), scores, -np.inf).max(axis=1)
        lead = scores[self.tied > 0] - rivals
        hinge = self.loss_name == "hinge"
        return np.maximum(0.0, 1.0 - lead) if hinge else np.log1p(np.exp(-lead))

    def paper_loss(self, W, positive=1):
        """The paper's h(W) / m, sign by sign; two classes only."""
        total = 0.0
        for x, code, a, u in zip(
            self.X, self.y_encoded, self.assign, self.weights, strict=True
        ):
            margins = W[[a]] @ x if code == positive else -(W[self.first :] @ x)
            total += u * np.log(1.0 + np.exp(-margins).sum())
        return total

    def gradient(self, share):
        """sum_i u_i (Q_i - e_i) x_i'."""
        return (self.weights[:, None] * (share - self.tied)).T @ self.X

    def squared_norm(self, w):
        """Squared k-support norm by Argyriou, Foygel and Srebro's formula."""
        a = np.r_[np.inf, np.sort(np.abs(w))[::-1]]
        for r in range(self.k):
            head, tail = a[1 : self.k - r], a[self.k - r :]
            mean = tail.sum() / (r + 1)
            if a[self.k - r - 1] > mean >= a[self.k - r]:
                return (head**2).sum() + tail.sum() ** 2 / (r + 1)
        return (a[1:] ** 2).sum()

    def ridge_part(self, W):
        return 0.5 * float((self.ridge * W**2).sum())

    def relaxed(self, W):
        n = self.n_features
        norms = sum(self.squared_norm(w[:n]) for w in W[self.first :])
        bias = (self.ridge[n:] * W[:, n:] ** 2).sum()
        return self.loss(W) + 0.5 * (self.lam * norms + float(bias))

    def integer(self, W):
        return self.loss(W) + self.ridge_part(W)

    def entropy(self, share):
        logs = np.log(np.where(share > 0, share, 1.0))
        return float(self.weights @ (share * logs).sum(axis=1))

    def dual(self, share):
        """Bound at any probabilities on the allowed prototypes."""
        costs = self.gradient(share)[self.first :] ** 2 / (2 * self.ridge)
        n = self.n_features
        largest = -np.sort(-costs[:, :n], axis=1)[:, : self.k]
        return -self.entropy(share) - float(largest.sum() + costs[:, n:].sum())

    def saddle(self, e, share):
        """The saddle function at shares e (1 for the bias) and probabilities."""
        costs = e * self.gradient(share) ** 2 / (2 * self.ridge)
        return -self.entropy(share) - float(costs[self.first :].sum())

    def solve(self, tol=1e-3, *, support=None, start=None, **options):
        """What the kernel returns; on a support it refits."""
        settings = {"ceiling": np.inf, "tol": tol, "max_iter": 5000, "record": 0}
        settings |= {"stop": np.zeros(1, np.int64), "progress": np.zeros(1)} | options
        mask = np.ones(self.shape)
        if support is not None:
            mask[:, : self.n_features] = support
        W = np.zeros(self.shape) if start is None else start * mask
        L, limit, n = self.lipschitz / 8, np.inf, self.n_features
        at = True, 1.0, ITERATION_LIMIT, -1, False, L, 1.0, -limit, limit, 0.0
        work = np.stack([W, *np.zeros((4, *self.shape))])
        spaces = work, np.empty(self.shape[1]), np.empty((2, n)), np.empty(n)
        history = SolverOptions(
            max_iter=settings["max_iter"], record=settings["record"]
        ).for_kernel(W)[1]
        found = solve_smallk(
            self.X, self.y_encoded, self.assign, self.weights, self.prototype_labels,
            self.first, self.n_features, self.k, support is not None, mask, self.ridge,
            self.lipschitz, LOSSES[self.loss_name], W, *settings.values(), (0.0,) * 4,
            at, np.empty(len(self.X)), spaces, history,
        )  # fmt: skip
        return found[:7]

    def solve_mirror_prox(self, tol=1e-3, max_iter=1000, record=0):
        options = SolverOptions(max_iter=max_iter, record=record)
        room = options.for_kernel(np.zeros(self.shape))[1]
        return solve_smallk_mirror_prox(
            self.X, self.y_encoded, self.assign, self.weights, self.prototype_labels,
            self.first, self.n_features, self.k, self.ridge, np.zeros(self.shape), tol,
            max_iter, record, np.zeros(1, np.int64), np.zeros(1), room,
        )  # fmt: skip

    def solve_primal(self):
        """Optimum of the relaxation by an interior-point method."""
        n = self.n_features
        W = cp.Variable(self.shape)
        shape = (self.shape[0], n)
        e, cost = cp.Variable(shape, nonneg=True), cp.Variable(shape, nonneg=True)
        scores = self.X @ W.T
        loss = 0
        for i, allowed in enumerate(self.allowed):
            own = scores[i, self.assign[i]]
            if self.loss_name == "smooth":
                row = cp.log_sum_exp(scores[i, np.flatnonzero(allowed)]) - own
            else:
                others = np.setdiff1d(np.flatnonzero(allowed), self.assign[i])
                behind = cp.max(scores[i, others]) - own
                hinge = self.loss_name == "hinge"
                row = cp.pos(1.0 + behind) if hinge else cp.logistic(behind)
            loss += self.weights[i] * row
        flat = [cp.vec(part, order="F") for part in (cost + e, 2 * W[:, :n], cost - e)]
        cone = cp.SOC(flat[0], cp.vstack(flat[1:]), axis=0)
        limits = [e <= 1, cp.sum(e, axis=1) <= self.k, cone]
        if self.first:
            limits.append(W[0] == 0)
        penalty = 0.5 * self.lam * cp.sum(cost)
        if self.X.shape[1] > n:
            penalty += 0.5 * self.ridge[-1] * cp.sum_squares(W[:, n:])
        problem = cp.Problem(cp.Minimize(loss + penalty), limits)
        return W, problem.solve(solver=cp.CLARABEL)

    def solve_dual(self):
        """Optimum of the dual, over all probabilities at once."""
        Q = cp.Variable((len(self.y_encoded), len(self.prototype_labels)), nonneg=True)
        limits = [cp.sum(Q, axis=1) == 1, Q[~self.allowed] == 0]
        G = (Q - self.tied).T @ (self.weights[:, None] * self.X)
        cost = 0
        for j in range(self.first, len(self.prototype_labels)):
            squares = cp.square(G[j, : self.n_features]) / (2 * self.lam)
            cost += cp.sum_largest(squares, self.k)
            if self.X.shape[1] > self.n_features:
                cost += cp.square(G[j, -1]) / (2 * self.ridge[-1])
        entropy = self.weights @ cp.sum(cp.entr(Q), axis=1)
        return cp.Problem(cp.Maximize(entropy - cost), limits).solve(solver=cp.CLARABEL)

    def refit(self, support):
        """Best prototypes on a support, by L-BFGS."""
        wide = np.ones(self.shape, dtype=bool)
        wide[:, : self.n_features] = support
        wide[: self.first] = False

        def value(free):
            W = np.zeros(self.shape)
            W[wide] = free
            slope = self.gradient(self.share(W)) + self.ridge * W
            return self.integer(W), slope[wide]

        found = minimize(value, np.zeros(wide.sum()), jac=True, options={"gtol": 1e-7})
        return found.fun

    def best_by_enumeration(self):
        """Objective of the best k-sparse prototypes."""
        free = len(self.prototype_labels) - self.first
        rows = list(combinations(range(self.n_features), self.k))
        best = np.inf
        for chosen in product(rows, repeat=free):
            support = np.zeros(
                (len(self.prototype_labels), self.n_features), dtype=bool
            )
            for j, row in enumerate(chosen):
                support[self.first + j, list(row)] = True
            best = min(best, self.refit(support))
        return best


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
    if n_classes == 2:
        prototype_labels, assign = (
            np.r_[0, np.ones(p)],
            np.where(y_encoded == 1, 1 + tie, 0),
        )
    else:
        prototype_labels, assign = (
            np.repeat(np.arange(n_classes), p),
            y_encoded * p + tie,
        )
    return SparseCase(
        X, y_encoded, assign, weights / weights.sum(),
        prototype_labels.astype(np.int64), int(n_classes == 2), n, k, lam,
    )  # fmt: skip


def random_shares(case, rng):
    """Random probabilities on the allowed prototypes."""
    powers = case.allowed * np.exp(3 * rng.normal(size=case.allowed.shape))
    return powers / powers.sum(axis=1, keepdims=True)
