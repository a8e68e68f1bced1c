"""A class on the wall of its room: its code, the question, both votes, the answer.

It follows the class by itself. Nothing can be pressed there, and nothing of a single
student is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import streamlit as st

from pages.lessons import votes
from pages.state.lesson_run import Run
from pages.ui import lesson_bar, live, qr
from pages.ui.canvas import figure_script, live_figure
from pages.ui.elements import problems_shown
from pages.ui.lesson_bar import as_markdown
from pages.work import classes
from pages.work.classes import Classroom
from pages.work.slots import poll_interval
from smpcore.datasets import plural

#: Students and answers are counted anew this often.
POLL_SECONDS = 1.5


def show(run: Run) -> None:
    """Show where the class is."""
    room = run.student.classroom
    with st.container(key="wall"):
        _head(run)
        if room.has_ended:
            st.markdown("### The class is over.")
        elif room.is_joining:
            _joining(room)
        else:
            with problems_shown():
                _step(run)


def _link(room: Classroom) -> str:
    return qr.address({"class": room.link_code}, "lessons")


def _joining(room: Classroom) -> None:
    """How to join."""
    left, right = st.columns([3, 2], gap="large", vertical_alignment="center")
    with left:
        st.markdown(f"### {as_markdown(room.lesson.title)}")
        st.markdown("Scan the QR code, or open")
        st.code(qr.server("lessons") + "/lessons", language=None)
        st.markdown("and enter")
        with st.container(key="wall_code"):
            st.markdown(f"**{room.code}**")
    right.image(qr.image(_link(room)), width="stretch")


def _head(run: Run) -> None:
    """Counts, the lesson's step, and the code for those who come late.

    What counts anew stands in front of all that comes and goes: a count under way when
    the class moves would be drawn in the place of something else.
    """
    lesson, room = run.lesson, run.student.classroom
    sides = {"horizontal_alignment": "distribute", "vertical_alignment": "center"}
    with st.container(horizontal=True, **sides):
        with st.container(width="content"):
            st.fragment(_counted, run_every=poll_interval(POLL_SECONDS))(room)
        if room.has_ended or room.is_joining:
            return
        at = f"{run.at + 1} of {len(lesson.steps)}"
        st.markdown(f"{as_markdown(lesson.title)} · {at}", width="content")
        st.markdown(f"Join: **{room.code}**", width="content")
        st.image(qr.image(_link(room)), width=96)


def _step(run: Run) -> None:
    """The step as the class has it: its text, the question, or votes and answer."""
    question, step = run.question, run.step
    is_shown = question is not None and not run.is_open_question
    text, asked = run.texts()
    if is_shown:
        counts, values = run.student.classroom.counts(), run.readouts()
        sent = votes.by_name(counts, run.at) or {"Answers": []}
        right, rows = run.right(values), votes.rows_in_figure(run)
        with _beside_figure(run):
            votes.drawn(question, sent, right, rows, is_wall=True)
            lesson_bar.reveal(run, values, asked)
        return
    room = run.led_by
    with _beside_figure(run) if room and room.is_led else nullcontext():
        st.markdown(f"### {as_markdown(step.title)}")
        st.markdown(as_markdown(text))
        if step.task or run.stage != classes.CLOSED:
            _asked(run, asked)


@contextmanager
def _beside_figure(run: Run) -> Iterator[None]:
    """What is read, beside the figure: it moves as the teacher's, and to the answer."""
    left, right = st.columns([4, 3], gap="medium")
    with left:
        yield
    with right:
        if run.question and not run.is_open_question:
            live.show_answer(run)
        live_figure(live.answer(None), key="wall_figure")
        figure_script()


def _asked(run: Run, text: str) -> None:
    """The task or the question, large, with the answers to choose from."""
    choices = run.question.choices or () if run.question else ()
    if run.stage == classes.SECOND_VOTE:
        st.markdown("Second vote, after the discussion.")
    lines = [f"- {as_markdown(choice.text)}" for choice in choices]
    with st.container(key="wall_question"):
        st.markdown("\n".join([as_markdown(text), "", *lines]))
    lesson_bar.countdown(run.seconds_left)
    if run.seconds_left == 0.0:
        st.markdown("The vote is closed.")


def _counted(room: Classroom) -> None:
    """How many are here, and have answered."""
    counts, at = room.counts(), room.at
    words = f"{plural(counts.n_here, 'student')} here"
    votes_under_way = dict(
        zip(classes.VOTES, (counts.answers, counts.second), strict=True)
    )
    if room.lesson.steps[at].task:
        words += f", {counts.reached[at]} have done it"
    elif room.lesson.steps[at].question and room.stage(at) in votes_under_way:
        n_answers = len(votes_under_way[room.stage(at)].get(at, ()))
        words = f"{plural(n_answers, 'answer')}, {words}"
    st.markdown(words)
