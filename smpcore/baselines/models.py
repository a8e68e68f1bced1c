r"""What makes the models that methods are held against, with what a search may try.

Most are scikit-learn's. Two kinds are as published, in plain NumPy.

**GMLVQ** has the nearest prototype in a learned distance. Schneider, Biehl, Hammer:
Adaptive relevance matrices in learning vector quantization. Neural Computation 21,
2009. With the distance

.. math:: d(x, w) = (x - w)^T \Omega^T \Omega (x - w)

of a row to the nearest prototype of its class, :math:`d_+`, and to the nearest of
another class, :math:`d_-`, it minimises the mean of

.. math:: \mu = (d_+ - d_-) / (d_+ + d_-)

over prototypes and :math:`\Omega`, whose trace :math:`\sum \Omega_{ij}^2` is 1. With
local relevances each prototype has a matrix of its own (the paper's section 2.3). The
paper goes down the gradient row by row and sets the trace to 1 after each step; here
L-BFGS goes down the gradient of all rows, of matrices divided by their length.

**Few training rows, or few vectors of an SVM**, stand in place of virtual prototypes.
PS-R, PS-B, PS-S, PS-KM and PS-KC choose rows by their places alone (Spillmann, Neuhaus,
Bunke, Pekalska, Duin: Transforming strings to vector spaces using prototype selection.
2006; Riesen, Neuhaus, Bunke: Graph embedding in vector spaces by means of prototype
selection. 2007); ridge regression on the similarities to them answers. SVM-sel drops
support vectors of an SVM and SVM-red makes new vectors; their coefficients come as near
as they can to its decision (Schölkopf et al.: Input space versus feature space in
kernel-based methods. IEEE Transactions on Neural Networks 10, 1999). SVM-sel drops the
vector without which the decision changes least; the print takes one eigenvector of the
kernel for a bound of that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.allowed_values import OneOf
from smpcore.methods.shared.starts import cluster_rows
from smpcore.threads import one_core


def class_centres(
    X: np.ndarray, codes: np.ndarray, n_prototypes: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the clusters of each class, by k-means."""
    tied, labels = cluster_rows(X, codes, np.ones(len(X)), n_prototypes, seed)
    return np.array([X[tied == r].mean(axis=0) for r in range(len(labels))]), labels


