"""A fitted model, and how it decides: the same class for every family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import issparse

from smpcore.errors import SmpcoreError, require_finite
from smpcore.model.calibration import CALIBRATORS, N_WIDTHS, Calibration
from smpcore.model.history import History
from smpcore.model.model_json import read_model, write_entries
from smpcore.model.ties import lowest_within
from smpcore.similarity import Similarity
from smpcore.solvers.nqp import nqp_rows

SCHEMA = 1

#: So far beyond the training range, as a share of it, nothing was seen that is alike.
FAR_OUTSIDE = 0.5
#: Score of the fallback class for an input that nothing represents, above two `tie`;
#: others have 0.
UNREPRESENTED = 1e-9
#: Numbers of dense copies of sparse rows that are in memory at once.
BLOCK_SIZE = 2**20


@dataclass(frozen=True, eq=False)
class PrototypeModel:
    """What was learned, and how it decides. Arrays are read-only.

    Parameters
    ----------
    center, scale : ndarray of shape (n_features,)
        ``(x - center) / scale`` are the scaled units; zeros and ones where the
        similarity does not scale.
    low, high : ndarray of shape (n_features,)
        Range of the training rows, user's units.
    similarity : Similarity
        Function of an input and an anchor, both in scaled units, with its parameters.
    anchors : ndarray of shape (n_anchors, n_features), scaled units
        Points that an input is compared with: the prototypes themselves, or training
        rows that prototypes are mixed from.
    mixing : ndarray of shape (n_anchors, n_prototypes)
        Share of each anchor in each prototype; the identity where the anchors are the
        prototypes.
    bias : ndarray of shape (n_prototypes,)
        Added to the activation of each prototype.
    pooling : {"max", "sum"}
        A score is the largest activation among the output's own prototypes, or
        the sum of all activations weighted by `votes`.
    votes : ndarray of shape (n_prototypes, n_outputs)
        Ownership (0 or 1) for "max", weights for "sum".
    intercept : ndarray of shape (n_outputs,)
        Added to the score of each output.
    classes : ndarray of shape (n_classes,) or None
        None for regression.
    counts : ndarray of shape (n_prototypes,)
        How many identical prototypes were merged into each.
    feature_names : tuple of str
        Name of each feature, in the order of the columns of an input.
    sample_shape : tuple of int
        (n_features,), or (height, width) for images.
    kind_of_prototype : str
        "direction", "real case", "mix of real cases" or "invented case".
    fallback : int
        Class of an input that nothing represents.
    history : History
        Objective, gap and status of the solver that found the model.
    code_size : int
        0: the mixed similarities are the activations. Above 0: these are the weights,
        at least 0 and at most so many above it, with which the prototypes reconstruct
        the input best.
    gram : ndarray of shape (n_prototypes, n_prototypes), or None
        Inner products of the prototypes, with a code only.
    band : float
        The answer is not sure where the two highest scores are no further apart.
    tie : float
        Scores that are no further apart are equal: the answer is the lowest class
        within `tie` of the largest score.
    calibration : Calibration or None
        How scores become probabilities, or a number an interval; it does not decide.
    outcome : {0, 1}
        Number of the class that is the event, of two; what is said of it, and of more
        of it, is about this one. It does not decide.
    """

    center: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    similarity: Similarity
    anchors: np.ndarray
    mixing: np.ndarray
    bias: np.ndarray
    pooling: Literal["max", "sum"]
    votes: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray | None
    counts: np.ndarray
    feature_names: tuple[str, ...]
    sample_shape: tuple[int, ...]
    kind_of_prototype: str
    fallback: int = 0
    history: History = field(default_factory=History)
    code_size: int = 0
    gram: np.ndarray | None = None
    band: float = 0.0
    tie: float = 0.0
    calibration: Calibration | None = None
    outcome: int = 1

    #: What a notebook shows; the package sets it, as drawing stands above the model.
    _repr_html_: ClassVar[Callable[[PrototypeModel], str]]

    def __post_init__(self) -> None:
        parts = vars(self)  # a frozen dataclass: its attributes are set past it
        for name, value in parts.items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                parts[name] = value.view()
                parts[name].flags.writeable = False
        _check_parts(self)

    @property
    def n_features(self) -> int:
        """Length of an input."""
        return len(self.center)

    @cached_property
    def n_prototypes(self) -> int:
        """Prototypes after merging."""
        return len(self.bias)

    @cached_property
    def n_outputs(self) -> int:
        """Classes, or 1 for regression."""
        return len(self.intercept)

    @property
    def order(self) -> np.ndarray:
        """Outputs in the order of printed tables: of two classes the outcome first."""
        order = np.arange(self.n_outputs)
        return order[::-1] if self.n_outputs == 2 and self.outcome else order

    @property
    def prototype_labels(self) -> np.ndarray:
        """Output that each prototype votes for most, shape (n_prototypes,)."""
        return self.votes.argmax(axis=1)

    @property
    def unrepresented(self) -> float:
        """Score of the fallback class for an input that nothing represents."""
        return UNREPRESENTED + 2 * self.tie

    @cached_property
    def is_linear(self) -> bool:
        """Whether activations are linear in the input."""
        return self.similarity.kind == "linear"

    @property
    def is_scaled(self) -> bool:
        """Whether scaled units are other ones than those of the input."""
        return bool(self.center.any() or (self.scale != 1.0).any())

    @cached_property
    def weights(self) -> np.ndarray:
        """Linear weights per scaled unit, shape (n_prototypes, n_features).

        Of a linear model only: with another similarity no such weights exist.
        """
        weights = self.mixing.T @ self.anchors
        weights.flags.writeable = False
        return weights

    @property
    def prototypes(self) -> np.ndarray:
        """Prototypes in the user's units, shape (n_anchors, n_features).

        A direction is given as weight per unit, a case as its feature values.
        """
        if self.kind_of_prototype == "direction":
            return self.anchors / self.scale
        return self.anchors * self.scale + self.center

    @property
    def support(self) -> np.ndarray:
        """Whether a feature is used at all, bool of shape (n_features,).

        Most similarities look at every feature, also where all anchors are zero.
        """
        if self.similarity.kind in ("linear", "poly"):
            return (self.anchors != 0).any(axis=0)
        if self.similarity.weights:
            used = np.array(self.similarity.weights) > 0  # of features, or of channels
            return np.repeat(used, self.n_features // len(used))
        return np.ones(self.n_features, dtype=bool)

    @cached_property
    def n_nonzeros(self) -> int:
        """Numbers that the prototypes are made of; the bias is not counted.

        The weights of a linear model; anchors and their mixing otherwise.
        """
        if self.is_linear:
            return int(np.count_nonzero(self.weights))
        return int(np.count_nonzero(self.anchors) + np.count_nonzero(self.mixing))

    @property
    def n_comparisons(self) -> int:
        """Comparisons with an anchor that one prediction takes; 0 of a linear model.

        A similarity made of several kernels compares once for each.
        """
        if self.is_linear:
            return 0
        kernels = np.count_nonzero(self.similarity.weights) or 1
        return len(self.anchors) * kernels

    def activations(self, X: np.ndarray) -> np.ndarray:
        """What each prototype says.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Rows to compare with the prototypes; one column for each feature.

        Returns
        -------
        ndarray of shape (n_samples, n_prototypes)

        Raises
        ------
        SmpcoreError
            If X has not a column for each feature.
        """
        if np.shape(X)[1:] != self.center.shape:  # one column would be broadcast
            raise SmpcoreError(
                f"X has shape {np.shape(X)} and should have a row for each sample and "
                f"{self.n_features} columns, one for each feature."
            )
        if issparse(X):
            return self._sparse_activations(X)
        scaled = (np.asarray(X, dtype=np.float64) - self.center) / self.scale
        if self.is_linear:
            mixed = scaled @ self.weights.T + self.bias
        else:
            mixed = self.similarity.mixed(scaled, self.anchors, self.mixing)
            mixed += self.bias
        if self.gram is None:
            return mixed
        gram = np.array(self.gram, order="C")  # compiled code wants it writable
        return sparse_codes(gram, mixed, int(self.code_size))

    def _sparse_activations(self, X: Any) -> np.ndarray:
        """Activations for sparse rows: linear models skip zeros, others read blocks."""
        if not self.is_linear or self.gram is not None:
            rows, at_once = X.tocsr(), max(1, BLOCK_SIZE // X.shape[1])
            firsts = range(0, max(1, X.shape[0]), at_once)
            blocks = (rows[first : first + at_once].toarray() for first in firsts)
            return np.concatenate([self.activations(block) for block in blocks])
        weights = self.weights / self.scale
        return X @ weights.T + (self.bias - weights @ self.center)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of each output.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Rows to be scored; one column for each feature.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        return self.pool(self.activations(X))

    def pool(self, activations: np.ndarray) -> np.ndarray:
        """Pool activations into scores: the last stage of the decision.

        Parameters
        ----------
        activations : ndarray of shape (n_samples, n_prototypes)
            Activation of each prototype for each row, from `activations`.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        if self.pooling == "sum":
            scores = activations @ self.votes + self.intercept
            if self.code_size:
                scores[~activations.any(axis=1), self.fallback] = self.unrepresented
            return scores
        scores = np.empty((self.n_outputs, len(activations)))  # one output at a time
        for output, of_output in enumerate(scores):
            members = np.flatnonzero(self.votes[:, output])
            activations[:, members].max(axis=1, out=of_output)
            of_output += self.intercept[output]
        return scores.T

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Class number of each row of scores: the lowest within `tie` of the largest.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_outputs)
            Score of each class for each row, from `scores`.

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        return lowest_within(scores, self.tie)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Label (see `decide`) or value of each row.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Rows to be classified, or to predict a number for.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        SmpcoreError
            If a value is NaN or infinite: no class would be an answer to it.
        """
        scores = self.scores(require_finite(X))
        if self.classes is None:
            return scores[:, 0]
        return self.classes[self.decide(scores)]

    def sure(self, X: np.ndarray) -> np.ndarray:
        """Whether a class has a score, and the answer lies outside the model's band.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Rows whose lead is compared with the model's band.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
        """
        if self.classes is None:
            return np.ones(len(X), dtype=bool)
        scores = np.sort(self.scores(X), axis=1)
        if not self.band:
            return (scores > -np.inf).any(axis=1)
        return scores[:, -1] - scores[:, -2] > self.band

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Calibrated probability of each class, in a population like the training rows.

        Where a threshold was moved, another class than the answer may be more probable.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Rows to give probabilities for; one column for each feature.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)

        Raises
        ------
        SmpcoreError
            If the model predicts numbers, or is not calibrated.
        """
        calibration = _calibration(self, "probabilities")
        return calibration.probabilities(self.scores(require_finite(X)))

    def far_outside(self, X: np.ndarray) -> np.ndarray:
        """Whether a value is beyond its training range by more than half of that range.

        No probability and no interval is known for such a row. Features that the model
        does not use, or that were constant, are never far outside.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Rows to look at; one column for each feature.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_features)
        """
        room = FAR_OUTSIDE * (self.high - self.low)
        is_far = (X < self.low - room) | (X > self.high + room)
        return is_far & self.support & (room > 0)

    def intervals(self, X: np.ndarray, coverage: float = 0.9) -> np.ndarray:
        """Both ends of an interval for each number that covers such a share of rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), user's units
            Rows to predict an interval for; one column for each feature.
        coverage : float
            A whole per cent; what it guarantees says `smpcore.evaluation.calibrate`.

        Returns
        -------
        ndarray of shape (n_samples, 2)

        Raises
        ------
        SmpcoreError
            If the model predicts classes, or is not calibrated.
        """
        calibration = _calibration(self, "intervals")
        return calibration.interval(self.scores(require_finite(X))[:, 0], coverage)

    def to_json(self) -> str:
        """The model but for recorded steps as text; `from_json` reads it bit for bit.

        Returns
        -------
        str
            JSON of one object, with numbers that read back exactly.
        """
        return write_entries(self, SCHEMA)

    @classmethod
    def from_json(cls, text: str) -> PrototypeModel:
        """Read a model written by `to_json`.

        Parameters
        ----------
        text : str
            JSON of one model, of the schema that this version writes.

        Returns
        -------
        PrototypeModel

        Raises
        ------
        SmpcoreError
            If the text is not such a model: which entry, and why.
        """
        return read_model(text, SCHEMA, cls)


