"""What a lesson says and asks about read-outs of fits: moment -> name -> value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pages.state.lesson_files import PLACEHOLDER
from smpcore.readouts import READOUTS


def holds(
    conditions: list[Mapping[str, Any]] | None,
    readouts: Mapping[str, Mapping[str, float]],
) -> bool:
    """Whether all conditions hold; None holds never."""
    if conditions is None:
        return False
    values = [readouts[one.get("of", "after")][one["measure"]] for one in conditions]
    limits = [
        (one.get("at_least", -np.inf), one.get("at_most", np.inf)) for one in conditions
    ]
    # Shares are rounding errors away from the limits that they reach.
    pairs = zip(values, limits, strict=True)
    return all(low - 1e-9 <= value <= high + 1e-9 for value, (low, high) in pairs)


def filled(text: str, readouts: Mapping[str, Mapping[str, float]]) -> str:
    """A text with read-outs in place of its placeholders."""

    def value(match: Any) -> str:
        moment, name = match.groups()
        if moment == "change":
            row = READOUTS[name]
            return row.change(readouts["before"][name], readouts["after"][name])
        return READOUTS[name].text(readouts[moment][name])

    return PLACEHOLDER.sub(value, text)


def places(question: Mapping[str, Any], before: Any, after: Any) -> list[list[float]]:
    """Where the prototypes are that a question about a place asks for."""
    old, new = before.prototypes, after.prototypes
    if after.kind_of_prototype == "direction" or new.shape[1] != 2:
        return []
    if question["point"].get("of") == "change":
        far = np.linalg.norm(new[:, None] - old[None], axis=2).min(axis=1)
        new = new[[int(far.argmax())]]
    return new.tolist()


def nearest(mark: list[float], prototypes: list[list[float]]) -> float:
    """Distance of a mark to the nearest place; infinite if there is none."""
    away = np.array(prototypes or [[np.inf, np.inf]]) - np.array(mark)
    return float(np.hypot(*away.T).min())
