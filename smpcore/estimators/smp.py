"""Sparse multi-prototype classification (Garg, Dekel & Xiao, UAI 2018)."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.estimators.assignment import (
    TiedProblem,
    best_own,
    by_clusters,
    largest_eigenvalue,
    merge,
    one_each,
)
from smpcore.estimators.base import (
    PrototypeClassifier,
    is_number,
    require,
)
from smpcore.estimators.smp_bounds import lambda_merge, mu_max
from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity
from smpcore.solvers.smp import solve_smp

#: Ridge floors: without any, separable data have no minimiser (features), and the
#: bias would run away (bias).
RIDGE, BIAS_RIDGE = 1e-6, 1e-3
#: Rounds of reassignment at most; the objective falls in each.
ROUNDS = 20


class SMPClassifier(PrototypeClassifier):
    r"""Sparse multi-prototype classifier: convex, with fusion and elastic net.

    Minimises, over the prototypes w_j of each class y (equation 6 of [1]_),

    .. math::
        f(W) + \lambda \sum_y \sum_{i<j \in J_y} \|w_i - w_j\|_\infty
        + \mu (\|W\|_1 + \tfrac{\eta}{2} \|W\|_F^2)

    and answers with the class of the prototype that scores highest.

    Parameters
    ----------
    n_prototypes : int, default 2
        Prototypes per class at most (``start="kmeans"``).
    lam : float, default 0.003
        Fusion: prototypes of a class become one as it grows.
    mu : float, default 0.005
        Sparsity: weights become zero as it grows.
    eta : float, default 1.0
        Ridge as a multiple of `mu`.
    loss : {"smooth", "max"}, default "smooth"
        Equation 4, or equation 2 as in the paper's experiments.
    bias : bool, default True
        A bias per prototype; it is fused, but neither shrunk to zero nor counted.
    start : {"kmeans", "each"}, default "kmeans"
        Rows share a prototype with their k-means cluster, or each has its own.
    reassign : bool, default False
        After the fit tie each row to the prototype that fits it best, and repeat.
    tol : float, default 1e-3
        Certified relative gap at which the solver stops.
    max_iter : int, default 5000
    random_state : int, default 0
        Of k-means.
    standardize : bool, default True
        Scale columns to mean 0 and standard deviation 1 first.
    class_weight : "balanced", dict or None, default None
    record : int, default 0
        Keep every `record`-th step in ``history_.steps`` (0: none).

    Attributes
    ----------
    model_ : PrototypeModel
        With merged prototypes.
    objective_, gap_ : float
        Objective of the prototypes as solved, and its distance to the optimum at most.
    merged_objective_ : float
        Objective with the merged ones replaced by their mean.
    assignment_ : ndarray of shape (n_samples,)
        Prototype (as solved) of each training row, -1 for rows of weight 0.
    merged_ : ndarray of shape (n_prototypes_as_solved,)
        Prototype of ``model_`` that each one as solved became.
    state_ : tuple
        To start another fit from.
    history_, n_iter_, classes_, n_features_in_

    References
    ----------
    .. [1] V. Garg, O. Dekel, L. Xiao: Sparse Multi-Prototype Classification. UAI 2018.
    """

    problem_params = (
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
        max_iter: int = 5000,
        random_state: int = 0,
        standardize: bool = True,
        class_weight: Any = None,
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
        self.record = record

    def problem(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        feature_names: Any = None,
        sample_shape: Any = None,
    ) -> TiedProblem:
        """Check and scale training rows and tie each to a prototype of its class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        feature_names : sequence of str, optional
        sample_shape : tuple of int, optional

        Returns
        -------
        TiedProblem
        """
        self._check_parameters()
        rows = self._checked(X, y, sample_weight, feature_names, sample_shape)
        if self.start == "each":
            assign, owners = one_each(rows)
        else:
            assign, owners = by_clusters(rows, self.n_prototypes, self.random_state)
        scaled = rows.X
        if self.bias:
            scaled = np.concatenate([scaled, np.ones((len(scaled), 1))], axis=1)
        parts = {**rows.__dict__, "X": np.ascontiguousarray(scaled)}
        lipschitz = 0.5 * largest_eigenvalue(parts["X"], rows.weights)
        return TiedProblem(
            **parts,
            assign=assign,
            owners=owners,
            lipschitz=lipschitz,
            has_bias=bool(self.bias),
        )

    def solve(
        self,
        problem: TiedProblem,
        state: Any = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Fit to a problem.

        Parameters
        ----------
        problem : TiedProblem
        state : tuple, optional
            ``state_`` of another fit: the solver starts there. It is convex, so that
            only the time changes.
        stop : ndarray of int64, shape (1,), optional
            The solver stops when it is not 0.
        progress : ndarray of float64, shape (1,), optional
            Rises to 1.

        Returns
        -------
        self
        """
        self._check_parameters()
        started = time.perf_counter()
        stop = np.zeros(1, dtype=np.int64) if stop is None else stop
        progress = np.zeros(1) if progress is None else progress
        assign = problem.assign
        solved = self.run(problem, assign, state, stop, progress)
        for _ in range(ROUNDS if self.reassign else 0):
            better = best_own(problem, solved[0])
            if stop[0] or (better == assign).all():
                break
            again = self.run(problem, better, _state(solved, self.lam), stop, progress)
            if again[4][-1] >= solved[4][-1] * (1 - 1e-9):
                break
            assign, solved = better, again
        self._take(problem, assign, solved, started)
        return self

    def bounds(self, problem: TiedProblem) -> dict[str, tuple[float, float]]:
        """Ends of the sliders for these rows.

        Parameters
        ----------
        problem : TiedProblem

        Returns
        -------
        dict
            "lam": up to where all prototypes of a class are certainly one (at this
            `mu` and `eta`); "mu": up to where all weights are certainly zero.
        """
        self._check_parameters()
        top = min(max(lambda_merge(self, problem), 1e-3), 10.0)
        mu = min(max(mu_max(self, problem), 1e-3), 10.0)
        low = 1e-6 if self.start == "each" else 1e-4
        return {"lam": (low, top), "mu": (1e-4, mu)}

    def _check_parameters(self) -> None:
        whole = isinstance(self.n_prototypes, int | np.integer)
        require(
            whole and self.n_prototypes >= 1,
            "n_prototypes",
            self.n_prototypes,
            "a whole number of at least 1",
        )
        for name in ("lam", "mu", "eta", "tol"):
            value = getattr(self, name)
            good = is_number(value) and 0 <= value <= 1e12
            require(good, name, value, "a number from 0 to 1e12")
        for name, least in (("max_iter", 0), ("record", 0)):
            value = getattr(self, name)
            good = isinstance(value, int | np.integer) and least <= value <= 10**7
            require(good, name, value, f"a whole number from {least} to 1e7")
        require(self.loss in ("smooth", "max"), "loss", self.loss, "'smooth' or 'max'")
        require(
            self.start in ("kmeans", "each"), "start", self.start, "'kmeans' or 'each'"
        )

    def run(
        self,
        problem: TiedProblem,
        assign: np.ndarray,
        state: Any = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
        copies: np.ndarray | None = None,
        start: np.ndarray | None = None,
    ) -> tuple:
        """Call the kernel.

        Parameters
        ----------
        problem : TiedProblem
        assign : ndarray of int64, shape (n_samples,)
        state, stop, progress
            As in `solve`.
        copies : ndarray of shape (n_prototypes,), optional
            How many equal prototypes each stands for (default: one).
        start : ndarray of shape (n_prototypes, n_columns), optional
            Only evaluate the objective there.

        Returns
        -------
        tuple
            As `solve_smp` returns it.
        """
        N, n = len(problem.owners), problem.X.shape[1]
        copies = np.ones(N) if copies is None else copies
        smooth = self.loss == "smooth"
        l1, l2 = self._net(problem, copies, n)
        sizes = problem.sizes
        Y = np.zeros((int((sizes * (sizes - 1) // 2).sum()), n))
        W = np.zeros((N, n)) if start is None else start.copy()
        if state is not None and state[0].shape == W.shape:
            W = state[0].copy()
            if state[1].shape == Y.shape:
                Y = state[1] * float(self.lam)
        return solve_smp(
            problem.X,
            problem.codes,
            np.ascontiguousarray(assign),
            problem.weights,
            problem.owners,
            np.concatenate([[0], np.cumsum(sizes)]),
            copies,
            np.log(copies) if smooth else np.zeros(N),
            float(self.lam),
            l1,
            l2,
            float(problem.lipschitz),
            smooth,
            W,
            Y,
            float(self.tol),
            0 if start is not None else int(self.max_iter),
            int(self.record),
            np.zeros(1, dtype=np.int64) if stop is None else stop,
            np.zeros(1) if progress is None else progress,
        )

    def _net(
        self, problem: TiedProblem, copies: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Elastic net of each entry."""
        l1 = np.full(n, float(self.mu))
        l2 = np.full(n, max(float(self.mu * self.eta), RIDGE))
        if problem.has_bias:
            l1[-1], l2[-1] = 0.0, max(float(self.mu * self.eta), BIAS_RIDGE)
        return copies[:, None] * l1, copies[:, None] * l2

    def _take(
        self, problem: TiedProblem, assign: np.ndarray, solved: tuple, started: float
    ) -> None:
        """Set the fitted attributes."""
        W, _, status, n_iter, objectives, gaps, steps = solved
        self.state_ = _state(solved, self.lam)
        self.classes_ = problem.classes
        self.objective_, self.gap_ = float(objectives[-1]), float(gaps[-1])
        self.n_iter_ = int(n_iter)
        self.assignment_ = np.full(int(problem.kept[-1]) + 1, -1, dtype=np.int64)
        self.assignment_[problem.kept] = assign
        means, self.merged_, counts = merge(W, problem.owners)
        self.merged_objective_ = self.objective_
        if len(means) < len(W):
            flat = self.run(problem, assign, start=means[self.merged_])
            self.merged_objective_ = float(flat[4][0])
        self.history_ = History(
            iteration=np.arange(len(objectives), dtype=np.float64),
            objective=objectives,
            gap=gaps,
            steps=_with_bias(steps, problem),
            status=int(status),
            n_iter=self.n_iter_,
            seconds=time.perf_counter() - started,
        )
        owners = np.empty(len(means), dtype=np.int64)
        owners[self.merged_] = problem.owners
        self.model_ = _model(problem, means, owners, counts, self.history_)
        if status == 3:
            raise SmpcoreError(
                "The fit diverged: a feature or weight is too large; scale the "
                "features (standardize=True) or make mu larger."
            )


def _state(solved: tuple, lam: float) -> tuple[np.ndarray, np.ndarray]:
    W, Y = solved[0], solved[1]
    return W, Y / lam if lam > 0 else np.zeros_like(Y)


def _with_bias(steps: np.ndarray, problem: TiedProblem) -> np.ndarray:
    if problem.has_bias or not len(steps):
        return steps
    return np.concatenate([steps, np.zeros((*steps.shape[:2], 1))], axis=2)


def _model(
    problem: TiedProblem,
    W: np.ndarray,
    owners: np.ndarray,
    counts: np.ndarray,
    history: History,
) -> PrototypeModel:
    n_prototypes, n_classes = len(W), len(problem.classes)
    n = len(problem.center)
    return PrototypeModel(
        center=problem.center,
        scale=problem.scale,
        low=problem.low,
        high=problem.high,
        similarity=Similarity("linear"),
        anchors=np.ascontiguousarray(W[:, :n]),
        mixing=np.eye(n_prototypes),
        bias=W[:, n].copy() if problem.has_bias else np.zeros(n_prototypes),
        pooling="max",
        votes=np.eye(n_classes)[owners],
        intercept=np.zeros(n_classes),
        classes=problem.classes,
        counts=counts,
        feature_names=problem.feature_names,
        sample_shape=problem.sample_shape,
        kind_of_prototype="direction",
        history=history,
    )
