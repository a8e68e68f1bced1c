"""The live figure's component: its script and style are the library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.ui.elements import component
from smpcore.live import STYLE


def figure_script() -> None:
    """Mount the figure's script, unseen: answers to a drag go without its 100 kB."""
    component("figure")(key="figure_script", data=STYLE)


def live_figure(
    payload: bytes, key: str, on_msg: Callable[[], None] | None = None
) -> dict[str, Any] | None:
    """Mount the live figure, or hand it new content."""
    mounted = component("live_figure")
    return mounted(key=key, data=payload, on_msg_change=on_msg or (lambda: None)).msg
