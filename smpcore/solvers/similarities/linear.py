"""x . z; a program has it as weights of the inputs."""

from .. import inlined
from ..similarity_kind import SimilarityKind


@inlined
def value(form, t, a, b):
    """The product itself."""
    return t, 1.0


KIND = SimilarityKind(
    lambda X, anchors, similarity: X @ anchors.T,
    formula="sum of x times z",
    title="linear",
    place=2,
    standardised=True,
    takes_sparse=True,
    in_ball=True,
    value=value,
)
