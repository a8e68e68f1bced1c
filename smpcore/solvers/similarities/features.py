"""sum_f weights_f exp(-(x_f - z_f)^2 / widths_f)."""

import numpy as np

from ..features import feature_similarities
from ..similarity_kind import Export, SimilarityKind


def _values(X, anchors, similarity):
    values, room = np.empty((len(X), len(anchors))), np.empty((2, len(anchors)))
    feature_similarities(
        np.array(X, order="C"),
        np.array(anchors.T, order="C"),
        np.array(similarity.weights, dtype=np.float64),
        np.array(similarity.widths, dtype=np.float64),
        values,
        room,
        room[1].view(np.int64),
    )
    return values


KIND = SimilarityKind(
    _values,
    formula="sum over features of weight times exp(-(x - z)^2 / width)",
    export=Export("exp2", "none", "s = constant + sum of share * 2^-(t - anchor)^2"),
)
