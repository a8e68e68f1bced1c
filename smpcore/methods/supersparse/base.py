"""What the super-sparse classifier and regressor share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.allowed_values import Number, OneOf, sample_weights
from smpcore.methods.shared.base import Fitted, PrototypeEstimator
from smpcore.methods.shared.distinct import joined_rows
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.recorded import spread_trace
from smpcore.methods.shared.scaling import is_large, scaled_as_read, scaled_copy
from smpcore.methods.shared.sparse_rows import dense_rows
from smpcore.methods.shared.starts import count_distinct
from smpcore.methods.supersparse.blackbox import CheckedFunction
from smpcore.methods.supersparse.blocks import BlockObjective
from smpcore.methods.supersparse.bounds import (
    clipped_count,
    natural_gamma,
    scaled_box,
    slider_ranges,
)
from smpcore.methods.supersparse.fit import (
    Recipe,
    fit_rows,
    refuse_diverged,
    warn_if_unfinished,
)
from smpcore.methods.supersparse.problem import (
    SQUARED,
    AnyProblem,
    Objective,
    SuperSparseState,
)
from smpcore.methods.supersparse.removal import REMOVALS
from smpcore.methods.supersparse.result import fitted_state
from smpcore.methods.supersparse.rows import Rows, rows_in_blocks, standard_rows
from smpcore.methods.supersparse.selection import refuse_oblong
from smpcore.methods.supersparse.strings import refuse_non_strings
from smpcore.methods.supersparse.teachers import Teacher
from smpcore.model import History, Trace
from smpcore.similarity import SIMILARITIES, SMOOTH, Similarity


@dataclass(eq=False, repr=False)
class SuperSparseEstimator(PrototypeEstimator):
    """What classifier and regressor share."""

    state_class: ClassVar[type] = SuperSparseState
    problem_class: ClassVar[type]
    allowed: ClassVar[Mapping[str, Number | OneOf]] = {
        "n_prototypes": Number(1, integer=True, optional=True),
        "lam": Number(0.0, 1e12),
        "gamma": Number(0.0, 1e12, above=True, optional=True),
        "degree": Number(1, 20, integer=True),
        "coef0": Number(0.0, 1e12),
        "start": OneOf(("auto", "kmeans", "greedy", "random")),
        "removal": OneOf(REMOVALS),
        "teacher_C": Number(0.0, 1e12, above=True),
    }

    n_prototypes: int | None = None
    lam: float = 1e-4
    similarity: str | Callable[[np.ndarray, np.ndarray], np.ndarray] = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    target: Any = "labels"
    box: Any = None
    start: str = "auto"
    tol: float = 1e-5
    max_iter: int = 200
    random_state: Any = 0
    standardize: bool = True
    record: int = 0
    warm_start: bool = False
    removal: str = "rise"
    teacher_C: float = 1.0

    @property
    def takes_sparse(self) -> bool:
        """Whether X may be sparse; a fit makes its rows dense, as prototypes are."""
        return self._kind in ("rbf", "linear")

    @property
    def reads_blocks(self) -> bool:
        """Whether rows may stay in their file: sums over blocks are all it asks."""
        return (
            self._kind in ("rbf", "laplacian", "linear", "poly")
            and bool(self.standardize)
            and isinstance(self.target, str)
            and self.target == "labels"
            and self._free_errors() == SQUARED
        )

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

    def resolve_defaults(self, problem: AnyProblem) -> dict[str, float]:
        """Values that None stands for, for these rows.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression

        Returns
        -------
        dict
            Name -> value.
        """
        n_prototypes = count_distinct(problem.rows.pool, self._n_asked(problem))
        gamma = natural_gamma(problem.rows, self._kind)
        return {
            "n_prototypes": n_prototypes,
            "gamma": gamma if self.gamma is None else float(self.gamma),
        }

    def objective(self, problem: AnyProblem) -> Objective:
        """What is minimised for these rows, with a teacher's targets if there is one.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression

        Returns
        -------
        Objective
        """
        similarity = self._similarity(problem.rows)
        if problem.rows.joined is not None:
            if not self.reads_blocks:
                raise SmpcoreError(
                    f"{self!r} takes rows in memory only, and these are read in "
                    "blocks; use target='labels' and squared errors, or fewer rows."
                )
            return BlockObjective(problem.rows, similarity, self.lam)
        rows = self._teacher().targets(problem, similarity)
        return Objective(rows, similarity, self.lam, self._free_errors())

    def _teacher(self) -> Teacher:
        """Whose decisions are imitated."""
        return Teacher(self.target, float(self.teacher_C))

    def _free_errors(self) -> float:
        """Errors that cost nothing, or SQUARED."""
        return SQUARED

    def _solve(
        self,
        problem: AnyProblem,
        state: SuperSparseState | None,
        options: SolverOptions,
    ) -> Fitted:
        """Start, solve, and merge prototypes at the same place."""
        objective = self.objective(problem)
        n_prototypes = clipped_count(objective.rows, self._n_asked(problem))
        recipe = Recipe(n_prototypes, self.start, self.removal)
        kind, center = objective.similarity.kind, problem.center
        box = scaled_box(self._box(problem), kind, center, problem.scale)
        random = check_random_state(self.random_state)
        solution, Z = fit_rows(objective, recipe, box, options, random, state)
        warn_if_unfinished(solution, self.max_iter)
        refuse_diverged(solution)
        self.gamma_ = objective.similarity.gamma
        self.dual_coef_ = solution.B
        build = partial(fitted_state, problem, objective, Z)
        trace = Trace()
        if self.record:
            steps = solution.steps, solution.places
            trace = spread_trace(problem, *steps, build, "moving the prototypes")
        history = History(
            iteration=np.arange(len(solution.objective), dtype=np.float64),
            objective=solution.objective,
            gap=np.full(len(solution.objective), np.nan),
            steps=trace,
            status=solution.status,
            n_iter=solution.n_iter,
            seconds=options.seconds,
        )
        fitted = build(solution.Z, history, (solution.B, solution.intercept))
        defaults = self.resolve_defaults(problem)
        left = [name for name in defaults if getattr(self, name) is None]
        return replace(
            fitted,
            state=SuperSparseState(solution.Z),
            automatic={name: defaults[name] for name in left},
        )

    @property
    def _kind(self) -> str:
        """Name of the similarity."""
        return "callable" if callable(self.similarity) else self.similarity

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

    def _dense(self, X: Any) -> Any:
        """Rows as the kernels take them; what is not taken is refused later."""
        return dense_rows(X) if issparse(X) and self.takes_sparse else X

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> AnyProblem:
        """Scale the rows and bring targets to standard units; equal rows are one."""
        X, entries, values, places = self._targets(X, y, sample_weight)
        if self.reads_blocks and is_large(X):
            more = self._rows_in_blocks(X, entries, (values, places), sample_weight)
        else:
            more = self._distinct_rows(X, entries, (values, places), sample_weight)
        return self.problem_class(**(entries | more))

    def _distinct_rows(
        self,
        X: np.ndarray,
        entries: dict[str, Any],
        targets: tuple[np.ndarray, np.ndarray],
        sample_weight: Any,
    ) -> dict[str, Any]:
        """Entries of a problem of the first of each set of equal rows."""
        if self._kind == "strings":
            refuse_non_strings(X)
        if self._kind == "precomputed":
            refuse_oblong(X)
        if self._kind == "callable":
            CheckedFunction(self.similarity).refuse_asymmetric(X)
        values, places = targets
        first, masses, _ = joined_rows(X, places, sample_weight)
        weights, places = sample_weights(masses, len(masses)), places[first]
        standardize = bool(self.standardize) and SIMILARITIES[self._kind].standardised
        scaled, center, scale = scaled_copy(
            X[first], weights, standardize, False, SIMILARITIES[self._kind].vanishes
        )
        units = {"X": (X - center) / scale, "center": center, "scale": scale}
        weights = self._weighed(weights, entries, places)
        rows = standard_rows(scaled, values[places], weights, self._kind)
        return units | {"rows": rows, "mass": float(masses.sum())}

    def _rows_in_blocks(
        self,
        X: Any,
        entries: dict[str, Any],
        targets: tuple[np.ndarray, np.ndarray],
        sample_weight: Any,
    ) -> dict[str, Any]:
        """As `_distinct_rows`, of rows that are read in blocks.

        Equal rows stay apart; starts see them as one.
        """
        X_scaled, center, scale = scaled_as_read(X, entries["weights"], True, False)
        first, masses, _ = joined_rows(X, targets[1], sample_weight)
        mass, joined = float(masses.sum()), sample_weights(masses, len(masses))
        joined = self._weighed(joined, entries, targets[1][first])
        weights = self._weighed(entries["weights"].copy(), entries, targets[1])
        rows = rows_in_blocks(X_scaled, targets, weights, (first, joined))
        units = {"X": X_scaled, "center": center, "scale": scale}
        return units | {"rows": rows, "mass": mass}

    def _weighed(
        self, weights: np.ndarray, entries: dict[str, Any], places: np.ndarray
    ) -> np.ndarray:
        """Weights of rows as the objective takes them."""
        return weights

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        super()._check_parameters()
        if not (hasattr(self.target, "fit") and hasattr(self.target, "get_params")):
            OneOf(self.targets).check("target", self.target)
        if not callable(self.similarity):
            kinds = (*SMOOTH, "strings", "precomputed")
            OneOf(kinds).check("similarity", self.similarity)
        if self._kind == "precomputed" and self.target != "labels":
            raise SmpcoreError(
                f"target={self.target!r} should be 'labels' with "
                "similarity='precomputed': a teacher needs features; change target."
            )
