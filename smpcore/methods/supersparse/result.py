"""Prototypes of a super-sparse fit as a model."""

from __future__ import annotations

import numpy as np

from smpcore.methods.shared.base import Fitted
from smpcore.methods.shared.fusion import equal_groups
from smpcore.methods.shared.row_blocks import row_blocks
from smpcore.methods.supersparse.problem import (
    Objective,
    SuperSparseProblem,
    SuperSparseRegression,
)
from smpcore.methods.supersparse.rows import off_the_data
from smpcore.methods.supersparse.selection import chosen_columns
from smpcore.model import History, PrototypeModel
from smpcore.similarity import SIMILARITIES, Similarity


def fitted_state(
    problem: SuperSparseProblem | SuperSparseRegression,
    objective: Objective,
    start: np.ndarray,
    Z: np.ndarray,
    history: History,
    coefficients: tuple[np.ndarray, np.ndarray] | None = None,
) -> Fitted:
    """Wrap prototypes, those at the same place as one, in the user's units."""
    similarity, rows = objective.similarity, objective.rows
    B, intercept = coefficients or objective.coefficients(Z)
    same = np.zeros(len(Z), dtype=np.int64)
    by_column = similarity.kind == "precomputed"
    merged = equal_groups(Z, 1.0 if by_column else rows.spread, "euclidean", same)
    counts = np.bincount(merged)
    anchors = np.zeros((len(counts), problem.n_features))
    votes = np.zeros((len(counts), len(rows.Y)))
    np.add.at(anchors, merged, Z)
    np.add.at(votes, merged, B * rows.unit)
    intercept = intercept * rows.unit + rows.middle
    if problem.classes is not None and len(problem.classes) == 2:
        votes, intercept = votes * [-0.5, 0.5], intercept * [-0.5, 0.5]
    model = problem.model(
        anchors / counts[:, None],
        votes,
        history,
        similarity=Similarity() if by_column else similarity,
        pooling="sum",
        intercept=intercept,
        counts=counts,
        kind_of_prototype="real case" if by_column else "invented case",
    )
    off_data, measures = None, {}
    if not by_column and SIMILARITIES[similarity.kind].by_distance:
        off_data = off_the_data(problem.rows, model.anchors)
        measures["far_cases"] = (
            f"{off_data.sum()} of {model.n_prototypes}",
            "invented cases farther from every training row than 95 % of training "
            "rows are from their nearest neighbour",
        )
    if isinstance(problem.X, np.ndarray):
        assignment, scores = similarity.values(problem.X, Z).argmax(axis=1), None
    else:
        assignment, scores = _answers(problem, model, Z)
    return Fitted(
        model,
        state=None,
        assignment=assignment,
        n_asked=len(Z),
        merged=merged,
        anchor_rows=chosen_columns(model.anchors) % len(problem.X)
        if by_column
        else None,
        start=start,
        off_data=off_data,
        measures=measures,
        scores=scores,
    )


def _answers(
    problem: SuperSparseProblem | SuperSparseRegression,
    model: PrototypeModel,
    Z: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Prototype that each row is most like, and each block's largest absolute score."""
    nearest, largest = [], []
    for _, block in row_blocks(problem.X):
        nearest.append(model.similarity.values(block, Z).argmax(axis=1))
        scores = model.scores(block * problem.scale + problem.center)
        largest.append(np.abs(scores).max())
    return np.concatenate(nearest), np.array(largest)
