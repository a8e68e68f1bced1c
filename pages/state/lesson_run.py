"""The lesson that a visitor takes: its step, what it locks, what was answered."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pages.state import lesson_files, session, table_store
from pages.state.host import resolve
from pages.state.lesson_files import PLACEHOLDER, Lesson, Question, Readouts, Step
from pages.state.session import Live
from pages.work import classes, visitors
from pages.work.classes import Classroom, Student
from pages.work.fits import Fitted, measured
from smpcore import SmpcoreError
from smpcore.live import BUNDLED, Choice, Context
from smpcore.readouts import READOUTS


def filled(
    text: str,
    readouts: Readouts,
    is_shown: bool = True,
    hidden: Mapping[str, Collection[str]] | None = None,
) -> str:
    """A text with read-outs in place of its placeholders.

    Before the answer is shown, placeholders of what it leads to stay as they are; what
    of a moment is hidden has no number until a later question is answered.
    """

    def value(match: re.Match[str]) -> str:
        moment, name = match.groups()
        if moment != "before" and not is_shown:
            return match[0]
        if hidden and name in hidden[moment]:
            return "(asked later)"
        if moment == "change":
            row = READOUTS[name]
            return row.change(readouts["before"][name], readouts["after"][name])
        return READOUTS[name].text(readouts[moment][name])

    return PLACEHOLDER.sub(value, text)


def places(question: Question, before: Any, after: Any) -> list[list[float]]:
    """Where the prototypes are that a question about a place asks for."""
    old, new = before.prototypes, after.prototypes
    if after.kind_of_prototype == "direction" or new.shape[1] != 2:
        return []
    if question.point.of == "change":
        far = np.linalg.norm(new[:, None] - old[None], axis=2).min(axis=1)
        new = new[[int(far.argmax())]]
    return new.tolist()


def nearest(mark: list[float], prototypes: list[list[float]]) -> float:
    """Distance of a mark to the nearest place; infinite if there is none."""
    away = np.array(prototypes or [[np.inf, np.inf]]) - np.array(mark)
    return float(np.hypot(*away.T).min())


#: Read-outs that are shown before and after, where a question names none.
USUAL = ("validation_accuracy", "n_prototypes", "n_nonzeros")


@dataclass
class Run:
    """A lesson on its way.

    Parameters
    ----------
    home : Choice
        What was chosen before the lesson.
    answers, second, tokens, values, places, settings : dict
        Step -> the visitor's answer (a number, or the place of a choice); that of the
        class's second vote; the table of its drawing; its read-outs, as the drawing may
        change; the places asked for; with its moment, what decides its model.
    name : str
        Of the lesson's file, if it is one that everybody finds on the server.
    mark : [x, y] or None
        The place in the figure that the visitor has marked for an open question.
    refused : str
        The field whose answer cannot be.
    turns, changes : int
        How many moves of the class it has followed, and changes that it has seen.
    is_trial : bool
        Whether its writer tries it, and goes back to the editor.
    is_wall : bool
        Whether it is shown to the whole class, and nobody acts there.
    is_teacher : bool
        Whether it is its teacher's, whose figure the class may follow.
    follows : bool
        Whether the student has not broken away from the teacher's figure.
    consented : tuple of str
        The table of the teacher's own that the class may see.
    """

    lesson: Lesson
    home: Choice
    at: int = 0
    answers: dict[int, Any] = field(default_factory=dict)
    second: dict[int, Any] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    tokens: dict[int, str] = field(default_factory=dict)
    values: dict[int, dict[str, dict[str, float]]] = field(default_factory=dict)
    student: Student | None = None
    name: str = ""
    mark: list[float] | None = None
    refused: str = ""
    turns: int = 0
    changes: int = 0
    is_trial: bool = False
    is_wall: bool = False
    is_teacher: bool = False
    follows: bool = True
    consented: tuple[str, str] | None = None
    settings: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    places: dict[int, list[list[float]]] = field(default_factory=dict)

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return self.lesson.steps[self.at]

    @property
    def question(self) -> Question | None:
        """The question of the step."""
        return self.step.question

    @property
    def answer(self) -> Any:
        """The visitor's last answer to the question; None if there is none."""
        return self.second.get(self.at, self.answers.get(self.at))

    @property
    def stage(self) -> int:
        """How far the question is: by an answer alone, by the teacher in a class."""
        return self._stage_of(self.at)

    @property
    def _room(self) -> Classroom | None:
        """The class that holds it together with others."""
        room = self.student.classroom if self.student else None
        is_held = room and room.is_held and not room.has_ended
        return room if is_held and room.lesson is self.lesson else None

    @property
    def seconds_left(self) -> float | None:
        """Until the class's vote on this step closes; None if it has no timer."""
        room = self._room
        return room.seconds_left if room and room.at == self.at else None

    @property
    def led_by(self) -> Classroom | None:
        """The class at this very step whose teacher's figure the figure follows.

        That on the wall follows always: the answer to a question moves there.
        """
        room = self._room
        is_here = room and room.at == self.at and not self.is_teacher
        return room if is_here and (self.is_wall or room.is_led) else None

    @property
    def leads(self) -> Classroom | None:
        """The class that sees what this figure shows: its teacher's, at its step."""
        room = self._room
        is_here = room and room.turns == self.turns and room.at == self.at
        return room if is_here and self.is_teacher and room.is_led else None

    def is_private(self, choice: Choice) -> bool:
        """Whether it is of a table that neither the lesson nor the app has."""
        return choice.data not in BUNDLED and choice.token not in self.tokens.values()

    def _stage_of(self, at: int) -> int:
        if room := self._room:
            return room.stage(at)
        return classes.SHOWN if at in self.answers else classes.FIRST_VOTE

    @property
    def is_open_question(self) -> bool:
        """Whether the step has a question whose answer is not shown yet."""
        return self.question is not None and self.stage < classes.SHOWN

    @property
    def is_answered(self) -> bool:
        """Whether the visitor has voted at this stage of the question."""
        votes = {classes.FIRST_VOTE: self.answers, classes.SECOND_VOTE: self.second}
        return self.at in votes.get(self.stage, {})

    @property
    def asks_place(self) -> bool:
        """Whether the question of the step asks for a place in the figure."""
        return self.question is not None and self.question.point is not None

    @property
    def asks_count(self) -> bool:
        """Whether the question asks for a whole number."""
        number = self.question.number if self.question else None
        return number is not None and READOUTS[number.measure].unit == "count"

    def limits(self) -> tuple[float, float]:
        """Between which numbers the answer is: no model has more than it may have."""
        number = self.question.number
        row = READOUTS[number.measure]
        if row.most is None:
            return row.limits(number.of)
        both = ("before", "after") if number.of == "change" else (number.of,)
        return row.limits(number.of, max(map(self._most, both)))

    def _most(self, moment: str) -> float:
        number, context = self.question.number, resolve(self.choice_of(moment))
        estimator = context.fit().finished()
        return READOUTS[number.measure].most(Fitted(*context.request, estimator))

    @property
    def link(self) -> dict[str, str]:
        """Parameters of a link to the class, or to this step of a listed lesson."""
        if self.student and not self.student.classroom.has_ended:
            name = "wall" if self.is_wall else "class"
            return {name: self.student.classroom.link_code}
        return {"lesson": self.name, "step": str(self.at + 1)} if self.name else {}

    @property
    def next_lesson(self) -> tuple[str, Lesson] | None:
        """File and content of what follows this one on the server, alone."""
        names = iter(listed := lesson_files.listed())
        following = next(names, "") if self.name in names and not self.student else ""
        lesson = listed.get(following)
        return (following, lesson) if isinstance(lesson, Lesson) else None

    def locks(self, name: str) -> bool:
        """Whether a control stands still; all but the view's, while a question is
        open.
        """
        if name.startswith("v."):
            return False
        return self.is_open_question or not self.shows(name) or self._spoils(name)

    def shows(self, name: str) -> bool:
        """Whether a control is there: a step that frees some has no others."""
        free = self.step.free
        return free is None or name in free or name.startswith("v.")

    def _later(self, moment: str) -> list[tuple[set[str], set[str]]]:
        """What coming questions ask, and by which settings their models differ.

        They differ from the step's model of a moment; a step without a question, whose
        controls are there to be moved, leaves nothing to be asked later.
        """
        coming = range(self.at + 1, len(self.lesson.steps)) if self.question else ()
        here, later = self._settings(self.at, moment), []
        for at in coming:
            question = self.lesson.steps[at].question
            if question is None or self._stage_of(at) >= classes.SHOWN:
                continue
            for when, asked in question.asks.items():
                there = self._settings(at, when)
                names = here.keys() | there.keys()
                differing = {n for n in names if here.get(n) != there.get(n)}
                later.append((asked, differing))
        return later

    def _settings(self, at: int, moment: str) -> dict[str, Any]:
        if (at, moment) not in self.settings:
            settings = lesson_files.settings_of(
                self.lesson.steps[at], f"step {at + 1}", moment
            )
            self.settings[at, moment] = settings
        return self.settings[at, moment]

    def asked_later(self, moment: str) -> set[str]:
        """What coming questions ask of the step's very model that the figure shows."""
        asked = (what for what, differing in self._later(moment) if not differing)
        return {
            one
            for one in set().union(*asked)
            if one == lesson_files.PLACE or not READOUTS[one].is_slow
        }

    @property
    def hidden(self) -> dict[str, set[str]]:
        """What coming questions ask of the models before and after the answer."""
        before, after = self.asked_later("before"), self.asked_later("after")
        return {"before": before, "after": after, "change": before | after}

    def _spoils(self, name: str) -> bool:
        """Whether a control that is there leads to what a coming question asks."""
        return any(
            name in {*differing, "*"} and all(map(self.shows, differing))
            for _, differing in self._later(self.moment)
        )

    @property
    def moment(self) -> str:
        """Which of the step's models is shown; one that is asked later is not."""
        is_hidden = self.is_open_question or self.asked_later("after")
        return "before" if is_hidden else "after"

    @property
    def hides_numbers(self) -> bool:
        """Whether numbers and test rows are hidden until a question is answered."""
        return self.is_open_question or bool(self.asked_later(self.moment))

    def choice_of(self, moment: str) -> Choice:
        """The choice that the step begins with, or that its answer leads to."""
        return self.state_of(moment)[0]

    def state_of(self, moment: str) -> tuple[Choice, list[str]]:
        """The same, and which of its settings are no longer there, in sentences."""
        asked = self.question if moment == "after" else None
        then = asked and asked.then
        tables = table_store.with_first(session.get().choice, self._token())
        return lesson_files.state_of(self.step, f"step {self.at + 1}", then, **tables)

    def _token(self) -> str:
        """Of the table with the step's drawing, made when it is needed."""
        token = self.tokens.get(self.at, "")
        if drawing := lesson_files.points_of(self.step):
            token = self.tokens[self.at] = table_store.keep(*drawing, token)
        return token

    def forget_drawings(self) -> None:
        """Delete the tables of its steps."""
        for token in self.tokens.values():
            table_store.delete(token)
        self.tokens.clear()

    def readouts(self) -> dict[str, dict[str, float]]:
        """Read-outs before and after the answer, and their change, of real fits."""
        if self.at not in self.values:
            values, models = {}, []
            for moment in ("before", "after"):
                context = resolve(self.choice_of(moment))
                estimator = context.fit().finished()
                models.append(estimator.model_)
                values[moment] = self.measured(context, estimator)
            if self.asks_place:
                self.places[self.at] = places(self.question, *models)
            after, before = values["after"], values["before"]
            values["change"] = {name: after[name] - before[name] for name in after}
            self.values[self.at] = values
        return self.values[self.at]

    def texts(self) -> list[str]:
        """Text of the step, and what it asks, as far as they may be read."""
        is_shown = self.question is not None and not self.is_open_question
        texts = self.step.text, self.step.asked
        quotes = is_shown or any("{before." in text for text in texts)
        values = self.readouts() if quotes else {}
        return [filled(text, values, is_shown, self.hidden) for text in texts]

    def compared(self) -> Iterator[tuple[str, str, str, str]]:
        """Read-outs of the reveal: name, label, value, and change from before."""
        if self.question.then is None:
            return
        values, later = self.readouts(), self.hidden["change"]
        for name in self.question.show or USUAL:
            if name in later:
                continue
            row = READOUTS[name]
            before, after = values["before"][name], values["after"][name]
            change = f"{row.change(before, after)} from {row.text(before)}"
            yield name, row.label, row.text(after), change

    def measured(self, context: Context, estimator: Any) -> dict[str, float]:
        """Read-outs of a fit, among them all that the step names."""
        return measured(Fitted(*context.request, estimator), str(self.step))

    def right(self, values: Readouts) -> Any:
        """What the question asks for: a number, or lists of choices or of places."""
        number, choices = self.question.number, self.question.choices
        if self.asks_place:
            return self.places[self.at]
        if number:
            return values[number.of][number.measure]
        return [i for i, one in enumerate(choices) if one.is_right(values)]

    def true_words(self, values: Readouts) -> str:
        """What is measured, in words; of a place there are none."""
        question, right = self.question, self.right(values)
        if question.number:
            return READOUTS[question.number.measure].text(right)
        texts = [one.text for one in question.choices or ()]
        return "; ".join(texts[i] for i in right if texts) or "none of these"

    def is_right(self, values: Readouts) -> bool:
        """Whether the visitor's answer agrees with the read-outs."""
        answer, question, right = self.answer, self.question, self.right(values)
        if answer is None:
            return False
        if self.asks_place:
            return nearest(answer, right) <= question.point.within
        if question.choices:
            return answer in right
        return bool(abs(answer - right) <= question.number.within + 1e-9)


