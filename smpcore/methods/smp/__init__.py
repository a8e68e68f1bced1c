r"""SMP: a few linear prototypes of each class, fused and made sparse by penalties.

Problem: minimise, over the prototypes W, the convex function
:math:`\frac1m\sum_i\ell_i(W) + \lambda\sum_{c,\,i<j}\|w_i-w_j\|_\infty
+ \mu\|W\|_1 + \frac{\mu\eta}2\|W\|_F^2`, each row tied to a prototype of its class.
Algorithm: proximal gradient with Barzilai-Borwein steps until the duality gap closes;
where that takes many, Newton steps of an interior-point method.

1. `problem`: scaled rows, the prototype of each row, and the call of the kernel; moves
   rows between prototypes and merges those that became equal; the lambda at which all
   are equal, the mu at which all are 0.
2. `interior`: the Newton steps, on the corners of `maxima`.
3. `estimator`: `SMPClassifier`, which runs these steps. Compiled: `kernel`.
"""

from smpcore.methods.smp.estimator import SMPClassifier

__all__ = ["SMPClassifier"]
