"""Multi-prototype support vector machine as a scikit-learn estimator."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.estimators.base import PrototypeClassifier, check_choice, check_number
from smpcore.estimators.mprotsvm.problem import (
    SVMProblem,
    SVMState,
    best_of_class,
    distinct_rows,
    gram_matrix,
    squared_lengths,
    support_rows,
)
from smpcore.estimators.mprotsvm.starts import (
    affordable_inits,
    best_fit,
    drawn_start,
)
from smpcore.estimators.start import warn_if_fewer
from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity

KERNELS = ("linear", "rbf", "poly")

CONVERGED, ITERATION_LIMIT, STOPPED = 0, 1, 2


class MultiPrototypeSVC(PrototypeClassifier):
    r"""Multi-prototype support vector machine.

    Every class has a few prototypes; a class scores as high as its best one. Rows
    should score a margin of 1 higher on a prototype of their own class than on any
    rival:

    .. math:: \min_{M,\pi} \tfrac12\sum_r\|M_r\|^2 + \sum_i C_i
              \big[1 - M_{\pi(i)}\cdot x_i + \max_{r\notin c(i)} M_r\cdot x_i\big]_+ .

    With the assignments :math:`\pi` fixed this is convex and solved to a certificate;
    the assignments are found by annealing. One prototype per class is the
    Crammer-Singer SVM.

    Parameters
    ----------
    n_prototypes : int, default=3
        Prototypes of each class at most; a class of fewer distinct rows gets fewer.
        The model has fewer where its objective is then lower.
    C : float, default=0.1
        Price of a row's slack (times its weight), against the prototypes' norm.
    kernel : {"linear", "rbf", "poly"}, default="linear"
    gamma : float or None, default=None
        Of "rbf" and "poly"; None is 1 / n_features.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    temperature : float, default=10.0
        Where annealing starts, in units of C; 0 is no annealing.
    cooling : float, default=0.8
        Factor from one temperature to the next.
    start : {"random", "kmeans"}, default="random"
        Which rows share a prototype at first; a high temperature forgets it.
    n_init : int or None, default=None
        New starts with 3, 5, 10, 20, ... prototypes per class; other numbers start
        from the best fit of fewer, with one prototype of each class split. None takes
        2 for small tables, else 1.
    tol : float, default=1e-2
        Stop when the objective is certified to be this close to the best for the
        final assignments, relatively.
    max_iter : int, default=2000
        Sweeps over the rows, from each start.
    random_state : int, RandomState or None, default=0
    standardize : bool, default=True
        Scale features to mean 0 and standard deviation 1.
    class_weight : None, "balanced" or dict, default=None
    solver : {"block", "pairwise"}, default="block"
        Solve for a row exactly, or by the paper's steps between two of its variables.
    record : int, default=0
        Keep the prototypes at every so-many-th look (at most 200) in
        ``history_.steps``; linear kernel only.

    Attributes
    ----------
    model_ : PrototypeModel
        Without dead prototypes, those that no row is tied to.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    objective_ : float
        Objective of the prototypes as solved, rows tied as in `assignment_`.
    free_objective_ : float
        Objective if every row took its best prototype; at most `objective_`.
    gap_ : float
        The optimum for these assignments is at most this much lower.
    n_asked_ : int
        Prototypes that were asked for.
    n_iter_ : int
        Sweeps from all starts.
    history_ : History
        From the start that led to the model.
    assignment_ : ndarray of int, shape (n_samples,)
        Prototype of `model_` that each training row is tied to.
    kept_ : ndarray of int, shape (n_prototypes,)
        Number, as solved, of each prototype of `model_`.
    wins_ : ndarray of int, shape (n_prototypes,)
        Training rows for which a prototype is the best of their own class.
    state_ : SVMState
        Start for the next `solve`.

    References
    ----------
    Aiolli, Sperduti: Multi-Prototype Support Vector
    Machine. IJCAI 2003, equation (6).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MultiPrototypeSVC(n_prototypes=2).fit(X, y).score(X, y) > 0.9
    True
    """

    problem_params: ClassVar[tuple[str, ...]] = (
        "n_prototypes",
        "kernel",
        "gamma",
        "degree",
        "coef0",
        "start",
        "random_state",
        "standardize",
        "class_weight",
    )
    certificate: ClassVar[str] = "the best for these assignments"
    loss_of_prototypes: ClassVar[str] = "without gain, left out"

    def __init__(
        self,
        n_prototypes: int = 3,
        C: float = 0.1,
        kernel: str = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        temperature: float = 10.0,
        cooling: float = 0.8,
        start: str = "random",
        n_init: int | None = None,
        tol: float = 1e-2,
        max_iter: int = 2000,
        random_state: Any = 0,
        standardize: bool = True,
        class_weight: Any = None,
        solver: str = "block",
        record: int = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.temperature = temperature
        self.cooling = cooling
        self.start = start
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.standardize = standardize
        self.class_weight = class_weight
        self.solver = solver
        self.record = record

    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> SVMProblem:
        """Validate and scale the rows, tie each to a prototype, compare them all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        SVMProblem
            Depends on the data and on `problem_params` only.
        """
        self._check_parameters()
        linear = self.kernel == "linear"
        entries = self._scaled_rows(
            X, y, sample_weight, bias=linear, distances=self.kernel == "rbf"
        )
        total = len(entries["X"])
        if sample_weight is not None:
            total = np.asarray(sample_weight, dtype=np.float64).sum()
        random = check_random_state(self.random_state)
        chosen, row = distinct_rows(
            entries["X"], entries["codes"], entries["weights"], random
        )
        weights = np.bincount(row[row >= 0], entries["weights"][row >= 0])
        rows, codes = np.ascontiguousarray(entries["X"][chosen]), entries["codes"]
        codes = codes[chosen]
        squares = squared_lengths(rows)
        gram, similarity = None, self._similarity(len(entries["center"]))
        if not linear:
            gram = gram_matrix(rows, similarity)
            squares = np.maximum(gram.diagonal().astype(np.float64), 1e-12)
        seed = int(random.randint(2**31 - 1))
        assignment, owners = drawn_start(
            rows, codes, weights, self.n_prototypes, self.start, seed
        )
        warn_if_fewer(self.n_prototypes, owners, entries["classes"])
        return SVMProblem(
            **(entries | {"X": rows, "codes": codes, "weights": weights}),
            shares=float(total) * weights,
            row=row,
            assignment=assignment,
            owners=owners,
            similarity=similarity,
            gram=gram,
            squares=squares,
            seed=seed,
        )

    def solve(
        self,
        problem: SVMProblem,
        state: SVMState | None = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem and keep the model.

        Parameters
        ----------
        problem : SVMProblem
        state : SVMState, optional
            `state_` of another fit to go on from; ignored if its rows differ or it has
            more prototypes. The model's objective is at most that of going on from it
            without annealing.
        stop : ndarray of int64, shape (1,), optional
            The solver stops soon after this becomes non-zero.
        progress : ndarray of float64, shape (1,), optional
            Rises from 0 to 1.

        Returns
        -------
        self
        """
        self._check_parameters()
        most = self.C * problem.shares.max()
        if not 0 < most <= 1e12:
            raise SmpcoreError(
                f"C={self.C:g} times the largest weight of a row is {most:.3g} and "
                "should be above 0 and at most 1e+12; scale sample_weight or change C."
            )
        started = time.perf_counter()
        stop = np.zeros(1, dtype=np.int64) if stop is None else stop
        progress = np.zeros(1) if progress is None else progress
        if not (isinstance(state, SVMState) and state.fits(problem)):
            state = None
        n_init = self.n_init or affordable_inits(problem)
        found = best_fit(self, problem, state, int(n_init), stop, progress)
        progress[0] = 1.0
        status = STOPPED if stop[0] else ITERATION_LIMIT
        history = found.track.history(
            CONVERGED if found.finished else status,
            found.n_sweeps,
            time.perf_counter() - started,
        )
        self._report(history)
        self.state_ = replace(found.state, n_asked=len(problem.owners))
        self.free_objective_ = found.look.free
        model = self._pruned_model(problem, found.state, found.scores, history)
        linear = problem.gram is None
        known = None if linear else model.pool(found.scores[self.kept_].T)
        self._keep(problem, model, history, len(problem.owners), known)
        if self.n_init is None:
            self.automatic_["n_init"] = n_init
        if self.gamma is None:
            self.automatic_["gamma"] = 1.0 / problem.n_features
        return self

    def bounds(self, problem: SVMProblem) -> dict[str, tuple[float, float]]:
        """Useful ranges of `C`, `gamma` and `n_prototypes` for these rows.

        Parameters
        ----------
        problem : SVMProblem

        Returns
        -------
        dict
            Name -> (low, high).
        """
        largest = int(np.bincount(problem.codes).max())
        usual = 1.0 / problem.n_features
        return {
            "C": (1e-3, 10.0 if problem.gram is None else 100.0),
            "gamma": (usual / 16, 16 * usual),
            "n_prototypes": (1, max(2, min(20, largest))),
        }

    def _similarity(self, n_features: int) -> Similarity:
        """The similarity of these parameters."""
        gamma = 1.0 / n_features if self.gamma is None else float(self.gamma)
        if self.kernel == "rbf":
            return Similarity("rbf", gamma=gamma)
        if self.kernel == "poly":
            return Similarity("poly", gamma, int(self.degree), float(self.coef0))
        return Similarity("linear")

    def _report(self, history: History) -> None:
        """Warn of an unfinished fit."""
        if history.status == ITERATION_LIMIT:
            gap = history.gap[-1] / history.objective[-1]
            warnings.warn(
                f"max_iter={self.max_iter} sweeps were reached with the objective "
                f"certified to {gap:.1e} or rows still moving, with tol={self.tol:g}; "
                "raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _pruned_model(
        self,
        problem: SVMProblem,
        final: SVMState,
        scores: np.ndarray,
        history: History,
    ) -> PrototypeModel:
        """Leave out dead prototypes and wrap the others."""
        self.kept_, tied = np.unique(final.assignment, return_inverse=True)
        owners, n = final.owners[self.kept_], problem.n_features
        if problem.gram is None:
            alive = scores[:, self.kept_].T
            anchors, mixing = np.ascontiguousarray(alive[:, :n]), np.eye(len(alive))
            bias, kind = alive[:, n].copy(), "direction"
        else:
            anchors, mixing = support_rows(problem, final, self.kept_)
            bias, kind = np.zeros(len(owners)), "mix of real cases"
            alive = scores[self.kept_]
        best = best_of_class(problem, owners, alive)
        rows = problem.row
        self.wins_ = np.bincount(best[rows[rows >= 0]], minlength=len(owners))
        first = np.searchsorted(owners, np.arange(len(problem.classes)))
        self.assignment_ = np.where(rows >= 0, tied[rows], first[0])
        return PrototypeModel(
            center=problem.center,
            scale=problem.scale,
            low=problem.low,
            high=problem.high,
            similarity=problem.similarity,
            anchors=anchors,
            mixing=mixing,
            bias=bias,
            pooling="max",
            votes=np.eye(len(problem.classes))[owners],
            intercept=np.zeros(len(problem.classes)),
            classes=problem.classes,
            counts=np.ones(len(owners), dtype=np.int64),
            feature_names=problem.feature_names,
            sample_shape=(n,),
            kind_of_prototype=kind,
            history=history,
        )

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        check_number("n_prototypes", self.n_prototypes, 1, 1000, integer=True)
        check_number("C", self.C, 0.0, 1e6, above=True)
        check_choice("kernel", self.kernel, KERNELS)
        if self.gamma is not None:
            check_number("gamma", self.gamma, 0.0, 1e6, above=True)
        check_number("degree", self.degree, 1, 20, integer=True)
        check_number("coef0", self.coef0, 0.0, 1e6)
        check_number("temperature", self.temperature, 0.0, 1e6)
        check_number("cooling", self.cooling, 0.0, 0.99, above=True)
        check_choice("start", self.start, ("random", "kmeans"))
        if self.n_init is not None:
            check_number("n_init", self.n_init, 1, 1000, integer=True)
        check_number("tol", self.tol, 0.0, 1.0, above=True)
        check_number("max_iter", self.max_iter, 1, 10**7, integer=True)
        check_number("record", self.record, 0, integer=True)
        check_choice("solver", self.solver, ("block", "pairwise"))
        check_choice("standardize", self.standardize, (True, False))
