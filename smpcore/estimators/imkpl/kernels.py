"""Base kernels of IMKPL: computed on the fly, one per feature, or held in a list.

All kernels are 1 on the diagonal. Rows are in the order of the problem, by class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError, caution
from smpcore.similarity import Similarity, alignment_kernel
from smpcore.solvers.imkpl import feature_products, mix_features

#: Memory that kernels may take, in bytes.
MOST_BYTES = 2**30

#: Asymmetry, and spread of the diagonal, that counts as rounding.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class FeatureKernels:
    """One Gaussian kernel per feature, ``exp(-(x_l - z_l)^2 / width_l)``, never stored.

    Parameters
    ----------
    Z : ndarray of shape (n_features, n_samples)
        Scaled rows, transposed.
    widths : ndarray of shape (n_features,)
        Mean squared difference of two rows; 1 for a constant feature.
    constant : ndarray of bool, shape (n_features,)
    """

    Z: np.ndarray
    widths: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> FeatureKernels:
        """Kernels of rows, shape (n_samples, n_features), scaled units."""
        n = len(X)
        widths = 2.0 * X.var(axis=0) * n / (n - 1)
        constant = widths <= 1e-12 * (1.0 + np.abs(X).max(axis=0)) ** 2
        widths[constant] = 1.0
        return cls(np.ascontiguousarray(X.T), widths, constant)

    def mixed(self, weights: np.ndarray, stop: np.ndarray | None = None) -> np.ndarray:
        """Mix the kernels.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,), not negative
        stop : ndarray of int64, shape (1,), optional

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
        """
        return self._mixed(weights, np.empty(0), stop)

    def mixed_and_means(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mix the kernels; and the mean entry of each that has a weight."""
        sums = np.empty(len(weights))
        K = self._mixed(weights, sums, None)
        return K, sums / K.size

    def _mixed(
        self, weights: np.ndarray, sums: np.ndarray, stop: np.ndarray | None
    ) -> np.ndarray:
        n = self.Z.shape[1]
        K, room = np.empty((n, n)), np.empty((3, n))
        bits = room[2].view(np.int64)
        mix_features(self.Z, weights, self.widths, K, sums, room, bits, _flag(stop))
        return K

    def products(
        self,
        rows: np.ndarray,
        W: np.ndarray,
        use: np.ndarray,
        stop: np.ndarray | None = None,
    ) -> np.ndarray:
        """Sum of ``K_l[rows] * W`` for the kernels in use, 0 for the others.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_rows,)
        W : ndarray of shape (n_rows, n_samples)
        use : ndarray of bool, shape (n_kernels,)
        stop : ndarray of int64, shape (1,), optional

        Returns
        -------
        ndarray of shape (n_kernels,)
        """
        products, room = np.empty(len(use)), np.empty((3, self.Z.shape[1]))
        bits = room[2].view(np.int64)
        feature_products(
            self.Z, use, self.widths, rows, W, products, room, bits, _flag(stop)
        )
        return products

    def pair_sums(
        self, first: np.ndarray, second: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Sum of ``weights * K_l[first, second]``, shape (n_kernels,)."""
        sums = np.empty(len(self.Z))
        for l, z in enumerate(self.Z):  # noqa: E741
            apart = z[first] - z[second]
            sums[l] = np.exp(-apart * apart / self.widths[l]) @ weights
        return sums


@dataclass(frozen=True, eq=False)
class ListedKernels:
    """Kernels that are held in memory.

    Parameters
    ----------
    K : ndarray of shape (n_kernels, n_samples, n_samples)
    factors : ndarray of shape (n_kernels,)
        What the kernels were multiplied by to be 1 on the diagonal.
    widths : ndarray of shape (n_kernels,), or None
        Of alignment kernels.
    """

    K: np.ndarray
    factors: np.ndarray
    widths: np.ndarray | None = None

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

    def mixed_and_means(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mix the kernels; and the mean entry of each."""
        return self.mixed(weights), self.K.mean(axis=(1, 2))

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


def base_kernels(
    name: str, X: np.ndarray, order: np.ndarray, n_channels: int, random_state: Any
) -> Kernels:
    """Kernels of scaled rows, by the name that `IMKPLClassifier` has for them.

    Parameters
    ----------
    name : {"features", "rbf", "linear", "precomputed", "gak"}
    X : ndarray of shape (n_samples, n_features)
    order : ndarray of int, shape (n_samples,)
        Rows in the order of the problem.
    n_channels : int
    random_state : int, RandomState or None

    Returns
    -------
    Kernels
    """
    if name == "gak":
        return alignment_kernels(X, order, n_channels, random_state)
    if name == "precomputed":
        return precomputed_kernels(X, order)
    if name == "features":
        return FeatureKernels.of(X[order])
    K = row_similarity(name, X).values(X[order], X[order])
    np.fill_diagonal(K, 1.0)  # a row of zeros, which has no cosine, is like itself
    return ListedKernels(K[None], np.ones(1))


def alignment_kernels(
    X: np.ndarray, order: np.ndarray, n_channels: int, random_state: Any
) -> ListedKernels:
    """Global alignment kernels of series, one per channel.

    The width of a channel is the median difference of its values, of 4000 random
    pairs, times the root of the length.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_channels * n_times)
    order : ndarray of int, shape (n_samples,)
        Rows in the order of the problem.
    n_channels : int
    random_state : int, RandomState or None

    Returns
    -------
    ListedKernels
    """
    if X.shape[1] % n_channels:
        raise SmpcoreError(
            f"n_channels={n_channels} should divide the {X.shape[1]} columns of X, "
            "which holds the channels of a series side by side; change n_channels."
        )
    refuse_large(len(X), n_channels)
    random = check_random_state(random_state)
    K = np.empty((n_channels, len(X), len(X)))
    widths = np.empty(n_channels)
    for channel, part in enumerate(np.split(X[order], n_channels, axis=1)):
        first, second = random.randint(part.size, size=(2, 4000))
        apart = np.abs(part.ravel()[first] - part.ravel()[second])
        least = max(1e-3 * part.std(), 1e-9)
        widths[channel] = max(np.median(apart), least) * np.sqrt(part.shape[1])
        K[channel] = alignment_kernel(part, part, float(widths[channel]))
    return ListedKernels(K, np.ones(n_channels), widths)


def row_similarity(name: str, X: np.ndarray) -> Similarity:
    """The one kernel of whole rows, "rbf" or "linear"."""
    if name == "linear":
        return Similarity("cosine")
    width = 2.0 * X.var(axis=0).sum() * len(X) / (len(X) - 1)
    return Similarity("rbf", gamma=1.0 / width if width > 0 else 1.0)


def model_kernel(
    name: str, kernels: Kernels, beta: np.ndarray, X: np.ndarray, rows: np.ndarray
) -> tuple[Similarity, np.ndarray]:
    """Similarity and anchors of the mixed kernel.

    Parameters
    ----------
    name : str
        As in `base_kernels`.
    kernels : Kernels
    beta : ndarray of shape (n_kernels,)
    X : ndarray of shape (n_samples, n_features), scaled units
    rows : ndarray of int, shape (n_anchors,)
        Rows that become anchors.

    Returns
    -------
    similarity : Similarity
    anchors : ndarray of shape (n_anchors, n_features)
    """
    if name in ("features", "gak"):
        weights, widths = tuple(beta.tolist()), tuple(kernels.widths.tolist())
        return Similarity(name, weights=weights, widths=widths), X[rows]
    if name != "precomputed":
        return row_similarity(name, X), X[rows]
    # An input is its kernel values: those to an anchor are picked and weighed.
    anchors = np.zeros((len(rows), X.shape[1]))
    for number in np.flatnonzero(beta):
        weight = beta[number] * kernels.factors[number]
        anchors[np.arange(len(rows)), number * len(X) + rows] = weight
    return Similarity("linear"), anchors


def precomputed_kernels(X: np.ndarray, order: np.ndarray) -> ListedKernels:
    """Check kernels that stand side by side, and scale them to 1 on the diagonal.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_samples * n_kernels)
        Row i of kernel l is ``X[i, l * n_samples : (l + 1) * n_samples]``.
    order : ndarray of int, shape (n_samples,)
        Rows in the order of the problem.

    Returns
    -------
    ListedKernels
    """
    n = len(X)
    if X.shape[1] % n:
        raise SmpcoreError(
            f"X has {X.shape[1]} columns for {n} rows and should have a column for "
            "each row, kernel beside kernel; with kernels='precomputed' X holds kernel "
            "values."
        )
    n_kernels = X.shape[1] // n
    refuse_large(n, n_kernels)
    K, factors = np.empty((n_kernels, n, n)), np.empty(n_kernels)
    for number in range(n_kernels):
        part = X[:, number * n : (number + 1) * n]
        K[number] = part[np.ix_(order, order)]
        factors[number] = _unit_diagonal(K[number], number)
    return ListedKernels(K, factors)


def _unit_diagonal(K: np.ndarray, number: int) -> float:
    """Make a kernel semidefinite and 1 on the diagonal; return its factor."""
    low, high = K.diagonal().min(), K.diagonal().max()
    if low <= 0.0 or high - low > ROUNDING * high:
        raise SmpcoreError(
            f"kernel {number} has {low:.6g} to {high:.6g} on its diagonal and should "
            "have the same positive number there; divide its entries, and those of "
            "new rows, by sqrt(k(x, x) k(z, z))."
        )
    if np.abs(K - K.T).max() > ROUNDING * high:
        raise SmpcoreError(
            f"kernel {number} differs from its transpose by "
            f"{np.abs(K - K.T).max():.3g} and should be symmetric; use (K + K.T) / 2."
        )
    K += K.T.copy()
    K *= 0.5
    least = float(np.linalg.eigvalsh(K)[0])
    shift = max(-least, 0.0) if least < -1e-8 * high * len(K) else 0.0
    if shift:
        caution(
            f"kernel {number} has an eigenvalue of {least:.3g} and should have none "
            "below 0; its diagonal is raised by as much.",
            stacklevel=5,
        )
    factor = 1.0 / (high + shift)
    K *= factor
    np.fill_diagonal(K, 1.0)
    return factor


def refuse_large(n_samples: int, n_stored: int) -> None:
    """Refuse kernels that memory would not hold.

    Parameters
    ----------
    n_samples : int
    n_stored : int
        Kernels that are held besides the mixed ones.

    Raises
    ------
    SmpcoreError
    """
    needed = 8 * n_samples**2 * (n_stored + 3)
    if needed > MOST_BYTES:
        raise SmpcoreError(
            f"{n_stored + 3} tables of {n_samples} x {n_samples} kernel values would "
            f"take {needed / 2**30:.3g} GiB and should take at most "
            f"{MOST_BYTES / 2**30:g}; use fewer rows or kernels."
        )


def _flag(stop: np.ndarray | None) -> np.ndarray:
    return np.zeros(1, dtype=np.int64) if stop is None else stop
