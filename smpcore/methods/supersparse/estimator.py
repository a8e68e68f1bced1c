"""Super-sparse learning in similarity spaces as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.shared import allowed_values, scaling
from smpcore.methods.shared.base import (
    PrototypeClassifier,
    PrototypeEstimator,
    PrototypeRegressor,
)
from smpcore.methods.shared.distinct import joined_rows
from smpcore.methods.shared.gram import refuse_oblong
from smpcore.methods.shared.problem import Fitted, SolverOptions, spread_trace
from smpcore.methods.shared.starts import count_distinct
from smpcore.methods.supersparse import fit, value_solvers
from smpcore.methods.supersparse import problem as problems
from smpcore.methods.supersparse.blocks import BlockObjective
from smpcore.methods.supersparse.teachers import Teacher
from smpcore.model import History
from smpcore.similarity import SIMILARITIES, SMOOTH, Similarity


@dataclass(eq=False, repr=False)
class SuperSparseEstimator(PrototypeEstimator):
    """What classifier and regressor share."""

    state_class: ClassVar[type] = problems.SuperSparseState
    problem_class: ClassVar[type]
    allowed: ClassVar[Mapping[str, allowed_values.Number | allowed_values.OneOf]] = {
        "n_prototypes": allowed_values.Number(1, integer=True, optional=True),
        "lam": allowed_values.Number(0.0, 1e12),
        "gamma": allowed_values.Number(0.0, 1e12, above=True, optional=True),
        "degree": allowed_values.Number(1, 20, integer=True),
        "coef0": allowed_values.Number(0.0, 1e12),
        "start": allowed_values.OneOf(("auto", "kmeans", "greedy", "random")),
        "removal": allowed_values.OneOf(problems.REMOVALS),
        "teacher_C": allowed_values.Number(0.0, 1e12, above=True),
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
        kinds = SIMILARITIES.items()
        return self._kind in [name for name, kind in kinds if kind.takes_sparse]

    @property
    def reads_blocks(self) -> bool:
        """Whether rows may stay in their file: sums over blocks are all it asks."""
        kinds = SIMILARITIES.items()
        return (
            self._kind in [name for name, kind in kinds if kind.standardised]
            and bool(self.standardize)
            and isinstance(self.target, str)
            and self.target == "labels"
            and self._free_errors() == problems.SQUARED
        )

    def bounds(self, problem: problems.AnyProblem) -> dict[str, tuple[float, float]]:
        """Useful ranges of `n_prototypes`, `gamma` and `lam` for these rows.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression

        Returns
        -------
        dict
            Name -> (low, high).
        """
        return problems.slider_ranges(problem.rows, self._kind)

    def resolve_defaults(self, problem: problems.AnyProblem) -> dict[str, float]:
        """Values that None stands for, for these rows.

        Parameters
        ----------
        problem : SuperSparseProblem or SuperSparseRegression

        Returns
        -------
        dict
            Name -> value.
        """
        gamma = self.gamma
        if gamma is None:
            gamma = problems.natural_gamma(problem.rows, self._kind)
        return {
            "n_prototypes": count_distinct(problem.rows.pool, self._n_asked(problem)),
            "gamma": float(gamma),
        }

    def objective(self, problem: problems.AnyProblem) -> problems.Objective:
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
        return problems.Objective(rows, similarity, self.lam, self._free_errors())

    def _teacher(self) -> Teacher:
        """Whose decisions are imitated."""
        return Teacher(self.target, float(self.teacher_C))

    def _free_errors(self) -> float:
        """Errors that cost nothing, or SQUARED."""
        return problems.SQUARED

    def _solve(
        self,
        problem: problems.AnyProblem,
        state: problems.SuperSparseState | None,
        options: SolverOptions,
    ) -> Fitted:
        """Start, solve, and merge prototypes at the same place."""
        objective = self.objective(problem)
        n_prototypes = problems.clipped_count(objective.rows, self._n_asked(problem))
        kind, center = objective.similarity.kind, problem.center
        box = self.box
        if kind == "strings":  # the range of their codes
            box = -1.0, np.full(problem.n_features, problem.rows.cases.max() + 0.5)
        box = problems.scaled_box(box, kind, center, problem.scale)
        random = check_random_state(self.random_state)
        parts = objective, n_prototypes, box, options, random
        search = fit.Search(*parts, self.start, self.removal)
        solution, Z, starts = search.run(state)
        fit.refuse_diverged(solution)
        self._report(solution.status, lambda: fit.shortfall(solution, self.max_iter))
        self.gamma_ = objective.similarity.gamma
        self.dual_coef_ = solution.B
        build = partial(fit.fitted_state, problem, objective, Z)
        steps = solution.steps, solution.places
        history = History(
            iteration=np.arange(len(solution.objective), dtype=np.float64),
            objective=solution.objective,
            gap=np.full(len(solution.objective), np.nan),
            steps=spread_trace(problem, *steps, build, "moving the prototypes"),
            status=solution.status,
            n_iter=solution.n_iter,
            seconds=options.seconds,
        )
        fitted = build(solution.Z, history, (solution.B, solution.intercept))
        defaults = self.resolve_defaults(problem)
        left = [name for name in defaults if getattr(self, name) is None]
        return replace(
            fitted,
            state=problems.SuperSparseState(solution.Z),
            automatic={name: defaults[name] for name in left},
            starts=starts,
        )

    @property
    def _kind(self) -> str:
        """Name of the similarity."""
        return "callable" if callable(self.similarity) else self.similarity

    def _similarity(self, rows: problems.Rows) -> Similarity:
        """The similarity at these parameters."""
        if callable(self.similarity):
            return Similarity(
                "callable", function=value_solvers.CheckedFunction(self.similarity)
            )
        gamma = self.gamma
        if gamma is None:
            gamma = problems.natural_gamma(rows, self._kind)
        parts = float(gamma), int(self.degree), float(self.coef0)
        return Similarity(self.similarity, *parts)

    def _dense(self, X: Any) -> Any:
        """Rows as the kernels take them; what is not taken is refused later."""
        return scaling.dense_rows(X) if issparse(X) and self.takes_sparse else X

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> problems.AnyProblem:
        """Scale the rows and bring targets to standard units; equal rows are one.

        Of rows that are read in blocks equal ones stay apart; starts see them as one.
        """
        X, entries, values, places = self._targets(X, y, sample_weight)
        in_blocks, kind = self.reads_blocks and scaling.is_large(X), self._kind
        if kind == "strings":
            value_solvers.refuse_non_strings(X)
        if kind == "precomputed":
            refuse_oblong(X.shape, "similarity", ", matrix beside matrix")
        if kind == "callable":
            value_solvers.CheckedFunction(self.similarity).refuse_asymmetric(X)
        first, masses, place = joined_rows(X, places, sample_weight)
        weights = allowed_values.sample_weights(masses, len(masses))
        if in_blocks:
            of_all = entries["weights"]
            scaled, center, scale = scaling.scaled_as_read(X, of_all, True, False)
            weights = self._weighed(weights, entries, places[first])
            of_all = self._weighed(of_all.copy(), entries, places)
            targets, joined = (values, places), (first, weights)
            rows = problems.rows_in_blocks(scaled, targets, of_all, joined)
        else:
            row = SIMILARITIES[kind]
            standardize = bool(self.standardize) and row.standardised
            options = weights, standardize, False, row.vanishes
            distinct, center, scale = scaling.scaled_copy(X[first], *options)
            weights = self._weighed(weights, entries, places[first])
            targets = values[places[first]]
            rows = problems.standard_rows(distinct, targets, weights, kind)
            scaled = (X - center) / scale
        units = {"X": scaled, "center": center, "scale": scale}
        mass = float(masses.sum())
        entries |= {"rows": rows, "mass": mass, "place": place}
        return self.problem_class(**(entries | units))

    def _weighed(
        self, weights: np.ndarray, entries: dict[str, Any], places: np.ndarray
    ) -> np.ndarray:
        """Weights of rows as the objective takes them."""
        return weights

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        super()._check_parameters()
        if not (hasattr(self.target, "fit") and hasattr(self.target, "get_params")):
            allowed_values.OneOf(self.targets).check("target", self.target)
        if not callable(self.similarity):
            kinds = (*SMOOTH, "strings", "precomputed")
            allowed_values.OneOf(kinds).check("similarity", self.similarity)
        if self._kind == "precomputed" and self.target != "labels":
            raise SmpcoreError(
                f"target={self.target!r} should be 'labels' with "
                "similarity='precomputed': a teacher needs features; change target."
            )


@dataclass(eq=False, repr=False)
class SuperSparseClassifier(SuperSparseEstimator, PrototypeClassifier):
    r"""Classifier with a few virtual prototypes (super-sparse learning).

    A score is a weighted sum of similarities to prototypes that no one has ever seen:
    they are placed, by gradients, where they help most. Prototypes Z and coefficients
    minimise

    .. math:: \sum_i u_i \|B^\top s(x_i, Z) + b - y_i\|^2 + \lambda\|B\|_F^2 .


    Parameters
    ----------
    n_prototypes : int or None, default=None
        Prototypes of all classes together. None: 5 for two classes, else 2 for each.
    lam : float, default=1e-4
        Ridge on the coefficients, in units of the targets' variance. Larger gives
        smaller coefficients, and prototypes that fall together.
    similarity : str or callable, default="rbf"
        One of `smpcore.similarity.SMOOTH`, such as "linear"; "strings" (rows made by
        `encode_strings`), "precomputed" (X holds the
        similarities to the training rows, ``(n, n * n_matrices)`` to fit: prototypes
        are some of these rows), or a symmetric function
        ``(X, Z) -> (n_samples, n_prototypes)`` of rows in your units.
    gamma : float or None, default=None
        Factor of RBF, Laplacian, polynomial and strings; None: as wide as the data.
        Larger makes a prototype more local.
    degree : int, default=3
        Degree of the polynomial.
    coef0 : float, default=1.0
        Constant of the polynomial; larger gives lower degrees more weight.
    target : {"labels", "teacher"} or estimator, default="labels"
        What is imitated: the labels, or the decisions of an SVM on all rows. Or an
        estimator of your own: a copy of it learns from the rows in your units, and its
        `decision_function`, or else `predict_proba`, is imitated.
    box : (low, high), default=None
        Where prototypes may be, in your units: numbers, or arrays of shape
        (n_features,).
    start : {"auto", "kmeans", "greedy", "random"}, default="auto"
        Cluster centres of rows and targets, rows chosen greedily, rows drawn at random
        as in the paper, or for small data the best of several starts.
    tol : float, default=1e-5
        Stop after three steps that each lower the objective by less, relatively.
    max_iter : int, default=200
        Most steps of the solver; a fit that reaches it warns.
    random_state : int, RandomState or None, default=0
        Seed of the starts; with an integer, fits are repeatable.
    standardize : bool, default=True
        Whether features are scaled to mean 0 and standard deviation 1, for RBF,
        Laplacian, linear and polynomial; other similarities take rows as they come.
    class_weight : None, "balanced" or dict, default=None
        Factor on the weights of each class's rows. None: rows count alike;
        "balanced": classes count alike, so that rare ones are predicted more often.
    record : int, default=0
        Keep every `record`-th step and the last, for ``history_.step``; rarer ones if
        there are more than 200.
    warm_start : bool, default=False
        Start a fit from the last one, if rows and starts allow it: for a sequence of
        penalties. The result agrees with a cold fit's to `tol` where the problem is
        convex.
    removal : {"rise", "coefficient"}, default="rise"
        What a warm start with fewer prototypes leaves out: those without which the
        objective rises least, or the smallest coefficients, as in the paper.
    teacher_C : float, default=1.0
        C of the SVM that is imitated; larger makes fewer errors on training rows.

    Attributes
    ----------
    model_ : PrototypeModel
        Prototypes with their votes; those at the same place are one.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted; the order of scores and probabilities.
    n_features_in_ : int
        Features that `fit` saw.
    objective_ : float
        In standard units: the variance of the targets is 1.
    gap_ : float
        NaN: the problem is not convex, no bound is known.
    n_asked_ : int
        Prototypes asked for, at most the distinct rows.
    n_iter_ : int
        Iterations of the solver; of rows read in blocks, those on all of them.
    history_ : History
        Objective and gap by iteration, and how the fit ended.
    gamma_ : float
        Value that was used; what the data suggest if `gamma` is None.
    start_ : ndarray of shape (n_asked_, n_features)
        Where the prototypes started, scaled units.
    dual_coef_ : ndarray of shape (n_asked_, n_outputs)
        Coefficients of the prototypes as solved, in standard units.
    merged_ : ndarray of int, shape (n_asked_,)
        Prototype of `model_` that each solved one became.
    off_data_ : ndarray of bool, shape (n_prototypes,), or None
        Whether a prototype of `model_` is farther from every training row than 95 % of
        these are from their nearest other one; None where the similarity knows no
        distances.
    assignment_ : ndarray of int, shape (n_samples,)
        Prototype that each training row is most like.
    state_ : SuperSparseState
        Start for the next `solve`, also of another number of prototypes.

    See Also
    --------
    fit_smallest : Chooses `n_prototypes` on rows kept apart.
    prune_path : Fits of fewer and fewer prototypes, each from the one before.
    removal_costs : What each prototype is worth.
    encode_strings : Makes rows for ``similarity="strings"``.

    References
    ----------
    Demontis, Melis, Biggio, Fumera, Roli: Super-sparse learning in similarity spaces.
    IEEE Computational Intelligence Magazine 11(4), 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> few = SuperSparseClassifier(20, standardize=False).fit(X[:1000], y[:1000])
    >>> few.model_.n_prototypes, few.score(X[1000:], y[1000:]) > 0.94
    (20, True)
    """

    problem_params: ClassVar[tuple[str, ...]] = (
        "similarity",
        "standardize",
        "class_weight",
    )
    targets: ClassVar[tuple[str, ...]] = ("labels", "teacher")
    problem_class: ClassVar[type] = problems.SuperSparseProblem

    class_weight: Any = None

    def _targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        """Checked rows, entries, a target of each class, and the class of each row."""
        X, entries = self._labelled_rows(self._dense(X), y, sample_weight)
        n_classes = len(entries["classes"])
        hot = np.eye(n_classes)[:, 1:] if n_classes == 2 else np.eye(n_classes)
        return X, entries, 2.0 * hot - 1.0, entries["y_encoded"]

    def _weighed(
        self, weights: np.ndarray, entries: dict[str, Any], places: np.ndarray
    ) -> np.ndarray:
        """Weights of rows times those of their classes."""
        return allowed_values.weigh_classes(
            weights, self.class_weight, entries["classes"], places
        )

    def _n_asked(self, problem: problems.SuperSparseProblem) -> int:
        """Prototypes asked for."""
        if self.n_prototypes is not None:
            return int(self.n_prototypes)
        n_classes = len(problem.classes)
        return 5 if n_classes == 2 else 2 * n_classes


@dataclass(eq=False, repr=False)
class SuperSparseRegressor(SuperSparseEstimator, PrototypeRegressor):
    r"""Regressor with a few virtual prototypes (super-sparse learning).

    The prediction is a weighted sum of similarities to a few invented cases.

    Parameters
    ----------
    n_prototypes : int or None, default=None
        Cases of the model; None: 10. More fit closer and cost more to store.
    target : {"labels", "ridge", "lasso", "svr"} or estimator, default="labels"
        What is imitated: the given numbers, or the predictions of a ridge or LASSO
        regression on the similarities to all rows, or of SVM regression. Or an
        estimator of your own: a copy of it learns from the rows in your units.
    lam, similarity, gamma, degree, coef0, box, start, tol, max_iter, random_state, \
            standardize, record, warm_start, removal
        As of `SuperSparseClassifier`.
    loss : {"squared", "epsilon-insensitive"}, default="squared"
        Errors are squared; or errors up to `epsilon` are free and larger ones count by
        their size, so that few wrong targets matter less. Its kink is rounded over a
        tenth of the targets' standard deviation. Not with "strings".
    epsilon : float, default=0.1
        Free errors of that loss and of the SVM that is imitated, in standard
        deviations of the targets.
    teacher_C : float, default=1.0
        C of the SVM that is imitated; larger makes fewer errors on training rows.
    teacher_alpha : float or None, default=None
        Penalty of the ridge or LASSO that is imitated, with targets of variance 1;
        None: chosen by folds.

    Attributes
    ----------
    model_, n_features_in_, objective_, gap_, n_asked_, n_iter_, history_, gamma_, \
            start_, dual_coef_, merged_, off_data_, assignment_, state_
        As of `SuperSparseClassifier`.

    References
    ----------
    Demontis, Melis, Biggio, Fumera, Roli: Super-sparse learning in similarity spaces.
    IEEE Computational Intelligence Magazine 11(4), 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> few = SuperSparseRegressor(4, lam=1e-3).fit(X, y)
    >>> few.model_.n_prototypes, few.score(X, y) > 0.45
    (4, True)
    """

    problem_params: ClassVar[tuple[str, ...]] = ("similarity", "standardize")
    targets: ClassVar[tuple[str, ...]] = ("labels", "ridge", "lasso", "svr")
    problem_class: ClassVar[type] = problems.SuperSparseRegression
    allowed: ClassVar[Mapping[str, allowed_values.Number | allowed_values.OneOf]] = {
        **SuperSparseEstimator.allowed,
        "loss": allowed_values.OneOf(("squared", "epsilon-insensitive")),
        "epsilon": allowed_values.Number(0.0, 1e12),
        "teacher_alpha": allowed_values.Number(0.0, 1e12, above=True, optional=True),
    }

    loss: str = "squared"
    epsilon: float = 0.1
    teacher_alpha: float | None = None

    def resolve_defaults(
        self, problem: problems.SuperSparseRegression
    ) -> dict[str, float]:
        """Values that None stands for, for these rows.

        Parameters
        ----------
        problem : SuperSparseRegression
            Training rows, made by `problem`.

        Returns
        -------
        dict
            Name -> value.
        """
        defaults = super().resolve_defaults(problem)
        if isinstance(self.target, str) and self.target in ("ridge", "lasso"):
            similarity = self._similarity(problem.rows)
            alpha = self._teacher().penalty(problem, similarity)
            defaults["teacher_alpha"] = alpha
        return defaults

    def _teacher(self) -> Teacher:
        """Whose decisions are imitated."""
        options = self.teacher_alpha, float(self.epsilon)
        return Teacher(self.target, float(self.teacher_C), *options)

    def _free_errors(self) -> float:
        """Errors that cost nothing, or SQUARED."""
        return problems.SQUARED if self.loss == "squared" else float(self.epsilon)

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range, or do not go together."""
        super()._check_parameters()
        if self.loss != "squared" and self._kind in ("strings", "precomputed"):
            raise SmpcoreError(
                f"loss={self.loss!r} cannot be combined with similarity="
                f"{self._kind!r}; use loss='squared'."
            )

    def _targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        """Checked rows, entries, distinct targets, and which each row has."""
        X, entries = self._numbered_rows(self._dense(X), y, sample_weight)
        values, places = np.unique(entries["y"], return_inverse=True)
        return X, entries, values[:, None], places

    def _n_asked(self, problem: problems.SuperSparseRegression) -> int:
        """Prototypes asked for."""
        return 10 if self.n_prototypes is None else int(self.n_prototypes)


