"""Normalised cross-correlation: the cosine of x and z less their means."""

from ..similarity_kind import DEVIATION, Export
from .cosine import KIND as COSINE
from .cosine import cosines


def _values(X, anchors, similarity):
    X = X - X.mean(axis=1, keepdims=True)
    anchors = anchors - anchors.mean(axis=1, keepdims=True)
    return cosines(X, anchors, similarity)


KIND = COSINE._replace(
    values=_values,
    formula="sum of x times z, each less its own mean, divided by both lengths",
    title="correlation",
    place=5,
    measure=DEVIATION,
    export=Export(
        "product",
        "none",
        "t less its mean, of length 1, s = sum of anchor * t",
        normalise="mean and length",
    ),
)
