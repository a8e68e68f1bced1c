"""Components of our own: a script in assets/, with its page and style beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

ASSETS = Path(__file__).parents[2] / "assets"


@cache
def component(name: str) -> Callable[..., Any]:
    """Streamlit's component of ``assets/<name>.js``."""
    beside = {ending: ASSETS / f"{name}.{ending}" for ending in ("html", "css", "js")}
    texts = {k: path.read_text("utf-8") for k, path in beside.items() if path.exists()}
    return st.components.v2.component(name, **texts)


def moving(
    name: str, key: str, data: dict[str, Any], on_value: Callable[[Any], None]
) -> None:
    """Mount a component that sends numbered values while it moves (untrusted)."""

    def sent() -> dict[str, Any]:
        message = st.session_state.get(key, {}).get("move")
        return message if isinstance(message, dict) else {}

    number = sent().get("number")
    data |= {"answered": number if type(number) is int else 0}
    component(name)(
        key=key, data=data, on_move_change=lambda: on_value(sent().get("value"))
    )
