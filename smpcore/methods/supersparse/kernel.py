"""Super-sparse learning in similarity spaces: reduced objective and solver.

Minimises, over the virtual prototypes Z with the best coefficients for them (Demontis
et al. 2016, equations 2 to 4),

    F(Z) = min_{B,b} sum_i u_i l(S_i B + b - Y_i) + lam |B|^2

with l the square, or the loss of `coefficients` that is 0 up to epsilon.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
X, sx     X, sx       (n, d), n   rows = examples, see `similarity`; also form, sz, S, D
          loss        Loss        Y, u, lambda and epsilon, see `coefficients`
Z         Z           (m, d)      rows = virtual prototypes
          fit         Fit         B, b and their room, see `coefficients`
W         W           (m, n)      room of both: u l'(R) B' of each row
G         G           (m, d)      gradient of F
lo, hi    low, high   (d,)        box of the prototypes
          radius      number      of the ball they stay in; 0: no ball
          box         Box         lo, hi and radius
V, Q      V, Q        (10, m, d)  L-BFGS: steps and changes of the gradient
          memory      Memory      V, Q, and of each pair its share and 1 / curvature
          limits      Limits      see `iterations`
========  ==========  ==========  ====================================================
"""

import math
from collections import namedtuple

import numpy as np

from smpcore.solvers import kernel
from smpcore.solvers.coefficients import Fit, fit_coefficients
from smpcore.solvers.iterations import (
    CONVERGED,
    DIVERGED,
    ITERATION_LIMIT,
    STOPPED,
    copy_rows,
    keep_step,
    kept_steps,
)
from smpcore.solvers.similarity import pull_back, write_values

Box = namedtuple("Box", "low high radius")
Memory = namedtuple("Memory", "V Q share rho")


@kernel
def inner(A, B):
    """Sum of the products of two tables' entries."""
    total = 0.0
    for j in range(A.shape[0]):
        for r in range(A.shape[1]):
            total += A[j, r] * B[j, r]
    return total


@kernel
def clip(Z, box):
    """Bring prototypes back into the box, or into the ball."""
    low, high, radius = box
    for j in range(Z.shape[0]):
        square = 0.0
        for r in range(Z.shape[1]):
            Z[j, r] = min(max(Z[j, r], low[r]), high[r])
            square += Z[j, r] * Z[j, r]
        if 0.0 < radius < math.sqrt(square):
            for r in range(Z.shape[1]):
                Z[j, r] *= radius / math.sqrt(square)


@kernel
def keep_inside(Z, box, P, free):
    """Zero the part of the descent -P that would leave the box or the ball.

    `free` becomes 1 where an entry may move and 0 where it is held at its bound.
    """
    low, high, radius = box
    for j in range(Z.shape[0]):
        square, along = 0.0, 0.0
        for r in range(Z.shape[1]):
            below = Z[j, r] <= low[r] and P[j, r] > 0.0
            above = Z[j, r] >= high[r] and P[j, r] < 0.0
            free[j, r] = 0.0 if below or above else 1.0
            P[j, r] *= free[j, r]
            square += Z[j, r] * Z[j, r]
            along += Z[j, r] * P[j, r]
        if radius > 0.0 and along < 0.0 and math.sqrt(square) >= radius * (1.0 - 1e-9):
            for r in range(Z.shape[1]):
                P[j, r] -= along / square * Z[j, r]


@kernel
def quasi_newton(P, free, memory, n_pairs, P_new):
    """Write the L-BFGS direction for the gradient P, downhill being minus it.

    Pair k stands in row ``k % 10`` of V and Q. Only its free entries count: curvature
    across a bound would spoil the steps along it.
    """
    V, Q, share, rho = memory
    copy_rows(P, P_new)
    size = rho.size
    oldest = max(0, n_pairs - size)
    scale = 0.0
    for k in range(n_pairs - 1, oldest - 1, -1):
        a = k % size
        curvature, square, slope = 0.0, 0.0, 0.0
        for j in range(P.shape[0]):
            for r in range(P.shape[1]):
                change = free[j, r] * Q[a, j, r]
                curvature += change * V[a, j, r]
                square += change * change
                slope += V[a, j, r] * P_new[j, r]
        rho[a] = 0.0
        if curvature > 1e-12 * square and square > 0.0:
            rho[a] = 1.0 / curvature
            if scale == 0.0:
                scale = curvature / square
        share[a] = rho[a] * slope
        if rho[a] > 0.0:
            for j in range(P.shape[0]):
                for r in range(P.shape[1]):
                    P_new[j, r] -= share[a] * free[j, r] * Q[a, j, r]
    for j in range(P.shape[0]):
        for r in range(P.shape[1]):
            P_new[j, r] *= scale
    for k in range(oldest, n_pairs):
        a = k % size
        back = share[a] - rho[a] * inner(Q[a], P_new)
        for j in range(P.shape[0]):
            for r in range(P.shape[1]):
                P_new[j, r] += back * free[j, r] * V[a, j, r]


