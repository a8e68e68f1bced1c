"""Likeness of inputs to cases, feature by feature.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
X         X           (n, f)      rows = inputs
Z'        Zt          (f, m)      columns = cases
beta_l    weights     (f,)        weight of each feature, sum 1
delta_l   widths      (f,)        squared width of each feature
S         S           (n, m)      sum_l beta_l exp(-(x_l - z_l)^2 / delta_l)
          room        (2, m)      work
          bits        (m,) int    the second row of room seen as integers
========  ==========  ==========  ====================================================
"""

from . import kernel
from .losses import gaussians


@kernel
def feature_similarities(X, Zt, weights, widths, S, room, bits):
    """Write the similarity of every row of X to every column of Zt into S."""
    x, e = room[0], room[1]
    for i in range(X.shape[0]):
        for j in range(S.shape[1]):
            S[i, j] = 0.0
        for l in range(Zt.shape[0]):
            if weights[l] > 0.0:
                gaussians(X[i, l], Zt[l], -1.0 / widths[l], x, e, bits)
                for j in range(S.shape[1]):
                    S[i, j] += weights[l] * e[j]
