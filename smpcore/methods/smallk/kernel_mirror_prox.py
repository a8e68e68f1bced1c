"""SMaLL's relaxation by the paper's Mirror-Prox, as a baseline for `smallk`.

The saddle problem is min over shares e, max over the rivals' probabilities A, of

    - sum_i u_i ( sum_j A_ij log A_ij + r_i log r_i ) - sum_jr e_jr Z_jr^2 / (2 lam_r)

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
epsilon   e           (N, n)      shares: in [0, 1], rows sum to k; bias: always 1
-s_ij     A           (m, N)      probability of rival j; 0 for its own class
r_i       stay        number      1 - sum_j A_ij, left for the row's own prototype
Z         Z           (N, n)      sum_i u_i ( A_i - (1 - r_i) e_j(i) ) x_i'
W         M           (N, n)      -e Z / lam, equation (10)
gamma     gamma       number      step; times 10 for e and 0.01 / u_i for A_i
          start, ...  Point       epsilon, A, and Z and slope in A there
========  ==========  ==========  ====================================================

The other symbols are those of `smallk`. The paper's equations are corrected here: (11)
and (12) carry 1 / (2 m lam), not 1 / (m lam); the gradient in s_i has the entropy's
term; shares are projected before they are cut. Its fixed steps diverge for small lam:
here they shrink and grow by the usual test of an extragradient step.
"""

import math
from collections import namedtuple

import numpy as np

from smpcore.methods.smallk.kernel import relaxed_conjugate, relaxed_penalty
from smpcore.methods.smallk.kernel_support_norm import project_shares
from smpcore.solvers import kernel
from smpcore.solvers.iterations import (
    ITERATION_LIMIT,
    copy_rows,
    move_mean,
    note_step,
    used_history,
)
from smpcore.solvers.losses import loss_and_gradient, loss_room
from smpcore.solvers.prox import project_l1_ball

Point = namedtuple("Point", "e A Z slope")

SHARE_STEP, ROW_STEP = 10.0, 0.01

#: Logarithms are cut here: the entropy's slope is unbounded.
SMALLEST = 1e-12


@kernel
def pull(X, ties, form, point, D, M):
    """Write Z, the slope in A, and M at a point; return the entropy."""
    y_encoded, assign, weights, prototype_labels, _, _ = ties
    e, A, Z, slope = point
    entropy = 0.0
    for i in range(y_encoded.size):
        away = 0.0
        for j in range(prototype_labels.size):
            D[i, j] = weights[i] * A[i, j]
            away += A[i, j]
            if A[i, j] > 0.0:
                entropy += weights[i] * A[i, j] * math.log(A[i, j])
        D[i, assign[i]] -= weights[i] * away
        if away < 1.0:
            entropy += weights[i] * (1.0 - away) * math.log1p(-away)
    np.dot(D.T, X, Z)
    for j in range(Z.shape[0]):
        for r in range(Z.shape[1]):
            at = -e[j, r] * Z[j, r] / form.ridge[r]
            M[j, r] = at if j >= form.first else 0.0
    np.dot(X, M.T, slope)
    for i in range(y_encoded.size):
        slope_y, stay = slope[i, assign[i]], 1.0
        for j in range(prototype_labels.size):
            stay -= A[i, j]
        log_stay = math.log(max(stay, SMALLEST))
        for j in range(prototype_labels.size):
            rival = prototype_labels[j] != y_encoded[i]
            s = slope[i, j] - slope_y - math.log(max(A[i, j], SMALLEST)) + log_stay
            slope[i, j] = s if rival else 0.0
    return entropy


@kernel
def move(start, at, gamma, form, end, sizes):
    """Projected step from a point along the slopes at another one."""
    e, A, e_new, A_new = start.e, start.A, end.e, end.A
    none, ones = 0.0, np.ones(A.shape[1])
    for j in range(form.first, e.shape[0]):
        for r in range(form.n_features):
            gain = at.Z[j, r] * at.Z[j, r] / (2.0 * form.ridge[r])
            e_new[j, r] = e[j, r] + gamma * SHARE_STEP * gain
        project_shares(e_new[j, : form.n_features], form.k, sizes)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A_new[i, j] = max(A[i, j] + gamma * ROW_STEP * at.slope[i, j], 0.0)
        project_l1_ball(A_new[i], 1.0 + none, ones, none)


