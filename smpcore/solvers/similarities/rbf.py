"""exp(-gamma |x - z|^2)."""

import math

import numpy as np

from .. import inlined
from ..similarity_kind import SQUARE, Export, SimilarityKind


def _values(X, anchors, similarity):
    # From the middle of the anchors: squares of large offsets would cancel.
    middle = anchors.mean(axis=0)
    X, anchors = X - middle, anchors - middle
    distance = -2.0 * (X @ anchors.T)
    distance += np.einsum("ij,ij->i", X, X)[:, None]
    distance += np.einsum("ij,ij->i", anchors, anchors)
    np.maximum(distance, 0.0, out=distance)
    distance *= -similarity.gamma
    return np.exp(distance, out=distance)


@inlined
def value(form, t, a, b):
    """Logarithm of the similarity, and its slope."""
    return -form.gamma * max(a + b - 2.0 * t, 0.0), 2.0 * form.gamma


@inlined
def pull(w, s):
    """The slope along the square of z, times that of the square."""
    return w


KIND = SimilarityKind(
    _values,
    formula="exp(-gamma d), d the sum of (x - z)^2",
    title="RBF",
    place=0,
    parameters=("gamma",),
    standardised=True,
    takes_sparse=True,
    by_distance=True,
    vanishes=True,
    reach=lambda gamma: 1.0 / math.sqrt(gamma),
    value=value,
    exponential=True,
    measure=SQUARE,
    pull=pull,
    export=Export("square", "exp2", "s = 2^-(sum of (t - anchor)^2)", power=2),
)