#: What a prototype costs: in error rate, or in standard deviations of the target.
CLASSIFICATION_PRICE, REGRESSION_PRICE = 0.0005, 0.01


def removal_costs(
    fitted: SuperSparseEstimator, problem: problems.AnyProblem
) -> np.ndarray:
    """Exact rise of the objective when a prototype is left out and the rest refitted.

    Not the size of its coefficient: that ignores how large its similarities are, and
    whether another prototype says the same.

    Parameters
    ----------
    fitted : SuperSparseClassifier or SuperSparseRegressor
        Estimator whose prototypes are left out one at a time.
    problem : SuperSparseProblem or SuperSparseRegression
        The one it was fitted to.

    Returns
    -------
    ndarray of shape (n_asked_,)
        Of the prototypes as solved, in the units of ``objective_``.
    """
    Z, objective = fitted.state_.Z, fitted.objective(problem)
    return problems.removal_increases(objective.condensed(Z), Z)


def prune_path(
    estimator: SuperSparseEstimator, problem: problems.AnyProblem, sizes: Sequence[int]
) -> Iterator[SuperSparseEstimator]:
    """Fit fewer and fewer prototypes, each fit without the cheapest of the one before.

    Parameters
    ----------
    estimator : SuperSparseClassifier or SuperSparseRegressor
        Its parameters count, but for `n_prototypes`; it is not changed.
    problem : SuperSparseProblem or SuperSparseRegression
        Training rows, made by `problem` of the estimator.
    sizes : sequence of int
        Numbers of prototypes, falling.

    Yields
    ------
    SuperSparseClassifier or SuperSparseRegressor
        Fitted, one for each size.

    Raises
    ------
    SmpcoreError
        If `sizes` does not fall.
    """
    if any(after >= before for before, after in pairwise(sizes)):
        raise SmpcoreError(f"sizes={list(sizes)!r} should fall; sort them so.")
    state = None
    for size in sizes:
        fitted = clone(estimator).set_params(n_prototypes=int(size))
        fitted.solve(problem, state=state)
        state = fitted.state_
        yield fitted


