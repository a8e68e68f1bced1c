"""Every page in many states, line by line, as it was when somebody looked at it."""

import csv
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from pages.papers import experiments
from pages.work import classes
from pages.work.store import Store
from smpcore import load_dataset
from smpcore.papers import Place
from tests.app import (
    bring,
    brought,
    calibrated,
    kernels,
    opened,
    session_of,
    sound,
    swept,
    until,
)
from tests.shown import oracle
from tests.shown.looked_at import Watched, differs
from tests.smpcore.datasets.test_time_to_event import followed
from tests.test_lessons import lesson_with, read

pytestmark = pytest.mark.usefixtures(kernels.__name__)
LOOKS = Path(__file__).parent / "looks"


def settled(page):
    """What was begun has ended."""
    return until(page, lambda page: not page.get("progress"), seconds=120)


def new_rows(page):
    """New rows of Iris, one column by another name."""
    frame = load_dataset("iris").frame.iloc[::3]
    frame = frame.assign(**{frame.columns[0]: frame.iloc[:, 0] + 1e-3})
    frame = frame.rename(columns={frame.columns[1]: "width"})
    return settled(bring(page, frame.to_csv(index=False), "new.csv"))


def validation_rows(page):
    """Rows with the outcome that no data set has, and higher values than its rows."""
    frame = load_dataset("breast_cancer").frame.iloc[::2]
    frame = frame.assign(**{name: frame[name] * 1.05 for name in frame.columns[:-1]})
    return settled(bring(page, frame.to_csv(index=False), "new.csv"))


def unclean(page):
    """A table with lines above it, units, gaps and a word among numbers."""
    lines = ["Station 7;;", "", "when;height;state"]
    lines += [f"0{i}.03.2021;{i},5 cm;{'on' if i % 2 else 'off'}" for i in range(1, 10)]
    lines += ["10.03.2021;n/a;on", "11.03.2021;unknown;off", "sum;50;"]
    return settled(bring(page, "\n".join(lines), "station.csv"))


def _every_kind():
    """A lesson of each kind of step, with models that are alike on every processor."""
    smp = {"data": "circles", "d.n_samples": "60", "method": "smp"}
    imkpl = smp | {"data": "moons", "method": "imkpl"}
    fewer = {"measure": "n_nonzeros", "of": "ratio", "at_most": 0.9}
    choices = [{"text": "fewer", "when": [fewer]}, {"text": "as many"}]
    then, words = {"lam": "0.1"}, {"reveal": "So.", "expect": "3"}
    number = {"measure": "n_prototypes", "within": 1}
    questions = (
        ("a number", smp, {"number": number, "then": then}),
        ("a choice", smp, {"choices": choices, "then": then, "show": ["gap"]}),
        ("a place", imkpl, {"point": {"of": "after", "within": 0.25}}),
    )
    steps = [
        {"title": title, "text": "Look at $x_1$.", "state": state}
        | {"question": {"text": f"Answer {title}."} | words | asked}
        for title, state, asked in questions
    ]
    reach = [{"measure": "n_prototypes", "at_most": 5}]
    task = {"text": "Go.", "state": smp, "task": {"text": "Reach.", "reach": reach}}
    steps.append({"title": "a task", "free": ["lam"]} | task)
    return lesson_with() | {"steps": steps}


def kinds(page):
    """A lesson of each kind of step is among those of the browser."""
    visit = session_of(page)
    visit.lessons = {"kinds.json": json.dumps(_every_kind()).encode()}
    visit.editions["lesson_edited"] += 1
    return sound(page.run())


def taught(page, whose, at, stage):
    """A class of three, two of whom have answered a step, as one of its screens."""
    room = classes.start(read(_every_kind()), "")
    room.code, room.link_code = "CODE", "LINK"
    students = [room.join(f"browser {i}") for i in range(3)]
    answers = [(8.0, 6.0), (1, 0), ([0.5, 0.25], [-1.0, 0.5]), ()][int(at)]
    for moved in range(classes.FIRST_VOTE, int(stage) + 1):
        room.move(int(at), moved)
        for student, answer in zip(students, answers, strict=False):
            room.take(student, room.lesson, int(at), answer)
        answers = answers[1:]
    room.lead(not answers)
    if whose == "Wall":
        return opened({"wall": room.link_code}, "lessons.py")
    session_of(page).classroom = room
    return sound(page.run())


