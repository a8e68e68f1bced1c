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
========  ==========  ==========  ====================================================

The other symbols are those of `smallk`. The paper's equations are corrected here: (11)
and (12) carry 1 / (2 m lam), not 1 / (m lam); the gradient in s_i has the entropy's
term; shares are projected before they are cut. Its fixed steps diverge for small lam:
here they shrink and grow by the usual test of an extragradient step.
"""

import math

import numpy as np

from smpcore.methods.smallk.kernel import relaxed_conjugate, relaxed_penalty
from smpcore.methods.smallk.kernel_support_norm import project_shares
from smpcore.solvers import kernel
from smpcore.solvers.iterations import ITERATION_LIMIT, note_step, used_history
from smpcore.solvers.losses import SMOOTH, loss_and_gradient
from smpcore.solvers.prox import project_l1_ball

SHARE_STEP, ROW_STEP = 10.0, 0.01

#: Logarithms are cut here: the entropy's slope is unbounded.
SMALLEST = 1e-12


@kernel
def pull(
    X, y_encoded, assign, weights, prototype_labels, first, ridge, e, A, D, Z, M, slope
):
    """Slope of the saddle problem in A, with Z and M at (e, A); returns the entropy."""
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
            M[j, r] = -e[j, r] * Z[j, r] / ridge[r] if j >= first else 0.0
    np.dot(X, M.T, slope)
    for i in range(y_encoded.size):
        own, stay = slope[i, assign[i]], 1.0
        for j in range(prototype_labels.size):
            stay -= A[i, j]
        log_stay = math.log(max(stay, SMALLEST))
        for j in range(prototype_labels.size):
            rival = prototype_labels[j] != y_encoded[i]
            s = slope[i, j] - own - math.log(max(A[i, j], SMALLEST)) + log_stay
            slope[i, j] = s if rival else 0.0
    return entropy


@kernel
def move(e, A, Z, slope, gamma, first, n_features, k, ridge, e_new, A_new, sizes):
    """Projected step from (e, A) along the slopes at another point."""
    none, ones = 0.0, np.ones(A.shape[1])
    for j in range(first, e.shape[0]):
        for r in range(n_features):
            gain = Z[j, r] * Z[j, r] / (2.0 * ridge[r])
            e_new[j, r] = e[j, r] + gamma * SHARE_STEP * gain
        project_shares(e_new[j, :n_features], k, sizes)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A_new[i, j] = max(A[i, j] + gamma * ROW_STEP * slope[i, j], 0.0)
        project_l1_ball(A_new[i], 1.0 + none, ones, none)


@kernel
def step_is_safe(
    gamma, weights, first, n_features, ridge, e, e_mid, e_new, A, A_mid, A_new, Z,
    Z_mid, slope, slope_mid,
):  # fmt: skip
    """Whether the slopes changed little enough along the step for its size."""
    turn, length = 0.0, 0.0
    for j in range(first, e.shape[0]):
        for r in range(n_features):
            back = e_mid[j, r] - e_new[j, r]
            there = e_mid[j, r] - e[j, r]
            bend = Z[j, r] * Z[j, r] - Z_mid[j, r] * Z_mid[j, r]
            turn += bend / (2.0 * ridge[r]) * back
            length += (there * there + back * back) / SHARE_STEP
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            back = A_mid[i, j] - A_new[i, j]
            there = A_mid[i, j] - A[i, j]
            turn += weights[i] * (slope[i, j] - slope_mid[i, j]) * back
            length += weights[i] * (there * there + back * back) / ROW_STEP
    return gamma * turn <= 0.5 * length + 1e-15


@kernel
def blend(share, new, mean):
    """Move the mean by this share towards a new value."""
    for j in range(mean.shape[0]):
        for r in range(mean.shape[1]):
            mean[j, r] += share * (new[j, r] - mean[j, r])


@kernel
def start_probabilities(X, y_encoded, assign, prototype_labels, W, scores, A):
    """A <- probabilities of the rivals at W."""
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
def solve_smallk_mirror_prox(
    X, y_encoded, assign, weights, prototype_labels, first, n_features, k, ridge, W,
    tol, max_iter, record, stop, progress, history,
):  # fmt: skip
    """Solve the relaxation, k < n_features, by Mirror-Prox with adaptive steps.

    Every step's average gives a model and a bound; the best of either is kept. W is
    the start and is overwritten. Returns what `smallk.solve_smallk` returns; the last
    number is gamma.
    """
    m, (N, n) = y_encoded.size, W.shape
    rows = max(16, min(96, 262144 // (N * n)))
    miss, S, E = np.empty(m), np.empty((N + 1) * rows), np.empty(N * rows)
    triple, part, bits = np.empty((3, rows)), np.empty((N, n)), E.view(np.int64)
    sizes, shares = np.empty((2, n_features)), np.empty(n_features)
    offsets, G, D = np.zeros(N), np.empty((N, n)), np.empty((m, N))
    e, e_mid, e_new = np.ones((N, n)), np.ones((N, n)), np.ones((N, n))
    A, A_mid, A_new = np.zeros((m, N)), np.zeros((m, N)), np.zeros((m, N))
    Z, Z_mid, slope, slope_mid = G.copy(), G.copy(), D.copy(), D.copy()
    e_mean, A_mean, M = np.ones((N, n)), np.zeros((m, N)), np.empty((N, n))
    T, n_iter, gamma, total, bound = 1.0, -1, 1.0, 0.0, -math.inf
    kind = SMOOTH * W.size  # see solve_smallk
    least, fixed = math.inf, k <= 0
    start_probabilities(X, y_encoded, assign, prototype_labels, W, slope, A)
    blend(total + 1.0, A, A_mean)
    for j in range(N):
        for r in range(n_features):
            e[j, r] = e_mean[j, r] = k / n_features
    while True:
        n_iter += 1
        entropy = pull(
            X, y_encoded, assign, weights, prototype_labels, first, ridge, e_mean,
            A_mean, D, Z_mid, M, slope_mid,
        )  # fmt: skip
        dual = -entropy - relaxed_conjugate(
            Z_mid, first, n_features, k, fixed, e, ridge, sizes
        )
        bound = max(bound, dual)
        P, _, _, _ = loss_and_gradient(
            X, y_encoded, assign, weights, prototype_labels, offsets, kind, T, M, G,
            miss, S, E, bits, triple, part,
        )  # fmt: skip
        P += relaxed_penalty(M, first, n_features, k, fixed, ridge, shares, sizes)
        if not P >= least:
            least = P
            for j in range(N):
                for r in range(n):
                    W[j, r] = M[j, r]
        status = note_step(
            n_iter, record, least, least - bound, tol, W, history, stop, progress
        )
        if status != ITERATION_LIMIT or n_iter == max_iter:
            break
        pull(
            X, y_encoded, assign, weights, prototype_labels, first, ridge, e, A, D, Z,
            M, slope,
        )  # fmt: skip
        while True:
            move(
                e, A, Z, slope, gamma, first, n_features, k, ridge, e_mid, A_mid, sizes
            )
            pull(
                X, y_encoded, assign, weights, prototype_labels, first, ridge, e_mid,
                A_mid, D, Z_mid, M, slope_mid,
            )  # fmt: skip
            move(
                e, A, Z_mid, slope_mid, gamma, first, n_features, k, ridge, e_new,
                A_new, sizes,
            )  # fmt: skip
            if gamma < 1e-12 or step_is_safe(
                gamma, weights, first, n_features, ridge, e, e_mid, e_new, A, A_mid,
                A_new, Z, Z_mid, slope, slope_mid,
            ):  # fmt: skip
                break
            gamma *= 0.5
        total += gamma
        blend(gamma / total, e_mid, e_mean)
        blend(gamma / total, A_mid, A_mean)
        e, e_new, A, A_new = e_new, e, A_new, A
        gamma *= 1.1
    objectives, gaps, steps = used_history(n_iter, record, W, history, progress)
    return W, status, n_iter, objectives, gaps, steps, gamma
