"""Lesson files: read from the app's folder, an operator's folder or an upload.

A file may come from anywhere: every value is checked, and nothing in it is ever run.
"""

from __future__ import annotations

import functools
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from pages.state import links, state_file
from pages.state.state_file import Points
from pages.work import json_files, server_files
from smpcore import METHODS, Dataset, SmpcoreError
from smpcore.datasets import Split, list_names, plain_number
from smpcore.live import BUNDLED, MINE, Choice, Record, setting_text
from smpcore.readouts import READOUTS

FORMAT = "sparse-prototype-explorer-lesson-1"
MOST_BYTES = 1_000_000
#: Lessons of an operator that are listed at most.
MOST_FILES = 100
#: What the lists of a lesson call the tools that draw, and a question a mark.
POINTS, PLACE = "points", "place"
log = logging.getLogger(__name__)
#: The first of the lessons, a minute long; Explore offers it.
TOUR = "00-tour.json"
HOME = Path(__file__).parents[2] / "assets" / "lessons"
#: Where a text shows a read-out.
PLACEHOLDER = re.compile(r"\{(before|after|change)\.(\w+)\}")

#: Read-outs of models, and what older files call some of them.
_MEASURED = {key for key, row in READOUTS.items() if row.value}
_OLDER = {
    **{"prototypes": "n_prototypes", "weights": "n_nonzeros", "columns": "n_features"},
    "support_vectors": "n_support_vectors",
}
#: Where a lesson names read-outs; a quote inside of a text has a backslash before it.
_NAMED = re.compile(
    r"\"(measure|show)\"\s*:\s*(\"\w+\"|\[[^][]{,500}\])|" + PLACEHOLDER.pattern
)
#: By name, before and after an answer, and their change.
Readouts = Mapping[str, Mapping[str, float]]
_Line = Annotated[str, Meta(min_length=1, max_length=100)]
_Text = Annotated[str, Meta(min_length=1, max_length=2000)]
_State = dict[str, str]
_Measure = Literal[tuple(sorted(_MEASURED))]
_Bound = Annotated[float, Meta(ge=-1e9, le=1e9)]


class _Condition(Record):
    """Holds if the read-out, less another one, is between both.

    "change" is after - before, and "ratio" after / before.
    """

    measure: _Measure
    minus: _Measure | None = None
    of: Literal["before", "after", "change", "ratio"] = "after"
    at_least: _Bound | None = None
    at_most: _Bound | None = None

    def __post_init__(self) -> None:
        limits = [one for one in (self.at_least, self.at_most) if one is not None]
        if not limits:
            raise ValueError("a condition should have at_least or at_most")
        low, high = READOUTS[self.measure].limits(self.of)
        low = -high if self.minus else low
        if min(limits) < low or max(limits) > high:
            raise ValueError(
                f"at_least and at_most of {self.measure} should be from "
                f"{plain_number(low)} to {plain_number(high)}"
            )

    def value(self, readouts: Readouts) -> float:
        """The number that is compared; NaN where there is none."""

        def value_of(name: str) -> float:
            if self.of != "ratio":
                return readouts[self.of][name]
            before, after = (readouts[one][name] for one in ("before", "after"))
            return after / before if before else np.nan

        other = value_of(self.minus) if self.minus else 0.0
        return value_of(self.measure) - other

    def holds(self, readouts: Readouts) -> bool:
        """Whether the read-out is between both; shares have rounding errors."""
        low = -np.inf if self.at_least is None else self.at_least
        high = np.inf if self.at_most is None else self.at_most
        return low - 1e-9 <= self.value(readouts) <= high + 1e-9


_Conditions = Annotated[list[_Condition], Meta(min_length=1, max_length=10)]


class _Task(Record):
    text: _Text
    reach: _Conditions

    def __post_init__(self) -> None:
        if any(one.of != "after" for one in self.reach):
            raise ValueError("a task should be of the model as it is: of “after”")


class _Number(Record):
    measure: _Measure
    of: Literal["before", "after", "change"] = "after"
    within: Annotated[float, Meta(ge=0, le=1e9)] = 0.0