def sparse_codes(gram: np.ndarray, mixed: np.ndarray, size: int) -> np.ndarray:
    """At most so many weights of prototypes that reconstruct inputs best.

    Inputs are given by their similarities to the prototypes, (n_samples, n_prototypes).
    """
    codes, values = np.zeros(mixed.shape), np.empty(len(mixed))
    nqp_rows(gram, np.ascontiguousarray(-mixed), size, codes, values)
    return codes


def _calibration(model: PrototypeModel, what: str) -> Calibration:
    """Look up the calibration of a model of which this is asked."""
    if (what == "probabilities") != (model.classes is not None):
        kind = "classes" if what == "probabilities" else "numbers"
        raise SmpcoreError(f"{what} should be asked of a model that predicts {kind}.")
    if model.calibration is None:
        raise SmpcoreError(
            f"The model has no {what}; give it a calibration first "
            "(smpcore.evaluation.calibrate)."
        )
    return model.calibration


def _check_parts(model: PrototypeModel) -> None:
    """Refuse a model whose parts do not fit together."""
    d, m, k = model.n_features, model.n_prototypes, model.n_outputs
    expected = {
        "center": (d,),
        "scale": (d,),
        "low": (d,),
        "high": (d,),
        "anchors": (len(model.anchors), d),
        "mixing": (len(model.anchors), m),
        "bias": (m,),
        "votes": (m, k),
        "counts": (m,),
        "intercept": (k,),
    }
    for name, shape in expected.items():
        array = getattr(model, name)
        if array.shape != shape:
            raise SmpcoreError(f"{name} should have shape {shape}, not {array.shape}.")
        if not np.isfinite(array).all():
            raise SmpcoreError(f"{name} should be finite everywhere.")
    if len(model.feature_names) != d or int(np.prod(model.sample_shape)) != d:
        raise SmpcoreError(f"feature_names and sample_shape should fit {d} features.")
    if model.classes is not None and model.classes.shape != (k,):
        raise SmpcoreError(f"classes should have {k} entries, one for each output.")
    if model.pooling not in ("max", "sum"):
        raise SmpcoreError(f"pooling={model.pooling!r} should be 'max' or 'sum'.")
    if model.pooling == "max" and not (model.votes != 0).any(axis=0).all():
        raise SmpcoreError("votes should give each output at least one prototype.")
    if (model.scale <= 0).any():
        raise SmpcoreError("scale should be positive everywhere.")
    for name in ("band", "tie"):
        value = getattr(model, name)
        if not (isinstance(value, Real) and 0 <= value < np.inf):
            raise SmpcoreError(f"{name}={value!r} should be a number of at least 0.")
    if model.outcome not in (0, 1) or isinstance(model.outcome, bool):
        raise SmpcoreError(f"outcome={model.outcome!r} should be 0 or 1.")
    _check_code(model)
    if model.calibration is not None:
        _check_calibration(model)


