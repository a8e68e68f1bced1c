"""The glossary: every term that pages show is in it, and every entry is shown."""

import ast
import re
from pathlib import Path

import pytest

from pages.ui import elements
from smpcore import load_dataset
from smpcore.live import GLOSSARY, define
from tests.app import bring, kernels, opened

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "smpcore" / "live" / "glossary.md").read_text("utf-8")
#: Texts of the pages, and of the tables and read-outs of the library that they show.
SOURCES = [
    *ROOT.glob("pages/**/*.py"),
    ROOT / "smpcore" / "readouts.py",
    ROOT / "smpcore" / "evaluation" / "calibration_measures.py",
    ROOT / "smpcore" / "explain" / "prototypes.py",
]
STRINGS = {
    node.value.lower()
    for path in SOURCES
    for node in ast.walk(ast.parse(path.read_text("utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
}


@pytest.mark.parametrize("term", GLOSSARY)
def test_an_entry_is_shown_somewhere_and_short(term):
    assert term in STRINGS or f"{term} %" in STRINGS
    sentences = re.findall(r"[.:] [A-Z]|[.]$", GLOSSARY[term])
    assert 1 <= len(sentences) <= 2, "one sentence or two"


def test_every_line_of_the_file_is_an_entry_in_alphabetical_order():
    lines = [line for line in TEXT.splitlines() if line.startswith("-")]
    assert len(lines) == len(GLOSSARY) > 20
    assert [*GLOSSARY] == sorted(GLOSSARY)


def test_columns_are_explained_whatever_they_hold():
    columns = elements.number_columns(
        {"weight": [0.5], "Proved equal %": ["1"], "row": [1]}
    )
    assert columns["weight"]["help"] == define("Weight")
    assert columns["Proved equal %"]["help"] == define("Proved equal")
    assert "row" not in columns


@pytest.mark.usefixtures(kernels.__name__)
def test_metrics_are_explained_on_hover():
    page = opened({"data": "iris"}, "apply.py")
    frame = load_dataset("iris").frame
    moved = frame.assign(**{frame.columns[0]: frame.iloc[:, 0] + 1e-3})
    bring(page, moved.to_csv(index=False))
    helps = {metric.label: metric.proto.help for metric in page.metric}
    assert helps["Balanced accuracy"] == define("Balanced accuracy")
    assert not helps["Rows"]
