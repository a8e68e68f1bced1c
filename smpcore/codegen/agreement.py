"""How close a compiled model is to the float64 model it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.codegen.arithmetic import UNIT
from smpcore.codegen.inputs import fixed_features
from smpcore.codegen.lower import seen_features
from smpcore.codegen.model import CompiledModel, QuantModel
from smpcore.model import PrototypeModel


@dataclass(frozen=True)
class Agreement:
    """Compiled answers beside float64 answers on the same raw rows.

    Parameters
    ----------
    n_rows, n_equal : int
        Rows compared, and rows with the same label; for regression, with a value
        inside the bound.
    n_certified : int
        Rows where no rounding within the bounds changes the answer: that scores are
        within `tie`, or are not, holds with all errors. The same label is proved.
        For regression, rows that have a bound.
    n_broken : int
        Certified rows with another label, or a value outside the bound; anything but
        0 is a bug.
    score_error, score_bound : float
        Largest difference of a score that occurred, and largest that could have in the
        rows that have a bound.
    is_regression : bool
        Whether the models predict numbers instead of classes.
    n_unbounded : int
        Rows without a bound: rounding may lead to another code, or a column that is
        constant in training, and so no input, has another value.
    """

    n_rows: int
    n_equal: int
    n_certified: int
    n_broken: int
    score_error: float
    score_bound: float
    is_regression: bool = False
    n_unbounded: int = 0

    @property
    def in_words(self) -> str:
        """What was found, in one sentence."""
        if self.is_regression:
            return (
                f"{self.n_rows} rows: values differ by {self.score_error:.2g} at most, "
                f"{self.score_bound:.2g} is proved."
            )
        return (
            f"{self.n_rows} rows: {self.n_equal} labels are equal, of "
            f"{self.n_certified} it is proved."
        )


def error_bound(compiled: CompiledModel | QuantModel, rows: np.ndarray) -> np.ndarray:
    """How far each score can be from that of the float64 model, at most.

    Rounding is bounded operation by operation, see `bounds` and `rounding`.

    Parameters
    ----------
    compiled : CompiledModel or QuantModel
        Model whose rounding is bounded.
    rows : ndarray of shape (n, n_inputs), float64
        As `CompiledModel.rows` gives them.

    Returns
    -------
    ndarray of shape (n, n_outputs), float64
    """
    bound = compiled.row_bounds(np.asarray(rows, dtype=np.float64))
    # Rows stand by class, and each class has one at least.
    first = np.searchsorted(compiled.prototype_labels, np.arange(compiled.n_outputs))
    return np.maximum.reduceat(bound, first, axis=1)


def agreement(
    compiled: CompiledModel | QuantModel,
    model: PrototypeModel,
    table: Any,
    preparation: Any = None,
) -> Agreement:
    """Compare answers and scores of both models from raw rows on.

    Parameters
    ----------
    compiled : CompiledModel or QuantModel
        Model that is compared.
    model : PrototypeModel
        What `compiled` was compiled from.
    table : DataFrame, mapping of columns, or ndarray of shape (n, n_columns)
        Raw rows of the user's table.
    preparation : Preparation, optional
        The one given to `compile_model`.

    Returns
    -------
    Agreement
    """
    features = table if preparation is None else preparation.transform(table)
    exact = model.scores(np.asarray(features))
    if compiled.relative:
        exact = exact - exact[:, :1]
    rows = compiled.rows(table)
    scores = compiled.real_scores(rows)
    bound = error_bound(compiled, rows)
    fixed = seen_features(model) & fixed_features(model)
    as_trained = (np.asarray(features)[:, fixed] == model.low[fixed]).all(axis=1)
    bounded = np.isfinite(bound).all(axis=1) & as_trained
    if compiled.is_regression:
        equal = (np.abs(scores - exact) <= bound).all(axis=1)
        certified = bounded
    else:
        winner = model.decide(exact)
        equal = compiled.winners(compiled.to_inputs(rows)) == winner
        ties = sorted((model.tie, compiled.tie * compiled.step))
        certified = bounded & _answer_holds(exact, bound, winner, *ties)
    return Agreement(
        n_rows=len(rows),
        n_equal=int(equal.sum()),
        n_certified=int(certified.sum()),
        n_broken=int((certified & ~equal).sum()),
        score_error=float(np.abs(scores - exact).max(initial=0.0)),
        score_bound=float(bound[bounded].max(initial=0.0)),
        is_regression=compiled.is_regression,
        n_unbounded=int((~bounded).sum()),
    )


def _answer_holds(
    scores: np.ndarray, bound: np.ndarray, winner: np.ndarray, least: float, most: float
) -> np.ndarray:
    """Whether the answer stays anywhere inside the bounds, for both values of `tie`.

    All scores stay within `least` of the winner's at most, and each lower class is more
    than `most` below some other one.
    """
    each = np.arange(len(scores))
    low, high = scores - bound, scores + bound
    # The sum of a score and `tie` is rounded as well, in 32-bit floats.
    rounded = 1.01 * UNIT * (np.abs(scores) + bound).max(axis=1)
    least = least - rounded - UNIT * least
    most = (most + rounded + UNIT * most)[:, None]
    rivals = high.copy()
    rivals[each, winner] = -np.inf
    within = rivals.max(axis=1) - low[each, winner] <= least
    lower = np.arange(scores.shape[1]) < winner[:, None]
    behind = low.max(axis=1)[:, None] - high > most
    return within & (behind | ~lower).all(axis=1)
