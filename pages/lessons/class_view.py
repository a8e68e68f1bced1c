"""The class that this browser teaches: who is at which step, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import lesson_readouts, lesson_run, session
from pages.state.lesson_files import Lesson
from pages.ui import lesson_bar, qr
from pages.ui.elements import problems_shown, table_popover
from pages.ui.lesson_bar import as_markdown
from pages.work import classes, visitors
from pages.work.classes import Classroom
from pages.work.slots import poll_interval
from smpcore import SmpcoreError, figures
from smpcore.datasets import plain_number, plural

#: Counts are read anew this often; and bins of a histogram of numbers, at most.
POLL_SECONDS, MOST_BINS = 2.0, 8


def current() -> Classroom | None:
    """The class that this visit, or another tab of this browser, has begun."""
    visit = session.get()
    classroom = visit.classroom or classes.taught_by(visitors.browser())
    if classroom is not None and classroom.has_ended:
        classroom = None
    visit.classroom = classroom
    return classroom


def start(lesson: Lesson) -> None:
    """Begin a class with this lesson, or go on with it in the one that is taught."""
    if classroom := current():
        classroom.teach(lesson)
        return
    try:
        session.get().classroom = classes.start(lesson, visitors.browser())
    except SmpcoreError as problem:
        session.get().notices.append(str(problem))


def _end(classroom: Classroom) -> None:
    classes.end(classroom)
    session.get().classroom = None


def show(classroom: Classroom) -> None:
    """Show the class with its code, and End."""
    with st.container(border=True, key="class_view"):
        st.markdown(f"**Class: {as_markdown(classroom.lesson.title)}**")
        link = qr.address({"class": classroom.code}, "lessons")
        left, right = st.columns([2, 1], vertical_alignment="center")
        left.metric("Code", classroom.code)
        left.markdown("Students enter the code on **Lessons**, or open")
        left.code(link, language=None)
        with left:
            qr.warn_of_local(link)
        right.image(qr.image(link), width=220, caption="QR code of this link")
        st.fragment(_counts, run_every=poll_interval(POLL_SECONDS))(classroom)
        st.button(
            "End the class",
            key="class_end",
            on_click=_end,
            args=(classroom,),
            help="Counts and answers are forgotten; students can go on alone.",
        )


def join() -> None:
    """A field for the code of a class."""
    with st.form("class_join", border=False):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        row.text_input("Join a class: code", key="class_code", max_chars=20, width=200)
        if row.form_submit_button("Join", on_click=_join) and lesson_run.current():
            st.switch_page("pages/explore.py")


def _join() -> None:
    if code := st.session_state["class_code"].strip():
        lesson_bar.begin({"class": code})


def _counts(classroom: Classroom) -> None:
    """How many are where, and the answers to one question."""
    if classroom.has_ended:
        st.info("The class has ended; its counts are forgotten.")
        return
    counts, steps = classroom.counts(), classroom.lesson.steps
    answers = counts.answers
    st.caption(f"{plural(counts.n_here, 'student')} here, no names are kept.")
    rows = [
        {
            "Step": f"{i + 1}. {step['title']}",
            "Here": counts.steps[i],
            "Answered": str(len(answers.get(i, ()))) if "question" in step else "",
            "Task done": str(counts.reached[i]) if "task" in step else "",
        }
        for i, step in enumerate(steps)
    ]
    here = st.column_config.ProgressColumn(
        format="%d", min_value=0, max_value=max(1, counts.n_here)
    )
    st.dataframe(rows, hide_index=True, column_config={"Here": here})
    if asked := [i for i, step in enumerate(steps) if "question" in step]:
        _answers(classroom, asked, answers)


def _answers(
    classroom: Classroom, asked: list[int], answers: Mapping[int, list[Any]]
) -> None:
    """A histogram of the answers to a question; the right one when it is wanted."""
    steps = classroom.lesson.steps
    titles = {i: f"{i + 1}. {steps[i]['title']}" for i in asked}
    step = st.selectbox("Answers to", asked, format_func=titles.get, key="class_step")
    question, sent = steps[step]["question"], answers.get(step, [])
    key, right = (classroom.code, classroom.lesson.title, step), None
    with problems_shown():
        values, right = session.remembered(
            "class_question", key, lambda: _fitted(classroom.lesson, step)
        )
        text = as_markdown(lesson_readouts.filled(question["text"], values))
        st.caption(f"{plural(len(sent), 'answer')}: {text}")
        if not st.toggle("Show the right answer", key=f"class_right_{step}"):
            right = None
    if "point" in question:
        if sent or right:
            figure = figures.answer_places(sent, right or [])
            words = "Places marked, table below"
            st.plotly_chart(figure, key="class_answers", alt=words)
            table_popover(pd.DataFrame(sent, columns=["x", "y"]))
        return
    if "choices" in question:
        names = [choice["text"] for choice in question["choices"]]
        counts, marked = [sent.count(i) for i in range(len(names))], right or []
    else:
        names, counts, marked = _of_numbers(sent, right)
    if sum(counts):
        words = "; ".join(map("{}: {}".format, names, counts))
        figure = figures.answer_counts(names, counts, marked)
        st.plotly_chart(figure, key="class_answers", alt=f"Answers: {words}")
    elif right is not None:
        st.caption(f"Right: {', '.join(names[i] for i in marked)}")


def _fitted(lesson: Lesson, step: int) -> tuple[lesson_bar.Values, Any]:
    """Read-outs of a step's fits, and what is right by them."""
    run = lesson_run.Run(lesson, session.get().choice, at=step)
    try:
        values = run.readouts()
    finally:
        run.forget_drawings()
    if run.asks_place:
        return values, run.places[step]
    right = run.right_choices if "choices" in run.question else run.right_number
    return values, right(values)


def _of_numbers(
    sent: list[float], right: float | None
) -> tuple[list[str], list[int], list[int]]:
    """Distinct numbers, or bins where there are many: far ones share the outermost."""
    known = [right] if right is not None and np.isfinite(right) else []
    values = np.array([*sent, *known])
    distinct = np.unique(values)
    if len(distinct) <= MOST_BINS:
        names = [plain_number(value) for value in distinct]
        counts = [sent.count(value) for value in distinct]
        return names, counts, np.flatnonzero(distinct == right).tolist()
    low, high = np.quantile(values, [0.1, 0.9])
    edges = np.unique(np.linspace(low, high, MOST_BINS - 1))
    texts = [plain_number(edge) for edge in edges]
    names = [f"below {texts[0]}", *map(" to ".join, pairwise(texts))]
    names.append(f"{texts[-1]} and more")
    counts = np.bincount(np.digitize(sent, edges), minlength=len(names))
    return names, counts.tolist(), np.digitize(known, edges).tolist()
