"""SMaLL, few prototypes of at most k weights each, as a scikit-learn estimator."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError, caution
from smpcore.estimators.base import PrototypeClassifier, check_choice, check_number
from smpcore.estimators.linear import TOO_LARGE, count_wins, largest_eigenvalue
from smpcore.estimators.smallk.problem import (
    SMaLLProblem,
    SMaLLState,
    Solution,
    Task,
    against_rest,
    joined_history,
    one_sided,
    side_by_side,
    tied_rows,
)
from smpcore.estimators.smallk.rounding import Limits, relax_all, round_all
from smpcore.estimators.start import cluster_rows, warn_if_fewer
from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity
from smpcore.solvers.smp import DIVERGED, ITERATION_LIMIT

#: Curvature of the loss at least: rows that are all zero have none to step by.
FLATTEST = 1e-200


class SMaLLClassifier(PrototypeClassifier):
    r"""Sparse multi-prototype linear learner (SMaLL).

    Every prototype has at most `k` weights. Of two classes one, the positive, has
    prototypes; an input belongs to it if one of them scores above 0. They minimise

    .. math:: \frac1m\sum_i \ell_i(W) + \frac{\lambda}{2}\|W\|_F^2,
              \qquad \|w_j\|_0 \le k .

    The convex relaxation is solved, its prototypes are rounded to k weights and solved
    again, and features are exchanged one at a time while that lowers the objective.
    The relaxation's bound says how far the result is from the best.

    Parameters
    ----------
    n_prototypes : int, default=2
        Prototypes of the positive class; of each class if there are three or more. A
        class of fewer distinct rows gets fewer.
    k : int, default=3
        Weights of a prototype; the bias is not counted.
    lam : float, default=0.03
        Ridge. The smaller, the further the relaxation is from k-sparse models.
    bias : bool, default=True
        Whether prototypes have an intercept.
    multiclass : {"joint", "ovr"}, default="joint"
        From three classes on: all prototypes at once, or each class against the rest.
    positive_class : label, default=None
        Of two classes the one that has prototypes; None for the second.
    n_draws : int, default=10
        Random roundings tried besides the k largest; 0 is fastest.
    n_swaps : int, default=12
        Refits at most, of each rounding that is looked at, with one of its features
        exchanged for another.
    tol : float, default=1e-3
        Stop when the relaxation is certified to be this close to its optimum,
        relatively.
    max_iter : int, default=2000
    random_state : int, RandomState or None, default=0
        Seed of k-means and of the roundings.
    standardize : bool, default=True
        Scale features to mean 0 and standard deviation 1.
    class_weight : None, "balanced" or dict, default=None
    solver : {"fista", "mirror-prox"}, default="fista"
        Of the relaxation: accelerated proximal gradient, or the paper's Mirror-Prox
        with adaptive steps, a baseline that rarely reaches a small `tol`.
    record : int, default=0
        Keep every so-many-th step (at most 200) in ``history_.steps``.

    Attributes
    ----------
    model_ : PrototypeModel
        Prototypes, and for the negative of two classes a row of zeros.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    objective_ : float
        Objective of the k-sparse prototypes; with "ovr" the sum over classes.
    gap_ : float
        The best k-sparse prototypes are at most this much better.
    relaxed_objective_ : float
    bound_ : float
        No k-sparse prototypes have a lower objective: ``objective_ - gap_``.
    n_asked_ : int
        Prototypes of `model_`.
    n_iter_ : int
        Steps of the relaxation and of the chosen refit.
    history_ : History
        The relaxation, then the refit. The gap is that to the optimum of the
        relaxation at first, to the best k-sparse prototypes afterwards.
    assignment_ : ndarray of int, shape (n_samples,)
        Prototype that each training row is tied to.
    wins_ : ndarray of int, shape (n_prototypes,)
        Training rows whose label a prototype decides.
    state_ : SMaLLState
        Start for the next `solve`.

    References
    ----------
    Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018, problem (6).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> small = SMaLLClassifier(k=3).fit(X, y)
    >>> small.model_.n_nonzeros, small.score(X, y) > 0.94
    (6, True)
    """

    problem_params: ClassVar[tuple[str, ...]] = (
        "n_prototypes",
        "bias",
        "multiclass",
        "positive_class",
        "random_state",
        "standardize",
        "class_weight",
    )
    certificate: ClassVar[str] = "the best k-sparse model"

    def __init__(
        self,
        n_prototypes: int = 2,
        k: int = 3,
        lam: float = 0.03,
        bias: bool = True,
        multiclass: str = "joint",
        positive_class: Any = None,
        n_draws: int = 10,
        n_swaps: int = 12,
        tol: float = 1e-3,
        max_iter: int = 2000,
        random_state: Any = 0,
        standardize: bool = True,
        class_weight: Any = None,
        solver: str = "fista",
        record: int = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.k = k
        self.lam = lam
        self.bias = bias
        self.multiclass = multiclass
        self.positive_class = positive_class
        self.n_draws = n_draws
        self.n_swaps = n_swaps
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.standardize = standardize
        self.class_weight = class_weight
        self.solver = solver
        self.record = record

    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> SMaLLProblem:
        """Validate and scale the rows and tie each to a prototype.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        SMaLLProblem
            Depends on the data and on `problem_params` only.
        """
        self._check_parameters()
        entries = self._scaled_rows(X, y, sample_weight, bias=self.bias)
        lipschitz = 0.5 * largest_eigenvalue(entries["X"], entries["weights"])
        if not np.isfinite(lipschitz):
            raise SmpcoreError(TOO_LARGE)
        return SMaLLProblem(
            **entries, tasks=self._tasks(entries), lipschitz=max(lipschitz, FLATTEST)
        )

    def solve(
        self,
        problem: SMaLLProblem,
        state: SMaLLState | None = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem and keep the model.

        Parameters
        ----------
        problem : SMaLLProblem
        state : SMaLLState, optional
            `state_` of another fit to start from; ignored if its shapes differ.
        stop : ndarray of int64, shape (1,), optional
            The solver stops within a step after this becomes non-zero.
        progress : ndarray of float64, shape (1,), optional
            Rises from 0 to 1.

        Returns
        -------
        self
        """
        self._check_parameters()
        started = time.perf_counter()
        if not (isinstance(state, SMaLLState) and state.fits(problem)):
            state = None
        k = self._weights_each(problem.n_features)
        limits = Limits(
            self.tol,
            self.max_iter,
            self.record,
            np.zeros(1, dtype=np.int64) if stop is None else stop,
            np.zeros(1) if progress is None else progress,
        )
        relaxed = relax_all(problem, k, self.lam, self.solver, state, limits)
        self._report(relaxed)
        rounded = []
        if 0 < k < problem.n_features:
            random = check_random_state(self.random_state)
            counts = self.n_draws, self.n_swaps
            rounded = round_all(
                problem, relaxed, k, self.lam, *counts, random, state, limits
            )
        history = joined_history(
            problem, relaxed, rounded, time.perf_counter() - started
        )
        if history.status == DIVERGED:
            raise SmpcoreError(TOO_LARGE)
        final = rounded or relaxed
        self.state_ = SMaLLState(
            tuple(solution.W for solution in relaxed),
            tuple(solution.W for solution in final),
            tuple(solution.curvature for solution in relaxed),
        )
        W = side_by_side([solution.W[None] for solution in final], problem)[0]
        self._keep(problem, self._model(problem, W, history), history, len(W))
        self.relaxed_objective_ = float(sum(s.objective[-1] for s in relaxed))
        self.bound_ = self.objective_ - self.gap_
        self.assignment_ = tied_rows(problem)
        self.wins_ = count_wins(problem, W[:, : problem.X.shape[1]])
        return self

    def bounds(self, problem: SMaLLProblem) -> dict[str, tuple[float, float]]:
        """Useful ranges of `k` and `lam` for these rows.

        Parameters
        ----------
        problem : SMaLLProblem

        Returns
        -------
        dict
            Name -> (low, high).
        """
        return {"k": (1, problem.n_features), "lam": (1e-3, 1.0)}

    def _tasks(self, entries: dict[str, Any]) -> tuple[Task, ...]:
        """The convex problems: one for two classes or jointly, else one a class."""
        classes, codes = entries["classes"], entries["codes"]
        positive = self._positive_code(classes)
        some = (
            np.ones(len(codes), dtype=bool) if len(classes) > 2 else codes == positive
        )
        first = 0 if len(classes) > 2 else positive
        assignment = np.zeros(len(codes), dtype=np.int64)
        assignment[some], owners = cluster_rows(
            entries["X"][some],
            codes[some] - first,
            entries["weights"][some],
            self.n_prototypes,
            self.random_state,
        )
        owners += first
        warn_if_fewer(self.n_prototypes, owners, classes, stacklevel=5)
        if len(classes) == 2:
            return (one_sided(assignment, owners, codes, positive, 1 - positive),)
        if self.multiclass == "ovr":
            return against_rest(assignment, owners, codes)
        return (Task(codes, assignment, owners, 0, owners),)

    def _positive_code(self, classes: np.ndarray) -> int:
        """Code of the positive of two classes."""
        if self.positive_class is None:
            return 1
        labels = classes.tolist()
        if self.positive_class not in labels:
            named = ", ".join(map(str, labels[:10]))
            raise SmpcoreError(
                f"positive_class={self.positive_class!r} should be a class of y "
                f"({named}); choose one of them, or None for the second."
            )
        return labels.index(self.positive_class)

    def _weights_each(self, n_features: int) -> int:
        """k, clipped to the features."""
        if self.k > n_features:
            caution(
                f"k={self.k} is more than the {n_features} features; "
                f"k={n_features} is used.",
                stacklevel=4,
            )
        elif self.k == 0:
            caution(
                "k=0 leaves no feature to the prototypes, and the bias decides alone; "
                "k should be at least 1.",
                stacklevel=4,
            )
        return min(int(self.k), n_features)

    def _report(self, relaxed: list[Solution]) -> None:
        """Warn of an unfinished relaxation."""
        if max(s.status for s in relaxed) == ITERATION_LIMIT:
            objective = sum(s.objective[-1] for s in relaxed)
            gap = sum(s.gap[-1] for s in relaxed) / objective
            warnings.warn(
                f"max_iter={self.max_iter} was reached with the relaxation certified "
                f"to {gap:.1e}, not to tol={self.tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _model(
        self, problem: SMaLLProblem, W: np.ndarray, history: History
    ) -> PrototypeModel:
        """Wrap prototypes with their bias in the last column."""
        n = problem.n_features
        labels, order = problem.voters
        return PrototypeModel(
            center=problem.center,
            scale=problem.scale,
            low=problem.low,
            high=problem.high,
            similarity=Similarity("linear"),
            anchors=np.ascontiguousarray(W[:, :n]),
            mixing=np.eye(len(W)),
            bias=W[:, n].copy(),
            pooling="max",
            votes=np.eye(len(problem.classes))[labels[order]],
            intercept=np.zeros(len(problem.classes)),
            classes=problem.classes,
            counts=np.ones(len(W), dtype=np.int64),
            feature_names=problem.feature_names,
            sample_shape=(n,),
            kind_of_prototype="direction",
            history=history,
        )

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        check_number("n_prototypes", self.n_prototypes, 1, integer=True)
        check_number("k", self.k, 0, integer=True)
        check_number("lam", self.lam, 0.0, 1e12, above=True)
        check_number("n_draws", self.n_draws, 0, 10**4, integer=True)
        check_number("n_swaps", self.n_swaps, 0, 10**6, integer=True)
        check_number("tol", self.tol, 0.0, 1.0, above=True)
        check_number("max_iter", self.max_iter, 1, 10**7, integer=True)
        check_number("record", self.record, 0, integer=True)
        check_choice("multiclass", self.multiclass, ("joint", "ovr"))
        check_choice("solver", self.solver, ("fista", "mirror-prox"))
        for name in ("bias", "standardize"):
            check_choice(name, getattr(self, name), (True, False))