def _mark(run: Run) -> dict[str, Any]:
    """The visitor's mark, and after the answer the places that were asked for."""
    if run.is_open_question:
        return {"open": True, "at": run.mark, "found": []}
    with suppress(SmpcoreError):  # the page shows why a fit has no result
        run.readouts()
    places = run.places.get(run.at, [])
    return {"open": False, "at": run.answer, "found": places}


#: In place of what the strip draws of a model while a question is open.
_NO_STRIP = {"nonzeros": 0}


def redact(run: Run, header: dict[str, Any], knots_of: str | None) -> dict[str, Any]:
    """An answer of the figure without what is hidden until a question is answered."""
    if "controls" in header:
        rows = [row for row in header["controls"] if run.shows(row["name"])]
        rows = [r | {"locked": True} if run.locks(r["name"]) else r for r in rows]
        header = header | {"controls": rows}
    path = header.get("path")
    if path and run.locks(path["param"]):  # its strip would scrub a locked control
        header = header | {"path": None}
    if header.get("knots") and run.locks(knots_of):
        header = header | {"knots": []}
    if "picture" in header and run.asks_place:
        header = header | {"mark": _mark(run)}
    if "headline" in header:  # a lesson has its own words
        header = header | {"headline": ""}
    if not run.hides_numbers:
        return header
    if "trace" in header:  # its curves and sentences are full of numbers
        header = header | {"trace": None, "steps": [], "job": None, "printed": None}
    if "picture" in header:
        header = header | {"picture": _without_numbers(header["picture"])}
    return header


