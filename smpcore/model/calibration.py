"""What scores mean: probabilities of classes, or an interval around a number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import logsumexp

from smpcore.errors import SmpcoreError

#: Intervals are known for coverages of 1, 2, ..., 99 %.
N_WIDTHS = 99
#: How scores can become probabilities, the simplest first; "none" is their softmax.
CALIBRATORS = "none", "intercept and slope", "isotonic regression"
#: How wide an interval is where, the simplest first; a prediction's spread.
SPREADS = "constant", "residual size", "residual quantiles"
#: Below so many independent rows of the rarest class it is intercept and slope.
FEW_ROWS = 50


def _empty() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Calibration:
    """How scores become probabilities, or a predicted number an interval.

    It is learned on out-of-fold scores of the training rows, see
    `smpcore.evaluation.calibrate`.

    Parameters
    ----------
    rows : int
        Training rows that it was learned from.
    slope : float
        At least 0. Probabilities are the softmax of ``slope * scores + offsets``.
    offsets : ndarray of shape (n_classes,)
        Empty for regression.
    curves : tuple of ndarray of shape (2, n_points)
        For each class log-odds, ascending, and the probability there: a piecewise
        linear function that replaces the softmax's probability before rows are
        normalised. Empty where the softmax is the last step.
    half_widths : ndarray of shape (99,)
        For regression: half the width of the interval that covers 1, 2, ..., 99 % of
        the rows, in units of the spread; infinite where there are too few rows for
        it. Else empty.
    losses : ndarray of shape (3,)
        Cross-validated log-loss of each of `CALIBRATORS`, NaN of those that were not
        tried; of each of `SPREADS` how far the coverage of a quarter of the predictions
        misses at most. Empty where none was chosen by it.
    spread : ndarray of shape (3, n_points)
        Predictions, ascending, and the spread below and above them: the unit of the
        widths, piecewise linear. Empty where intervals are as wide for every row.
    """

    rows: int
    slope: float = 1.0
    offsets: np.ndarray = field(default_factory=_empty)
    curves: tuple[np.ndarray, ...] = ()
    half_widths: np.ndarray = field(default_factory=_empty)
    losses: np.ndarray = field(default_factory=_empty)
    spread: np.ndarray = field(default_factory=_empty)

    @property
    def calibrator(self) -> str:
        """Which of `CALIBRATORS` was chosen; empty where that is not known."""
        if not self.losses.size:
            return ""
        return CALIBRATORS[int(np.nanargmin(self.losses))]

    @property
    def choice(self) -> str:
        """Which it is and why, as a sentence; empty where not known."""
        tried = np.isfinite(self.losses)
        if not self.losses.size:
            return ""
        if self.half_widths.size:
            misses = zip(SPREADS, 100 * self.losses, strict=True)
            return (
                f"Width: {self.spread_name}. Largest error of the coverage of 90 % in "
                "a quarter of the predictions, in cross-validation on these rows: "
                f"{', '.join(f'{one} {miss:.1f}' for one, miss in misses)} points "
                "(of equal ones the narrower)."
            )
        if not tried.all():
            return (
                f"Calibration: {self.calibrator} only, because a class has fewer than "
                f"{FEW_ROWS} independent training rows."
            )
        name = self.calibrator
        if name == "none":
            name = "none (the softmax of the scores as they are)"
        losses = zip(CALIBRATORS, self.losses, strict=True)
        return (
            f"Calibration: {name}, with the lowest log-loss in cross-validation on "
            f"these rows: {', '.join(f'{one} {loss:.4f}' for one, loss in losses)}."
        )

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probability of each class, of scores of shape (n_samples, n_classes)."""
        logits = self.slope * scores + self.offsets
        shares = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        if self.curves:
            odds = log_odds(logits)
            for number, (x, values) in enumerate(self.curves):
                shares[:, number] = np.interp(odds[:, number], x, values)
        return shares / shares.sum(axis=1, keepdims=True)

    @property
    def spread_name(self) -> str:
        """Which of `SPREADS` the intervals of numbers have."""
        if not self.spread.size:
            return SPREADS[0]
        return SPREADS[1 if np.array_equal(*self.spread[1:]) else 2]

    def interval(self, predicted: np.ndarray, coverage: float) -> np.ndarray:
        """Both ends of an interval for each predicted number, shape (n_samples, 2).

        They cover such a share of the rows, a whole per cent.
        """
        percent = round(100 * coverage)
        if not 1 <= percent <= N_WIDTHS or abs(100 * coverage - percent) > 1e-9:
            raise SmpcoreError(
                f"coverage={coverage:g} should be a whole per cent from 0.01 to 0.99."
            )
        below, above = spread_at(self.spread, predicted)
        width = float(self.half_widths[percent - 1])
        return np.stack([predicted - width * below, predicted + width * above], axis=1)

    def after_shift(self, output: int, shift: float) -> Calibration:
        """Give the calibration of a model whose score of one class is lower by `shift`.

        A threshold is an intercept of the model: moving it changes the predicted class,
        and no probability.
        """
        offsets = np.array(self.offsets)
        offsets[output] += self.slope * shift
        return replace(self, offsets=offsets)


def spread_at(spread: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Spread below and above each predicted number; 1 where it is constant.

    Parameters
    ----------
    spread : ndarray of shape (3, n_points)
        As of `Calibration`, or empty.
    predicted : ndarray of shape (n_samples,)
        Numbers; beyond the outermost points the spread stays the same.

    Returns
    -------
    ndarray of shape (2, n_samples)
    """
    if not spread.size:
        return np.ones((2, len(predicted)))
    points, *curves = spread
    return np.stack([np.interp(predicted, points, curve) for curve in curves])


def log_odds(logits: np.ndarray) -> np.ndarray:
    """Log-odds of each class against all others together.

    Parameters
    ----------
    logits : ndarray of shape (n_samples, n_classes)
        Logarithms of what is proportional to the probabilities.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Of two classes the difference of their logits.
    """
    rows, top = np.arange(len(logits)), logits.argmax(axis=1)
    # The largest class is left out of the sum for itself: 1 - p would lose its digits.
    rest = np.array(logits)
    rest[rows, top] = -np.inf
    log_shares = logits - logsumexp(logits, axis=1, keepdims=True)
    log_shares[rows, top] = 0.0
    with np.errstate(divide="ignore"):
        odds = log_shares - np.log1p(-np.exp(log_shares))
    odds[rows, top] = logits[rows, top] - logsumexp(rest, axis=1)
    return odds


def chance(share: float) -> str:
    """Write a probability as text, never as 0 or 100 %.

    Parameters
    ----------
    share : float
        Probability from 0 to 1.

    Returns
    -------
    str
    """
    if share < 0.01:
        return "below 1 %"
    return "above 99 %" if share > 0.99 else f"{100 * share:.0f} %"
