"""Multi-prototype support vector machine as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags, check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.mprotsvm import problem as problems
from smpcore.methods.mprotsvm.fit import affordable_inits, solve_in_memory
from smpcore.methods.mprotsvm.many_rows import (
    ManyRowsProblem,
    are_many,
    solve_many_rows,
)
from smpcore.methods.shared.allowed_values import Number, OneOf
from smpcore.methods.shared.base import PrototypeClassifier
from smpcore.methods.shared.dask_rows import over_rows
from smpcore.methods.shared.gram import refuse_oblong, refuse_standardised
from smpcore.methods.shared.problem import Fitted, SolverOptions
from smpcore.methods.shared.scaling import gamma_range
from smpcore.model import History
from smpcore.similarity import Similarity


@dataclass(eq=False, repr=False)
class MultiPrototypeSVC(PrototypeClassifier):
    r"""Multi-prototype support vector machine.

    Every class has a few prototypes; a class scores as high as its best one. Rows
    should score a margin of 1 higher on a prototype of their own class than on any
    rival:

    .. math:: \min_{M,\pi} \tfrac12\sum_r\|M_r\|^2 + \sum_i C_i
              \big[1 - M_{\pi(i)}\cdot x_i + \max_{r\notin c(i)} M_r\cdot x_i\big]_+ .

    With the assignments :math:`\pi` fixed this is convex and solved to a certificate;
    the assignments are found by annealing. One prototype per class is the
    Crammer-Singer SVM. Of more than 200,000 rows with linear similarity, and of rows
    that stay in files or with the workers of a cluster, 100,000 that are drawn find
    the assignments; Newton steps on all rows follow, to the same certificate.

    Parameters
    ----------
    n_prototypes : int, default=3
        Prototypes of each class at most; a class of fewer distinct rows gets fewer.
        The model has fewer where its objective is then lower.
    C : float, default=0.1
        Price of a row's slack, times its weight, against half the squared norm of the
        prototypes. Larger follows the training rows closer.
    kernel : {"linear", "rbf", "poly", "precomputed"}, default="linear"
        Similarity of two rows. Unless it is linear, prototypes are mixes of training
        rows, and time grows with the square of their number. With "precomputed",
        and `standardize` off, X holds the similarities: (n, n) of all training rows
        to fit, (n_samples, n) of new rows to those to predict.
    landmarks : int or None, default=None
        With "rbf" and "poly", so many training rows at most, chosen by k-means, of
        which all prototypes are mixes; those that others make up are left out. Time
        and memory grow with rows times landmarks only.
        0: every row may be part of a prototype; more than 11,180 different rows are
        refused, as their similarities take too much memory. None: 0, but of so many
        rows 500, and a caution says so.
    gamma : float or None, default=None
        Factor of "rbf" and "poly", per squared scaled unit; None is 1 / n_features.
        Larger makes an RBF more local.
    degree : int, default=3
        Degree of "poly"; larger bends borders more.
    coef0 : float, default=1.0
        Constant of "poly"; larger gives lower degrees more weight.
    temperature : float, default=0.2
        Where annealing starts, in units of C. Larger moves rows between prototypes
        more freely at first; 0 is no annealing.
    cooling : float, default=0.91
        Factor from one temperature to the next; closer to 1 is slower and better.
    start : {"random", "kmeans"}, default="random"
        Which rows share a prototype at first; prototypes are fitted to it before rows
        first move, and a high temperature forgets it.
    n_init : int or None, default=None
        New starts with 2 prototypes per class, and fewer with 3, 5, 6, 10, 12, 20, ...;
        all numbers also start from the best fit of fewer, with one prototype of each
        class split. None takes 7 for small tables, fewer for large ones.
    tol : float, default=1e-2
        Stop when the objective is certified to be this close to the best for the
        final assignments, relatively; a start that is kept is solved closer.
    max_iter : int, default=2000
        Most sweeps over the rows from each start, and most passes over very many; a
        fit that reaches it warns.
    random_state : int, RandomState or None, default=0
        Seed of the starts and of the annealing; with an integer, fits are repeatable.
    standardize : bool, default=True
        Whether features are scaled to mean 0 and standard deviation 1 before the fit.
        Sparse features keep their zeros: they are scaled, but not centred.
    class_weight : None, "balanced" or dict, default=None
        Factor on the weights of each class's rows. None: rows count alike;
        "balanced": classes count alike, so that rare ones are predicted more often.
    record : int, default=0
        Keep the state at every `record`-th certificate and the last, for
        ``history_.step``; rarer ones if there are more than 200.
    warm_start : bool, default=False
        Start a fit from the last one, if rows and starts allow it: for a sequence of
        penalties. The result agrees with a cold fit's to `tol` where the problem is
        convex.

    Attributes
    ----------
    model_ : PrototypeModel
        Without dead prototypes, those that no row is tied to. Of given similarities
        it is linear in them: its anchors pick those to the rows `anchor_rows_`.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted; the order of scores and probabilities.
    n_features_in_ : int
        Features that `fit` saw.
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
        Prototype, as solved, that each training row is tied to.
    merged_ : ndarray of int, shape (n_solved,)
        Prototype of `model_` that each solved one became; -1 if it was left out.
    wins_ : ndarray of int, shape (n_prototypes,)
        Training rows for which a prototype is the best of their own class.
    starts_ : tuple of Start
        Starts of the fit: prototypes of each class, objective reached, bound for its
        assignments, and whether it went to its end. Others were left, as their bounds
        were higher.
    state_ : SVMState, or None of very many rows
        Start for the next `solve`, also of more prototypes. The model's objective is
        then at most that of going on from it without annealing.

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
        "landmarks",
        "start",
        "random_state",
        "standardize",
        "class_weight",
    )
    certificate: ClassVar[str] = "no model with these assignments"
    removal_reason: ClassVar[str] = "removed, as they do not lower the objective"
    state_class: ClassVar[type] = problems.SVMState
    allowed: ClassVar[Mapping[str, Number | OneOf]] = {
        "n_prototypes": Number(1, 1000, integer=True),
        "C": Number(0.0, 1e6, above=True),
        "kernel": OneOf(("linear", "rbf", "poly", "precomputed")),
        "gamma": Number(0.0, 1e6, above=True, optional=True),
        "degree": Number(1, 20, integer=True),
        "coef0": Number(0.0, 1e6),
        "landmarks": Number(0, 10_000, integer=True, optional=True),
        "temperature": Number(0.0, 1e6),
        "cooling": Number(0.0, 0.99, above=True),
        "start": OneOf(("random", "kmeans")),
        "n_init": Number(1, 1000, integer=True, optional=True),
    }

    n_prototypes: int = 3
    C: float = 0.1
    kernel: str = "linear"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    temperature: float = 0.2
    cooling: float = 0.91
    start: str = "random"
    n_init: int | None = None
    tol: float = 1e-2
    max_iter: int = 2000
    random_state: Any = 0
    standardize: bool = True
    class_weight: Any = None
    record: int = 0
    warm_start: bool = False
    landmarks: int | None = None

    def bounds(
        self, problem: problems.SVMProblem | ManyRowsProblem
    ) -> dict[str, tuple[float, float]]:
        """Useful ranges of `C`, `gamma` and `n_prototypes` for these rows.

        Parameters
        ----------
        problem : SVMProblem or ManyRowsProblem
            Training rows, made by `problem` of this estimator.

        Returns
        -------
        dict
            Name -> (low, high).
        """
        in_memory = problem.drawn if isinstance(problem, ManyRowsProblem) else problem
        largest = int(np.bincount(in_memory.y_encoded).max())
        return {
            "C": (1e-3, 10.0 if self.kernel == "linear" else 100.0),
            "gamma": gamma_range(1.0 / problem.n_features),
            "n_prototypes": (1, max(2, min(20, largest))),
        }

    @property
    def takes_sparse(self) -> bool:
        """Whether X may be sparse: only the linear kernel keeps the prototypes."""
        return self.kernel == "linear"

    reads_blocks = takes_sparse

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may give to `fit`, and how it takes folds of it."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        super()._check_parameters()
        if self.kernel == "precomputed":
            what = "column of similarities"
            refuse_standardised("kernel='precomputed'", self.standardize, what)

    def _similarity(self, n_features: int) -> Similarity:
        """The similarity of these parameters."""
        gamma = 1.0 / n_features if self.gamma is None else float(self.gamma)
        if self.kernel == "rbf":
            return Similarity("rbf", gamma=gamma)
        if self.kernel == "poly":
            return Similarity("poly", gamma, int(self.degree), float(self.coef0))
        return Similarity("linear")

    def _problem(
        self, X: Any, y: Any, sample_weight: Any
    ) -> problems.SVMProblem | ManyRowsProblem:
        """Scale rows, and of very many draw those that are solved at first."""
        linear, rbf = self.kernel == "linear", self.kernel == "rbf"
        entries = self._scaled_rows(X, y, sample_weight, bias=linear, distances=rbf)
        if self.kernel == "precomputed":
            refuse_oblong(entries["X"].shape, "kernel")
        total = float(len(entries["y_encoded"]))
        if sample_weight is not None:
            total = over_rows(problems.total_weight, sample_weight)
        random = check_random_state(self.random_state)
        similarity = self._similarity(len(entries["center"]))
        if not (linear and are_many(entries["X"])):
            return problems.in_memory_problem(self, entries, total, similarity, random)
        drawn = problems.draw_rows(entries, random)
        share = total * len(drawn["weights"]) / len(entries["y_encoded"])
        drawn = problems.in_memory_problem(self, drawn, share, similarity, random)
        return ManyRowsProblem(**entries, drawn=drawn, total=total)

    def _solve(
        self,
        problem: problems.SVMProblem | ManyRowsProblem,
        state: problems.SVMState | None,
        options: SolverOptions,
    ) -> Fitted:
        """Solve the rows, or those drawn and then all of them."""
        many = isinstance(problem, ManyRowsProblem)
        in_memory = problem.drawn if many else problem
        self._refuse_price(in_memory)
        n_init = int(self.n_init or affordable_inits(in_memory))
        search = replace(self, n_init=n_init)
        if many:
            fitted, certificate = solve_many_rows(problem, search, options)
        else:
            fitted, certificate = solve_in_memory(problem, search, options, state)
        history = fitted.model.history
        limited = not many or history.n_iter == self.max_iter
        self._report(history.status, lambda: self._shortfall(history, limited))
        self.free_objective_ = certificate.free
        values: dict[str, float] = {"n_init": n_init}
        if in_memory.landmarks is not None and not in_memory.is_plain:
            values["landmarks"] = problems.N_LANDMARKS
        if in_memory.similarity.kind != "linear":
            values["gamma"] = 1.0 / problem.n_features
        automatic = {
            name: value for name, value in values.items() if getattr(self, name) is None
        }
        return replace(fitted, automatic=automatic)

    def _refuse_price(self, problem: problems.SVMProblem) -> None:
        """Refuse a price of slack that leaves no digits for the margin."""
        most = self.C * problem.shares.max()
        if not 0 < most <= 1e12:
            raise SmpcoreError(
                f"C={self.C:g} times the largest weight of a row is {most:.3g} and "
                "should be above 0 and at most 1e+12; scale sample_weight or change C."
            )

    def _shortfall(self, history: History, limited: bool) -> str:
        """How far a fit is from `tol`, in words, and whether `max_iter` ended it."""
        gap = history.gap[-1] / history.objective[-1]
        if not limited:
            return (
                f"The fit ended with the objective certified to {gap:.1e}, not to "
                f"tol={self.tol:g}, and went no further; raise tol or lower C."
            )
        return (
            f"max_iter={self.max_iter} sweeps were reached with the objective "
            f"certified to {gap:.1e} or rows still moving, with tol={self.tol:g}; "
            "raise max_iter or tol, or lower C."
        )
