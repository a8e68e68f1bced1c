"""Sparse Multi-Prototype classification: certificate and solver.

Minimises, over the prototypes W (Garg, Dekel & Xiao, UAI 2018, equation 6),

    P(W) = f(W) + lam * sum_e c_i c_j ||(w_i - w_j) / d||_inf
         + sum_jr (l1_jr |W_jr| + l2_jr W_jr^2 / 2)

d is 1 in the paper. Columns of very different scales make f ill-conditioned; they come
divided by d, with W, l1 and l2 to match, and the objective stays what it was.

========  ================  ========  ==================================================
symbol    name              shape     meaning
========  ================  ========  ==================================================
X         X                 (m, n)    rows = examples; a bias is a column of ones
y         y_encoded         (m,) int  class of each example
a_i       assign            (m,) int  prototype each example is tied to
u_i       weights           (m,)      weight of each example, sum 1
W         W                 (N, n)    rows = prototypes, those of one class side by side
pc        prototype_labels  (N,) int  class of each prototype: 0, 0, 1, 1, ...
          starts            (C + 1,)  first prototype of each class, and N at the end
          ties              Ties      y, a, u, pc, log c and f, see `losses`
c_j       copies            (N,)      how many equal prototypes row j stands for; times
                                      the root of its class's factor on lambda
log c_j   offsets           (N,)      for the smooth loss, without factors; else zeros
lambda    lam               number    fusion
d         units             (n,)      what each column of X was divided by
l1, l2    l1, l2            (N, n)    elastic net per entry (times c_j), l2 > 0
          penalty           Penalty   starts, c, d, lambda, l1 and l2
L_f       lipschitz         number    curvature bound of f: lambda_max(X' diag(u) X) / 2
lambda V  Y                 (b, n)    dual of the fusion, pairs i < j class by class;
                                      feasible: row sums of d abs(Y) <= lam c_i c_j
f         kind              int       smooth, max or hinge loss, see `losses`
G         G                 (N, n)    gradient of f
Z         Z                 (N, n)    G + B' Y, (B' Y)_j = sum of Y over the pairs of j
========  ================  ========  ==================================================
"""

import math

import numpy as np

from smpcore.solvers import kernel
from smpcore.solvers.iterations import (
    ITERATION_LIMIT,
    copy_rows,
    note_step,
    used_history,
)
from smpcore.solvers.losses import (
    FEW,
    SMOOTH,
    loss_and_gradient,
    loss_room,
    scaled_entropy,
)
from smpcore.solvers.newton import active_columns, newton_step, row_metric
from smpcore.solvers.prox import fusion_prox, soft_threshold

#: Columns that a proximal Newton step may change; with more, steps are those of SPG.
MOST_COLUMNS = 512

#: Steps after which raw columns are shifted: the net of scaled ones is strong enough.
SHIFT_EVERY = 10


@kernel
def penalties(W, penalty):
    """Fusion penalty and elastic net at W."""
    starts, copies, units, lam, l1, l2 = penalty
    fusion, net = 0.0, 0.0
    for c in range(starts.size - 1):
        for i in range(starts[c], starts[c + 1]):
            for r in range(W.shape[1]):
                net += l1[i, r] * abs(W[i, r]) + 0.5 * l2[i, r] * W[i, r] * W[i, r]
            for j in range(i + 1, starts[c + 1]):
                largest = 0.0
                for r in range(W.shape[1]):
                    largest = max(largest, abs(W[i, r] - W[j, r]) / units[r])
                fusion += copies[i] * copies[j] * largest
    return lam * fusion + net


