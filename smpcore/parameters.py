"""What a control is: of a method, or of a generated data set."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from smpcore.errors import SmpcoreError

__all__ = ["TASKS", "Param"]

Values = Mapping[str, Any]
#: What there may be to learn.
TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Param:
    """One control.

    Parameters
    ----------
    name : str
        Of the parameter it sets.
    label : str
        What the control is called on a page.
    scale : {"linear", "log", "int", "choice", "flag", "class", "lists"}
        "class" is one of the data's classes, "lists" are lists of features of the data;
        None is the method's own choice.
    low, high : float
        Widest range of a number; a method narrows it for given data.
    start : object
        Value at first, where no signature gives it.
    zero : bool
        Whether a log slider has an exact 0 at its left end.
    options : tuple of (value, label)
        Values of a choice, each with its name for people.
    series_options : tuple
        Values among them that series have only.
    help : str
        One sentence: what moving it does.
    advanced : bool
        Folded away at first.
    shown_if : callable, optional
        Whether the control means anything at the other controls' values; None: always.
    n_classes : (float, float)
        Fewest and most classes with which the control means anything.
    tasks : tuple of str
        Tasks for which there is such a control.
    """

    name: str
    label: str
    scale: Literal["linear", "log", "int", "choice", "flag", "class", "lists"]
    low: float = 0.0
    high: float = 1.0
    start: Any = None
    zero: bool = False
    options: tuple[tuple[Any, str], ...] = ()
    series_options: tuple[Any, ...] = ()
    help: str = ""
    advanced: bool = False
    shown_if: Callable[[Values], bool] | None = None
    n_classes: tuple[float, float] = (1, math.inf)
    tasks: tuple[str, ...] = TASKS

    def allows(self, value: Any) -> bool:
        """Whether a choice has this value; other controls allow what `clean` made."""
        return self.scale != "choice" or value in [option for option, _ in self.options]

    def clean(self, value: Any) -> Any:
        """Make a valid value out of one from anywhere (a URL, say).

        A number is clipped to the widest range; what is no value is a `SmpcoreError`.
        """
        if self.scale == "flag":
            if str(value).lower() in ("1", "true", "0", "false"):
                return str(value).lower() in ("1", "true")
            raise SmpcoreError(f"{self.name} should be true or false.")
        if self.scale == "choice":
            for option, _ in self.options:
                if str(option) == str(value):
                    return option
            allowed = ", ".join(str(option) for option, _ in self.options)
            raise SmpcoreError(f"{self.name} should be one of: {allowed}.")
        if self.scale == "class":
            return str(value) if value not in (None, "") else None
        if self.scale == "lists":
            return self._clean_lists(value)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise SmpcoreError(
                f"{self.name} should be a number from {self.low:g} to {self.high:g}."
            )
        if self.zero and number <= 0:
            return 0.0
        number = min(max(number, self.low), self.high)
        return round(number) if self.scale == "int" else number

    def _clean_lists(self, value: Any) -> tuple[tuple[str | int, ...], ...] | None:
        """Lists, or their JSON, as tuples, which can be part of a key."""
        if value in (None, ""):
            return None
        try:
            lists = json.loads(value) if isinstance(value, str) else value
            clean = tuple(tuple(names) for names in lists)
        except (ValueError, TypeError, RecursionError):
            clean = ((None,),)
        if all(isinstance(name, str | int) for names in clean for name in names):
            return clean
        raise SmpcoreError(f'{self.name} should be as in [["age", "height"], ["age"]].')


def shown_at(name: str, *options: Any) -> Callable[[Values], bool]:
    """Show a control where another one has one of these values."""
    return partial(_has_option, name, options)


def _has_option(name: str, options: tuple[Any, ...], values: Values) -> bool:
    return values[name] in options


def advanced(*params: Param) -> Iterator[Param]:
    """The same controls, folded away at first."""
    return (replace(param, advanced=True) for param in params)
