"""sum min(x, z) / sum max(x, z), of features that are not negative.

The minimum and the maximum add up to x + z, and differ by |x - z|.
"""

import numpy as np
from scipy.spatial.distance import cdist

from .. import inlined
from ..similarity_kind import DISTANCE, SHORTEST, TOTAL, Export, SimilarityKind


def _values(X, anchors, similarity):
    total = X.sum(axis=1)[:, None] + anchors.sum(axis=1)
    distance = cdist(X, anchors, "cityblock")
    return (total - distance) / np.maximum(total + distance, SHORTEST)


@inlined
def value(form, t, a, b):
    """The smaller over the larger sum, and the slope where z is the smaller."""
    largest = max(0.5 * (a + b + t), SHORTEST)
    return 0.5 * (a + b - t) / largest, 1.0 / largest


@inlined
def pull(w, s):
    """Where z is the larger, it raises the larger sum."""
    return w * s


KIND = SimilarityKind(
    _values,
    formula="sum of min(x, z), divided by the sum of max(x, z)",
    by_distance=True,
    least=0.0,
    value=value,
    over=DISTANCE,
    measure=TOTAL,
    pull=pull,
    at_equal=1.0,  # the slope from above: prototypes may start at 0
    export=Export(
        "overlap",
        "ratio",
        "s = sum of min(t, anchor) / sum of max(t, anchor)",
    ),
)
