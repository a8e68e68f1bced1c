"""The contract of all prototype estimators, and what they share.

A fit has two steps, so that a dragged slider pays only for the second: `problem`
validates and scales the rows and finds the start; `solve` calls the solver.
"""

from __future__ import annotations

import copy
import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.errors import SmpcoreError, warn
from smpcore.methods.shared.allowed_values import FLAG, Number, OneOf
from smpcore.methods.shared.features import FeatureImportances
from smpcore.methods.shared.problem import Problem, SolverOptions
from smpcore.methods.shared.row_blocks import row_blocks
from smpcore.methods.shared.scaling import is_large, validated
from smpcore.model import PrototypeModel, Step
from smpcore.solvers.iterations import DIVERGED, ITERATION_LIMIT

#: Why a fit to such rows is refused.
TOO_LARGE = (
    "X holds values so large that the objective is not finite; use standardize=True or "
    "divide such columns by a power of ten."
)

#: Parameters that every estimator has.
COMMON_PARAMETERS = {
    "tol": Number(0.0, 1.0, above=True),
    "max_iter": Number(1, 10**7, integer=True),
    "record": Number(0, integer=True),
    "standardize": FLAG,
    "warm_start": FLAG,
}


@functools.cache
def _defaults(estimator: type) -> dict[str, Any]:
    """What the constructor of an estimator sets where nothing is given."""
    signature = inspect.signature(estimator).parameters
    return {name: parameter.default for name, parameter in signature.items()}


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a family's solver found; each field becomes the attribute of that name."""

    model: PrototypeModel
    #: Start for the next `solve`.
    state: Any
    #: Prototype, as solved, that each training row is tied to or most like.
    assignment: np.ndarray
    #: Prototypes asked for; the model may have fewer.
    n_asked: int
    #: Prototype of the model that each solved one became, -1 if it was left out; None
    #: if the model has them all.
    merged: np.ndarray | None = None
    #: Training rows that each prototype decides; None where they decide together.
    wins: np.ndarray | None = None
    #: Training row of each anchor; None where anchors are no training rows.
    anchor_rows: np.ndarray | None = None
    #: Where the prototypes started, scaled units; None where that has no meaning.
    start: np.ndarray | None = None
    #: Whether a prototype lies far from all training rows; None without distances.
    off_data: np.ndarray | None = None
    #: Values that parameters left at None were given.
    automatic: Mapping[str, float] = field(default_factory=dict)
    #: Key of a read-out -> (value, explanation) of what this family measures.
    measures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: Scores of the training rows; None: not computed yet.
    scores: np.ndarray | None = None


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
            automatic_, measures_
        The fields of `Fitted`; `merged_` is never None.
    """

    #: Parameters that `problem` depends on, besides the data: a problem can be solved
    #: again, and its cache is valid, while they stay.
    problem_params: ClassVar[tuple[str, ...]]
    #: Name of a parameter -> what it may be.
    allowed: ClassVar[Mapping[str, Number | OneOf]]
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; every value is finite.
        y : array-like of shape (n_samples,)
            Class of each row, or the number to predict.
        sample_weight : array-like of shape (n_samples,), optional
            A whole weight counts as that many equal rows; None: all count alike.

        Returns
        -------
        self
        """
        state = getattr(self, "state_", None) if self.warm_start else None
        return self.solve(self.problem(X, y, sample_weight), state)

    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """Validate and scale training rows, as those of `fit`, and find the start.

        What is returned depends on them and on `problem_params` only.
        """
        self._check_parameters()
        return self._problem(X, y, sample_weight)

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
        if is_large(X):
            in_file = isinstance(X, ParquetRows)
            blocks = (X.frame(p) if in_file else block for p, block in row_blocks(X))
            blocks = [self._finite_block(answer, b, participle) for b in blocks]
            return np.concatenate(blocks)
        return self._finite_block(answer, X, participle)

    def _finite_block(
        self,
        answer: Callable[[PrototypeModel, np.ndarray], np.ndarray],
        X: Any,
        participle: str,
    ) -> np.ndarray:
        """As `_finite_answers`, of rows that are in memory."""
        X = validated(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            answers = answer(self.model_, X)
        if not np.isfinite(answers).all():
            raise SmpcoreError(
                f"X holds values as large as {abs(X).max():.3g}, too large to be "
                f"{participle}; leave such rows out."
            )
        return answers
