"""SMaLL, few prototypes of at most k weights each, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError, caution
from smpcore.methods.shared.allowed_values import FLAG, Lists, Number, OneOf
from smpcore.methods.shared.base import TOO_LARGE, PrototypeClassifier
from smpcore.methods.shared.linear import largest_eigenvalue
from smpcore.methods.shared.problem import Fitted, SolverOptions, with_tie
from smpcore.methods.shared.starts import cluster_rows, warn_if_fewer
from smpcore.methods.smallk import problem as problems
from smpcore.methods.smallk.alternatives import Alternatives, Limits, near_best
from smpcore.methods.smallk.fit import (
    Start,
    TaskSearch,
    fitted_as,
    relax_all,
    round_all,
)
from smpcore.model import PrototypeModel
from smpcore.solvers.losses import LOSSES

#: Curvature of the loss at least: rows that are all zero have none to step by.
FLATTEST = 1e-200


@dataclass(eq=False, repr=False)
class SMaLLClassifier(PrototypeClassifier):
    r"""Sparse multi-prototype linear learner (SMaLL).

    Every prototype has at most `k` weights. Of two classes one, the positive, has
    prototypes; an input belongs to it if one of them scores above 0. Parameters and
    attributes that all methods have are those of `PrototypeEstimator`. They minimise

    .. math:: \frac1m\sum_i \ell_i(W) + \frac{\lambda}{2}\|W\|_F^2,
              \qquad \|w_j\|_0 \le k .

    The convex relaxation is solved, its prototypes are rounded to k weights and solved
    again, and features are exchanged one at a time while that lowers the objective.
    The relaxation's bound says how far the result is from the best; nothing is drawn or
    exchanged once that is at most `tol`.

    Parameters
    ----------
    n_prototypes : int, default=2
        Prototypes of the positive class; of each class if there are three or more. A
        class of fewer distinct rows gets fewer.
    k : int, default=3
        Most features that a prototype uses; the bias is not counted.
    lam : float, default=0.03
        Ridge on the weights, in units of the mean loss. Larger gives smaller weights
        and a tighter bound on how good the choice of features is.
    loss : {"smooth", "max", "hinge"}, default="smooth"
        Equation (5) or (2) of the paper: all prototypes count for a row of the negative
        class, or only the strongest. "hinge": (2) with the hinge loss, 0 from a lead of
        1 on.
    bias : bool, default=True
        Whether prototypes have an intercept; without it all borders meet at the mean
        of the rows.
    multiclass : {"joint", "ovr"}, default="joint"
        From three classes on: all prototypes at once, or each class against the rest.
    positive_class : label, default=None
        Of two classes the one that has prototypes; None for the second.
    supports : None or lists, default=None
        Names or numbers of the k features of each prototype of the positive of two
        classes, as `alternatives` lists them; None: the fit chooses them.
    n_draws : int, default=10
        Random sets of k features tried besides the k largest; 0 is fastest, more
        can lower the objective.
    n_swaps : int, default=12
        Most refits, from each of two roundings, with one feature exchanged for
        another; more can lower the objective.
    solver : {"fista", "mirror-prox"}, default="fista"
        How the relaxation is solved: accelerated proximal gradient, or the paper's
        Mirror-Prox with adaptive steps, a baseline that rarely reaches a small `tol`,
        for the smooth loss.

    Attributes
    ----------
    model_ : PrototypeModel
        Prototypes, and for the negative of two classes a row of zeros.
    objective_ : float
        Objective of the k-sparse prototypes; with "ovr" the sum over classes.
    gap_ : float
        The best k-sparse prototypes are at most this much better.
    relaxed_objective_ : float
        Objective at the optimum of the relaxation.
    bound_ : float
        No k-sparse prototypes have a lower objective: ``objective_ - gap_``.
    n_iter_ : int
        Steps of the relaxation and of the chosen refit.
    history_ : History
        The relaxation, then the refit. The gap is that to the optimum of the
        relaxation at first, to the best k-sparse prototypes afterwards.

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
    certificate: ClassVar[str] = "no k-sparse model"
    state_class: ClassVar[type] = problems.SMaLLState
    allowed: ClassVar[Mapping[str, Number | OneOf]] = {
        "n_prototypes": Number(1, integer=True),
        "k": Number(0, integer=True),
        "lam": Number(0.0, 1e12, above=True),
        "n_draws": Number(0, 10**4, integer=True),
        "n_swaps": Number(0, 10**6, integer=True),
        "multiclass": OneOf(("joint", "ovr")),
        "loss": OneOf(tuple(LOSSES)),
        "solver": OneOf(("fista", "mirror-prox")),
        "bias": FLAG,
        "supports": Lists(),
    }

    n_prototypes: int = 2
    k: int = 3
    lam: float = 0.03
    loss: str = "smooth"
    bias: bool = True
    multiclass: str = "joint"
    positive_class: Any = None
    supports: Any = None
    n_draws: int = 10
    n_swaps: int = 12
    tol: float = 1e-3
    max_iter: int = 2000
    random_state: Any = 0
    standardize: bool = True
    class_weight: Any = None
    solver: str = "fista"
    record: int = 0
    warm_start: bool = False

    @property
    def takes_sparse(self) -> bool:
        """Whether X may be sparse: the paper's Mirror-Prox takes dense rows only."""
        return self.solver == "fista"

    reads_blocks = takes_sparse

    def bounds(self, problem: problems.SMaLLProblem) -> dict[str, tuple[float, float]]:
        """Useful ranges of `k` and `lam` for these rows.

        Parameters
        ----------
        problem : SMaLLProblem
            Training rows, made by `problem` of this estimator.

        Returns
        -------
        dict
            Name -> (low, high).
        """
        return {"k": (1, problem.n_features), "lam": (1e-3, 1.0)}

    def alternatives(
        self,
        problem: problems.SMaLLProblem,
        within: float = 0.05,
        limit: int = 1000,
        seconds: float = 600.0,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Alternatives:
        """Every choice of features whose refit is nearly as good as the best.

        Each prototype gets exactly k features; rows stay tied to their prototypes, as
        `fit` ties them. By branch and bound, so the list begins with the best choice
        there is and says whether it is complete. That takes long where the relaxation
        is loose, with `lam` below 0.03. For two classes and the smooth loss.

        Parameters
        ----------
        problem : SMaLLProblem
            Training rows, made by `problem` of this estimator.
        within : float
            How much larger the objective may be than the best, as a part of it.
        limit : int
            Most choices that are listed.
        seconds : float
            Of the processor, after which the search ends with what it has.
        stop : ndarray, optional
            As that of `solve`; the choices known by then are returned.
        progress : ndarray, optional
            As that of `solve`: how much of `within` is proved, times which it is
            `Alternatives.proved`.

        Returns
        -------
        Alternatives

        Raises
        ------
        SmpcoreError
            For other classes, losses or rows, and where k leaves no choice.
        """
        Number(0.0, 10.0).check("within", within)
        Number(1, 10**5, integer=True).check("limit", limit)
        Number(0.0).check("seconds", seconds)
        self._check_parameters()
        n, in_memory = problem.n_features, isinstance(problem.X, np.ndarray)
        if len(problem.classes) > 2 or self.loss != "smooth" or not in_memory:
            raise SmpcoreError(
                "Alternatives are found for two classes, loss='smooth' and dense rows "
                "in memory; change the loss, or join classes."
            )
        if not 0 < self.k < n:
            raise SmpcoreError(
                f"k={self.k} leaves no choice among {n} features; use a k from 1 to "
                f"{n - 1}."
            )
        signals = {"stop": stop, "progress": progress}
        signals = {name: flag for name, flag in signals.items() if flag is not None}
        options = SolverOptions(self.tol, 10 * self.max_iter, **signals)
        parameters, (task,) = self._parameters(problem), problem.tasks
        before = replace(options, progress=np.zeros(1))  # it proves nothing yet
        relaxed = relax_all(problem, parameters, before)
        random = check_random_state(self.random_state)
        (best,) = round_all(problem, relaxed, parameters, random, before)
        search = TaskSearch(problem, task, parameters, options)
        limits = Limits(within, limit, seconds)
        refits, *proof = near_best(search, (*relaxed, best), limits)
        chosen = [[np.flatnonzero(row).tolist() for row in rows] for rows, _ in refits]

        def build(place: int) -> PrototypeModel:
            fitted = fitted_as(problem, relaxed, [refits[place][1]], options)
            return with_tie(problem, fitted).model

        return Alternatives(
            [tuple(tuple(features) for features in rows) for rows in chosen],
            np.array([solution.objective[-1] for _, solution in refits]),
            np.array([solution.W[task.first :, :n] for _, solution in refits]),
            *proof,
            build,
        )

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> problems.SMaLLProblem:
        """Tie each row to a prototype and split the classes into convex tasks."""
        entries = self._scaled_rows(X, y, sample_weight, bias=self.bias)
        lipschitz = 0.5 * largest_eigenvalue(entries["X"], entries["weights"])
        if not np.isfinite(lipschitz):
            raise SmpcoreError(TOO_LARGE)
        tasks, assignment = self._tasks(entries)
        return problems.SMaLLProblem(
            **entries,
            tasks=tasks,
            assignment=assignment,
            lipschitz=max(lipschitz, FLATTEST),
        )

    def _solve(
        self,
        problem: problems.SMaLLProblem,
        state: problems.SMaLLState | None,
        options: SolverOptions,
    ) -> Fitted:
        """Solve the relaxation, round it to k weights, and refit."""
        parameters = self._parameters(problem)
        relaxed = relax_all(problem, parameters, options, state)
        status = max(solution.status for solution in relaxed)
        last_checks = [(task.gap[-1], task.objective[-1]) for task in relaxed]
        gap, objective = np.sum(last_checks, axis=0)
        self._report(status, lambda: self._unfinished(gap, objective, "relaxation"))
        rounded = []
        if 0 < parameters.k < problem.n_features:
            random = check_random_state(self.random_state)
            rounded = self._on_supports(problem, relaxed, options) or round_all(
                problem, relaxed, parameters, random, options, state
            )
        fitted = fitted_as(problem, relaxed, rounded, options)
        history = fitted.model.history
        self.relaxed_objective_ = float(objective)
        self.bound_ = float(history.objective[-1]) - float(history.gap[-1])
        state = problems.SMaLLState(
            tuple(solution.W for solution in relaxed),
            tuple(solution.W for solution in rounded or relaxed),
            tuple(solution.curvature for solution in relaxed),
        )
        return replace(fitted, state=state)

    def _on_supports(
        self,
        problem: problems.SMaLLProblem,
        relaxed: list[problems.Solution],
        options: SolverOptions,
    ) -> list[problems.Solution]:
        """The refit on `supports`; none if there are none, or they do not fit."""
        if self.supports is None:
            return []
        (task, *more), names = problem.tasks, list(problem.feature_names)
        places = [
            {names.index(f) if f in names else f for f in features}
            for features in self.supports
        ]
        n, k = problem.n_features, self._clipped_k(problem.n_features)
        fit = [len(place) == k and place <= set(range(n)) for place in places]
        if more or task.first + len(places) != len(task.labels) or not all(fit):
            caution(
                "supports do not name k features of these data for each prototype of "
                "the positive of two classes; the fit chooses the features."
            )
            return []
        support = np.zeros((len(task.labels), n), dtype=bool)
        for row, features in zip(support[task.first :], places, strict=True):
            row[list(features)] = True
        search = TaskSearch(problem, task, self._parameters(problem), options)
        return [search.refit(support, Start(relaxed[0].W, relaxed[0].curvature))]

    def _parameters(self, problem: problems.SMaLLProblem) -> Self:
        return replace(self, k=self._clipped_k(problem.n_features))

    def _tasks(
        self, entries: dict[str, Any]
    ) -> tuple[tuple[problems.Task, ...], np.ndarray]:
        """The convex problems: one for two classes or jointly, else one a class.

        Also the prototype of the model that each row is tied to.
        """
        classes, y_encoded = entries["classes"], entries["y_encoded"]
        positive = self._positive_code(classes)
        assignment, prototype_labels = cluster_rows(
            entries["X"],
            y_encoded,
            entries["weights"],
            self.n_prototypes,
            self.random_state,
            positive if len(classes) == 2 else None,
        )
        warn_if_fewer(self.n_prototypes, prototype_labels, classes)
        labels, tied = prototype_labels, (assignment, prototype_labels, y_encoded)
        if len(classes) == 2:
            task = problems.one_sided(*tied, positive, 1 - positive)
            others = (1 - positive) * len(labels)  # prototypes are in order of classes
            inside = y_encoded == positive
            return (task,), np.where(inside, assignment + positive, others)
        if self.multiclass == "ovr":
            codes = range(len(classes))
            tasks = tuple(problems.one_sided(*tied, code, -1) for code in codes)
            return tasks, assignment
        return (problems.Task(y_encoded, assignment, labels, 0, labels),), assignment

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

    def _clipped_k(self, n_features: int) -> int:
        """k, at most the number of features."""
        if self.k > n_features:
            caution(
                f"k={self.k} is more than the {n_features} features; "
                f"k={n_features} is used."
            )
        elif self.k == 0:
            caution(
                "k=0 leaves no feature to the prototypes, and the bias decides alone; "
                "k should be at least 1."
            )
        return min(int(self.k), n_features)
