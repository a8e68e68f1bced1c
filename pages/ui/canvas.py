"""The live figure's component: its script and style are the library's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from pages.ui.elements import component
from smpcore.live import FOLDER, STYLE


@cache
def _script() -> Callable[..., Any]:
    script = (FOLDER / "figure.js").read_text("utf-8")
    return st.components.v2.component("figure", js=script)


def figure_script() -> None:
    """Mount the figure's script, unseen: answers to a drag go without its 100 kB."""
    _script()(key="figure_script", data=STYLE)


def live_figure(
    payload: bytes, key: str, on_msg: Callable[[], None] | None = None
) -> dict[str, Any] | None:
    """Mount the live figure, or hand it new content."""
    mounted = component("live_figure")
    return mounted(key=key, data=payload, on_msg_change=on_msg or (lambda: None)).msg
