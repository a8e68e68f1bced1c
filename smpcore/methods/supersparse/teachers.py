"""Teachers: models on all rows whose decisions the few prototypes imitate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from smpcore.errors import SmpcoreError, caution
from smpcore.methods.shared.inner_folds import inner_folds
from smpcore.methods.supersparse.problem import AnyProblem, Rows, standard_rows
from smpcore.similarity import Similarity

#: Rows that a teacher learns from; of more rows every so-many-th is taken.
MOST_ROWS = 2000

#: Penalties where rows have too few groups or times for folds that could choose them.
WITHOUT_FOLDS = {"ridge": 1.0, "lasso": 0.01}

#: Teachers kept for a problem, as long as it lives.
MOST_KEPT = 8
_teachers: WeakKeyDictionary[Any, dict[Any, tuple[Rows, float]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Teacher:
    """Whose decisions are imitated."""

    #: {"labels", "teacher", "svr", "ridge", "lasso"}: No teacher, an SVM, SVM
    #: regression, a regression on the similarities to all rows; or an estimator of the
    #: caller's, which learns from rows in their units
    kind: Any = "labels"
    C: float = 1.0  # Weight of the errors in the SVMs
    #: Penalty of ridge and LASSO, targets in standard units; None: by folds
    alpha: float | None = None
    epsilon: float = 0.1  # Errors that SVM regression ignores, in standard units

    def targets(self, problem: AnyProblem, similarity: Similarity) -> Rows:
        """Rows with the teacher's decisions in the place of labels or numbers."""
        if isinstance(self.kind, str) and self.kind == "labels":
            return problem.rows
        return self._taught(problem, similarity)[0]

    def penalty(self, problem: AnyProblem, similarity: Similarity) -> float:
        """The penalty of a ridge or LASSO, chosen by folds where none is set."""
        return self._taught(problem, similarity)[1]

    def _taught(
        self, problem: AnyProblem, similarity: Similarity
    ) -> tuple[Rows, float]:
        """The rows with the decisions, and the teacher's penalty; kept."""
        named = isinstance(self.kind, str)
        kind = self.kind if named else joblib.hash(self.kind)
        key = (kind, self.C, self.alpha, self.epsilon, similarity)
        taught = _teachers.setdefault(problem, {})
        if key not in taught:
            rows, alpha = problem.rows, float("nan")
            if not named:
                decisions = _own(problem, self.kind)
            elif self.kind in ("ridge", "lasso"):
                decisions, alpha = _linear(problem, similarity, self)
            else:
                decisions = _svm(problem, similarity, self)
            targets = standard_rows(
                rows.cases, decisions, rows.weights, similarity.kind
            )
            for old in list(taught)[: 1 - MOST_KEPT]:
                taught.pop(old, None)
            taught[key] = targets, alpha
        return taught[key]


