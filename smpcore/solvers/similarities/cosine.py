"""x . z / (|x| |z|); compiled code has rows of length 1."""

import numpy as np

from .. import inlined
from ..similarity_kind import LENGTH, Export, SimilarityKind


def _unit_rows(X):
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1.0)


def cosines(X, anchors, similarity):
    """Cosine of each row and each anchor; 0 if one of them has no length."""
    return _unit_rows(X) @ _unit_rows(anchors).T


@inlined
def value(form, t, a, b):
    """The product over the length of z."""
    return t / b, 1.0 / b


@inlined
def pull(w, s):
    """The slope along the length of z, but for its sign."""
    return w * s


KIND = SimilarityKind(
    cosines,
    formula="sum of x times z, divided by both lengths",
    title="cosine",
    place=4,
    value=value,
    measure=LENGTH,
    pull=pull,
    export=Export(
        "product",
        "none",
        "t of length 1, s = sum of anchor * t",
        normalise="length",
    ),
)
