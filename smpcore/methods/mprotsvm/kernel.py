"""Multi-prototype SVM with fixed assignments: sweeps over its dual.

Minimises, over the prototypes M (Aiolli & Sperduti, IJCAI 2003, equation 6),

    P(M) = sum_r ||M_r||^2 / 2 + sum_i C_i [1 - f_y(x_i) + max_{r rival} f_r(x_i)]_+

by rising its dual D(A) = sum_i s_i - sum_r ||M_r||^2 / 2 one row at a time.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
x_i       rows                    examples: `DenseRows`, `GramRows` or `SparseRows`
k_i       squares     (n,)        similarity of each row to itself, above 0
C_i       limits      (n,)        most dual mass of each row
          y_encoded       (n,) int    class of each row
          starts      (m + 1,)    first prototype of each class, and R at the end
y_i       assign      (n,) int    prototype of its class that each row is tied to
M'        scores      (d, R)      columns = prototypes, those of one class side by side;
                      (R, n)      beside a Gram matrix the score of each on every row
f_r       f           (R,)        scores of one row
a_i^r     value       (used,)     dual mass of a row on rival prototypes: a list per
          index       (used,)     row; entries first[i] ... first[i] + count[i] - 1
          room        (n,) int    places that belong to the row's list
          used        (1,) int    places in use by all lists
s_i       s           number      sum of the row's list, at most C_i; M_r is the sum of
                                  s_i x_i over its own rows minus a_i^r x_i over others
psi_i     psi         (n,)        optimality violation of each row, when last evaluated
xi_i^s    slack       (n, q)      slack that each prototype of the row's class leaves,
                                  inf beyond the last
========  ==========  ==========  ====================================================
"""

import math
from typing import NamedTuple

import numpy as np

from smpcore.solvers import kernel

#: Violation up to which a row is optimal.
OPTIMAL = 1e-9

#: A row moves to another prototype if its slack falls by more than rounding's.
ROUNDING = 1e-9


#: Rows that are scored at once.
AT_ONCE = 256


class DenseRows(NamedTuple):
    """Rows side by side. Kinds of rows differ in their number of fields."""

    X: np.ndarray  # (n, d)


class GramRows(NamedTuple):
    """Rows that are known by their similarities to each other."""

    gram: np.ndarray  # (n, n), float32
    squares: np.ndarray  # (n,): Its diagonal


class SparseRows(NamedTuple):
    """What is stored of sparse rows, one after the other."""

    data: np.ndarray  # (stored,)
    columns: np.ndarray  # (stored,): Feature of each value, int32
    begins: np.ndarray  # (n + 1,): First value of each row, and their number


class Margins(NamedTuple):
    """What the problem asks of rows."""

    y_encoded: np.ndarray
    starts: np.ndarray
    limits: np.ndarray
    squares: np.ndarray


class Dual(NamedTuple):
    """Assignments, and where each row's list is."""

    assign: np.ndarray
    first: np.ndarray
    room: np.ndarray
    count: np.ndarray
    used: np.ndarray


class Seen(NamedTuple):
    """What was last evaluated of each row, and its best prototype then."""

    slack: np.ndarray
    psi: np.ndarray
    best: np.ndarray


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
def score_row(rows, i, scores, f):
    """Write the scores of row i. Which branch it is, the compiler knows."""
    if len(rows) == 1:
        score(rows[0][i], scores, f)
    elif len(rows) == 2:
        for r in range(f.size):
            f[r] = scores[r, i]
    else:
        data, columns, begins = rows
        for r in range(f.size):
            f[r] = 0.0
        for e in range(begins[i], begins[i + 1]):
            x, M = data[e], scores[columns[e]]
            for r in range(f.size):
                f[r] += x * M[r]


@kernel
def n_rows(rows):
    """Number of rows."""
    return rows[2].size - 1 if len(rows) == 3 else rows[0].shape[0]


@kernel
def score_rows(rows, i, scores, F):
    """Write the scores of the rows from i on."""
    if len(rows) == 1:
        some = rows[0][i : i + F.shape[0]]
        np.dot(some, scores, F[: some.shape[0]])
    else:
        for j in range(min(F.shape[0], n_rows(rows) - i)):
            score_row(rows, i + j, scores, F[j])


