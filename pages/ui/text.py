"""Text of users and of models as pages show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pages.work.parts import Parts
from smpcore import PrototypeModel
from smpcore.datasets import shorten_name, text_features


def escape_markdown(text: str) -> str:
    """A sentence that quotes a file, with every sign that Markdown reads escaped."""
    return re.sub(r"([\\`*_{}\[\]()<>#+!|~$:.-])", r"\\\1", text)


def message(show: Callable[..., Any], text: str, **options: Any) -> None:
    """Show a sentence that quotes a file: ``message(st.warning, text)``."""
    show(escape_markdown(text), **options)


def short_label(text: object) -> str:
    """A name that fits into a control."""
    return shorten_name(text, 50)


def prototype_texts(model: PrototypeModel, data: Parts) -> list[str]:
    """The prototypes as texts; empty of data that are no texts."""
    if not text_features(data.dataset):
        return []
    (column,) = data.preparation.inputs
    return [column.text(z) for z in model.prototypes]
