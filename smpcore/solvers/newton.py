"""Proximal Newton steps of two prototypes: l1 logistic regression, seen as SMP.

The Hessian of example i is q (1 - q) [[1, -1], [-1, 1]] x x', q the probability of its
own prototype. The metric is 2 q (1 - q) x x' for each prototype: it is at least the
Hessian, and equal to it where the prototypes move in opposite directions. They do from
a start at zero, as their gradients are opposite; one step is taken for both then.

========  =========  ==========  =======================================================
symbol    name       shape       meaning
========  =========  ==========  =======================================================
X         X          (m, n)      rows = examples
u_i       weights    (m,)        weight of each example, sum 1
1 - q     miss       (m,)        probability that the rival gets
W         W          (2, n)      rows = prototypes
G         G          (2, n)      gradient at W
l1, l2    l1, l2     (2, n)      elastic net per entry
A         active     (k,) int    columns that a step may change
H         H          (k, k)      metric, X_A' diag(2 u q (1 - q)) X_A
========  =========  ==========  =======================================================
"""

import math

import numpy as np

from . import kernel
from .iterations import copy_rows
from .prox import soft_threshold

#: Passes of coordinate descent over the columns, at most.
MOST_SWEEPS = 100

#: A column of zeros is left out of a step if its gradient is below this share of l1.
NEAR = 0.95


@kernel
def active_columns(W, G, l1, active):
    """Write the columns that a step is likely to change; return how many."""
    k = 0
    for r in range(W.shape[1]):
        for j in range(W.shape[0]):
            if W[j, r] != 0.0 or abs(G[j, r]) >= NEAR * l1[j, r]:
                active[k] = r
                k += 1
                break
    return k


@kernel
def row_metric(X, weights, miss, active, room, part, H):
    """Write the metric of some columns into H; the size of `room` sets the blocks."""
    k = active.size
    rows = room.size // k
    H[:] = 0.0
    for first in range(0, X.shape[0], rows):
        last = min(first + rows, X.shape[0])
        bent = room[: (last - first) * k].reshape(last - first, k)
        for i in range(first, last):
            root = math.sqrt(2.0 * weights[i] * miss[i] * (1.0 - miss[i]))
            for c in range(k):
                bent[i - first, c] = root * X[i, active[c]]
        np.dot(bent.T, bent, part)
        for a in range(k):
            for b in range(k):
                H[a, b] += part[a, b]


@kernel
def are_opposite(W, G, l1, l2, active):
    """Whether the second prototype's step is that of the first with another sign."""
    for r in active:
        if W[1, r] != -W[0, r] or G[1, r] != -G[0, r]:
            return False
        if l1[1, r] != l1[0, r] or l2[1, r] != l2[0, r]:
            return False
    return True


@kernel
def newton_step(W, G, H, l1, l2, active, slope, point):
    """Write the minimiser of the loss's model in this metric, plus elastic net.

    Coordinate descent, a prototype after the other, and never to the end: the next step
    has another metric. `slope`, (n,), is room for the gradient of the model.
    """
    k = active.size
    copy_rows(W, point)
    for j in range(W.shape[0]):
        if j == 1 and are_opposite(W, G, l1, l2, active):
            for c in range(k):
                point[1, active[c]] = -point[0, active[c]]
            break
        for c in range(k):
            slope[c] = G[j, active[c]]
        first = 0.0
        for _ in range(MOST_SWEEPS):
            largest = 0.0
            for c in range(k):
                h, r = H[c, c], active[c]
                w = point[j, r]
                moved = soft_threshold(h * w - slope[c], l1[j, r]) / (h + l2[j, r])
                d = moved - w
                if d != 0.0:
                    point[j, r] = moved
                    largest = max(largest, abs(d) * (h + l2[j, r]))
                    for b in range(k):
                        slope[b] += H[c, b] * d
            first = max(first, largest)
            if largest <= 1e-2 * first:
                break