def glvq_cost(
    distances: np.ndarray, is_own: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Mean of mu, and its slopes by the distance of each row to each prototype."""
    rows, slopes = np.arange(len(distances)), np.zeros_like(distances)
    near, far = (
        np.where(side, distances, np.inf).argmin(axis=1) for side in (is_own, ~is_own)
    )
    plus, minus = distances[rows, near], distances[rows, far]
    total = np.maximum(plus + minus, 1e-30)  # of a row that lies on both, mu is 0
    slopes[rows, near] = 2.0 * weights * minus / total**2
    slopes[rows, far] = -2.0 * weights * plus / total**2
    return float(weights @ ((plus - minus) / total)), slopes


def matrix_distances(X: np.ndarray, Z: np.ndarray, omegas: np.ndarray) -> np.ndarray:
    """Distance of each row to each prototype: all have one matrix, or each its own."""
    distances = np.empty((len(X), len(Z)))
    for k, omega in enumerate(omegas):
        members = slice(k, None, len(omegas))
        P, Q = X @ omega.T, Z[members] @ omega.T
        distances[:, members] = cdist(P, Q, "sqeuclidean")
    return distances


def mean_cost(
    Z: np.ndarray,
    omegas: np.ndarray,
    X: np.ndarray,
    is_own: np.ndarray,
    weights: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean of mu, and its gradients."""
    value, slopes = glvq_cost(matrix_distances(X, Z, omegas), is_own, weights)
    of_Z, of_omegas = np.zeros_like(Z), np.zeros_like(omegas)
    for k, omega in enumerate(omegas):
        members = slice(k, None, len(omegas))
        S, W = slopes[:, members], Z[members]
        sums = S.T @ X
        apart = sums - S.sum(axis=0)[:, None] * W  # sums of x - w
        of_Z[members] = -2.0 * apart @ (omega.T @ omega)
        squares = (X.T * S.sum(axis=1)) @ X - sums.T @ W - W.T @ apart
        of_omegas[k] = 2.0 * omega @ squares
    return value, of_Z, of_omegas


@dataclass(eq=False, repr=False)
class GMLVQ(ClassifierMixin, BaseEstimator):
    """Nearest prototype in a learned distance; from the centres of clusters."""

    n_prototypes: int = 1  # of each class
    local: bool = False
    max_iter: int = 200
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GMLVQ:
        """Move prototypes and distances from the centres of clusters."""
        X = np.asarray(X, dtype=float)
        self.classes_, codes = np.unique(y, return_inverse=True)
        u = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        u = u / u.sum()
        Z, labels = class_centres(X, codes, self.n_prototypes, self.random_state)
        is_own, n_features = codes[:, None] == labels, X.shape[1]
        n_matrices = len(Z) if self.local else 1
        shape = n_matrices, n_features, n_features

        def parts(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Prototypes, matrices of trace 1, and the lengths that they had."""
            omegas = flat[Z.size :].reshape(shape)
            lengths = np.linalg.norm(omegas, axis=(1, 2), keepdims=True)
            return flat[: Z.size].reshape(Z.shape), omegas / lengths, lengths

        def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
            W, omegas, lengths = parts(flat)
            value, of_Z, slopes = mean_cost(W, omegas, X, is_own, u)
            along = (slopes * omegas).sum(axis=(1, 2), keepdims=True)
            of_omegas = (slopes - along * omegas) / lengths
            return value, np.concatenate([of_Z.ravel(), of_omegas.ravel()])

        eyes = np.tile(np.eye(n_features), (n_matrices, 1, 1))
        start = np.concatenate([Z.ravel(), eyes.ravel()])
        limits = {"maxiter": self.max_iter}
        optimum = minimize(cost, start, jac=True, method="L-BFGS-B", options=limits)
        self.Z_, self.omega_, _ = parts(optimum.x)
        self.prototype_labels_ = labels
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class of the nearest prototype."""
        nearest = matrix_distances(np.asarray(X), self.Z_, self.omega_).argmin(axis=1)
        return self.classes_[self.prototype_labels_[nearest]]


#: Ways to choose rows by their places.
WAYS = ("random", "border", "spanning", "kmedians", "kcentres")
#: Rounds of k-centres, which ends when no centre moves, at most.
MOST_ROUNDS = 100
#: Rows whose distances are looked at: of more, this many are drawn first. And support
#: vectors that are made fewer: each that goes takes a pass over all pairs.
MOST_ROWS, MOST_VECTORS = 5000, 4000
#: Steps of a new vector to the place where it says most, and starts that are tried.
MOST_STEPS, STARTS = 100, 10


def select_rows(X: np.ndarray, n_rows: int, way: str, seed: Any = 0) -> np.ndarray:
    """Choose rows by their places."""
    OneOf(WAYS).check("way", way)
    random = check_random_state(seed)
    n_rows = min(n_rows, len(X))
    if way == "random":
        return random.choice(len(X), n_rows, replace=False)
    if len(X) > MOST_ROWS:
        drawn = np.sort(random.choice(len(X), MOST_ROWS, replace=False))
        return drawn[select_rows(X[drawn], n_rows, way, random)]
    if way == "kmedians":
        with one_core:
            labels = KMeans(n_rows, n_init=1, random_state=random).fit_predict(X)
        return np.array([_middle(X, np.flatnonzero(labels == k)) for k in set(labels)])
    distances = cdist(X, X)
    total = distances.sum(axis=1)
    if way == "border":
        chosen = []
        for _ in range(n_rows):
            chosen.append(int(total.argmax()))
            total = total - distances[chosen[-1]]
            total[chosen] = -np.inf
        return np.array(chosen)
    chosen = [int(total.argmin())]
    while len(chosen) < n_rows:
        chosen.append(int(distances[chosen].min(axis=0).argmax()))
    return np.array(chosen) if way == "spanning" else _centres(distances, chosen)


def _centres(distances: np.ndarray, chosen: list[int]) -> np.ndarray:
    """Move each row to the centre of those that are nearest to it, until none moves."""
    for _ in range(MOST_ROUNDS):
        nearest, before = distances[chosen].argmin(axis=0), chosen
        chosen = []
        for k in range(len(before)):
            members = np.flatnonzero(nearest == k)
            if len(members):  # else an equal row comes before it
                radii = distances[np.ix_(members, members)].max(axis=1)
                chosen.append(int(members[radii.argmin()]))
        if chosen == before:
            break
    return np.array(chosen)


def _middle(X: np.ndarray, members: np.ndarray) -> int:
    """The member nearest to all others."""
    return int(members[cdist(X[members], X[members]).sum(axis=1).argmin()])


def similarities(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """RBF of rows and vectors, with the width that super-sparse prototypes begin at."""
    return np.exp(-cdist(X, Z, "sqeuclidean") / X.shape[1])


def fewer_vectors(
    K: np.ndarray, duals: np.ndarray, n_kept: int
) -> tuple[np.ndarray, np.ndarray]:
    """Drop vectors one by one; the others move as close to the whole as they can."""
    K = K + 1e-8 * np.eye(len(K))
    remaining, inverse, left = np.arange(len(K)), np.linalg.inv(K), duals.copy()
    while len(remaining) > n_kept:
        cost = (left**2).sum(axis=1) / np.diag(inverse)
        out = int(cost.argmin())
        column, pivot = inverse[:, out], inverse[out, out]
        left = left - np.outer(column, left[out]) / pivot
        inverse = inverse - np.outer(column, column) / pivot
        stay = np.arange(len(remaining)) != out
        remaining, left = remaining[stay], left[stay]
        inverse = inverse[np.ix_(stay, stay)]
    return remaining, np.linalg.solve(
        K[np.ix_(remaining, remaining)], K[remaining] @ duals
    )


def reduced_vectors(
    vectors: np.ndarray, duals: np.ndarray, n_vectors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Make vectors one by one, each where it takes most of what is left of a decision.

    A fixed-point iteration from the vectors that take most, then the best coefficients
    of all vectors so far in the space of the kernel.
    """
    Z = np.empty((0, vectors.shape[1]))
    B = np.empty((0, duals.shape[1]))
    for _ in range(n_vectors):
        anchors, left = np.vstack([vectors, Z]), np.vstack([duals, -B])

        def taken(points: np.ndarray, anchors: Any = anchors, left: Any = left) -> Any:
            return ((similarities(points, anchors) @ left) ** 2).sum(axis=1)

        order = np.argsort(-taken(vectors), kind="stable")
        points = vectors[order[:STARTS]].copy()
        for _ in range(MOST_STEPS):
            similarity = similarities(points, anchors)
            pulls = similarity * ((similarity @ left) @ left.T)
            total = pulls.sum(axis=1, keepdims=True)
            moved = np.where(
                total > 1e-9, pulls @ anchors / np.where(total > 1e-9, total, 1), points
            )
            better = taken(moved) >= taken(points)
            moved[~better] = points[~better]
            if np.abs(moved - points).max() < 1e-6:
                break
            points = moved
        Z = np.vstack([Z, points[int(taken(points).argmax())]])
        K = similarities(Z, Z) + 1e-8 * np.eye(len(Z))
        B = np.linalg.solve(K, similarities(Z, vectors) @ duals)
    return Z, B


class _OnSimilarities(BaseEstimator):
    """Answers are linear in the similarities to few vectors."""

    def _values(self, X: np.ndarray) -> np.ndarray:
        return similarities(np.asarray(X), self.Z_) @ self.B_ + self.intercept_

    def _weights(self, X: np.ndarray, sample_weight: Any) -> np.ndarray:
        u = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        return u / u.sum()


@dataclass(eq=False, repr=False)
class _ChosenByPlaces(_OnSimilarities):
    way: str = "kmedians"
    n_prototypes: int = 10
    lam: float = 1e-4
    random_state: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Ridge regression on the similarities to selected rows."""
        X, Y, u = np.asarray(X), self._targets(y), self._weights(X, sample_weight)
        self.Z_ = X[select_rows(X, self.n_prototypes, self.way, self.random_state)]
        ridge = Ridge(self.lam).fit(similarities(X, self.Z_), Y, u)
        self.B_, self.intercept_ = np.atleast_2d(ridge.coef_).T, ridge.intercept_
        return self


class _OfClasses(ClassifierMixin, _OnSimilarities):
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """1 for the class and -1 for the others; one output for two classes."""
        self.classes_ = np.unique(y)
        codes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return np.where(np.asarray(y)[:, None] == codes, 1.0, -1.0)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class with the highest value."""
        values = self._values(X)
        two = values.shape[1] == 1
        code = (values[:, 0] > 0).astype(int) if two else values.argmax(axis=1)
        return self.classes_[code]


class SelectedClassifier(_OfClasses, _ChosenByPlaces):
    """Classifier on the similarities to training rows, chosen by their places."""


class SelectedRegressor(RegressorMixin, _ChosenByPlaces):
    """Regression on the similarities to training rows, chosen by their places."""

    def _targets(self, y: Any) -> np.ndarray:
        return np.asarray(y, dtype=float)[:, None]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Value of each row."""
        return self._values(X)[:, 0]


@dataclass(eq=False, repr=False)
class FewVectorSVC(_OfClasses):
    """An RBF-SVM, one against the rest, whose decision has few vectors."""

    way: str = "selected"
    n_prototypes: int = 10
    C: float = 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FewVectorSVC:
        """Fit an SVM for each output, then their vectors, which they share."""
        OneOf(("selected", "reduced")).check("way", self.way)
        X = np.asarray(X)
        targets = self._targets(y)
        duals, intercepts = np.zeros(targets.shape), []
        for output, labels in enumerate(targets.T):
            svm = SVC(C=self.C, gamma=1.0 / X.shape[1])
            svm.fit(X, labels, sample_weight)
            duals[svm.support_, output] = svm.dual_coef_[0]
            intercepts.append(svm.intercept_[0])
        support = np.flatnonzero(duals.any(axis=1))
        if len(support) > MOST_VECTORS:
            raise SmpcoreError(
                f"The SVM has {len(support):,} support vectors, and at most "
                f"{MOST_VECTORS:,} are reduced; use fewer rows."
            )
        vectors, duals = X[support], duals[support]
        n = min(self.n_prototypes, len(support))
        if self.way == "selected":
            remaining, self.B_ = fewer_vectors(similarities(vectors, vectors), duals, n)
            self.Z_ = vectors[remaining]
        else:
            self.Z_, self.B_ = reduced_vectors(vectors, duals, n)
        self.intercept_ = np.array(intercepts)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Scores: of the second of two classes, or of each class."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values


#: liblinear draws from one generator in the whole process: of two fits at once, each
#: would get what the other one leaves.
_liblinear = threading.Lock()


class _OneAtATime:
    """Fit with liblinear as if nobody else did."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Any:
        with _liblinear:
            return super().fit(X, y, sample_weight)


class _LiblinearLogistic(_OneAtATime, LogisticRegression):
    """l1-penalised logistic regression, the same beside others as alone."""


class _LiblinearSVC(_OneAtATime, LinearSVC):
    """Linear SVM, the same beside others as alone."""


def _l1_logistic(C: float = 1.0) -> BaseEstimator:
    one = _LiblinearLogistic(
        l1_ratio=1.0, solver="liblinear", C=C, max_iter=1000, random_state=0
    )
    return OneVsRestClassifier(one)


#: Name in the table of baselines -> what makes the model, at the usual settings.
MODELS: dict[str, Callable[..., BaseEstimator]] = {
    "l1_logistic": _l1_logistic,
    "lasso": partial(Lasso, alpha=0.1, max_iter=10_000),
    "ridge": Ridge,
    "svc": SVC,
    "svr": SVR,
    "poly_svc": partial(SVC, kernel="poly"),
    "sigmoid_svc": partial(SVC, kernel="sigmoid"),
    "linear_svc": partial(_LiblinearSVC, random_state=0, max_iter=5000),
    "tree": partial(DecisionTreeClassifier, random_state=0),
    "tree_of_numbers": partial(DecisionTreeRegressor, random_state=0),
    "forest": partial(RandomForestClassifier, random_state=0),
    "forest_of_numbers": partial(RandomForestRegressor, random_state=0),
    "neighbours": KNeighborsClassifier,
    "neighbours_of_numbers": KNeighborsRegressor,
    "logistic": partial(LogisticRegression, max_iter=1000),
    "elastic_net": partial(
        LogisticRegression,
        l1_ratio=0.5,
        solver="saga",
        max_iter=2000,
        tol=1e-3,
        random_state=0,
    ),
    "gaussian_process": partial(GaussianProcessClassifier, random_state=0),
    "boosting": partial(GradientBoostingClassifier, random_state=0),
    "adaboost": partial(AdaBoostClassifier, random_state=0),
    "quadratic": partial(QuadraticDiscriminantAnalysis, reg_param=0.1),
    "gmlvq": GMLVQ,
    "local_gmlvq": partial(GMLVQ, local=True),
    **{f"ps_{way}": partial(SelectedClassifier, way) for way in WAYS},
    **{f"ps_{way}_of_numbers": partial(SelectedRegressor, way) for way in WAYS},
    "svm_sel": partial(FewVectorSVC, "selected"),
    "svm_red": partial(FewVectorSVC, "reduced"),
}


def standardised(name: str, values: Mapping[str, Any], task: str) -> BaseEstimator:
    """Make an estimator that standardises the features first, and numbers to
    predict.
    """
    estimator = make_pipeline(StandardScaler(), MODELS[name](**values))
    if task == "regression":
        return TransformedTargetRegressor(estimator, transformer=StandardScaler())
    return estimator


def _line(start: float, slope: float, y: np.ndarray) -> np.ndarray:
    return start + slope * y


def fit_weighted(
    estimator: Pipeline, X: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> Pipeline:
    """Fit a model of `standardised` on rows that have weights."""
    is_scaled = isinstance(estimator, TransformedTargetRegressor)
    pipeline = estimator.regressor if is_scaled else estimator
    name, last = pipeline.steps[-1]
    if isinstance(last, OneVsRestClassifier) and len(np.unique(y)) == 2:
        pipeline.steps[-1] = name, last.estimator  # of two classes it is one model
    if not has_fit_parameter(pipeline[-1], "sample_weight"):
        raise SmpcoreError(
            "it has no weights of rows, which these rows have; choose another model, "
            "or on Data another role for their column, or another question."
        )
    of_steps = {f"{name}__sample_weight": weights for name in pipeline.named_steps}
    if is_scaled:
        mean = np.average(y, weights=weights)
        spread = float(np.sqrt(np.average((y - mean) ** 2, weights=weights))) or 1.0
        ways = partial(_line, -mean / spread, 1 / spread), partial(_line, mean, spread)
        estimator.set_params(transformer=None, func=ways[0], inverse_func=ways[1])
    return estimator.fit(X, y, **of_steps)
