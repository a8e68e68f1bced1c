"""Base kernels of IMKPL: computed on the fly, one per feature, or held in a list.

All kernels are 1 on the diagonal. Rows are in the order of the problem, by class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.methods.imkpl.factors import (
    NO_SOURCE,
    FactoredMix,
    FeatureFactors,
    FeatureLevels,
)
from smpcore.methods.imkpl.kernel import feature_products, mix_features
from smpcore.similarity import Similarity

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
        constant = widths <= 1e-12 * (1.0 + np.abs(X).max(axis=0)) ** 2
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

    def mix(
        self, weights: np.ndarray, stop: np.ndarray | None = None
    ) -> np.ndarray | FactoredMix:
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
        mix_features(source, self.counts, K, sums, _flag(stop))
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
        self,
        rows: np.ndarray,
        W: np.ndarray,
        use: np.ndarray,
        stop: np.ndarray | None = None,
    ) -> np.ndarray:
        """Sum of ``K_l[rows] * W`` for the kernels in use, 0 for the others."""
        products = np.empty(len(use))
        feature_products(self.Z, use, self.widths, rows, W, products, _flag(stop))
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
        self,
        rows: np.ndarray,
        W: np.ndarray,
        use: np.ndarray,
        stop: np.ndarray | None = None,
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


def _flag(stop: np.ndarray | None) -> np.ndarray:
    return np.zeros(1, dtype=np.int64) if stop is None else stop
