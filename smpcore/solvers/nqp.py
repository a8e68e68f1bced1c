"""Non-negative quadratic problems with few entries: the code of one or many inputs.

    minimise  x' Q x / 2 + c' x   over  x >= 0 with at most `limit` entries above 0

Greedy (Hosseini & Hammer, CIKM 2019, Algorithm 2): the entry with the steepest slope
enters, then all entries are solved for again, dropping those that turn negative as
Lawson and Hanson do. The Cholesky factor of Q on the support grows by a row a step.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
Q         Q           (m, n)      symmetric, positive semidefinite; the rows held of it
          place       (n,)        where row i of Q is held; it has to be for the support
          diagonal    (n,)        diagonal of Q
c         c           (n,)        linear term
I         support     (limit,)    indices of the entries, the first `size` count
x_I       x           (limit,)    their values
g         slope       (n,)        c + Q x; 0 on the support and where blocked
L         factor      (limit,     lower triangle, L L' = Q on the support
                      limit)
          blocked     (n,)        indices that depend on the support, `n_blocked`
z         z           (limit,)    solution on the support without the sign
========  ==========  ==========  ====================================================
"""

import math

import numpy as np

from . import kernel

#: A plain 0 or -1 given to a kernel compiles it once more, for that very number.
ZERO, NONE = np.int64(0), np.int64(-1)

#: Slope, relative to the largest of c, that counts as none.
FLAT = 1e-10

#: Slopes no further apart than this, relative to the largest of c, are equal, and the
#: lowest index enters: 32-bit code cannot tell them apart.
EQUAL = 2.0**-16

#: Share of Q_jj that is left of a column which depends on the others: 32-bit code, that
#: has to find the same entries, cannot tell less than this from rounding.
DEPENDENT = 2.0**-16

#: Relative decrease of the objective that ends the search.
LITTLE = 1e-9


@kernel
def steepest(slope, flat):
    """Lowest index of a slope equal to the least one, or -1 if that is not below -flat.

    Eight minima at a time: one alone would make every number wait for the one before.
    """
    a, b, c, d = -flat, -flat, -flat, -flat
    e, f, g, h = -flat, -flat, -flat, -flat
    whole = slope.size - slope.size % 8
    for i in range(0, whole, 8):
        a = slope[i] if slope[i] < a else a
        b = slope[i + 1] if slope[i + 1] < b else b
        c = slope[i + 2] if slope[i + 2] < c else c
        d = slope[i + 3] if slope[i + 3] < d else d
        e = slope[i + 4] if slope[i + 4] < e else e
        f = slope[i + 5] if slope[i + 5] < f else f
        g = slope[i + 6] if slope[i + 6] < g else g
        h = slope[i + 7] if slope[i + 7] < h else h
    for i in range(whole, slope.size):
        a = slope[i] if slope[i] < a else a
    lowest = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
    if lowest < -flat:
        near = min(lowest + (EQUAL / FLAT) * flat, -flat)
        for i in range(slope.size):
            if slope[i] <= near:
                return i
    return NONE


@kernel
def append_row(Q, place, diagonal, support, size, j, factor):
    """Write row `size` of the factor, for index j, up to its pivot, and return that."""
    pivot = diagonal[j]
    for r in range(size):
        v = Q[place[support[r]], j]
        for t in range(r):
            v -= factor[r, t] * factor[size, t]
        v /= factor[r, r]
        factor[size, r] = v
        pivot -= v * v
    return pivot


@kernel
def solve_support(c, support, size, factor, z):
    """Solve L L' z = -c on the support; return whether all of z is above 0."""
    for r in range(size):
        v = -c[support[r]]
        for t in range(r):
            v -= factor[r, t] * z[t]
        z[r] = v / factor[r, r]
    positive = True
    for r in range(size - 1, -1, -1):
        v = z[r]
        for t in range(r + 1, size):
            v -= factor[t, r] * z[t]
        z[r] = v / factor[r, r]
        positive = positive and z[r] > 0.0
    return positive


@kernel
def refit(Q, place, diagonal, c, support, x, size, factor, z):
    """Best x >= 0 on a support, dropping what turns negative; return the new size."""
    while size > 0:
        if solve_support(c, support, size, factor, z):
            for r in range(size):
                x[r] = z[r]
            return size
        share, first = math.inf, 0
        for r in range(size):
            if z[r] <= 0.0:
                step = x[r] / (x[r] - z[r]) if x[r] > z[r] else 0.0
                if step < share:
                    share, first = step, r
        largest = 0.0
        for r in range(size):
            x[r] += share * (z[r] - x[r])
            largest = max(largest, x[r])
        kept = ZERO
        for r in range(size):
            gone = z[r] <= 0.0 and x[r] <= 1e-14 * largest
            if r != first and not gone:
                support[kept], x[kept] = support[r], x[r]
                factor[kept, kept] = math.sqrt(
                    append_row(Q, place, diagonal, support, kept, support[kept], factor)
                )
                kept += 1
        size = kept
    return 0


