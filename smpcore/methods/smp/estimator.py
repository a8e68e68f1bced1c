"""Sparse Multi-Prototype classification as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.shared import linear
from smpcore.methods.shared.allowed_values import FLAG, Number, OneOf, class_values
from smpcore.methods.shared.base import TOO_LARGE, PrototypeClassifier
from smpcore.methods.shared.problem import (
    Fitted,
    SolverOptions,
    recorded_places,
    spread_trace,
)
from smpcore.methods.shared.starts import cluster_rows, each_row, warn_if_fewer
from smpcore.methods.smp import problem as problems
from smpcore.model import History
from smpcore.solvers.iterations import DIVERGED, STOPPED
from smpcore.solvers.losses import LOSSES

#: Times that rows may move to better prototypes.
MOST_ROUNDS = 50


@dataclass(eq=False, repr=False)
class SMPClassifier(PrototypeClassifier):
    r"""Sparse multi-prototype classifier (SMP).

    Every class has a few linear prototypes; a class scores as high as its best one,
    and the highest score wins. Parameters and attributes that all methods have are
    those of `PrototypeEstimator`. The prototypes minimise, jointly and convexly,

    .. math:: \frac1m\sum_i \ell_i(W) + \lambda\sum_{c}\sum_{i<j\in J_c}
              \|w_i-w_j\|_\infty + \mu\|W\|_1 + \frac{\mu\eta}{2}\|W\|_F^2 .

    Parameters
    ----------
    n_prototypes : int, default=2
        Prototypes of each class before fusion; a class of fewer distinct rows gets
        fewer.
    lam : float, default=0.003
        Weight of the fusion penalty, in units of the mean loss. Larger makes more
        prototypes of a class equal.
    mu : float, default=0.005
        Weight of the elastic net, in units of the mean loss. Larger makes more
        weights of the prototypes zero, so that fewer features are used.
    eta : float, default=1.0
        Ridge of the elastic net relative to `mu`. Larger spreads weight over features
        that carry the same information.
    loss : {"smooth", "max", "hinge"}, default="smooth"
        Equation (4) or (2) of the paper: all rivals of a row count, or only the
        strongest. "hinge": (2) with the hinge loss, 0 from a lead of 1 on.
    bias : bool, default=True
        Whether prototypes have an intercept. It has no l1 penalty, but a ridge of
        ``max(mu * eta, 1e-3)``, which the duality gap needs: the larger it is, the
        higher the mean softmax of a rare class is above its share of the rows. Use
        `class_weight` or a threshold for rare classes.
    start : {"kmeans", "each"}, default="kmeans"
        Rows of a class share a prototype by k-means, or every row has its own and
        fusion decides how many remain.
    reassign : bool, default=False
        After a fit, tie every row to the prototype of its class that scores highest
        and fit again, until nothing changes.
    class_prototypes : None, "balanced" or dict, default=None
        Prototypes of each class before fusion, if not `n_prototypes`; for the start
        "kmeans". "balanced": in proportion to the weight of its rows, at least 1.
    class_lam : None, "balanced" or dict, default=None
        Factor on `lam` of each class, if not 1. "balanced": in proportion to the weight
        of its rows, 1 on average, so that rare classes are not fused sooner.
    solver : {"spg", "primal-dual"}, default="spg"
        How the problem is solved: proximal gradient with Barzilai-Borwein steps, and
        Newton steps where those would take longer (of dense rows in memory), or the
        paper's Algorithm 2 with larger steps that are as safe.

    Attributes
    ----------
    model_ : PrototypeModel
        Prototypes after merging those that fusion made equal.
    objective_ : float
        Objective of the prototypes as solved.
    gap_ : float
        The optimum is at most this much lower.
    n_iter_ : int
        Iterations of the solver.
    history_ : History
        Objective and gap by iteration, and how the fit ended.
    merged_objective_ : float
        Objective of the merged prototypes.

    References
    ----------
    Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018, equation (6).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SMPClassifier(mu=0.05).fit(X, y).model_.n_nonzeros < 24
    True
    """

    problem_params: ClassVar[tuple[str, ...]] = (
        "n_prototypes",
        "bias",
        "start",
        "random_state",
        "standardize",
        "class_weight",
        "class_prototypes",
        "class_lam",
    )
    state_class: ClassVar[type] = problems.SMPState
    allowed: ClassVar[Mapping[str, Number | OneOf]] = {
        "n_prototypes": Number(1, integer=True),
        "lam": Number(0.0, 1e12),
        "mu": Number(0.0, 1e12),
        "eta": Number(0.0, 1e12),
        "loss": OneOf(tuple(LOSSES)),
        "start": OneOf(("kmeans", "each")),
        "solver": OneOf(problems.SOLVERS),
        "bias": FLAG,
        "reassign": FLAG,
    }

    n_prototypes: int = 2
    lam: float = 0.003
    mu: float = 0.005
    eta: float = 1.0
    loss: str = "smooth"
    bias: bool = True
    start: str = "kmeans"
    reassign: bool = False
    tol: float = 1e-3
    max_iter: int = 2000
    random_state: Any = 0
    standardize: bool = True
    class_weight: Any = None
    class_prototypes: Any = None
    class_lam: Any = None
    solver: str = "spg"
    record: int = 0
    warm_start: bool = False

    def bounds(self, problem: problems.SMPProblem) -> dict[str, tuple[float, float]]:
        """Useful ranges of `lam` and `mu` for these rows.

        From a quarter of the upper end of `lam` on, all prototypes of a class are equal
        at the optimum, given the current `mu` and `eta`; from that of `mu` on, all
        feature weights are zero there, given the current `lam` and `eta`. Both are
        proved for the smooth loss, and a guide for the other losses. A solution within
        its gap may still differ: Algorithm 2's prototypes may stay apart.

        Parameters
        ----------
        problem : SMPProblem
            Training rows, made by `problem` of this estimator.

        Returns
        -------
        dict
            Name -> (low, high).
        """
        self._check_parameters()
        return problems.slider_ranges(problem, self)

    @property
    def takes_sparse(self) -> bool:
        """Whether X may be sparse: the paper's Algorithm 2 takes dense rows only."""
        return self.solver == "spg"

    reads_blocks = takes_sparse

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> problems.SMPProblem:
        """Tie each row to a prototype of its class."""
        entries = self._scaled_rows(X, y, sample_weight, bias=self.bias)
        tied = entries["X"], entries["y_encoded"], entries["weights"]
        scaled, y_encoded, weights = tied
        units = np.ones(scaled.shape[1])
        if not self.standardize:
            units = linear.column_units(scaled, weights)
            units[len(entries["center"]) :] = 1.0
        lipschitz = 0.5 * linear.largest_eigenvalue(
            linear.in_units(scaled, units), weights
        )
        if not (np.isfinite(units).all() and np.isfinite(lipschitz)):
            raise SmpcoreError(TOO_LARGE)
        sizes, fusion = self._of_classes(entries)
        if self.start == "each":
            assignment, prototype_labels = each_row(y_encoded, weights)
        else:
            assignment, prototype_labels = cluster_rows(*tied, sizes, self.random_state)
            warn_if_fewer(sizes, prototype_labels, entries["classes"])
        return problems.SMPProblem(
            **entries,
            assignment=assignment,
            prototype_labels=prototype_labels,
            copies=np.ones(len(prototype_labels)),
            fusion=fusion[prototype_labels],
            units=units,
            lipschitz=lipschitz,
        )

    def _of_classes(self, entries: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Prototypes that each class is to have, and its factor on lambda."""
        classes = entries["classes"]
        shares = linear.class_totals(entries) * len(classes)
        sizes = class_values(
            "class_prototypes",
            self.class_prototypes,
            classes,
            np.maximum(np.rint(self.n_prototypes * shares), 1),
            self.n_prototypes,
            Number(1, integer=True),
        )
        fusion = class_values("class_lam", self.class_lam, classes, shares)
        return sizes.astype(np.int64), fusion

    def _solve(
        self,
        problem: problems.SMPProblem,
        state: problems.SMPState | None,
        options: SolverOptions,
    ) -> Fitted:
        """Solve, merge the prototypes that became equal, and count what they win."""
        problems.refuse_too_large(problem)
        solved, rounds = self._alternate(problem, state, options)
        last = rounds[-1][0]
        history = _joined_history(problem, rounds, options)
        gap, objective = history.gap[-1], history.objective[-1]
        self._report(history.status, lambda: self._unfinished(gap, objective))
        fitted = _fitted(problem, (last.W, solved.assignment), history)
        self.merged_objective_ = float(objective)
        if fitted.model.n_prototypes < len(last.W):
            merged = fitted.merged
            W = problems.merged_rows(last.W, merged, problem.n_features)
            at = problems.SMPState(W[merged], last.Y)
            none = SolverOptions(self.tol, max_iter=0)
            after = problems.solve_problem(solved, self, none, at)
            self.merged_objective_ = float(after.objective[0])
        return replace(fitted, state=problems.SMPState(last.W, last.Y))

    def _alternate(
        self,
        problem: problems.SMPProblem,
        state: problems.SMPState | None,
        options: SolverOptions,
    ) -> tuple[problems.SMPProblem, list[tuple[problems.Solution, np.ndarray]]]:
        """Solve; with `reassign`, move rows to better prototypes and solve again."""
        rounds: list[tuple[problems.Solution, np.ndarray]] = []
        while True:
            solution = problems.solve_problem(problem, self, options, state)
            rounds.append((solution, problem.assignment))
            if not self.reassign or solution.status in (STOPPED, DIVERGED):
                return problem, rounds
            assignment = problems.better_assignment(problem, solution.W)
            if (assignment == problem.assignment).all() or len(rounds) == MOST_ROUNDS:
                return problem, rounds
            problem = replace(problem, assignment=assignment)
            state = problems.SMPState(solution.W, solution.Y)
            options = replace(options, progress=np.zeros(1))


def _fitted(
    problem: problems.SMPProblem, state: tuple[np.ndarray, np.ndarray], history: History
) -> Fitted:
    """Merge the prototypes of a state, with its assignment, and wrap them."""
    (solved, assignment), n = state, problem.n_features
    merged = problems.equal_prototypes(solved, problem.prototype_labels, n)
    W = problems.merged_rows(solved, merged, n)
    prototype_labels = np.empty(len(W), dtype=np.int64)
    prototype_labels[merged] = problem.prototype_labels
    counts = np.bincount(merged)
    model = problem.linear_model(W, prototype_labels, history, counts=counts)
    return Fitted(
        model,
        state=None,
        assignment=assignment,
        n_asked=problem.n_prototypes,
        merged=merged,
        wins=linear.count_wins(problem.X, W),
    )


def _joined_history(
    problem: problems.SMPProblem,
    rounds: list[tuple[problems.Solution, np.ndarray]],
    options: SolverOptions,
) -> History:
    """All rounds, each a solution and its assignment, as one fit.

    Each round starts at the iteration where the one before ended.
    """
    iteration, objective, gap, states, places = [], [], [], [], []
    n_iter, entry = 0, 0
    for solution, assignment in rounds:
        iteration.append(n_iter + np.arange(len(solution.objective)))
        objective.append(solution.objective)
        gap.append(np.minimum(solution.gap, solution.objective))  # none is below 0
        if options.record:
            states += [(W, assignment) for W in solution.steps]
            recorded = recorded_places(options, solution.n_iter, len(solution.steps))
            places += (recorded + entry).tolist()
        n_iter += solution.n_iter
        entry += len(solution.objective)
    build = partial(_fitted, problem)
    return History(
        iteration=np.concatenate(iteration).astype(np.float64),
        objective=np.concatenate(objective),
        gap=np.concatenate(gap),
        steps=spread_trace(problem, states, places, build, "gradient steps"),
        status=rounds[-1][0].status,
        n_iter=n_iter,
        seconds=options.seconds,
    )