def _without_numbers(picture: dict[str, Any]) -> dict[str, Any]:
    return picture | {"readouts": [], "strip": _NO_STRIP}


def current() -> Run | None:
    """The lesson that goes on."""
    return session.get().lesson


def hides_numbers() -> bool:
    """Whether numbers and test rows are hidden until a question is answered."""
    run = current()
    return run is not None and run.hides_numbers


def start(lesson: Lesson, student: Student | None = None, **more: Any) -> None:
    """Begin a lesson, maybe with a class; one that goes on is left."""
    leave()
    visit = session.get()
    visit.lesson = run = Run(lesson, visit.choice, student=student, **more)
    at = 0
    if student:  # a reload has lost what the visit remembered, the class has not
        room, student.left = student.classroom, False
        run.answers, run.second = student.answers, student.second
        run.reached, run.turns, run.changes = student.reached, room.turns, room.changes
        at = room.at if room.is_held else student.step
    go(at)


def join(code: str) -> None:
    """Begin the lesson of a class."""
    classroom, browser = classes.find(code, Lesson), visitors.browser()
    is_teacher = bool(browser) and browser == classroom.teacher
    start(classroom.lesson, classroom.join(browser), is_teacher=is_teacher)


def watch(code: str) -> None:
    """Follow a class on its wall."""
    classroom = classes.find(code, Lesson)
    start(classroom.lesson, classroom.watch(), is_wall=True)


