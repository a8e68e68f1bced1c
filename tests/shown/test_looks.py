"""Every page in many states, line by line, as it was when somebody looked at it."""

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
OWN, CALIBRATED = {"seed": "917"}, "&seed=918"
_FEATURES = "Features in place of samples=mean; band 4"
_SHEET = "Press Download the sheet of 1 row"
_PRINT = "A lesson to print, or as a file=Mine"
LOOKED_AT = [
    *(
        Look("explore", f"data={data}&method={key}")
        for data, key in (
            *(("moons&d.n_samples=60", "imkpl"), ("iris", "smp"), ("digits", "smp")),
            *(("breast_cancer", "smallk"), ("wine", "mprotsvm"), ("series", "smallk")),
            *(("sine", "supersparse"), ("words", "supersparse")),
            # One prototype: more of them are not the same on every processor.
            ("diabetes&n_prototypes=1", "supersparse"),
        )
    ),
    Look("explore", "method=smp", table="clinic"),
    Look("explore", "data=breast_cancer&method=smp", acts=("Press Pin as A",)),
    *(
        Look("data", f"data={name}")
        for name in ("moons", "digits", "series", "words", "similarities", "diabetes")
    ),
    Look("data", table="clinic"),
    Look("data", table="followed"),
    *(
        Look("prototypes", f"data={data}&method={method}", section)
        for section in ("All", "One by one", "Rule in words", "Why this prediction")
        for data, method in (
            *(
                ("breast_cancer", "smp"),
                ("iris", "smallk"),
                ("diabetes&n_prototypes=1", "supersparse"),
            ),
            *(("digits", "mprotsvm"), ("iris", "imkpl")),
        )
        # A map of digits may have been laid out by another test, or not.
        if data != "digits" or section in ("All", "One by one")
    ),
    Look("prototypes", "data=similarities&method=imkpl", "All"),
    Look("prototypes", "data=series&method=smp", "One by one"),
    Look("prototypes", "data=words&method=supersparse", "Why this prediction"),
    Look("prototypes", "data=wine&method=mprotsvm", "Why this prediction"),
    Look("prototypes", "method=smp", "Why this prediction", table="clinic"),
    Look("prototypes", "method=smallk", "Rule in words", table="clinic"),
    *(
        Look("prototypes", "data=iris&method=smp", section)
        for section in ("Stability", "Report")
    ),
    *(
        Look("performance", query + (CALIBRATED if acts else ""), section, acts)
        for query, sections in {
            "data=breast_cancer&method=smp": {
                "Confusion": (),
                "Threshold": (),
                "Probabilities": ("calibrated",),
                "Subgroups": (),
            },
            "data=iris&method=mprotsvm": {
                "Confusion": (),
                "Probabilities": ("calibrated",),
                "Subgroups": (),
            },
            "data=diabetes&method=supersparse&n_prototypes=1": {
                "Errors": (),
                "Intervals": ("calibrated",),
                "Subgroups": (),
            },
        }.items()
        for section, acts in sections.items()
    ),
    *(
        Look("performance", "method=smp", section, table="clinic")
        for section in ("Confusion", "Threshold", "Subgroups")
    ),
    Look("compare", "data=moons&method=smp", acts=("settled",)),
    Look(
        "compare", "data=diabetes&method=supersparse&n_prototypes=1", acts=("settled",)
    ),
    Look("tradeoff", "data=iris&method=smp", acts=("swept",)),
    Look(
        "tradeoff", "data=diabetes&method=supersparse&n_prototypes=1", acts=("swept",)
    ),
    Look("apply", "data=iris&method=smp"),
    Look("apply", "data=iris&method=smp", acts=("new_rows",)),
    Look(
        "apply",
        "data=breast_cancer&method=smp&seed=921",
        acts=(
            *("validation_rows", "calibrated"),
            "Probabilities in the table and the downloads=intercept",
        ),
    ),
    *(
        Look("export", f"data={data}&method={key}")
        for data, key in (
            *(
                ("breast_cancer", "smp"),
                ("iris", "imkpl"),
                ("diabetes&n_prototypes=1", "supersparse"),
            ),
            *(("series", "smallk"), ("words", "supersparse")),
        )
    ),
    Look("export", "method=smp", table="clinic"),
    Look("lessons"),
    Look("papers"),
    Look("guide"),
    # What a visitor does there.
    *(
        Look("performance", "data=breast_cancer&method=smp&seed=919", "Threshold", acts)
        for acts in (
            ("Choose the threshold by=target sensitivity",),
            ("Choose the threshold by=cost ratio",),
            ("Maximum error rate, %=1.0",),
        )
    ),
    *(
        Look("performance", "data=breast_cancer&method=smp", section, (act,))
        for section, act in (
            ("Threshold", "Outcome=benign"),
            ("Confusion", "Prevalence, %=10.0"),
            ("Subgroups", "Column=mean radius"),
        )
    ),
    Look(
        "performance",
        "data=iris&method=mprotsvm",
        "Confusion",
        ("Classes=setosa",),
    ),
    Look("performance", "method=smp", "Subgroups", ("Column=Alter",), "clinic"),
    Look(
        "prototypes",
        "data=breast_cancer&method=smallk&k=2",
        "Alternatives",
        ("Press Find alternatives",),
    ),
    Look("prototypes", "data=iris&method=smp", "Stability", ("Press Refit",)),
    Look("prototypes", "data=iris&method=smp&n_prototypes=1", "Score"),
    Look("prototypes", "method=smp", "Score", ("Press Find the score",), "clinic"),
    Look(
        "prototypes", "data=breast_cancer&method=smp", "Why this prediction", ("Row=3",)
    ),
    Look(
        "prototypes",
        "data=diabetes&method=supersparse&n_prototypes=1",
        "Why this prediction",
        ("Move the prediction of target by=20.0",),
    ),
    Look(
        "prototypes", "data=iris&method=imkpl", "One by one", ("Prototype=Prototype 2",)
    ),
    Look(
        "export",
        "data=series&method=smallk",
        acts=("Stream: samples between answers=1",),
    ),
    *(
        Look("export", "data=breast_cancer&method=smp", acts=(act,))
        for act in ("Number format=int8", "Costs on=ATmega328P", "Costs on=Cortex-M4F")
    ),
    Look(
        "data",
        acts=("Time to event: ask whether an event comes within a time=on",),
        table="followed",
    ),
    Look("data", "data=moons", acts=("x axis=x2",)),
    Look("data", "data=moons", acts=("unclean",)),
    Look("compare", "data=moons&method=smp", acts=("settled", "Baselines=")),
    Look("lessons", acts=("Press Start",)),
    Look(
        "apply",
        "data=iris&method=smp",
        acts=("new_rows", r"Column sepal width \(cm\)=width"),
    ),
    *(
        Look("data", "data=moons", acts=("unclean", f"Press {label}"))
        for label in (
            *("Read as numbers", "Leave out 1 row at the end", r"Split by time\: when"),
        )
    ),
    *(
        Look("data", "data=series", acts=(_FEATURES, *more))
        for more in ((), ("Go explore",), ("Go export", "settled"), ("Go prototypes",))
    ),
    *(
        Look("papers", f"p.papers_paper={key}")
        for key in ("mprotsvm", "supersparse", "smallk", "imkpl", "all")
    ),
    Look("lessons", acts=("Press Start", "Go explore")),
    Look(
        "performance",
        "data=breast_cancer&method=smp&seed=920",
        "Threshold",
        ("Maximum error rate, %=1.0", "Press Use on every page"),
    ),
    # Files that are saved.
    *(
        Look("prototypes", query, "Report", ("Press Download the report",), table)
        for query, table in (
            *(("data=iris&method=smp", ""), ("data=breast_cancer&method=smallk", "")),
            ("data=diabetes&method=supersparse&n_prototypes=1", ""),
            *(("data=iris&method=imkpl", ""), ("method=smp", "clinic")),
        )
    ),
    *(
        Look("prototypes", query, "Why this prediction", (_SHEET,), table)
        for query, table in (
            *(("data=breast_cancer&method=smp", ""), ("method=smp", "clinic")),
            ("data=diabetes&method=supersparse&n_prototypes=1", ""),
        )
    ),
    Look(
        "performance",
        "data=iris&method=mprotsvm",
        "Subgroups",
        ("Press Download all measures as CSV",),
    ),
    Look("lessons", acts=("Press Download the sheet",)),
    # A lesson is written, printed and given.
    *(
        Look("lessons", acts=("kinds", "Press Edit", *more))
        for more in (
            *((), ("The step has=choices",), ("The step has=point",)),
            ("The step has=task",),
        )
    ),
    *(
        Look("lessons", acts=("kinds", _PRINT, *more, "Press Download the sheet"))
        for more in ((), ("For=Solutions",))
    ),
    *(
        Look("lessons", acts=(f"{whose} {at} {stage}",))
        for whose, at, stage in (
            *(("Teach", 0, 2), ("Teach", 1, 3), ("Teach", 2, 3), ("Teach", 3, 3)),
            *(("Wall", 0, 1), ("Wall", 1, 2), ("Wall", 2, 3), ("Wall", 3, 3)),
        )
    ),
    Look("lessons", acts=("Teach 1 3", "Press Summary to print")),
    Look("lessons", acts=("Teach 1 2", "Show votes here=on")),
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
