"""A read-out is defined once; whoever shows one names it by its key."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from pages.state.lesson_files import PLACEHOLDER
from smpcore.evaluation import SCORES, SIZES
from smpcore.readouts import READOUTS

ROOT = Path(__file__).parents[1]
CANVAS = [*ROOT.glob("assets/canvas/*.js")]
LESSONS = [*ROOT.glob("assets/lessons/[01]*.json")]
#: What has the name of a read-out and is none: a page, lists, a sentence, a button, and
#: whether a single case is far from all data.
OTHERS = {
    "Prototypes": {"navigation.py", "prototypes.py", "stability.py", "hand.js"}
    | {"prototypes.js", "report.js", "document.py"},
    "Start": {"lessons.py"},
    "Far from all data": {"report.js"},
}
#: But for measures of papers, and labels of sliders.
PYTHON = [
    path
    for path in [*ROOT.glob("pages/**/*.py"), *ROOT.glob("smpcore/**/*.py")]
    if path.name != "row.py" and "papers" not in path.relative_to(ROOT).parts
    if path != ROOT / "smpcore" / "readouts.py"
]


@cache
def constants(path):
    """Texts that stand in a file."""
    text = path.read_text("utf-8")
    if path.suffix == ".js":
        return re.findall(r"\"([^\"\n]*)\"", text)
    nodes = ast.walk(ast.parse(text))
    return [n.value for n in nodes if isinstance(n, ast.Constant)]


def named():
    """(where, key) of each read-out that is named by a constant."""
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            key = None
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                key = node.value.id in ("READOUTS", "MEANINGS") and node.slice
            elif isinstance(node, ast.Call) and path.name == "readouts.py":
                key = getattr(node.func, "id", "") == "_text" and node.args[0]
            if isinstance(key, ast.Constant):
                yield path.name, key.value
    for name in [*SIZES, *SCORES["classification"], *SCORES["regression"]]:
        yield "evaluation", name
    text = (ROOT / "assets/canvas/present.js").read_text("utf-8")
    for key in re.findall(r"\"(\w+)\"", re.search(r"MOVING = \[.*\]", text)[0]):
        yield "present.js", key
    for path in LESSONS:
        text = path.read_text("utf-8")
        for _, key in PLACEHOLDER.findall(text):
            yield path.name, key
        for shown in re.findall(r"\"(?:measure|show)\": (\"\w+\"|\[[^\]]*\])", text):
            for key in re.findall(r"\w+", shown):
                yield path.name, key


def test_every_key_that_is_named_is_one():
    found = [*named()]
    assert [(where, key) for where, key in found if key not in READOUTS] == []
    places = {where for where, _ in found}
    assert {"readouts.py", "present.js", "evaluation", LESSONS[0].name} <= places
    assert len(places) > 20 and len(found) > 150
    assert [*READOUTS] == [row.key for row in READOUTS.values()]


def test_lessons_can_ask_for_every_value_and_no_test_row():
    keys = [key for key, row in READOUTS.items() if row.value]
    assert keys and not [key for key in keys if key.startswith("test")]


@pytest.mark.parametrize("key", READOUTS)
def test_a_label_stands_in_one_place(key):
    label = READOUTS[key].label
    assert sum(row.label == label for row in READOUTS.values()) == 1
    words = label.lower() if re.search("[ -]", label) else label
    for path in PYTHON + CANVAS:
        texts = [one for one in constants(path) if isinstance(one, str)]
        if words != label:
            texts = [one.lower().removesuffix(" %") for one in texts]
        assert words not in texts or path.name in OTHERS.get(label, ()), path
