"""A choice with all that follows from it: resolved once, and handed down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pages.state.choice import Choice
from pages.work import cache
from smpcore import METHODS, Method, Param

Ends = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Context:
    """A choice with its data, its method and all values.

    Parameters
    ----------
    choice : Choice
    data : Parts
    method : Method
    params : tuple of Param
        The method's controls for these data.
    values : dict
        Of all of them, defaults filled in.
    found : dict
        What was computed `once` already.
    """

    choice: Choice
    data: cache.Parts
    method: Method
    params: tuple[Param, ...]
    values: dict[str, Any]
    found: dict[Hashable, Any] = field(default_factory=dict)

    def moved(self, values: Mapping[str, Any]) -> Context | None:
        """The context after sliders of the method have moved; all else stands still.

        Parameters
        ----------
        values : mapping
            Names and values as a browser sent them.

        Returns
        -------
        Context or None
            None if one is no slider of the method.

        Raises
        ------
        SmpcoreError
            If a value is none that a slider can have.
        """
        sliders = self.once("sliders", self.sliders)
        if not values.keys() <= sliders.keys():
            return None
        clean = {name: sliders[name].clean(value) for name, value in values.items()}
        choice = replace(self.choice, values={**self.choice.values, **clean})
        return replace(self, choice=choice, values={**self.values, **clean})

    def sliders(self) -> dict[str, Param]:
        """The method's numbers by their names."""
        scales = ("linear", "log", "int")
        return {param.name: param for param in self.params if param.scale in scales}

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute what does not change when sliders of the method move."""
        if key not in self.found:
            self.found[key] = compute()
        return self.found[key]

    def problem(self) -> Any:
        """Scaled training rows with their start; a few values decide about it."""
        needed = self.method.estimators[self.data.dataset.task].problem_params
        key = ("problem", *map(self.values.get, needed))
        method = self.method.key
        return self.once(key, lambda: cache.problem(self.data, method, self.values))

    def within(self, chosen: Collection[str]) -> tuple[Context, list[str]]:
        """Bring values that nobody chose for these data into their range.

        A prototype per example, say, needs a far smaller fusion than a few prototypes
        do: left alone, the slider would stand beyond the end where everything is one.
        At the end itself everything is one too: such a value goes to the middle.

        Parameters
        ----------
        chosen : collection of str
            Values that were chosen for these data and this method: they stay. Only a
            count at its default is brought into its range all the same, as the fit
            does.

        Returns
        -------
        context : Context
        said : list of str
            What was moved, in sentences.
        """
        if cache.is_slow(self.data, self.method.key):
            return self, []
        values, said = {}, []
        ends = cache.bounds(self.data, self.method.key, self.values)
        for param in self.params:
            low, high = ends.get(param.name, (0.0, np.inf))
            value = self.values[param.name]
            usual = param.name not in self.choice.values
            stays = param.name in chosen and not (usual and param.scale == "int")
            if value is None or stays:
                continue
            if param.scale == "log" and value > high:
                values[param.name] = float(f"{np.sqrt(low * high):.3g}")
                said.append(
                    f"{param.label} stood beyond its new end {high:.3g} and is set to "
                    f"{values[param.name]:g}, the middle."
                )
            elif param.scale == "int" and value > high:
                values[param.name] = int(high)
                if not usual:
                    said.append(
                        f"{param.label}: here at most {high:g}, which is set now."
                    )
        return self.moved(values), said

    def holding(self, ends: Ends) -> dict[str, tuple[float, float]]:
        """Slider ends, moved outwards where a chosen value lies beyond them."""
        held = dict(ends)
        for param in self.params:
            value = self.values[param.name]
            # The exact 0 of a log slider has a place of its own.
            zero = param.zero and value == 0
            if param.name in ends and value is not None and not zero:
                low, high = ends[param.name]
                held[param.name] = min(low, value), max(high, value)
        return held


def resolve(choice: Choice) -> Context:
    """Find what follows from a choice.

    Raises
    ------
    SmpcoreError
        If its data are gone, or cannot be learned from.
    """
    data, method = choice.parts(), METHODS[choice.method]
    params = method.controls(data.dataset.task)
    return Context(choice, data, method, params, choice.all_values)
