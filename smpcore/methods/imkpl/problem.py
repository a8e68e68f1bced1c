"""Training rows of IMKPL, and how its base kernels compare them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from smpcore.errors import caution
from smpcore.methods.imkpl import kinds_of_kernels as kinds
from smpcore.methods.imkpl.kernel_start import choose_medoids, nearest_rows
from smpcore.methods.shared.problem import ClassificationProblem
from smpcore.model import History, PrototypeModel
from smpcore.similarity import Similarity

#: A kernel needs this variance in its feature space, and this share of the median.
LEAST_VARIANCE, LEAST_SHARE = 0.02, 0.1

#: Steps of k-medoids.
MOST_STEPS = 10


@dataclass(frozen=True, eq=False)
class IMKPLProblem(ClassificationProblem):
    """Training rows for IMKPL: equal ones once, class by class."""

    #: (n_samples,): Rows that each row stands for, or weights of samples and their
    #: classes
    counts: np.ndarray
    #: (n_samples,): The sample that each row is, of those that were given
    order: np.ndarray
    left_out: np.ndarray  # (n_left, n_features): Samples of weight 0
    #: (n_kernels, n_samples): Where X has the value of each kernel to each row, if it
    #: is "precomputed"; of other kernels there are none
    columns: np.ndarray
    kernels: kinds.Kernels
    #: (n_kernels,): Variance of the rows in the feature space of each kernel
    variance: np.ndarray
    #: (n_kernels,): Kernels that tell rows apart well enough to be mixed
    active: np.ndarray
    K: kinds.Mix  # (n_samples, n_samples): Mean of the active kernels
    #: (n_kernels,): Similarity to neighbours of other classes less twice that to
    #: neighbours of the same class, summed over rows
    neighbours: np.ndarray
    n_same: float  # Pairs of same-class neighbours
    U: np.ndarray  # (n_prototypes, n_samples): First prototypes
    #: (n_landmarks,), or None: Rows that the first prototypes, the neighbours and the
    #: start are of
    landmarks: np.ndarray | None = None

    @cached_property
    def blocks(self) -> list[slice]:
        """Rows of each class."""
        return class_blocks(self.y_encoded)

    @cached_property
    def starts(self) -> np.ndarray:
        """First row of each class, and their number."""
        return np.array([0, *(rows.stop for rows in self.blocks)])

    @property
    def even_weights(self) -> np.ndarray:
        """Equal weights of the active kernels, shape (n_kernels,)."""
        return self.active / self.active.sum()

    def with_prototypes(self, per_class: int, size: int) -> Self:
        """The same rows with other first prototypes; see `medoid_prototypes`."""
        sizes = per_class, size
        rows = self.y_encoded, self.counts, self.landmarks
        return replace(self, U=first_prototypes(self.K, *rows, sizes))

    @property
    def landmark_share(self) -> float:
        """Share of the landmarks in what all rows count."""
        return float(self.counts[self.landmarks].sum() / self.counts.sum())

    def model_kernel(
        self, name: str, beta: np.ndarray, used: np.ndarray
    ) -> tuple[Similarity, np.ndarray]:
        """Similarity and anchors of the mixed kernel; see `base_kernels`."""
        rows = self.X[used], self.columns[:, used]
        return kinds.model_kernel(name, self.kernels, beta, *rows)

    def mixed_model(
        self,
        name: str,
        U: np.ndarray,
        beta: np.ndarray,
        history: History,
        **parts: Any,
    ) -> PrototypeModel:
        """Wrap prototypes; its anchors are the rows with weight in one."""
        used = np.flatnonzero(U.any(axis=0))
        similarity, anchors = self.model_kernel(name, beta, used)
        return self.model(
            anchors,
            self.votes(U),
            history,
            np.ascontiguousarray(U[:, used].T),
            similarity=similarity,
            pooling="sum",
            kind_of_prototype="mix of real cases",
            fallback=int(np.bincount(self.y_encoded, self.counts).argmax()),
            **parts,
        )

    def of_landmarks(self) -> Self:
        """The problem of the landmarks alone."""
        rows, share = self.landmarks, self.landmark_share
        kernels = self.kernels.of_rows(rows)
        return replace(
            self,
            X=self.X[rows],
            y_encoded=self.y_encoded[rows],
            counts=self.counts[rows],
            order=self.order[rows],
            columns=self.columns[:, rows],
            kernels=kernels,
            K=kernels.mix(self.even_weights),
            neighbours=share * self.neighbours,
            n_same=share * self.n_same,
            U=np.ascontiguousarray(self.U[:, rows]),
            landmarks=None,
        )

    def votes(self, U: np.ndarray) -> np.ndarray:
        """Weight of each class in each prototype, shape (n_prototypes, n_classes)."""
        return np.stack([U[:, rows].sum(axis=1) for rows in self.blocks], axis=1)

    def own_class(self, A: np.ndarray, K: kinds.Mix) -> np.ndarray:
        """A K with only the entries of K within a class, shape (n_prototypes, N)."""
        product = np.empty_like(A)
        for rows in self.blocks:
            product[:, rows] = A[:, rows] @ K[rows, rows]
        return product


@dataclass(frozen=True)
class IMKPLParameters:
    """The objective and the algorithm, as in `IMKPLClassifier`."""

    lam: float
    mu: float
    tau: float
    kappa: float
    code_size: int
    path: bool  # Whether every number of cases of a prototype is tried
    row_code_size: int | None = None  # Most entries of a code; None for `code_size`

    @property
    def most_in_code(self) -> int:
        """Most prototypes that describe a row."""
        return int(self.row_code_size or self.code_size)

    @property
    def key(self) -> tuple[float, ...]:
        """What the scale of `kappa` depends on."""
        return self.lam, self.mu, self.tau, self.code_size, self.most_in_code, self.path


@dataclass(frozen=True, eq=False)
class IMKPLState:
    """Where an alternation ended: the warm start of the next."""

    U: np.ndarray  # (n_prototypes, n_samples)
    codes: np.ndarray  # (n_prototypes, n_samples)
    beta: np.ndarray  # (n_kernels,)
    #: Ridge of the kernel weights for each unit of `kappa`; 0 if not known
    spread: float
    key: tuple[float, ...]  # Parameters that `spread` belongs to
    kappa: float  # Evenness of the kernel weights

    def fits(self, problem: IMKPLProblem) -> bool:
        """Whether it is of as many rows and kernels."""
        shapes = self.U.shape[1], len(self.beta)
        return shapes == (problem.U.shape[1], len(problem.active))

    def n_prototypes(self, problem: IMKPLProblem) -> int:
        """Prototypes of each class, of which a smaller class has fewer."""
        sizes = np.bincount(problem.y_encoded)
        counts = np.arange(1, len(self.U) + 1)
        total = np.minimum(sizes, counts[:, None]).sum(axis=1)
        return int(counts[min(np.searchsorted(total, len(self.U)), len(counts) - 1)])


def class_blocks(y_sorted: np.ndarray) -> list[slice]:
    """Slices of equal numbers, which stand side by side."""
    stops = np.cumsum(np.bincount(y_sorted))
    return [
        slice(int(end - size), int(end))
        for end, size in zip(stops, np.bincount(y_sorted), strict=True)
    ]


def fewest(counts: np.ndarray, enough: float) -> int:
    """Rows of which no choice counts less than `enough`, if there are so many."""
    n_less = np.searchsorted(np.cumsum(np.sort(counts)), enough)
    return int(min(n_less + 1, len(counts)))


def screen(kernels: kinds.Kernels) -> tuple[np.ndarray, np.ndarray, kinds.Mix]:
    """Leave out kernels that see hardly a difference between rows.

    A constant kernel reconstructs everything without error and would be chosen.
    """
    constant = kernels.constant
    mix, means = kernels.mix_and_means((~constant).astype(np.float64))
    variance = np.where(constant, 0.0, 1.0 - means)
    least = max(LEAST_VARIANCE, LEAST_SHARE * float(np.median(variance)))
    active = variance > least
    if not active.any():
        caution(
            f"None of the {len(active)} kernels tells rows apart: the largest variance "
            f"is {variance.max():.2g} and should be above {least:.2g}; all are kept."
        )
        active = np.ones(len(active), dtype=bool)
    if mix is None or (active != ~constant).any():
        return variance, active, kernels.mix(active / active.sum())
    return variance, active, mix / active.sum()


def neighbour_pairs(
    K: kinds.Mix,
    y_sorted: np.ndarray,
    k: int,
    counts: np.ndarray,
    landmarks: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of each row with its k nearest of its own class and of the others.

    A row that counts as two is two of the k, and its own nearest.
    """
    first, second, weights = [], [], []
    n = len(y_sorted)
    at_once = n if n < kinds.FACTORED_ROWS else max(1, kinds.WORK_BYTES // (8 * n))
    paired = np.arange(n) if landmarks is None else landmarks
    for rows in class_blocks(y_sorted):
        inner, outer = counts[rows], np.delete(counts, rows)
        n_inside, n_outside = min(fewest(inner, k), len(inner) - 1), fewest(outer, k)
        of_class = paired[(paired >= rows.start) & (paired < rows.stop)]
        more = inner.sum() / counts[of_class].sum()
        for start in range(0, len(of_class), at_once):
            here = of_class[start : start + at_once]
            inside = np.empty((len(here), n_inside), dtype=np.int64)
            outside = np.empty((len(here), n_outside), dtype=np.int64)
            nearest_rows(K[here], here, rows.start, rows.stop, inside, outside)
            alike = np.clip(counts[here] - 1.0, 0.0, k)  # the row itself is its nearest
            for nearest, weight, room in (
                (inside, -2.0, k - alike),
                (outside, 1.0, np.full(len(here), float(k))),
            ):
                each = counts[nearest]
                before = np.cumsum(each, axis=1) - each
                taken = np.clip(room[:, None] - before, 0.0, each)
                first.append(np.repeat(here, nearest.shape[1]))
                second.append(nearest.ravel())
                weights.append((more * weight * counts[here, None] * taken).ravel())
    return np.concatenate(first), np.concatenate(second), np.concatenate(weights)


def first_prototypes(
    K: kinds.Mix,
    y_sorted: np.ndarray,
    counts: np.ndarray,
    landmarks: np.ndarray | None,
    sizes: tuple[int, int],
) -> np.ndarray:
    """Start from `medoid_prototypes` of all rows, or of landmarks."""
    if landmarks is None:
        return medoid_prototypes(K, y_sorted, counts, *sizes)
    rows = y_sorted[landmarks], counts[landmarks]
    part = medoid_prototypes(K[landmarks, landmarks], *rows, *sizes)
    U = np.zeros((len(part), len(y_sorted)))
    U[:, landmarks] = part
    return U


def medoid_prototypes(
    K: kinds.Mix,
    y_sorted: np.ndarray,
    counts: np.ndarray,
    per_class: int,
    size: int,
) -> np.ndarray:
    """Prototypes to start from: medoids of each class with rows of their cluster.

    Deterministic: the first medoid is the row most like its class, each further one
    the row least like those before, then k-medoids.
    """
    prototypes = []
    for rows in class_blocks(y_sorted):
        diagonal = np.ascontiguousarray(K[rows, rows])
        medoids = np.empty(min(per_class, len(diagonal)), dtype=np.int64)
        cluster = np.empty(len(diagonal), dtype=np.int64)
        choose_medoids(diagonal, counts[rows], MOST_STEPS, medoids, cluster)
        for number, medoid in enumerate(medoids):
            members = np.flatnonzero(cluster == number)
            likest = np.argsort(-diagonal[medoid, members], kind="stable")[:size]
            mix = np.zeros(len(K))
            mix[rows.start + members[likest]] = 1.0
            prototypes.append(mix)
    U = np.array(prototypes)
    return U / np.sqrt(np.einsum("ij,ij->i", kinds.mixed_product(U, K), U))[:, None]


#: Landmarks where no number is asked for and a class has too many rows; and of a class
#: at least.
N_LANDMARKS, LEAST_OF_CLASS = 2000, 50


def landmark_rows(
    kernels: kinds.FeatureKernels, y_sorted: np.ndarray, count: int | None
) -> np.ndarray | None:
    """Landmarks, where they are asked for or a class has too many rows."""
    if not kernels.is_low_rank:
        kinds.refuse_large(len(y_sorted), kinds.MIXED_TABLES)
        return None
    kinds.refuse_thick(len(y_sorted), kernels.levels.most_columns)
    largest = int(np.bincount(y_sorted).max())
    if count is None and not kinds.fits_memory(largest, kinds.CLASS_TABLES):
        count = N_LANDMARKS
        caution(
            f"Of {len(y_sorted)} rows, about {count} landmarks are fitted first, and "
            "give the neighbours; raise landmarks to use more of them."
        )
    if not count:
        kinds.refuse_large(largest, kinds.CLASS_TABLES)
        return None
    rows = spread_rows(y_sorted, count)
    kinds.refuse_large(int(np.bincount(y_sorted[rows]).max()), kinds.CLASS_TABLES)
    return rows


def spread_rows(y_sorted: np.ndarray, count: int) -> np.ndarray:
    """About so many rows, spread evenly over those of each class."""
    chosen = []
    for rows in class_blocks(y_sorted):
        size = rows.stop - rows.start
        share = max(LEAST_OF_CLASS, round(count * size / len(y_sorted)))
        places = np.linspace(rows.start, rows.stop - 1, min(size, share))
        chosen.append(np.round(places).astype(np.int64))
    return np.concatenate(chosen)
