"""(gamma x . z + coef0)^degree."""

from .. import inlined
from ..similarity_kind import Export, SimilarityKind


def _values(X, anchors, similarity):
    inner = similarity.gamma * (X @ anchors.T) + similarity.coef0
    return inner**similarity.degree


@inlined
def value(form, t, a, b):
    """Multiplied out, from the left."""
    base = form.gamma * t + form.coef0
    power = 1.0
    for _ in range(form.degree - 1):
        power *= base
    return power * base, form.degree * form.gamma * power


KIND = SimilarityKind(
    _values,
    formula="(gamma s + coef0)^degree, s the sum of x times z",
    title="polynomial",
    place=3,
    parameters=("gamma", "degree", "coef0"),
    standardised=True,
    in_ball=True,
    value=value,
    export=Export("product", "power", "s = (constant + sum of anchor * t)^degree"),
)
