"""A function of x and z: in Python only, never saved or exported."""

from ..similarity_kind import SimilarityKind

KIND = SimilarityKind(lambda X, anchors, similarity: similarity.function(X, anchors))
