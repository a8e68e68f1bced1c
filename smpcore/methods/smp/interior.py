"""The last digits of SMP: a primal-dual interior-point method (Mehrotra).

Steps along gradients need thousands where columns are raw, the ridge is tiny or the
loss has corners; Newton steps on the conditions of the optimum need a few dozen.
Every corner of the objective is the largest of several numbers that are linear in W,

    cost(t),  t >= h_k(W) for each k:    |w| of entries, ||w_i - w_j||_inf of pairs,
                                         the loss of rows by max or hinge

========  =========  ==========  =======================================================
symbol    name       shape       meaning
========  =========  ==========  =======================================================
h         values     (G, K)      numbers of G groups
t         top        (G,)        bound on those of a group
s         slack      (G, K)      t - h, above 0
z         z          (G, K)      multipliers, above 0: the dual point; s z = mu at last
D         metric     (G, K)      z / s
========  =========  ==========  =======================================================

t is taken out of each step by hand, which leaves one symmetric system for W. Columns
without weight whose slope is far below l1 are left out, and come back where the
certificate, which is that of all columns, asks for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from smpcore.methods.smp.kernel import dual_net, net_conjugate, penalties
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, Limits, note_step
from smpcore.solvers.losses import HINGE, MAX, SMOOTH, Ties, scaled_entropy
from smpcore.solvers.prox import Penalty

#: Newton steps at most; entries of the system, and of its products with rows, at most.
MOST_STEPS, MOST_ENTRIES, MOST_PRODUCTS = 60, 2**22, 2**24

#: Steps that no fit makes.
NEVER = 10**9

#: A column without weight is left out if its slope is below this share of l1.
NEAR = 0.85

#: Gap of the start, in multiples of what it is: bounds that it meets are left again.
WIDER = 10.0


def steps_before(m: int, n: int, N: int) -> int:
    """Gradient steps that take as long as these Newton steps will.

    Whoever begins after so many spends at most twice what the better way would take.
    Microseconds of both, roughly, as they were measured.
    """
    size = N * min(n, 2 * m)
    if size * size > MOST_ENTRIES or m * N * max(n, N) > MOST_PRODUCTS:
        return NEVER
    newton = 1000.0 + 3.5e-5 * size * size * (m + size / 3)
    return max(200, int(8.0 * newton / (25.0 + 3.5e-4 * m * N * n)))


class Maxima:
    """Costs of the largest of several numbers: slacks and multipliers of one kind."""

    logistic = False

    def __init__(self, cost: np.ndarray, inside: np.ndarray) -> None:
        self.cost, self.inside = cost, inside

    def values(self, W: np.ndarray) -> np.ndarray:
        """The numbers, but for constants."""
        raise NotImplementedError

    def spread(self, along: np.ndarray, G: np.ndarray) -> None:
        """Add a slope along the numbers to one along W, G."""
        raise NotImplementedError

    def add_metric(self, H: np.ndarray) -> None:
        """Add the metric of W to H; rows come first."""
        raise NotImplementedError

    def begin(self, W: np.ndarray, mu: float, constant: Any = 0.0) -> None:
        """Bounds and multipliers for these prototypes, with s z = mu."""
        values = np.where(self.inside, self.values(W) + constant, -np.inf)
        largest = values.max(axis=1)
        apart = largest[:, None] - values
        low, high = np.full(len(largest), -30.0), np.full(len(largest), 30.0)
        for _ in range(14):
            middle = 0.5 * (low + high)
            room = np.exp(middle)
            pull = (mu / (room[:, None] + apart)).sum(axis=1)
            narrow = pull > self._slope(largest + room)[0]
            low, high = np.where(narrow, middle, low), np.where(narrow, high, middle)
        room = np.exp(middle)
        self.top = largest + room
        self.slack = np.where(self.inside, room[:, None] + apart, 1.0)
        self.z = np.where(self.inside, mu / self.slack, 0.0)

    def _slope(self, top: np.ndarray) -> tuple[np.ndarray, Any]:
        """Slope and curvature of the cost."""
        if not self.logistic:
            return self.cost, 0.0
        share = 1.0 / (1.0 + np.exp(-top))
        return self.cost * share, self.cost * share * (1.0 - share)

    def bend(self) -> None:
        """Write the metric of a step from here."""
        self.metric = self.z / self.slack
        self.slope, self.curvature = self._slope(self.top)
        self.total = self.metric.sum(axis=1) + self.curvature

    def pull(self, target: Any) -> np.ndarray:
        """Slope along the numbers, for a step to s z = target."""
        self.goal = np.where(self.inside, target / self.slack, 0.0)
        self.rest = self.goal.sum(axis=1) - self.slope
        return self.goal - self.metric * (self.rest / self.total)[:, None]

    def aim(self, dW: np.ndarray) -> float:
        """Write the step that belongs to one of W; return the share that is possible"""
        moved = self.values(dW)
        self.up = ((self.metric * moved).sum(axis=1) + self.rest) / self.total
        self.wider = np.where(self.inside, self.up[:, None] - moved, 0.0)
        self.dz = self.goal - self.z - self.metric * self.wider
        return min(_longest(self.slack, self.wider), _longest(self.z, self.dz))

    def products(self, share: float) -> float:
        """Sum of s z after a share of the step."""
        slack, z = self.slack + share * self.wider, self.z + share * self.dz
        return float((slack * z)[self.inside].sum())

    def move(self, share: float) -> None:
        """Go a share of the step."""
        self.top = self.top + share * self.up
        self.slack = self.slack + share * self.wider
        self.z = self.z + share * self.dz

    def flat(self, scale: float, share: float) -> np.ndarray:
        """Groups that end at 0: the dual is farther from its end than they are from 0.

        Of groups of numbers and their opposites.
        """
        up, down = np.hsplit(self.z, 2)
        inside = 1.0 - np.abs(up - down).sum(axis=1) / self.cost
        return self.top < share * scale * inside


def _longest(x: np.ndarray, step: np.ndarray) -> float:
    """Share of a step, 1 at most, that leaves x at or above 0."""
    falls = step < 0.0
    return float(min(1.0, (-x[falls] / step[falls]).min(initial=1.0)))


def _factored(system: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, bool]]:
    """A positive definite matrix and its factor, if need be of one a little above it"""
    share, diagonal = 1e-15, np.diag_indices(len(system))
    while True:
        above = system.copy()
        above[diagonal] *= 1.0 + share
        try:
            return system, cho_factor(above, True, True, check_finite=False)
        except LinAlgError:
            share *= 10.0
            if share > 1e-8:
                raise


def _solved(
    factor: tuple[np.ndarray, tuple[np.ndarray, bool]], right: np.ndarray
) -> np.ndarray:
    """Solve a factored system, with a correction of what rounding left."""
    system, of_system = factor
    x = cho_solve(of_system, right, check_finite=False)
    return x + cho_solve(of_system, right - system @ x, check_finite=False)


class Sizes(Maxima):
    """|w| of each entry that pays l1."""

    def __init__(self, l1: np.ndarray) -> None:
        self.paying = l1 > 0.0
        cost = l1[self.paying]
        super().__init__(cost, np.ones((len(cost), 2), bool))

    def values(self, W: np.ndarray) -> np.ndarray:
        """An entry and its opposite."""
        return np.column_stack([W[self.paying], -W[self.paying]])

    def spread(self, along: np.ndarray, G: np.ndarray) -> None:
        """Add the slope along W to G."""
        G[self.paying] += along[:, 0] - along[:, 1]

    def add_metric(self, H: np.ndarray) -> None:
        """Add the metric of W to H."""
        entries = np.flatnonzero(self.paying)
        up, down = self.metric.T
        H.reshape(len(H) * H.shape[1], -1)[entries, entries] += (
            4 * up * down / (up + down)
        )


class Fusions(Maxima):
    """Largest difference of each pair of prototypes."""

    def __init__(
        self, pairs: tuple[np.ndarray, np.ndarray, np.ndarray], units: np.ndarray
    ) -> None:
        self.first, self.second, radius = pairs
        self.units = units
        super().__init__(radius, np.ones((len(radius), 2 * len(units)), bool))

    def values(self, W: np.ndarray) -> np.ndarray:
        """Differences in each column, and their opposites."""
        apart = (W[self.first] - W[self.second]) / self.units
        return np.hstack([apart, -apart])

    def duals(self, along: np.ndarray) -> np.ndarray:
        """Slope along the difference of each pair."""
        n = len(self.units)
        return (along[:, :n] - along[:, n:]) / self.units

    def spread(self, along: np.ndarray, G: np.ndarray) -> None:
        """Add the slope along W to G."""
        duals = self.duals(along)
        np.add.at(G, self.first, duals)
        np.subtract.at(G, self.second, duals)

    def add_metric(self, H: np.ndarray) -> None:
        """Add the metric of W to H."""
        n = len(self.units)
        size = (self.metric[:, :n] + self.metric[:, n:]) / self.units**2
        lean, diagonal = self.duals(self.metric), np.arange(n)
        for e, (i, j) in enumerate(zip(self.first, self.second, strict=True)):
            block = np.outer(lean[e], -lean[e] / self.total[e])
            block[diagonal, diagonal] += size[e]
            H[i, :, i] += block
            H[j, :, j] += block
            H[i, :, j] -= block
            H[j, :, i] -= block


class Losses(Maxima):
    """Loss of each row by the lead of its best rival."""

    def __init__(self, X: np.ndarray, ties: Ties) -> None:
        self.X, self.kind, self.assign = X, ties.kind, ties.assign
        self.rows = np.arange(len(X))
        self.rival = ties.prototype_labels != ties.y_encoded[:, None]
        self.tied = np.zeros(self.rival.shape)
        self.tied[self.rows, ties.assign] = 1.0
        self.offsets = np.where(self.rival, ties.offsets, 0.0)
        self.logistic = ties.kind == MAX
        inside = self.rival if self.logistic else self.rival | (self.tied > 0.0)
        super().__init__(ties.weights, inside)

    def values(self, W: np.ndarray) -> np.ndarray:
        """Lead of each rival; the row's own prototype stands for a loss of 0."""
        scores = self.X @ W.T
        return scores - scores[self.rows, self.assign][:, None]

    def spread(self, along: np.ndarray, G: np.ndarray) -> None:
        """Add the slope along W to G."""
        G += (along - self.tied * along.sum(axis=1)[:, None]).T @ self.X

    def bend_smoothly(self, Q: np.ndarray) -> None:
        """Write the metric of the smooth loss, which has no corner, at these shares."""
        self.metric, self.total = self.cost[:, None] * Q, self.cost

    def add_metric(self, H: np.ndarray) -> None:
        """Write the metric of W to H, which is 0."""
        (N, n), D = H.shape[:2], self.metric
        if self.logistic:  # what bends at the lead is as if the row's own had it
            D = D + self.tied * self.curvature[:, None]
        total = D.sum(axis=1)
        root = (D / np.sqrt(total)[:, None])[:, :, None] * self.X[:, None, :]
        root = root.reshape(len(D), N * n)
        H.reshape(N * n, N * n)[:] -= root.T @ root
        # D - D D / total, without the difference of numbers that are nearly equal.
        others = np.zeros(D.shape)
        others[:, 1:] += np.cumsum(D[:, :-1], axis=1)
        others[:, :-1] += np.cumsum(D[:, :0:-1], axis=1)[:, ::-1]
        bent = D * others / total[:, None]
        for j in range(N):
            H[j, :, j, :] = (self.X.T * bent[:, j]) @ self.X

    def shares(self, lead: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Loss where rivals lead so; entropy and shares of the dual point."""
        u, rival = self.cost, self.rival
        most = np.where(rival, lead, -np.inf).max(axis=1)
        if self.kind == SMOOTH:
            shifted = np.where(self.inside, lead + self.offsets, -np.inf)
            most = shifted.max(axis=1)
            loss = most + np.log(np.exp(shifted - most[:, None]).sum(axis=1))
            Q = np.exp(shifted - loss[:, None])
            entropy = (Q * np.where(self.inside, lead, 0.0)).sum(axis=1) - loss
        elif self.kind == HINGE:
            loss = np.maximum(1.0 + most, 0.0)
            Q = self.z / self.z.sum(axis=1)[:, None]
            entropy = -(Q * rival).sum(axis=1)
        else:
            loss = np.logaddexp(0.0, most)
            Q = self.z / u[:, None]
            Q /= np.maximum(Q.sum(axis=1) * (1.0 + 1e-12), 1.0)[:, None]
            miss = Q.sum(axis=1)
            entropy = miss * np.log(miss) + (1.0 - miss) * np.log1p(-miss)
            Q = Q + self.tied * (1.0 - miss)[:, None]
        return float(u @ loss), float(u @ entropy), Q


class Interior:
    """A problem of SMP, the columns that are in the system, and a point inside."""

    def __init__(self, X: np.ndarray, ties: Ties, penalty: Penalty) -> None:
        used = ties.weights > 0.0
        y_encoded, assign, weights = (column[used] for column in ties[:3])
        ties = ties._replace(y_encoded=y_encoded, assign=assign, weights=weights)
        self.X, self.ties, self.penalty = X[used], ties, penalty
        first, second = [], []
        for start, end in zip(penalty.starts[:-1], penalty.starts[1:], strict=True):
            i, j = np.triu_indices(end - start, 1)
            first.append(start + i)
            second.append(start + j)
        i, j = np.concatenate(first), np.concatenate(second)
        radius = penalty.lam * penalty.copies[i] * penalty.copies[j]
        self.fused = radius > 0.0
        self.pairs = i[self.fused], j[self.fused], radius[self.fused]

    def restrict(self, columns: np.ndarray, W: np.ndarray, room: float) -> None:
        """Take these columns into the system, from this point, with room around it.

        The point is at the same distance from all corners, which leaves s z sums of
        `room` together.
        """
        self.columns, self.full = columns, W.shape
        self.W = np.ascontiguousarray(W[:, columns])
        at = np.ix_(np.arange(len(W)), np.flatnonzero(columns))
        self.l2, units = self.penalty.l2[at], self.penalty.units[columns]
        self.losses = Losses(np.ascontiguousarray(self.X[:, columns]), self.ties)
        self.sizes = Sizes(self.penalty.l1[at])
        self.fusions = Fusions(self.pairs, units)
        self.smooth = self.ties.kind == SMOOTH
        maxima = [self.losses] * (not self.smooth) + [self.sizes, self.fusions]
        self.maxima = [one for one in maxima if len(one.cost)]
        self.n_products = sum(int(one.inside.sum()) for one in self.maxima)
        for one in self.maxima:
            hinge = one is self.losses and self.ties.kind == HINGE
            constant = self.losses.rival * 1.0 if hinge else 0.0
            one.begin(self.W, room / max(self.n_products, 1), constant)

    @property
    def products(self) -> float:
        """Sum of s z: about how far the point is above the optimum of its columns."""
        return float(sum((one.slack * one.z)[one.inside].sum() for one in self.maxima))

    def certified(self) -> tuple[float, float, np.ndarray, np.ndarray]:
        """Objective here, bound and its fusion duals, slopes."""
        penalty, u = self.penalty, self.ties.weights
        Y, Z = np.zeros((len(self.fused), self.full[1])), np.empty(self.full)
        loss, entropy, Q = self.losses.shares(self.losses.values(self.W))
        G = (u[:, None] * (Q - self.losses.tied)).T @ self.X
        if len(self.fusions.cost):
            duals = self.fusions.duals(self.fusions.z)
            size = (np.abs(duals) * self.fusions.units).sum(axis=1)
            shrunk = np.minimum(1.0, self.fusions.cost / np.maximum(size, 1e-300))
            Y[np.ix_(self.fused, self.columns)] = shrunk[:, None] * duals
        net, s = dual_net(G, Y, penalty, Z)
        bound = -entropy - net
        if s < 1.0:
            miss = (Q * self.losses.rival).sum(axis=1)
            scaled = scaled_entropy(s, entropy, self.ties.kind, miss, u)
            bound = max(bound, -scaled - net_conjugate(Z, s, penalty))
        return loss + penalties(self.whole(self.W), penalty), bound, Y, Z

    def cut(self, limit: float) -> tuple[float, np.ndarray] | None:
        """Make small weights 0 and near prototypes equal.

        Returns the objective, which is to be at most `limit`, and the prototypes: of
        as many as that allows. None: of no such weights.
        """
        scale = max(np.abs(self.W).max(initial=0.0), 1.0)
        apart = np.abs(self.W / self.fusions.units).max(initial=0.0)
        for share in (1.0, 1e-2, 1e-4):
            W, i, j = self.W.copy(), *self.pairs[:2]
            if self.sizes in self.maxima:
                paying = W[self.sizes.paying]
                paying[self.sizes.flat(scale, share)] = 0.0
                W[self.sizes.paying] = paying
            if self.fusions in self.maxima:
                equal = self.fusions.flat(apart, share)
                edges = np.ones(equal.sum()), (i[equal], j[equal])
                graph = coo_array(edges, shape=(len(W), len(W)))
                group = connected_components(graph, directed=False)[1]
                alike = group[:, None] == group
                W = alike @ W / alike.sum(axis=1)[:, None]
            loss, W = self.losses.shares(self.losses.values(W))[0], self.whole(W)
            if (P := loss + penalties(W, self.penalty)) <= limit:
                return P, W
        return None

    def whole(self, part: np.ndarray) -> np.ndarray:
        """These columns among all."""
        W = np.zeros(self.full)
        W[:, self.columns] = part
        return W

    def step(self, least: float) -> None:
        """Make a step of Mehrotra's: a trial to s z = 0 says how far it is aimed.

        The products are not aimed below a sum of `least`.
        """
        for one in self.maxima:
            one.bend()
        if self.smooth:
            self.Q = self.losses.shares(self.losses.values(self.W))[2]
            self.losses.bend_smoothly(self.Q)
        N, n = self.W.shape
        H = np.zeros((N, n, N, n))
        for one in [self.losses] * self.smooth + self.maxima:
            one.add_metric(H)
        system = H.reshape(N * n, N * n)
        system[np.diag_indices(N * n)] += self.l2.ravel()
        factor = _factored(system)
        _, share = self._aim(factor, [0.0] * len(self.maxima))
        mu = self.products / max(self.n_products, 1)
        after = sum(one.products(share) for one in self.maxima)
        goal = mu * (after / max(self.n_products * mu, 1e-300)) ** 3
        goal = max(goal, least / max(self.n_products, 1))
        bent = [goal - share**2 * one.wider * one.dz for one in self.maxima]
        dW, share = self._aim(factor, bent)
        share = min(1.0, 0.995 * share)
        self.W = self.W + share * dW
        for one in self.maxima:
            one.move(share)

    def _aim(self, factor: Any, targets: list[Any]) -> tuple[np.ndarray, float]:
        """The step to s z = targets, and the share of it that is possible."""
        slope = self.l2 * self.W
        if self.smooth:
            u = self.ties.weights[:, None]
            self.losses.spread(u * (self.Q - self.losses.tied), slope)
        for one, target in zip(self.maxima, targets, strict=True):
            one.spread(one.pull(target), slope)
        dW = -_solved(factor, slope.ravel()).reshape(slope.shape)
        return dW, min((one.aim(dW) for one in self.maxima), default=1.0)


def finish(
    X: np.ndarray,
    ties: Ties,
    penalty: Penalty,
    state: tuple[np.ndarray, np.ndarray, np.ndarray, int, float],
    limits: Limits,
    history: tuple[np.ndarray, ...],
) -> tuple[int, int, float]:
    """Go on by Newton steps from where a solver stands; W and Y are written over.

    Parameters
    ----------
    X, ties, penalty, limits, history
        As for `solve_smp`.
    state : tuple
        W, Y, the gradient of the loss, steps so far and the bound so far.

    Returns
    -------
    tuple
        Status, steps and the best bound; W and Y become the best prototypes, and the
        duals of that bound. The status is that of a limit, before `max_iter`, where
        steps came to nothing more.
    """
    W, Y, G, n_iter, bound = state
    objective, status, Z = history[0][n_iter], ITERATION_LIMIT, np.empty(W.shape)
    last, inner = min(n_iter + MOST_STEPS, limits.max_iter), Interior(X, ties, penalty)
    dual_net(G, Y, penalty, Z)
    columns = ((W != 0.0) | (np.abs(Z) >= NEAR * penalty.l1)).any(axis=0)
    missing, room, start = columns.copy(), min(objective - bound, objective), W
    least = 1e-3 * limits.tol * objective
    while status == ITERATION_LIMIT and n_iter < last:
        if missing.any():
            columns = columns | missing
            if (len(W) * columns.sum()) ** 2 > MOST_ENTRIES:
                break
            inner.restrict(columns, start, WIDER * room)
        try:
            inner.step(least)
        except LinAlgError:
            break
        n_iter += 1
        P, below, duals, Z = inner.certified()
        if below > bound:
            bound, Y[:] = below, duals
        if P < objective:
            objective, W[:] = P, inner.whole(inner.W)
        most, room, missing[:] = bound / max(1.0 - limits.tol, 1e-9), inner.products, 0
        cut = inner.cut(most) if objective <= most else None
        if cut is not None:
            objective, W[:] = cut
        gap = objective - bound
        status = note_step(n_iter, objective, gap, W, limits, history)
        if status == CONVERGED and cut is None:
            status = ITERATION_LIMIT  # a little more, and zeros are told from others
        if room <= 2.0 * least:  # all is done that this aim could do
            least *= 0.01
            if least < 1e-9 * limits.tol * objective:
                break
        if room <= 0.1 * gap and room <= 0.1 * objective:
            size = np.abs(Z) / np.maximum(penalty.l1, 1e-300)
            if size[:, ~columns].max(initial=0.0) > 1.0:
                missing = (size > 1.0).any(axis=0) & ~columns
                start = inner.whole(inner.W)
    if objective - bound <= limits.tol * objective:
        status = CONVERGED
    return status, n_iter, bound
