"""Corners of SMP's objective, for the Newton steps of `interior`.

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

The loss of the smooth kind has no corner, but shares and slopes as the others have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.solvers.losses import HINGE, MAX, SMOOTH, Ties


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