def _check_code(model: PrototypeModel) -> None:
    """Refuse a coding stage that is not whole."""
    m, size, gram = model.n_prototypes, model.code_size, model.gram
    if not (isinstance(size, Integral) and size >= 0):
        raise SmpcoreError(f"code_size={size!r} should be a whole number, 0 or more.")
    if (size > 0) != (gram is not None):
        raise SmpcoreError("gram should be given with a code_size above 0 only.")
    if gram is None:
        return
    if gram.shape != (m, m) or not np.isfinite(gram).all():
        raise SmpcoreError(f"gram should be finite, of shape ({m}, {m}).")
    if model.pooling != "sum" or model.bias.any() or model.intercept.any():
        raise SmpcoreError(
            "A code is pooled with pooling='sum', without bias or intercept."
        )


def _is_spread(spread: np.ndarray) -> bool:
    is_table = spread.ndim == 2 and len(spread) == 3 and np.isfinite(spread).all()
    return bool(is_table and (np.diff(spread[0]) > 0).all() and (spread[1:] > 0).all())


def _check_calibration(model: PrototypeModel) -> None:
    """Refuse a calibration of another model."""
    calibration = model.calibration
    n_classes = 0 if model.classes is None else model.n_outputs
    shapes = calibration.offsets.shape, calibration.half_widths.shape
    if shapes != ((n_classes,), (0 if n_classes else N_WIDTHS,)):
        raise SmpcoreError(
            f"calibration should have an offset for each of {n_classes} classes"
            f"{'' if n_classes else f', and {N_WIDTHS} half_widths'}."
        )
    if len(calibration.curves) not in (0, n_classes):
        raise SmpcoreError("calibration should have a curve for each class, or none.")
    for curve in calibration.curves:
        if curve.ndim != 2 or len(curve) != 2 or (np.diff(curve) < 0).any():
            raise SmpcoreError("curves of a calibration should ascend.")
    if calibration.spread.size and not _is_spread(calibration.spread):
        raise SmpcoreError(
            "spread of a calibration should be ascending predictions and two lines of "
            "positive numbers."
        )
    if calibration.losses.shape not in ((0,), (len(CALIBRATORS),)):
        raise SmpcoreError(
            "calibration should have a loss of each calibrator, or none."
        )
    numbers = calibration.slope, *calibration.offsets
    if not np.isfinite(numbers).all() or calibration.slope < 0:
        raise SmpcoreError(
            "calibration should have finite offsets and a slope of at least 0."
        )