@kernel
def add_row(rows, i, change, r, scores):
    """Add a multiple of row i to prototype r."""
    if len(rows) == 1:
        x = rows[0][i]
        for j in range(x.size):
            scores[j, r] += change * x[j]
    elif len(rows) == 2:
        f, x = scores[r], rows[0][i]
        for j in range(x.size):
            f[j] += change * x[j]
    else:
        data, columns, begins = rows
        for e in range(begins[i], begins[i + 1]):
            scores[columns[e], r] += change * data[e]


@kernel
def sweep(rows, order, begin, margins, dual, index, value, scores, psi, stop):
    """Solve the rows of `order[begin:]` one after the other, as `solve_row` does.

    Rows that are optimal are passed over. Returns the place reached: before the end if
    a list needs more room than there is, or if stop[0] is set.
    """
    y_encoded, starts, limits, squares = margins
    assign, first, room, count, used = dual
    R = starts[-1]
    f, delta = np.empty(R), np.zeros(R)
    amount, chosen = np.empty(2 * R), np.empty(2 * R, dtype=np.int64)
    for p in range(begin, order.size):
        if stop[0] != 0:
            return p
        i = order[p]
        y, C = assign[i], limits[i]
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        score_row(rows, i, scores, f)
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
                add_row(rows, i, -change, r, scores)
    return order.size


@kernel
def with_room(dual, index, value):
    """Lists without unused places, and with as much room behind them again."""
    _, first, room, count, used = dual
    size = 2 * count.sum() + 2 * count.size + 64
    longer, masses = np.zeros(size, dtype=index.dtype), np.zeros(size)
    place = 0
    for i in range(count.size):
        for e in range(count[i]):
            longer[place + e] = index[first[i] + e]
            masses[place + e] = value[first[i] + e]
        first[i], room[i] = place, count[i]
        place += count[i]
    used[0] = place
    return longer, masses


@kernel
def solve_rows(rows, order, margins, dual, index, value, scores, psi, stop):
    """Sweep over some rows, with as much room as their lists need."""
    reached = np.int64(0)  # a literal would be compiled for as well
    while True:
        reached = sweep(
            rows, order, reached, margins, dual, index, value, scores, psi, stop
        )
        if reached == order.size or stop[0] != 0:
            return index, value
        index, value = with_room(dual, index, value)


@kernel
def evaluate(rows, margins, dual, index, value, scores, seen):
    """Evaluate all rows: their slacks and violations, and their best prototypes.

    Where a row's own prototype is as good as the best, it stays. Returns the loss as
    assigned, the loss if every row took its best prototype, the dual mass, and
    sum_r ||M_r||^2.
    """
    y_encoded, starts, limits, _ = margins
    assign, first, _, count, _ = dual
    slack, psi, best = seen
    F = np.empty((min(AT_ONCE, assign.size), starts[-1]))
    loss, free, mass, norm = 0.0, 0.0, 0.0, 0.0
    for i in range(assign.size):
        if i % AT_ONCE == 0:
            score_rows(rows, i, scores, F)
        y, C, f = assign[i], limits[i], F[i % AT_ONCE]
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        f_y = f[y]
        for j in range(slack.shape[1]):
            slack[i, j] = f[lo + j] if lo + j < hi else -math.inf
        rival = top_rival(f, lo, hi)
        least, best[i] = max(0.0, 1.0 - f_y + rival), y
        now = least - ROUNDING
        for j in range(slack.shape[1]):
            slack[i, j] = max(0.0, 1.0 - slack[i, j] + rival)
            if slack[i, j] < least:
                least = slack[i, j]
                best[i] = lo + j if least < now else y
        psi[i], s = violation(f, f_y, rival, C, index, value, first[i], count[i])
        loss += C * slack[i, y - lo]
        free += C * least
        mass += s
        norm += s * f_y
        for e in range(first[i], first[i] + count[i]):
            norm -= value[e] * f[index[e]]
    return loss, free, mass, norm


