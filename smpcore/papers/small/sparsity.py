r"""Figures 2 to 4: a few features, beside sparse linear models and those for devices.

**ProtoNN** has prototypes in a sparse projection. Gupta et al.: ProtoNN: Compressed and
Accurate kNN for Resource-scarce Devices. ICML 2017. It minimises the squared error of

.. math:: \hat y(x) = \sum_j z_j \exp(-\gamma^2 \|W x - b_j\|^2)

over W, b and z. The paper alternates between the three; here all move at once.

**Bonsai** is a small tree in a sparse projection. Kumar, Goyal, Varma:
Resource-efficient Machine Learning in 2 KB RAM for the Internet of Things. ICML 2017.
Every node on a row's path adds to its score,

.. math:: \hat y(x) = \sum_k I_k(x)\, W_k Z x \circ \tanh(\sigma V_k Z x) ,

and node k sends a row to its second child where :math:`\theta_k \cdot Z x > 0`. While
it is trained, a row takes all paths with weights from tanh, which become steeper.

Both are as published, in plain NumPy, and take three thirds of the steps: with all
weights, then with hard thresholding after every step, then on the support that has come
out of it. Theirs are stochastic gradients; here all rows are looked at, with Adam's
step lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import gt

import numpy as np
from scipy.special import log_softmax
from sklearn.cluster import KMeans

from smpcore.methods.smallk import SMaLLClassifier
from smpcore.papers.conclusions import Claim, Holds
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.protocols import Fit, grid_of, standardised_halves
from smpcore.papers.small.table_1 import FIXED, SMALL
from smpcore.papers.small.table_1 import MODELS as STANDARD
from smpcore.papers.smp.sparsity import BASELINES, few_features
from smpcore.papers.sources import bundled, generated, of_openml

#: Arrays of a model by name.
Arrays = dict[str, np.ndarray]
#: Bytes of a weight, and of its place where only weights that are not zero are stored.
WEIGHT, PLACE = 4, 2


def keep_largest(array: np.ndarray, n_kept: int) -> np.ndarray:
    """Whether each entry is among the largest in size."""
    order = np.argsort(-np.abs(array), axis=None, kind="stable")
    chosen = np.zeros(array.size, dtype=bool)
    chosen[order[:n_kept]] = True
    return chosen.reshape(array.shape)


def keep_columns(array: np.ndarray, n_kept: int) -> np.ndarray:
    """Whether each entry is in one of the columns with the largest norms."""
    chosen = keep_largest(np.linalg.norm(array, axis=0), n_kept)
    return np.broadcast_to(chosen, array.shape)


def minimise(
    gradients: Callable[[Arrays, float], Arrays],
    start: Arrays,
    limits: Mapping[str, Callable[[np.ndarray], np.ndarray]],
    n_steps: int = 600,
    rate: float = 0.03,
) -> Arrays:
    """Take gradient steps; some arrays keep only a part of their entries."""
    arrays = {name: array.copy() for name, array in start.items()}
    first = {name: np.zeros_like(array) for name, array in start.items()}
    second = {name: np.zeros_like(array) for name, array in start.items()}
    support: Arrays = {}
    for t in range(n_steps):
        slopes = gradients(arrays, t / n_steps)
        for name, slope in slopes.items():
            first[name] += 0.1 * (slope - first[name])
            second[name] += 0.001 * (slope**2 - second[name])
            mean = first[name] / (1.0 - 0.9 ** (t + 1))
            size = np.sqrt(second[name] / (1.0 - 0.999 ** (t + 1)))
            arrays[name] -= rate * 0.1 ** (t / n_steps) * mean / (size + 1e-12)
        for name, chosen in limits.items():
            if 3 * t >= n_steps and (3 * t < 2 * n_steps or name not in support):
                support[name] = chosen(arrays[name])
            if name in support:
                arrays[name] *= support[name]
    return arrays


class FewWeights:
    """What a fitted model of such arrays answers, and what it takes."""

    #: Name of the array that projects the features.
    projection: str

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class with the highest score."""
        return self.classes_[self.scores(X).argmax(axis=1)]

    @property
    def n_bytes(self) -> int:
        """Bytes of its weights."""
        return n_bytes(self.arrays_)

    @property
    def features(self) -> np.ndarray:
        """Places of the features that it uses."""
        return np.flatnonzero(self.arrays_[self.projection].any(axis=0))


def n_bytes(arrays: Arrays) -> int:
    """Bytes of a model: each array with all weights, or with places, if that is
    less.
    """
    return sum(
        min(WEIGHT * array.size, (WEIGHT + PLACE) * int(np.count_nonzero(array)))
        for array in arrays.values()
    )


