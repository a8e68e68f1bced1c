"""Interpretable multiple-kernel prototype learning as a scikit-learn estimator."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
from scipy.sparse import issparse

from smpcore.errors import SmpcoreError, cautions
from smpcore.methods.imkpl import fit
from smpcore.methods.imkpl import problem as problems
from smpcore.methods.imkpl.kinds_of_kernels import base_kernels
from smpcore.methods.shared.allowed_values import Number, OneOf, class_values
from smpcore.methods.shared.base import TOO_LARGE, PrototypeClassifier
from smpcore.methods.shared.distinct import joined_rows
from smpcore.methods.shared.gram import refuse_oblong, refuse_standardised
from smpcore.methods.shared.inner_folds import in_words, inner_folds
from smpcore.methods.shared.problem import Fitted, SolverOptions, spread_trace
from smpcore.methods.shared.scaling import dense_rows, scaled_copy
from smpcore.methods.shared.starts import warn_if_fewer
from smpcore.model.prototype_measures import discrimination, interpretability
from smpcore.model.prototype_model import sparse_codes
from smpcore.readouts import number_text

#: Values of kappa that are compared, from even weights to few kernels.
KAPPAS = 100.0 / 2.0 ** np.arange(9)
#: Numbers of prototypes of a class that are compared; kappa is chosen with the last.
COUNTS = (1, 2, 5, 10)
#: The other parameters of the fits that are compared, which are short.
SETTINGS = {"lam": 0.2, "mu": 0.2, "tau": 0.2, "code_size": 10, "path": True}
#: Most rounds at a value of kappa, which begin where those at the last value ended; and
#: with a number of prototypes, where fewer would end before the kernels are chosen.
PATH_STEPS, MOST_STEPS = 3, 10
#: Ways to weigh kernels that leave no evenness to choose, and what they are of it.
KERNEL_WEIGHTS = {"lp": 0.0, "even": math.inf}
#: Parameters of the estimator that matter to the choice.
KERNEL_PARAMETERS = "kernels", "n_channels", "random_state"
#: Folds, rows in all of them at most, and folds where there are more kernels than so
#: many: a fit takes longer then, and no single kernel matters as much.
N_FOLDS, MOST_ROWS, FEWER_FOLDS, FEW_KERNELS = 5, 300, 3, 16
#: A value this many standard errors worse than the best ends the comparison.
HOPELESS = 3.0
#: Choices that are remembered: numbers, no data.
MOST_CHOICES = 256


class FoldChoice(NamedTuple):
    """Evenness and prototypes of a class; why in a sentence, "" for a given value."""

    kappa: float
    n_prototypes: int
    kappa_reason: str
    count_reason: str

    @property
    def automatic(self) -> dict[str, float]:
        """Parameters that were not given."""
        reasons = {"kappa": self.kappa_reason, "n_prototypes": self.count_reason}
        return {name: getattr(self, name) for name in reasons if reasons[name]}

    @property
    def measures(self) -> dict[str, tuple[str, str]]:
        """Key of a read-out -> (value, reason) of what was not given."""
        lines = {
            "kappa": (f"{self.kappa:.3g}", self.kappa_reason),
            "prototypes_per_class": (str(self.n_prototypes), self.count_reason),
        }
        return {key: line for key, line in lines.items() if line[1]}


#: The last choices, by a digest of all that they depend on.
_remembered: dict[str, FoldChoice] = {}
_lock = threading.Lock()


@dataclass(eq=False)
class Fold:
    """A path from even weights to few kernels on the training part of a fold."""

    part: problems.IMKPLProblem
    kernels: str
    #: Rows that are held out, their labels, and how many rows each stands for.
    X: np.ndarray
    y: np.ndarray
    counts: np.ndarray
    alternation: fit.Alternation | None = None
    n_kernels: int = 0

    def with_prototypes(self, count: int) -> Fold:
        """The start of a path with this number of prototypes of each class."""
        part = self.part.with_prototypes(count, SETTINGS["code_size"])
        return replace(self, part=part, alternation=None)

    def correct(
        self, kappa: float, stop: np.ndarray, most_steps: int = PATH_STEPS
    ) -> np.ndarray:
        """Move on to this kappa; which of the held-out rows are predicted right."""
        part, parameters = self.part, problems.IMKPLParameters(**SETTINGS, kappa=kappa)
        if self.alternation is None:
            self.alternation = fit.Alternation(part, parameters, stop)
        else:
            self.alternation.go_on(parameters)
        alternation = self.alternation
        alternation.run(SolverOptions(1e-4, most_steps, stop=stop))
        self.n_kernels = np.count_nonzero(alternation.beta)
        used = np.flatnonzero(alternation.U.any(axis=0))
        similarity, anchors = part.model_kernel(self.kernels, alternation.beta, used)
        near = similarity.values(self.X, anchors) @ alternation.U[:, used].T
        codes = sparse_codes(alternation.gram, near, SETTINGS["code_size"])
        predicted = part.classes[(codes @ part.votes(alternation.U)).argmax(axis=1)]
        return predicted == self.y


def choose(
    estimator: Any,
    problem: problems.IMKPLProblem,
    state: problems.IMKPLState | None,
    stop: np.ndarray,
) -> FoldChoice:
    """Evenness and prototypes of a class: those given, the others chosen on folds.

    Folds of the training rows are predicted along a path from even weights to few
    kernels, and the accuracy of each value is averaged with its neighbours'. Of the
    values at most one standard error below the best, the one that keeps fewest kernels
    is chosen, and the most accurate of several. At that evenness the number of
    prototypes that predicts best is chosen, the smallest of several. All other
    parameters but the kernels are at their defaults: the choice is the same wherever
    those stand, and the same for one of the two when the other is given.
    """
    kappa = KERNEL_WEIGHTS.get(estimator.kernel_weights, estimator.kappa)
    count = estimator.n_prototypes
    if kappa is None and problem.active.sum() == 1:
        kappa = math.inf
    if kappa is not None and count is not None:
        return FoldChoice(kappa, count, "", "")
    if state is not None:
        why = "as in the fit that this one started from"
        choice = FoldChoice(state.kappa, state.n_prototypes(problem), why, why)
    else:
        choice = _on_folds(estimator, problem, stop)
    if kappa is not None:
        choice = choice._replace(kappa=kappa, kappa_reason="")
    if count is not None:
        choice = choice._replace(n_prototypes=count, count_reason="")
    return choice


def _on_folds(
    estimator: Any, problem: problems.IMKPLProblem, stop: np.ndarray
) -> FoldChoice:
    """The choice for these rows and kernels, from memory if it was made before."""
    kernels = {name: getattr(estimator, name) for name in KERNEL_PARAMETERS}
    key = kernels, problem.X, problem.y_encoded, problem.counts
    key = joblib.hash((*key, *filter(lambda of: of is not None, problem.parted)))
    choice = _remembered.get(key)
    if choice is None:
        quick = type(estimator)(**kernels, n_prototypes=COUNTS[-1], standardize=False)
        choice = _chosen(problem, quick, stop)
        if not stop[0]:
            with _lock:
                _remembered[key] = choice
                if len(_remembered) > MOST_CHOICES:
                    del _remembered[next(iter(_remembered))]
    return choice


def _folds(problem: problems.IMKPLProblem, quick: Any) -> tuple[list[Fold], int]:
    """Folds of the rows, none if one had one class; and how many rows they have."""
    y, counts = problem.y_encoded, problem.counts
    # Mixed, then sorted by class: every third or fifth row has the classes' shares.
    rows = np.random.default_rng(0).permutation(len(y))
    rows = rows[np.argsort(y[rows], kind="stable")]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]
    n_folds = N_FOLDS if problem.active.sum() <= FEW_KERNELS else FEWER_FOLDS
    groups, times = (of if of is None else of[rows] for of in problem.parted)
    if groups is None and times is None:
        fold = np.arange(len(rows)) % n_folds
        drawn = [(fold != number, fold == number) for number in range(n_folds)]
    else:
        drawn = inner_folds(n_folds, y[rows], groups, times)
    folds = []
    for train, held_out in ((rows[a], rows[b]) for a, b in drawn):
        if not len(held_out) or len(np.unique(y[train])) < 2:
            return [], len(rows)
        X = problem.X
        if quick.kernels == "precomputed":
            X = X[:, problem.columns[:, train].ravel()]
        with cautions():
            part = quick.problem(X[train], y[train], counts[train])
        held = X[held_out], y[held_out], counts[held_out]
        folds.append(Fold(part, quick.kernels, *held))
    return folds, len(rows)


def _chosen(problem: problems.IMKPLProblem, quick: Any, stop: np.ndarray) -> FoldChoice:
    """Compare values of kappa, then numbers of prototypes at the chosen one."""
    folds, n_rows = _folds(problem, quick)
    if not folds:
        units = "rows" if problem.groups is None else "groups"
        units = units if problem.times is None else "times"
        why = f"too few training {units} for folds"
        nearly = f"{why}: kernels weigh nearly alike"
        return FoldChoice(float(KAPPAS[0]), COUNTS[-1], nearly, why)
    one_kernel = problem.active.sum() == 1
    compared = np.array([math.inf]) if one_kernel else KAPPAS
    weights = np.concatenate([fold.counts for fold in folds])
    index, right, reason = _best_kappa(folds, compared, weights, stop)
    kappa = float(f"{compared[index]:.3g}")
    rates = {COUNTS[-1]: np.average(right, weights=weights)}
    for count in COUNTS[:-1]:
        if stop[0]:
            break
        parts = [fold.with_prototypes(count) for fold in folds]
        fewer = [part.correct(kappa, stop, MOST_STEPS) for part in parts]
        rates[count] = np.average(np.concatenate(fewer), weights=weights)
    if stop[0]:
        why = "stopped before one was chosen"
        return FoldChoice(float(KAPPAS[0]), COUNTS[-1], why, why)
    best = max(rates, key=lambda count: (rates[count], -count))
    start = f"chosen on {len(folds)} folds of {n_rows} training rows"
    start += f"{in_words(problem.groups, problem.times)}: "
    others = [f"{number_text(rates[n])} with {n}" for n in COUNTS if n != best]
    right_of = f"{number_text(rates[best])} right; {', '.join(others)}"
    return FoldChoice(kappa, best, start + reason, start + right_of)


def _best_kappa(
    folds: list[Fold], compared: np.ndarray, weights: np.ndarray, stop: np.ndarray
) -> tuple[int, np.ndarray, str]:
    """Index of the chosen value, its correct predictions and why it was chosen."""
    right: list[np.ndarray] = []
    remaining: list[int] = []
    for kappa in compared:
        of_folds = [fold.correct(float(kappa), stop) for fold in folds]
        right.append(np.concatenate(of_folds))
        remaining.append(sum(fold.n_kernels for fold in folds))
        if stop[0]:
            return 0, right[0], ""
        accuracy, error = _smoothed(right, weights)
        least = accuracy.max() - HOPELESS * error - 1e-12
        # On the way to fewer kernels accuracy does not come back from far below.
        if len(right) > 2 and (accuracy[-2:] < least).all():
            break
    accuracy, error = _smoothed(right, weights)
    best = int(np.flatnonzero(accuracy == accuracy.max())[-1])
    as_good = np.flatnonzero(accuracy >= accuracy[best] - error - 1e-12)
    index = int(min(as_good, key=lambda i: (remaining[i], -accuracy[i], -i)))
    rate = [*map(number_text, accuracy)]
    reason = f"{rate[index]} right"
    if accuracy[index] < accuracy[best]:
        reason += f", within a standard error of the best ({rate[best]} at "
        reason += f"{compared[best]:.3g}), with fewer kernels"
    return index, right[index], reason + "; averaged with the values next to it"


def _smoothed(right: list[np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Accuracies, averaged over neighbouring values, and the best's standard error.

    One lucky value is no reason to keep the noise that its neighbours leave out.
    """
    rates = np.pad(np.average(right, axis=1, weights=weights), 1, mode="edge")
    accuracy = (rates[:-2] + rates[1:-1] + rates[2:]) / 3.0
    best = accuracy.max()
    shares = weights / weights.max()
    n_effective = shares.sum() ** 2 / (shares**2).sum()  # Kish
    return accuracy, float(np.sqrt(best * (1.0 - best) / n_effective))


