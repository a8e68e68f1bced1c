"""Prototypes beside real rows: the nearest ones, the ones they win, and oddities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from smpcore.explain.contributions import deciding_prototypes
from smpcore.methods.imkpl.fit import discrimination, interpretability
from smpcore.model import PrototypeModel
from smpcore.model.portraits import holds_cases

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
        case = model.mixing.argmax(axis=0)
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
