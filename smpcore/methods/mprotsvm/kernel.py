"""Multi-prototype SVM with fixed assignments: sweeps over its dual.

Minimises, over the prototypes M (Aiolli & Sperduti, IJCAI 2003, equation 6),

    P(M) = sum_r ||M_r||^2 / 2 + sum_i C_i [1 - f_y(x_i) + max_{r rival} f_r(x_i)]_+

by rising its dual D(A) = sum_i s_i - sum_r ||M_r||^2 / 2 one row at a time.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
x_i       X           (n, d)      rows = examples; the bias is a column of ones
k_i       squares     (n,)        similarity of each row to itself, above 0
C_i       limits      (n,)        most dual mass of each row
          y_encoded       (n,) int    class of each row
          starts      (m + 1,)    first prototype of each class, and R at the end
y_i       assign      (n,) int    prototype of its class that each row is tied to
M'        Mt          (d, R)      columns = prototypes, those of one class side by side
f_r       f           (R,)        scores of one row
a_i^r     value       (used,)     dual mass of a row on rival prototypes: a list per
          index       (used,)     row; entries first[i] ... first[i] + count[i] - 1
          room        (n,) int    places that belong to the row's list
          used        (1,) int    places in use by all lists
s_i       s           number      sum of the row's list, at most C_i; M_r is the sum of
                                  s_i x_i over its own rows minus a_i^r x_i over others
psi_i     psi         (n,)        optimality violation of each row, when last evaluated
========  ==========  ==========  ====================================================
"""

import math

import numpy as np

from smpcore.solvers import kernel

#: Violation up to which a row is optimal.
OPTIMAL = 1e-9


@kernel
def score(x, Mt, f):
    """Write the scores of one row, four features at a time to touch f less often."""
    d = x.size
    whole = d - d % 4
    for r in range(f.size):
        f[r] = 0.0
    for j in range(0, whole, 4):
        a, b, c, e = x[j], x[j + 1], x[j + 2], x[j + 3]
        A, B, C, E = Mt[j], Mt[j + 1], Mt[j + 2], Mt[j + 3]
        for r in range(f.size):
            f[r] += (a * A[r] + b * B[r]) + (c * C[r] + e * E[r])
    for j in range(whole, d):
        a, A = x[j], Mt[j]
        for r in range(f.size):
            f[r] += a * A[r]


@kernel
def top_rival(f, lo, hi):
    """Largest score outside f[lo:hi], which become -inf.

    Loops over all scores have the same length for every row, which avoids branch
    mispredictions; four independent maxima keep the processor busy.
    """
    for r in range(lo, hi):
        f[r] = -math.inf
    a = b = c = d = -math.inf
    whole = f.size - f.size % 4
    for r in range(0, whole, 4):
        a = f[r] if f[r] > a else a
        b = f[r + 1] if f[r + 1] > b else b
        c = f[r + 2] if f[r + 2] > c else c
        d = f[r + 3] if f[r + 3] > d else d
    for r in range(whole, f.size):
        a = f[r] if f[r] > a else a
    return max(max(a, b), max(c, d))


@kernel
def violation(f, f_y, rival, C, index, value, begin, n):
    """Optimality violation of one row, and its mass s.

    `f_y` is the score of its prototype, `rival` that of the best rival. Unused mass
    C - s counts as one more place, of gradient 0.
    """
    s, least = 0.0, math.inf
    for e in range(begin, begin + n):
        s += value[e]
        least = min(least, 1.0 - f_y + f[index[e]])
    if s < C * (1.0 - 1e-12):
        least = min(least, 0.0)
    if n == 0 and C <= 0.0:
        return 0.0, s
    return max(1.0 - f_y + rival, 0.0) - least, s


@kernel
def exact_step(f, f_y, rival, k, C, s, index, value, begin, n, chosen, amount):
    """Best masses of one row, the others fixed; returns how many are not zero.

    They are [v_r - t]_+ with v_r = (1 - f_y + f_r) / k without the row's own part,
    and t the root of sum_r [v_r - t]_+ = min(t, C). Newton from the left, which needs
    no sorting; in units of scores and relative to the largest, so that nothing
    cancels. f is -inf at the row's own class and is overwritten.
    """
    top = rival
    for e in range(begin, begin + n):
        f[index[e]] += k * value[e]
        top = max(top, f[index[e]])
    most = 1.0 - f_y + top + k * s
    if not most > 0.0:
        return 0
    t, m = max(-0.5 * most, -k * C), 0
    for r in range(f.size):
        # Without a branch, which would often be mispredicted.
        chosen[m], amount[m] = r, f[r] - top
        m += 1 if f[r] >= top + t else 0
    m_before = 0
    while m_before != m:
        total = 0.0
        for j in range(m):
            total += amount[j]
        t = max((total - most) / (1.0 + m), (total - k * C) / m)
        m_before, m = m, 0
        for j in range(m_before):
            chosen[m], amount[m] = chosen[j], amount[j]
            m += 1 if amount[j] > t else 0
    for j in range(m):
        amount[j] = (amount[j] - t) / k
    return m


