"""The evenness of IMKPL's kernel weights, chosen on folds of the training rows."""

from __future__ import annotations

import hashlib
import math
import threading
from typing import Any, NamedTuple

import numpy as np

from smpcore.errors import cautions
from smpcore.estimators.imkpl_kernels import model_kernel
from smpcore.estimators.imkpl_problem import IMKPLProblem
from smpcore.estimators.imkpl_steps import Alternation, IMKPLState, Weights
from smpcore.solvers.nqp import nqp_rows

#: Values of kappa that are compared, from even weights to few kernels.
KAPPAS = 100.0 / 2.0 ** np.arange(9)
#: The other parameters of the fits that are compared, which are short.
SETTINGS = {"lam": 0.2, "mu": 0.2, "tau": 0.2, "code_size": 10, "path": True}
MOST_STEPS = 3
#: Parameters of the estimator that matter to the choice.
KERNEL_PARAMETERS = "kernels", "n_channels", "random_state"
#: Folds, and rows in all of them at most.
N_FOLDS, MOST_ROWS = 5, 300
#: A value this many standard errors worse than the best ends the comparison.
HOPELESS = 3.0
#: Choices that are remembered: numbers, no data.
MOST_CHOICES = 256


class KappaChoice(NamedTuple):
    """A chosen evenness, and why in one sentence."""

    kappa: float
    reason: str


class _Remembered:
    """The last choices, by a digest of all that they depend on."""

    def __init__(self) -> None:
        self._choices: dict[bytes, KappaChoice] = {}
        self._lock = threading.Lock()

    def get(self, key: bytes) -> KappaChoice | None:
        with self._lock:
            return self._choices.get(key)

    def keep(self, key: bytes, choice: KappaChoice) -> None:
        with self._lock:
            self._choices[key] = choice
            if len(self._choices) > MOST_CHOICES:
                del self._choices[next(iter(self._choices))]


_remembered = _Remembered()


class Fold:
    """A path from even weights to few kernels on the training part of a fold.

    Parameters
    ----------
    part : IMKPLProblem
        Of the training part.
    kernels : str
        As in `IMKPLClassifier`.
    X : ndarray of shape (n_held_out, n_features)
        Rows to predict, scaled like the training part.
    y : ndarray of int, shape (n_held_out,)
        Their labels, as in the classes of `part`.
    """

    def __init__(
        self, part: IMKPLProblem, kernels: str, X: np.ndarray, y: np.ndarray
    ) -> None:
        self._part, self._kernels, self._X, self._y = part, kernels, X, y
        self._state: IMKPLState | None = None
        self.n_kernels = 0

    def correct(self, kappa: float, stop: np.ndarray) -> np.ndarray:
        """Move on to this kappa; which of the held-out rows are predicted right."""
        part, how = self._part, Weights(**SETTINGS, kappa=kappa)
        walk = Alternation(part, how, stop)
        warm = self._state is not None and walk.resume(self._state)
        walk.run(1e-4, MOST_STEPS, warm, np.zeros(1), 0)
        self._state, self.n_kernels = walk.state, np.count_nonzero(walk.beta)
        used = np.flatnonzero(walk.U.any(axis=0))
        similarity, anchors = model_kernel(
            self._kernels, part.kernels, walk.beta, part.X, part.order[used]
        )
        near = similarity.values(self._X, anchors) @ walk.U[:, used].T
        codes, values = np.zeros_like(near), np.empty(len(near))
        gram, C = walk.gram, np.ascontiguousarray(-near)
        nqp_rows(gram, C, how.code_size, codes, values)
        found = part.classes[(codes @ part.votes(walk.U)).argmax(axis=1)]
        return found == self._y


