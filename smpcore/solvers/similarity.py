"""Similarities of examples to prototypes: values and vector-Jacobian product.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
          form        Form        which similarity, see `similarity_kind`, and its
                                  parameters
X         X           (n, d)      rows = examples
a         sx          (n,)        their measures
Z         Z           (m, d)      rows = prototypes
b         sz          (m,)        their measures, written by `write_values`
S'        S           (m, n)      similarities, a row for each prototype
          D           (m, n)      slope of s along the product or distance
W'        W           (m, n)      weight of each ds(x_i, z_j) / dz_j
G         G           (m, d)      sum_i W_ij ds(x_i, z_j) / dz_j
========  ==========  ==========  ====================================================
"""

import math
from collections import namedtuple

import numpy as np

from . import inlined, kernel
from .losses import exponentials
from .similarities import SIMILARITIES, SMOOTH
from .similarity_kind import (
    DEVIATION,
    DISTANCE,
    LENGTH,
    NOTHING,
    PRODUCT,
    SHORTEST,
    SQUARE,
    TOTAL,
)

Form = namedtuple("Form", "code over exponential measure at_equal gamma degree coef0")


def form_of(name, gamma, degree, coef0):
    """A similarity as kernels take it; its code is its place among the smooth ones."""
    kind = SIMILARITIES[name]
    traits = kind.over, kind.exponential, kind.measure, kind.at_equal
    return Form(SMOOTH.index(name), *traits, float(gamma), int(degree), float(coef0))


def _dispatched(function, heading, loop):
    """Function with a loop for each similarity that has this one.

    numba can neither choose a function at run time nor keep code that was given one:
    so the choice is written out, and what is chosen is compiled into it.
    """
    lines, names = [heading], {"__name__": __name__}
    for code, name in enumerate(SMOOTH):
        called = getattr(SIMILARITIES[name], function)
        if called is not None:
            names[f"{name}_{function}"] = called
            lines += [f"    if form.code == {code}:", loop.format(name)]
    exec(compile("\n".join(lines), __file__, "exec"), names)
    return inlined(names[f"{function}s"])


#: Products or distances in s become values, and `slope` those along them.
values = _dispatched(
    "value",
    "def values(form, a, b, s, slope):",
    "        for i in range(a.size):\n"
    "            s[i], slope[i] = {}_value(form, s[i], a[i], b)",
)

#: What each row pulls, of its weighed slope and its similarity.
pulls = _dispatched(
    "pull",
    "def pulls(form, w, s, pulled):",
    "        for i in range(w.size):\n            pulled[i] = {}_pull(w[i], s[i])",
)


@inlined
def measure_prototypes(form, Z, sz):
    """Write what `write_values` needs to know of each prototype."""
    d = Z.shape[1]
    for j in range(Z.shape[0]):
        total, square = 0.0, 0.0
        for r in range(d):
            total += Z[j, r]
            square += Z[j, r] * Z[j, r]
        if form.measure == DEVIATION:
            square = 0.0
            for r in range(d):
                square += (Z[j, r] - total / d) ** 2
        sz[j] = total if form.measure == TOTAL else square
        if form.measure == LENGTH or form.measure == DEVIATION:
            sz[j] = max(math.sqrt(square), SHORTEST)


@inlined
def write_products(form, X, Z, S):
    """Write products of rows and prototypes, or their distances |x - z|_1."""
    if form.over == PRODUCT:
        np.dot(Z, X.T, S)
        return
    for j in range(Z.shape[0]):
        for i in range(X.shape[0]):
            apart = 0.0
            for r in range(X.shape[1]):
                apart += abs(X[i, r] - Z[j, r])
            S[j, i] = apart


@kernel
def write_values(form, X, sx, Z, sz, S, D):
    """Write the similarities S, their slopes D, and sz."""
    measure_prototypes(form, Z, sz)
    write_products(form, X, Z, S)
    m, n = S.shape
    logs = np.empty(n)
    for j in range(m):
        values(form, sx, sz[j], S[j], D[j])
        if form.exponential:
            for i in range(n):
                logs[i] = S[j, i]
            exponentials(logs, S[j], S[j].view(np.int64))
            for i in range(n):
                D[j, i] *= S[j, i]


@kernel
def pull_back(form, X, Z, sz, S, D, W, G):
    """Write the vector-Jacobian product G; W becomes W * D."""
    m, n = S.shape
    d = G.shape[1]
    pulled = np.empty(n)
    for j in range(m):
        for i in range(n):
            W[j, i] *= D[j, i]
    if form.over == PRODUCT:
        np.dot(W, X, G)
    for j in range(m):
        pulls(form, W[j], S[j], pulled)
        if form.over == DISTANCE:
            for r in range(d):
                G[j, r] = 0.0
            for i in range(n):
                below, above = W[j, i], -pulled[i]
                equal = form.at_equal * above
                for r in range(d):
                    apart = X[i, r] - Z[j, r]
                    slope = below if apart > 0.0 else equal
                    G[j, r] += above if apart < 0.0 else slope
        elif form.measure != NOTHING:
            back, middle = 0.0, 0.0
            for i in range(n):
                back += pulled[i]
            if form.measure != SQUARE:
                back /= sz[j]
            if form.measure == DEVIATION:
                for r in range(d):
                    middle += Z[j, r] / d
            for r in range(d):
                G[j, r] -= back * (Z[j, r] - middle)
