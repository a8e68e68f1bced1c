"""A lesson as one file that needs no server, and as a package for a course."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec
import streamlit as st

from pages.state import lesson_files, lesson_run
from pages.state.host import resolve
from pages.state.lesson_files import Lesson
from pages.state.lesson_run import Run
from pages.ui import lesson_bar, qr
from pages.ui.elements import download
from pages.work import slots
from smpcore import SmpcoreError
from smpcore.datasets import list_names
from smpcore.live import Choice, Context, SavedFigure, scorm_package, written_page
from smpcore.parameters import Param
from smpcore.readouts import LARGEST_ANSWER, READOUTS

log = logging.getLogger(__name__)
#: Above the lesson in its file.
WORDS = (
    "Answers are checked in this file and stay in this browser, or go to the course "
    "that shows it. Who opens the file's source can read the right ones."
)


def lesson_page(lesson: Lesson, name: str = "", only: int | None = None) -> bytes:
    """Write a lesson as a page, with the figures before and after each answer.

    Parameters
    ----------
    lesson : Lesson
        From anywhere.
    name : str
        Of its file, where the server lists it: steps link to the app.
    only : int, optional
        The one step that is in the page; all are if not given.

    Returns
    -------
    bytes
        HTML.
    """
    run, sources, figures, steps = Run(lesson, Choice(), name=name), [], [], []
    try:
        for run.at in range(len(lesson.steps)):
            if only in (None, run.at):
                steps.append(_step(run, figures, sources))
            run.answers[run.at] = None  # from here on its answer is shown
    finally:
        run.forget_drawings()
    content = hashlib.blake2b(msgspec.json.encode(lesson), digest_size=8).hexdigest()
    described = {"key": f"{content}-{only}", "steps": steps}
    payload = {"lesson": described, "figures": figures}
    return written_page(lesson.title, [WORDS], "", payload, sources)


def package(lesson: Lesson, name: str = "") -> bytes:
    """A SCORM package of a lesson."""
    return scorm_package(lesson.title, lesson_page(lesson, name))


def listed_pages() -> Iterator[tuple[str, str, bytes]]:
    """Name, title and page of each lesson that the server lists, for a gallery."""
    for name, lesson in lesson_files.listed().items():
        if isinstance(lesson, str):
            log.warning("%s: %s", name, lesson)
            continue
        yield name.removesuffix(".json"), lesson.title, lesson_page(lesson, name)


def offer(run: Run) -> None:
    """Buttons that save the step that is shown, or the whole lesson."""
    if run.student:  # whoever is in a class could read its answers in the file
        return
    with st.popover("Save as a page", key="save_lesson", icon=":material/web:"):
        st.markdown(
            "One file that needs no server and no network. " + WORDS + " For a class, "
            "use **Teach a class** instead."
        )
        for label, only in ("Save the step", run.at), ("Save the lesson", None):
            download(
                label,
                lambda only=only: lesson_page(run.lesson, run.name, only),
                "lesson.html",
                key=f"save_lesson_{'step' if only is not None else 'all'}",
            )


def _step(run: Run, figures: list, sources: list[str]) -> dict[str, Any]:
    """A step: its texts, its figures by their place in the file, and what is right."""
    began, step = time.perf_counter(), run.step
    text, asked = run.texts()
    entry = {"title": step.title, "text": text, "asked": asked, "before": None}
    if run.question is not None:
        entry["before"] = len(figures)
        figures.append(_figure(run, sources, None))
        entry["question"] = _question(run)
        run.answers[run.at] = None
        entry["question"] |= _reveal(run)
        entry["answered"] = run.texts()[0]
    param, note = _moving(run)
    try:
        figure = _figure(run, sources, param)
    except SmpcoreError as problem:
        param, note = None, f"Its slider is not in this file: {problem}"
        figure = _figure(run, sources, None)
    entry |= {"after": len(figures), "note": note, "app": _address(run) if note else ""}
    entry["has_task"] = step.task is not None and param is not None
    figures.append(figure)
    seconds = time.perf_counter() - began
    log.info("%s, step %d: %.1f s", run.lesson.title, run.at + 1, seconds)
    return entry


def _question(run: Run) -> dict[str, Any]:
    """How a question is answered."""
    question = run.question
    if question.choices:
        return {"choices": [one.text for one in question.choices]}
    if run.asks_place:
        return {"point": True}
    least, most = run.limits()
    row = READOUTS[question.number.measure]
    return {
        "label": row.label + (" (%)" if row.unit == "%" else ""),
        "whole": run.asks_count,
        "least": float(max(least, -LARGEST_ANSWER)),
        "most": float(min(most, LARGEST_ANSWER)),
        "wanted": lesson_bar.what_is_asked(run, (least, most)),
    }


def _reveal(run: Run) -> dict[str, Any]:
    """What is right, and what is said then."""
    question, values = run.question, run.readouts()
    asks = question.number or question.point
    return {
        "right": run.right(values),
        "within": asks.within if asks else 0,
        "measured": run.true_words(values),
        "reveal": lesson_run.filled(question.reveal, values, hidden=run.hidden),
        "readouts": [words for _, *words in run.compared()],
    }


def _moving(run: Run) -> tuple[Param | None, str]:
    """The control that moves in the file, and a sentence where others would."""
    free, context = run.step.free, resolve(run.choice_of(run.moment))
    if free == [] or run.is_open_question:
        return None, ""
    if free is None:
        return None, "In the app all settings of this step can be moved."
    numbers = {p.name: p for p in context.params if p.scale in ("log", "int", "linear")}
    if len(free) > 1 or free[0] not in numbers:
        labels = {param.name: param.label for param in context.params}
        names = list_names([labels.get(name, name) for name in free], longest=40)
        return None, f"In the app these can be moved: {names}."
    if run.locks(free[0]):
        return None, "The figure stays: a question to come asks about its next model."
    return numbers[free[0]], ""


def _figure(run: Run, sources: list[str], param: Param | None) -> dict[str, Any]:
    """The figure of a step at its stage, without what that hides."""

    def remarks(context: Context, fitted: Any) -> dict[str, Any]:
        if run.step.task is None or param is None:
            return {}
        values = run.measured(context, fitted)
        readouts = {"before": values, "after": values}
        return {"reached": all(one.holds(readouts) for one in run.step.task.reach)}

    context, turn = resolve(run.choice_of(run.moment)), slots.interactive_slot
    shown = {"turn": turn, "main": param, "hides_test": run.hides_numbers}
    figure = SavedFigure(context, sources, remarks=remarks, **shown)
    payload = lesson_run.redact(run, figure.payload(), param and param.name)
    if run.is_open_question:  # the model in it would compute what is hidden
        payload["answers"] = None
        payload["picture"] = payload["picture"] | {"program": {}}
    return payload


def _address(run: Run) -> str:
    """Of the step in the app, or what to add to its address; empty: it has none."""
    if not run.name:
        return ""
    here = qr.address(run.link, "lessons")
    return f"?{urlencode(run.link)}" if qr.is_local(here) else here
