"""Super-sparse learning in similarity spaces as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.allowed_values import Number, OneOf, weigh_classes
from smpcore.methods.shared.classifier import PrototypeClassifier
from smpcore.methods.shared.regressor import PrototypeRegressor
from smpcore.methods.supersparse.base import SuperSparseEstimator
from smpcore.methods.supersparse.problem import (
    SQUARED,
    SuperSparseProblem,
    SuperSparseRegression,
)
from smpcore.methods.supersparse.teachers import Teacher


@dataclass(eq=False, repr=False)
class SuperSparseClassifier(SuperSparseEstimator, PrototypeClassifier):
    r"""Classifier with a few virtual prototypes (super-sparse learning).

    A score is a weighted sum of similarities to prototypes that no one has ever seen:
    they are placed, by gradients, where they help most. Prototypes Z and coefficients
    minimise

    .. math:: \sum_i u_i \|B^\top s(x_i, Z) + b - y_i\|^2 + \lambda\|B\|_F^2 .


    Parameters
    ----------
    n_prototypes : int or None, default=None
        Prototypes of all classes together. None: 5 for two classes, else 2 for each.
    lam : float, default=1e-4
        Ridge on the coefficients, in units of the targets' variance. Larger gives
        smaller coefficients, and prototypes that fall together.
    similarity : str or callable, default="rbf"
        "rbf", "laplacian", "linear", "poly", "cosine", "ncc", "intersection",
        "strings" (rows made by `encode_strings`), "precomputed" (X holds the
        similarities to the training rows, ``(n, n * n_matrices)`` to fit: prototypes
        are some of these rows), or a symmetric function
        ``(X, Z) -> (n_samples, n_prototypes)`` of rows in your units.
    gamma : float or None, default=None
        Factor of RBF, Laplacian, polynomial and strings; None: as wide as the data.
        Larger makes a prototype more local.
    degree : int, default=3
        Degree of the polynomial.
    coef0 : float, default=1.0
        Constant of the polynomial; larger gives lower degrees more weight.
    target : {"labels", "teacher"} or estimator, default="labels"
        What is imitated: the labels, or the decisions of an SVM on all rows. Or an
        estimator of your own: a copy of it learns from the rows in your units, and its
        `decision_function`, or else `predict_proba`, is imitated.
    box : (low, high), default=None
        Where prototypes may be, in your units: numbers, or arrays of shape
        (n_features,).
    start : {"auto", "kmeans", "greedy", "random"}, default="auto"
        Cluster centres of rows and targets, rows chosen greedily, rows drawn at random
        as in the paper, or for small data the best of several starts.
    tol : float, default=1e-5
        Stop after three steps that each lower the objective by less, relatively.
    max_iter : int, default=200
        Most steps of the solver; a fit that reaches it warns.
    random_state : int, RandomState or None, default=0
        Seed of the starts; with an integer, fits are repeatable.
    standardize : bool, default=True
        Whether features are scaled to mean 0 and standard deviation 1, for RBF,
        Laplacian, linear and polynomial; other similarities take rows as they come.
    class_weight : None, "balanced" or dict, default=None
        Factor on the weights of each class's rows. None: rows count alike;
        "balanced": classes count alike, so that rare ones are predicted more often.
    record : int, default=0
        Keep every `record`-th step and the last, for ``history_.step``; rarer ones if
        there are more than 200.
    warm_start : bool, default=False
        Start a fit from the last one, if rows and starts allow it: for a sequence of
        penalties. The result agrees with a cold fit's to `tol` where the problem is
        convex.
    removal : {"rise", "coefficient"}, default="rise"
        What a warm start with fewer prototypes leaves out: those without which the
        objective rises least, or the smallest coefficients, as in the paper.
    teacher_C : float, default=1.0
        C of the SVM that is imitated; larger makes fewer errors on training rows.

    Attributes
    ----------
    model_ : PrototypeModel
        Prototypes with their votes; those at the same place are one.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted; the order of scores and probabilities.
    n_features_in_ : int
        Features that `fit` saw.
    objective_ : float
        In standard units: the variance of the targets is 1.
    gap_ : float
        NaN: the problem is not convex, no bound is known.
    n_asked_ : int
        Prototypes asked for, at most the distinct rows.
    n_iter_ : int
        Iterations of the solver; of rows read in blocks, those on all of them.
    history_ : History
        Objective and gap by iteration, and how the fit ended.
    gamma_ : float
        Value that was used; what the data suggest if `gamma` is None.
    start_ : ndarray of shape (n_asked_, n_features)
        Where the prototypes started, scaled units.
    dual_coef_ : ndarray of shape (n_asked_, n_outputs)
        Coefficients of the prototypes as solved, in standard units.
    merged_ : ndarray of int, shape (n_asked_,)
        Prototype of `model_` that each solved one became.
    off_data_ : ndarray of bool, shape (n_prototypes,), or None
        Whether a prototype of `model_` is farther from every training row than 95 % of
        these are from their nearest other one; None where the similarity knows no
        distances.
    assignment_ : ndarray of int, shape (n_samples,)
        Prototype that each training row is most like.
    state_ : SuperSparseState
        Start for the next `solve`, also of another number of prototypes.

    See Also
    --------
    fit_smallest : Chooses `n_prototypes` on rows kept apart.
    prune_path : Fits of fewer and fewer prototypes, each from the one before.
    removal_costs : What each prototype is worth.
    encode_strings : Makes rows for ``similarity="strings"``.

    References
    ----------
    Demontis, Melis, Biggio, Fumera, Roli: Super-sparse learning in similarity spaces.
    IEEE Computational Intelligence Magazine 11(4), 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> few = SuperSparseClassifier(20, standardize=False).fit(X[:1000], y[:1000])
    >>> few.model_.n_prototypes, few.score(X[1000:], y[1000:]) > 0.94
    (20, True)
    """

    problem_params: ClassVar[tuple[str, ...]] = (
        "similarity",
        "standardize",
        "class_weight",
    )
    targets: ClassVar[tuple[str, ...]] = ("labels", "teacher")
    problem_class: ClassVar[type] = SuperSparseProblem

    class_weight: Any = None

    def _targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        """Checked rows, entries, a target of each class, and the class of each row."""
        X, entries = self._labelled_rows(self._dense(X), y, sample_weight)
        n_classes = len(entries["classes"])
        hot = np.eye(n_classes)[:, 1:] if n_classes == 2 else np.eye(n_classes)
        return X, entries, 2.0 * hot - 1.0, entries["y_encoded"]

    def _weighed(
        self, weights: np.ndarray, entries: dict[str, Any], places: np.ndarray
    ) -> np.ndarray:
        """Weights of rows times those of their classes."""
        return weigh_classes(weights, self.class_weight, entries["classes"], places)

    def _n_asked(self, problem: SuperSparseProblem) -> int:
        """Prototypes asked for."""
        if self.n_prototypes is not None:
            return int(self.n_prototypes)
        n_classes = len(problem.classes)
        return 5 if n_classes == 2 else 2 * n_classes


@dataclass(eq=False, repr=False)
class SuperSparseRegressor(SuperSparseEstimator, PrototypeRegressor):
    r"""Regressor with a few virtual prototypes (super-sparse learning).

    The prediction is a weighted sum of similarities to a few invented cases.

    Parameters
    ----------
    n_prototypes : int or None, default=None
        Cases of the model; None: 10. More fit closer and cost more to store.
    target : {"labels", "ridge", "lasso", "svr"} or estimator, default="labels"
        What is imitated: the given numbers, or the predictions of a ridge or LASSO
        regression on the similarities to all rows, or of SVM regression. Or an
        estimator of your own: a copy of it learns from the rows in your units.
    lam, similarity, gamma, degree, coef0, box, start, tol, max_iter, random_state, \
            standardize, record, warm_start, removal
        As of `SuperSparseClassifier`.
    loss : {"squared", "epsilon-insensitive"}, default="squared"
        Errors are squared; or errors up to `epsilon` are free and larger ones count by
        their size, so that few wrong targets matter less. Its kink is rounded over a
        tenth of the targets' standard deviation. Not with "strings".
    epsilon : float, default=0.1
        Free errors of that loss and of the SVM that is imitated, in standard
        deviations of the targets.
    teacher_C : float, default=1.0
        C of the SVM that is imitated; larger makes fewer errors on training rows.
    teacher_alpha : float or None, default=None
        Penalty of the ridge or LASSO that is imitated, with targets of variance 1;
        None: chosen by folds.

    Attributes
    ----------
    model_, n_features_in_, objective_, gap_, n_asked_, n_iter_, history_, gamma_, \
            start_, dual_coef_, merged_, off_data_, assignment_, state_
        As of `SuperSparseClassifier`.

    References
    ----------
    Demontis, Melis, Biggio, Fumera, Roli: Super-sparse learning in similarity spaces.
    IEEE Computational Intelligence Magazine 11(4), 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> few = SuperSparseRegressor(4, lam=1e-3).fit(X, y)
    >>> few.model_.n_prototypes, few.score(X, y) > 0.45
    (4, True)
    """

    problem_params: ClassVar[tuple[str, ...]] = ("similarity", "standardize")
    targets: ClassVar[tuple[str, ...]] = ("labels", "ridge", "lasso", "svr")
    problem_class: ClassVar[type] = SuperSparseRegression
    allowed: ClassVar[Mapping[str, Number | OneOf]] = {
        **SuperSparseEstimator.allowed,
        "loss": OneOf(("squared", "epsilon-insensitive")),
        "epsilon": Number(0.0, 1e12),
        "teacher_alpha": Number(0.0, 1e12, above=True, optional=True),
    }

    loss: str = "squared"
    epsilon: float = 0.1
    teacher_alpha: float | None = None

    def resolve_defaults(self, problem: SuperSparseRegression) -> dict[str, float]:
        """Values that None stands for, for these rows.

        Parameters
        ----------
        problem : SuperSparseRegression
            Training rows, made by `problem`.

        Returns
        -------
        dict
            Name -> value.
        """
        defaults = super().resolve_defaults(problem)
        if isinstance(self.target, str) and self.target in ("ridge", "lasso"):
            similarity = self._similarity(problem.rows)
            alpha = self._teacher().penalty(problem, similarity)
            defaults["teacher_alpha"] = alpha
        return defaults

    def _teacher(self) -> Teacher:
        """Whose decisions are imitated."""
        options = self.teacher_alpha, float(self.epsilon)
        return Teacher(self.target, float(self.teacher_C), *options)

    def _free_errors(self) -> float:
        """Errors that cost nothing, or SQUARED."""
        return SQUARED if self.loss == "squared" else float(self.epsilon)

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range, or do not go together."""
        super()._check_parameters()
        if self.loss != "squared" and self._kind in ("strings", "precomputed"):
            raise SmpcoreError(
                f"loss={self.loss!r} cannot be combined with similarity="
                f"{self._kind!r}; use loss='squared'."
            )

    def _targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        """Checked rows, entries, distinct targets, and which each row has."""
        X, entries = self._numbered_rows(self._dense(X), y, sample_weight)
        values, places = np.unique(entries["y"], return_inverse=True)
        return X, entries, values[:, None], places

    def _n_asked(self, problem: SuperSparseRegression) -> int:
        """Prototypes asked for."""
        return 10 if self.n_prototypes is None else int(self.n_prototypes)
