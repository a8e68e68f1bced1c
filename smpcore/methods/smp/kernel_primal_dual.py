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
    penalties,
    shift_columns,
)
from smpcore.solvers import kernel
from smpcore.solvers.iterations import (
    ITERATION_LIMIT,
    copy_rows,
    move_mean,
    note_step,
    used_history,
)
from smpcore.solvers.losses import FEW, SMOOTH, loss_and_gradient, loss_room
from smpcore.solvers.prox import project_l1_ball, soft_threshold


@kernel
def dual_step(U, sigma, penalty, Y, level):
    """Y <- projection of Y + sigma B U on the balls, pair by pair."""
    starts, copies, units, lam, _, _ = penalty
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
def primal_step(Z, tau, penalty, W, U):
    """W <- prox of the elastic net at W - tau Z; U <- 2 W_new - W."""
    l1, l2 = penalty.l1, penalty.l2
    for j in range(W.shape[0]):
        for r in range(W.shape[1]):
            w = soft_threshold(W[j, r] - tau * Z[j, r], tau * l1[j, r])
            w /= 1.0 + tau * l2[j, r]
            U[j, r] = 2.0 * w - W[j, r]
            W[j, r] = w


@kernel
def solve_smp_primal_dual(X, ties, penalty, lipschitz, W, Y, limits, history):
    """Solve SMP by primal-dual steps until the certified gap is at most ``tol * P``.

    The bound is taken at the weighted average of the duals so far: with the max loss
    or the hinge G is a subgradient, and a single one leaves the bound far below the
    optimum. Arguments and results are those of `smp.solve_smp`, but for what goes from
    step to step.
    """
    (N, n), starts, lam = W.shape, penalty.starts, penalty.lam
    miss, room = np.empty(ties.weights.size), loss_room(N, n, 256 if N <= FEW else 96)
    G, Z, U = np.empty((N, n)), np.empty((N, n)), np.empty((N, n))
    G_mean, Y_mean, level = np.empty((N, n)), np.empty(Y.shape), np.empty(len(Y))
    level[:] = G_mean[:] = Y_mean[:] = 0.0
    largest = 1
    for c in range(starts.size - 1):
        largest = max(largest, starts[c + 1] - starts[c])
    s = lam * math.sqrt(largest)
    smooth = ties.kind == SMOOTH
    T = 1.0 if smooth else 1e-9
    raw = (penalty.units != 1.0).any()
    entropy_mean, bound, n_iter, status = 0.0, -math.inf, -1, ITERATION_LIMIT
    copy_rows(W, U)
    while True:
        n_iter += 1
        _, _, loss, entropy = loss_and_gradient(X, ties, T, W, G, miss, room)
        if lam > 0.0:
            dual_step(U, s / largest, penalty, Y, level)
        theta = 5.0 / (n_iter + 5.0)
        entropy_mean += theta * (entropy - entropy_mean)
        move_mean(G_mean, G, theta)
        move_mean(Y_mean, Y, theta)
        net, free = dual_net(G_mean, Y_mean, penalty, Z)
        bound = max(bound, -entropy_mean - net)
        if free < 1.0:
            # by concavity, free * Q + (1 - free) * e has at least that much entropy
            bound = max(bound, -free * entropy_mean - net_conjugate(Z, free, penalty))
        P = loss + penalties(W, penalty)
        status = note_step(n_iter, P, P - bound, W, limits, history)
        if status != ITERATION_LIMIT or n_iter == limits.max_iter:
            break
        dual_net(G, Y, penalty, Z)
        primal_step(Z, 1.0 / (lipschitz + s), penalty, W, U)
        if raw and smooth and n_iter % SHIFT_EVERY == 0:
            shift_columns(W, penalty.l1, penalty.l2)
    shift_columns(W, penalty.l1, penalty.l2)
    lower = P - loss - penalties(W, penalty)
    history[0][n_iter] -= lower
    history[1][n_iter] -= lower
    objectives, gaps, steps = used_history(n_iter, W, limits, history)
    return W, Y, status, n_iter, objectives, gaps, steps
