"""The lesson that a visitor takes: its step, what it locks, what was answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pages.state import lesson_files, session, table_store, user_tables
from pages.state.choice import MINE, Choice
from pages.state.context import resolve
from pages.state.lesson_files import PLACEHOLDER, POINTS, Lesson
from pages.state.session import Live
from pages.work.lesson_measures import MEASURES, measured

__all__ = ["POINTS", "Run", "current", "go", "hides_numbers", "leave", "start"]

#: Read-outs that are shown before and after, where a question names none.
_USUAL = ("validation_accuracy", "prototypes", "weights")


@dataclass
class Run:
    """A lesson on its way.

    Parameters
    ----------
    lesson : Lesson
    home : Choice
        What was chosen before the lesson.
    at : int
        The step that is shown.
    answers : dict
        Step -> the visitor's answer: a number, or the place of a choice.
    reached : set of int
        Steps whose task was fulfilled.
    tokens : dict
        Step -> the table of its drawing.
    found : dict
        Step -> its read-outs: the visitor may change its drawing afterwards.
    """

    lesson: Lesson
    home: Choice
    at: int = 0
    answers: dict[int, Any] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    tokens: dict[int, str] = field(default_factory=dict)
    found: dict[int, dict[str, dict[str, float]]] = field(default_factory=dict)

    @property
    def step(self) -> Mapping[str, Any]:
        """The step that is shown."""
        return self.lesson.steps[self.at]

    @property
    def question(self) -> Mapping[str, Any] | None:
        """The question of the step."""
        return self.step.get("question")

    @property
    def is_open_question(self) -> bool:
        """Whether the step asks what was not answered yet."""
        return self.question is not None and self.at not in self.answers

    def locks(self, name: str) -> bool:
        """Whether a control stands still; all but the view's, while a question is open.

        Parameters
        ----------
        name : str
            Of a control, `POINTS` for the drawing tools, ``"*"`` for a reset.
        """
        if name.startswith("v."):
            return False
        free = self.step.get("free")
        return self.is_open_question or (free is not None and name not in free)

    def choice_of(self, moment: str) -> Choice:
        """The choice that the step begins with, or that its answer leads to.

        Parameters
        ----------
        moment : str
            ``"before"`` or ``"after"``.
        """
        then = (self.question or {}).get("then") if moment == "after" else None
        chosen = lesson_files.state_of(self.step, f"step {self.at + 1}", then)
        now = session.get().choice
        opened = dict(Counter(now.opened) | Counter(self.home.opened))
        token = self._token()
        chosen = replace(chosen, opened=opened, **user_tables.with_first(now, token))
        return replace(chosen, data=MINE) if token else chosen

    def _token(self) -> str:
        """Of the table with the step's drawing, made when it is needed."""
        token = self.tokens.get(self.at, "")
        if self.step.get("points"):
            dataset, division = lesson_files.points_of(self.step)
            token = table_store.keep(dataset, division, token)
            self.tokens[self.at] = token
        return token

    def readouts(self) -> dict[str, dict[str, float]]:
        """Read-outs before and after the answer, and their change, of real fits.

        Raises
        ------
        SmpcoreError
            If a fit goes on for long.
        """
        if self.at not in self.found:
            found = {}
            for moment in ("before", "after"):
                context = resolve(self.choice_of(moment))
                found[moment] = measured(context.fit().finished(), context.data)
            after, before = found["after"], found["before"]
            found["change"] = {name: after[name] - before[name] for name in after}
            self.found[self.at] = found
        return self.found[self.at]

    def shown(self) -> list[str]:
        """Read-outs that the reveal shows before and after."""
        return list((self.question or {}).get("show", _USUAL))

    def right_choices(self, found: Mapping[str, Mapping[str, float]]) -> list[int]:
        """Places of the choices whose conditions hold for the read-outs."""
        choices = (self.question or {}).get("choices", ())
        return [i for i, one in enumerate(choices) if holds(one.get("when"), found)]

    def right_number(self, found: Mapping[str, Mapping[str, float]]) -> float:
        """The number that the question asks for."""
        asked = self.question["number"]
        return found[asked.get("of", "after")][asked["measure"]]

    def is_right(self, found: Mapping[str, Mapping[str, float]]) -> bool:
        """Whether the visitor's answer agrees with the read-outs."""
        answer = self.answers[self.at]
        if "choices" in self.question:
            return answer in self.right_choices(found)
        within = self.question["number"].get("within", 0.0)
        return bool(abs(answer - self.right_number(found)) <= within + 1e-9)


def holds(
    conditions: list[Mapping[str, Any]] | None, found: Mapping[str, Mapping[str, float]]
) -> bool:
    """Whether all conditions hold; None holds never."""
    if conditions is None:
        return False
    values = [found[one.get("of", "after")][one["measure"]] for one in conditions]
    limits = [
        (one.get("at_least", -np.inf), one.get("at_most", np.inf)) for one in conditions
    ]
    # Shares are rounding errors away from the limits that they reach.
    pairs = zip(values, limits, strict=True)
    return all(low - 1e-9 <= value <= high + 1e-9 for value, (low, high) in pairs)


def filled(text: str, found: Mapping[str, Mapping[str, float]]) -> str:
    """A text with read-outs in place of its placeholders."""

    def value(match: Any) -> str:
        moment, name = match.groups()
        if moment == "change":
            row = MEASURES[name]
            return row.change(found["before"][name], found["after"][name])
        return MEASURES[name].text(found[moment][name])

    return PLACEHOLDER.sub(value, text)


def current() -> Run | None:
    """The lesson that goes on."""
    return session.get().lesson


def hides_numbers() -> bool:
    """Whether numbers and test rows are hidden until a question is answered."""
    run = current()
    return run is not None and run.is_open_question


def start(lesson: Lesson) -> None:
    """Begin a lesson; one that goes on is left."""
    leave()
    visit = session.get()
    visit.lesson = Run(lesson, visit.choice)
    go(0)


def go(index: int) -> None:
    """Show a step from its start, or with what its answer led to."""
    run = current()
    run.at = min(max(index, 0), len(run.lesson.steps) - 1)
    _show(run.choice_of("before" if run.is_open_question else "after"))


def answer(value: Any) -> None:
    """Take the visitor's answer to the question of the step, and show what follows."""
    run = current()
    run.answers[run.at] = value
    _show(run.choice_of("after"))


def leave() -> None:
    """End the lesson; what was chosen before it is chosen again."""
    visit = session.get()
    run, visit.lesson = visit.lesson, None
    if run is None:
        return
    opened = dict(Counter(run.home.opened) | Counter(visit.choice.opened))
    for token in run.tokens.values():
        table_store.delete(token)
    _show(replace(run.home, opened=opened))


def _show(choice: Choice) -> None:
    visit = session.get()
    session.choose(choice)
    visit.live, visit.draft = Live(), ""


def check_task() -> bool | None:
    """Whether the task of the step was fulfilled; None while its model is not there."""
    run = current()
    context = resolve(session.released())
    fit = context.fit()
    if not fit.wait(0.0):
        return run.at in run.reached or None
    found = measured(fit.estimator, context.data)
    if holds(run.step["task"]["reach"], {"after": found, "before": found}):
        run.reached.add(run.at)
    return run.at in run.reached
