"""The contract of all prototype estimators, and what they share.

A fit has two steps, so that a dragged slider pays only for the second: `problem`
validates and scales the rows and finds the start; `solve` calls the solver.
"""

from __future__ import annotations

import copy
import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_is_fitted

from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.errors import SmpcoreError, checked, require_finite, warn
from smpcore.methods.shared import allowed_values, scaling
from smpcore.methods.shared.dask_rows import dask_entries, is_dask
from smpcore.methods.shared.inner_folds import metadata_arrays
from smpcore.methods.shared.problem import Fitted, Problem, SolverOptions, with_tie
from smpcore.methods.shared.row_blocks import map_blocks, row_blocks
from smpcore.model import PrototypeModel, Step
from smpcore.solvers.iterations import DIVERGED, ITERATION_LIMIT


def feature_entries(estimator: Any, X: np.ndarray, weights: np.ndarray) -> dict:
    """Entries of a problem that say what its features are."""
    names = getattr(estimator, "feature_names_in_", None)
    low, high = _ranges(X, weights > 0, names)
    if names is None:
        names = [f"x{r}" for r in range(X.shape[1])]
    return {
        "low": low,
        "high": high,
        "feature_names": tuple(map(str, names)),
        "named": hasattr(estimator, "feature_names_in_"),
    }