@kernel
def step_is_safe(gamma, weights, form, start, middle, end):
    """Whether the slopes changed little enough along the step for its size."""
    turn, length = 0.0, 0.0
    Z, Z_mid = start.Z, middle.Z
    for j in range(form.first, start.e.shape[0]):
        for r in range(form.n_features):
            back = middle.e[j, r] - end.e[j, r]
            there = middle.e[j, r] - start.e[j, r]
            bend = Z[j, r] * Z[j, r] - Z_mid[j, r] * Z_mid[j, r]
            turn += bend / (2.0 * form.ridge[r]) * back
            length += (there * there + back * back) / SHARE_STEP
    for i in range(start.A.shape[0]):
        for j in range(start.A.shape[1]):
            back = middle.A[i, j] - end.A[i, j]
            there = middle.A[i, j] - start.A[i, j]
            turn += weights[i] * (start.slope[i, j] - middle.slope[i, j]) * back
            length += weights[i] * (there * there + back * back) / ROW_STEP
    return gamma * turn <= 0.5 * length + 1e-15


@kernel
def start_probabilities(X, ties, W, scores, A):
    """A <- probabilities of the rivals at W."""
    y_encoded, assign, _, prototype_labels, _, _ = ties
    np.dot(X, W.T, scores)
    for i in range(y_encoded.size):
        mass = 1.0
        for j in range(prototype_labels.size):
            A[i, j] = 0.0
            if prototype_labels[j] != y_encoded[i]:
                A[i, j] = math.exp(min(scores[i, j] - scores[i, assign[i]], 300.0))
            mass += A[i, j]
        for j in range(prototype_labels.size):
            A[i, j] /= mass


@kernel
def solve_smallk_mirror_prox(X, ties, form, W, limits, history):
    """Solve the relaxation, k < n_features, by Mirror-Prox with adaptive steps.

    Every step's average gives a model and a bound; the best of either is kept. W is
    the start and is overwritten. Returns what `smallk.solve_smallk` returns; the last
    number is gamma.
    """
    m, (N, n), n_features = ties.weights.size, W.shape, form.n_features
    miss, room = np.empty(m), loss_room(N, n, np.int64(96))
    sizes, shares, v = np.empty((2, n_features)), np.empty(n_features), np.empty(n)
    G, D, M, ones = (
        np.empty((N, n)),
        np.empty((m, N)),
        np.empty((N, n)),
        np.ones((N, n)),
    )
    start = Point(ones.copy(), np.zeros((m, N)), G.copy(), D.copy())
    middle = Point(ones.copy(), np.zeros((m, N)), G.copy(), D.copy())
    end = Point(ones.copy(), np.zeros((m, N)), G.copy(), D.copy())
    mean = Point(ones, np.zeros((m, N)), middle.Z, middle.slope)
    T, n_iter, gamma, total, bound = 1.0, -1, 1.0, 0.0, -math.inf
    least = math.inf
    start_probabilities(X, ties, W, start.slope, start.A)
    copy_rows(start.A, mean.A)
    for j in range(N):
        for r in range(n_features):
            start.e[j, r] = mean.e[j, r] = form.k / n_features
    while True:
        n_iter += 1
        entropy = pull(X, ties, form, mean, D, M)
        bound = max(bound, -entropy - relaxed_conjugate(mean.Z, form, v, sizes))
        P, _, _, _ = loss_and_gradient(X, ties, T, M, G, miss, room)
        P += relaxed_penalty(M, form, v, shares, sizes)
        if not P >= least:
            least = P
            copy_rows(M, W)
        status = note_step(n_iter, least, least - bound, W, limits, history)
        if status != ITERATION_LIMIT or n_iter == limits.max_iter:
            break
        pull(X, ties, form, start, D, M)
        while True:
            move(start, start, gamma, form, middle, sizes)
            pull(X, ties, form, middle, D, M)
            move(start, middle, gamma, form, end, sizes)
            if gamma < 1e-12 or step_is_safe(
                gamma, ties.weights, form, start, middle, end
            ):
                break
            gamma *= 0.5
        total += gamma
        move_mean(mean.e, middle.e, gamma / total)
        move_mean(mean.A, middle.A, gamma / total)
        start, end = end, start
        gamma *= 1.1
    objectives, gaps, steps = used_history(n_iter, W, limits, history)
    return W, status, n_iter, objectives, gaps, steps, gamma
