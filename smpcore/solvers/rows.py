"""Rows in scaled units.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
X         X           (n, f+b)    rows in user's units; what is in b is not read
c, s      center,     (f,)        (x - c) / s are the scaled units
          scale
          constant    (f,) bool   columns that are set to 0
========  ==========  ==========  ====================================================
"""

from . import kernel


@kernel
def scale_rows(X, center, scale, constant):
    """Overwrite rows with those in scaled units, and further columns with ones."""
    for i in range(X.shape[0]):
        for j in range(len(center)):
            x = (X[i, j] - center[j]) / scale[j]
            X[i, j] = 0.0 if constant[j] else x
        for j in range(len(center), X.shape[1]):
            X[i, j] = 1.0
