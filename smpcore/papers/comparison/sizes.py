"""How much there is of a model, counted alike for prototypes, trees and neighbours.

Numbers are what its answers are made from: weights, places and coefficients that are
not zero, a threshold for each branch, a value for each leaf and class. Biases, and what
standardises a feature, are not counted. Bytes are those of the tables of a program: 32
bits for each number, for each bias, for what standardises a feature and what a missing
value counts as; whole numbers (the column of a weight, the child of a branch, a class)
in as few bytes as they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from smpcore.codegen import compile_model
from smpcore.datasets import Preparation
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel

#: Bytes of a number.
_FLOAT = 4


class Size(NamedTuple):
    """Size of a fitted model."""

    numbers: float
    n_bytes: float
    columns: float


def size_of_prototypes(model: PrototypeModel, preparation: Preparation) -> Size:
    """Count what a model of this program is made of."""
    columns = int(preparation.used_columns(model.support).sum())
    try:
        n_bytes = compile_model(model, preparation).table_bytes
    except ExportError:
        n_bytes = np.nan
    return Size(model.n_nonzeros, n_bytes, columns)


def size_of_other(pipeline: Pipeline, preparation: Preparation) -> Size:
    """Count what any other model is made of."""
    last = pipeline[-1]
    counted = next(count for has, count in _COUNTS if has(last))
    numbers, n_bytes, used = counted(last, preparation.n_features)
    n_bytes += _FLOAT * np.count_nonzero(used)  # what missing values count as
    return Size(numbers, n_bytes, int(preparation.used_columns(used).sum()))


#: Numbers, bytes, and which features are used.
_Count = tuple[int, int, np.ndarray]


def _index_bytes(largest: int) -> int:
    """Bytes of whole numbers up to the largest."""
    return np.min_scalar_type(largest).itemsize


def _linear(last: Any, n_features: int) -> _Count:
    parts = getattr(last, "estimators_", [last])
    weights = np.vstack([np.atleast_2d(part.coef_) for part in parts])
    numbers = np.count_nonzero(weights)
    places = numbers * _index_bytes(n_features)
    return numbers, _FLOAT * (numbers + len(weights)) + places, weights.any(axis=0)


def _cases(vectors: np.ndarray, more: np.ndarray, n_other: int) -> _Count:
    """Vectors that an input is compared with, and numbers that weigh comparisons."""
    used = vectors.any(axis=0)
    numbers = np.count_nonzero(vectors) + np.count_nonzero(more)
    floats = vectors[:, used].size + more.size + n_other
    return numbers, _FLOAT * floats + len(vectors), used


def _svm(last: Any, n_features: int) -> _Count:
    n_other = len(last.intercept_) + n_features  # biases and scales
    return _cases(last.support_vectors_, last.dual_coef_, n_other)


def _neighbours(last: Any, n_features: int) -> _Count:
    rows = last.X_ if hasattr(last, "X_") else last._fit_X
    return _cases(rows, np.empty(0), n_features)


def _lvq(last: Any, n_features: int) -> _Count:
    return _cases(last.Z_, last.omega_, 0)  # the scales are in the matrix


def _trees(
    trees: Iterable[tuple[np.ndarray, np.ndarray]], n_features: int, leaf: int
) -> _Count:
    """Trees as (feature of each node, whether it is a leaf); values of a leaf."""
    numbers, n_bytes, used = 0, 0, np.zeros(n_features, dtype=bool)
    for feature, is_leaf in trees:
        n_leaves = int(is_leaf.sum())
        n_branches = len(is_leaf) - n_leaves
        places = _index_bytes(n_features) + 2 * _index_bytes(len(is_leaf))
        numbers += n_branches + max(leaf, 1) * n_leaves
        n_bytes += n_branches * (_FLOAT + places)
        n_bytes += n_leaves * (_FLOAT * leaf if leaf else 1)
        used[feature[~is_leaf]] = True
    return numbers, n_bytes, used


def _grown(last: Any, n_features: int) -> _Count:
    """A tree, whose leaves have a class, or a forest that adds up shares of classes."""
    parts = getattr(last, "estimators_", None)
    leaf = 0 if parts is None else len(last.classes_) - 1
    nodes = [part.tree_ for part in parts or [last]]
    trees = ((tree.feature, tree.children_left < 0) for tree in nodes)
    return _trees(trees, n_features, leaf)


def _boosted(last: Any, n_features: int) -> _Count:
    """Trees of histogram gradient boosting, which has no public name for them."""
    nodes = [tree.nodes for trees in last._predictors for tree in trees]
    trees = ((one["feature_idx"], one["is_leaf"].astype(bool)) for one in nodes)
    return _trees(trees, n_features, 1)


def _has(name: str) -> Callable[[Any], bool]:
    return lambda last: hasattr(last, name)


def _is_linear(last: Any) -> bool:
    parts = getattr(last, "estimators_", [last])
    return all(hasattr(part, "coef_") for part in parts)


_COUNTS: tuple[tuple[Callable[[Any], bool], Callable[[Any, int], _Count]], ...] = (
    (lambda last: isinstance(last, SVC), _svm),
    (_has("_predictors"), _boosted),
    (_has("omega_"), _lvq),
    (_has("X_"), _neighbours),
    (_has("_fit_X"), _neighbours),
    (_is_linear, _linear),
    (_has("feature_importances_"), _grown),
)