def choose_kappa(
    estimator: Any, problem: IMKPLProblem, state: Any, stop: np.ndarray
) -> KappaChoice:
    """The given evenness, or that of fewest kernels among those that predict best.

    Folds of the training rows are predicted along a path from even weights to few
    kernels, and the accuracy of each value is averaged with its neighbours'. Of the
    values at most one standard error below the best, the one that keeps fewest kernels
    is chosen, and the most accurate of several. All other parameters but the kernels
    are at their defaults: the choice is the same wherever those stand.

    Parameters
    ----------
    estimator : IMKPLClassifier
    problem : IMKPLProblem
    state : IMKPLState or None
        Start of a fit of as many rows and kernels, whose evenness is kept.
    stop : ndarray of int64, shape (1,)
        Once non-zero, the largest kappa is returned, and not remembered.

    Returns
    -------
    KappaChoice
    """
    if estimator.kappa is not None:
        return KappaChoice(estimator.kappa, "")
    if problem.active.sum() == 1:
        return KappaChoice(math.inf, "")
    if isinstance(state, IMKPLState) and state.fits(problem):
        return KappaChoice(state.kappa, "as in the fit that this one started from")
    kernels = {name: getattr(estimator, name) for name in KERNEL_PARAMETERS}
    digest = hashlib.blake2b(repr((kernels, problem.X.shape)).encode())
    digest.update(np.ascontiguousarray(problem.X))
    digest.update(np.ascontiguousarray(problem.codes))
    key = digest.digest()
    choice = _remembered.get(key)
    if choice is None:
        quick = type(estimator)(**kernels, n_prototypes=None, standardize=False)
        choice = _chosen(problem, quick, stop)
        if not stop[0]:
            _remembered.keep(key, choice)
    return choice


def _folds(problem: IMKPLProblem, quick: Any) -> tuple[list[Fold], int]:
    """Folds of the rows, and how many rows there are in them."""
    y = problem.codes
    # Mixed, then sorted by class: every fifth row has the shares of the classes.
    rows = np.random.default_rng(0).permutation(len(y))
    rows = rows[np.argsort(y[rows], kind="stable")]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]
    fold = np.arange(len(rows)) % N_FOLDS
    listed = quick.kernels == "precomputed"
    first = np.arange(0, problem.X.shape[1], len(y) if listed else 1)
    folds = []
    for number in range(N_FOLDS):
        train, held_out = rows[fold != number], rows[fold == number]
        if not len(held_out) or len(np.unique(y[train])) < 2:
            continue
        columns = (first[:, None] + train).ravel() if listed else first
        with cautions():
            part = quick.problem(problem.X[np.ix_(train, columns)], y[train])
        X = problem.X[np.ix_(held_out, columns)]
        folds.append(Fold(part, quick.kernels, X, y[held_out]))
    return folds, len(rows)


def _chosen(problem: IMKPLProblem, quick: Any, stop: np.ndarray) -> KappaChoice:
    folds, n_rows = _folds(problem, quick)
    if len(folds) < N_FOLDS:
        why = "too few training rows for folds: kernels weigh nearly alike"
        return KappaChoice(float(KAPPAS[0]), why)
    right: list[np.ndarray] = []
    kept: list[int] = []
    for kappa in KAPPAS:
        right.append(
            np.concatenate([fold.correct(float(kappa), stop) for fold in folds])
        )
        kept.append(sum(fold.n_kernels for fold in folds))
        if stop[0]:
            return KappaChoice(float(KAPPAS[0]), "stopped before one was chosen")
        accuracy, error = _smoothed(right)
        least = accuracy.max() - HOPELESS * error - 1e-12
        # On the way to fewer kernels accuracy does not come back from far below.
        if len(right) > 2 and (accuracy[-2:] < least).all():
            break
    accuracy, error = _smoothed(right)
    best = int(np.flatnonzero(accuracy == accuracy.max())[-1])
    as_good = np.flatnonzero(accuracy >= accuracy[best] - error - 1e-12)
    index = int(min(as_good, key=lambda i: (kept[i], -accuracy[i], -i)))
    rate = [f"{100 * value:.1f} %" for value in accuracy]
    reason = f"chosen on {N_FOLDS} folds of {n_rows} training rows: {rate[index]} right"
    if accuracy[index] < accuracy[best]:
        reason += f", within a standard error of the best ({rate[best]} at "
        reason += f"{KAPPAS[best]:.3g}), with fewer kernels"
    reason += "; averaged with the values next to it"
    return KappaChoice(float(f"{KAPPAS[index]:.3g}"), reason)


def _smoothed(right: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """Accuracies, averaged over neighbouring values, and the best's standard error.

    One lucky value is no reason to keep the noise that its neighbours leave out.
    """
    rates = np.pad(np.mean(right, axis=1), 1, mode="edge")
    accuracy = (rates[:-2] + rates[1:-1] + rates[2:]) / 3.0
    best = accuracy.max()
    return accuracy, float(np.sqrt(best * (1.0 - best) / len(right[0])))
