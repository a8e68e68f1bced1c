r"""Figure 2: accuracy and features of SMP and of six sparse linear classifiers.

A baseline is fitted with the l1 penalty at which it has about as many features as SMP,
then again on those features with a ridge only: the paper's procedure. The linear
classifier with the Huber loss of two classes, which no library has, minimises over w
and b, with z_i = y_i (w . x_i + b) and y_i = 1 or -1,

.. math:: \frac1m\sum_i \ell(z_i) + \mu\|w\|_1 + \frac{\nu}{2}\|w\|_2^2 ,

the loss being max(0, 1 - z)^2 for z >= -1 and -4 z below, by FISTA in plain NumPy.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import gt

import numpy as np

from smpcore.methods.smp import SMPClassifier
from smpcore.papers.conclusions import Claim
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.protocols import Fit, Halves, grid_of, standardised_halves
from smpcore.papers.sources import Source, bundled, of_openml


def huber_loss(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss at z and its slope, both of the shape of z."""
    short = np.clip(1.0 - z, 0.0, 2.0)
    return short * (np.maximum(1.0 - z, 0.0) * 2.0 - short), -2.0 * short


class HuberClassifier:
    """Linear classifier of two classes with the Huber loss and an elastic net."""

    def __init__(
        self, l1: float, l2: float, tol: float = 1e-6, max_iter: int = 5000
    ) -> None:
        self.l1, self.l2, self.tol, self.max_iter = l1, l2, tol, max_iter

    def fit(self, X: np.ndarray, y: np.ndarray) -> HuberClassifier:
        """Fit rows of two classes; the second one is positive."""
        self.classes_ = np.unique(y)
        sign = np.where(y == self.classes_[1], 1.0, -1.0)
        rows = np.column_stack([X, np.ones(len(X))]) * sign[:, None]
        free = np.arange(rows.shape[1]) == X.shape[1]
        l1, l2 = np.where(free, 0.0, self.l1), np.where(free, 0.0, self.l2)
        # The loss has a curvature of at most 2.
        step = 0.5 / max(np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1], 1e-12)
        w = v = np.zeros(rows.shape[1])
        t = 1.0
        for _ in range(self.max_iter):
            slope = rows.T @ huber_loss(rows @ v)[1] / len(rows)
            u = v - step * slope
            new = np.sign(u) * np.maximum(np.abs(u) - step * l1, 0) / (1 + step * l2)
            change = new - w
            if (v - new) @ change > 0.0:
                t = 1.0  # the momentum points uphill
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            v, w, t = new + (t - 1.0) / grown * change, new, grown
            if np.abs(change).max() <= self.tol:
                break
        self.coef_, self.intercept_ = w[:-1], float(w[-1])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of each row."""
        return self.classes_[(X @ self.coef_ + self.intercept_ > 0.0).astype(int)]


GRID = grid_of(lam=(0.0, 0.003, 0.03), mu=(0.01, 0.03, 0.1))
#: Ridges that are tried when a baseline is fitted again on its features.
RIDGES = grid_of(l2=(1e-3, 1e-2, 1e-1, 1.0))
#: Name in the paper -> loss, and the ridge beside the l1 penalty, relative to it.
BASELINES = {
    "L1Hi": ("hinge", 0.0),
    "L1L": ("smooth", 0.0),
    "L1Hu": ("huber", 0.0),
    "EnHi": ("hinge", 1.0),
    "EnL": ("smooth", 1.0),
    "EnHu": ("huber", 1.0),
}
#: Halves that a measure is the mean over.
HALVES = 5


def linear(
    loss: str, l1: float = 0.0, l2: float = 0.0
) -> HuberClassifier | SMPClassifier:
    """Sparse linear classifier of two classes with one of the three losses.

    Hinge and log loss are SMP with one prototype for each class, certified: at its
    optimum w_1 = -w_0, so that of w = w_1 - w_0 the penalties are mu |w| and
    mu eta |w|^2 / 4. Its bias has the ridge of the weights, too.
    """
    if loss == "huber":
        return HuberClassifier(l1, l2)
    mu = max(l1, 1e-9)
    return SMPClassifier(1, lam=0.0, mu=mu, eta=2.0 * l2 / mu, loss=loss)


def used_features(fitted: HuberClassifier | SMPClassifier) -> np.ndarray:
    """Places of the features that have a weight."""
    is_huber = isinstance(fitted, HuberClassifier)
    weights = fitted.coef_ if is_huber else fitted.model_.anchors
    return np.flatnonzero(np.atleast_2d(weights).any(axis=0))


def select(loss: str, ridge: float, n_wanted: int, rows: Halves) -> np.ndarray:
    """Features of the fit that has as nearly as possible so many."""
    low, high = np.log(1e-4), np.log(4.0)
    best = np.arange(0)
    for _ in range(12):
        l1 = float(np.exp(0.5 * (low + high)))
        features = used_features(linear(loss, l1, ridge * l1).fit(rows.X, rows.y))
        if abs(len(features) - n_wanted) < abs(len(best) - n_wanted):
            best = features
        if len(features) == n_wanted:
            break
        low, high = (
            (np.log(l1), high) if len(features) > n_wanted else (low, np.log(l1))
        )
    return best


def few_features(
    loss: str, ridge: float, n_wanted: int, rows: Halves, seed: int
) -> Outcome:
    """A sparse linear model, fitted again on its features with a ridge by folds."""
    features = select(loss, ridge, min(n_wanted, rows.X.shape[1]), rows)
    if not len(features):
        features = np.arange(1)
    narrow = replace(rows, X=rows.X[:, features], X_test=rows.X_test[:, features])
    _, fitted = Fit(partial(linear, loss), RIDGES).chosen(narrow, seed)
    share = narrow.test_accuracy(fitted)
    return Outcome({"accuracy": share, "features": len(features)})


def measures(case: Case) -> Outcome:
    """Test accuracy and features of one model on one division of the rows."""
    rows, seed = case.rows, case.trial.repetition
    if case.trial.model != "SMP":
        n_features = int(case.of("SMP").measures["features"])
        return few_features(*case.declared, n_features, rows, seed)
    _, smp = Fit(SMPClassifier, GRID).chosen(rows, seed)
    share = rows.test_accuracy(smp)
    # A feature counts as often as prototypes have it.
    return Outcome({"accuracy": share, "features": smp.model_.n_nonzeros})


#: OpenML's numbers of the sets of 1000 rows whose names have the figure's form.
_FRIEDMAN = {
    "fri_c0_1000_50": 590,
    "fri_c1_1000_50": 583,
    "fri_c2_1000_50": 622,
    "fri_c3_1000_50": 618,
    "fri_c4_1000_50": 607,
    "fri_c4_1000_100": 588,
}
EXPERIMENTS = (
    Experiment(
        name="smp-figure-2",
        where="Figure 2",
        title="Accuracy and number of features on high-dimensional data",
        data={
            "Friedman, 1000 x 50": bundled("friedman")["friedman"],
            "breast cancer, 569 x 30": bundled("breast_cancer")["breast_cancer"],
            "sonar, 208 x 60": Source(file="sonar.arff", openml=40),
            **{name: of_openml(number, name) for name, number in _FRIEDMAN.items()},
        },
        models={"SMP": None} | BASELINES,
        measure=measures,
        divide=standardised_halves,
        n_halves=HALVES,
        checks={"sparse": Claim("SMP", gt, (*BASELINES,), "accuracy")},
    ),
)
