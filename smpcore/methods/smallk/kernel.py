r"""SMaLL: few prototypes of at most k weights each; relaxation, refit and certificate.

The relaxed problem (Garg, Dekel & Xiao, NeurIPS 2018, with its dual variables solved
for) is, over the prototypes W,

    P(W) = f(W) + sum_j ( lam ||w_j||_k^2 + lam_b bias_j^2 ) / 2

where f is a loss of `losses` and ||.||_k the norm of `support_norm`. A weight may also
be given: one that is in has a plain ridge and takes one of the k, one that is out is 0,
and the norm is that of the others. On a given support nothing else is left.

========  ================  ========  ==================================================
symbol    name              shape     meaning
========  ================  ========  ==================================================
X         X                 (m, n)    rows = examples; a bias is a last column of ones
y         y_encoded         (m,) int  class of each example
j(i)      assign            (m,) int  prototype each example is tied to
u_i       weights           (m,)      weight of each example, sum 1
W         W                 (N, n)    rows = prototypes
          prototype_labels  (N,) int  class of each prototype
          first             int       prototypes before it are frozen at 0: the one of
                                      the negative class (1), or none (0)
          n_features        int       columns that k counts; the bias is the one beyond
k         k                 int       weights a prototype may have
lam       ridge             (n,)      weight of the norm for features, ridge of the bias
          support           (N, n)    OUT, FREE or IN for each weight of a feature
          form              Form      first, n_features, k, support and lam
          ties              Ties      y, j, u and the classes, see `losses`
L_f       lipschitz         number    curvature bound of f: lambda_max(X' diag(u) X) / 2
Q                           (m, N)    probabilities; Q_ij of rivals are the paper's
                                      -s_ij
G, Z      G                 (N, n)    gradient of f, sum_i u_i (Q_i - e_i) x_i'
T         T                 number    temperature of the annealed loss; 1 for the smooth
D                           number    dual value: minus the entropy of `losses`
                                      - sum_j sum of the k largest Z_jr^2 / (2 lam)
                                      - Z_bias^2 / (2 lam_b), below every k-sparse model
========  ================  ========  ==================================================
"""

import math
from collections import namedtuple

import numpy as np

from smpcore.methods.smallk.kernel_support_norm import (
    squared_support_norm,
    sum_largest_squares,
    support_norm_prox,
)
from smpcore.solvers import kernel
from smpcore.solvers.branching import FREE, IN
from smpcore.solvers.iterations import (
    ITERATION_LIMIT,
    copy_rows,
    note_step,
    used_history,
)
from smpcore.solvers.losses import SMOOTH, loss_and_gradient, loss_room

Form = namedtuple("Form", "first n_features k support ridge")


@kernel
def free_weights(weights, support, k, v):
    """V <- the weights that are free, 0 for the others; how many of them may stay."""
    for r in range(v.size):
        v[r] = weights[r] if support[r] == FREE else 0.0
        if support[r] == IN:
            k -= 1
    return max(k, 0)


@kernel
def relaxed_penalty(W, form, v, shares, sizes):
    """Squared k-support norms and ridge of what is in, and of the bias, at W."""
    first, n_features, k, support, ridge = form
    total = 0.0
    for j in range(first, W.shape[0]):
        left = free_weights(W[j], support[j], k, v[:n_features])
        total += ridge[0] * squared_support_norm(v[:n_features], left, shares, sizes)
        for r in range(W.shape[1]):
            if r >= n_features or support[j, r] == IN:
                total += ridge[r] * W[j, r] * W[j, r]
    return 0.5 * total


@kernel
def relaxed_conjugate(Z, form, v, sizes):
    """Conjugate of `relaxed_penalty` at Z."""
    first, n_features, k, support, ridge = form
    total = 0.0
    for j in range(first, Z.shape[0]):
        left = free_weights(Z[j], support[j], k, v[:n_features])
        total += sum_largest_squares(v[:n_features], left, sizes) / ridge[0]
        for r in range(Z.shape[1]):
            if r >= n_features or support[j, r] == IN:
                total += Z[j, r] * Z[j, r] / ridge[r]
    return 0.5 * total


@kernel
def proximal_step(Y, G, L, form, W, v, sizes):
    """W <- prox of the penalty at Y - G / L; G's part of the descent lemma.

    Returns <G, W - Y> + L |W - Y|^2 / 2.
    """
    first, n_features, k, support, ridge = form
    beta, rise = ridge[0] / L, 0.0
    for j in range(first, W.shape[0]):
        for r in range(W.shape[1]):
            W[j, r] = Y[j, r] - G[j, r] / L
        free = v[:n_features]
        left = free_weights(W[j], support[j], k, free)
        support_norm_prox(free, beta, left, sizes, free)
        for r in range(W.shape[1]):
            if r >= n_features or support[j, r] == IN:
                W[j, r] /= 1.0 + ridge[r] / L
            else:
                W[j, r] = v[r]
            d = W[j, r] - Y[j, r]
            rise += d * (G[j, r] + 0.5 * L * d)
    return rise


