"""Best coefficients of given similarities, for squared and epsilon-insensitive errors.

    min_{B,b} sum_i u_i l(r_i) + lam |B|^2,  r = S B + b - Y

The squared loss is solved at once. The epsilon-insensitive one, of one output, is 0 up
to epsilon and rises by 1 for 1; its kink is a parabola of width WIDTH, so that there is
a gradient: it is at most WIDTH / 2 below the one with the kink. It is solved by Newton
steps: the objective is a parabola between a few places, so they end exactly.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
S'        S           (m, n)      similarities, a row for each prototype
Y'        Y           (c, n)      targets in standard units, a row for each output
u         u           (n,)        weight of each example, sum 1
lambda    lam         number      ridge on the coefficients
          epsilon     number      errors that are free; below 0: squared errors
          loss        Loss        Y, u, lambda and epsilon
B'        B           (c, m)      coefficients (the paper's beta)
b         b           (c,)        intercepts
R'        R           (c, n)      residuals, then u l'(r)
W'        W           (m, n)      u l'(r) B'; before that v (S - mean)
A         A           (m, m)      (S - mean)' V (S - mean) + lam I, then its factor
          fit         Fit         B, b, R, W and A, which are written
l'', V    curved      (n,)        u l''(r): u, or of epsilon-insensitive rows near the
                                  kink u / WIDTH and of others 0
========  ==========  ==========  ====================================================
"""

import math
from collections import namedtuple

import numpy as np

from . import inlined, kernel

Loss = namedtuple("Loss", "Y u lam epsilon")
Fit = namedtuple("Fit", "B b R W A")

#: A pivot is at least this share of the mean diagonal: for lam = 0.
LEAST_PIVOT = 1e-14


@kernel
def solve_spd(A, B):
    """Write A^-1 B' into B' (B has a row for each right side); A becomes its factor."""
    m = A.shape[0]
    floor = 0.0
    for j in range(m):
        floor += LEAST_PIVOT * A[j, j] / m
    for j in range(m):
        for k in range(j, m):
            total = A[k, j]
            for l in range(j):
                total -= A[k, l] * A[j, l]
            A[k, j] = (
                math.sqrt(max(total, floor, 1e-300)) if k == j else total / A[j, j]
            )
    for e in range(B.shape[0]):
        for j in range(m):
            total = B[e, j]
            for l in range(j):
                total -= A[j, l] * B[e, l]
            B[e, j] = total / A[j, j]
        for j in range(m - 1, -1, -1):
            total = B[e, j]
            for l in range(j + 1, m):
                total -= A[l, j] * B[e, l]
            B[e, j] = total / A[j, j]


@inlined
def fit_squares(S, loss, fit):
    """Write the best B and b for squared errors, 2 u R and W; return F."""
    Y, u, lam, _ = loss
    B, b, R, W, A = fit
    m, n = S.shape
    for j in range(m):
        mean = 0.0
        for i in range(n):
            mean += u[i] * S[j, i]
        for i in range(n):
            W[j, i] = u[i] * (S[j, i] - mean)
    np.dot(W, S.T, A)
    np.dot(Y, W.T, B)
    for j in range(m):
        A[j, j] += lam
    solve_spd(A, B)
    np.dot(B, S, R)
    F = 0.0
    for e in range(B.shape[0]):
        mean = 0.0
        for i in range(n):
            R[e, i] -= Y[e, i]
            mean += u[i] * R[e, i]
        b[e] = -mean
        for i in range(n):
            R[e, i] -= mean
            F += u[i] * R[e, i] * R[e, i]
            R[e, i] *= 2.0 * u[i]
        for j in range(m):
            F += lam * B[e, j] * B[e, j]
    np.dot(B.T, R, W)
    return F


#: Width of the parabola at the kink, in standard deviations of the targets.
WIDTH = 0.1
#: Newton's steps, and halves of one, at most.
MOST_STEPS, MOST_HALVES = 100, 60


