"""Prototypes mixed from similarities that are not a function of one total.

With t of `similarity_sums`,

    features:      s_i = sum over f of share_f 2^-(t_f - a_if)^2, beginning with 0
    intersection:  t_f = factor_f * value_f(x) + move_f
                   s_i = (least * r) * r, r = inverse_root(most)
                   least, most = sum over f of the smaller, larger of t_f and a_if
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.codegen.exponentials import EXP2_ERROR, exp2_minus
from smpcore.codegen.inputs import UNIT
from smpcore.codegen.roots import LEAST, MOST, ROOT_ERROR, inverse_root
from smpcore.codegen.similarity_sums import SimilaritySums


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureSums(SimilaritySums):
    """A model of rows that are sums of weighted similarities in single features.

    Parameters
    ----------
    share : ndarray of shape (n_features,), float32
        Weight of each feature.
    """

    FLOATS = (*SimilaritySums.FLOATS, "share")
    SIMILARITIES = ("features",)

    share: np.ndarray

    def similarities(self, rows: np.ndarray) -> np.ndarray:
        """See `SimilaritySums.similarities`."""
        features = self.features(rows)
        alike = np.tile(self.constant, (len(rows), 1))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for share, value, anchor in zip(
                self.share, features.T, self.anchor.T, strict=True
            ):
                apart = value[:, None] - anchor
                alike = alike + share * exp2_minus(apart * apart)
        return alike

    def similarity_bounds(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `SimilaritySums.similarity_bounds`: of each feature, and of the sum."""
        alike = np.zeros((len(rows), self.n_anchors))
        error = np.zeros(alike.shape)
        columns = zip(
            self.share, *self.feature_bounds(rows), self.anchor.T, strict=True
        )
        for share, value, off, reach, numbers in columns:
            anchor = numbers.astype(np.float64)
            total = self.kernel.add(0.0, value[:, None], anchor)
            wrong = self.kernel.total_error(value[:, None], anchor, off[:, None], reach)
            alike += float(share) * np.exp2(-total)
            error += float(share) * self.kernel.error(total, wrong, 1)
        rounded = (self.n_features + 3) * UNIT + EXP2_ERROR
        error += rounded * (alike + error) + 1e-44
        return alike + error, error

    def tables(self) -> dict[str, np.ndarray]:
        """See `SimilaritySums.tables`; and ``share``."""
        return super().tables() | {"share": self.share}

    def _form_rules(self) -> dict[str, bool]:
        return super()._form_rules() | {
            "share should have a number for each feature": (
                len(self.share) == self.n_features
            ),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class OverlapSums(SimilaritySums):
    """A model of rows that are sums of intersections over unions.

    Parameters
    ----------
    move : ndarray of shape (n_features,), float32
        Added to each feature.
    """

    FLOATS = (*SimilaritySums.FLOATS, "move")
    SIMILARITIES = ("intersection",)

    move: np.ndarray

    @property
    def features_differ(self) -> bool:
        """Whether any feature is not just the input itself."""
        return super().features_differ or bool(self.move.any())

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Inputs as the anchors have them, see `SimilaritySums.features`."""
        values = super().features(rows)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return values + self.move if self.move.any() else values

    def feature_bounds(
        self, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `SimilaritySums.feature_bounds`."""
        values, errors, reach = super().feature_bounds(rows)
        move = self.move.astype(np.float64)[:, None]
        values = values + move
        errors = errors + 2.01 * UNIT * (np.abs(values) + np.abs(move) + errors)
        return values, errors, reach

    def similarities(self, rows: np.ndarray) -> np.ndarray:
        """See `SimilaritySums.similarities`."""
        features = self.features(rows)
        least = np.tile(self.constant, (len(rows), 1))
        most = least
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for value, anchor in zip(features.T, self.anchor.T, strict=True):
                below = value[:, None] < anchor
                least = least + np.where(below, value[:, None], anchor)
                most = most + np.where(below, anchor, value[:, None])
            root = inverse_root(most)
            return least * root * root

    def similarity_bounds(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `SimilaritySums.similarity_bounds`: of both sums, then of their ratio."""
        shape = len(rows), self.n_anchors
        least, most, size, off = (np.zeros(shape) for _ in range(4))
        columns = zip(*self.feature_bounds(rows), self.anchor.T, strict=True)
        for value, error, reach, numbers in columns:
            t, anchor = value[:, None], numbers.astype(np.float64)
            least += np.minimum(t, anchor)
            most += np.maximum(t, anchor)
            size += np.abs(t) + np.abs(anchor)
            off += error[:, None] + UNIT * np.abs(anchor) + 2.0**-46 * reach
        off += (self.n_features + 3) * UNIT * (size + off)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = least / most
            error = off * (1 + np.abs(ratio)) / (most - off)
            error += (2.02 * ROOT_ERROR + 3 * UNIT) * (np.abs(ratio) + error)
        # The float64 model divides by 1e-12 at least.
        known = (most - off > max(1e-12, 2 * LEAST)) & (most + off < 0.5 * MOST)
        error = np.where(known & (error < 1e30), error, 1e30)
        return np.where(known, np.abs(ratio), 0.0) + error, error

    def unscaled(self, features: np.ndarray) -> np.ndarray:
        """See `SimilaritySums.unscaled`."""
        return super().unscaled(features - self.move)

    def tables(self) -> dict[str, np.ndarray]:
        """See `SimilaritySums.tables`; and ``move`` where it is not 0."""
        tables = super().tables()
        return tables | {"move": self.move} if self.move.any() else tables

    def _form_rules(self) -> dict[str, bool]:
        return super()._form_rules() | {
            "move should have a number for each feature": (
                len(self.move) == self.n_features
            ),
        }
