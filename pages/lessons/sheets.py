"""Pages of lessons to print: for teachers, for students, and solutions."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.lessons.files import all_lessons
from pages.lessons.paper_figure import paper_figure
from pages.state import lesson_files, session
from pages.state.app_figure import AppFigure
from pages.state.host import HOST, resolve
from pages.state.lesson_files import Lesson, Readouts
from pages.state.lesson_run import Run, filled
from pages.state.session import Live
from pages.ui import lesson_page, qr
from pages.ui.elements import download
from smpcore.datasets import plain_number
from smpcore.live import Message
from smpcore.readouts import Drawing, Section
from smpcore.report import printed

#: Minutes that a plan of lessons fills at most; until all have joined; and of talk
#: between the two votes of a question.
MOST_MINUTES, JOINING, DISCUSSION = 90, 5, 2


#: Pages to print of a lesson, by whom they are for.
TEACHER, STUDENTS, SOLUTIONS = "Teacher's sheet", "Student worksheet", "Solutions"
#: Lines to write on.
N_LINES = 6


def sheets() -> None:
    """Choose what to print, and download it as HTML."""
    lessons = {n: one for n, one in all_lessons().items() if type(one) is Lesson}
    name = st.selectbox(
        "A lesson to print, or as a file",
        ["", *lessons],
        format_func=lambda n: lessons[n].title if n else f"Plan of {MOST_MINUTES} min",
        key="lesson_sheet",
    )
    kind = st.segmented_control(
        "For",
        [TEACHER, STUDENTS, SOLUTIONS],
        default=TEACHER,
        required=True,
        disabled=not name,
        key="lesson_sheet_kind",
        help="Aims, questions, answers to expect and what is said after them; or "
        "questions with figures and space to write; or their right answers.",
    )
    make = {
        TEACHER: lesson_sheet,
        STUDENTS: worksheet,
        SOLUTIONS: partial(worksheet, is_solved=True),
    }
    download(
        "Download the sheet",
        partial(make[kind], name, lessons) if name else partial(plan, lessons),
        "sheet.html",
        key="lesson_sheet_download",
    )
    if name:
        _files(lessons[name], name if name in lesson_files.listed() else "")


def _files(lesson: Lesson, listed: str) -> None:
    """Download a lesson as a page without a server."""
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
    blocks = [f"Question: {asked}"]
    if question.choices:
        right = run.right(values)
        blocks.append(
            [
                {"answer": one.text, "right": "yes" if i in right else ""}
                | {"vote 1": "", "vote 2": ""}
                for i, one in enumerate(question.choices)
            ]
        )
    else:
        blocks.append(_right(run, values))
    if question.expect:
        blocks.append(f"Expect, by its writer and not measured: {question.expect}")
    return Section(title, [*blocks, f"Say: {filled(question.reveal, values)}"])


def _right(run: Run, values: Readouts) -> str:
    """What is right, in a sentence."""
    question = run.question
    if run.asks_place:
        places = (f"({x:.2f}, {y:.2f})" for x, y in run.right(values))
        within = plain_number(question.point.within)
        return f"Right: within {within} of {' or '.join(places)}."
    right = f"Right: {run.true_words(values)}"
    if question.choices:
        return f"{right}."
    return f"{right}, within {plain_number(question.number.within)}."


def worksheet(name: str, lessons: dict[str, Lesson], is_solved: bool = False) -> str:
    """What students get on paper: questions, figures and space; or the solutions."""
    lesson = lessons[name]
    run = Run(lesson, session.get().choice)
    words = "Solutions." if is_solved else "Name:"
    if not is_solved and len(lesson.steps) > 1:
        words = "Each step begins a page; a later one may answer the one before. Name:"
    try:
        pages = [_page(run, at, is_solved) for at in range(len(lesson.steps))]
    finally:
        run.forget_drawings()
    return printed(Section(lesson.title, [lesson.aim, words, *pages]), is_paged=True)


def _page(run: Run, at: int, is_solved: bool) -> Section:
    """A step on paper: its text, its figure, what is asked, and space or the answer."""
    asked, question, space = _asked(run, at), run.question, _lines()
    step, values = run.step, run.readouts() if run.question or is_solved else {}
    values = values or (run.readouts() if "{before." in run.step.text else {})
    blocks = [filled(step.text, values, is_shown=False), _figure(run, "before")]
    if question is None:
        return Section(f"{at + 1}. {step.title}", [*blocks, asked, space])
    blocks.append(asked)
    if is_solved:
        blocks += [_right(run, values), filled(question.reveal, values)]
        blocks += [_figure(run, "after")] if question.then else []
    else:
        blocks += [f"☐ {one.text}" for one in question.choices or ()]
        blocks += ["Mark the place in the figure."] if run.asks_place else []
        blocks += [space]
    return Section(f"{at + 1}. {step.title}", blocks)


def _lines() -> Drawing:
    """Space to write."""
    height, dashes = 34 * N_LINES, []
    for i in range(1, N_LINES + 1):
        dashes.append(f'<path d="M0 {34 * i - 1}H640" stroke="#9AA0A6"/>')
    return Drawing(
        "Space to write",
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" '
        f'width="640" role="img" aria-label="Space to write">{"".join(dashes)}</svg>',
    )


def _figure(run: Run, moment: str) -> Drawing:
    """The figure of a model: regions, and the rows that it may show."""
    context = resolve(run.choice_of(moment))
    context.fit().finished()
    figure, header = AppFigure(HOST, Live()), {}
    figure.respond(header, context, Message("full", 0))
    return paper_figure(header["picture"], header["scene"])