def choose_size(sizes: Sequence[int], losses: Sequence[float], price: float) -> int:
    """Choose the number of prototypes with the least loss plus price (equation 8)."""
    sizes = np.asarray(sizes)
    total = np.asarray(losses, dtype=np.float64) + price * sizes
    return int(sizes[total <= total.min() + 1e-12].min())


def fit_smallest(
    estimator: SuperSparseEstimator,
    X: Any,
    y: Any,
    sizes: Sequence[int],
    price: float | None = None,
    validation: float = 0.25,
    seed: int = 0,
) -> SuperSparseEstimator:
    """Choose the number of prototypes on rows kept apart, then fit all rows with it.

    Parameters
    ----------
    estimator : SuperSparseClassifier or SuperSparseRegressor
        Its parameters count, but for `n_prototypes`; it is not changed.
    X : array-like of shape (n_samples, n_features)
        Training rows; every value is finite.
    y : array-like of shape (n_samples,)
        Class of each row, or the number to predict.
    sizes : sequence of int
        Numbers of prototypes to try, falling.
    price : float, optional
        Error rate, or mean absolute error in standard deviations of y, that one
        prototype less may cost; 0.0005 and 0.01 otherwise.
    validation : float
        Share of the rows that choose.
    seed : int
        Seed that draws the rows kept apart.

    Returns
    -------
    SuperSparseClassifier or SuperSparseRegressor
        A fitted copy.
    """
    from sklearn.model_selection import train_test_split

    X, y = np.asarray(X), np.asarray(y)
    counts = is_classifier(estimator)
    learned, held_out = train_test_split(
        np.arange(len(y)),
        test_size=validation,
        random_state=seed,
        stratify=y if counts else None,
    )
    problem = clone(estimator).problem(X[learned], y[learned])
    losses = []
    for fitted in prune_path(estimator, problem, sizes):
        predicted = fitted.predict(X[held_out])
        if counts:
            losses.append(float(np.mean(predicted != y[held_out])))
        else:
            unit = float(np.std(y[learned])) or 1.0
            losses.append(float(np.abs(predicted - y[held_out]).mean()) / unit)
    if price is None:
        price = CLASSIFICATION_PRICE if counts else REGRESSION_PRICE
    size = choose_size(sizes, losses, price)
    return clone(estimator).set_params(n_prototypes=size).fit(X, y)