#: sigma of the scores, and the steepness of branches at the start and end of training.
SIGMA, SOFTEST, STEEPEST = 1.0, 1.0, 30.0


@dataclass
class Bonsai(FewWeights):
    """A tree whose nodes all score, for classification."""

    projection = "Z"

    depth: int = 2
    n_dimensions: int = 5
    n_features: int | None = None
    share: float = 1.0
    ridge: float = 1e-3
    random_state: int = 0

    def fit(self, X: np.ndarray, y: np.ndarray) -> Bonsai:
        """Fit standardised rows."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        # Two classes need one score: that of the first one is 0.
        n_scores = 1 if n_classes == 2 else n_classes
        random = np.random.default_rng(self.random_state)
        n_nodes, d = 2 ** (self.depth + 1) - 1, self.n_dimensions
        start = {
            "Z": random.normal(size=(d, X.shape[1])) / np.sqrt(X.shape[1]),
            "W": random.normal(size=(n_nodes, n_scores, d)) / np.sqrt(d),
            "V": random.normal(size=(n_nodes, n_scores, d)) / np.sqrt(d),
            "theta": random.normal(size=(n_nodes // 2, d)) / np.sqrt(d),
        }

        def gradients(arrays: Arrays, progress: float) -> Arrays:
            steepness = SOFTEST * (STEEPEST / SOFTEST) ** progress
            return loss_and_gradients(arrays, X, codes, steepness, self.ridge)[1]

        self.arrays_ = minimise(gradients, start, self._limits(start))
        return self

    def _limits(self, start: Arrays) -> dict:
        limits = {}
        if self.share < 1.0:
            for name, array in start.items():
                n = max(1, int(self.share * array.size))
                limits[name] = lambda array, n=n: keep_largest(array, n)
        if self.n_features is not None:
            limits["Z"] = lambda array: keep_columns(array, self.n_features)
        return limits

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of each class, shape (n_samples, n_classes): one path for a row."""
        return _with_zero(forward(self.arrays_, X, np.inf)["scores"])


def _with_zero(scores: np.ndarray) -> np.ndarray:
    """Scores of all classes: of two, the first one has 0."""
    return scores if scores.shape[1] > 1 else np.pad(scores, ((0, 0), (1, 0)))


def forward(arrays: Arrays, X: np.ndarray, steepness: float) -> Arrays:
    """What the tree makes of rows."""
    P = X @ arrays["Z"].T
    turns = P @ arrays["theta"].T
    turns = np.sign(turns) if np.isinf(steepness) else np.tanh(steepness * turns)
    turns = np.where(turns == 0.0, -1.0, turns) if np.isinf(steepness) else turns
    reach = np.ones((len(X), len(arrays["W"])))
    for k in range(1, reach.shape[1]):
        parent = (k - 1) // 2
        reach[:, k] = 0.5 * reach[:, parent] * (1.0 + _side(k) * turns[:, parent])
    linear = np.einsum("id,kld->ikl", P, arrays["W"])
    bent = np.tanh(SIGMA * np.einsum("id,kld->ikl", P, arrays["V"]))
    scores = np.einsum("ik,ikl->il", reach, linear * bent)
    return {
        "P": P,
        "turns": turns,
        "reach": reach,
        "linear": linear,
        "bent": bent,
        "scores": scores,
    }


def _side(node: int) -> float:
    """-1 for a first child, 1 for a second one."""
    return -1.0 if node % 2 else 1.0


def loss_and_gradients(
    arrays: Arrays, X: np.ndarray, codes: np.ndarray, steepness: float, ridge: float
) -> tuple[float, Arrays]:
    """Mean logistic loss with a ridge, and its gradients."""
    at, rows = forward(arrays, X, steepness), np.arange(len(X))
    logs = log_softmax(_with_zero(at["scores"]), axis=1)
    loss = -logs[rows, codes].mean()
    loss += 0.5 * ridge * sum(float((array**2).sum()) for array in arrays.values())
    slope = np.exp(logs)
    slope[rows, codes] -= 1.0
    slope = slope[:, -at["scores"].shape[1] :] / len(X)
    reach, turns = at["reach"], at["turns"]
    to_linear = slope[:, None, :] * reach[:, :, None] * at["bent"]
    to_bent = slope[:, None, :] * reach[:, :, None] * at["linear"]
    to_bent = to_bent * SIGMA * (1.0 - at["bent"] ** 2)
    to_reach = np.einsum("il,ikl->ik", slope, at["linear"] * at["bent"])
    to_turns = np.zeros_like(turns)
    for k in range(reach.shape[1] - 1, 0, -1):
        parent, half = (k - 1) // 2, 0.5 * to_reach[:, k]
        to_turns[:, parent] += half * _side(k) * reach[:, parent]
        to_reach[:, parent] += half * (1.0 + _side(k) * turns[:, parent])
    to_theta = to_turns * steepness * (1.0 - turns**2)
    to_P = to_theta @ arrays["theta"]
    to_P += np.einsum("ikl,kld->id", to_linear, arrays["W"])
    to_P += np.einsum("ikl,kld->id", to_bent, arrays["V"])
    gradients = {
        "Z": to_P.T @ X,
        "W": np.einsum("ikl,id->kld", to_linear, at["P"]),
        "V": np.einsum("ikl,id->kld", to_bent, at["P"]),
        "theta": to_theta.T @ at["P"],
    }
    return float(loss), {
        name: slope + ridge * arrays[name] for name, slope in gradients.items()
    }