class _Point(Record):
    """A place of a prototype after the answer, or of the one that moved farthest."""

    within: Annotated[float, Meta(gt=0, le=1e9)]
    of: Literal["after", "change"] = "after"


class _Choice(Record):
    text: _Line
    when: _Conditions | None = None

    def is_right(self, readouts: Readouts) -> bool:
        """Whether all of its conditions hold; without any it is never right."""
        return bool(self.when) and all(one.holds(readouts) for one in self.when)


class Question(Record):
    """Asks for one of three: a number, a choice, or a place in the figure."""

    text: _Text
    reveal: _Text
    #: What answers its writer expects: for the teacher's sheet alone.
    expect: _Text | None = None
    number: _Number | None = None
    choices: Annotated[list[_Choice], Meta(min_length=2, max_length=8)] | None = None
    point: _Point | None = None
    #: What the answer changes; without it the settings stay.
    then: _State | None = None
    show: Annotated[list[_Measure], Meta(min_length=1, max_length=5)] | None = None

    def __post_init__(self) -> None:
        if (self.number, self.choices, self.point).count(None) != 2:
            raise ValueError("a question should have a number, choices or a point")

    @property
    def asks(self) -> dict[str, set[str]]:
        """What it asks of the models before and after its answer."""
        if self.point:
            return {"after": {PLACE}}
        when = [one for choice in self.choices or () for one in choice.when or ()]
        asks: dict[str, set[str]] = {}
        for one in [self.number] if self.number else when:
            moment = "before" if one.of == "before" else "after"
            measures = {one.measure, getattr(one, "minus", None)} - {None}
            asks.setdefault(moment, set()).update(measures)
        return asks


class Claim(Record):
    """A sentence that compares or quantifies, and what it says of read-outs.

    They are of the models before and after the step's answer, or after `then`.
    """

    sentence: _Text
    when: _Conditions
    then: _State | None = None


class Step(Record):
    """A text, and a task or a question perhaps."""

    title: _Line
    text: _Text
    state: _State | None = None
    points: Points | None = None
    #: Controls that can be changed; without this list all can be.
    free: list[str] | None = None
    task: _Task | None = None
    question: Question | None = None
    #: What holds for other rows, too: `tests.bench.lesson_claims` counts how often.
    claims: Annotated[list[Claim], Meta(max_length=20)] | None = None

    def __post_init__(self) -> None:
        if self.task and self.question:
            raise ValueError("a step should have a task or a question, not both")

    @property
    def asked(self) -> str:
        """The text of its question or task; empty if it has none."""
        return getattr(self.question or self.task, "text", "")


class Lesson(Record):
    """A lesson, as a file has it.

    Its texts are text: formulas between $ signs are set, and in a step's text, what it
    asks and its reveal the placeholders of `PLACEHOLDER` are filled in.
    """

    format: Literal[FORMAT]
    title: _Line
    minutes: Annotated[int, Meta(ge=1, le=240)]
    aim: _Text
    steps: Annotated[list[Step], Meta(min_length=1, max_length=30)]
    #: A line for the list of lessons.
    story: Annotated[str, Meta(max_length=100)] = ""


def read(data: bytes) -> Lesson:
    """Read a lesson file from anywhere."""
    lesson = json_files.decode(_with_keys(data), Lesson, "lesson file", MOST_BYTES)
    for number, step in enumerate(lesson.steps, 1):
        _check_step(step, f"lesson file's step {number}")
        texts = [lesson.story, lesson.aim, step.text]
        texts += [step.question.reveal] if step.question else []
        for claim in step.claims or ():
            if not any(claim.sentence in text for text in texts):
                where = f"lesson file's step {number}"
                json_files.refuse(
                    where, f"claims what it does not say: {claim.sentence[:40]}"
                )
    return lesson


def _with_keys(data: bytes) -> bytes:
    """A lesson with the keys of read-outs in place of older names of them."""

    def renamed(place: re.Match[str]) -> str:
        return re.sub(r"\w+", lambda word: _OLDER.get(word[0], word[0]), place[0])

    text = data.decode("utf-8", "surrogateescape")
    return _NAMED.sub(renamed, text).encode("utf-8", "surrogateescape")


