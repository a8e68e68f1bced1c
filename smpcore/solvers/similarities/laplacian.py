"""exp(-gamma |x - z|_1)."""

import numpy as np
from scipy.spatial.distance import cdist

from .. import inlined
from ..similarity_kind import DISTANCE, Export, SimilarityKind


def _values(X, anchors, similarity):
    return np.exp(-similarity.gamma * cdist(X, anchors, "cityblock"))


@inlined
def value(form, t, a, b):
    """Logarithm of the similarity, and its slope."""
    return -form.gamma * t, form.gamma


@inlined
def pull(w, s):
    """As much as where z is the smaller."""
    return w


KIND = SimilarityKind(
    _values,
    formula="exp(-gamma d), d the sum of |x - z|",
    title="Laplacian",
    place=1,
    parameters=("gamma",),
    standardised=True,
    by_distance=True,
    vanishes=True,
    power=1,
    value=value,
    exponential=True,
    over=DISTANCE,
    pull=pull,
    export=Export("absolute", "exp2", "s = 2^-(sum of |t - anchor|)", power=1),
)
