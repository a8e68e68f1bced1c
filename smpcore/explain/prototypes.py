"""Prototypes in numbers and beside real rows: near ones, those they win, oddities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from smpcore.datasets import Preparation
from smpcore.explain.contributions import deciding_prototypes
from smpcore.explain.flip import in_order, kept_orders, orders_of
from smpcore.model import PrototypeModel, portraits
from smpcore.model.portraits import holds_cases
from smpcore.model.prototype_measures import discrimination, interpretability
from smpcore.readouts import READOUTS

#: Of more rows than this, evenly spread ones say what distance is usual.
_MOST_ROWS = 2000
#: A class difference counts from so many standard errors on.
_ERRORS = 2.0


def likeness(model: PrototypeModel, X: np.ndarray) -> np.ndarray:
    """How much each row is like each prototype, before any code.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes the rows are compared with.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows to compare; one column for each feature.

    Returns
    -------
    ndarray of shape (n_samples, n_prototypes)
        The activation; of a model with a code, the cosine between row and prototype.
    """
    if not model.code_size:
        return model.activations(X)
    scaled = (X - model.center) / model.scale
    length = np.sqrt(np.maximum(model.gram.diagonal(), 1e-300))
    return model.similarity.values(scaled, model.anchors) @ model.mixing / length


def nearest_examples(model: PrototypeModel, X: np.ndarray, n: int = 5) -> np.ndarray:
    """Rows that each prototype speaks for most.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes the rows are compared with.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows of the model.
    n : int
        Number of rows for each prototype; fewer if there are not so many.

    Returns
    -------
    ndarray of int, shape (n_prototypes, min(n, n_samples))
        Positions in X, the nearest first.
    """
    similarity = likeness(model, np.asarray(X, dtype=np.float64))
    return np.argsort(-similarity, axis=0, kind="stable")[:n].T


def wins(model: PrototypeModel, X: np.ndarray, y_encoded: np.ndarray) -> np.ndarray:
    """How many rows of each class each prototype decides.

    Parameters
    ----------
    model : PrototypeModel
        Model that decides the rows.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows to decide; one column for each feature.
    y_encoded : ndarray of int, shape (n_samples,)
        Class numbers (a regression: all 0); -1 is not counted.

    Returns
    -------
    ndarray of int, shape (n_prototypes, n_outputs)
        A row that no prototype speaks for is not counted.
    """
    activations = model.activations(X)
    counted = np.asarray(y_encoded) >= 0
    if model.code_size:
        counted &= activations.any(axis=1)
    counts = np.zeros((model.n_prototypes, model.n_outputs), dtype=np.int64)
    speaker = deciding_prototypes(model, activations)
    np.add.at(counts, (speaker[counted], np.asarray(y_encoded)[counted]), 1)
    return counts


@dataclass(frozen=True)
class Oddities:
    """What is unusual about one prototype.

    Parameters
    ----------
    distance : float
        From an invented or a real case to the nearest training row, scaled units; NaN
        where a prototype is no single case.
    median_distance : float
        Median distance of a training row to its nearest neighbour.
    outside : tuple of int
        Features of the case outside the range of the training rows.
    opposing : tuple of int
        Features whose weight is against the feature's own class difference.
    """

    distance: float
    median_distance: float
    outside: tuple[int, ...]
    opposing: tuple[int, ...]


def facts_of_prototypes(
    model: PrototypeModel, X: np.ndarray, y_encoded: np.ndarray
) -> list[Oddities]:
    """Compare prototypes with the training rows.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are compared.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows of the model.
    y_encoded : ndarray of int, shape (n_samples,)
        Class numbers; not looked at for a regression.

    Returns
    -------
    list of Oddities
        One per prototype.
    """
    scaled = (np.asarray(X, dtype=np.float64) - model.center) / model.scale
    spread = scaled[:: -(-len(scaled) // _MOST_ROWS) or 1]
    nearest = cKDTree(spread).query(spread, k=min(2, len(spread)))[0]
    median = float(np.median(nearest[:, -1])) if nearest.ndim == 2 else np.nan
    distance = np.full(model.n_prototypes, np.nan)
    outside: list[tuple[int, ...]] = [()] * model.n_prototypes
    if holds_cases(model):
        case = np.abs(model.mixing).argmax(axis=0)
        distance = cKDTree(scaled).query(model.anchors[case])[0]
        room = 1e-9 * (1 + np.abs(model.low) + np.abs(model.high))
        values = model.prototypes[case]
        out = (values < model.low - room) | (values > model.high + room)
        outside = [tuple(np.flatnonzero(row).tolist()) for row in out]
    opposing = _opposing(model, scaled, y_encoded)
    return [
        Oddities(float(distance[j]), median, outside[j], opposing[j])
        for j in range(model.n_prototypes)
    ]


def measures_of_prototypes(
    model: PrototypeModel, X: np.ndarray, y_encoded: np.ndarray
) -> dict[str, np.ndarray]:
    """Measure the prototypes of a model with a code: IP and DR, in percent.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are measured.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows of the model.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each training row.

    Returns
    -------
    dict of str to ndarray of shape (n_prototypes,)
        Key of the read-out -> values; empty for a model without a code.
    """
    if not model.code_size:
        return {}
    used = discrimination(
        model.activations(X), model.prototype_labels, np.asarray(y_encoded)
    )
    return {"interpretability": interpretability(model), "discrimination": used}


def contrasts(model: PrototypeModel) -> np.ndarray:
    """Weights of a linear prototype for its own class, against the other classes.

    Only differences of weights decide: a direction's weights less the mean of the
    other classes' ones; of a sum, the weights times the prototype's vote for its class
    less its mean vote for the others.

    Parameters
    ----------
    model : PrototypeModel
        Linear, a classifier.

    Returns
    -------
    ndarray of shape (n_prototypes, n_features), per scaled unit
    """
    weights, prototype_labels = model.weights, model.prototype_labels
    others = model.n_outputs - 1
    if model.pooling == "sum":
        own_votes = model.votes[np.arange(len(prototype_labels)), prototype_labels]
        against = (model.votes.sum(axis=1) - own_votes) / others
        return weights * (own_votes - against)[:, None]
    means = np.array(
        [weights[prototype_labels == c].mean(axis=0) for c in range(others + 1)]
    )
    return weights - (means.sum(axis=0) - means[prototype_labels]) / others


def _opposing(
    model: PrototypeModel, scaled: np.ndarray, y_encoded: np.ndarray
) -> list[tuple[int, ...]]:
    """Features whose weight and class difference have opposite signs."""
    if not model.is_linear or model.classes is None or len(model.classes) < 2:
        return [()] * model.n_prototypes
    features = []
    for weights, used, output in zip(
        contrasts(model), model.weights != 0, model.prototype_labels, strict=True
    ):
        rows = scaled[y_encoded == output]
        others = scaled[(y_encoded != output) & (y_encoded >= 0)]
        if min(len(rows), len(others)) < 2:
            features.append(())
            continue
        difference = rows.mean(axis=0) - others.mean(axis=0)
        error = np.sqrt(rows.var(axis=0) / len(rows) + others.var(axis=0) / len(others))
        clear = np.abs(difference) > _ERRORS * error
        against = used & clear & (weights * difference < 0)
        features.append(tuple(np.flatnonzero(against).tolist()))
    return features


#: Of more rows than this, evenly spread ones are compared, or give values to try.
_MOST_COMPARED = 1000
#: Values of a column that are tried, at most.
_MOST_VALUES = 200


def typical_rows(
    model: PrototypeModel, X: np.ndarray, n: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Choose medoids: rows to which the others are near, each standing for a part.

    Parameters
    ----------
    model : PrototypeModel
        Its used features are compared, in its scaled units.
    X : ndarray of shape (n_samples, n_features), user's units
        Rows, such as those that one prototype wins.
    n : int
        Number of medoids; fewer if there are not so many different rows.

    Returns
    -------
    places : ndarray of int, shape (n_medoids,)
        Positions in X; each one lowers the sum of distances to the nearest medoid most.
    shares : ndarray of shape (n_medoids,)
        Share of the rows to which each one is the nearest.
    """
    rows, used = _spread(len(X), _MOST_COMPARED), model.support
    scaled = ((X[rows] - model.center) / model.scale)[:, used]
    apart = cdist(scaled, scaled)
    nearest, places = np.full(len(rows), np.inf), []
    for _ in range(min(n, len(rows))):
        costs = np.minimum(apart, nearest).sum(axis=1)
        if costs.min() >= nearest.sum():
            break
        places.append(int(costs.argmin()))
        nearest = np.minimum(nearest, apart[places[-1]])
    parts = apart[places].argmin(axis=0) if places else np.empty(0, dtype=int)
    return rows[places], np.bincount(parts, minlength=len(places)) / len(rows)


