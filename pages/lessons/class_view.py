"""The class that this browser teaches: who is at which step, and what was answered."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.lessons import results, votes
from pages.state import lesson_run, session
from pages.state.lesson_files import Lesson, Readouts
from pages.state.session import Slot
from pages.ui import lesson_bar, qr
from pages.ui.elements import problems_shown
from pages.ui.lesson_bar import as_markdown
from pages.work import classes, visitors
from pages.work.classes import Classroom, Counts
from pages.work.slots import poll_interval
from smpcore import SmpcoreError
from smpcore.datasets import plural

#: Read-outs, what is right by them, and rows in the figure.
_QUESTION = Slot[tuple[Readouts, Any, Any]]("class_question")
#: Counts are read anew this often.
POLL_SECONDS = 2.0
#: Moves of a class on its usual way.
_WAY = ("Open the question", "Show the answer", "Next step")


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


def show(classroom: Classroom) -> None:
    """Show the class with its code, and End."""
    with st.container(border=True, key="class_view"):
        st.markdown(f"**Class: {as_markdown(classroom.lesson.title)}**")
        link = qr.address({"class": classroom.link_code}, "lessons")
        left, right = st.columns([2, 1], vertical_alignment="center")
        left.metric("Code", classroom.code)
        left.markdown("Students enter the code on **Lessons**, or open")
        left.code(link, language=None)
        with left:
            qr.warn_of_local(link)
            wall = qr.address({"wall": classroom.link_code}, "lessons")
            help = "For a projector: code, questions, votes and answers in large type"
            st.link_button(
                "Open the wall", wall, icon=":material/present_to_all:", help=help
            )
            help = "The lesson as a student sees it; there Follow me has the class "
            help += "follow what you drag"
            st.link_button(
                "Open the figure", link, icon=":material/explore:", help=help
            )
        right.image(qr.image(link), width=220, caption="QR code of this link")
        st.fragment(_counts, run_every=poll_interval(POLL_SECONDS))(classroom)
        st.fragment(_ending, run_every=poll_interval(POLL_SECONDS))(classroom)


def _ending(classroom: Classroom) -> None:
    """End the class; answers that came meanwhile are offered, too."""
    with st.popover("End the class", key="class_ending"):
        st.markdown(
            "Save the results first: counts and answers are forgotten. Students go on "
            "alone."
        )
        if classroom.votes:
            results.offer(classroom, "end")
        end = {"on_click": classes.end, "args": (classroom,)}
        if st.button("End it", key="class_end", **end):
            st.rerun()  # not this part alone


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
    _steer(classroom)
    st.caption(f"{plural(counts.n_here, 'student')} here, no names are kept.")
    rows = [
        {
            "Step": f"{i + 1}. {step.title}",
            "Here": counts.steps[i],
            "Answered": str(len(answers.get(i, ()))) if step.question else "",
            "Task done": str(counts.reached[i]) if step.task else "",
        }
        for i, step in enumerate(steps)
    ]
    here = st.column_config.ProgressColumn(
        format="%d", min_value=0, max_value=max(1, counts.n_here)
    )
    st.dataframe(rows, hide_index=True, column_config={"Here": here})
    if asked := [i for i, step in enumerate(steps) if step.question]:
        _answers(classroom, asked, counts)
    if classroom.votes:
        results.offer(classroom, "now")


def _steer(classroom: Classroom) -> None:
    """Hold the class together, and move it on."""
    key = "class_hold"
    st.toggle(
        "Hold the class together",
        classroom.is_held,
        key=key,
        on_change=lambda: classroom.hold(st.session_state[key]),
        help="All screens follow you: you open a question, may have the class vote "
        "again after it has discussed, and show what is measured. Without it everybody "
        "goes on alone.",
    )
    if not classroom.is_held:
        return
    at, steps = classroom.at, classroom.lesson.steps
    stage = classroom.stage(at) if steps[at].question else classes.SHOWN
    st.markdown(f"Now: **{at + 1}. {as_markdown(steps[at].title)}**")
    row = st.container(horizontal=True)
    for name, (step, new, is_open) in _moves(at, stage, len(steps)).items():
        if is_open:
            row.button(
                name,
                key=f"class_move_{name.split()[0].lower()}",
                type="primary" if name in _WAY else "secondary",
                on_click=classroom.move,
                args=(step, new),
            )
    if stage in classes.VOTES:
        _timer(classroom, f"class_timer_{at}_{stage}")


def _moves(at: int, stage: int, n_steps: int) -> dict[str, tuple[int, Any, bool]]:
    """Button -> step and stage that it leads to, and whether it is there."""
    is_shown, is_last = stage == classes.SHOWN, at + 1 == n_steps
    return {
        "Step back": (at - 1, None, at > 0),
        "Open the question": (at, classes.FIRST_VOTE, stage == classes.CLOSED),
        "Vote again": (at, classes.SECOND_VOTE, stage == classes.FIRST_VOTE),
        "Show the answer": (at, classes.SHOWN, stage in classes.VOTES),
        "Next step": (at + 1, None, is_shown and not is_last),
        "Skip the question": (at + 1, None, not (is_shown or is_last)),
    }


def _timer(classroom: Classroom, key: str) -> None:
    """Leave the class so many seconds for its vote."""
    st.segmented_control(
        "Close the vote in",
        classes.TIMES,
        format_func=lambda s: f"{s // 60} min" if s >= 60 else f"{s} s",
        key=key,
        on_change=lambda: classroom.close_in(st.session_state[key]),
        help="Counted down on the wall and on all phones. Press it again to have no "
        "timer.",
    )
    lesson_bar.countdown(classroom.seconds_left)
    if classroom.is_time_up:
        st.markdown("The vote is closed.")


def _answers(classroom: Classroom, asked: list[int], counts: Counts) -> None:
    """The answers of each vote to a question, and what is right when it is shown."""
    steps = classroom.lesson.steps
    titles = {i: f"{i + 1}. {steps[i].title}" for i in asked}
    here = classroom.at if classroom.at in asked else asked[0]
    step = st.selectbox(
        "Answers to",
        asked,
        asked.index(here),
        format_func=titles.get,
        key=f"class_step_{here}",
    )
    question, key = steps[step].question, (classroom.code, classroom.lesson, step)
    sent = votes.by_name(counts, step)
    right = rows = None
    with problems_shown():
        values, right, rows = _QUESTION.get_or_make(
            key, lambda: _fitted(classroom.lesson, step)
        )
        text = as_markdown(lesson_run.filled(question.text, values, is_shown=False))
        sizes = (plural(len(one), "answer") for one in sent.values())
        st.caption(f"{', then '.join(sizes) or 'No answers yet'}: {text}")
    is_shown = classroom.stage(step) == classes.SHOWN
    is_wanted = st.toggle("See the right answer here", key=f"class_right_{step}")
    right = right if is_shown or is_wanted else None
    help = "While they vote, what others have answered would steer the rest."
    are_seen = st.toggle("Show votes here", key=f"class_votes_{step}", help=help)
    if not (is_shown or are_seen):
        sent = {}
    if sent or right is not None:
        votes.drawn(question, sent or {"Answers": []}, right, rows)


def _fitted(lesson: Lesson, step: int) -> tuple[Readouts, Any, Any]:
    """Read-outs of a step's fits, what is right by them, and rows in the figure."""
    run = lesson_run.Run(lesson, session.get().choice, at=step)
    try:
        values = run.readouts()
        return values, run.right(values), votes.rows_in_figure(run)
    finally:
        run.forget_drawings()