@kernel
def slopes(Q, place, c, support, x, size, slope):
    """Write c + Q x.

    Four rows of Q at a time, or most of the time would go into reading and writing the
    sum; its terms are added in the same order as one by one.
    """
    for i in range(slope.size):
        slope[i] = c[i]
    whole = size - size % 4
    for r in range(0, whole, 4):
        p, q, s, t = (
            Q[place[support[r]]],
            Q[place[support[r + 1]]],
            Q[place[support[r + 2]]],
            Q[place[support[r + 3]]],
        )
        u, v, w, z = x[r], x[r + 1], x[r + 2], x[r + 3]
        for i in range(slope.size):
            slope[i] = slope[i] + u * p[i] + v * q[i] + w * s[i] + z * t[i]
    for r in range(whole, size):
        row, v = Q[place[support[r]]], x[r]
        for i in range(slope.size):
            slope[i] += v * row[i]


@kernel
def entrant(Q, place, diagonal, flat, support, size, slope, factor, blocked, n_blocked):
    """Find the entry that enters, and write its row of the factor.

    Returns its index, -1 if none lowers the objective, and the count of blocked ones.
    """
    while True:
        j = steepest(slope, flat)
        if j < 0:
            return j, n_blocked
        pivot = append_row(Q, place, diagonal, support, size, j, factor)
        if pivot > DEPENDENT * diagonal[j]:
            factor[size, size] = math.sqrt(pivot)
            return j, n_blocked
        blocked[n_blocked] = j
        n_blocked += 1
        slope[j] = 0.0


@kernel
def enter(
    Q, place, diagonal, j, c, support, x, size, value, slope, factor, blocked,
    n_blocked, z,
):  # fmt: skip
    """Let index j in, whose row is held by now, and solve again.

    Returns the new size and objective, and whether to go on: not if the support is
    full or the objective hardly fell.
    """
    support[size], x[size] = j, 0.0
    size = refit(Q, place, diagonal, c, support, x, size + 1, factor, z)
    lower = 0.0
    for r in range(size):
        lower += 0.5 * c[support[r]] * x[r]
    if size == support.size or not value - lower > LITTLE * abs(lower):
        return size, lower, False
    slopes(Q, place, c, support, x, size, slope)
    for r in range(size):
        slope[support[r]] = 0.0
    for r in range(n_blocked):
        slope[blocked[r]] = 0.0
    return size, lower, True


@kernel
def start_slope(c, slope):
    """Write the slope at x = 0; return which slopes count as none."""
    largest = 0.0
    for i in range(c.size):
        slope[i] = c[i]
        largest = max(largest, abs(c[i]))
    return FLAT * largest


@kernel
def code_value(Q, c, x):
    """Objective of an x with few entries."""
    value = 0.0
    for s in range(x.size):
        if x[s] != 0.0:
            slope = c[s]
            for t in range(x.size):
                slope += 0.5 * Q[s, t] * x[t]
            value += slope * x[s]
    return value


@kernel
def nqp_rows(Q, C, limit, X, values):
    """Solve for every row of C: solutions into X, objectives into values.

    A row of X that is better already stays as it is; zeros never are.
    """
    n = Q.shape[0]
    limit = min(limit, n)
    support, blocked = np.empty(limit, np.int64), np.empty(n, np.int64)
    x, z, slope = np.empty(limit), np.empty(limit), np.empty(n)
    factor = np.empty((limit, limit))
    place, diagonal = np.arange(n), np.empty(n)
    for i in range(n):
        diagonal[i] = Q[i, i]
    for i in range(C.shape[0]):
        c = C[i]
        flat = start_slope(c, slope)
        size, value, n_blocked, more, steps = ZERO, 0.0, ZERO, True, 0
        # A step that drops entries may leave the size as it was, or smaller.
        while more and steps < 4 * limit + 20:
            j, n_blocked = entrant(
                Q, place, diagonal, flat, support, size, slope, factor, blocked,
                n_blocked,
            )  # fmt: skip
            more = j >= 0
            if more:
                size, value, more = enter(
                    Q, place, diagonal, j, c, support, x, size, value, slope, factor,
                    blocked, n_blocked, z,
                )  # fmt: skip
            steps += 1
        values[i] = code_value(Q, c, X[i])
        if not values[i] < value - 1e-12 * abs(value):
            X[i] = 0.0
            for r in range(size):
                X[i, support[r]] = x[r]
            values[i] = value
