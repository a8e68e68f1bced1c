"""Parameters of IMKPL that are chosen on folds of the training rows."""

from __future__ import annotations

import hashlib
import math
import threading
from typing import Any, NamedTuple

import numpy as np

from smpcore.errors import cautions
from smpcore.methods.imkpl.alternation import Alternation
from smpcore.methods.imkpl.problem import IMKPLParameters, IMKPLProblem, IMKPLState
from smpcore.methods.shared.problem import SolverOptions
from smpcore.solvers.nqp import nqp_rows

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
_remembered: dict[bytes, FoldChoice] = {}
_lock = threading.Lock()


class Fold:
    """A path from even weights to few kernels on the training part of a fold."""

    def __init__(
        self,
        part: IMKPLProblem,
        kernels: str,
        X: np.ndarray,
        y: np.ndarray,
        counts: np.ndarray,
    ) -> None:
        self._part, self._kernels, self._X, self._y = part, kernels, X, y
        self.counts = counts
        self._alternation: Alternation | None = None
        self.n_kernels = 0

    def with_prototypes(self, count: int) -> Fold:
        """The start of a path with this number of prototypes of each class."""
        part = self._part.with_prototypes(count, SETTINGS["code_size"])
        return Fold(part, self._kernels, self._X, self._y, self.counts)

    def correct(
        self, kappa: float, stop: np.ndarray, most_steps: int = PATH_STEPS
    ) -> np.ndarray:
        """Move on to this kappa; which of the held-out rows are predicted right."""
        part, parameters = self._part, IMKPLParameters(**SETTINGS, kappa=kappa)
        if self._alternation is None:
            self._alternation = Alternation(part, parameters, stop)
        else:
            self._alternation.go_on(parameters)
        alternation = self._alternation
        alternation.run(SolverOptions(1e-4, most_steps, stop=stop))
        self.n_kernels = np.count_nonzero(alternation.beta)
        used = np.flatnonzero(alternation.U.any(axis=0))
        similarity, anchors = part.model_kernel(self._kernels, alternation.beta, used)
        near = similarity.values(self._X, anchors) @ alternation.U[:, used].T
        codes, values = np.zeros_like(near), np.empty(len(near))
        gram, C = alternation.gram, np.ascontiguousarray(-near)
        nqp_rows(gram, C, SETTINGS["code_size"], codes, values)
        predicted = part.classes[(codes @ part.votes(alternation.U)).argmax(axis=1)]
        return predicted == self._y


def choose(
    estimator: Any, problem: IMKPLProblem, state: IMKPLState | None, stop: np.ndarray
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


def _on_folds(estimator: Any, problem: IMKPLProblem, stop: np.ndarray) -> FoldChoice:
    """The choice for these rows and kernels, from memory if it was made before."""
    kernels = {name: getattr(estimator, name) for name in KERNEL_PARAMETERS}
    digest = hashlib.blake2b(repr((kernels, problem.X.shape)).encode())
    digest.update(np.ascontiguousarray(problem.X))
    digest.update(np.ascontiguousarray(problem.y_encoded))
    digest.update(np.ascontiguousarray(problem.counts))
    key = digest.digest()
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


def _folds(problem: IMKPLProblem, quick: Any) -> tuple[list[Fold], int]:
    """Folds of the rows, none if one had one class; and how many rows they have."""
    y, counts = problem.y_encoded, problem.counts
    # Mixed, then sorted by class: every third or fifth row has the classes' shares.
    rows = np.random.default_rng(0).permutation(len(y))
    rows = rows[np.argsort(y[rows], kind="stable")]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]
    n_folds = N_FOLDS if problem.active.sum() <= FEW_KERNELS else FEWER_FOLDS
    fold = np.arange(len(rows)) % n_folds
    folds = []
    for number in range(n_folds):
        train, held_out = rows[fold != number], rows[fold == number]
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


def _chosen(problem: IMKPLProblem, quick: Any, stop: np.ndarray) -> FoldChoice:
    """Compare values of kappa, then numbers of prototypes at the chosen one."""
    folds, n_rows = _folds(problem, quick)
    if not folds:
        why = "too few training rows for folds"
        return FoldChoice(
            float(KAPPAS[0]), COUNTS[-1], f"{why}: kernels weigh nearly alike", why
        )
    one_kernel = problem.active.sum() == 1
    compared = np.array([math.inf]) if one_kernel else KAPPAS
    weights = np.concatenate([fold.counts for fold in folds])
    index, right, reason = _best_kappa(folds, compared, weights, stop)
    kappa = float(f"{compared[index]:.3g}")
    rates = {COUNTS[-1]: np.average(right, weights=weights)}
    for count in COUNTS[:-1]:
        if stop[0]:
            break
        fewer = [
            fold.with_prototypes(count).correct(kappa, stop, MOST_STEPS)
            for fold in folds
        ]
        rates[count] = np.average(np.concatenate(fewer), weights=weights)
    if stop[0]:
        why = "stopped before one was chosen"
        return FoldChoice(float(KAPPAS[0]), COUNTS[-1], why, why)
    best = max(rates, key=lambda count: (rates[count], -count))
    start = f"chosen on {len(folds)} folds of {n_rows} training rows: "
    others = [f"{100 * rates[n]:.1f} % with {n}" for n in COUNTS if n != best]
    right_of = f"{100 * rates[best]:.1f} % right; {', '.join(others)}"
    return FoldChoice(kappa, best, start + reason, start + right_of)


def _best_kappa(
    folds: list[Fold], compared: np.ndarray, weights: np.ndarray, stop: np.ndarray
) -> tuple[int, np.ndarray, str]:
    """Index of the chosen value, its correct predictions and why it was chosen."""
    right: list[np.ndarray] = []
    remaining: list[int] = []
    for kappa in compared:
        right.append(
            np.concatenate([fold.correct(float(kappa), stop) for fold in folds])
        )
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
    rate = [f"{100 * value:.1f} %" for value in accuracy]
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
    n_effective = weights.sum() ** 2 / (weights**2).sum()  # Kish
    return accuracy, float(np.sqrt(best * (1.0 - best) / n_effective))