def other_winners(
    model: PrototypeModel, preparation: Preparation, x: np.ndarray, X: np.ndarray
) -> list[tuple[int, np.ndarray, int]]:
    """Find for each column the nearest value with which another prototype wins a row.

    Parameters
    ----------
    model : PrototypeModel
        Classifier that decides the row.
    preparation : Preparation
        It was fitted with.
    x : ndarray of shape (n_features,), user's units
        The row; one column of it is changed at a time.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows: their values are tried; of many rows, or of many values, evenly
        spread ones. Numbers that all of them have in the same order (`kept_orders`)
        stay so, if x has them so.

    Returns
    -------
    list of (int, ndarray, int)
        Number of the column, the changed row and the prototype that wins it, the
        smallest change in standard deviations first.
    """
    orders = orders_of(x, kept_orders(X, preparation), model.scale)
    X = X[_spread(len(X), _MOST_COMPARED)]
    now = deciding_prototypes(model, model.activations(x[None]))[0]
    changes = []
    for place in np.flatnonzero(preparation.used_columns(model.support)):
        spec = preparation.inputs[place]
        values = np.unique(X[:, spec.features], axis=0)
        values = values[_spread(len(values), _MOST_VALUES)]
        rows = np.repeat(x[None], len(values), axis=0)
        rows[:, spec.features] = values
        winners = deciding_prototypes(model, model.activations(rows))
        sizes = np.linalg.norm((rows - x) / model.scale, axis=1)
        sizes[(winners == now) | ~in_order(rows, orders, model.scale)] = np.inf
        best = int(sizes.argmin())
        if np.isfinite(sizes[best]):
            changes.append((sizes[best], int(place), rows[best], int(winners[best])))
    return [change[1:] for change in sorted(changes, key=lambda change: change[0])]


