"""A slider that sends its value while it moves: assets/live_slider.js."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pages.ui.component import moving


def live_slider(
    label: str,
    ends: tuple[float, float, float],
    value: float,
    key: str,
    on_change: Callable[[float], None],
) -> None:
    """Draw the slider; in a fragment, which runs again while it moves."""
    low, high, step = ends

    def moved(sent: Any) -> None:
        if type(sent) in (int, float) and math.isfinite(sent):
            on_change(min(max(float(sent), low), high))

    data = {"label": label, "low": low, "high": high, "step": step, "value": value}
    moving("live_slider", key, data, moved)