@dataclass
class ProtoNN(FewWeights):
    """Prototypes in a projection, for classification."""

    projection = "W"

    n_dimensions: int = 5
    n_prototypes: int = 2
    n_features: int | None = None
    share: float = 1.0
    random_state: int = 0

    def fit(self, X: np.ndarray, y: np.ndarray) -> ProtoNN:
        """Fit standardised rows."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        Y = np.eye(len(self.classes_))[codes]
        start = self._start(X, codes)
        middle = float(np.median(_distances(X @ start["W"].T, start["B"])))
        self.gamma_ = 2.5 / np.sqrt(max(middle, 1e-12))

        def gradients(arrays: Arrays, progress: float) -> Arrays:
            return squared_error(arrays, X, Y, self.gamma_)[1]

        self.arrays_ = minimise(gradients, start, self._limits(start))
        return self

    def _start(self, X: np.ndarray, codes: np.ndarray) -> Arrays:
        """Random projection, cluster centres of each class there, and their labels."""
        random = np.random.default_rng(self.random_state)
        W = random.normal(size=(self.n_dimensions, X.shape[1])) / np.sqrt(X.shape[1])
        centres, labels = [], []
        for code in range(len(self.classes_)):
            rows = X[codes == code] @ W.T
            n = min(self.n_prototypes, len(rows))
            clusters = KMeans(n, n_init=1, random_state=self.random_state).fit(rows)
            centres.append(clusters.cluster_centers_)
            labels += [code] * n
        return {"W": W, "B": np.concatenate(centres), "Z": np.eye(code + 1)[labels]}

    def _limits(self, start: Arrays) -> dict:
        # Without its labels a class would lose its prototypes: only W is thresholded.
        n_kept = max(1, int(self.share * start["W"].size))
        limits = {"W": lambda array: keep_largest(array, n_kept)}
        if self.n_features is not None:
            limits["W"] = lambda array: keep_columns(array, self.n_features)
        return limits

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of each class, shape (n_samples, n_classes)."""
        return _similarities(self.arrays_, X, self.gamma_)[1] @ self.arrays_["Z"]


