"""A read-out is defined once; whoever shows one names it by its key."""

import ast
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from smpcore.evaluation.scores import Scores
from smpcore.live import of_part
from smpcore.readouts import READOUTS

ROOT = Path(__file__).parents[1]
CANVAS = [*ROOT.glob("assets/canvas/*.js")]
LESSONS = [*ROOT.glob("assets/lessons/[01]*.json")]
#: What has the name of a read-out and is none: a page, lists, a sentence, a button, a
#: letter of formulas, and whether a single case is far from all data.
OTHERS = {
    "Prototypes": {"navigation.py", "prototypes.py", "stability.py", "hand.js"}
    | {"prototypes.js", "report.js", "document.py"},
    "Start": {"lessons.py"},
    "κ": {"formula.js"},
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


@pytest.mark.parametrize(
    ("hits", "ends"),
    [
        *(((539, 539), "99.6–100.0"), ((29, 30), "93.9–100.0")),
        ((50_000, 50_000), "99.9962–100"),
    ],
)
def test_an_interval_is_never_from_100_to_100(hits, ends):
    scores = Scores(np.diag(hits), np.arange(2))
    notes = SimpleNamespace(weight_note="", cluster_note="")
    assert f"interval {ends} %" in of_part("test", scores, notes)[0]["detail"]
