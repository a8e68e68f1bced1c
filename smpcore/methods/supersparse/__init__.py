r"""Super-sparse learning: a few invented cases, each with a weight for every output.

Problem: minimise :math:`\sum_iu_i\|B^\top s(x_i,Z)+b-y_i\|^2+\lambda\|B\|_F^2` over
prototypes Z; the best B and b for given Z are known in closed form.
Algorithm: L-BFGS on Z, from the best of several starts; it is not convex.

1. `problem`: scaled rows (`rows`), targets (`teachers`), the call of the kernel.
2. `bounds`: ranges of sliders, the usual gamma, and the box that prototypes stay in.
3. `starts`, `removal`: adding and leaving out prototypes. `fit`: start, solve, revive.
4. `strings`, `blackbox`, `selection`: other solvers; `pruning`: other sizes.
5. `base` is shared by the two classes of `estimator`. Compiled: `kernel`.
"""

from smpcore.methods.supersparse.estimator import (
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.methods.supersparse.pruning import (
    fit_smallest,
    prune_path,
    removal_costs,
)
from smpcore.methods.supersparse.strings import decode_strings, encode_strings

__all__ = [
    "SuperSparseClassifier",
    "SuperSparseRegressor",
    "decode_strings",
    "encode_strings",
    "fit_smallest",
    "prune_path",
    "removal_costs",
]
