"""What LOOKS.md says is what the program does."""

import ast
import re

from smpcore.colors import GREY, NEGATIVE, POSITIVE
from tests.guide import ROOT
from tests.test_architecture import TREES

PAGE = (ROOT / ".github/LOOKS.md").read_text("utf-8")
STYLE = (ROOT / "assets/style.css").read_text("utf-8")
FIGURE = (ROOT / "smpcore/live/figure.css").read_text("utf-8")


def test_it_is_short():
    assert len(PAGE.splitlines()) <= 80


def test_it_has_the_colours_of_the_program():
    assert re.findall(r"#[0-9A-F]{6}", PAGE) == [POSITIVE, NEGATIVE, GREY]


def test_sizes_are_those_of_the_styles():
    title, number = (float(px) for px in re.findall(r"(\d+(?:\.\d+)?) px,", PAGE)[:2])
    in_app = re.findall(r"\nh1 \{ font-size: ([\d.]+)rem", STYLE)
    in_app += re.findall(r'stMetricValue"\] \{ font-size: ([\d.]+)rem', STYLE)
    in_app += re.findall(r"first_title h1 \{ font-size: ([\d.]+)rem", STYLE)
    assert [16 * float(one) for one in in_app] == [title, number, number]
    (in_figure,) = re.findall(
        r":is\(.numbers, .four\) dd \{ font-size: ([.\d]+)rem", FIGURE
    )
    assert 16 * float(in_figure) == number
    small = min(map(float, re.findall(r"font-size: ([.\d]+)rem", FIGURE + STYLE)))
    assert 16 * small >= 12


def test_intervals_are_drawn_by_one_function():
    """Lying ones: `error_x` is of one file, and of what papers print."""
    drawn = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.keyword) and node.arg == "error_x")
        or (isinstance(node, ast.Constant) and node.value == "error_x")
    }
    assert drawn == {"smpcore/figures/forest.py", "smpcore/figures/reported.py"}


def test_log_axes_are_made_by_one_function():
    """But of a solver's way, whose powers of ten are many."""
    logs = {
        name
        for name, tree in TREES.items()
        if name.startswith(("smpcore/figures/", "pages/"))
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword | ast.Constant) and "dtick" in ast.dump(node)
    }
    assert not logs
