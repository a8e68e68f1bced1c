"""Text of users, of models and of the glossary, as pages show it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pages.work.cache import Parts
from smpcore import PrototypeModel
from smpcore.datasets import shorten_name, text_features
from smpcore.readouts import READOUTS

_FILE = Path(__file__).parents[2] / "assets" / "glossary.md"
#: Where escaped signs are an arrow, a dash or an icon for Streamlit all the same.
_REPLACED = re.compile(
    r"(?<=-\\>)|(?<=\\[<>~])(?=\\?[=-])|(?<=-)(?=\\-)|(?<=\\:)(?=material/|[\w+\\-]+:)"
)
_ENTRY = re.compile(r"^- \*\*(.+?)\*\*: (.+)$", re.MULTILINE)

#: Term in small letters -> what it means.
GLOSSARY = {
    term.lower(): meaning for term, meaning in _ENTRY.findall(_FILE.read_text("utf-8"))
}


def help_of(label: object) -> str | None:
    """What a label means; None if it needs no knowledge."""
    return GLOSSARY.get(str(label).lower().removesuffix(" %"))


def define(*terms: str) -> str:
    """What terms mean, each after its name if there are several."""
    if len(terms) == 1:
        return GLOSSARY[terms[0].lower()]
    return "\n\n".join(f"{term}: {GLOSSARY[term.lower()]}" for term in terms)


#: Key of a read-out -> what it means; empty if it needs no knowledge.
MEANINGS = {
    key: define(*row.terms) if row.terms else GLOSSARY.get(row.label.lower(), "")
    for key, row in READOUTS.items()
}


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


def prototype_texts(model: PrototypeModel, data: Parts) -> list[str]:
    """The prototypes as texts; empty of data that are no texts."""
    if not text_features(data.dataset):
        return []
    (column,) = data.preparation.inputs
    return [column.text(z) for z in model.prototypes]
