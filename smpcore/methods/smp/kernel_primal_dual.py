"""Sparse Multi-Prototype classification by the paper's Algorithm 2 (Chambolle-Pock).

The problem and its symbols are those of `smp`; further

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
p         largest     int         prototypes of the largest class, ||B||^2 <= p
s         s           number      lam sqrt(p); 1 / tau = L_f + s, sigma = s / p in Y
W-bar     U           (N, n)      extrapolation 2 W_new - W
theta     theta       number      5 / (t + 4): weight of step t in the averages
========  ==========  ==========  ====================================================

The paper's steps come from the bound N R^2 on L_f, some hundred times too large; these
steps are as safe, (1 / tau - L_f) / sigma >= p, and useful.
"""

import math

import numpy as np

from smpcore.methods.smp.kernel import (
    SHIFT_EVERY,
    dual_net,
    net_conjugate,
    penalty,
    shift_columns,
)
from smpcore.solvers import kernel
from smpcore.solvers.iterations import ITERATION_LIMIT, note_step, used_history
from smpcore.solvers.losses import SMOOTH, loss_and_gradient
from smpcore.solvers.prox import project_l1_ball, soft_threshold


@kernel
def dual_step(U, starts, sigma, lam, copies, units, Y, level):
    """Y <- projection of Y + sigma B U on the balls, pair by pair."""
    e = 0
    for c in range(starts.size - 1):
        for i in range(starts[c], starts[c + 1]):
            for j in range(i + 1, starts[c + 1]):
                for r in range(U.shape[1]):
                    Y[e, r] += sigma * (U[i, r] - U[j, r])
                radius = lam * copies[i] * copies[j]
                level[e] = project_l1_ball(Y[e], radius, units, level[e])
                e += 1


@kernel
def primal_step(Z, tau, l1, l2, W, U):
    """W <- prox of the elastic net at W - tau Z; U <- 2 W_new - W."""
    for j in range(W.shape[0]):
        for r in range(W.shape[1]):
            w = soft_threshold(W[j, r] - tau * Z[j, r], tau * l1[j, r])
            w /= 1.0 + tau * l2[j, r]
            U[j, r] = 2.0 * w - W[j, r]
            W[j, r] = w


@kernel
def solve_smp_primal_dual(
    X, y_encoded, assign, weights, prototype_labels, starts, copies, units, offsets,
    lam, l1, l2, lipschitz, kind, W, Y, E, bits, tol, max_iter, record, stop, progress,
    history,
):  # fmt: skip
    """Solve SMP by primal-dual steps until the certified gap is at most ``tol * P``.

    The bound is taken at the weighted average of the duals so far: with the max loss
    or the hinge G is a subgradient, and a single one leaves the bound far below the
    optimum. Arguments and results are those of `smp.solve_smp`, but for what goes from
    step to step.
    """
    N, n = W.shape
    rows = E.size // N
    miss, S = np.empty(y_encoded.size), np.empty((N + 1) * rows)
    triple, part = np.empty((3, rows)), np.empty((N, n))
    G, Z, U = np.empty((N, n)), np.empty((N, n)), np.empty((N, n))
    G_mean, Y_mean, level = np.empty((N, n)), np.empty(Y.shape), np.empty(len(Y))
    level[:] = G_mean[:] = Y_mean[:] = 0.0
    largest = 1
    for c in range(starts.size - 1):
        largest = max(largest, starts[c + 1] - starts[c])
    s = lam * math.sqrt(largest)
    T = 1.0 if kind == SMOOTH else 1e-9
    raw = (units != 1.0).any()
    entropy_mean, bound, n_iter, status = 0.0, -math.inf, -1, ITERATION_LIMIT
    for j in range(N):
        for r in range(n):
            U[j, r] = W[j, r]
    while True:
        n_iter += 1
        _, _, loss, entropy = loss_and_gradient(
            X, y_encoded, assign, weights, prototype_labels, offsets, kind, T, W, G,
            miss, S, E, bits, triple, part,
        )  # fmt: skip
        if lam > 0.0:
            dual_step(U, starts, s / largest, lam, copies, units, Y, level)
        theta = 5.0 / (n_iter + 5.0)
        entropy_mean += theta * (entropy - entropy_mean)
        for j in range(N):
            for r in range(n):
                G_mean[j, r] += theta * (G[j, r] - G_mean[j, r])
        for e in range(len(Y)):
            for r in range(n):
                Y_mean[e, r] += theta * (Y[e, r] - Y_mean[e, r])
        net, free = dual_net(G_mean, Y_mean, starts, l1, l2, Z)
        bound = max(bound, -entropy_mean - net)
        if free < 1.0:
            # by concavity, free * Q + (1 - free) * e has at least that much entropy
            bound = max(bound, -free * entropy_mean - net_conjugate(Z, free, l1, l2))
        P = loss + penalty(W, starts, lam, l1, l2, copies, units)
        status = note_step(
            n_iter, record, P, P - bound, tol, W, history, stop, progress
        )
        if status != ITERATION_LIMIT or n_iter == max_iter:
            break
        dual_net(G, Y, starts, l1, l2, Z)
        primal_step(Z, 1.0 / (lipschitz + s), l1, l2, W, U)
        if raw and kind == SMOOTH and n_iter % SHIFT_EVERY == 0:
            shift_columns(W, l1, l2)
    shift_columns(W, l1, l2)
    lower = P - loss - penalty(W, starts, lam, l1, l2, copies, units)
    history[0][n_iter] -= lower
    history[1][n_iter] -= lower
    objectives, gaps, steps = used_history(n_iter, record, W, history, progress)
    return W, Y, status, n_iter, objectives, gaps, steps
