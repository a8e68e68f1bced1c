"""What the super-sparse classifier and regressor share."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from smpcore.errors import caution
from smpcore.estimators.base import (
    check_choice,
    check_number,
    class_weights,
    sample_weights,
)
from smpcore.estimators.scaling import scaled_copy
from smpcore.estimators.start import count_distinct
from smpcore.estimators.supersparse.blackbox import CheckedFunction
from smpcore.estimators.supersparse.bounds import (
    checked_count,
    natural_gamma,
    scaled_box,
    slider_ranges,
)
from smpcore.estimators.supersparse.fit import (
    Recipe,
    fit_rows,
    merged,
    refuse_diverged,
    unfinished,
)
from smpcore.estimators.supersparse.problem import (
    SCALED,
    SMOOTH,
    Limits,
    Solution,
    SuperSparseProblem,
    SuperSparseRegression,
    SuperSparseState,
)
from smpcore.estimators.supersparse.rows import (
    Rows,
    joined_rows,
    off_the_data,
    standard_rows,
)
from smpcore.estimators.supersparse.strings import refuse_non_strings
from smpcore.estimators.supersparse.teachers import taught_rows
from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity

NAMES = (*SMOOTH, "strings")

#: Similarities that fade with the distance: the others look at directions, or at what
#: has no places at all, and cannot tell whether a case lies off the data.
PLACED = ("rbf", "laplacian", "intersection")

AnyProblem = SuperSparseProblem | SuperSparseRegression


class SuperSparseEstimator:
    """What classifier and regressor share."""

    targets: ClassVar[tuple[str, ...]]
    certificate: ClassVar[str] = "the best value of the objective"
    loss_of_prototypes: ClassVar[str] = "merged"

    def __init__(
        self,
        n_prototypes: int | None = None,
        lam: float = 1e-4,
        similarity: str | Callable[[np.ndarray, np.ndarray], np.ndarray] = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        target: str = "labels",
        box: Any = None,
        start: str = "auto",
        tol: float = 1e-5,
        max_iter: int = 200,
        random_state: Any = 0,
        standardize: bool = True,
        solver: str = "lbfgs",
        record: int = 0,
        eta: float = 0.5,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.lam = lam
        self.similarity = similarity
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.target = target
        self.box = box
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.standardize = standardize
        self.solver = solver
        self.record = record
        self.eta = eta

    def solve(
        self,
        problem: AnyProblem,
        state: SuperSparseState | None = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem and keep the model.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression
        state : SuperSparseState, optional
            `state_` of another fit to start from. Of another number of prototypes the
            cheapest are dropped, or training rows added; of another number of
            features it is ignored.
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
        how, rows = self.lesson(problem)
        n_prototypes, warning = checked_count(rows, self._n_asked(problem))
        if warning:
            caution(warning, stacklevel=3)
        recipe = Recipe(
            how, self.lam, n_prototypes, self.start, self.solver, float(self.eta)
        )
        limits = Limits(
            *scaled_box(self._box(problem), how.kind, problem.center, problem.scale),
            self.tol,
            self.max_iter,
            self.record,
            np.zeros(1, dtype=np.int64) if stop is None else stop,
            np.zeros(1) if progress is None else progress,
        )
        random = check_random_state(self.random_state)
        solution, Z = fit_rows(rows, recipe, limits, state, random)
        if words := unfinished(solution, self.max_iter):
            warnings.warn(words, ConvergenceWarning, stacklevel=3)
        return self.adopt(
            problem, rows, how, solution, start=Z, seconds=time.perf_counter() - started
        )

    def adopt(
        self,
        problem: AnyProblem,
        rows: Rows,
        how: Similarity,
        solution: Solution,
        *,
        start: np.ndarray,
        seconds: float,
        kind_of_prototype: str = "invented case",
    ) -> Self:
        """Keep what a solver, or a selection of rows, has found.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression
        rows : Rows
        how : Similarity
        solution : Solution
        start : ndarray of shape (n_prototypes, n_features), scaled units
        seconds : float
        kind_of_prototype : str

        Returns
        -------
        self
        """
        refuse_diverged(solution)
        history = History(
            iteration=np.arange(len(solution.objective), dtype=np.float64),
            objective=solution.objective,
            gap=np.full(len(solution.objective), np.nan),
            steps=np.pad(solution.steps, ((0, 0), (0, 0), (0, 1))),
            status=solution.status,
            n_iter=solution.n_iter,
            seconds=seconds,
        )
        self.state_ = SuperSparseState(solution.Z)
        self.start_ = start
        self.gamma_ = how.gamma
        self.dual_coef_ = solution.B
        self.assignment_ = how.values(problem.X, solution.Z).argmax(axis=1)
        model = self._model(problem, rows, how, solution, history)
        model = replace(model, kind_of_prototype=kind_of_prototype)
        self._keep(problem, model, history, len(solution.Z))
        meant = self.meant(problem)
        left = [name for name in meant if getattr(self, name) is None]
        self.automatic_ = {name: meant[name] for name in left}
        self.off_data_: np.ndarray | None = None
        self.measures_: dict[str, tuple[str, str]] = {}
        if kind_of_prototype == "invented case" and how.kind in PLACED:
            self.off_data_ = off_the_data(problem.rows, model.anchors)
            self.measures_["Off the data"] = (
                f"{self.off_data_.sum()} of {model.n_prototypes}",
                "invented cases farther from every training row than 95 % of these "
                "are from their nearest other one",
            )
        return self

    def bounds(self, problem: AnyProblem) -> dict[str, tuple[float, float]]:
        """Useful ranges of `n_prototypes`, `gamma` and `lam` for these rows.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression

        Returns
        -------
        dict
            Name -> (low, high).
        """
        return slider_ranges(problem.rows, self._kind)

    def meant(self, problem: AnyProblem) -> dict[str, float]:
        """Values that None stands for, for these rows.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression

        Returns
        -------
        dict
            Name -> value.
        """
        n_prototypes = count_distinct(problem.rows.cases, self._n_asked(problem))
        gamma = self._similarity(problem.rows).gamma
        return {"n_prototypes": n_prototypes, "gamma": gamma}

    def lesson(self, problem: AnyProblem) -> tuple[Similarity, Rows]:
        """Give the similarity, and the rows with what is to be imitated.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression

        Returns
        -------
        how : Similarity
        rows : Rows
        """
        how = self._similarity(problem.rows)
        return how, taught_rows(problem, how, self.target)

    @property
    def _kind(self) -> str:
        """Name of the similarity."""
        return "callable" if callable(self.similarity) else self.similarity

    @property
    def _scales(self) -> bool:
        """Whether features are scaled."""
        return bool(self.standardize) and self._kind in SCALED

    def _similarity(self, rows: Rows) -> Similarity:
        """The similarity at these parameters."""
        if callable(self.similarity):
            return Similarity("callable", function=CheckedFunction(self.similarity))
        gamma = natural_gamma(rows, self._kind) if self.gamma is None else self.gamma
        return Similarity(
            self.similarity,
            gamma=float(gamma),
            degree=int(self.degree),
            coef0=float(self.coef0),
        )

    def _box(self, problem: AnyProblem) -> Any:
        """The box; of strings it is the range of their codes."""
        if self._kind != "strings":
            return self.box
        return (-1.0, np.full(problem.n_features, problem.rows.cases.max() + 0.5))

    def _prepared(
        self,
        entries: dict[str, Any],
        labels: np.ndarray,
        targets: np.ndarray,
        sample_weight: Any,
    ) -> dict[str, Any]:
        """Entries of a problem, made of those for rows that are not yet scaled."""
        X = entries["X"]
        if self._kind == "strings":
            refuse_non_strings(X)
        if self._kind == "callable":
            CheckedFunction(self.similarity).refuse_asymmetric(X)
        first, masses = joined_rows(X, labels, sample_weight)
        weights = sample_weights(masses, len(masses))
        of_distances = self._kind in ("rbf", "laplacian")
        scaled, center, scale = scaled_copy(
            X[first], weights, self._scales, False, of_distances
        )
        if "classes" in entries:
            classes, codes = entries["classes"], labels[first]
            totals = np.bincount(codes, weights, len(classes))
            weights *= class_weights(self.class_weight, classes, totals)[codes]
            weights /= weights.sum()
        rows = standard_rows(scaled, targets[first], weights, self._kind)
        scaling = {"X": (X - center) / scale, "center": center, "scale": scale}
        return entries | scaling | {"rows": rows, "mass": float(masses.sum())}

    def _model(
        self,
        problem: AnyProblem,
        rows: Rows,
        how: Similarity,
        solution: Solution,
        history: History,
    ) -> PrototypeModel:
        """Wrap prototypes, those at the same place as one, in the user's units."""
        self.merged_ = merged(solution.Z, rows.spread)
        counts = np.bincount(self.merged_)
        anchors = np.zeros((len(counts), problem.n_features))
        votes = np.zeros((len(counts), len(rows.Y)))
        np.add.at(anchors, self.merged_, solution.Z)
        np.add.at(votes, self.merged_, solution.B * rows.unit)
        intercept = solution.intercept * rows.unit + rows.middle
        classes = getattr(problem, "classes", None)
        if classes is not None and len(classes) == 2:
            votes, intercept = votes * [-0.5, 0.5], intercept * [-0.5, 0.5]
        return PrototypeModel(
            center=problem.center,
            scale=problem.scale,
            low=problem.low,
            high=problem.high,
            similarity=how,
            anchors=anchors / counts[:, None],
            mixing=np.eye(len(counts)),
            bias=np.zeros(len(counts)),
            pooling="sum",
            votes=votes,
            intercept=intercept,
            classes=classes,
            counts=counts,
            feature_names=problem.feature_names,
            sample_shape=(problem.n_features,),
            kind_of_prototype="invented case",
            history=history,
        )

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        if self.n_prototypes is not None:
            check_number("n_prototypes", self.n_prototypes, 1, integer=True)
        check_number("lam", self.lam, 0.0, 1e12)
        if self.gamma is not None:
            check_number("gamma", self.gamma, 0.0, 1e12, above=True)
        check_number("degree", self.degree, 1, 20, integer=True)
        check_number("coef0", self.coef0, 0.0, 1e12)
        check_number("eta", self.eta, 0.0, 1e12, above=True)
        check_number("tol", self.tol, 0.0, 1.0, above=True)
        check_number("max_iter", self.max_iter, 1, 10**7, integer=True)
        check_number("record", self.record, 0, integer=True)
        if not callable(self.similarity):
            check_choice("similarity", self.similarity, NAMES)
        check_choice("target", self.target, self.targets)
        check_choice("start", self.start, ("auto", "kmeans", "greedy"))
        check_choice("solver", self.solver, ("lbfgs", "paper"))
        check_choice("standardize", self.standardize, (True, False))
