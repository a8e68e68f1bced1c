"""Products of IMKPL's prototypes and codes, which have few entries in a column.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
N, c, R                           rows, prototypes, columns of the kernels' factors
U         U           (c, N)      prototypes as mixes of rows, transposed
Gamma     codes       (c, N)      codes of the rows
          starts      (p + 1,)    first row of each class, and N: rows stand by class
L         L           (N, R)      factors of all kernels, side by side
========  ==========  ==========  ====================================================
"""

import numpy as np

from smpcore.solvers import kernel


@kernel
def add_rows(a, start, stop, B, total):
    """Add rows of B times their entry in a; return whether there is one."""
    some = False
    for i in range(start, stop):
        if a[i] != 0.0:
            some = True
            v, row = a[i], B[i]
            for s in range(total.size):
                total[s] += v * row[s]
    return some


@kernel
def sparse_product(A, B, product):
    """Write A @ B."""
    product[:] = 0.0
    none = np.int64(0)  # written as 0 it were of another type than `starts`
    for p in range(A.shape[0]):
        add_rows(A[p], none, A.shape[1], B, product[p])


@kernel
def factor_products(U, codes, L, starts, lam, UL, totals):
    """Write UL, and for each column of L its part of -2 <UL, Gamma L> and of lam.

    That of lam is the sum over classes of -lam <UL, Gamma L> of the rows of the class.
    """
    n_columns = L.shape[1]
    of_class, codes_of_class = np.empty(n_columns), np.empty(n_columns)
    codes_L = np.empty(n_columns)
    UL[:] = 0.0
    totals[:] = 0.0
    for p in range(U.shape[0]):
        codes_L[:] = 0.0
        for b in range(starts.size - 1):
            start, stop = starts[b], starts[b + 1]
            of_class[:] = 0.0
            if add_rows(U[p], start, stop, L, of_class):
                codes_of_class[:] = 0.0
                add_rows(codes[p], start, stop, L, codes_of_class)
                for k in range(n_columns):
                    UL[p, k] += of_class[k]
                    codes_L[k] += codes_of_class[k]
                    totals[k] -= lam * of_class[k] * codes_of_class[k]
            else:
                add_rows(codes[p], start, stop, L, codes_L)
        for k in range(n_columns):
            totals[k] -= 2.0 * UL[p, k] * codes_L[k]
