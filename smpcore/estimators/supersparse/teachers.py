"""Teachers: models on all rows whose decisions the few prototypes imitate."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from smpcore.estimators.supersparse.problem import (
    SuperSparseProblem,
    SuperSparseRegression,
)
from smpcore.estimators.supersparse.rows import Rows, standard_rows
from smpcore.similarity import Similarity

#: Rows that a teacher learns from; of more rows every so-many-th is taken.
MOST_ROWS = 2000

#: Teachers kept for a problem, as long as it lives.
MOST_KEPT = 8
_teachers: WeakKeyDictionary[Any, dict[Any, Rows]] = WeakKeyDictionary()


def teacher_targets(
    problem: SuperSparseProblem | SuperSparseRegression,
    similarity: Similarity,
    target: str,
) -> Rows:
    """Rows with a teacher's decisions in the place of labels or numbers.

    Parameters
    ----------
    problem : SuperSparseProblem or SuperSparseRegression
    similarity : Similarity
        The teacher's similarity, the student's too.
    target : {"labels", "teacher", "ridge", "lasso"}

    Returns
    -------
    Rows
    """
    if target == "labels":
        return problem.rows
    key, teachers = (target, similarity), _teachers.setdefault(problem, {})
    targets = teachers.get(key)
    if targets is None:
        rows = problem.rows
        decisions = (
            _svm(rows, problem.mass, similarity)
            if target == "teacher"
            else _linear(rows, problem.mass, similarity, target)
        )
        targets = standard_rows(rows.cases, decisions, rows.weights, similarity.kind)
        for old in list(teachers)[: 1 - MOST_KEPT]:
            teachers.pop(old, None)
        teachers[key] = targets
    return targets


def _subsample(rows: Rows) -> np.ndarray:
    """Rows that the teacher learns from."""
    return np.arange(len(rows.cases))[:: -(-len(rows.cases) // MOST_ROWS)]


def _targets(rows: Rows) -> np.ndarray:
    """Labels -1 and 1, or numbers, as they were: (n_outputs, n_samples)."""
    return rows.Y * rows.unit + rows.middle[:, None]


def _svm(rows: Rows, mass: float, similarity: Similarity) -> np.ndarray:
    """Decisions of SVMs, one against the rest from three classes on."""
    from sklearn.svm import SVC

    learned = _subsample(rows)
    if similarity.kind == "rbf":
        model, inputs = SVC(kernel="rbf", gamma=similarity.gamma), rows.cases
    else:
        model = SVC(kernel="precomputed")
        inputs = similarity.values(rows.cases, rows.cases[learned])
    decisions = [
        model.fit(
            inputs[learned], labels > 0, rows.weights[learned] * mass
        ).decision_function(inputs)
        for labels in _targets(rows)[:, learned]
    ]
    return np.column_stack(decisions)


def _linear(rows: Rows, mass: float, similarity: Similarity, target: str) -> np.ndarray:
    """Predictions of ridge or LASSO on the similarities to all rows."""
    from sklearn.linear_model import LassoCV, RidgeCV

    learned = _subsample(rows)
    S = similarity.values(rows.cases, rows.cases[learned])
    if target == "ridge":
        model = RidgeCV(alphas=np.logspace(-4, 2, 13))
    else:
        model = LassoCV(alphas=10, eps=1e-2, cv=3, tol=1e-2, max_iter=5000)
    weights = rows.weights[learned] * mass
    model.fit(S[learned], _targets(rows)[0, learned], sample_weight=weights)
    return model.predict(S)[:, None]