@kernel
def extrapolate(W, W_old, Y, first, t):
    """Y <- W + beta (W - W_old), restarted when the momentum points uphill.

    Returns beta and the next t of Nesterov's sequence.
    """
    uphill = 0.0
    for j in range(first, W.shape[0]):
        for r in range(W.shape[1]):
            uphill += (Y[j, r] - W[j, r]) * (W[j, r] - W_old[j, r])
    if uphill > 0.0:
        t = 1.0
    grown = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
    beta = (t - 1.0) / grown
    for j in range(first, W.shape[0]):
        for r in range(W.shape[1]):
            Y[j, r] = W[j, r] + beta * (W[j, r] - W_old[j, r])
    return beta, grown


@kernel
def solve_smallk(
    X, ties, form, lipschitz, W, ceiling, limits, losses, at, miss, spaces, history
):
    """Solve the relaxation on a support, to a gap of ``tol * P``.

    FISTA with backtracking and restarts. Every gradient gives a dual point; the best
    bound so far is kept. It gives up once its bound reaches `ceiling`: a better
    model is known. W is the start and is overwritten.

    The max loss and the hinge are approached by annealing: whenever the annealed
    problem is solved well enough, its temperature falls, and FISTA begins again from W.
    P and its bound are those of the true loss throughout.

    `losses` to `history`, and `at` among the results, are as for `smp.solve_smp`:
    without rows in X one step is made. A step ends at the next point to look at, a new
    W or the extrapolated Y. `spaces` are five arrays (N, n), then (n,), (2, n_features)
    and (n_features,). Returns W, status, steps taken, objective and gap after 0, 1, ...
    steps, recorded steps, the curvature L, and `at`.
    """
    # A literal would be another signature, compiled while somebody waits.
    room, first = loss_room(*W.shape, np.int64(96)), form.first
    smooth, in_memory = ties.kind == SMOOTH, X.shape[0] > 0
    loss_new, entropy, true_loss, true_entropy = losses
    going, T, status, n_iter, extrapolated, L, t, bound, loss, rise = at
    work, v, sizes, shares = spaces
    point, G, G_new, Y, W_old = work[0], work[1], work[2], work[3], work[4]
    objectives, gaps, steps = history
    while going:
        if in_memory:
            loss_new, entropy, true_loss, true_entropy = loss_and_gradient(
                X, ties, T, point, G_new, miss, room
            )
        limit = lipschitz if smooth else 2.0 * lipschitz / T
        conjugate = relaxed_conjugate(G_new, form, v, sizes)
        bound = max(bound, -true_entropy - conjugate)
        slack, look_at_Y = 1e-14 * (1.0 + abs(loss)), False
        if not extrapolated and L < limit and loss_new > loss + rise + slack:
            L = min(2.0 * L, limit)
        else:
            if not extrapolated:
                n_iter += 1
                copy_rows(W, W_old)
                copy_rows(point, W)
                costs = relaxed_penalty(W, form, v, shares, sizes)
                P = true_loss + costs
                gap = P - bound
                status = note_step(n_iter, P, gap, W, limits, history)
                ended = status != ITERATION_LIMIT or n_iter == limits.max_iter
                if ended or bound >= ceiling:
                    going = False
                    break
                colder = T
                if not smooth and n_iter == 0:  # smoothing may cost a tenth of the gap
                    colder = min(1.0, 0.1 * gap / max(loss_new - true_loss, 1e-300))
                elif (
                    not smooth and 3.0 * (loss_new + costs + entropy + conjugate) <= gap
                ):
                    colder = T / 3.0
                if colder < T:
                    L, t, T, look_at_Y = L * T / colder, 1.0, colder, True
                    copy_rows(W, Y)
                else:
                    beta, t = extrapolate(W, W_old, Y, first, t)
                    look_at_Y = beta > 0.0
            if not look_at_Y:
                loss = loss_new
                copy_rows(G_new, G)
                L = max(0.9 * L, 1e-6 * lipschitz)
        if look_at_Y:
            copy_rows(Y, point)
        else:
            rise = proximal_step(Y, G, L, form, point, v, sizes)
        extrapolated = look_at_Y
        if not in_memory:
            break
    at = going, T, status, n_iter, extrapolated, L, t, bound, loss, rise
    if going:
        return W, status, n_iter, objectives[:0], gaps[:0], steps[:0], L, at
    objectives, gaps, steps = used_history(n_iter, W, limits, history)
    return W, status, n_iter, objectives, gaps, steps, L, at
