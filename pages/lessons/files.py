"""Lessons to choose from, and a teacher's sheets to print of them."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.state import lesson_files, session
from pages.state.lesson_files import Lesson
from pages.state.lesson_run import Run, filled
from pages.ui import lesson_page, qr
from pages.ui.elements import download, problems_shown
from pages.ui.text import short_label
from pages.work import visitors
from pages.work.store import KEEP_SECONDS, Store
from smpcore.datasets import plain_number
from smpcore.readouts import READOUTS, Section
from smpcore.report import printed

#: Lessons that a browser has; the oldest goes first.
MOST_LESSONS = 20
#: Browser -> its lesson files by name: all of them, and those of one.
_files = Store(
    100_000_000,
    MOST_LESSONS * lesson_files.MOST_BYTES,
    KEEP_SECONDS,
    size=lambda files: sum(map(len, files.values())),
)


def of_browser() -> dict[str, bytes]:
    """Lesson files that this browser has made or opened, by name."""
    browser = visitors.browser()
    files = _files.get(browser) if browser else None
    return session.get().lessons if files is None else files


def keep(name: str, data: bytes) -> None:
    """Keep a lesson file for this browser, also over a reload; empty: forget it."""
    files = {one: content for one, content in of_browser().items() if one != name}
    files |= {name: data} if data else {}
    files = dict(list(files.items())[-MOST_LESSONS:])
    session.get().lessons = files
    if browser := visitors.browser():
        _files.put(browser, files)


def all_lessons() -> dict[str, Lesson | str]:
    """Lessons by the names of their files, or what is wrong with one."""
    return lesson_files.listed() | {
        f"Yours: {name}": lesson_files.read(data) for name, data in of_browser().items()
    }


def upload() -> None:
    """Open a lesson file; it is held in memory only."""
    editions = session.get().editions
    file = st.file_uploader(
        "Open a lesson file",
        "json",
        key=f"lesson_file_{editions['lesson_file']}",
        max_upload_size=1,
        help="It is listed below in this browser only, for half an hour after your "
        "last visit.",
    )
    if file is None:
        return
    with problems_shown(st.error):
        lesson_files.read(data := file.getvalue())
        keep(short_label(file.name), data)
        editions["lesson_file"] += 1  # else it would come again after an edit
        editions["lesson_edited"] += 1
        st.rerun()


#: Minutes that a plan of lessons fills at most; until all have joined; and of talk
#: between the two votes of a question.
MOST_MINUTES, JOINING, DISCUSSION = 90, 5, 2


def sheets() -> None:
    """Choose a sheet, and download it as HTML."""
    lessons = {n: one for n, one in all_lessons().items() if type(one) is Lesson}
    name = st.selectbox(
        "Teacher's sheet to print, or a lesson as a file",
        ["", *lessons],
        format_func=lambda n: lessons[n].title if n else f"Plan of {MOST_MINUTES} min",
        key="lesson_sheet",
        help="Aims, questions, answers to expect, and what is said after them.",
    )
    make = partial(lesson_sheet, name) if name else plan
    download(
        "Download the sheet",
        partial(make, lessons=lessons),
        "sheet.html",
        key="lesson_sheet_download",
    )
    if not name:
        return
    lesson, listed = lessons[name], name if name in lesson_files.listed() else ""
    with st.container(horizontal=True):
        download(
            "Download as a page",
            partial(lesson_page.lesson_page, lesson, listed),
            "lesson.html",
            key="lesson_page",
            help=f"One file for any browser, without a server. {lesson_page.WORDS}",
        )
        download(
            "Download as a SCORM package",
            partial(lesson_page.package, lesson, listed),
            "lesson.zip",
            key="lesson_package",
            help="The same page for Moodle and others: score and completion by "
            "SCORM 1.2.",
        )


def lesson_sheet(name: str, lessons: dict[str, Lesson]) -> str:
    """What a teacher needs to give a lesson, with what its fits measure here."""
    lesson, choice = lessons[name], session.get().choice
    run = Run(lesson, choice, name=name if name in lesson_files.listed() else "")
    about = {"Aim": lesson.aim, "Minutes": str(lesson.minutes)}
    about |= {"Link": _link(name)} if run.name else {}
    if following := run.next_lesson:
        about |= {"Next lesson": following[1].title, "Its link": _link(following[0])}
    lines = [{"": key, " ": text} for key, text in about.items()]
    try:
        steps = [_step(run, at) for at in range(len(lesson.steps))]
    finally:
        run.forget_drawings()
    return printed(Section(lesson.title, [lines, *steps]))


def plan(lessons: dict[str, Lesson]) -> str:
    """The first lessons that fit into the time, each with its aim and questions."""
    lines, minute, listed = [], JOINING, lesson_files.listed()
    for name in [name for name in lessons if name in listed]:
        lesson = lessons[name]
        n_questions = sum(step.question is not None for step in lesson.steps)
        end = minute + lesson.minutes + DISCUSSION * n_questions
        if end > MOST_MINUTES:
            break
        run = Run(lesson, session.get().choice)
        asked = [_asked(run, at) for at in range(len(lesson.steps))]
        lines.append(
            {
                "minute": f"{minute} to {end}",
                "lesson": lesson.title,
                "aim": lesson.aim,
                "questions and tasks": " · ".join(filter(None, asked)),
                "link": _link(name),
            }
        )
        minute = end
    words = (
        f"{len(lines)} lessons, {minute} minutes: {JOINING} until all have joined, and "
        f"{DISCUSSION} to discuss each question between its two votes. Each lesson has "
        "a sheet of its own."
    )
    return printed(Section(f"Plan of {MOST_MINUTES} minutes", [words, lines]))


def _link(name: str) -> str:
    return qr.address({"lesson": name}, "lessons")


def _asked(run: Run, at: int) -> str:
    """The question or task of a step, with read-outs where it quotes them."""
    run.at = at
    text = run.step.asked
    return filled(text, run.readouts() if "{before." in text else {}, is_shown=False)


def _step(run: Run, at: int) -> Section:
    """A step: what is asked, what is measured, and what is said then."""
    title, asked = f"{at + 1}. {run.lesson.steps[at].title}", _asked(run, at)
    if run.question is None:
        text = filled(run.step.text, run.readouts())
        return Section(title, [f"Task: {asked}" if asked else text])
    values, question = run.readouts(), run.question
    blocks, right = [f"Question: {asked}"], run.right(values)
    if question.choices:
        blocks.append(
            [
                {"answer": one.text, "right": "yes" if i in right else ""}
                | {"vote 1": "", "vote 2": ""}
                for i, one in enumerate(question.choices)
            ]
        )
    elif run.asks_place:
        places = (f"({x:.2f}, {y:.2f})" for x, y in right)
        within = plain_number(question.point.within)
        blocks.append(f"Right: within {within} of {' or '.join(places)}.")
    else:
        within = plain_number(question.number.within)
        right = READOUTS[question.number.measure].text(right)
        blocks.append(f"Right: {right}, within {within}.")
    if question.expect:
        blocks.append(f"Expect, by its writer and not measured: {question.expect}")
    return Section(title, [*blocks, f"Say: {filled(question.reveal, values)}"])