@kernel
def dual_net(G, Y, penalty, Z):
    """Write Z = G + B' Y; return the conjugate of the elastic net at Z.

    Also the largest s <= 1 for which s * Z costs nothing wherever l1 > 0: where l2 is
    tiny, the dual point (s Q + (1 - s) e, s V) gives the better bound.
    """
    starts, l1, l2 = penalty.starts, penalty.l1, penalty.l2
    e = 0
    cost, s = 0.0, 1.0
    copy_rows(G, Z)
    for c in range(starts.size - 1):
        for i in range(starts[c], starts[c + 1]):
            for j in range(i + 1, starts[c + 1]):
                for r in range(G.shape[1]):
                    Z[i, r] += Y[e, r]
                    Z[j, r] -= Y[e, r]
                e += 1
            for r in range(G.shape[1]):
                excess = abs(Z[i, r]) - l1[i, r]
                if excess > 0.0:
                    cost += excess * excess / (2.0 * l2[i, r])
                    if l1[i, r] > 0.0:
                        s = min(s, l1[i, r] / abs(Z[i, r]))
    return cost, s


@kernel
def net_conjugate(Z, s, penalty):
    """Conjugate of the elastic net at s * Z."""
    l1, l2, cost = penalty.l1, penalty.l2, 0.0
    for j in range(Z.shape[0]):
        for r in range(Z.shape[1]):
            excess = max(s * abs(Z[j, r]) - l1[j, r], 0.0)
            cost += excess * excess / (2.0 * l2[j, r])
    return cost


@kernel
def step_curvature(W, W_new, G, G_new, second):
    """Barzilai-Borwein curvature of f along the last step, and the step's length^2."""
    dd, dg, gg = 0.0, 0.0, 0.0
    for j in range(W.shape[0]):
        for r in range(W.shape[1]):
            d, g = W_new[j, r] - W[j, r], G_new[j, r] - G[j, r]
            dd += d * d
            dg += d * g
            gg += g * g
    if dg <= 0.0:
        return 0.0, dd
    return (gg / dg if second else dg / dd), dd


@kernel
def shift_columns(W, l1, l2):
    """Add to each column the number that costs least; no difference of rows changes.

    Loss and fusion depend on differences only, so that where a column's net is weak no
    step of theirs would move its mean in less than thousands of steps. The net's slope
    along the shift rises: it is looked up where entries become 0, and is linear
    between.
    """
    for r in range(W.shape[1]):
        shift, nearest, curvature = 0.0, math.inf, 0.0
        for j in range(W.shape[0]):
            curvature += l2[j, r]
        for k in range(W.shape[0]):
            slope, kink = 0.0, 0.0
            for j in range(W.shape[0]):
                apart = W[j, r] - W[k, r]
                slope += l2[j, r] * apart
                if apart == 0.0:
                    kink += l1[j, r]
                else:
                    slope += l1[j, r] if apart > 0.0 else -l1[j, r]
            rest = soft_threshold(slope, kink)
            if abs(rest) < nearest:
                nearest = abs(rest)
                shift = -W[k, r] - rest / curvature
            if rest == 0.0:
                break
        for j in range(W.shape[0]):
            W[j, r] += shift


