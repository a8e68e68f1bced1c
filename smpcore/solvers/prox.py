"""Proximal maps and projections.

Symbols of the fusion prox (one class, p prototypes, b = p (p - 1) / 2 pairs i < j)

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
U         U           (N, n)      point whose prox is taken
W         W           (N, n)      the prox, overwritten
tau       tau         number      step length
lambda    lam         number      weight of the fusion penalty
                                  sum ||(w_i - w_j) / d||_inf
l1, l2    l1, l2      (N, n)      elastic net per entry
c_j       copies      (N,)        how many equal prototypes row j stands for
d_r       units       (n,)        scale of each column: differences are divided by it
          starts      (C + 1,)    first prototype of each class, and N at the end
          penalty     Penalty     starts, c, d, lambda, l1 and l2
y_e       Y           (b, n)      dual of pair e, sum_r d_r |y_er| <= lam c_i c_j,
                                  overwritten
y-y_old   step        (b, n)      last change of Y (Nesterov's momentum)
theta_e   level       (b,)        soft threshold of the last projection of pair e
========  ==========  ==========  ====================================================
"""

import math
from collections import namedtuple

from . import kernel
from .iterations import copy_rows

Penalty = namedtuple("Penalty", "starts copies units lam l1 l2")


@kernel
def soft_threshold(x, t):
    """Proximal map of ``t * abs``."""
    return max(x - t, 0.0) + min(x + t, 0.0)


@kernel
def project_l1_ball(v, radius, units, level):
    """Project v, in place, on a weighted l1 ball; return the soft threshold used.

    Newton's method on ``sum(d max(abs(v) - t d, 0)) == radius``, d the units: convex,
    falling and piecewise linear in t, so any start is at or below the root after one
    step and the root is met exactly after finitely many. `level` is the start; the
    threshold of a similar earlier projection saves most steps.
    """
    n = v.size
    first = True
    while True:
        total, square = 0.0, 0.0
        for r in range(n):
            d = units[r]
            a = abs(v[r])
            if a > level * d:
                total += d * a
                square += d * d
        if square == 0.0:
            if level == 0.0 or not first:
                break
            level = 0.0
            continue
        root = max((total - radius) / square, 0.0)
        if root == level or not (first or root > level):
            break
        level, first = root, False
    if level > 0.0:
        for r in range(n):
            v[r] = soft_threshold(v[r], level * units[r])
    return level


@kernel
def fused_rows(U, first, last, pair, tau, penalty, Y, step, beta, W):
    """Prototypes of one class that belong to the dual point Y + beta * step."""
    l1, l2, n = penalty.l1, penalty.l2, U.shape[1]
    copy_rows(U[first:last], W[first:last])
    e = pair
    for i in range(first, last):
        for j in range(i + 1, last):
            for r in range(n):
                y = tau * (Y[e, r] + beta * step[e, r])
                W[i, r] -= y
                W[j, r] += y
            e += 1
    for j in range(first, last):
        for r in range(n):
            W[j, r] = soft_threshold(W[j, r], tau * l1[j, r]) / (1.0 + tau * l2[j, r])


@kernel
def move_duals(first, last, pair, rate, penalty, beta, W, Y, room):
    """One projected gradient step on the duals of one class, from Y + beta * step.

    Returns the largest change relative to the ball's radius, and the inner product
    whose positive sign means that the momentum points uphill.
    """
    copies, units, n = penalty.copies, penalty.units, W.shape[1]
    step, level, row = room
    change, uphill = 0.0, 0.0
    e = pair
    for i in range(first, last):
        for j in range(i + 1, last):
            radius = penalty.lam * copies[i] * copies[j]
            for r in range(n):
                row[r] = Y[e, r] + beta * step[e, r] + rate * (W[i, r] - W[j, r])
            level[e] = project_l1_ball(row, radius, units, level[e])
            largest = 0.0
            for r in range(n):
                d = row[r] - Y[e, r]
                uphill += (beta * step[e, r] - d) * d
                largest = max(largest, abs(d) * units[r])
                step[e, r] = d
                Y[e, r] = row[r]
            change = max(change, largest / radius)
            e += 1
    return change, uphill


@kernel
def fusion_prox(U, tau, penalty, tol, W, Y, room):
    """Prox of fusion penalty + elastic net, solved class by class in its dual.

    The dual of one class has curvature tau * p / (1 + tau * min l2) and one non-zero
    eigenvalue (complete graph), so that few accelerated steps suffice. Y is the warm
    start and stays feasible whenever the iteration is cut short. `room` is step, level
    and a row, (n,).
    """
    starts, l2 = penalty.starts, penalty.l2
    pair = starts[0]  # 0; a literal 0 would be a type of its own: compiled twice
    for c in range(starts.size - 1):
        first, last = starts[c], starts[c + 1]
        p = last - first
        smallest = math.inf
        for j in range(first, last):
            for r in range(l2.shape[1]):
                smallest = min(smallest, l2[j, r])
        rate = (1.0 + tau * smallest) / (tau * p)
        left = 0 if penalty.lam == 0.0 or p == 1 else (6 if p == 2 else 15)
        beta, t = 0.0, 1.0
        while True:
            fused_rows(U, first, last, pair, tau, penalty, Y, room[0], beta, W)
            if left == 0:
                break
            change, uphill = move_duals(
                first, last, pair, rate, penalty, beta, W, Y, room
            )
            if uphill > 0.0:
                t = 1.0
            grown = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
            beta, t = (t - 1.0) / grown, grown
            left -= 1
            if change <= tol or left == 0:
                beta, left = 0.0, 0
        pair += p * (p - 1) // 2
