"""A slider that sends its value while it moves: assets/live_slider.js."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

_SCRIPT = Path(__file__).parents[2] / "assets" / "live_slider.js"
_HTML = "<div><span></span><output></output><input type='range'></div>"
_CSS = """
div { display: grid; grid-template-columns: 1fr auto; font: inherit;
  font-size: .875rem; color: var(--st-text-color); }
output { color: var(--st-primary-color); font-variant-numeric: tabular-nums; }
input { grid-column: 1 / -1; width: 100%; height: 2.5rem; margin: 0;
  accent-color: var(--st-primary-color); }
"""


@cache
def _component() -> Callable[..., Any]:
    js = _SCRIPT.read_text("utf-8")
    return st.components.v2.component("live_slider", html=_HTML, css=_CSS, js=js)


def live_slider(
    label: str,
    ends: tuple[float, float, float],
    value: float,
    key: str,
    on_change: Callable[[float], None],
) -> None:
    """Draw the slider; in a fragment, which runs again while it moves."""
    low, high, step = ends

    def moved() -> None:
        sent = _message(key).get("value")
        if type(sent) in (int, float) and math.isfinite(sent):
            on_change(min(max(float(sent), low), high))

    number = _message(key).get("number")
    data = {"label": label, "low": low, "high": high, "step": step, "value": value}
    data["answered"] = number if type(number) is int else 0
    _component()(key=key, data=data, on_move_change=moved)


def _message(key: str) -> dict[str, Any]:
    """What the browser sent last (untrusted)."""
    sent = st.session_state.get(key, {}).get("move")
    return sent if isinstance(sent, dict) else {}