@kernel
def solve_smp(
    X, ties, penalty, lipschitz, W, Y, limits, losses, at, miss, spaces, history
):
    """Solve SMP until the certified gap is at most ``tol * P``.

    Proximal gradient with Barzilai-Borwein steps (SPG), the prox solved in its dual;
    of two prototypes, the smooth loss has steps of `newton`, and one of SPG instead of
    each that does not lower P enough.
    The max loss and the hinge are approached by annealing: whenever the annealed
    problem is solved well enough, its temperature T falls. P and its bound are those
    of the true loss throughout.
    W and the feasible Y are the start (overwritten); `stop` is looked at once per step;
    `progress` rises from 0 to 1.

    Without rows in X it makes one step only, from the `losses` that the caller got at
    the next point: ``spaces[0][0]``, at temperature ``at[1]``, with the gradient in
    ``spaces[0][2]`` and `miss` as `loss_and_gradient` writes it.

    `at` are the numbers that go from step to step, `spaces` arrays: five (N, n), the
    first the next point; zeros like Y, (b,), (n,), (5,); `history` those of the
    objective, the gap and recorded steps. Returns W, Y, status, steps taken, objective
    and gap after 0, 1, ... steps, W after every `record`-th and the last step (rarer
    ones if there is no room for all), and `at`: whether to go on comes first. The last
    of them is the step after which it comes back to be called again, -1 for none.
    """
    N, n = W.shape
    weights, units, l1, l2 = ties.weights, penalty.units, penalty.l1, penalty.l2
    smooth, in_memory = ties.kind == SMOOTH, X.shape[0] > 0
    block_room = loss_room(N, n, 256 if N <= FEW else 96)
    loss, entropy, true_loss, true_entropy = losses
    going, T, status, n_iter, L, limit, worst, bound, pause = at
    work, move, level, row, recent = spaces
    prox_room = move, level, row
    point, G, G_new, U, Z = work[0], work[1], work[2], work[3], work[4]
    objectives, gaps, steps = history
    raw = (units != 1.0).any()
    newton, bent = in_memory and smooth and N == 2, False
    most = min(n, MOST_COLUMNS) if newton else 0
    H, active = np.empty((2, most * most)), np.empty(n, np.int64)
    room = np.empty(256 * most)
    while going:
        if in_memory:
            loss, entropy, true_loss, true_entropy = loss_and_gradient(
                X, ties, T, point, G_new, miss, block_room
            )
        curvature, dd = step_curvature(W, point, G, G_new, n_iter % 2 == 0)
        if raw and n_iter % SHIFT_EVERY == 0:  # changes neither loss nor gradient
            shift_columns(point, l1, l2)
        costs = penalties(point, penalty)
        if loss + costs > worst - 0.5e-4 * L * dd and (bent or L < limit):
            L = L if bent else min(2.0 * L, limit)
            bent = False
        else:
            bent = newton
            if n_iter >= 0:
                L = min(max(curvature, 1e-4 * lipschitz), limit)
            copy_rows(point, W)
            copy_rows(G_new, G)
            n_iter += 1
            P = true_loss + costs
            net, s = dual_net(G, Y, penalty, Z)
            bound = max(bound, -true_entropy - net)
            # The entropy is concave in s; for the smooth loss its slope at s = 1 is
            # loss + entropy. Most trials of the scaled point are hopeless.
            if s < 1.0 and not (smooth and (1.0 - s) * loss - s * entropy <= bound):
                scaled = scaled_entropy(s, true_entropy, ties.kind, miss, weights)
                bound = max(bound, -scaled - net_conjugate(Z, s, penalty))
            gap = P - bound
            status = note_step(n_iter, P, gap, W, limits, history)
            if status != ITERATION_LIMIT or n_iter == limits.max_iter:
                going = False
                break
            if not smooth and n_iter == 0:  # smoothing may cost a tenth of the gap
                T = min(1.0, 0.1 * gap / max(loss - true_loss, 1e-300))
                L, limit = 0.125 * lipschitz / T, 2.0 * lipschitz / T
            elif not smooth and 3.0 * (loss + costs + entropy + net) <= gap:
                T /= 3.0
                limit = 2.0 * lipschitz / T
            recent[n_iter % 5] = loss + costs
            worst = 0.0
            for e in range(recent.size):
                worst = max(worst, recent[e])
        if bent:
            k = active_columns(W, G, l1, active)
            bent = k <= most
        if bent:
            metric, block = H[0, : k * k].reshape(k, k), H[1, : k * k].reshape(k, k)
            row_metric(X, weights, miss, active[:k], room, block, metric)
            newton_step(W, G, metric, l1, l2, active[:k], row, point)
        else:
            for j in range(N):
                for r in range(n):
                    U[j, r] = W[j, r] - G[j, r] / L
            accuracy = 1e-3 * min(1.0, gaps[n_iter] / objectives[n_iter])
            fusion_prox(U, 1.0 / L, penalty, accuracy, point, Y, prox_room)
        if not in_memory or n_iter == pause:
            break
    at = going, T, status, n_iter, L, limit, worst, bound, pause
    if going:
        return W, Y, status, n_iter, objectives[:0], gaps[:0], steps[:0], at
    objectives, gaps, steps = used_history(n_iter, W, limits, history)
    return W, Y, status, n_iter, objectives, gaps, steps, at