@kernel
def has_room(i, m, first, room, used, size):
    """Make room for m places in row i's list; False if there is none left."""
    if m <= room[i]:
        return True
    if used[0] + m > size:
        return False
    first[i], room[i] = used[0], m
    used[0] += m
    return True


@kernel
def solve_row(
    i, f, f_y, rival, s, y, k, C, first, room, count, index, value, used, chosen,
    amount, delta,
):  # fmt: skip
    """Solve one row, the others fixed, given its scores f, which are overwritten.

    Writes what the prototypes ``chosen[:m]`` lose of the row into `delta`, and returns
    m: -1 if the row's list needs more room than there is.
    """
    old, n = first[i], count[i]
    m = exact_step(f, f_y, rival, k, C, s, index, value, old, n, chosen, amount)
    if not has_room(i, m, first, room, used, index.size):
        return -1
    # What leaves the list stands behind the new places: `chosen` has room for all.
    for e in range(n):
        chosen[m + e] = index[old + e]
        delta[index[old + e]] -= value[old + e]
    s_new = 0.0
    for e in range(m):
        delta[chosen[e]] += amount[e]
        s_new += amount[e]
        index[first[i] + e], value[first[i] + e] = chosen[e], amount[e]
    count[i] = m
    chosen[m + n] = y
    delta[y] = s - s_new
    return m + n + 1


@kernel
def sweep(
    X, order, begin, y_encoded, starts, assign, limits, squares, Mt, first, room, count,
    index, value, used, psi, stop,
):  # fmt: skip
    """Solve the rows of `order[begin:]` one after the other, as `solve_row` does.

    Rows that are optimal are passed over. Returns the place reached: before the end if
    a list needs more room than there is, or if stop[0] is set.
    """
    R, d = Mt.shape[1], X.shape[1]
    f, delta = np.empty(R), np.zeros(R)
    amount, chosen = np.empty(2 * R), np.empty(2 * R, dtype=np.int64)
    for p in range(begin, order.size):
        if stop[0] != 0:
            return p
        i = order[p]
        x, y, C = X[i], assign[i], limits[i]
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        score(x, Mt, f)
        f_y, rival = f[y], top_rival(f, lo, hi)
        psi[i], s = violation(f, f_y, rival, C, index, value, first[i], count[i])
        if psi[i] <= OPTIMAL:
            continue
        m = solve_row(
            i, f, f_y, rival, s, y, squares[i], C, first, room, count, index, value,
            used, chosen, amount, delta,
        )  # fmt: skip
        if m < 0:
            return p
        for e in range(m):
            r = chosen[e]
            change = delta[r]
            delta[r] = 0.0
            if change != 0.0:
                for j in range(d):
                    Mt[j, r] -= change * x[j]
    return order.size


@kernel
def evaluate_rows(
    F, begin, y_encoded, starts, assign, limits, first, count, index, value, slack, psi
):  # fmt: skip
    """Evaluate the rows from `begin` on, given their scores F (rows, R).

    Writes the slack that each prototype of the row's class would leave (n, q), inf
    beyond the last, and the violations; overwrites F. Returns the loss as assigned,
    the loss if every row took its best prototype, the dual mass, and the rows' share
    of sum_r ||M_r||^2.
    """
    loss, free, mass, norm = 0.0, 0.0, 0.0, 0.0
    for b in range(F.shape[0]):
        i, f = begin + b, F[b]
        y, C = assign[i], limits[i]
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        f_y = f[y]
        for j in range(slack.shape[1]):
            slack[i, j] = f[lo + j] if lo + j < hi else -math.inf
        rival = top_rival(f, lo, hi)
        least = math.inf
        for j in range(slack.shape[1]):
            slack[i, j] = max(0.0, 1.0 - slack[i, j] + rival)
            least = min(least, slack[i, j])
        psi[i], s = violation(f, f_y, rival, C, index, value, first[i], count[i])
        loss += C * slack[i, y - lo]
        free += C * least
        mass += s
        norm += s * f_y
        for e in range(first[i], first[i] + count[i]):
            norm -= value[e] * f[index[e]]
    return loss, free, mass, norm


@kernel
def gather(X, assign, first, count, index, value, Mt):
    """Write the prototypes that a dual stands for."""
    for j in range(Mt.shape[0]):
        for r in range(Mt.shape[1]):
            Mt[j, r] = 0.0
    for i in range(X.shape[0]):
        s = 0.0
        for e in range(first[i], first[i] + count[i]):
            s += value[e]
            for j in range(X.shape[1]):
                Mt[j, index[e]] -= value[e] * X[i, j]
        if s != 0.0:
            for j in range(X.shape[1]):
                Mt[j, assign[i]] += s * X[i, j]