def is_behind() -> bool:
    """Whether the class has changed since the page ran last."""
    run = current()
    student = run.student if run else None
    return student is not None and student.classroom.changes != run.changes


def follow() -> None:
    """Go where the teacher has brought the class since the page ran last."""
    if not is_behind():
        return
    run = current()
    room = run.student.classroom
    run.changes = room.changes
    if room.has_ended:
        return
    if room.lesson is not run.lesson:
        who = {"is_wall": run.is_wall, "is_teacher": run.is_teacher}
        start(room.lesson, run.student, **who)
    elif room.is_held and room.turns != run.turns:
        run.turns = room.turns
        go(room.at)


def go(index: int) -> None:
    """Show a step from its start, or with what its answer led to."""
    run = current()
    run.at, run.mark = min(max(index, 0), len(run.lesson.steps) - 1), None
    run.refused = ""
    if run.student:
        run.student.step = run.at
    choice, removed = run.state_of(run.moment)
    _show(choice)
    session.get().notices.extend(removed)


def answer(value: Any) -> None:
    """Take the visitor's answer to the question of the step, and show what follows."""
    run = current()
    room = run.student.classroom if run.student else None
    if room is None or room.has_ended:
        run.answers[run.at] = value
    elif not room.take(run.student, run.lesson, run.at, value):
        session.get().notices.append(
            "Your answer came too late to be counted: the class had gone on."
        )
    _show(run.choice_of(run.moment))


def leave() -> None:
    """End the lesson; what was chosen before it is chosen again."""
    visit = session.get()
    run, visit.lesson = visit.lesson, None
    if run is None:
        return
    if run.student:
        run.student.leave()
    run.forget_drawings()
    _show(run.home)


def _show(choice: Choice) -> None:
    visit = session.get()
    session.choose(choice)
    visit.live, visit.draft = Live(), ""


def check_task() -> bool | None:
    """Whether the task of the step was fulfilled; None while its model is not there."""
    run = current()
    context = resolve(session.released())
    fit = context.fit()
    if not fit.ready(0.0):
        return run.at in run.reached or None
    values = run.measured(context, fit.estimator)
    readouts = {"after": values, "before": values}
    if all(one.holds(readouts) for one in run.step.task.reach):
        run.reached.add(run.at)
    return run.at in run.reached
