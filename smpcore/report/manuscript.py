"""The report for a manuscript: Markdown, with its tables as CSV and pictures as SVG.

Every text is escaped for CommonMark, GitHub and Pandoc: none becomes a tag, a heading
or a formula. Cells are those of the document of HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from smpcore.codegen.package import zipped
from smpcore.datasets import as_csv
from smpcore.model import PrototypeModel
from smpcore.model.html import cell_text
from smpcore.readouts import Caution, Drawing, Section
from smpcore.report.document import Page, prototype_sections, summary_section

#: What Markdown reads anywhere in a line, and what it reads where one begins.
_SIGNS = re.compile(r"([\\`*_{}\[\]<>&#|~^$@])")
_START = re.compile(r"^(?:(?=[-+=:%(!])|(\w+)(?=[.)](?:\s|$)))")
#: Spaces and ends of lines, but not what holds a number and its unit together.
_SPACES = re.compile(r"[ \t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
#: A cell that is no formula, although it begins with a minus.
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


def escape_markdown(text: str) -> str:
    r"""Text of one line as Markdown that reads it as text, wherever it stands.

    Parameters
    ----------
    text : str
        Of anybody; an end of a line becomes a space.

    Returns
    -------
    str

    Examples
    --------
    >>> print(escape_markdown("<b> of 0.95 | #1"))
    \<b\> of 0.95 \| \#1
    """
    return _SIGNS.sub(r"\\\1", _SPACES.sub(" ", text).strip(" "))


@dataclass
class _Manuscript:
    """Files beside the text, by their names; both are numbered as they come."""

    files: dict[str, bytes] = field(default_factory=dict)
    n_tables: int = 0
    n_pictures: int = 0

    def section(self, section: Section, level: int = 2) -> Iterator[str]:
        """Blocks of Markdown of a section and its parts."""
        if section.title:
            yield f"{'#' * min(level, 6)} {escape_markdown(section.title)}"
        for block in section.blocks:
            if isinstance(block, Section):
                yield from self.section(block, level + 1)
            elif isinstance(block, str):
                yield _paragraph(block)
            elif isinstance(block, Caution):
                yield f"> {_paragraph(block.text)}"
            elif isinstance(block, Drawing):
                yield self._picture(block)
            elif block:
                yield from self._table(section.title, block)

    def _picture(self, drawing: Drawing) -> str:
        self.n_pictures += 1
        name = _file_name("figures", self.n_pictures, drawing.title, "svg")
        # A file of its own has no page whose width it could take.
        svg = drawing.svg.replace(' width="100%"', ' width="640"', 1)
        self.files[name] = svg.encode("utf-8", "replace")
        return f"![{escape_markdown(drawing.title)}]({name})"

    def _table(self, title: str, lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        self.n_tables += 1
        name = _file_name("tables", self.n_tables, title, "csv")
        heads = [str(head) for head in lines[0]]
        cells = [[cell_text(value) for value in line.values()] for line in lines]
        self.files[name] = _csv(heads, cells)
        rows = [heads, *cells]
        texts = [f"| {' | '.join(map(escape_markdown, row))} |" for row in rows]
        texts.insert(1, f"|{' --- |' * len(heads)}")
        yield "\n".join(texts)
        yield f"Table {self.n_tables}: {name}"


def markdown_files(section: Section, name: str) -> dict[str, bytes]:
    """Write a section alone as Markdown, with its tables and pictures beside it.

    Parameters
    ----------
    section : Section
        Its title is that of the text.
    name : str
        Of the file with the text.

    Returns
    -------
    dict of str to bytes
        The files by their names.
    """
    written = _Manuscript()
    text = "\n\n".join(written.section(section, 1)) + "\n"
    return written.files | {name: text.encode("utf-8", "replace")}


def _paragraph(text: str) -> str:
    return _START.sub(r"\1\\", escape_markdown(text))


def _file_name(folder: str, number: int, title: str, ending: str) -> str:
    words = _NO_LETTERS.sub("-", title.lower())[:40].strip("-") or folder
    return f"{folder}/{number:02}-{words}.{ending}"


def _csv(heads: list[str], cells: list[list[str]]) -> bytes:
    """The cells of a table; a negative number is a number, and no formula."""
    values = [
        [float(text) if _NEGATIVE.fullmatch(text) else text for text in row]
        for row in cells
    ]
    return as_csv(pd.DataFrame(values, columns=heads, dtype=object))


def manuscript(model: PrototypeModel, page: Page) -> bytes:
    """Write the report as Markdown, with its tables and pictures as files beside it.

    Parameters
    ----------
    model : PrototypeModel
        Model to describe.
    page : Page
        What `report` writes as HTML; the model to try is left out.

    Returns
    -------
    bytes
        A zip of one folder: ``report.md``, ``tables/*.csv`` and ``figures/*.svg``.
    """
    written = _Manuscript()
    sections = [
        summary_section(page),
        *filter(None, [page.card]),
        *page.sections,
        *prototype_sections(model, page),
    ]
    blocks = [f"# {escape_markdown(page.title)}"]
    for section in sections:
        blocks += written.section(section)
    text = "\n\n".join(blocks) + "\n"
    return zipped(
        written.files | {"report.md": text.encode("utf-8", "replace")}, "report"
    )