@kernel
def error_beyond(r, epsilon):
    """The epsilon-insensitive loss of an error."""
    beyond = max(abs(r) - epsilon, 0.0)
    if beyond <= WIDTH:
        return beyond * beyond / (2.0 * WIDTH)
    return beyond - WIDTH / 2.0


@kernel
def total_loss(loss, fit, t, step, D):
    """The objective at B + t step, where the residuals are R + t D."""
    u, B, R, F = loss.u, fit.B, fit.R, 0.0
    for i in range(u.size):
        F += u[i] * error_beyond(R[0, i] + t * D[0, i], loss.epsilon)
    for j in range(B.shape[1]):
        F += loss.lam * (B[0, j] + t * step[0, j]) ** 2
    return F


@inlined
def newton_step(S, loss, fit, curved, step, side):
    """Write Newton's step of B into `step`; return that of b and how far F may fall."""
    _, u, lam, epsilon = loss
    B, _, R, W, A = fit
    m, n = S.shape
    slope, curvature = 0.0, 0.0
    for i in range(n):
        beyond = min(max(abs(R[0, i]) - epsilon, 0.0) / WIDTH, 1.0)
        slope += math.copysign(u[i] * beyond, R[0, i])
        curved[i] = u[i] / WIDTH if 0.0 < beyond < 1.0 else 0.0
        curvature += curved[i]
    # Where no row is near its kink, nothing bounds the intercept's step.
    curvature = max(curvature, 1e-4 / WIDTH)
    fall = slope * slope / curvature
    down = slope
    for j in range(m):
        mean, along = 0.0, 2.0 * lam * B[0, j]
        for i in range(n):
            beyond = min(max(abs(R[0, i]) - epsilon, 0.0) / WIDTH, 1.0)
            mean += curved[i] * S[j, i] / curvature
            along += math.copysign(u[i] * beyond, R[0, i]) * S[j, i]
        for i in range(n):
            W[j, i] = curved[i] * (S[j, i] - mean)
        step[0, j] = mean * slope - along
        side[0, j] = step[0, j]
        side[1, j] = mean
    np.dot(W, S.T, A)
    for j in range(m):
        A[j, j] += 2.0 * lam
    solve_spd(A, step)
    for j in range(m):
        fall += step[0, j] * side[0, j]
        down += curvature * side[1, j] * step[0, j]
    return -down / curvature, fall


@inlined
def fit_insensitive(S, loss, fit):
    """Improve B and b of one output to the best; write u l' and W; return F."""
    Y, u, _, epsilon = loss
    B, b, R, W, _ = fit
    m, n = S.shape
    curved, step, side = np.empty(n), np.zeros((1, m)), np.empty((2, m))
    D = np.zeros((1, n))
    np.dot(B, S, R)
    for i in range(n):
        R[0, i] += b[0] - Y[0, i]
    F = total_loss(loss, fit, 0.0, step, D)
    for _ in range(MOST_STEPS):
        db, fall = newton_step(S, loss, fit, curved, step, side)
        if not fall > 1e-18 * F:
            break
        np.dot(step, S, D)
        for i in range(n):
            D[0, i] += db
        t = 1.0
        F_new = total_loss(loss, fit, t, step, D)
        for _ in range(MOST_HALVES):
            if F_new <= F - 1e-4 * t * fall:
                break
            t *= 0.5
            F_new = total_loss(loss, fit, t, step, D)
        if not F_new < F:
            break
        F = F_new
        b[0] += t * db
        for j in range(m):
            B[0, j] += t * step[0, j]
        for i in range(n):
            R[0, i] += t * D[0, i]
    for i in range(n):
        beyond = min(max(abs(R[0, i]) - epsilon, 0.0) / WIDTH, 1.0)
        R[0, i] = math.copysign(u[i] * beyond, R[0, i])
    np.dot(B.T, R, W)
    return F


@kernel
def fit_coefficients(S, loss, fit):
    """Write the best B and b for these similarities, u l' and W; return F.

    With `epsilon` of 0 or more there is one output, and the B and b that are there are
    where the search starts.
    """
    if loss.epsilon >= 0.0:
        return fit_insensitive(S, loss, fit)
    return fit_squares(S, loss, fit)