#: What a visitor does that is more than to press or to set one control.
_ACTS = settled, swept, calibrated, new_rows, validation_rows, unclean, kinds
DONE = {one.__name__: one for one in _ACTS}
_CONTROLS = (
    *("selectbox", "number_input", "multiselect", "toggle", "checkbox", "radio"),
    *("segmented_control", "text_input", "slider"),
)


def done(page, act: str):
    """The page after an act: "Press label", "Go page", "label=value", or of `DONE`."""
    if act in DONE:
        return DONE[act](page)
    if act.startswith("Press "):
        button = next(b for b in page.button if b.label == act.removeprefix("Press "))
        return settled(sound(button.click().run()))
    if act.startswith(("Teach ", "Wall ")):
        return taught(page, *act.split())
    if act.startswith("Go "):
        page = page.switch_page(f"pages/{act.removeprefix('Go ')}.py")
        return sound(page.run())
    label, value = act.split("=")
    control = next(
        one for kind in _CONTROLS for one in page.get(kind) if one.label == label
    )
    if control.type == "selectbox":
        at = next(i for i, one in enumerate(control.options) if one.startswith(value))
        return settled(sound(control.select_index(at).run()))
    before = control.value
    if isinstance(before, list) and control.type == "multiselect":
        return settled(sound(control.set_value(value.split("; ")).run()))
    if isinstance(before, bool):
        value = value == "on"
    elif control.type in ("number_input", "slider"):
        value = float(value) if "." in value else int(value)
    return settled(sound(control.set_value(value).run()))


class Look(NamedTuple):
    """A state of a page.

    Parameters
    ----------
    page : str
    query : str
        Of the address, as ``name=value`` with ``&`` between.
    section : str
    acts : tuple of str
        What is done there, as in `done`.
    table : str
        An own table of `oracle` in place of bundled data.
    """

    page: str
    query: str = ""
    section: str = ""
    acts: tuple[str, ...] = ()
    table: str = ""

    @property
    def name(self) -> str:
        """Of its file."""
        words = self.page, self.section, self.table, self.query, *self.acts
        return "-".join(re.findall(r"[\w.]+", " ".join(words).lower()))


#: Other tests leave calibrations and maps behind, of other splits.
OWN = {"seed": "917"}
# Two models are looked at with one prototype, and digits without an explanation: with
# more prototypes, or a map that another test may have laid out, lines differ.
with (Path(__file__).parent / "looks.csv").open(newline="", encoding="utf-8") as file:
    LOOKED_AT = [
        Look(page, query, section, tuple(acts), table)
        for page, query, section, table, *acts in list(csv.reader(file))[1:]
    ]


def visited(look: Look):
    query = dict(one.split("=") for one in look.query.split("&") if one)
    if look.page not in ("lessons", "papers", "guide"):
        query = OWN | query
    if look.table == "followed":
        query |= brought(followed())
    elif look.table:
        query |= brought(oracle.table(look.table))
    page = opened(query, f"{look.page}.py", look.section)
    for act in look.acts:
        page = done(page, act)
    return page


@pytest.mark.parametrize("look", LOOKED_AT, ids=lambda look: look.name)
def test_a_page_is_as_it_was_looked_at(look, monkeypatch, tmp_path):
    # What a walk has measured anew is no part of a look.
    monkeypatch.setattr(experiments, "place", lambda: Place(tmp_path))
    monkeypatch.setattr(classes, "_classes", Store())
    watched = Watched(monkeypatch)
    visited(look)
    lines, file = watched.lines(), LOOKS / f"{look.name}.txt"
    if os.environ.get("LOOKS") == "write":
        file.write_text("\n".join(lines) + "\n", "utf-8")
    before = file.read_text("utf-8").splitlines()
    other = [pair for pair in zip(lines, before, strict=False) if differs(*pair)]
    assert other[:3] == []
    assert len(lines) == len(before)


@pytest.mark.skipif("LOOKS" in os.environ, reason="they are being written")
def test_every_file_is_of_a_state():
    assert {path.stem for path in LOOKS.iterdir()} == {look.name for look in LOOKED_AT}
