"""Text of users, as pages show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from smpcore.datasets import shorten_name

#: Where escaped signs are an arrow, a dash or an icon for Streamlit all the same.
_REPLACED = re.compile(
    r"(?<=-\\>)|(?<=\\[<>~])(?=\\?[=-])|(?<=-)(?=\\-)|(?<=\\:)(?=material/|[\w+\\-]+:)"
)


def as_written(markdown: str) -> str:
    """Markdown of whose escaped signs Streamlit makes no others."""
    return _REPLACED.sub("\N{WORD JOINER}", markdown)


def escape_markdown(text: str) -> str:
    """A sentence that quotes a file, with every sign that Markdown reads escaped."""
    return as_written(re.sub(r"([\\`*_{}\[\]()<>&=#+!|~$:.-])", r"\\\1", text))


def message(show: Callable[..., Any], text: str, **options: Any) -> None:
    """Show a sentence that quotes a file: ``message(st.warning, text)``."""
    show(escape_markdown(text), **options)


def short_label(text: object) -> str:
    """A name that fits into a control."""
    return shorten_name(text, 50)
