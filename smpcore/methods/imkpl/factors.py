"""A mix of kernels of features as a product of thin factors, for many rows.

A Gaussian kernel of one feature has a low rank: to `ROUNDING` it is a product of N x r
factors, r about 20, and no larger than the number of distinct values. So products with
a mix of kernels cost N r per kernel, and no N x N numbers are ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from smpcore.methods.imkpl.kernel import HeldRows, RowSource, rows_tried
from smpcore.methods.imkpl.kernel_products import factor_products, sparse_product
from smpcore.methods.imkpl.kernel_start import eliminate

#: Largest error of an entry of a kernel.
ROUNDING = 1e-10

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
            rank = eliminate(z, width, ROUNDING, columns)
            while rank == len(columns):
                columns = np.empty((2 * rank, Z.shape[1]))
                rank = eliminate(z, width, ROUNDING, columns)
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
        kept = weights > 0.0
        L = self.factors.L
        some = L if kept.all() else L.take(np.flatnonzero(kept), axis=1)
        return some, weights[kept]

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


def held_rows(K: np.ndarray | FactoredMix, size: int, likely: np.ndarray) -> HeldRows:
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


def mixed_product(A: np.ndarray, K: np.ndarray | FactoredMix) -> np.ndarray:
    """``A @ K``, of an array A that may have few entries."""
    return A @ K if isinstance(K, FactoredMix) else thin_product(A, K)
