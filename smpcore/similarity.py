"""How alike an input and an anchor are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.errors import SmpcoreError
from smpcore.solvers import similarity as kernels
from smpcore.solvers.alignment import alignment_logs, own_logs
from smpcore.solvers.features import feature_similarities
from smpcore.solvers.strings import edit_distances

__all__ = [
    "SIMILARITIES",
    "SMOOTH",
    "Similarity",
    "SimilarityKind",
    "alignment_kernel",
]


#: Similarities that are mixed at once; more than that are mixed in tiles of so many
#: rows and anchors, which stay near the processor.
MOST_AT_ONCE, TILE = 2**24, (256, 512)


def _rbf(X: np.ndarray, anchors: np.ndarray, similarity: Similarity) -> np.ndarray:
    # From the middle of the anchors: squares of large offsets would cancel.
    middle = anchors.mean(axis=0)
    X, anchors = X - middle, anchors - middle
    distance = -2.0 * (X @ anchors.T)
    distance += np.einsum("ij,ij->i", X, X)[:, None]
    distance += np.einsum("ij,ij->i", anchors, anchors)
    np.maximum(distance, 0.0, out=distance)
    distance *= -similarity.gamma
    return np.exp(distance, out=distance)


def _unit_rows(X: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1.0)


def _cosine(X: np.ndarray, anchors: np.ndarray, similarity: Similarity) -> np.ndarray:
    return _unit_rows(X) @ _unit_rows(anchors).T


def _deviations(X: np.ndarray) -> np.ndarray:
    return X - X.mean(axis=1, keepdims=True)


def _ncc(X: np.ndarray, anchors: np.ndarray, similarity: Similarity) -> np.ndarray:
    return _cosine(_deviations(X), _deviations(anchors), similarity)


def _intersection(
    X: np.ndarray, anchors: np.ndarray, similarity: Similarity
) -> np.ndarray:
    total = X.sum(axis=1)[:, None] + anchors.sum(axis=1)
    distance = cdist(X, anchors, "cityblock")  # sum of max - min; total is max + min
    return (total - distance) / np.maximum(total + distance, 1e-12)


def _features(X: np.ndarray, anchors: np.ndarray, similarity: Similarity) -> np.ndarray:
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


def alignment_kernel(A: np.ndarray, B: np.ndarray, sigma: float) -> np.ndarray:
    """Global alignment kernel of series, 1 for a series with itself.

    Parameters
    ----------
    A : ndarray of shape (n_samples, n_times)
        Series of one channel, one for each row of the result.
    B : ndarray of shape (n_anchors, n_times)
        Series of one channel, one for each column of the result.
    sigma : float
        Width of the similarity of two values.

    Returns
    -------
    ndarray of shape (n_samples, n_anchors)
    """
    logs, row = np.empty((len(A), len(B))), np.empty(B.shape[1] + 1)
    x, e = np.empty((2, B.shape[1]))
    room = row, x, e, e.view(np.int64)
    is_symmetric = A is B
    A, B = np.array(A, order="C"), np.array(B, order="C")
    alignment_logs(A, B, sigma, is_symmetric, logs, *room)
    if is_symmetric:
        of_rows = of_anchors = logs.diagonal().copy()
    else:
        of_rows, of_anchors = np.empty(len(A)), np.empty(len(B))
        own_logs(A, sigma, of_rows, *room)
        own_logs(B, sigma, of_anchors, *room)
    return np.exp(logs - 0.5 * (of_rows[:, None] + of_anchors))


def _gak(X: np.ndarray, anchors: np.ndarray, similarity: Similarity) -> np.ndarray:
    values = np.zeros((len(X), len(anchors)))
    channels = np.split(np.arange(X.shape[1]), len(similarity.weights))
    for part, weight, sigma in zip(
        channels, similarity.weights, similarity.widths, strict=True
    ):
        if weight > 0:
            values += weight * alignment_kernel(X[:, part], anchors[:, part], sigma)
    return values


def _strings(X: np.ndarray, anchors: np.ndarray, similarity: Similarity) -> np.ndarray:
    distance = np.empty((len(X), len(anchors)), dtype=np.int64)
    edit_distances(np.array(X, np.int64), np.array(anchors, np.int64), distance)
    return np.exp(-similarity.gamma * distance)


class SimilarityKind(NamedTuple):
    """What estimators, sliders and reports need to know of one kind of similarity.

    Parameters
    ----------
    values : callable
        ``(X, anchors, similarity)`` to an array (n_samples, n_anchors).
    formula : str
        Of an input x and an anchor z, both scaled, in words; empty: too many terms.
    title : str
        On the slider of the super-sparse methods; empty: not offered there.
    kernel : int or None
        Its number in `smpcore.solvers.similarity`, where it has a gradient.
    parameters : tuple of str
        Fields of `Similarity` that it uses, of gamma, degree and coef0.
    standardised : bool
        Whether features are scaled first; otherwise rows are taken as they are.
    by_distance : bool
        Whether it falls with the distance, so that a prototype can be far from all
        rows.
    vanishes : bool
        Whether it goes to 0 with the distance, so that a prototype can be useless.
    power : int
        Power of a scaled unit that gamma is per.
    least : float
        Least value of a feature, of rows and of prototypes.
    in_ball : bool
        Whether prototypes stay in the unit ball: longer ones make a ridge void.
    direction : callable or None
        Rows to what its kernel takes at length 1; None: it takes the rows themselves.
    """

    values: Callable[[np.ndarray, np.ndarray, Similarity], np.ndarray]
    formula: str = ""
    title: str = ""
    kernel: int | None = None
    parameters: tuple[str, ...] = ()
    standardised: bool = False
    by_distance: bool = False
    vanishes: bool = False
    power: int = 2
    least: float = -math.inf
    in_ball: bool = False
    direction: Callable[[np.ndarray], np.ndarray] | None = None


#: The similarities a model may use. A new one is a row here and, where prototypes are
#: to be moved, its value and slope in `smpcore.solvers.similarity`.
SIMILARITIES = {
    "rbf": SimilarityKind(
        _rbf,
        "exp(-gamma d), d the sum of (x - z)^2",
        "RBF",
        kernels.RBF,
        ("gamma",),
        True,
        True,
        True,
    ),
    "laplacian": SimilarityKind(
        lambda X, Z, params: np.exp(-params.gamma * cdist(X, Z, "cityblock")),
        "exp(-gamma d), d the sum of |x - z|",
        "Laplacian",
        kernels.LAPLACIAN,
        ("gamma",),
        True,
        True,
        True,
        power=1,
    ),
    "linear": SimilarityKind(
        lambda X, Z, params: X @ Z.T,
        "sum of x times z",
        "linear",
        kernels.LINEAR,
        standardised=True,
        in_ball=True,
    ),
    "poly": SimilarityKind(
        lambda X, Z, params: (params.gamma * (X @ Z.T) + params.coef0) ** params.degree,
        "(gamma s + coef0)^degree, s the sum of x times z",
        "polynomial",
        kernels.POLY,
        ("gamma", "degree", "coef0"),
        standardised=True,
        in_ball=True,
    ),
    "cosine": SimilarityKind(
        _cosine,
        "sum of x times z, divided by both lengths",
        "cosine",
        kernels.COSINE,
        direction=np.asarray,
    ),
    "ncc": SimilarityKind(
        _ncc,
        "sum of x times z, each less its own mean, divided by both lengths",
        "correlation",
        kernels.NCC,
        direction=_deviations,
    ),
    "intersection": SimilarityKind(
        _intersection,
        "sum of min(x, z), divided by the sum of max(x, z)",
        kernel=kernels.INTERSECTION,
        by_distance=True,
        least=0.0,
    ),
    "features": SimilarityKind(
        _features, "sum over features of weight times exp(-(x - z)^2 / width)"
    ),
    "gak": SimilarityKind(_gak),
    "strings": SimilarityKind(_strings, parameters=("gamma",)),
    "precomputed": SimilarityKind(lambda X, Z, params: X @ Z.T),
    "callable": SimilarityKind(lambda X, Z, params: params.function(X, Z)),
}
#: Those with a gradient.
SMOOTH = tuple(kind for kind, row in SIMILARITIES.items() if row.kernel is not None)


@dataclass(frozen=True)
class Similarity:
    """How alike an input x and an anchor z are.

    ================  ============================================================
    ``linear``        ``x . z``
    ``rbf``           ``exp(-gamma * |x - z|^2)``
    ``poly``          ``(gamma * x . z + coef0) ** degree``
    ``laplacian``     ``exp(-gamma * |x - z|_1)``
    ``cosine``        ``x . z / (|x| |z|)``
    ``ncc``           the same of x and z less their means
    ``intersection``  ``sum_f min(x_f, z_f) / sum_f max(x_f, z_f)``, inputs not negative
    ``features``      ``sum_f weights_f * exp(-(x_f - z_f)^2 / widths_f)``
    ``gak``           ``sum_c weights_c * alignment of x_c and z_c``, of channels c
    ``strings``       ``exp(-gamma * edits from x to z)``, codes 0, 1, ... and -1 behind
    ``precomputed``   ``x . z``: x holds similarities, z picks one; while fitting only
    ``callable``      ``function(x, z)``: in Python only, never saved or exported
    ================  ============================================================

    Parameters
    ----------
    kind : str
        A key of `SIMILARITIES`.
    gamma : float
        Above 0, per squared (or absolute) scaled unit: the larger, the nearer only
        close rows are alike.
    degree : int
        At least 1: power of "poly".
    coef0 : float
        At least 0: added before the power of "poly".
    weights, widths : tuple of float
        Of each feature, for "features"; of each channel, for "gak".
    function : callable or None
        ``(X, anchors) -> (n_samples, n_anchors)``, for "callable".
    """

    kind: str = "linear"
    gamma: float = 1.0
    degree: int = 1
    coef0: float = 0.0
    weights: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    function: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        if self.kind not in SIMILARITIES:
            raise SmpcoreError(
                f"kind={self.kind!r} should be one of {sorted(SIMILARITIES)}."
            )
        if not (_is_number(self.gamma) and self.gamma > 0):
            raise SmpcoreError(f"gamma={self.gamma!r} should be a number above 0.")
        if not (_is_number(self.coef0) and self.coef0 >= 0):
            raise SmpcoreError(
                f"coef0={self.coef0!r} should be a number of at least 0."
            )
        if not (isinstance(self.degree, Integral) and self.degree >= 1):
            raise SmpcoreError(f"degree={self.degree!r} should be 1, 2, 3 or more.")
        if not all(_is_number(weight) and weight >= 0 for weight in self.weights):
            raise SmpcoreError("weights should be numbers of at least 0.")
        if not all(_is_number(width) and width > 0 for width in self.widths):
            raise SmpcoreError("widths should be numbers above 0.")
        if len(self.weights) != len(self.widths):
            raise SmpcoreError("weights and widths should be as many.")
        if (self.kind == "callable") != callable(self.function):
            raise SmpcoreError("function should be given for kind='callable' only.")

    def values(self, X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Similarity of each row of X to each anchor, both in scaled units."""
        return SIMILARITIES[self.kind].values(X, anchors, self)

    def mixed(
        self, X: np.ndarray, anchors: np.ndarray, mixing: np.ndarray
    ) -> np.ndarray:
        """Similarities to the anchors, mixed; of very many, some at a time."""
        values = SIMILARITIES[self.kind].values
        if len(X) * len(anchors) <= MOST_AT_ONCE:
            return values(X, anchors, self) @ mixing
        mixed = np.zeros((len(X), mixing.shape[1]), mixing.dtype)
        for row in range(0, len(X), TILE[0]):
            rows = slice(row, row + TILE[0])
            for anchor in range(0, len(anchors), TILE[1]):
                part = slice(anchor, anchor + TILE[1])
                mixed[rows] += values(X[rows], anchors[part], self) @ mixing[part]
        return mixed


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
