"""Interpretable multiple-kernel prototype learning as a scikit-learn estimator."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from smpcore.errors import SmpcoreError
from smpcore.estimators.base import PrototypeClassifier, check_choice, check_number
from smpcore.estimators.imkpl.alternation import Alternation, IMKPLState, Weights
from smpcore.estimators.imkpl.choice import COUNTS, choose
from smpcore.estimators.imkpl.kernels import base_kernels, model_kernel, refuse_large
from smpcore.estimators.imkpl.measures import (
    case_centres,
    discrimination,
    interpretability,
    measures_in_words,
)
from smpcore.estimators.imkpl.problem import (
    IMKPLProblem,
    medoid_prototypes,
    neighbour_pairs,
    screen,
)
from smpcore.estimators.imkpl.starts import best_run
from smpcore.estimators.linear import TOO_LARGE
from smpcore.estimators.start import warn_if_fewer
from smpcore.model import History, PrototypeModel
from smpcore.solvers.smp import DIVERGED, ITERATION_LIMIT

KERNELS = ("features", "rbf", "linear", "precomputed", "gak")


class IMKPLClassifier(PrototypeClassifier):
    r"""Interpretable multiple-kernel prototype learning (IMKPL).

    Prototypes are mixes of a few real cases; an input is described by a few prototypes,
    and the classes of their cases vote. Several kernels, by default one per feature,
    are weighed so that neighbours of a class are alike: weights of 0 leave features
    out. Mixes U, codes :math:`\Gamma` and weights :math:`\beta` minimise in turn

    .. math:: \mathrm{tr}\,K(I-H)(I-H)^\top + \lambda\langle 1-S\circ K, H\rangle
              + \mu\,J_{ls} + \tau\sum_{ij} U_{ij} + \tfrac{\rho}{2}\|\beta\|^2,
              \qquad H = U\Gamma,\; K=\sum_l\beta_l K_l .

    Parameters
    ----------
    code_size : int, default=10
        Cases in a prototype, and prototypes in a code, at most.
    n_prototypes : int or None, default=None
        Prototypes of each class; a class of fewer rows gets fewer. None chooses 1, 2,
        5 or 10 on folds of the training rows, like `kappa`.
    lam : float, default=0.2
        Keeps codes to prototypes of the row's own class.
    mu : float, default=0.2
        Makes kernels good that keep neighbours of a class together.
    tau : float, default=0.2
        Makes the cases of a prototype alike, and fewer.
    kappa : float or None, default=None
        Evenness of the kernel weights: 0 keeps one kernel, infinity weighs all alike;
        None chooses it on folds of the training rows. What is chosen depends on the
        rows and kernels, not on the other parameters.
    kernels : {"features", "rbf", "linear", "precomputed", "gak"}, default="features"
        A Gaussian kernel per feature, one of all features, the cosine; kernels that
        stand side by side in X, ``(n_samples, n_samples * n_kernels)`` to fit,
        ``(n_rows, n_samples * n_kernels)`` to predict; or a global alignment kernel
        per channel of a series.
    n_channels : int, default=1
        For "gak": channels of equal length that stand side by side in X.
    n_neighbors : int or None, default=None
        Neighbours that count in `mu`'s term; None for `code_size`.
    tol : float, default=1e-4
        Relative change of the objective that ends the fit.
    max_iter : int, default=30
    random_state : int, RandomState or None, default=0
        Of the values that set the widths for "gak"; nothing else is random.
    standardize : bool, default=True
        Scale features to mean 0 and standard deviation 1; "features" are scale-free.
    class_weight : None
        There are no class weights.
    solver : {"path", "paper"}, default="path"
        How a prototype is updated: "path" tries every number of cases, "paper" the
        solution of its equation (9) alone.
    record : int, default=0
        Keep the centres of the prototypes' cases every so-many-th iteration in
        ``history_.steps``.

    Attributes
    ----------
    model_ : PrototypeModel
        Its anchors are the cases with weight in a prototype.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    objective_ : float
        The objective G; the problem is not convex, so no bound is known.
    gap_ : float
        NaN.
    n_asked_ : int
        Prototypes.
    n_iter_ : int
    history_ : History
    kappa_, n_prototypes_ : float, int
        Evenness of the kernel weights and prototypes of each class that were used.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Sum 1.
    dropped_ : ndarray of int
        Kernels that were left out beforehand because they tell no rows apart.
    anchor_rows_ : ndarray of int, shape (n_anchors,)
        Training row of each anchor.
    assignment_ : ndarray of int, shape (n_samples,)
        Prototype with the largest weight in each training row's code.
    ip_, dr_ : float
        Mean interpretability and, on training rows, discrimination, in percent.
    state_ : IMKPLState
        Start for the next `solve`.

    References
    ----------
    Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning for
    Discriminative Representation and Feature Selection. CIKM 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> fitted = IMKPLClassifier(kappa=1.0).fit(X, y)
    >>> int((fitted.kernel_weights_ > 0).sum()) < 8, fitted.score(X, y) > 0.95
    (True, True)
    """

    problem_params: ClassVar[tuple[str, ...]] = (
        "code_size",
        "n_prototypes",
        "kernels",
        "n_channels",
        "n_neighbors",
        "random_state",
        "standardize",
        "class_weight",
    )

    def __init__(
        self,
        code_size: int = 10,
        n_prototypes: int | None = None,
        lam: float = 0.2,
        mu: float = 0.2,
        tau: float = 0.2,
        kappa: float | None = None,
        kernels: str = "features",
        n_channels: int = 1,
        n_neighbors: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 30,
        random_state: Any = 0,
        standardize: bool = True,
        class_weight: None = None,
        solver: str = "path",
        record: int = 0,
    ) -> None:
        self.code_size = code_size
        self.n_prototypes = n_prototypes
        self.lam = lam
        self.mu = mu
        self.tau = tau
        self.kappa = kappa
        self.kernels = kernels
        self.n_channels = n_channels
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.standardize = standardize
        self.class_weight = class_weight
        self.solver = solver
        self.record = record

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows with labels, from a cold start.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        return self.solve(self.problem(X, y))

    def problem(self, X: Any, y: Any, sample_weight: None = None) -> IMKPLProblem:
        """Validate and scale the rows, screen the kernels and find the start.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : None
            Rows have no weights here.

        Returns
        -------
        IMKPLProblem
            Depends on the data and on `problem_params` only.
        """
        self._check_parameters()
        if sample_weight is not None:
            raise SmpcoreError(
                "sample_weight should be None: IMKPL has no weights of rows; repeat or "
                "leave out rows."
            )
        of_distances = self.kernels in ("features", "rbf")
        entries = self._scaled_rows(X, y, None, bias=False, distances=of_distances)
        codes = entries["codes"]
        order = np.argsort(codes, kind="stable")
        owners = codes[order]
        refuse_large(len(order), self.kernels in ("rbf", "linear"))
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(np.vdot(entries["X"], entries["X"])):
                raise SmpcoreError(TOO_LARGE)
        kernels = base_kernels(
            self.kernels, entries["X"], order, self.n_channels, self.random_state
        )
        variance, active, K = screen(kernels)
        pairs = neighbour_pairs(K, owners, self.n_neighbors or self.code_size)
        per_class = self.n_prototypes or COUNTS[-1]
        if self.n_prototypes is not None:
            sizes = np.minimum(np.bincount(owners), per_class)
            of_class = np.repeat(np.arange(len(sizes)), sizes)
            warn_if_fewer(per_class, of_class, entries["classes"])
        return IMKPLProblem(
            **entries,
            order=order,
            owners=owners,
            kernels=kernels,
            variance=variance,
            active=active,
            K=K,
            neighbours=kernels.pair_sums(*pairs),
            n_same=int((pairs[2] < 0).sum()),
            U=medoid_prototypes(K, owners, per_class, self.code_size),
        )

    def solve(
        self,
        problem: IMKPLProblem,
        state: IMKPLState | None = None,
        stop: np.ndarray | None = None,
        progress: np.ndarray | None = None,
    ) -> Self:
        """Solve a problem and keep the model.

        Parameters
        ----------
        problem : IMKPLProblem
        state : IMKPLState, optional
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
        stop = np.zeros(1, dtype=np.int64) if stop is None else stop
        progress = np.zeros(1) if progress is None else progress
        choice = choose(self, problem, state, stop)
        if self.n_prototypes is None and choice.n_prototypes != COUNTS[-1]:
            problem = problem.with_prototypes(choice.n_prototypes, self.code_size)
        started = time.perf_counter()
        numbers = map(float, (self.lam, self.mu, self.tau, choice.kappa))
        how = Weights(*numbers, int(self.code_size), self.solver == "path")
        limits = self.tol, self.max_iter, progress, self.record
        walk, run, start = best_run(problem, how, state, stop, *limits)
        status, objective, steps = run
        if status == DIVERGED:
            raise SmpcoreError(TOO_LARGE)
        if status == ITERATION_LIMIT:
            warnings.warn(
                f"max_iter={self.max_iter} was reached before the objective changed by "
                f"less than tol={self.tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        n_iter = len(objective)
        history = History(
            iteration=np.arange(min(1, n_iter), n_iter + 1, dtype=np.float64),
            objective=objective if n_iter else np.array([walk.objective()]),
            gap=np.full(max(n_iter, 1), np.nan),
            steps=case_centres(problem, steps, self.kernels),
            status=status,
            n_iter=n_iter,
            seconds=time.perf_counter() - started,
        )
        self._finish(problem, walk, history)
        self.kappa_ = how.kappa
        self.n_prototypes_ = choice.n_prototypes
        self.automatic_ |= choice.automatic
        self.measures_ |= choice.measures
        if start:
            self.measures_["Start"] = start
        return self

    def bounds(self, problem: IMKPLProblem) -> dict[str, tuple[float, float]]:
        """Useful range of `n_prototypes` for these rows: at most the largest class.

        Parameters
        ----------
        problem : IMKPLProblem

        Returns
        -------
        dict
            Name -> (low, high).
        """
        return {"n_prototypes": (1, float(np.bincount(problem.codes).max()))}

    def _finish(
        self, problem: IMKPLProblem, walk: Alternation, history: History
    ) -> None:
        """Wrap what was found and measure it."""
        n_classes = len(problem.classes)
        shape = self.n_channels, problem.n_features // self.n_channels
        used = np.flatnonzero(walk.U.any(axis=0))
        similarity, anchors = model_kernel(
            self.kernels, problem.kernels, walk.beta, problem.X, problem.order[used]
        )
        model = PrototypeModel(
            center=problem.center,
            scale=problem.scale,
            low=problem.low,
            high=problem.high,
            similarity=similarity,
            anchors=anchors,
            mixing=np.ascontiguousarray(walk.U[:, used].T),
            bias=np.zeros(len(walk.U)),
            pooling="sum",
            votes=problem.votes(walk.U),
            intercept=np.zeros(n_classes),
            classes=problem.classes,
            counts=np.ones(len(walk.U), dtype=np.int64),
            feature_names=problem.feature_names,
            sample_shape=shape if self.kernels == "gak" else (problem.n_features,),
            kind_of_prototype="mix of real cases",
            fallback=int(np.bincount(problem.codes).argmax()),
            history=history,
            code_size=int(self.code_size),
            gram=walk.gram,
        )
        codes = np.empty((len(problem.order), len(walk.U)))
        codes[problem.order] = walk.plain_codes()
        self._keep(problem, model, history, len(walk.U), codes @ model.votes)
        self.state_ = walk.state
        self.kernel_weights_ = walk.beta
        self.dropped_ = np.flatnonzero(~problem.active)
        self.anchor_rows_ = problem.order[used]
        self.assignment_ = codes.argmax(axis=1)
        self.ip_ = float(interpretability(model).mean())
        self.dr_ = float(np.nanmean(discrimination(codes, model.owner, problem.codes)))
        names = problem.feature_names if self.kernels == "features" else ()
        self.measures_ = measures_in_words(
            self.ip_, self.dr_, walk.beta, self.dropped_, names
        )

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        check_number("code_size", self.code_size, 1, 1000, integer=True)
        for name in ("n_prototypes", "n_neighbors"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 1, 10_000, integer=True)
        for name in ("lam", "mu", "tau"):
            check_number(name, getattr(self, name), 0.0, 1e6)
        if self.kappa is not None:
            check_number("kappa", self.kappa, 0.0)
        check_number("tol", self.tol, 0.0, 1.0, above=True)
        check_number("max_iter", self.max_iter, 1, 10**7, integer=True)
        check_number("record", self.record, 0, integer=True)
        check_choice("kernels", self.kernels, KERNELS)
        check_choice("solver", self.solver, ("path", "paper"))
        check_choice("standardize", self.standardize, (True, False))
        if self.class_weight is not None:
            raise SmpcoreError(
                f"class_weight={self.class_weight!r} should be None: IMKPL has no "
                "class weights; repeat rows of a class that should count more."
            )
        check_number("n_channels", self.n_channels, 1, integer=True)
        if self.kernels in ("precomputed", "gak") and self.standardize:
            what = "time of a series" if self.kernels == "gak" else "column of kernels"
            raise SmpcoreError(
                f"standardize=True would scale each {what} on its own, with kernels="
                f"{self.kernels!r}; set standardize=False."
            )