@kernel
def draw_prototypes(margins, slack, temperature, draws, drawn):
    """Draw each row's prototype by the loss it would leave, given draws from [0, 1)."""
    y_encoded, starts, limits, _ = margins
    chances = np.empty(slack.shape[1])
    for i in range(drawn.size):
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        least = slack[i].min()
        total = 0.0
        for j in range(hi - lo):
            chances[j] = math.exp((least - slack[i, j]) * limits[i] / temperature)
            total += chances[j]
        j, reach = 0, chances[0]
        while j < hi - lo - 1 and reach <= draws[i] * total:
            j += 1
            reach += chances[j]
        drawn[i] = lo + j


@kernel
def tie(rows, dual, index, value, scores, psi, assign):
    """Tie rows to other prototypes of their class; their masses go along."""
    for i in range(assign.size):
        if assign[i] == dual.assign[i]:
            continue
        s, psi[i] = 0.0, math.inf
        for e in range(dual.first[i], dual.first[i] + dual.count[i]):
            s += value[e]
        if s != 0.0:
            add_row(rows, i, -s, dual.assign[i], scores)
            add_row(rows, i, s, assign[i], scores)
        dual.assign[i] = assign[i]


@kernel
def gather(rows, dual, index, value, scores):
    """Write the prototypes that a dual stands for, or their scores."""
    scores[:] = 0.0
    for i in range(dual.assign.size):
        s = 0.0
        for e in range(dual.first[i], dual.first[i] + dual.count[i]):
            s += value[e]
            add_row(rows, i, -value[e], np.int64(index[e]), scores)
        if s != 0.0:
            add_row(rows, i, s, dual.assign[i], scores)


@kernel
def go_round(
    rows, orders, n_sweeps, moves, sweeps, far, margins, dual, index, value, scores,
    seen, stop,
):  # fmt: skip
    """A few sweeps, and an evaluation of all rows; if `moves`, rows move before.

    The first is over rows that were not optimal when last seen, each other one over
    those of the one before that were `far` from it. `orders` (m, n) take turns. Every
    100 sweeps rounding is swept out of the prototypes. Returns the lists, the number
    of sweeps, and what `evaluate` does.
    """
    before, psi = n_sweeps, seen.psi
    if moves:
        tie(rows, dual, index, value, scores, psi, seen.best)
    active = np.ones(psi.size, dtype=np.bool_)
    order = np.empty(psi.size, dtype=np.int64)
    for t in range(sweeps):
        m, least = 0, far if t else OPTIMAL
        for i in orders[n_sweeps % orders.shape[0]]:
            active[i] = active[i] and psi[i] > least
            if active[i]:
                order[m] = i
                m += 1
        n_sweeps += t == 0 or m > 0
        if m == 0 or stop[0] != 0:
            break
        index, value = solve_rows(
            rows, order[:m], margins, dual, index, value, scores, psi, stop
        )
    if n_sweeps // 100 > before // 100:
        gather(rows, dual, index, value, scores)
    sums = evaluate(rows, margins, dual, index, value, scores, seen)
    return index, value, n_sweeps, sums


@kernel
def anneal_rows(
    rows, orders, n_sweeps, temperatures, draws, margins, dual, index, value, scores,
    seen, stop, trace,
):  # fmt: skip
    """At each temperature draw the prototypes of all rows, and sweep once.

    `draws` (temperatures, n) are from [0, 1). Writes the sweeps and sums after each
    into `trace` (temperatures, 5). Returns the lists, and the number of sweeps.
    """
    moves, count = np.bool_(True), np.int64(1)  # literals would be compiled for, too
    for t in range(temperatures.size):
        draw_prototypes(margins, seen.slack, temperatures[t], draws[t], seen.best)
        index, value, n_sweeps, (loss, free, mass, norm) = go_round(
            rows, orders, n_sweeps, moves, count, 0.0, margins, dual, index, value,
            scores, seen, stop,
        )  # fmt: skip
        trace[t, 0], trace[t, 1], trace[t, 2] = n_sweeps, loss, free
        trace[t, 3], trace[t, 4] = mass, norm
    return index, value, n_sweeps