@dataclass(eq=False, repr=False)
class IMKPLClassifier(PrototypeClassifier):
    r"""Interpretable multiple-kernel prototype learning (IMKPL).

    Prototypes are mixes of a few real cases; an input is described by a few prototypes,
    and the classes of their cases vote. Several kernels, by default one per feature,
    are weighed so that neighbours of a class are alike: weights of 0 leave features
    out. Mixes U, codes :math:`\Gamma` and weights :math:`\beta` minimise in turn

    .. math:: \mathrm{tr}\,K(I-H)W(I-H)^\top + \lambda\langle 1-S\circ K, HW\rangle
              + \mu\,J_{ls} + \tau\sum_{ij} U_{ij} + \tfrac{\rho}{2}\|\beta\|^2,
              \qquad H = U\Gamma,\; K=\sum_l\beta_l K_l .

    W is diagonal with the weights of rows, which are counts: a row of weight 2 is the
    row twice, also among the neighbours of :math:`J_{ls}`, in the widths of kernels and
    in folds. Only :math:`\tau`'s term does not grow with them, so that weights that add
    up to 1 give it more room than the same ones that add up to the number of rows.

    Parameters
    ----------
    code_size : int, default=10
        Most cases in a prototype, and most prototypes that describe an input. Smaller
        is easier to read.
    row_code_size : int or None, default=None
        Another limit for the prototypes that describe an input, in training and for
        new rows; None for `code_size`.
    n_prototypes : int or None, default=None
        Prototypes of each class; a class of fewer rows gets fewer. None chooses 1, 2,
        5 or 10 on folds of the training rows, like `kappa`.
    lam : float, default=0.2
        Weight of the term that describes rows by prototypes of their own class; larger
        separates the classes more.
    mu : float, default=0.2
        Weight of the term that prefers kernels in which neighbours are of one class.
    tau : float, default=0.2
        Weight of the term that makes the cases of a prototype alike, and fewer.
    kernel_weights : {"ridge", "lp", "even"}, default="ridge"
        "ridge": as even as `kappa` says. "lp": the linear programme (10) of the paper,
        whose optimum is one kernel, as with kappa 0. "even": all alike, the paper's
        ISKPL, as with kappa infinity.
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
    landmarks : int or None, default=None
        With "features" and many rows: so many rows, spread over the classes, that are
        fitted first and stand for all in `mu`'s term; then all rows are fitted from
        there. 0: none. None: 0, or 2000 where a class has more than 8192 rows.
    tol : float, default=1e-4
        Relative change of the objective that ends the fit.
    max_iter : int, default=30
        Most rounds of the alternation; a fit that reaches it warns.
    random_state : int, RandomState or None, default=0
        Seed of the values that set the widths for "gak"; nothing else is random.
    standardize : bool, default=True
        Whether features are scaled to mean 0 and standard deviation 1 before the fit;
        "features" give the same model either way.
    class_weight : None, "balanced" or dict, default=None
        Weight of each class; "balanced" lets all classes count alike.
    solver : {"path", "paper"}, default="path"
        How a prototype is updated: "path" tries every number of cases, "paper" the
        solution of its equation (9) alone.
    record : int, default=0
        Keep the state after every `record`-th iteration and the last, for
        ``history_.step``; rarer ones if there are more than 200.
    warm_start : bool, default=False
        Start a fit from the last one, if rows and starts allow it: for a sequence of
        penalties. The result agrees with a cold fit's to `tol` where the problem is
        convex.

    Attributes
    ----------
    model_ : PrototypeModel
        Its anchors are the cases with weight in a prototype.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted; the order of scores and probabilities.
    n_features_in_ : int
        Features that `fit` saw.
    objective_ : float
        The objective G; the problem is not convex, so no bound is known.
    gap_ : float
        NaN.
    n_asked_ : int
        Prototypes.
    n_iter_ : int
        Iterations of the solver.
    history_ : History
        Objective and gap by iteration, and how the fit ended.
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
        "landmarks",
        "random_state",
        "standardize",
        "class_weight",
    )
    state_class: ClassVar[type] = problems.IMKPLState
    allowed: ClassVar[Mapping[str, Number | OneOf]] = {
        "code_size": Number(1, 1000, integer=True),
        "row_code_size": Number(1, 1000, integer=True, optional=True),
        "kernel_weights": OneOf((*KERNEL_WEIGHTS, "ridge")),
        "n_prototypes": Number(1, 10_000, integer=True, optional=True),
        "n_neighbors": Number(1, 10_000, integer=True, optional=True),
        "landmarks": Number(0, 1_000_000, integer=True, optional=True),
        "lam": Number(0.0, 1e6),
        "mu": Number(0.0, 1e6),
        "tau": Number(0.0, 1e6),
        "kappa": Number(0.0, optional=True),
        "kernels": OneOf(("features", "rbf", "linear", "precomputed", "gak")),
        "n_channels": Number(1, integer=True),
        "solver": OneOf(("path", "paper")),
    }

    code_size: int = 10
    n_prototypes: int | None = None
    lam: float = 0.2
    mu: float = 0.2
    tau: float = 0.2
    kappa: float | None = None
    kernels: str = "features"
    n_channels: int = 1
    n_neighbors: int | None = None
    tol: float = 1e-4
    max_iter: int = 30
    random_state: Any = 0
    standardize: bool = True
    class_weight: Any = None
    solver: str = "path"
    record: int = 0
    warm_start: bool = False
    row_code_size: int | None = None
    kernel_weights: str = "ridge"
    landmarks: int | None = None

    @property
    def takes_sparse(self) -> bool:
        """Whether X may be sparse; a fit makes its rows dense, as anchors are."""
        return self.kernels in ("features", "rbf", "linear")

    def bounds(self, problem: problems.IMKPLProblem) -> dict[str, tuple[float, float]]:
        """Useful range of `n_prototypes` for these rows: at most the largest class.

        Parameters
        ----------
        problem : IMKPLProblem
            Training rows, made by `problem` of this estimator.

        Returns
        -------
        dict
            Name -> (low, high).
        """
        return {"n_prototypes": (1, float(np.bincount(problem.y_encoded).max()))}

    def sample_shape(self, problem: problems.IMKPLProblem) -> tuple[int, ...]:
        """Channels and times of a series, or the number of features.

        Parameters
        ----------
        problem : IMKPLProblem
            Training rows, made by `problem` of this estimator.

        Returns
        -------
        tuple of int
        """
        if self.kernels != "gak":
            return (problem.n_features,)
        return int(self.n_channels), problem.n_features // int(self.n_channels)

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> problems.IMKPLProblem:
        """Compute and screen the kernels, and find neighbours and first prototypes."""
        if issparse(X) and self.takes_sparse:
            X = dense_rows(X)
        X, entries = self._labelled_rows(X, y, sample_weight)
        entries |= self._distinct_rows(X, entries, sample_weight)
        y_encoded, counts = entries["y_encoded"], entries["counts"]
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(np.vdot(entries["X"], entries["X"])):
                raise SmpcoreError(TOO_LARGE)
        columns = np.empty((0, len(counts)), dtype=np.int64)
        if self.kernels == "precomputed":
            refuse_oblong(X.shape, "kernels", ", kernel beside kernel")
            columns = np.arange(0, X.shape[1], len(X))[:, None] + entries["order"]
        settings = self.n_channels, self.random_state
        kernels = base_kernels(self.kernels, entries["X"], counts, columns, *settings)
        landmarks = None
        if self.kernels == "features":
            landmarks = problems.landmark_rows(kernels, y_encoded, self.landmarks)
        variance, active, K = problems.screen(kernels)
        k = self.n_neighbors or self.code_size
        pairs = problems.neighbour_pairs(K, y_encoded, k, counts, landmarks)
        per_class = self.n_prototypes or COUNTS[-1]
        if self.n_prototypes is not None:
            sizes = np.minimum(np.bincount(y_encoded), per_class)
            of_class = np.repeat(np.arange(len(sizes)), sizes)
            warn_if_fewer(per_class, of_class, entries["classes"])
        start = landmarks, (per_class, self.code_size)
        return problems.IMKPLProblem(
            **entries,
            columns=columns,
            kernels=kernels,
            variance=variance,
            active=active,
            K=K,
            neighbours=kernels.pair_sums(*pairs),
            n_same=-0.5 * float(pairs[2][pairs[2] < 0.0].sum()),
            U=problems.first_prototypes(K, y_encoded, counts, *start),
            landmarks=landmarks,
        )

    def _distinct_rows(
        self, X: np.ndarray, entries: dict[str, Any], sample_weight: Any
    ) -> dict[str, Any]:
        """Entries of a problem of the distinct rows, by class, then column by column.

        So a fit depends neither on the order of the samples nor on the units of the
        columns, and a whole weight is that many equal rows. Kernels that stand side by
        side keep the samples' order.
        """
        y_encoded, classes = entries["y_encoded"], entries["classes"]
        first, counts, place = joined_rows(X, y_encoded, sample_weight)
        columns = [first] if self.kernels == "precomputed" else X[first].T[::-1]
        by = np.lexsort([*columns, y_encoded[first]])
        order, counts = first[by], counts[by]
        place = np.append(np.argsort(by), -1)[place]
        y_encoded = y_encoded[order]
        of_distances = self.kernels in ("features", "rbf")
        scaled, center, scale = scaled_copy(
            X[order], counts / counts.sum(), self.standardize, False, of_distances
        )
        totals = np.bincount(y_encoded, counts)
        even = counts.sum() / (len(totals) * totals)
        factors = class_values("class_weight", self.class_weight, classes, even)
        counts = counts * factors[y_encoded]
        return {
            "X": scaled,
            "y_encoded": y_encoded,
            "weights": counts / counts.sum(),
            "center": center,
            "scale": scale,
            "counts": counts,
            "order": order,
            "place": place,
            "left_out": X[place < 0],
        }

    def _solve(
        self,
        problem: problems.IMKPLProblem,
        state: problems.IMKPLState | None,
        options: SolverOptions,
    ) -> Fitted:
        """Choose what was left open, alternate, and measure the prototypes."""
        choice = choose(self, problem, state, options.stop)
        if self.n_prototypes is None and choice.n_prototypes != COUNTS[-1]:
            problem = problem.with_prototypes(choice.n_prototypes, self.code_size)
        options = replace(options, started=time.perf_counter())
        numbers = map(float, (self.lam, self.mu, self.tau, choice.kappa))
        path = self.solver == "path"
        sizes = int(self.code_size), path, self.row_code_size
        parameters = problems.IMKPLParameters(*numbers, *sizes)
        if problem.landmarks is not None and state is None:
            state = fit.landmark_start(problem, parameters, options)
        alternation, run, start = fit.best_run(problem, parameters, options, state)
        reached = f"max_iter={self.max_iter} was reached before the objective changed"
        remedy = f"by less than tol={self.tol:g}; raise max_iter or tol."
        self._report(run[0], lambda: f"{reached} {remedy}")
        self.kappa_ = parameters.kappa
        self.n_prototypes_ = choice.n_prototypes
        shape = self.sample_shape(problem)
        build = partial(fit.fitted_state, problem, self.kernels, shape)
        steps = run[2].states, run[2].places
        trace = spread_trace(problem, *steps, build, "alternation")
        history = fit.run_history(alternation, run, trace, options.seconds)
        codes = alternation.plain_codes()
        fitted = build(alternation, history, codes)
        self.kernel_weights_ = alternation.beta
        self.dropped_ = np.flatnonzero(~problem.active)
        self.ip_ = float(interpretability(fitted.model).mean())
        rows = fitted.model.prototype_labels, problem.y_encoded, problem.counts
        self.dr_ = float(np.nanmean(discrimination(codes, *rows)))
        names = problem.feature_names if self.kernels == "features" else ()
        shown = self.ip_, self.dr_, alternation.beta, self.dropped_, names
        measures = fit.measures_in_words(*shown) | choice.measures
        automatic = choice.automatic
        if start:
            measures["start"] = start
        if self.row_code_size is None:
            automatic["row_code_size"] = float(self.code_size)
        return replace(
            fitted, state=alternation.state, measures=measures, automatic=automatic
        )

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of their range."""
        super()._check_parameters()
        if self.kernels in ("precomputed", "gak"):
            what = "time of a series" if self.kernels == "gak" else "column of kernels"
            refuse_standardised(f"kernels={self.kernels!r}", self.standardize, what)
