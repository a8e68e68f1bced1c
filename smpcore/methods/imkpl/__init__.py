r"""IMKPL: prototypes that mix a few real cases, and weights of several kernels.

Problem: minimise :math:`\mathrm{tr}\,K(I-H)(I-H)^\top + \lambda\langle 1-S\circ K,
H\rangle + \mu J_{ls} + \tau\sum U + \frac\rho2\|\beta\|^2` with :math:`H=U\Gamma`,
:math:`K=\sum_l\beta_lK_l`, few entries in each prototype of U and code of Gamma.
Algorithm: improve codes, prototypes and kernel weights in turn; it is not convex.

1. `problem`: scaled rows, screened kernels (of `kinds_of_kernels`), neighbours, first
   prototypes.
2. `fit`: the alternation from the better of two starts; interpretability and
   discrimination of the result.
3. `estimator`: chooses kappa and the number of prototypes on folds of the rows;
   `IMKPLClassifier`, which runs these steps. Compiled: `kernel`.
"""

from smpcore.methods.imkpl.estimator import IMKPLClassifier

__all__ = ["IMKPLClassifier"]
