"""The prototypes of a model in numbers, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.explain.prototype_facts import (
    facts_of_prototypes,
    measures_of_prototypes,
    wins,
)
from smpcore.model import PrototypeModel, portraits
from smpcore.readouts import READOUTS


def prototype_weights(model: PrototypeModel) -> np.ndarray:
    """Weight of each prototype in the scores, with its sign where there is one.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are weighed.

    Returns
    -------
    ndarray of shape (n_prototypes,)
        Of a regression its weight; of two classes its weight for the second minus that
        for the first; of more classes its largest weight.
    """
    if model.classes is None:
        return model.votes[:, 0]
    if model.n_outputs == 2:
        return model.votes[:, 1] - model.votes[:, 0]
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
        Of the prototype's total weight.
    """
    mixing = model.mixing.T
    case = np.argsort(-mixing, axis=1, kind="stable")[:, :most]
    weight = np.take_along_axis(mixing, case, axis=1)
    total = np.maximum(mixing.sum(axis=1, keepdims=True), 1e-300)
    return np.where(weight > 0, case, -1), weight / total


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
        Of two classes the score of the second minus that of the first; of more the
        score of the true class minus the best of the others.
    """
    scores = model.scores(X)
    if model.n_outputs == 2:
        return scores[:, 1] - scores[:, 0]
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
            line["median distance between rows"] = fact.median_distance
            line["features out of range"] = len(fact.outside)
        table.append(line)
    return table
