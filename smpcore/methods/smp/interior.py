"""The last digits of SMP: a primal-dual interior-point method (Mehrotra).

Steps along gradients need thousands where columns are raw, the ridge is tiny or the
loss has corners; Newton steps on the conditions of the optimum need a few dozen.
Every corner of the objective is the largest of several numbers that are linear in W:
see `maxima`, whose bounds t, slacks s and multipliers z move along with W.

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
from smpcore.methods.smp.maxima import Fusions, Losses, Sizes
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, Limits, note_step
from smpcore.solvers.losses import HINGE, SMOOTH, Ties, scaled_entropy
from smpcore.solvers.prox import Penalty

#: Newton steps at most; entries of the system, and of its products with rows, at most.
MOST_STEPS, MOST_ENTRIES, MOST_PRODUCTS = 60, 2**22, 2**24

#: Steps go on to this share of the tolerance, though not below the second number: only
#: there are zeros told from others.
SHARP, SHARPEST = 0.01, 1e-6

#: Steps that no fit makes.
NEVER = 10**9

#: A column without weight is left out if its slope is below this share of l1.
NEAR = 0.85

#: Gap of the start, in multiples of what it is: bounds that it meets are left again.
WIDER = 10.0


def steps_before(m: int, n: int, N: int) -> int:
    """Gradient steps that take as long as these Newton steps will.

    Whoever begins after so many spends about twice what the better way would take, at
    most. Microseconds of both, roughly, as they were measured.
    """
    size = N * min(n, 2 * m)
    if size * size > MOST_ENTRIES or m * N * max(n, N) > MOST_PRODUCTS:
        return NEVER
    newton = 1000.0 + 3.5e-5 * size * size * (m + size / 3)
    return max(200, int(8.0 * newton / (25.0 + 3.5e-4 * m * N * n)))


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


@np.errstate(all="ignore")  # steps too long are seen by the certificate
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
    sharp = min(limits.tol, max(SHARP * limits.tol, SHARPEST))
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
        if status == CONVERGED and (cut is None or gap > sharp * objective):
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
