r"""SMaLL: a few linear prototypes with at most k weights each.

Problem: minimise :math:`\frac1m\sum_i\ell_i(W) + \frac\lambda2\|W\|_F^2` over
prototypes with :math:`\|w_j\|_0\le k`, each row tied to a prototype of its class.
Algorithm: solve the convex relaxation, round it to k weights, refit, swap features.

1. `problem`: scaled rows, one convex task or one for each class, and the history.
2. `fit`: the relaxation and its bound, the roundings, the refits, and what exchanging
   one feature for another would change.
3. `alternatives`: every choice of features that is nearly as good, by branch and bound.
4. `estimator`: `SMaLLClassifier`, which runs these steps and has the slider ranges.
   Compiled: `kernel`, `kernel_mirror_prox` and `kernel_support_norm`.
"""

from smpcore.methods.smallk.alternatives import Alternatives
from smpcore.methods.smallk.estimator import SMaLLClassifier

__all__ = ["Alternatives", "SMaLLClassifier"]
