"""Global alignment kernel of series (Cuturi, ICML 2011).

    M(i, j) = k(a_i, b_j) [M(i-1, j) + M(i, j-1) + M(i-1, j-1)],  the kernel is M(n, m)
    k = e / (2 - e),  e = exp(-(a_i - b_j)^2 / (2 sigma^2))

M grows like 3^n: each row is divided by its largest entry, whose logarithm is summed.
An entry lost on the way is 1e-300 of what the series have with themselves.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
a, b      a, b        (n,), (m,)  series
M(i, .)   row         (m + 1,)    a row, with the border in front
          x, e        (m,)        exponents and their exponentials; `bits` is e seen as
                                  integers
========  ==========  ==========  ====================================================
"""

import math

from . import kernel
from .losses import gaussians


@kernel
def alignment_log(a, b, sigma, row, x, e, bits):
    """Logarithm of the kernel of two series."""
    m = b.size
    for j in range(m + 1):
        row[j] = 0.0
    row[0], total = 1.0, 0.0
    factor = -0.5 / (sigma * sigma)
    for i in range(a.size):
        gaussians(a[i], b, factor, x, e, bits)
        for j in range(m):
            e[j] = e[j] / (2.0 - e[j])
        before, left, largest = row[0], 0.0, 0.0
        row[0] = 0.0
        for j in range(m):
            above = row[j + 1]
            left = e[j] * (above + before + left)
            row[j + 1], before = left, above
            largest = max(largest, left)
        if not largest > 0.0:
            return -math.inf
        total += math.log(largest)
        for j in range(m + 1):
            row[j] /= largest
    return total + math.log(row[m]) if row[m] > 0.0 else -math.inf


@kernel
def alignment_logs(A, B, sigma, alike, logs, row, x, e, bits):
    """Write the logarithms for all pairs of rows; with `alike` A and B are the same."""
    for i in range(A.shape[0]):
        for j in range(i + 1 if alike else B.shape[0]):
            logs[i, j] = alignment_log(A[i], B[j], sigma, row, x, e, bits)
            if alike:
                logs[j, i] = logs[i, j]


@kernel
def own_logs(A, sigma, logs, row, x, e, bits):
    """Write the logarithm of the kernel of each row with itself."""
    for i in range(A.shape[0]):
        logs[i] = alignment_log(A[i], A[i], sigma, row, x, e, bits)