def _distances(P: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances of projected rows and prototypes."""
    return ((P[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)


def _similarities(
    arrays: Arrays, X: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Projected rows, and their similarity to each prototype."""
    P = X @ arrays["W"].T
    return P, np.exp(-(gamma**2) * _distances(P, arrays["B"]))


def squared_error(
    arrays: Arrays, X: np.ndarray, Y: np.ndarray, gamma: float
) -> tuple[float, Arrays]:
    """Mean squared error of the scores, and its gradients."""
    P, S = _similarities(arrays, X, gamma)
    B, Z = arrays["B"], arrays["Z"]
    R = S @ Z - Y
    slope = 2.0 * R / len(X)
    E = -(gamma**2) * (slope @ Z.T) * S
    to_P = 2.0 * (E.sum(axis=1)[:, None] * P - E @ B)
    to_B = 2.0 * (E.sum(axis=0)[:, None] * B - E.T @ P)
    gradients = {"W": to_P.T @ X, "B": to_B, "Z": S.T @ slope}
    return float((R**2).sum() / len(X)), gradients


#: Features that a model may use: p k of the paper.
N_FEATURES = 6
#: Divisions that a measure is the mean over.
HALVES = 5
SWAPPED = "SMaLL, with a bias"
#: The paper's values, which Explore can show, and others.
_OURS = {
    SMALL: Fit(SMaLLClassifier, [FIXED], "smallk"),
    SWAPPED: Fit(SMaLLClassifier, [FIXED | {"bias": True}], "smallk"),
}
TUNED = Fit(SMaLLClassifier, grid_of(lam=(0.003, 0.01, 0.03, 0.1, 0.3)))
#: Baselines of little devices -> what makes them, and the values that are tried.
DEVICES = {
    "ProtoNN": Fit(
        ProtoNN, grid_of(n_dimensions=(5, 10, 15, 20), n_features=(N_FEATURES,))
    ),
    "Bonsai": Fit(Bonsai, grid_of(depth=(2, 3, 4), n_features=(N_FEATURES,))),
}
_STANDARD = {name: STANDARD[name] for name in tuple(STANDARD)[:9]}


def measures(case: Case) -> Outcome:
    """Test accuracy and features of one model on one division of the rows."""
    rows, seed, made = case.rows, case.trial.repetition, case.declared
    if case.trial.model in BASELINES:
        return few_features(*made, N_FEATURES, rows, seed)
    values, fitted = made.chosen(rows, seed)
    n_features = rows.X.shape[1]
    if made.make is SMaLLClassifier:
        n_features = fitted.model_.n_nonzeros
    elif case.trial.model in DEVICES:
        n_features = len(fitted.features)
    share = rows.test_accuracy(fitted)
    values = values if made.method else {}
    numbers = {"accuracy": share, "features": n_features}
    return Outcome(numbers, method=made.method, values=values)


_CANCER_ACCURACY = "test accuracy above .94"
_EACH = "test accuracy above .94 in a division"
_PERIMETER = "worst perimeter in both prototypes"


def _cancer(case: Case) -> Outcome:
    values, fitted = case.declared.chosen(case.rows)
    place = list(case.dataset.feature_columns).index("worst perimeter")
    used = fitted.model_.anchors[:, place] != 0
    share = case.rows.test_accuracy(fitted)
    numbers = {"accuracy": share, _PERIMETER: used.sum() == 2, _EACH: share > 0.94}
    return Outcome(numbers, method="smallk", values=values)


def _accurate(outcome: Outcome) -> dict[str, float]:
    return {_CANCER_ACCURACY: outcome.measures["accuracy"] > 0.94}


_USUAL = "Friedman, 1000 x 50"
_FIGURE_3 = {
    **{
        f"Friedman, {m} x {n}": generated("friedman", n_samples=m, n_features=n)
        for m, n in ((250, 50), (500, 50), (1000, 50), (1000, 100))
    },
    **{
        name: of_openml(number, name)
        for name, number in (
            ("fri_c0_1000_50", 590),
            ("fri_c0_500_50", 650),
            ("fri_c0_250_50", 603),
            ("fri_c4_1000_100", 588),
        )
    },
}
# Explore shows the one of the usual size.
_FIGURE_3[_USUAL] = replace(_FIGURE_3[_USUAL], bundled="friedman")
_FIGURE_4 = {
    name: _FIGURE_3[name] for name in ("Friedman, 1000 x 50", "fri_c0_1000_50")
}
_RIVALS = tuple(
    name for name in _STANDARD | BASELINES | DEVICES if name not in ("GB", "AB")
)
EXPERIMENTS = (
    Experiment(
        name="small-figure-2",
        where="Figure 2",
        title="Six weights on breast cancer",
        data={"breast cancer": bundled("breast_cancer")["breast_cancer"]},
        models=_OURS,
        measure=_cancer,
        n_halves=20,
        summary=_accurate,
        checks={
            "accuracy": Holds(_CANCER_ACCURACY, (SMALL,)),
            "each": Holds(_EACH, (SMALL,)),
            "perimeter": Holds(_PERIMETER, (SMALL,)),
        },
    ),
    Experiment(
        name="small-figure-3",
        where="Figure 3",
        title="Accuracy with six features on high-dimensional data",
        data=_FIGURE_3,
        models=_OURS | {"SMaLL, lambda by folds": TUNED} | BASELINES | DEVICES,
        measure=measures,
        divide=standardised_halves,
        n_halves=HALVES,
        settings=((SMALL, "features"), (SWAPPED, "features")),
        checks={
            "devices": Claim(SMALL, gt, (*DEVICES,), "accuracy"),
            "linear": Claim(SMALL, gt, (*BASELINES,), "accuracy"),
        },
    ),
    Experiment(
        name="small-figure-4",
        where="Figure 4",
        title="Six features against models that use all",
        data=_FIGURE_4,
        models=_OURS | _STANDARD | BASELINES | DEVICES,
        measure=measures,
        divide=standardised_halves,
        n_halves=HALVES,
        checks={"others": Claim(SMALL, gt, _RIVALS, "accuracy")},
    ),
)
