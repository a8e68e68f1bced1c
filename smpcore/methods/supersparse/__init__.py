r"""Super-sparse learning: a few invented cases, each with a weight for every output.

Problem: minimise :math:`\sum_iu_i\|B^\top s(x_i,Z)+b-y_i\|^2+\lambda\|B\|_F^2` over
prototypes Z; the best B and b for given Z are known in closed form.
Algorithm: L-BFGS on Z, from the best of several starts; it is not convex.

1. `problem`: scaled rows, the call of the kernel, what is left out, ranges of sliders.
2. `teachers`: whose decisions are the targets. `blocks`: rows that stay in a file.
3. `fit`: start, solve, revive. `value_solvers`: similarities without a gradient.
4. `estimator`: both classes, and fits of other sizes. Compiled: `kernel`.
"""

from smpcore.methods.supersparse.estimator import (
    SuperSparseClassifier,
    SuperSparseRegressor,
    fit_smallest,
    prune_path,
    removal_costs,
)
from smpcore.methods.supersparse.value_solvers import decode_strings, encode_strings

__all__ = [
    "SuperSparseClassifier",
    "SuperSparseRegressor",
    "decode_strings",
    "encode_strings",
    "fit_smallest",
    "prune_path",
    "removal_costs",
]
