"""What parameters and weights may be; everything else is refused in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from smpcore.errors import SmpcoreError, checked

#: Why weights of rows are refused.
BAD_WEIGHTS = (
    "sample_weight should be finite and not negative; a weight of 0 leaves a row out."
)


def _plain(value: Any) -> Any:
    """A number or text of numpy, as a grid has them, as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Number:
    """Numbers that a parameter may be."""

    low: float
    high: float = math.inf
    #: Whether only whole numbers are allowed.
    integer: bool = False
    #: Whether `low` itself is too low.
    above: bool = False
    #: Whether None is allowed too.
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise SmpcoreError if the parameter `name` may not have this value."""
        if self.optional and value is None:
            return
        kind = Integral if self.integer else Real
        good = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
        if good and self.low <= value <= self.high:
            if not (self.above and value == self.low):
                return
        noun = "a whole number" if self.integer else "a number"
        bound = f"{'above' if self.above else 'of at least'} {self.low:g}"
        if self.high < math.inf:
            bound += f" and at most {self.high:g}"
        raise SmpcoreError(
            f"{name}={_plain(value)!r} should be {noun} {bound}; change {name}."
        )


@dataclass(frozen=True)
class OneOf:
    """Values of which a parameter must be one; True is not 1."""

    choices: tuple[Any, ...]

    def check(self, name: str, value: Any) -> None:
        """Raise SmpcoreError if the parameter `name` may not have this value."""
        value = _plain(value)
        for choice in self.choices:
            if type(value) is type(choice) and value == choice:
                return
        named = ", ".join(repr(choice) for choice in self.choices)
        raise SmpcoreError(f"{name}={value!r} should be one of {named}; choose one.")


FLAG = OneOf((True, False))


@dataclass(frozen=True)
class Seed:
    """What random numbers start from."""

    def check(self, name: str, value: Any) -> None:
        """Raise SmpcoreError if the parameter `name` may not have this value."""
        try:
            check_random_state(value)
        except ValueError as error:
            raise SmpcoreError(
                f"{name}={value!r} should be a whole number from 0 to {2**32 - 1}, a "
                f"RandomState or None; change {name}."
            ) from error


@dataclass(frozen=True)
class Lists:
    """Lists of names or of whole numbers, or None."""

    def check(self, name: str, value: Any) -> None:
        """Raise SmpcoreError if the parameter `name` may not have this value."""
        kinds = list, tuple
        if value is None or (
            isinstance(value, kinds)
            and all(isinstance(part, kinds) for part in value)
            and all(isinstance(one, str | Integral) for part in value for one in part)
        ):
            return
        raise SmpcoreError(
            f"{name} should be None or lists of names or whole numbers, as in "
            f"[[0, 3], [1, 2]]; change {name}."
        )


def sample_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Check weights of rows."""
    if sample_weight is None:
        return np.full(n_samples, 1.0 / n_samples)
    weights = checked(np.array, sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise SmpcoreError(
            f"sample_weight has shape {weights.shape} and should have shape "
            f"({n_samples},); give one weight for each row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise SmpcoreError(BAD_WEIGHTS)
    largest = weights.max()
    if largest == 0:
        raise SmpcoreError(
            "sample_weight is zero for all rows; at least one should weigh something."
        )
    weights /= largest
    return weights / weights.sum()


def encode_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes of labels, sorted, and the place of each label's among them."""
    try:
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        raise SmpcoreError(
            "y holds values of several types that cannot be sorted; make them all "
            "texts or all numbers."
        ) from error


def require_two(classes: np.ndarray, rows: str = "") -> None:
    """Refuse labels of one class."""
    if len(classes) < 2:
        raise SmpcoreError(
            f"y holds one class only ({classes[0]!s}){rows}; to tell classes apart "
            "takes at least two classes."
        )


def require_weight(classes: np.ndarray, totals: np.ndarray) -> None:
    """Refuse a class whose rows weigh nothing."""
    if not totals.all():
        raise SmpcoreError(
            f"sample_weight is 0 for every row of class {classes[totals.argmin()]!s}; "
            "weigh one of its rows or leave the class out."
        )


def class_values(
    name: str,
    setting: Any,
    classes: np.ndarray,
    balanced: np.ndarray,
    default: float = 1.0,
    allowed: Number = Number(0.0, 1e12, above=True),
) -> np.ndarray:
    """Number of each class."""
    if isinstance(setting, str) and setting == "balanced":
        return balanced
    if setting is not None and not isinstance(setting, dict):
        raise SmpcoreError(
            f"{name}={setting!r} should be None, 'balanced' or a dict from class to "
            "number; choose one."
        )
    known = classes.tolist()
    numbers = np.full(len(classes), default)
    for label, number in (setting or {}).items():
        if label not in known:
            raise SmpcoreError(
                f"{name} names the class {label!r}, which y does not hold; its "
                "keys should be classes of y."
            )
        allowed.check(f"{name}[{label!r}]", number)
        numbers[known.index(label)] = number
    return numbers


def weigh_classes(
    weights: np.ndarray, class_weight: Any, classes: np.ndarray, y_encoded: np.ndarray
) -> np.ndarray:
    """Multiply the weights of rows by those of their classes."""
    totals = np.bincount(y_encoded, weights, len(classes))
    factors = class_values("class_weight", class_weight, classes, 1.0 / totals)
    weights *= factors[y_encoded]
    return weights / weights.sum()
