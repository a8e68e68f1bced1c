"""Base kernels of IMKPL: computed on the fly, one per feature, or held in a list.

All kernels are 1 on the diagonal. Rows are in the order of the problem, by class.

For many rows a mix of kernels is a product of thin factors. A Gaussian kernel of one
feature has a low rank: to `LARGEST_ERROR` it is a product of N x r factors, r about 20,
and no larger than the number of distinct values. So products with a mix of kernels cost
N r per kernel, and no N x N numbers are ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError
from smpcore.methods.imkpl.kernel import (
    HeldRows,
    RowSource,
    feature_products,
    mix_features,
    rows_tried,
)
from smpcore.methods.imkpl.kernel_products import factor_products, sparse_product
from smpcore.methods.imkpl.kernel_start import eliminate
from smpcore.methods.shared.gram import ROUNDING, make_semidefinite
from smpcore.similarity import Similarity, alignment_kernel

#: Largest error of an entry of a kernel.
LARGEST_ERROR = 1e-10

#: Rank of the kernel of a feature with many values, if these have no outliers.
USUAL_RANK = 24

#: Distinct values that a feature may have to be looked up in a table.
MOST_LEVELS = 32

#: An array has few entries if they are fewer than one in so many numbers: products
#: with these alone are faster then.
FEW = 12

#: Bytes of the kernel's rows that are held for the prototypes' updates, and of work.
ROW_BYTES, WORK_BYTES = 2**28, 2**26


@dataclass(frozen=True, eq=False)
class FeatureFactors:
    """Kernels of features as products: ``K_l = L_l L_l'``."""

    L: np.ndarray  # (n_samples, n_columns): The factors side by side
    feature: np.ndarray  # (n_columns,): Whose factor a column is part of, ascending
    n_kernels: int

    @classmethod
    def of(cls, Z: np.ndarray, widths: np.ndarray) -> Self:
        """Factors by Cholesky's elimination, the row of largest error first."""
        columns, parts, ranks = np.empty((USUAL_RANK, Z.shape[1])), [], []
        for z, width in zip(Z, widths, strict=True):
            rank = eliminate(z, width, LARGEST_ERROR, columns)
            while rank == len(columns):
                columns = np.empty((2 * rank, Z.shape[1]))
                rank = eliminate(z, width, LARGEST_ERROR, columns)
            parts.append(columns[:rank].copy())
            ranks.append(rank)
        L = np.ascontiguousarray(np.concatenate(parts).T)
        return cls(L, np.repeat(np.arange(len(Z)), ranks), len(Z))

    def sums(self, columns: np.ndarray) -> np.ndarray:
        """Sum over the columns of each kernel, shape (n_kernels,)."""
        return np.bincount(self.feature, columns, self.n_kernels)

    def means(self, counts: np.ndarray) -> np.ndarray:
        """Mean entry of each kernel, shape (n_kernels,); counts: (n_samples,)."""
        return self.sums((counts @ self.L / counts.sum()) ** 2)

    def products(
        self,
        U: np.ndarray,
        codes: np.ndarray,
        overlap: np.ndarray,
        lam: float,
        starts: np.ndarray,
    ) -> np.ndarray:
        """Sum of ``K_l * (U' overlap U - 2 U' codes - lam S * (U' codes))``."""
        UL, totals = np.empty((len(U), self.L.shape[1])), np.empty(self.L.shape[1])
        factor_products(U, codes, self.L, starts, lam, UL, totals)
        return self.sums(totals + np.einsum("ij,ij->j", UL, overlap @ UL))


