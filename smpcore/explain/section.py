"""A part of an explanation: what pages show and what is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Section:
    """A part of an explanation with a heading of its own.

    Parameters
    ----------
    title : str
        Heading of the section, as text.
    blocks : sequence of (str or sequence of mapping or Section)
        In their order: a paragraph, a table with the keys of its first line as
        headings, or a part of this part.
    folded : bool
        Whether only the heading is seen at first.
    """

    title: str
    blocks: Sequence[str | Sequence[Mapping[str, Any]] | Section]
    folded: bool = False