@kernel
def note_step(k, F, recent, limits):
    """Report step k; return its status (limit: go on)."""
    share = k / limits.max_iter if limits.max_iter > 0 else 1.0
    limits.progress[0] = max(limits.progress[0], share)
    if not math.isfinite(F):
        return DIVERGED
    if recent >= 3:
        return CONVERGED
    return STOPPED if limits.stop[0] != 0 else ITERATION_LIMIT


@kernel
def solve_supersparse(form, X, sx, loss, Z, box, spread, limits, steps):
    """L-BFGS over all prototypes at once, until F falls by `tol` at most three times.

    Z is the start (overwritten). The first step is 0.1 sqrt(m) `spread` long. `stop` is
    looked at once a step, `progress` rises from 0 to 1. Returns Z, B, b, status, steps
    taken, F after 0, 1, ... steps, and every `record`-th Z and the last; `steps` is
    room for them, and they are rarer if it is too little.
    """
    m, d = Z.shape
    c, n = loss.Y.shape
    S, D, W, sz = np.empty((m, n)), np.empty((m, n)), np.empty((m, n)), np.empty(m)
    fit = Fit(np.zeros((c, m)), np.zeros(c), np.empty((c, n)), W, np.empty((m, m)))
    V, Q = np.empty((10, m, d)), np.empty((10, m, d))
    memory = Memory(V, Q, np.empty(10), np.empty(10))
    G, G_new, P, P_new = (
        np.empty((m, d)), np.empty((m, d)), np.empty((m, d)), np.empty((m, d))
    )  # fmt: skip
    Z_new, free, held = np.empty((m, d)), np.empty((m, d)), np.empty((m, d))
    max_iter, record = limits.max_iter, limits.record
    objectives = np.empty(max_iter + 1)
    clip(Z, box)
    write_values(form, X, sx, Z, sz, S, D)
    F = fit_coefficients(S, loss, fit)
    pull_back(form, X, Z, sz, S, D, W, G)
    # Plain zeros would be literals: their own types, compiled a second time.
    n_pairs, recent, k, t = np.int64(0), np.int64(0), np.int64(0), 1.0
    at_end = False
    keep_step(k, record, Z, steps)
    while True:
        objectives[k] = F
        status = note_step(k, F, recent, limits)
        if status != ITERATION_LIMIT or k == max_iter:
            break
        copy_rows(G, P)
        keep_inside(Z, box, P, free)
        steepest = inner(P, P)
        if steepest == 0.0:
            status = CONVERGED
            break
        downhill = n_pairs > 0
        if downhill:
            quasi_newton(P, free, memory, n_pairs, P_new)
            keep_inside(Z, box, P_new, held)
            downhill = inner(P, P_new) > 1e-12 * math.sqrt(
                steepest * inner(P_new, P_new)
            )
            t = 1.0
        if not downhill:
            copy_rows(P, P_new)
            t = 0.1 * math.sqrt(m / steepest) * spread
            n_pairs = 0
        slope, F_new = 0.0, F
        for trial in range(30):
            slope = 0.0
            for j in range(m):
                for r in range(d):
                    Z_new[j, r] = Z[j, r] - t * P_new[j, r]
            clip(Z_new, box)
            for j in range(m):
                for r in range(d):
                    slope += G[j, r] * (Z_new[j, r] - Z[j, r])
            write_values(form, X, sx, Z_new, sz, S, D)
            F_new = fit_coefficients(S, loss, fit)
            if F_new <= F + 1e-4 * min(slope, 0.0):
                break
            shorter = 0.5 * -slope / (F_new - F - slope)
            t *= min(max(shorter, 0.1), 0.5) if math.isfinite(shorter) else 0.1
            at_end = trial == 29
        if at_end:
            at_end = False
            if n_pairs > 0:  # the memory is stale: once more along the gradient
                n_pairs = 0
                continue
            status = CONVERGED
            break
        pull_back(form, X, Z_new, sz, S, D, W, G_new)
        curvature = 0.0
        for j in range(m):
            for r in range(d):
                curvature += (Z_new[j, r] - Z[j, r]) * (G_new[j, r] - G[j, r])
        if curvature > 1e-300:  # else the pair carries no information on a minimum
            a = n_pairs % 10
            n_pairs += 1
            for j in range(m):
                for r in range(d):
                    V[a, j, r] = Z_new[j, r] - Z[j, r]
                    Q[a, j, r] = G_new[j, r] - G[j, r]
        recent = recent + 1 if F - F_new <= limits.tol * F else 0
        Z, Z_new = Z_new, Z
        G, G_new = G_new, G
        F = F_new
        k += 1
        keep_step(k, record, Z, steps)
    write_values(form, X, sx, Z, sz, S, D)
    fit_coefficients(S, loss, fit)
    limits.progress[0] = 1.0
    kept = kept_steps(k, record, Z, steps)
    return Z, fit.B, fit.b, status, k, objectives[: k + 1], steps[:kept]
