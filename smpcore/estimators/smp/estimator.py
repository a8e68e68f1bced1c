"""Sparse Multi-Prototype classification as a scikit-learn estimator."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from smpcore.errors import SmpcoreError
from smpcore.estimators.base import PrototypeClassifier, check_choice, check_number
from smpcore.estimators.linear import TOO_LARGE, count_wins, largest_eigenvalue
from smpcore.estimators.smp.assignment import (
    better_assignment,
    equal_prototypes,
    merged_rows,
)
from smpcore.estimators.smp.bounds import fusing_lam, silencing_mu
from smpcore.estimators.smp.problem import (
    SMPProblem,
    SMPState,
    Solution,
    refuse_too_large,
    solve_problem,
)
from smpcore.estimators.start import cluster_rows, each_row, warn_if_fewer
from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity
from smpcore.solvers.smp import DIVERGED, ITERATION_LIMIT, STOPPED, solve_smp
from smpcore.solvers.smp_primal_dual import solve_smp_primal_dual

#: Times that rows may move to better prototypes.
MOST_ROUNDS = 50

SOLVERS = {"spg": solve_smp, "primal-dual": solve_smp_primal_dual}


class SMPClassifier(PrototypeClassifier):
    r"""Sparse multi-prototype classifier (SMP).

    Every class has a few linear prototypes; a class scores as high as its best one,
    and the highest score wins. The prototypes minimise, jointly and convexly,

    .. math:: \frac1m\sum_i \ell_i(W) + \lambda\sum_{c}\sum_{i<j\in J_c}
              \|w_i-w_j\|_\infty + \mu\|W\|_1 + \frac{\mu\eta}{2}\|W\|_F^2 .

    Parameters
    ----------
    n_prototypes : int, default=2
        Prototypes of each class before fusion; a class of fewer distinct rows gets
        fewer.
    lam : float, default=0.003
        Weight of the fusion penalty: makes prototypes of a class equal.
    mu : float, default=0.005
        Weight of the elastic net: makes prototypes sparse.
    eta : float, default=1.0
        Ridge part of the elastic net, inside `mu`.
    loss : {"smooth", "max"}, default="smooth"
        Equation (4) or (2) of the paper.
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
    tol : float, default=1e-3
        Stop when the objective is certified to be this close to the optimum,
        relatively.
    max_iter : int, default=2000
    random_state : int, RandomState or None, default=0
        Seed of k-means.
    standardize : bool, default=True
        Scale features to mean 0 and standard deviation 1.
    class_weight : None, "balanced" or dict, default=None
    solver : {"spg", "primal-dual"}, default="spg"
        Proximal gradient with Barzilai-Borwein steps, or the paper's Algorithm 2
        with larger steps that are as safe.
    record : int, default=0
        Keep every so-many-th step (at most 200) in ``history_.steps``.

    Attributes
    ----------
    model_ : PrototypeModel
        Prototypes after merging those that fusion made equal.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    objective_ : float
        Objective of the prototypes as solved.
    gap_ : float
        The optimum is at most this much lower.
    n_asked_ : int
        Prototypes before merging.
    n_iter_ : int
    history_ : History
    assignment_ : ndarray of int, shape (n_samples,)
        Prototype, as solved, that each training row is tied to.
    merged_ : ndarray of int, shape (n_solved,)
        Prototype of `model_` that each solved one became.
    merged_objective_ : float
        Objective of the merged prototypes.
    wins_ : ndarray of int, shape (n_prototypes,)
        Training rows whose label a prototype of `model_` decides; a prototype with
        none is dead.
    state_ : SMPState
        Start for the next `solve`.

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
    )

    def __init__(
        self,
        n_prototypes: int = 2,
        lam: float = 0.003,
        mu: float = 0.005,
        eta: float = 1.0,
        loss: str = "smooth",
        bias: bool = True,
        start: str = "kmeans",
        reassign: bool = False,
        tol: float = 1e-3,
        max_iter: int = 2000,
        random_state: Any = 0,
        standardize: bool = True,
        class_weight: Any = None,
        solver: str = "spg",
        record: int = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.lam = lam
        self.mu = mu
        self.eta = eta
        self.loss = loss
        self.bias = bias
        self.start = start
        self.reassign = reassign
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.standardize = standardize
        self.class_weight = class_weight
        self.solver = solver
        self.record = record

    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> SMPProblem:
        """Validate and scale the rows and tie each to a prototype.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        SMPProblem
            Depends on the data and on `problem_params` only.
        """
        self._check_parameters()
        entries = self._scaled_rows(X, y, sample_weight, bias=self.bias)
        scaled, codes, weights = (entries[k] for k in ("X", "codes", "weights"))
        lipschitz = 0.5 * largest_eigenvalue(scaled, weights)
        if not np.isfinite(lipschitz):
            raise SmpcoreError(TOO_LARGE)
        if self.start == "each":
            assignment, owners = each_row(codes, weights)
        else:
            assignment, owners = cluster_rows(
                scaled, codes, weights, self.n_prototypes, self.random_state
            )
            warn_if_fewer(self.n_prototypes, owners, entries["classes"])
        return SMPProblem(
            **entries,
            assignment=assignment,
            owners=owners,
            copies=np.ones(len(owners)),
            lipschitz=lipschitz,
        )

    def solve(
        self,
        problem: SMPProblem,
        state: SMPState | None = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem and keep the model.

        Parameters
        ----------
        problem : SMPProblem
        state : SMPState, optional
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
        refuse_too_large(len(problem.owners), problem.n_pairs, problem.X.shape[1])
        started = time.perf_counter()
        solved, found = self._alternate(problem, state, stop, progress)
        history = History(
            iteration=_counted(found),
            objective=np.concatenate([s.objective for s in found]),
            gap=np.concatenate([s.gap for s in found]),
            steps=_with_bias(np.concatenate([s.steps for s in found])[:200], problem),
            status=found[-1].status,
            n_iter=sum(s.n_iter for s in found),
            seconds=time.perf_counter() - started,
        )
        self._report(history)
        self.state_ = SMPState(found[-1].W, found[-1].Y)
        self.assignment_ = solved.assignment
        model = self._merged_model(solved, found[-1], history)
        self._keep(problem, model, history, len(solved.owners))
        return self

    def bounds(self, problem: SMPProblem) -> dict[str, tuple[float, float]]:
        """Useful ranges of `lam` and `mu` for these rows.

        From the upper end of `lam` on, all prototypes of a class are equal at the
        optimum, given the current `mu` and `eta`; from that of `mu` on, all feature
        weights are zero there, given the current `lam` and `eta`. Both are proved for
        the smooth loss, and a guide for the max loss. A solution within its gap may
        still differ: Algorithm 2's prototypes may stay apart.

        Parameters
        ----------
        problem : SMPProblem

        Returns
        -------
        dict
            Name -> (low, high).
        """
        self._check_parameters()
        ends = {
            "lam": fusing_lam(problem, self.mu, self.eta),
            "mu": silencing_mu(problem, self.lam, self.eta),
        }
        lowest = {"lam": 1e-6 if self.start == "each" else 1e-4, "mu": 1e-4}
        return {
            name: (min(lowest[name], end / 100), end)
            if end > 0
            else (lowest[name], 0.4)
            for name, end in ends.items()
        }

    def _alternate(
        self,
        problem: SMPProblem,
        state: SMPState | None,
        stop: np.ndarray | None,
        progress: np.ndarray | None,
    ) -> tuple[SMPProblem, list[Solution]]:
        """Solve; with `reassign`, move rows to better prototypes and solve again."""
        found: list[Solution] = []
        while True:
            solution = self._run(problem, state, stop=stop, progress=progress)
            found.append(solution)
            if not self.reassign or solution.status in (STOPPED, DIVERGED):
                return problem, found
            assignment = better_assignment(problem, solution.W)
            if (assignment == problem.assignment).all() or len(found) == MOST_ROUNDS:
                return problem, found
            problem = replace(problem, assignment=assignment)
            state, progress = SMPState(solution.W, solution.Y), None

    def _run(self, problem: SMPProblem, state: SMPState | None, **how: Any) -> Solution:
        """Call the kernel at these parameters."""
        options = {"tol": self.tol, "max_iter": self.max_iter, "record": self.record}
        return solve_problem(
            problem,
            self.lam,
            self.mu,
            self.eta,
            loss=self.loss,
            state=state,
            kernel=SOLVERS[self.solver],
            **(options | how),
        )

    def _report(self, history: History) -> None:
        """Refuse a diverged fit; warn of an unfinished one."""
        if history.status == DIVERGED:
            raise SmpcoreError(TOO_LARGE)
        if history.status == ITERATION_LIMIT:
            gap = history.gap[-1] / history.objective[-1]
            warnings.warn(
                f"max_iter={self.max_iter} was reached with the objective certified to "
                f"{gap:.1e}, not to tol={self.tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _merged_model(
        self, problem: SMPProblem, solution: Solution, history: History
    ) -> PrototypeModel:
        """Merge equal prototypes and wrap what remains."""
        n = problem.n_features
        self.merged_ = equal_prototypes(solution.W, problem.owners, n)
        counts = np.bincount(self.merged_)
        W = merged_rows(solution.W, self.merged_, n)
        self.merged_objective_ = float(history.objective[-1])
        if len(W) < len(solution.W):
            at = SMPState(W[self.merged_], solution.Y)
            self.merged_objective_ = float(
                self._run(problem, at, max_iter=0).objective[0]
            )
        owners = np.empty(len(counts), dtype=np.int64)
        owners[self.merged_] = problem.owners
        self.wins_ = count_wins(problem, W)
        return PrototypeModel(
            center=problem.center,
            scale=problem.scale,
            low=problem.low,
            high=problem.high,
            similarity=Similarity("linear"),
            anchors=np.ascontiguousarray(W[:, :n]),
            mixing=np.eye(len(W)),
            bias=W[:, n:].sum(axis=1),
            pooling="max",
            votes=np.eye(len(problem.classes))[owners],
            intercept=np.zeros(len(problem.classes)),
            classes=problem.classes,
            counts=counts,
            feature_names=problem.feature_names,
            sample_shape=(n,),
            kind_of_prototype="direction",
            history=history,
        )

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        check_number("n_prototypes", self.n_prototypes, 1, integer=True)
        for name in ("lam", "mu", "eta"):
            check_number(name, getattr(self, name), 0.0, 1e12)
        check_number("tol", self.tol, 0.0, 1.0, above=True)
        check_number("max_iter", self.max_iter, 1, 10**7, integer=True)
        check_number("record", self.record, 0, integer=True)
        check_choice("loss", self.loss, ("smooth", "max"))
        check_choice("start", self.start, ("kmeans", "each"))
        check_choice("solver", self.solver, tuple(SOLVERS))
        for name in ("bias", "reassign", "standardize"):
            check_choice(name, getattr(self, name), (True, False))


def _counted(found: list[Solution]) -> np.ndarray:
    """Iterations done at each look; a round starts where the one before ended."""
    starts = np.cumsum([0] + [s.n_iter for s in found[:-1]])
    looks = [
        np.arange(len(s.objective)) + start
        for s, start in zip(found, starts, strict=True)
    ]
    return np.concatenate(looks).astype(np.float64)


def _with_bias(steps: np.ndarray, problem: SMPProblem) -> np.ndarray:
    """Steps with the bias in the last column, 0 where there is none."""
    missing = problem.n_features + 1 - steps.shape[2]
    return np.pad(steps, ((0, 0), (0, 0), (0, missing)))
