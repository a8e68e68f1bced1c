"""The ends of the sliders: they follow the data, and hold what was chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from pages.state.choice import Choice
from pages.work import cache
from smpcore import METHODS

Ends = Mapping[str, tuple[float, float]]


def options(choice: Choice) -> set[str]:
    """Options of the method: they may move the ends of its sliders by much."""
    params = METHODS[choice.method].controls(choice.task)
    return {param.name for param in params if param.scale == "choice"}


def within(choice: Choice, chosen: Collection[str]) -> tuple[Choice, list[str]]:
    """Bring values that nobody chose for these data into their range.

    A prototype per example, say, needs a far smaller fusion than a few prototypes do:
    left alone, the slider would stand beyond the end where everything is one. At the
    end itself everything is one too: such a value goes to the middle.

    Parameters
    ----------
    choice : Choice
    chosen : collection of str
        Values that were chosen for these data and this method: they stay. Only a
        count at its default is brought into its range all the same, as the fit does.

    Returns
    -------
    choice : Choice
    said : list of str
        What was moved, in sentences.
    """
    data = choice.parts()
    if cache.is_slow(data, choice.method):
        return choice, []
    values, said = dict(choice.values), []
    ends = cache.bounds(data, choice.method, choice.all_values)
    for param in METHODS[choice.method].controls(choice.task):
        low, high = ends.get(param.name, (0.0, np.inf))
        value = choice.all_values[param.name]
        usual = param.name not in choice.values
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
                said.append(f"{param.label}: here at most {high:g}, which is set now.")
    return replace(choice, values=values), said


def holding(ends: Ends, choice: Choice) -> dict[str, tuple[float, float]]:
    """The ends, moved outwards where a chosen value lies beyond them."""
    held = dict(ends)
    for param in METHODS[choice.method].controls(choice.task):
        value = choice.all_values[param.name]
        # The exact 0 of a log slider has a place of its own.
        if param.name in ends and value is not None and not (param.zero and value == 0):
            low, high = ends[param.name]
            held[param.name] = min(low, value), max(high, value)
    return held