def _check_step(step: Step, place: str) -> None:
    """Refuse a step whose states, controls or placeholders are not here."""
    then = (step.question and step.question.then) or {}
    if points_of(step, place) and "data" in {**(step.state or {}), **then}:
        json_files.refuse(place, "has points and names data; remove one of them")
    for moment in {}, then:
        state_of(step, place, moment)
    if unknown := sorted(set(step.free or ()) - _controls()):
        names = list_names(unknown, longest=40)
        json_files.refuse(place, f"frees controls that are not here: {names}")
    texts = step.text, step.asked, step.question.reveal if step.question else ""
    for claim in step.claims or ():
        state_of(step, place, then | (claim.then or {}))
    for moment, name in PLACEHOLDER.findall("\n".join(texts)):
        if name not in _MEASURED or (moment != "before" and step.question is None):
            shown = f"{moment}.{name}"[:60]
            json_files.refuse(place, f"shows a read-out that is not here: {shown}")


@functools.cache
def _controls() -> set[str]:
    """Names of all controls that there are, or were."""
    names = {"data", "method", "open_test", "within", POINTS}
    names |= {"v.kind", "v.first", "v.second"}
    for method in METHODS.values():
        params = (p for task in method.estimators for p in method.controls(task))
        names |= {param.name for param in params} | {*method.removed}
    return names | {f"d.{p.name}" for info in BUNDLED.values() for p in info.params}


def state_of(
    step: Step, name: str, then: Mapping[str, str] | None = None, **tables: Any
) -> tuple[Choice, list[str]]:
    """The choice that a step begins with, and what is no longer there, in sentences.

    That of a drawing names it once the visitor has it among the `tables`.
    """
    query = {**(step.state or {}), **(then or {})}
    if of_visit := query.keys() & {"mine", "opened", "open"}:
        json_files.refuse(name, f"sets {min(of_visit)}, which each visitor has anew")
    drawing = points_of(step, name)
    tables |= {"data": MINE} if drawing else {}
    return links.read_all(query, name, drawing, **tables)


def settings_of(step: Step, name: str, moment: str) -> dict[str, Any]:
    """What decides the model of a step before or after its answer, by control."""
    then = step.question.then if moment == "after" and step.question else None
    choice, _ = state_of(step, name, then)
    if step.points:  # the drawing is nobody's yet
        choice = replace(choice, data=Choice.data)
    data = BUNDLED[choice.data].params if choice.data in BUNDLED else ()
    settings = {f"d.{param.name}": setting_text(param.start) for param in data}
    settings |= links.write_url(choice)
    shown = {n: text for n, text in settings.items() if not n.startswith("v.")}
    return shown | {POINTS: step.points}


#: Files do not change while they are here: each content is read once.
_read_once = functools.lru_cache(200)(read)


def listed() -> dict[str, Lesson | str]:
    """Lessons that ship and the operator's, by file name; or what is wrong with one.

    The operator's are the files of the folder ``SPE_LESSONS``. They are only read, and
    links that lead out of the folder are left out.
    """
    lessons: dict[str, Lesson | str] = {}
    for folder in (str(HOME), os.environ.get("SPE_LESSONS", "")):
        paths = [p for p in server_files.files_in(folder) if p.suffix == ".json"]
        for path in paths[:MOST_FILES]:
            try:
                if path.stat().st_size > MOST_BYTES:
                    json_files.refuse("lesson file", "should have at most 1 MB")
                lessons[path.name] = _read_once(path.read_bytes())
            except SmpcoreError as problem:
                lessons[path.name] = str(problem)
            except OSError:
                lessons[path.name] = "It cannot be opened; contact the operator."
            except Exception:  # one file, whatever is in it, keeps no lesson away
                log.exception("the lesson file %s cannot be read", path)
                lessons[path.name] = "It cannot be read; contact the operator."
    return lessons


def points_of(step: Step, name: str = "lesson") -> tuple[Dataset, Split] | None:
    """The drawing of a step, as a table with its parts; None if it has none."""
    return step.points and state_file.read_points(step.points, name)
