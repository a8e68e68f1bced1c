"""A report as files for a manuscript: the document's numbers, and text as text."""

import csv
import io
import re
import zipfile
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from smpcore import report
from smpcore.readouts import Caution, Drawing, Section
from smpcore.report import Page, manuscript, stated_section, tripod_section
from smpcore.report.tripod import FIELDS, items
from tests.html_document import Document
from tests.smpcore.codegen.models import random_linear

#: What a file of Markdown, HTML or CSV could take for more than text.
HOSTILE = (
    "<script>alert(1)</script>",
    "a | b || c",
    "`code` and ``more``",
    "=cmd()|' /C calc'!A0",
    "# no heading",
    "- no list\n\n1. none\n> none",
    "    no code",
    "![no](picture) [no](link) &lt; $x^2$ ~a~ *b* _c_ @d",
    "--- \\",
)


def unpacked(content):
    """Files of a report: name in its folder -> text."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {n.partition("/")[2]: archive.read(n) for n in archive.namelist()}
    return {name: data.decode() for name, data in files.items()}


def text_of(markdown):
    """Markdown of one line, read: a sign behind a backslash is that sign."""
    return re.sub(r"\\(.)", r"\1", markdown)


def one_line(text):
    """Text as a line has it."""
    return re.sub(r"[ \n]+", " ", text).strip()


def tables_of(markdown):
    """Tables of Markdown as lists of cells, without a heading that is blank."""
    tables = []
    for block in markdown.split("\n\n"):
        lines = block.split("\n")
        if len(lines) > 1 and set(lines[1]) == {"|", " ", "-"}:
            rows = [line[2:-2].split(" | ") for line in (lines[0], *lines[2:])]
            cells = [[one_line(text_of(cell)) for cell in row] for row in rows]
            tables.append(cells if any(cells[0]) else cells[1:])
    return tables


def check_same_numbers(files, html):
    """Tables of Markdown, of CSV and of the document have the same cells."""
    document = [
        [[one_line(cell) for cell in row] for row in table]
        for table in Document(html).tables
        if table
    ]
    written = tables_of(files["report.md"])
    assert written == document
    names = [name for name in sorted(files) if name.startswith("tables/")]
    assert len(names) == len(written)
    for name, table in zip(names, written, strict=True):
        assert name in files["report.md"]
        rows = list(csv.reader(io.StringIO(files[name], newline="")))
        rows = rows if len(rows) == len(table) else rows[1:]
        for row, cells in zip(rows, table, strict=True):
            for read, cell in zip(row, cells, strict=True):
                plain = one_line(re.sub(r"^'|(?<=[;\t])'", "", read))
                is_number = re.fullmatch(r"-[\d.]+(e-?\d+)?", cell)
                assert float(read) == float(cell) if is_number else plain == cell
    return written


def pages():
    """A page whose every text is hostile, in turns."""
    for text in HOSTILE:
        lines = [{"name": text, text: -0.25}, {"name": "=1+1", text: text}]
        blocks = [text, Caution(text), lines, Section(text, [text])]
        yield (
            text,
            Page(
                text,
                {"fact": text},
                np.array([[1.0, -2.0], [0.5, 0.0]]),
                True,
                names={0: text},
                notes={0: text},
                warnings={0: [text]},
                prototypes=[{"prototype": text, "bias": -1e-12}],
                sections=[
                    Section(text, blocks),
                    stated_section(dict.fromkeys(FIELDS, text)),
                ],
            ),
        )


@pytest.mark.parametrize(("text", "page"), pages())
def test_hostile_text_stays_text_in_every_file(text, page):
    classes = np.array([text, "other"])
    model = random_linear(2, 2, 1, 1.0, feature_names=(text, "b"), classes=classes)
    files, html = unpacked(manuscript(model, page)), report(model, page)
    check_same_numbers(files, html)
    assert not {*Document(html).tags} & {"script", "img", "a", "code"}
    blocks = files["report.md"].strip().split("\n\n")
    texts = [one_line(text_of(block)) for block in blocks]
    line = one_line(text)
    # Title and section, part, paragraph, caution and note: each is one block.
    assert texts.count(f"# {line}") == 1 and texts.count(f"## {line}") == 1
    assert texts.count(f"### {line}") == 1 and f"> {line}" in texts
    assert texts.count(line) >= 2 + (len(FIELDS) if "\n" not in text else 0)
    for block in blocks:
        bare = re.sub(r"\\.", "", block)
        if not block.startswith(("| ", "![")):
            assert not re.search(r"[`*_<|~$@\[]", bare), block
            assert not re.match(r"(?:[-+=]|\d+[.)] |    )", block)
            assert "\n" not in block
    for name, content in files.items():
        if name.endswith(".csv"):
            for row in csv.reader(io.StringIO(content, newline="")):
                cells = [cell for cell in row if not re.fullmatch(r"-[\d.e-]+", cell)]
                assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
        if name.endswith(".svg"):
            assert {
                e.tag.partition("}")[2] for e in ElementTree.fromstring(content)
            } <= {*("rect", "line", "text")}


def test_pictures_are_files_of_their_own():
    model = random_linear(3, 2, 1, 1.0)
    page = Page("t", {}, np.ones((2, 3)), True)
    drawing = Drawing("Curve of a & b", '<svg xmlns="http://www.w3.org/2000/svg"/>')
    page = replace(page, sections=[Section("One", [drawing])])
    files = unpacked(manuscript(model, page))
    names = [name for name in sorted(files) if name.startswith("figures/")]
    assert names == [
        "figures/01-curve-of-a-b.svg",
        "figures/02-bars-of-prototype-1.svg",
        "figures/03-bars-of-prototype-2.svg",
    ]
    for name in names:
        assert f"]({name})" in files["report.md"]
        assert ElementTree.fromstring(files[name]).tag.endswith("svg")
    # A width in per cent would be that of whatever shows the file.
    assert 'width="640"' in files[names[1]] and drawing.svg in report(model, page)
    assert manuscript(model, page) == manuscript(model, page)


def test_every_item_of_tripod_has_a_place_a_field_or_is_a_gap():
    every = items()
    numbers = [re.match(r"\d+", item["item"])[0] for item in every]
    assert list(dict.fromkeys(numbers)) == [str(number) for number in range(1, 28)]
    assert len({item["item"] for item in every}) == len(every) == 52
    fields = [key for item in every for key in item["fields"].split("; ") if key]
    assert {*fields} == {*FIELDS}
    names = [name for item in every for name in item["sections"].split("; ") if name]
    nothing = tripod_section([], {}, {})
    lines = lines_of(nothing)
    assert [line["item"] for line in lines] == [item["item"] for item in every]
    for line, item in zip(lines, every, strict=True):
        wanted = item["fields"].split("; ") if item["fields"] else []
        gaps = "; ".join(f"not stated: {FIELDS[key][0]}" for key in wanted)
        assert line["stated by the author"] == gaps
        assert line["in this report"] == ("" if wanted else "not answered here")
    offered = {name: f"Somewhere > {name}" for name in names}
    sections = [Section(f"{name.partition(' or ')[0]} by x", ()) for name in names]
    stated = dict.fromkeys(FIELDS, "text")
    for line, not_run, item in zip(
        lines_of(tripod_section(sections, stated, offered)),
        lines_of(tripod_section([], stated, offered)),
        every,
        strict=True,
    ):
        assert "not " not in line["stated by the author"]
        if item["sections"]:
            assert " by x" in line["in this report"]
            assert not_run["in this report"].startswith("not run: Somewhere > ")


def lines_of(section):
    """Lines of all its tables."""
    return [line for part in section.blocks[1:] for line in part.blocks[0]]


def test_what_is_not_stated_is_named_and_nothing_is_made_up():
    section = stated_section({"ethics": " \n ", "dates": "2001\n\n2003 "})
    gaps, dates = section.blocks
    assert (
        isinstance(gaps, Caution) and "Ethics" in gaps.text and "Dates" not in gaps.text
    )
    assert dates == Section("Dates", ["2001", "2003 "])
    assert len(gaps.text.split("; ")) == len(FIELDS) - 1
    (only,) = stated_section({}).blocks
    assert all(title in only.text for title, _ in FIELDS.values())
    every = stated_section(dict.fromkeys(FIELDS, "x")).blocks
    assert [one.title for one in every] == [title for title, _ in FIELDS.values()]
