r"""Multi-prototype SVM: margins between the best prototypes of the classes.

Problem: minimise :math:`\frac12\sum_r\|M_r\|^2 + \sum_i C_i[1 - M_{\pi(i)}\cdot x_i
+ \max_{r\notin c(i)} M_r\cdot x_i]_+` over prototypes M and assignments pi.
Algorithm: coordinate ascent on the dual for fixed pi; annealing, then best assignments.

1. `problem`: distinct scaled rows, their Gram matrix, and the dual as plain arrays.
2. `starts`: random, k-means and split starts; keeps the fit of lowest objective.
3. `assignment`: annealing, and the alternation of solving and reassigning.
4. `descent`: sweeps over the dual of one set of assignments, compiled in `kernel`
   (linear), `kernel_sparse` (the same for sparse rows) and `kernel_gram` (Gram).
5. `estimator`: `MultiPrototypeSVC`, which runs these steps and has the slider ranges.
"""

from smpcore.methods.mprotsvm.estimator import MultiPrototypeSVC

__all__ = ["MultiPrototypeSVC"]
