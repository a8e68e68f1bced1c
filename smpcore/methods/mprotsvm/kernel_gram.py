"""Multi-prototype SVM with any similarity: the same sweeps over a Gram matrix.

The prototypes exist through their scores only. Symbols as in `kernel`, and

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
K         gram        (n, n)      similarity of every row to every row, float32
F'        Ft          (R, n)      score of every prototype on every row
========  ==========  ==========  ====================================================
"""

import numpy as np

from smpcore.methods.mprotsvm.kernel import OPTIMAL, solve_row, top_rival, violation
from smpcore.solvers import kernel


@kernel
def sweep_gram(
    gram, order, begin, y_encoded, starts, assign, limits, squares, Ft, first, room,
    count, index, value, used, psi, stop,
):  # fmt: skip
    """Solve the rows of `order[begin:]` one after the other; see `kernel.sweep`."""
    R, n_rows = Ft.shape
    f, delta = np.empty(R), np.zeros(R)
    amount, chosen = np.empty(2 * R), np.empty(2 * R, dtype=np.int64)
    for p in range(begin, order.size):
        if stop[0] != 0:
            return p
        i = order[p]
        y, C = assign[i], limits[i]
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        for r in range(R):
            f[r] = Ft[r, i]
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
                add_row(Ft[r], -change, gram[i], n_rows)
    return order.size


@kernel
def add_row(f, change, x, n):
    """Add a multiple of a row of the Gram matrix to a prototype's scores."""
    for j in range(n):
        f[j] += change * x[j]


@kernel
def gather_gram(gram, assign, first, count, index, value, Ft):
    """Write the scores of the prototypes that a dual stands for."""
    for r in range(Ft.shape[0]):
        for j in range(Ft.shape[1]):
            Ft[r, j] = 0.0
    for i in range(gram.shape[0]):
        s = 0.0
        for e in range(first[i], first[i] + count[i]):
            s += value[e]
            add_row(Ft[index[e]], -value[e], gram[i], gram.shape[0])
        if s != 0.0:
            add_row(Ft[assign[i]], s, gram[i], gram.shape[0])
