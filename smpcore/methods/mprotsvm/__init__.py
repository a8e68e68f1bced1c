r"""Multi-prototype SVM: margins between the best prototypes of the classes.

Problem: minimise :math:`\frac12\sum_r\|M_r\|^2 + \sum_i C_i[1 - M_{\pi(i)}\cdot x_i
+ \max_{r\notin c(i)} M_r\cdot x_i]_+` over prototypes M and assignments pi.
Algorithm: coordinate ascent on the dual for fixed pi; annealing, then best assignments.

1. `problem`: distinct scaled rows, their Gram matrix or their map by landmarks (few
   rows of many columns are landmarks themselves), and
   the dual as plain arrays.
2. `fit`: sweeps over the dual of one set of assignments, compiled in `kernel`;
   annealing, and the alternation of solving and reassigning; starts, the best is kept.
3. `many_rows`: Newton steps on rows that are too many for sweeps.
4. `estimator`: `MultiPrototypeSVC`, which runs these steps and has the slider ranges.
"""

from smpcore.methods.mprotsvm.estimator import MultiPrototypeSVC

__all__ = ["MultiPrototypeSVC"]