def _subsample(problem: AnyProblem) -> np.ndarray:
    """Rows that the teacher learns from: of each class one at least."""
    Y = problem.rows.Y
    chosen = np.arange(Y.shape[1])[:: -(-Y.shape[1] // MOST_ROWS)]
    if problem.classes is None:
        return chosen
    return np.union1d(chosen, [*Y.argmax(axis=1), *Y.argmin(axis=1)])


def _targets(rows: Rows) -> np.ndarray:
    """Labels -1 and 1, or numbers, as they were: (n_outputs, n_samples)."""
    return rows.Y * rows.unit + rows.middle[:, None]


def _svm(problem: AnyProblem, similarity: Similarity, teacher: Teacher) -> np.ndarray:
    """Decisions of SVMs, one against the rest from three classes on."""
    from sklearn.svm import SVC, SVR

    rows = problem.rows
    learned = _subsample(problem)
    settings = {"kernel": "precomputed", "C": teacher.C}
    if similarity.kind == "rbf":
        inputs, settings = rows.cases, {"gamma": similarity.gamma, "C": teacher.C}
    else:
        inputs = similarity.values(rows.cases, rows.cases[learned])
    weights = rows.weights[learned] * problem.mass
    if problem.classes is None:
        model = SVR(epsilon=teacher.epsilon, **settings)
        model.fit(inputs[learned], rows.Y[0, learned], weights)
        return _in_their_units(model.predict(inputs), rows)
    model = SVC(**settings)
    decisions = [
        model.fit(inputs[learned], labels > 0, weights).decision_function(inputs)
        for labels in _targets(rows)[:, learned]
    ]
    return np.column_stack(decisions)


def _linear(
    problem: AnyProblem, similarity: Similarity, teacher: Teacher
) -> tuple[np.ndarray, float]:
    """Predictions of ridge or LASSO on the similarities to all rows; the penalty."""
    from sklearn.linear_model import Lasso, LassoCV, Ridge, RidgeCV

    rows, alpha = problem.rows, teacher.alpha
    learned = _subsample(problem)
    S = similarity.values(rows.cases, rows.cases[learned])
    is_ridge = teacher.kind == "ridge"
    folds: Any = None if is_ridge else 3  # one row at a time; three folds
    if not (problem.groups is None and problem.times is None):
        parted = (of if of is None else of[learned] for of in problem.parted)
        folds = inner_folds(5 if is_ridge else 3, None, *parted)
        if alpha is None and not folds:
            alpha = WITHOUT_FOLDS[teacher.kind]
            caution(
                f"target={teacher.kind!r} has too few groups or times for folds that "
                f"could choose teacher_alpha; it is {alpha:g}. Set it yourself."
            )
    if is_ridge:
        chosen = RidgeCV(alphas=np.logspace(-4, 2, 13), cv=folds)
        model = chosen if alpha is None else Ridge(alpha)
    else:
        close = {"tol": 1e-2, "max_iter": 5000}
        chosen = LassoCV(alphas=10, eps=1e-2, cv=folds, **close)
        model = chosen if alpha is None else Lasso(alpha, **close)
    weights = rows.weights[learned] * problem.mass
    model.fit(S[learned], rows.Y[0, learned], sample_weight=weights)
    alpha = model.alpha_ if alpha is None else alpha
    return _in_their_units(model.predict(S), rows), float(alpha)


def _in_their_units(values: np.ndarray, rows: Rows) -> np.ndarray:
    return (values * rows.unit + rows.middle[0])[:, None]


def _own(problem: AnyProblem, estimator: Any) -> np.ndarray:
    """Decisions of the caller's estimator, a fresh copy of it."""
    rows = problem.rows
    X = rows.cases * problem.scale + problem.center
    y = _targets(rows)
    model, weights = clone(estimator), {}
    if has_fit_parameter(model, "sample_weight"):
        weights = {"sample_weight": rows.weights * problem.mass}
    for name, of_rows in zip(("groups", "times"), problem.parted, strict=True):
        if of_rows is not None and has_fit_parameter(model, name):
            weights[name] = of_rows
    if problem.classes is None:
        decisions = model.fit(X, y[0], **weights).predict(X)
    else:
        codes = y[0] > 0 if len(y) == 1 else y.argmax(axis=0)
        model.fit(X, problem.classes[codes.astype(int)], **weights)
        if hasattr(model, "decision_function"):
            decisions = model.decision_function(X)
        else:
            chances = model.predict_proba(X)
            decisions = 2.0 * (chances[:, 1] if len(y) == 1 else chances) - 1.0
    decisions = np.asarray(decisions, dtype=np.float64).reshape(len(X), -1)
    if decisions.shape[1] != len(y) or not np.isfinite(decisions).all():
        raise SmpcoreError(
            f"target={estimator!r} gave values of shape {decisions.shape} and should "
            f"give finite ones of shape ({len(X)}, {len(y)}); wrap it so that it does."
        )
    return decisions