def _ranges(
    X: Any, counted: np.ndarray, names: Sequence[Any] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each column in the rows that count."""
    if scaling.is_large(X):

        def extremes(part: slice, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            block = require_finite(block, names, part.start)[counted[part]]
            low = block.min(axis=0, initial=np.inf)
            return low, block.max(axis=0, initial=-np.inf)

        lows, highs = zip(*map_blocks(extremes, X), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)
    rows = X if counted.all() else X[counted]
    if issparse(rows):
        return min_max_axis(rows, axis=0)
    return rows.min(axis=0), rows.max(axis=0)


class FeatureImportances:
    """Mixin: what scikit-learn's tools that choose features ask an estimator for."""

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much the model makes of each feature, shape (n_features,); 0: nothing."""
        check_is_fitted(self)
        model = self.model_
        if model.similarity.kind == "strings":
            raise AttributeError("The places of a string have no importances.")
        if model.is_linear and model.kind_of_prototype == "direction":
            return np.abs(model.weights).max(axis=0)
        if model.similarity.weights:
            beta = np.array(model.similarity.weights)
            return np.repeat(beta, model.n_features // len(beta))
        cases = model.anchors * model.scale + model.center
        importances = np.zeros(model.n_features)
        for feature in np.flatnonzero(model.support):
            low, high = cases.copy(), cases.copy()
            low[:, feature], high[:, feature] = model.low[feature], model.high[feature]
            moved = np.abs(model.scores(high) - model.scores(low))
            importances[feature] = moved.mean()
        return importances


#: Why a fit to such rows is refused.
TOO_LARGE = (
    "X holds values so large that the objective is not finite; use standardize=True or "
    "divide such columns by a power of ten."
)

#: Parameters that every estimator has.
COMMON_PARAMETERS = {
    "tol": allowed_values.Number(0.0, 1.0, above=True),
    "max_iter": allowed_values.Number(1, 10**7, integer=True),
    "record": allowed_values.Number(0, integer=True),
    "random_state": allowed_values.Seed(),
    "standardize": allowed_values.FLAG,
    "warm_start": allowed_values.FLAG,
}


@functools.cache
def _defaults(estimator: type) -> dict[str, Any]:
    """What the constructor of an estimator sets where nothing is given."""
    signature = inspect.signature(estimator).parameters
    return {name: parameter.default for name, parameter in signature.items()}


class PrototypeEstimator(
    FeatureImportances, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Contract of all families: what the registry, sweeps and pages call and read.

    A family defines the class attributes without a value here, `_problem`, `_solve`
    and `bounds`; everything else follows.

    Parameters
    ----------
    tol : float
        Stop when the objective is certified to be this close to the optimum,
        relatively.
    max_iter : int
        Most steps of the solver; a fit that reaches it warns.
    random_state : int, RandomState or None
        Seed of all that is drawn; with an integer, fits are repeatable.
    standardize : bool
        Whether features are scaled to mean 0 and standard deviation 1 before the fit.
        Sparse features keep their zeros: they are scaled, but not centred. Rows of
        more than 1 GiB are scaled as they are read, without a copy, by methods that
        read blocks.
    class_weight : None, "balanced" or dict
        Factor on the weights of each class's rows. None: rows count alike;
        "balanced": classes count alike, so that rare ones are predicted more often.
    record : int
        Keep every `record`-th step and the last, for ``history_.step``; rarer ones if
        there are more than 200.
    warm_start : bool
        Start a fit from the last one, if rows and starts allow it: for a sequence of
        penalties. The result agrees with a cold fit's to `tol` where the problem is
        convex.

    Attributes
    ----------
    model_ : PrototypeModel
    classes_ : ndarray of shape (n_classes,)
        Of a classifier: labels, sorted; the order of scores and probabilities.
    objective_, gap_ : float
        Last objective, and how much lower the optimum may be; the gap is NaN where no
        bound is known.
    n_iter_, n_features_in_ : int
    history_ : History
    state_, assignment_, n_asked_, merged_, wins_, anchor_rows_, start_, off_data_, \
            automatic_, measures_, starts_
        The fields of `Fitted`; `merged_` is never None.
    """

    #: Parameters that `problem` depends on, besides the data: a problem can be solved
    #: again, and its cache is valid, while they stay.
    problem_params: ClassVar[tuple[str, ...]]
    #: Name of a parameter -> what it may be.
    allowed: ClassVar[Mapping[str, allowed_values.Number | allowed_values.OneOf]]
    #: Class of `state_`; its method `fits(problem)` says whether a state can start a
    #: fit of that problem.
    state_class: ClassVar[type]
    #: What `gap_` is the distance to; completes "at most 2 % from ...".
    certificate: ClassVar[str] = "no model"
    #: Why the model has fewer prototypes than `n_asked_`.
    removal_reason: ClassVar[str] = "merged"
    #: Whether X may be a sparse matrix, with these parameters.
    takes_sparse: bool = False
    #: Whether rows of more than 1 GiB, in memory, memory-mapped or in a Parquet file,
    #: are read in blocks, with these parameters.
    reads_blocks: bool = False

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Learn from training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; every value is finite.
        y : array-like of shape (n_samples,)
            Class of each row, or the number to predict.
        sample_weight : array-like of shape (n_samples,), optional
            A whole weight counts as that many equal rows; None: all count alike.
        groups : array-like of shape (n_samples,), optional
            Rows of a group stay together where a parameter is chosen on folds.
        times : array-like of shape (n_samples,), optional
            Times, in any unit that sorts: such a fold is later than the rows that it
            is predicted from.

        Returns
        -------
        self
        """
        state = getattr(self, "state_", None) if self.warm_start else None
        return self.solve(self.problem(X, y, sample_weight, groups, times), state)

    def problem(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        times: Any = None,
    ) -> Problem:
        """Validate and scale training rows, as those of `fit`, and find the start.

        What is returned depends on them and on `problem_params` only.
        """
        self._check_parameters()
        problem = self._problem(X, y, sample_weight)
        if groups is None and times is None:
            return problem
        return replace(problem, **metadata_arrays(len(y), groups=groups, times=times))

    def solve(
        self,
        problem: Problem,
        state: Any = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem of this family with the same `problem_params`.

        It starts from the `state` of another fit, if that fits; it stops within a step
        after ``stop[0]`` becomes non-zero, and ``progress[0]`` rises from 0 to 1.
        """
        self._check_parameters()
        if not (isinstance(state, self.state_class) and state.fits(problem)):
            state = None
        signals = {"stop": stop, "progress": progress}
        options = SolverOptions(
            self.tol,
            self.max_iter,
            self.record,
            **{name: flag for name, flag in signals.items() if flag is not None},
        )
        self._set_fitted_attributes(problem, self._solve(problem, state, options))
        return self

    def at_step(self, step: Step) -> Self:
        """Copy the estimator as it stood at a state of ``history_.state``.

        What a family measures beyond the fields of `Fitted` is that of the whole fit.
        """
        check_is_fitted(self)
        earlier = copy.copy(self)
        earlier._take(step.fitted)
        return earlier

    def transform(self, X: Any) -> np.ndarray:
        """Activation of each prototype: its similarity to a row, or its sparse code.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the features that `fit` saw, in user's units.

        Returns
        -------
        ndarray of shape (n_samples, n_prototypes)
        """
        return self._finite_answers(PrototypeModel.activations, X, "compared")

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`; scikit-learn names them by the class."""
        return self.model_.n_prototypes

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may give to `fit`."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags

    @abstractmethod
    def bounds(self, problem: Problem) -> dict[str, tuple[float, float]]:
        """Name -> (low, high) of parameters whose useful range depends on the rows."""

    @abstractmethod
    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """As `problem`; the parameters are checked."""

    @abstractmethod
    def _solve(self, problem: Problem, state: Any, options: SolverOptions) -> Fitted:
        """Solve a problem; parameters are checked, and the state fits or is None.

        With ``options.record`` the model's history has the recorded states, and builds
        their models as it builds the last one.
        """

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        known = _defaults(type(self))
        for name, values in (self.allowed | COMMON_PARAMETERS).items():
            value = getattr(self, name)
            if value is not known[name]:  # a drag changes one of them
                values.check(name, value)

    def _report(self, status: int, shortfall: Callable[[], str]) -> None:
        """Refuse a diverged fit; warn of one that ended before it converged."""
        if status == DIVERGED:
            raise SmpcoreError(TOO_LARGE)
        if status == ITERATION_LIMIT:
            warn(shortfall(), ConvergenceWarning)

    def _unfinished(self, gap: float, objective: float, name: str = "objective") -> str:
        """How far a fit that reached `max_iter` is from `tol`, in words."""
        return (
            f"max_iter={self.max_iter} was reached with the {name} certified to "
            f"{gap / objective:.1e}, not to tol={self.tol:g}; raise max_iter or tol."
        )

    def _set_fitted_attributes(self, problem: Problem, fitted: Fitted) -> None:
        """Set the attributes of the contract."""
        self._take(fitted)
        self.n_features_in_ = problem.n_features
        if problem.named:
            self.feature_names_in_ = np.array(problem.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _take(self, fitted: Fitted) -> None:
        """Set the attributes that a state of the solver has."""
        history = fitted.model.history
        for entry in fields(fitted):
            if entry.name != "scores":
                setattr(self, f"{entry.name}_", getattr(fitted, entry.name))
        self.history_ = history
        self.n_iter_ = history.n_iter
        self.objective_ = float(history.objective[-1])
        self.gap_ = float(history.gap[-1])
        if fitted.merged is None:
            self.merged_ = np.arange(fitted.model.n_prototypes)

    def _finite_answers(
        self,
        answer: Callable[[PrototypeModel, np.ndarray], np.ndarray],
        X: Any,
        participle: str,
    ) -> np.ndarray:
        """What the model answers to rows; if it is not finite, they are refused."""
        check_is_fitted(self)

        def finite(rows: Any) -> np.ndarray:
            rows = scaling.validated(self, rows, reset=False)
            with np.errstate(over="ignore", invalid="ignore"):
                answers = answer(self.model_, rows)
            if not np.isfinite(answers).all():
                raise SmpcoreError(
                    f"X holds values as large as {abs(rows).max():.3g}, too large to "
                    f"be {participle}; leave such rows out."
                )
            return answers

        if not scaling.is_large(X):
            return finite(X)
        in_file = isinstance(X, ParquetRows)
        blocks = (X.frame(p) if in_file else block for p, block in row_blocks(X))
        return np.concatenate([finite(block) for block in blocks])


class PrototypeClassifier(ClassifierMixin, PrototypeEstimator):
    """Base of the classifiers: labels in, a `PrototypeModel` inside, labels out."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each class; of two, second minus first minus the model's `tie`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        scores = self._finite_answers(PrototypeModel.scores, X, "scored")
        two = scores.shape[1] == 2
        return scores[:, 1] - (scores[:, 0] + self.model_.tie) if two else scores

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row: the lowest class within `tie` of the highest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        y_encoded = scores > 0 if scores.ndim == 1 else self.model_.decide(scores)
        return self.classes_[np.asarray(y_encoded, dtype=np.int64)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Softmax of the scores: in the order of the classes, but not calibrated.

        The scores are margins, which no family fits to probabilities. For these put
        the estimator into scikit-learn's ``CalibratedClassifierCV``, or give its
        `model_` what `smpcore.evaluation.calibrate` learns on out-of-fold scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; the columns are in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return expit(np.column_stack([-scores, scores]))
        return softmax(scores, axis=1)

    def _labelled_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Checked rows, not scaled, and entries of a problem without class weights."""
        X, y = scaling.validated(self, X, y, order="C")
        if issparse(X):
            X = scaling.canonical_rows(X)
        classes, y_encoded = allowed_values.encode_classes(y)
        checked(check_classification_targets, y)
        allowed_values.require_two(classes, f" in {len(y)} rows")
        weights = allowed_values.sample_weights(sample_weight, len(y))
        allowed_values.require_weight(
            classes, np.bincount(y_encoded, weights, len(classes))
        )
        return X, {
            "y_encoded": y_encoded.astype(np.int64),
            "weights": weights,
            "classes": classes,
            **feature_entries(self, X, weights),
        }

    def _scaled_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        bias: bool,
        distances: bool = False,
    ) -> dict[str, Any]:
        """Entries of a problem of these rows; `distances` is that of `scaled_copy`."""
        if self.reads_blocks and is_dask(X):
            return dask_entries(self, X, y, sample_weight, bias)
        X, entries = self._labelled_rows(X, y, sample_weight)
        weights, y_encoded = entries["weights"], entries["y_encoded"]
        rows = X, weights, self.standardize, bias
        if issparse(X):
            scaled, center, scale = scaling.scaled_sparse_copy(*rows)
        elif self.reads_blocks and scaling.is_large(X):
            scaled, center, scale = scaling.scaled_as_read(*rows)
        else:
            scaled, center, scale = scaling.scaled_copy(*rows, distances)
        weights = allowed_values.weigh_classes(
            weights, self.class_weight, entries["classes"], y_encoded
        )
        units = {"X": scaled, "center": center, "scale": scale, "weights": weights}
        return entries | units

    def _set_fitted_attributes(self, problem: Problem, fitted: Fitted) -> None:
        """Set the attributes of the contract, and the classes."""
        super()._set_fitted_attributes(problem, with_tie(problem, fitted))
        self.classes_ = problem.classes


class PrototypeRegressor(RegressorMixin, PrototypeEstimator):
    """Base of the regressors: numbers in, a `PrototypeModel` inside, numbers out."""

    def predict(self, X: Any) -> np.ndarray:
        """Predicted number of each row, user's units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._finite_answers(PrototypeModel.predict, X, "predicted")

    def _numbered_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Checked rows, not scaled, and entries of a problem."""
        X, y = scaling.validated(self, X, y, order="C", y_numeric=True)
        weights = allowed_values.sample_weights(sample_weight, len(y))
        return X, {
            "y": checked(np.asarray, y, dtype=np.float64),
            "weights": weights,
            **feature_entries(self, X, weights),
        }