@dataclass(frozen=True, eq=False)
class FactoredMix:
    """A mix of kernels of features that acts as the array of its values would.

    ``A @ K`` and ``K[rows]`` are arrays; ``K[rows, rows]`` is a mix of these rows.
    """

    factors: FeatureFactors
    weights: np.ndarray  # (n_kernels,)
    levels: FeatureLevels

    #: So that ``array @ mix`` is left to `__rmatmul__`.
    __array_ufunc__ = None

    @cached_property
    def used(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the factors that have a weight, and their weights."""
        weights = self.weights[self.factors.feature]
        weighed = weights > 0.0
        L = self.factors.L
        some = L if weighed.all() else L.take(np.flatnonzero(weighed), axis=1)
        return some, weights[weighed]

    def __len__(self) -> int:
        return len(self.used[0])

    def __rmatmul__(self, A: np.ndarray) -> np.ndarray:
        L, weights = self.used
        product = np.zeros(A.shape)
        some = A.any(axis=1)
        product[some] = (thin_product(A[some], L) * weights) @ L.T
        return product

    def __getitem__(self, rows: Any) -> np.ndarray | Self:
        L, weights = self.used
        if isinstance(rows, tuple):
            part = FactoredMix(self.factors, self.weights, self.levels)
            part.__dict__["used"] = L[rows[0]], weights
            return part
        return (L[rows] * weights) @ L.T

    def __array__(self, dtype: type | None = None, copy: bool | None = None):
        return self[:].astype(dtype or np.float64)


#: A mix of kernels.
Mix = np.ndarray | FactoredMix


class FeatureLevels:
    """Features with few distinct values, and the kernels of these."""

    def __init__(self, Z: np.ndarray, widths: np.ndarray) -> None:
        self._Z, self._widths, self.most_columns = Z, widths, 0
        self._few = np.zeros(len(Z), dtype=bool)
        self._levels = np.zeros(Z.shape, dtype=np.uint16)
        self._sizes = np.ones(len(Z), dtype=np.int64)
        self._tables = np.zeros((len(Z), MOST_LEVELS, MOST_LEVELS))
        for l, z in enumerate(Z):  # noqa: E741
            values, levels = np.unique(z, return_inverse=True)
            size = len(values)
            self.most_columns += min(size, USUAL_RANK)
            if size <= MOST_LEVELS:
                differences = values[:, None] - values
                self._few[l], self._levels[l], self._sizes[l] = True, levels, size
                kernel = np.exp(-differences * differences / widths[l])
                self._tables[l, :size, :size] = kernel

    @property
    def is_most(self) -> bool:
        """Whether at least half of the features have few values."""
        return self._few.mean() >= 0.5

    def source(self, weights: np.ndarray) -> RowSource:
        """Where rows of the kernels' mix come from."""
        used = weights > 0.0
        few, others = np.flatnonzero(used & self._few), used & ~self._few
        n_pairs = (len(few) + 1) // 2
        sizes = np.ones(2 * n_pairs, dtype=np.int64)
        levels = np.zeros((2 * n_pairs, self._Z.shape[1]), dtype=np.uint16)
        most = int(self._sizes.max(initial=1))
        tables = np.zeros((2 * n_pairs, most, most))
        sizes[: len(few)] = self._sizes[few]
        levels[: len(few)] = self._levels[few]
        kernels = self._tables[few, :most, :most]
        tables[: len(few)] = weights[few, None, None] * kernels
        pairs = levels[::2] * sizes[1::2, None].astype(np.uint16) + levels[1::2]
        rest = self._Z[others], weights[others], self._widths[others]
        return RowSource(pairs, tables, sizes, *rest)


#: The source where all rows are held.
NO_SOURCE = FeatureLevels(np.empty((0, 0)), np.empty(0)).source(np.empty(0))


def held_rows(K: Mix, size: int, likely: np.ndarray) -> HeldRows:
    """All rows of a mix that is an array; of a product of factors the likely ones."""
    n = len(K)
    if not isinstance(K, FactoredMix):
        return HeldRows(K, np.arange(n), np.array([n]), NO_SOURCE)
    tried = rows_tried(min(size, n))
    room = min(n, max(tried, ROW_BYTES // (8 * n)))
    if room < min(n, len(likely) + tried):  # they would be forgotten at once
        likely = likely[:0]
    rows, place = np.empty((room, n)), np.full(n, -1)
    rows[: len(likely)], place[likely] = K[likely], np.arange(len(likely))
    return HeldRows(rows, place, np.array([len(likely)]), K.levels.source(K.weights))


def thin_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """``A @ B``, of an array A that may have few entries."""
    if FEW * np.count_nonzero(A) > A.size:
        return A @ B
    product = np.empty((len(A), B.shape[1]))
    sparse_product(A, B, product)
    return product


def mixed_product(A: np.ndarray, K: Mix) -> np.ndarray:
    """``A @ K``, of an array A that may have few entries."""
    return A @ K if isinstance(K, FactoredMix) else thin_product(A, K)


#: Memory that kernels may take, in bytes.
MOST_BYTES = 2**30

#: Tables of mixed kernels that a fit holds: of all rows; in place of them, where the
#: mix is a product of factors, of the rows of a class.
MIXED_TABLES, CLASS_TABLES = 3, 2

#: Numbers in all kernels of features from which factors of them are made; these are at
#: most as many numbers as one kernel, or as the second.
FACTORED_NUMBERS, SMALL_FACTORS = 2 * 10**6, 2**18

#: Rows from which a mix of kernels is a product of factors, if these are thin.
FACTORED_ROWS, THIN = 1000, 0.5


#: Of a mix whose kernels are not summed.
NO_SUMS = np.empty(0)


@dataclass(frozen=True, eq=False)
class FeatureKernels:
    """A Gaussian kernel per feature, ``exp(-(x_l - z_l)^2 / width_l)``, not stored."""

    Z: np.ndarray  # (n_features, n_samples): Scaled rows, transposed
    #: (n_features,): Mean squared difference of two rows; 1 for a constant feature
    widths: np.ndarray
    constant: np.ndarray  # (n_features,)
    counts: np.ndarray  # (n_samples,): Rows that each row stands for

    @classmethod
    def of(cls, X: np.ndarray, counts: np.ndarray | None = None) -> FeatureKernels:
        """Kernels of rows, shape (n_samples, n_features), scaled units."""
        counts = np.ones(len(X)) if counts is None else counts
        widths = squared_differences(X, counts)
        constant = widths <= 1e-12 * np.abs(X).max(axis=0) ** 2
        widths[constant] = 1.0
        return cls(np.ascontiguousarray(X.T), widths, constant, counts)

    @cached_property
    def low_rank(self) -> FeatureFactors | None:
        """Factors of the kernels, where that is faster and takes little memory."""
        f, n = self.Z.shape
        if f * n * n < FACTORED_NUMBERS:
            return None
        if self.levels.most_columns * n > max(n * n, SMALL_FACTORS):
            return None
        return FeatureFactors.of(self.Z, self.widths)

    @property
    def is_low_rank(self) -> bool:
        """Whether a mix is a product of factors: no table of all pairs of rows."""
        f, n = self.Z.shape
        large = n >= FACTORED_ROWS and f * n * n >= FACTORED_NUMBERS
        return large and self.levels.most_columns <= THIN * n

    def of_rows(self, rows: np.ndarray) -> FeatureKernels:
        """The same kernels of some of the rows."""
        Z = np.ascontiguousarray(self.Z[:, rows])
        return FeatureKernels(Z, self.widths, self.constant, self.counts[rows])

    @cached_property
    def levels(self) -> FeatureLevels:
        """Features that have few values, with their kernels."""
        return FeatureLevels(self.Z, self.widths)

    def mix(self, weights: np.ndarray, stop: np.ndarray | None = None) -> Mix:
        """Mix the kernels, of many rows as a product of factors."""
        if self.is_low_rank:
            return FactoredMix(self.low_rank, weights, self.levels)
        return self.mixed(weights, stop)

    def mixed(
        self,
        weights: np.ndarray,
        stop: np.ndarray | None = None,
        sums: np.ndarray = NO_SUMS,
    ) -> np.ndarray:
        """Mix the kernels; sum the entries of those with a weight, if asked to."""
        K = np.empty((self.Z.shape[1], self.Z.shape[1]))
        source = NO_SOURCE._replace(Z=self.Z, weights=weights, widths=self.widths)
        if not len(sums) and self.low_rank is not None and self.levels.is_most:
            source = self.levels.source(weights)
        flag = np.zeros(1, dtype=np.int64) if stop is None else stop
        mix_features(source, self.counts, K, sums, flag)
        return K

    def mix_and_means(
        self, weights: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Mix the kernels; and the mean entry of each that has a weight.

        The means of factors need no mix, which is None then.
        """
        if self.low_rank is not None:
            return None, self.low_rank.means(self.counts)
        sums = np.empty(len(weights))
        K = self.mixed(weights, sums=sums)
        return K, sums / self.counts.sum() ** 2

    def products(
        self, rows: np.ndarray, W: np.ndarray, use: np.ndarray, stop: np.ndarray
    ) -> np.ndarray:
        """Sum of ``K_l[rows] * W`` for the kernels in use, 0 for the others."""
        products = np.empty(len(use))
        feature_products(self.Z, use, self.widths, rows, W, products, stop)
        return products

    def pair_sums(
        self, first: np.ndarray, second: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Sum of ``weights * K_l[first, second]``, shape (n_kernels,)."""
        sums = np.empty(len(self.Z))
        for l, z in enumerate(self.Z):  # noqa: E741
            difference = z[first] - z[second]
            sums[l] = np.exp(-difference * difference / self.widths[l]) @ weights
        return sums


@dataclass(frozen=True, eq=False)
class ListedKernels:
    """Kernels that are held in memory."""

    K: np.ndarray  # (n_kernels, n_samples, n_samples)
    #: (n_kernels,): What the kernels were multiplied by to be 1 on the diagonal
    factors: np.ndarray
    counts: np.ndarray  # (n_samples,): Rows that each row stands for
    widths: np.ndarray | None = None  # (n_kernels,), or None: Of alignment kernels
    similarity: Similarity | None = None  # That the one kernel is of

    @property
    def constant(self) -> np.ndarray:
        """Kernels that see no difference, shape (n_kernels,)."""
        return np.array([np.ptp(kernel) < 1e-9 for kernel in self.K])

    def mixed(self, weights: np.ndarray, stop: np.ndarray | None = None) -> np.ndarray:
        """Mix the kernels, as `FeatureKernels.mixed`."""
        K = np.zeros(self.K.shape[1:])
        for kernel in np.flatnonzero(weights):
            K += weights[kernel] * self.K[kernel]
        return K

    mix = mixed
    low_rank = None

    def mix_and_means(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mix the kernels; and the mean entry of each."""
        means = self.K @ self.counts @ self.counts / self.counts.sum() ** 2
        return self.mixed(weights), means

    def products(
        self, rows: np.ndarray, W: np.ndarray, use: np.ndarray, stop: np.ndarray
    ) -> np.ndarray:
        """Sum of ``K_l[rows] * W``, as `FeatureKernels.products`."""
        products = np.zeros(len(use))
        for kernel in np.flatnonzero(use):
            products[kernel] = np.vdot(self.K[kernel][rows], W)
        return products

    def pair_sums(
        self, first: np.ndarray, second: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Sum of ``weights * K_l[first, second]``, shape (n_kernels,)."""
        return np.array([kernel[first, second] @ weights for kernel in self.K])


Kernels = FeatureKernels | ListedKernels


def squared_differences(X: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mean squared difference of two rows, of each column."""
    total = counts.sum()
    deviation = X - counts @ X / total
    # Weights that are no counts may add up to less than the two rows of a pair.
    others = max(total - 1.0, 0.5 * total)
    return 2.0 * (counts @ deviation**2) / others


def refuse_thick(n_samples: int, n_columns: int) -> None:
    """Refuse factors of kernels that memory would not hold, and a copy of them."""
    needed = 16 * n_samples * n_columns
    if needed > MOST_BYTES:
        raise SmpcoreError(
            f"kernels of {n_samples} rows, with {n_columns} columns of factors, would "
            f"take {needed / 2**30:.3g} GiB and should take at most "
            f"{MOST_BYTES / 2**30:g}; use fewer rows or features."
        )


def fits_memory(n_samples: int, n_tables: int) -> bool:
    """Whether memory holds so many tables of kernel values of so many rows."""
    return 8 * n_samples**2 * n_tables <= MOST_BYTES


def refuse_large(n_samples: int, n_tables: int) -> None:
    """Refuse tables of kernel values that memory would not hold."""
    if not fits_memory(n_samples, n_tables):
        needed = 8 * n_samples**2 * n_tables
        raise SmpcoreError(
            f"{n_tables} tables of {n_samples} x {n_samples} kernel values would "
            f"take {needed / 2**30:.3g} GiB and should take at most "
            f"{MOST_BYTES / 2**30:g}; use fewer rows or kernels."
        )


def base_kernels(
    name: str,
    X: np.ndarray,
    counts: np.ndarray,
    columns: np.ndarray,
    n_channels: int,
    random_state: Any,
) -> Kernels:
    """Kernels of scaled rows, by the name that `IMKPLClassifier` has for them."""
    if name == "gak":
        return alignment_kernels(X, counts, n_channels, random_state)
    if name == "precomputed":
        return precomputed_kernels(X, counts, columns)
    if name == "features":
        return FeatureKernels.of(X, counts)
    refuse_large(len(X), 1 + MIXED_TABLES)
    similarity = row_similarity(name, X, counts)
    K = similarity.values(X, X)
    np.fill_diagonal(K, 1.0)  # a row of zeros, which has no cosine, is like itself
    return ListedKernels(K[None], np.ones(1), counts, similarity=similarity)


def alignment_kernels(
    X: np.ndarray, counts: np.ndarray, n_channels: int, random_state: Any
) -> ListedKernels:
    """Global alignment kernels of series, one per channel.

    The width of a channel is the median difference of its values, of 4000 random
    pairs, times the root of the length.
    """
    if X.shape[1] % n_channels:
        raise SmpcoreError(
            f"n_channels={n_channels} should divide the {X.shape[1]} columns of X, "
            "which holds the channels of a series side by side; change n_channels."
        )
    refuse_large(len(X), n_channels + MIXED_TABLES)
    random = check_random_state(random_state)
    K = np.empty((n_channels, len(X), len(X)))
    widths = np.empty(n_channels)
    for channel, part in enumerate(np.split(X, n_channels, axis=1)):
        first, second = random.randint(part.size, size=(2, 4000))
        distances = np.abs(part.ravel()[first] - part.ravel()[second])
        least = max(1e-3 * part.std(), 1e-9)
        widths[channel] = max(np.median(distances), least) * np.sqrt(part.shape[1])
        K[channel] = alignment_kernel(part, part, float(widths[channel]))
    return ListedKernels(K, np.ones(n_channels), counts, widths)


def row_similarity(name: str, X: np.ndarray, counts: np.ndarray) -> Similarity:
    """The one kernel of whole rows, "rbf" or "linear"."""
    if name == "linear":
        return Similarity("cosine")
    width = squared_differences(X, counts).sum()
    return Similarity("rbf", gamma=1.0 / width if width > 0 else 1.0)


def model_kernel(
    name: str, kernels: Kernels, beta: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> tuple[Similarity, np.ndarray]:
    """Similarity and anchors of the mixed kernel."""
    if name in ("features", "gak"):
        weights, widths = tuple(beta.tolist()), tuple(kernels.widths.tolist())
        return Similarity(name, weights=weights, widths=widths), rows
    if name != "precomputed":
        return kernels.similarity, rows
    # An input is its kernel values: those to an anchor are picked and weighed.
    anchors = np.zeros(rows.shape)
    for number in np.flatnonzero(beta):
        weight = beta[number] * kernels.factors[number]
        anchors[np.arange(len(rows)), columns[number]] = weight
    return Similarity("linear"), anchors


def precomputed_kernels(
    X: np.ndarray, counts: np.ndarray, columns: np.ndarray
) -> ListedKernels:
    """Check kernels that stand side by side, and scale them to 1 on the diagonal."""
    n, n_kernels = len(X), len(columns)
    refuse_large(n, n_kernels + MIXED_TABLES)
    K, factors = np.empty((n_kernels, n, n)), np.empty(n_kernels)
    for number in range(n_kernels):
        K[number] = X[:, columns[number]]
        factors[number] = _unit_diagonal(K[number], number)
    return ListedKernels(K, factors, counts)


def _unit_diagonal(K: np.ndarray, number: int) -> float:
    """Make a kernel semidefinite and 1 on the diagonal; return its factor."""
    low, high = K.diagonal().min(), K.diagonal().max()
    if low <= 0.0 or high - low > ROUNDING * high:
        raise SmpcoreError(
            f"kernel {number} has {low:.6g} to {high:.6g} on its diagonal and should "
            "have the same positive number there; divide its entries, and those of "
            "new rows, by sqrt(k(x, x) k(z, z))."
        )
    shift = make_semidefinite(K, f"kernel {number}")
    factor = 1.0 / (high + shift)
    K *= factor
    np.fill_diagonal(K, 1.0)
    return factor
