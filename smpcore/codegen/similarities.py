"""The similarities of programs: what a feature adds, and what becomes of the total."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from smpcore.model import PrototypeModel


class Folded(NamedTuple):
    """A similarity's constants, float64."""

    #: The feature's scaled value is ``factor * (x - offset)``.
    factor: np.ndarray
    #: What the total of each anchor begins with.
    constant: np.ndarray
    anchors: np.ndarray  # (n_anchors, n_features)


class Similarity(NamedTuple):
    """How a total over features becomes a similarity."""

    #: What feature t and anchor entry a add to the total. "square": (t - a)^2;
    #: "absolute": ``|t - a|``; "product": a t; "exp2": share 2^-((t - a)^2); "overlap":
    #: min(t, a), and max(t, a) to a second total.
    step: str
    #: "exp2": 2^-total; "power": total^degree; "none": the total itself; "ratio": the
    #: first total over the second.
    finish: str
    #: What the features are divided by, and made less of, before: "", "length", or
    #: "mean and length".
    normalise: str
    #: Model and offset of each feature to the constants.
    fold: Callable[[PrototypeModel, np.ndarray], Folded]
    #: The formula, in a program's words.
    words: str
    #: Of a distance in integers, the power of a difference that adds up; 0: it has no
    #: integer form.
    power: int = 0

    @property
    def is_exponential(self) -> bool:
        """Whether 2^-u is needed."""
        return "exp2" in (self.step, self.finish)


def _distances(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``2^-(total of distances)``: what each feature is multiplied by on both sides."""
    similarity, log2_e = model.similarity, np.log2(np.e)
    if similarity.kind == "features":  # sum_f weights_f exp(-(x_f - z_f)^2 / widths_f)
        factor = np.sqrt(log2_e / np.array(similarity.widths)) / model.scale
    elif similarity.kind == "rbf":  # exp(-gamma |x - z|^2)
        factor = np.sqrt(similarity.gamma * log2_e) / model.scale
    else:  # exp(-gamma |x - z|_1)
        factor = similarity.gamma * log2_e / model.scale
    anchors = factor * model.scale * model.anchors + factor * (model.center - offset)
    return Folded(factor, np.zeros(len(anchors)), anchors)


def _poly(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``(gamma x . z + coef0)^degree``: all in the anchors, the centre in constants."""
    anchors = model.similarity.gamma * model.anchors / model.scale
    constant = model.similarity.coef0 - anchors @ (model.center - offset)
    return Folded(np.ones(model.n_features), constant, anchors)


def _unit(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``x . z / (|x| |z|)``: anchors of length 1, of "ncc" less their mean."""
    anchors = model.anchors
    if "mean" in SIMILARITIES[model.similarity.kind].normalise:
        anchors = anchors - anchors.mean(axis=1, keepdims=True)
    length = np.linalg.norm(anchors, axis=1, keepdims=True)
    anchors = anchors / np.where(length > 0, length, 1.0)
    return Folded(1 / model.scale, np.zeros(len(anchors)), anchors)


def _overlap(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``sum_f min(x_f, z_f) / sum_f max(x_f, z_f)``: anchors as they are."""
    return Folded(1 / model.scale, np.zeros(len(model.anchors)), model.anchors)


#: The similarities that programs have; their parameters are folded into the arrays.
SIMILARITIES = {
    "rbf": Similarity(
        "square",
        "exp2",
        "",
        _distances,
        "s = 2^-(sum of (t - anchor)^2)",
        power=2,
    ),
    "poly": Similarity(
        "product",
        "power",
        "",
        _poly,
        "s = (constant + sum of anchor * t)^degree",
    ),
    "laplacian": Similarity(
        "absolute",
        "exp2",
        "",
        _distances,
        "s = 2^-(sum of |t - anchor|)",
        power=1,
    ),
    "cosine": Similarity(
        "product",
        "none",
        "length",
        _unit,
        "t of length 1, s = sum of anchor * t",
    ),
    "ncc": Similarity(
        "product",
        "none",
        "mean and length",
        _unit,
        "t less its mean, of length 1, s = sum of anchor * t",
    ),
    "features": Similarity(
        "exp2",
        "none",
        "",
        _distances,
        "s = constant + sum of share * 2^-(t - anchor)^2",
    ),
    "intersection": Similarity(
        "overlap",
        "ratio",
        "",
        _overlap,
        "s = sum of min(t, anchor) / sum of max(t, anchor)",
    ),
}
