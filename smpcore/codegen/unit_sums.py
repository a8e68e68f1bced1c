"""Prototypes mixed from cosines: similarities to anchors of features made as long as 1.

With t of `similarity_sums`, moved where the model has its centre, and for "ncc" less
its mean,

    t_f = factor_f * value_f(x) + move_f
    mean = (sum over f of t_f) * (1 / n),  t_f = t_f - mean    for ncc only
    t_f = t_f * inverse_root(sum over f of t_f^2)
    s_i = sum over f of a_if t_f

A row without any length has no similarity to anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.codegen.inputs import UNIT
from smpcore.codegen.kernel import OWN
from smpcore.codegen.roots import LEAST, MOST, ROOT_ERROR, inverse_root
from smpcore.codegen.similarity_sums import SimilaritySums

# Both features are at most this far apart, whatever was rounded.
_APART = 2.01


@dataclass(frozen=True, eq=False, kw_only=True)
class UnitSums(SimilaritySums):
    """A model of rows that are sums of cosines.

    Parameters
    ----------
    move : ndarray of shape (n_features,), float32
        Added to each feature.
    """

    FLOATS = (*SimilaritySums.FLOATS, "move")
    SIMILARITIES = ("cosine", "ncc")

    move: np.ndarray

    @property
    def is_centred(self) -> bool:
        """Whether features lose their mean."""
        return self.kernel.is_centred

    @property
    def share(self) -> np.float32:
        """What the sum of the features is multiplied by to give their mean."""
        return np.float32(1 / self.n_features)

    @property
    def features_differ(self) -> bool:
        """Always: no input has the length that it needs."""
        return True

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Inputs as the anchors have them, see `SimilaritySums.features`."""
        values = super().features(rows)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            values = values + self.move
            if self.is_centred:
                values = values - (_added(values) * self.share)[:, None]
            return values * inverse_root(_added(values * values))[:, None]

    def feature_bounds(
        self, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""See `SimilaritySums.feature_bounds`.

        With c the features before they get their length, each at most e_f off and
        :math:`E = \|e\|`: dividing by the length leaves an error of
        ``(e_f + |c_f| E / |c|) / (|c| - E)``, and the rounding of sum, root and product
        that of a few units more.
        """
        values, errors, reach = super().feature_bounds(rows)
        d, move = self.n_features, self.move.astype(np.float64)[:, None]
        values = values + move
        size = np.abs(values)
        errors += 1.01 * UNIT * (size + np.abs(move)) + OWN * (size + reach[:, None])
        if self.is_centred:
            # The float64 model rounds its mean as well: OWN is far above that.
            mean = values.mean(axis=0)
            errors += errors.mean(axis=0) + (d + 3) * UNIT * size.mean(axis=0)
            values = values - mean
            errors += 1.01 * UNIT * np.abs(values)
        length, off = np.linalg.norm(values, axis=0), np.linalg.norm(errors, axis=0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            unit = np.abs(values / np.where(length > 0, length, 1.0))
            room = length - off
            error = (errors + unit * off) / room
            rounded = (d + 3) * UNIT + ROOT_ERROR
            error += 1.01 * rounded * (unit + error)
            known = (room > 0.5 * length) & (room**2 > 2 * LEAST)
        error = np.where(known & (error < _APART), error, _APART)
        # Beyond the largest root float32 gives no number at all.
        error[:, ~((length + off) ** 2 < 0.5 * MOST)] = 1e60
        exact = values / np.where(length > 0, length, 1.0)
        return exact, error, np.ones(d)

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


def _added(values: np.ndarray) -> np.ndarray:
    """Sums of rows, feature by feature, beginning with 0."""
    total = np.zeros(len(values), dtype=np.float32)
    for column in values.T:
        total = total + column
    return total
