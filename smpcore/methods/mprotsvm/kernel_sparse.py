"""Multi-prototype SVM with sparse rows: the same sweeps over what is stored of them.

Symbols as in `kernel`, and

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
X         data        (stored,)   values of the rows, one row after the other
          columns     (stored,)   feature of each value, int32
          begins      (n + 1,)    first value of each row, and their number at the end
========  ==========  ==========  ====================================================
"""

import numpy as np

from smpcore.methods.mprotsvm.kernel import OPTIMAL, solve_row, top_rival, violation
from smpcore.solvers import kernel


@kernel
def add_sparse(data, columns, begin, end, change, r, Mt):
    """Add a multiple of a row to prototype r."""
    for e in range(begin, end):
        Mt[columns[e], r] += change * data[e]


@kernel
def sweep_sparse(
    data, columns, begins, order, begin, y_encoded, starts, assign, limits, squares, Mt,
    first, room, count, index, value, used, psi, stop,
):  # fmt: skip
    """Solve the rows of `order[begin:]` one after the other; see `kernel.sweep`."""
    R = Mt.shape[1]
    f, delta = np.empty(R), np.zeros(R)
    amount, chosen = np.empty(2 * R), np.empty(2 * R, dtype=np.int64)
    for p in range(begin, order.size):
        if stop[0] != 0:
            return p
        i = order[p]
        y, C = assign[i], limits[i]
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        for r in range(R):
            f[r] = 0.0
        for e in range(begins[i], begins[i + 1]):
            x, M = data[e], Mt[columns[e]]
            for r in range(R):
                f[r] += x * M[r]
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
                add_sparse(data, columns, begins[i], begins[i + 1], -change, r, Mt)
    return order.size


@kernel
def gather_sparse(data, columns, begins, assign, first, count, index, value, Mt):
    """Write the prototypes that a dual stands for."""
    for j in range(Mt.shape[0]):
        for r in range(Mt.shape[1]):
            Mt[j, r] = 0.0
    for i in range(begins.size - 1):
        s, begin, end = 0.0, begins[i], begins[i + 1]
        for e in range(first[i], first[i] + count[i]):
            s += value[e]
            add_sparse(data, columns, begin, end, -value[e], np.int64(index[e]), Mt)
        if s != 0.0:
            add_sparse(data, columns, begin, end, s, assign[i], Mt)
