"""What terms mean, in the glossary's words."""

from __future__ import annotations

import re
from pathlib import Path

from smpcore.readouts import READOUTS

_FILE = Path(__file__).parent / "glossary.md"
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