def _spread(n: int, most: int) -> np.ndarray:
    """Evenly spread positions among n, at most so many."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def prototype_weights(model: PrototypeModel) -> np.ndarray:
    """Weight of each prototype in the scores, with its sign where there is one.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are weighed.

    Returns
    -------
    ndarray of shape (n_prototypes,)
        Of a regression its weight; of two classes its weight for the outcome minus that
        for the other; of more classes its largest weight.
    """
    if model.classes is None:
        return model.votes[:, 0]
    if model.n_outputs == 2:
        return model.votes[:, model.outcome] - model.votes[:, 1 - model.outcome]
    return model.votes.max(axis=1)


def heaviest_cases(model: PrototypeModel, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the real cases that weigh most in each prototype.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are mixes of anchors.
    most : int
        Cases of a prototype at most.

    Returns
    -------
    case : ndarray of int, shape (n_prototypes, n_cases)
        Numbers of anchors, the heaviest first; -1 where none has weight.
    share : ndarray of shape (n_prototypes, n_cases)
        Of the sum of the prototype's absolute weights; negative where the weight is.
    """
    mixing = model.mixing.T
    case = np.argsort(-np.abs(mixing), axis=1, kind="stable")[:, :most]
    weight = np.take_along_axis(mixing, case, axis=1)
    total = np.abs(mixing).sum(axis=1, keepdims=True)
    return np.where(weight != 0, case, -1), weight / np.where(total > 0, total, 1.0)


