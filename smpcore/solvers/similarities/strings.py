"""exp(-gamma times the edits from x to z), of codes 0, 1, ... and -1 behind."""

import numpy as np

from ..similarity_kind import SimilarityKind
from ..strings import edit_distances


def _values(X, anchors, similarity):
    distance = np.empty((len(X), len(anchors)), dtype=np.int64)
    edit_distances(np.array(X, np.int64), np.array(anchors, np.int64), distance)
    return np.exp(-similarity.gamma * distance)


KIND = SimilarityKind(_values, parameters=("gamma",))
