"""Similarities of examples to prototypes: values and vector-Jacobian product.

The first five are functions of products x . z, the last two of distances |x - z|_1:
two passes over the data at most, whichever it is.

============  =============================================  =========  ==============
kind          s(x, z)                                        sx of a    sz of a
                                                             row        prototype
============  =============================================  =========  ==============
RBF           exp(-gamma |x - z|^2)                          |x|^2      |z|^2
LINEAR        x . z                                          -          -
POLY          (gamma x . z + coef0)^degree                   -          -
COSINE        x . z / |z|                                    -          |z|
NCC           the same, with z less its mean                 -          |z - mean z|
LAPLACIAN     exp(-gamma |x - z|_1)                          -          -
INTERSECTION  sum min(x, z) / sum max(x, z)                  sum x      sum z
============  =============================================  =========  ==============

Of COSINE the rows come with length 1, of NCC also with mean 0 (or all zeros).

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
X         X           (n, d)      rows = examples
          sx          (n,)        see above
Z         Z           (m, d)      rows = prototypes
          sz          (m,)        see above, written by `write_values`
S'        S           (m, n)      similarities, a row for each prototype
          D           (m, n)      slope of s along the product or distance
          bits        (m * n,)    S seen as integers, flat
W'        W           (m, n)      weight of each ds(x_i, z_j) / dz_j
G         G           (m, d)      sum_i W_ij ds(x_i, z_j) / dz_j
========  ==========  ==========  ====================================================
"""

import math

import numpy as np

from . import kernel
from .losses import exponentials

RBF, LINEAR, POLY, COSINE, NCC, LAPLACIAN, INTERSECTION = 0, 1, 2, 3, 4, 5, 6

#: Shortest prototype that has a direction, and smallest sum of a histogram.
SHORTEST = 1e-12


@kernel
def measure_prototypes(kind, Z, sz):
    """Write what `write_values` needs to know of each prototype."""
    d = Z.shape[1]
    for j in range(Z.shape[0]):
        total, square = 0.0, 0.0
        for r in range(d):
            total += Z[j, r]
            square += Z[j, r] * Z[j, r]
        if kind == NCC:
            square = 0.0
            for r in range(d):
                square += (Z[j, r] - total / d) ** 2
        if kind == RBF:
            sz[j] = square
        elif kind == INTERSECTION:
            sz[j] = total
        else:
            sz[j] = max(math.sqrt(square), SHORTEST)


@kernel
def write_products(kind, X, Z, S):
    """Write products of rows and prototypes, or their distances |x - z|_1."""
    if kind < LAPLACIAN:
        np.dot(Z, X.T, S)
        return
    for j in range(Z.shape[0]):
        for i in range(X.shape[0]):
            apart = 0.0
            for r in range(X.shape[1]):
                apart += abs(X[i, r] - Z[j, r])
            S[j, i] = apart


@kernel
def write_values(kind, gamma, degree, coef0, X, sx, Z, sz, S, D, bits):
    """Write the similarities S, their slopes D, and sz."""
    measure_prototypes(kind, Z, sz)
    write_products(kind, X, Z, S)
    m, n = S.shape
    if kind == RBF or kind == LAPLACIAN:
        for j in range(m):
            for i in range(n):
                apart = S[j, i]
                if kind == RBF:
                    apart = max(sx[i] + sz[j] - 2.0 * S[j, i], 0.0)
                D[j, i] = -gamma * apart
        exponentials(D.reshape(m * n), S.reshape(m * n), bits)
    for j in range(m):
        for i in range(n):
            if kind == RBF:
                D[j, i] = 2.0 * gamma * S[j, i]
            elif kind == LAPLACIAN:
                D[j, i] = gamma * S[j, i]
            elif kind == LINEAR:
                D[j, i] = 1.0
            elif kind == POLY:
                base = gamma * S[j, i] + coef0
                power = 1.0
                for _ in range(degree - 1):
                    power *= base
                D[j, i] = degree * gamma * power
                S[j, i] = power * base
            elif kind == INTERSECTION:
                largest = max(0.5 * (sx[i] + sz[j] + S[j, i]), SHORTEST)
                S[j, i] = 0.5 * (sx[i] + sz[j] - S[j, i]) / largest
                D[j, i] = 1.0 / largest
            else:
                D[j, i] = 1.0 / sz[j]
                S[j, i] /= sz[j]


@kernel
def pull_back(kind, X, Z, sz, S, D, W, G):
    """Write the vector-Jacobian product G; W becomes W * D.

    Where a feature is equal, |x - z| has no slope: 0 is taken for the Laplacian, the
    slope from above for the intersection, whose prototypes may start at 0.
    """
    m, n = S.shape
    for j in range(m):
        for i in range(n):
            W[j, i] *= D[j, i]
    if kind >= LAPLACIAN:
        for j in range(m):
            for r in range(G.shape[1]):
                G[j, r] = 0.0
            for i in range(n):
                below, above, equal = W[j, i], -W[j, i], 0.0
                if kind == INTERSECTION:
                    above = -W[j, i] * S[j, i]
                    equal = above
                for r in range(G.shape[1]):
                    apart = X[i, r] - Z[j, r]
                    slope = below if apart > 0.0 else equal
                    G[j, r] += above if apart < 0.0 else slope
        return
    np.dot(W, X, G)
    if kind == RBF or kind >= COSINE:
        for j in range(m):
            back, middle = 0.0, 0.0
            for i in range(n):
                back += W[j, i] if kind == RBF else W[j, i] * S[j, i]
            if kind >= COSINE:
                back /= sz[j]
            if kind == NCC:
                for r in range(G.shape[1]):
                    middle += Z[j, r] / G.shape[1]
            for r in range(G.shape[1]):
                G[j, r] -= back * (Z[j, r] - middle)