def score_leads(
    model: PrototypeModel, X: np.ndarray, y_encoded: np.ndarray
) -> np.ndarray:
    """Compute by how much the score of a class leads.

    Parameters
    ----------
    model : PrototypeModel
        Classifier whose scores are compared.
    X : ndarray of shape (n_samples, n_features), user's units
        Inputs that are scored, one per row.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each row.

    Returns
    -------
    ndarray of shape (n_samples,)
        Of two classes the score of the outcome minus that of the other; of more the
        score of the true class minus the best of the others.
    """
    scores = model.scores(X)
    if model.n_outputs == 2:
        return scores[:, model.outcome] - scores[:, 1 - model.outcome]
    rows = np.arange(len(y_encoded))
    true_scores = scores[rows, y_encoded]
    scores[rows, y_encoded] = -np.inf
    return true_scores - scores.max(axis=1)


def merged_from(estimator: Any) -> list[list[tuple[int, int]]]:
    """Find which prototypes of a fit were merged into each one of its model.

    Parameters
    ----------
    estimator : fitted estimator
        Its `merged_` and `assignment_` refer to the prototypes as solved.

    Returns
    -------
    list of list of (int, int)
        For each prototype of the model, those it was merged from: their place among
        the prototypes as solved, and how many training rows are tied to each.
    """
    merged = estimator.merged_
    rows = np.bincount(estimator.assignment_, minlength=len(merged)).tolist()
    return [
        [(int(i), rows[i]) for i in np.flatnonzero(merged == j)]
        for j in range(estimator.model_.n_prototypes)
    ]


def prototype_table(
    model: PrototypeModel, X: np.ndarray, y_encoded: np.ndarray
) -> list[dict[str, Any]]:
    """Describe every prototype in numbers.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are described.
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows of the model.
    y_encoded : ndarray of int, shape (n_samples,)
        Class number of each training row; any number for regression.

    Returns
    -------
    list of dict
        A line for each prototype; all have the same columns.
    """
    shown = portraits(model)
    measured = measures_of_prototypes(model, X, y_encoded)
    won, table = wins(model, X, y_encoded), []
    weights = model.votes[np.arange(model.n_prototypes), model.prototype_labels]
    for j, fact in enumerate(facts_of_prototypes(model, X, y_encoded)):
        line = {
            "bias": float(model.bias[j]),
            READOUTS["n_nonzeros"].column: int(np.count_nonzero(shown.values[j])),
        }
        if (weights != 1.0).any():
            line = {"weight": float(weights[j])} | line
        if model.classes is not None:
            line["training rows won"] = int(won[j].sum())
            line["won rows of its class"] = int(won[j, model.prototype_labels[j]])
        line |= {READOUTS[key].column: float(v[j]) for key, v in measured.items()}
        if np.isfinite(fact.distance):
            line["distance to nearest row"] = fact.distance
            line["median nearest-neighbour distance"] = fact.median_distance
            line["features out of range"] = len(fact.outside)
        table.append(line)
    return table


#: Rows of a picture: the plane takes time cubic in them.
MOST_ROWS = 250


def embedding(
    model: PrototypeModel, X: np.ndarray, equal_weights: bool = False
) -> np.ndarray:
    """First two principal axes of rows in the feature space of a sum of kernels.

    Parameters
    ----------
    model : PrototypeModel
        Whose similarity has a weight per feature or channel.
    X : ndarray of shape (n_samples, n_features), user's units
        At most `MOST_ROWS` are quick.
    equal_weights : bool
        Give all kernels the same weight, those too that the model left out.

    Returns
    -------
    ndarray of shape (n_samples, 2)
    """
    from sklearn.decomposition import KernelPCA

    similarity = model.similarity
    if equal_weights:
        similarity = replace(
            similarity,
            weights=(1.0 / len(similarity.weights),) * len(similarity.weights),
        )
    scaled = (X - model.center) / model.scale
    axes = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
    return axes.fit_transform(similarity.values(scaled, scaled))
