"""Logistic regressions of a few columns in boxes, many of them, by projected Newton.

========  =========  ============  =====================================================
symbol    name       shape         meaning
========  =========  ============  =====================================================
D         design     (1 or b, c, m)  what coefficients are multiplied with in each cell
n_i0      cells      (b, c, 2)     weight of the rows of a cell without the outcome,
n_i1                               and with it
beta      beta       (b, m)        coefficients, between low and high
f         loss       (b,)          sum_i (n_i0 + n_i1) log(1 + e^z_i) - n_i1 z_i
g, H      g, H       (m,), (m, m)  slope and curvature at beta
          bound      (b,)          f at any beta of the box is at least as large: the
                                   largest f + g (beta' - beta) that was met
========  =========  ============  =====================================================
"""

import math

import numpy as np

from . import kernel

#: Newton steps, and halvings of each; after some a step goes along the slope.
_MOST_STEPS, _HALVINGS, _ALONG_SLOPE = 100, 24, 8


@kernel
def _loss(D, cells, beta):
    """Loss at some coefficients."""
    total = 0.0
    for i in range(cells.shape[0]):
        mass = cells[i, 0] + cells[i, 1]
        if mass > 0.0:
            z = 0.0
            for j in range(beta.size):
                z += D[i, j] * beta[j]
            total += mass * (max(z, 0.0) + math.log1p(math.exp(-abs(z))))
            total -= cells[i, 1] * z
    return total


@kernel
def _derivatives(D, cells, beta, g, H):
    """Write slope and curvature, and return the loss."""
    m = beta.size
    total, g[:], H[:] = 0.0, 0.0, 0.0
    for i in range(cells.shape[0]):
        mass = cells[i, 0] + cells[i, 1]
        if mass <= 0.0:
            continue
        z = 0.0
        for j in range(m):
            z += D[i, j] * beta[j]
        e = math.exp(-abs(z))
        share = 1.0 / (1.0 + e) if z >= 0.0 else e / (1.0 + e)
        total += mass * (max(z, 0.0) + math.log1p(e)) - cells[i, 1] * z
        residual, curved = mass * share - cells[i, 1], mass * e / (1.0 + e) ** 2
        for j in range(m):
            if D[i, j] != 0.0:
                g[j] += residual * D[i, j]
                for k in range(j + 1):
                    H[j, k] += curved * D[i, j] * D[i, k]
    return total


@kernel
def _newton_direction(H, g, free, step):
    """Solve H step = g on the free coefficients by Cholesky; H is written over."""
    m = g.size
    for j in range(m):
        if not free[j]:
            H[j, : j + 1] = 0.0
            H[j:, j] = 0.0
            H[j, j] = 1.0
        H[j, j] += 1e-12 + 1e-10 * H[j, j]
    for j in range(m):
        for k in range(j):
            H[j, j] -= H[j, k] * H[j, k]
        H[j, j] = math.sqrt(max(H[j, j], 1e-14))
        for i in range(j + 1, m):
            for k in range(j):
                H[i, j] -= H[i, k] * H[j, k]
            H[i, j] /= H[j, j]
    for j in range(m):
        step[j] = g[j] if free[j] else 0.0
        for k in range(j):
            step[j] -= H[j, k] * step[k]
        step[j] /= H[j, j]
    for j in range(m - 1, -1, -1):
        for k in range(j + 1, m):
            step[j] -= H[k, j] * step[k]
        step[j] /= H[j, j]


@kernel
def _descend(D, cells, beta, box, loss, g, H, room):
    """Move the coefficients to a smaller loss; whether there was one."""
    step, trial, slowed = room[0], room[1], room[2]
    m = beta.size
    free = np.ones(m, np.bool_)
    for j in range(m):
        free[j] = not (
            (beta[j] <= box[0, j] and g[j] > 0.0)
            or (beta[j] >= box[1, j] and g[j] < 0.0)
        )
        slowed[j] = g[j] / (H[j, j] + 1e-12) if free[j] else 0.0
    _newton_direction(H, g, free, step)
    length = 1.0
    for halving in range(_HALVINGS):
        if halving == _ALONG_SLOPE:  # cut off at the box, only the slope descends
            step[:], length = slowed, 1.0
        gain = 0.0
        for j in range(m):
            trial[j] = min(max(beta[j] - length * step[j], box[0, j]), box[1, j])
            gain += g[j] * (beta[j] - trial[j])
        if gain > 0.0 and _loss(D, cells, trial) < loss - 1e-4 * gain:
            beta[:] = trial
            return True
        length /= 2.0
    return False


@kernel
def fit_boxes(design, cells, low, high, tol):
    """Minimise each of a batch; coefficients, losses and bounds of these."""
    b, m = low.shape
    beta, loss, bound = np.empty((b, m)), np.empty(b), np.full(b, -np.inf)
    g, H, room, box = np.empty(m), np.empty((m, m)), np.empty((3, m)), np.empty((2, m))
    for number in range(b):
        D = design[number if design.shape[0] > 1 else 0]
        box[0], box[1] = low[number], high[number]
        at = beta[number]
        for j in range(m):
            at[j] = min(max(0.0, box[0, j]), box[1, j])
        for _ in range(_MOST_STEPS):
            loss[number] = _derivatives(D, cells[number], at, g, H)
            gap = 0.0
            for j in range(m):
                gap += max(g[j] * (at[j] - box[0, j]), g[j] * (at[j] - box[1, j]))
            bound[number] = max(bound[number], loss[number] - gap)
            if gap <= tol:
                break
            if not _descend(D, cells[number], at, box, loss[number], g, H, room):
                break
    return beta, loss, bound
