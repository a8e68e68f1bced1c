"""What each prototype looks like: a row of weights or of feature values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.model.prototype_model import PrototypeModel


@dataclass(frozen=True, eq=False)
class Portraits:
    """One row per prototype.

    Parameters
    ----------
    values : ndarray of shape (n_prototypes, n_features)
        Weights per scaled unit; or the case, or the mean of the cases, user's units.
    signed : bool
        Whether they are weights.
    what : str
        What the rows show, in a sentence.
    """

    values: np.ndarray
    signed: bool
    what: str

    @property
    def coloured(self) -> str:
        """The same of rows that are drawn in colours, as pictures and bars."""
        colours = " Teal for, crimson against." if self.signed else ""
        return self.what + colours


def holds_cases(model: PrototypeModel) -> bool:
    """Whether each prototype is one case, real or invented, that has features."""
    if model.similarity.kind == "strings":
        return False  # its features are letters
    if model.is_linear and model.kind_of_prototype == "real case":
        return False  # its anchors pick similarities to cases out of an input
    single = (model.mixing != 0).sum(axis=0) == 1
    return model.kind_of_prototype.endswith(" case") and bool(single.all())


def portraits(model: PrototypeModel) -> Portraits:
    """Portraits of all prototypes.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are shown.

    Returns
    -------
    Portraits
    """
    of_cases = holds_cases(model)
    if model.kind_of_prototype == "direction" or (model.is_linear and not of_cases):
        return Portraits(model.weights, True, "Weights per standard deviation.")
    what = "The mean of the cases it is mixed from, by their weights."
    if of_cases:
        what = "Values of the case."
    return Portraits(mean_cases(model), False, what)


def mean_cases(model: PrototypeModel) -> np.ndarray:
    """The case, or the mean of the cases, of each prototype, user's units."""
    share = np.abs(model.mixing)
    return (share / np.maximum(share.sum(axis=0), 1e-300)).T @ model.prototypes


def value_range(model: PrototypeModel) -> tuple[float, float]:
    """Smallest and largest value of all features in the training rows.

    Parameters
    ----------
    model : PrototypeModel
        Model of pictures, whose features share one scale.

    Returns
    -------
    (float, float)
        User's units.
    """
    return float(model.low.min()), float(model.high.max())


def as_image(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Arrange a row as a picture, whatever the shape of a sample."""
    image = np.asarray(values).reshape(shape)
    if image.ndim == 3 and shape[-1] <= 4:
        image = image.mean(axis=-1)
    return image.reshape(-1, image.shape[-1])
