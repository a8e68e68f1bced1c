"""A step of a lesson above the page: text, question or task, reveal, and the way on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.state import lesson_files, lesson_run, session
from pages.state.lesson_files import Lesson, Readouts
from pages.state.lesson_run import Run
from pages.ui.elements import problems_shown
from pages.ui.text import escape_markdown
from pages.work import classes
from pages.work.classes import Classroom
from smpcore import SmpcoreError
from smpcore.datasets import plain_number
from smpcore.live import MEANINGS
from smpcore.readouts import LARGEST_ANSWER, READOUTS

#: A formula of a lesson; a dollar beside a digit or a blank is a dollar, and the signs
#: that Markdown reads otherwise are in none.
_FORMULA = re.compile(r"((?<!\$)\$(?![\s\d])[^$`\[\]!\n]{1,200}(?<!\s)\$(?![\d$]))")


def as_markdown(text: str) -> str:
    """A text of a lesson for Markdown: formulas stay, all else is escaped."""
    # A line that begins with blanks would be code, and bold text ends with none.
    parts = _FORMULA.split(re.sub(r"(?m)^[^\S\n]+|[^\S\n]+$", "", text))
    return "".join(p if i % 2 else escape_markdown(p) for i, p in enumerate(parts))


def show(place: Any = st) -> None:
    """Show the step of the lesson that goes on, if one does."""
    run = lesson_run.current()
    if run is None:
        return
    with place.container(border=True, key="lesson", gap="small"):
        head = st.container(horizontal=True, vertical_alignment="center")
        row = st.container(key="lesson_way", horizontal=True)  # it stays in sight
        if run.student:
            _class(run)
        with problems_shown():
            _texts(run)
        _way_on(run, head, row)  # now that it is known whether the task is done
        _way_out(run)


#: Pages that stay open during a question. All others show numbers of models, or
#: change what is locked.
_OPEN_PAGES = ("Explore", "Lessons", "Guide")


def closes(title: str) -> bool:
    """Whether a page is closed, as it would answer or replace an open question."""
    if title in _OPEN_PAGES or not lesson_run.hides_numbers():
        return False
    st.info(f"{title} is closed while a question of the lesson is open.")
    st.page_link("pages/explore.py", label="Back to the lesson")
    return True


def _class(run: Run) -> None:
    """Which class the visitor takes part in, and who moves it on."""
    classroom = run.student.classroom
    if classroom.has_ended:
        st.info("The class is over; you can go on alone.")
        return
    if not run.student.name:
        st.caption(
            f"Class {classroom.code}, as a student sees it. You are not counted."
        )
        if run.is_teacher and classroom.is_held:
            _lead(run, classroom)
        return
    moves = "Your teacher moves the class on." if classroom.is_held else ""
    st.caption(
        f"Class {classroom.code}. Your teacher sees how many are at which step, and "
        f"all answers by a pseudonym. {moves}"
    )
    if run.led_by:
        st.toggle(
            "Follow your teacher's figure",
            run.follows,
            key=f"lesson_follow_{run.follows:d}",  # another one once it has changed
            on_change=lambda: setattr(run, "follows", not run.follows),
            help="Move a control to look for yourself, and come back here.",
        )


def _lead(run: Run, classroom: Classroom) -> None:
    """Whether the class follows the figure, and may see a table of the teacher's."""
    st.toggle(
        "Follow me",
        classroom.is_led,
        key=f"lesson_lead_{classroom.is_led:d}",
        on_change=lambda: classroom.lead(not classroom.is_led),
        help="All figures of the class show what this one shows while you move its "
        "controls. Students may break away and come back.",
    )
    choice = session.get().choice
    if classroom.is_led and run.is_private(choice):
        st.checkbox(
            "Show this table of mine to the class",
            run.consented == choice.source,
            key=f"lesson_consent_{choice.token}",
            on_change=_consent,
            args=(run, choice.source),
        )


def _consent(run: Run, source: tuple[str, str]) -> None:
    run.consented = None if run.consented == source else source
    run.student.classroom.broadcast.put()


def _open_link(link: Mapping[str, str]) -> None:
    """Begin the lesson that a link names, at its step, or that of a class."""
    for name, begin_class in ("class", lesson_run.join), ("wall", lesson_run.watch):
        if name in link:
            begin_class(link[name])
            return
    name, step = link.get("lesson", ""), link.get("step", "1")
    lesson = lesson_files.listed().get(name)
    if not isinstance(lesson, Lesson):
        raise SmpcoreError(
            "The link names a lesson that is not on this server; choose one on Lessons."
        )
    if not (step.isdecimal() and 0 < int(step[:4]) <= len(lesson.steps)):
        raise SmpcoreError(
            f"The link's step should be from 1 to {len(lesson.steps)}; the lesson "
            "begins with its first one."
        )
    lesson_run.start(lesson, name=name)
    lesson_run.go(int(step) - 1)


def begin(link: Mapping[str, str]) -> None:
    """Begin what a link names; what is wrong with it is said above the page."""
    try:
        _open_link(link)
    except SmpcoreError as problem:
        session.get().notices.append(str(problem))


def begin_by_link() -> None:
    """Begin the lesson, or that of the class, that the visitor's link names."""
    link, session.get().lesson_link = session.get().lesson_link, {}
    if link:
        begin(link)


def _texts(run: Run) -> None:
    """Text, task, question or reveal of the step."""
    step, (text, asked) = run.step, run.texts()
    st.markdown(f"**{as_markdown(step.title)}**\n\n{as_markdown(text)}")
    if step.task:
        _task(asked)
    elif run.question is not None:
        # A new key at each stage: the browser scrolls to what has come.
        stage = f"{run.at}_{run.stage}_{run.is_answered:d}"
        with st.container(key=f"lesson_asked_{stage}", gap="small"):
            _asked(run, asked)


def _asked(run: Run, text: str) -> None:
    """The question at its stage, or its reveal."""
    if not run.is_open_question:
        reveal(run, run.readouts(), text)
    elif run.stage == classes.CLOSED:
        st.info("Wait here: your teacher opens the question.")
    elif run.seconds_left == 0.0:
        st.markdown(as_markdown(text))
        sent = f"Sent: {_words(run)}. " if run.is_answered else ""
        st.info(f"{sent}The vote is closed. Wait: your teacher goes on.")
    else:
        if run.is_answered:
            sent = f"Sent: {_words(run)}. You can change it until the vote closes."
            st.info(sent, icon=":material/check:")
        countdown(run.seconds_left)
        _question(run, text)


def countdown(seconds: float | None) -> None:
    """Say when a vote closes; the browser counts down by itself (``style.css``)."""
    if seconds:
        n = math.ceil(seconds)
        words = f"The vote closes in {n} s"
        st.html(
            f'<p class="spe-countdown" role="timer" aria-label="{words}" '
            f'style="--seconds:{n}">The vote closes in</p>'
        )


def _task(text: str) -> None:
    st.markdown(f"Task: {as_markdown(text)}")
    done = lesson_run.check_task()
    if done is None:
        st.caption("The model is still being fitted.")
    elif done:
        st.success("Done.", icon=":material/check:")


def _words(run: Run) -> str:
    """The visitor's last answer in words."""
    if run.question.choices:
        return as_markdown(run.question.choices[run.answer].text)
    if run.asks_place:
        return "({}, {})".format(*(plain_number(value, 3) for value in run.answer))
    return plain_number(run.answer)


def _question(run: Run, text: str) -> None:
    """The question as a form: Enter answers it."""
    question, key = run.question, f"lesson_answer_{run.at}"
    if run.stage == classes.SECOND_VOTE:
        key += "_second"
        is_first = run.answer is not None and not run.is_answered
        first = f" Your first answer: {_words(run)}." if is_first else ""
        st.caption(f"Second vote, after the discussion.{first}")
    if run.asks_place:
        _place(run, text, key)
        return
    with st.form(f"lesson_form_{run.at}", border=False):
        st.markdown(as_markdown(text))
        limits = run.limits() if question.number else None
        if question.choices:
            texts = [as_markdown(choice.text) for choice in question.choices]
            st.radio(
                "Your prediction",
                range(len(texts)),
                format_func=texts.__getitem__,
                index=None,
                key=key,
            )
        else:
            row = READOUTS[question.number.measure]
            unit = f" ({row.unit})" if row.unit == "%" else ""
            label = f"Your prediction: {row.label.lower()}{unit}"
            options = {"value": None, "step": 1.0, "format": "%g", "width": 260}
            help = MEANINGS[row.key] or None
            st.number_input(label, key=key, help=help, **options)
        st.form_submit_button(
            "Change the answer" if run.is_answered else "Answer",
            key=f"{key}_sent",
            type="primary",
            on_click=_answer,
            args=(run, key, limits),
        )
        if run.refused == key:
            st.error(what_is_asked(run, limits))


def what_is_asked(run: Run, limits: tuple[float, float] | None) -> str:
    """What an answer should be, in a sentence."""
    if limits is None:
        return "Choose one of the answers."
    kind = "a whole number" if run.asks_count else "a number"
    least, most = limits
    if most >= LARGEST_ANSWER:
        return f"Answer with {kind}{'' if least < 0 else ' of at least 0'}."
    return f"Answer with {kind} from {plain_number(least)} to {plain_number(most)}."


def _place(run: Run, text: str, key: str) -> None:
    """A question whose answer is marked in the figure."""
    st.markdown(as_markdown(text))
    where = "Click into the figure, or move its crosshair with the arrow keys and "
    where += "press Enter; then answer."
    if run.mark:
        x, y = (plain_number(value, 3) for value in run.mark)
        where = f"Your mark: ({x}, {y}). It can be moved until you answer."
    st.caption(where)
    st.button(
        "Change the answer" if run.is_answered else "Answer",
        key=f"{key}_sent",
        type="primary",
        disabled=run.mark is None,
        on_click=lesson_run.answer,
        args=(run.mark,),
    )


def _answer(run: Run, key: str, limits: tuple[float, float] | None) -> None:
    """Take what was sent; something else than the field may send anything."""
    value = st.session_state.get(key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    least, most = limits or (0, len(run.question.choices) - 1)
    is_whole = run.asks_count or limits is None
    if not is_number or not least <= value <= most or (is_whole and value % 1):
        run.refused = key
        return
    with problems_shown():
        lesson_run.answer(value)


def reveal(run: Run, values: Readouts, text: str) -> None:
    """What was answered, what is right, and the read-outs before and after."""
    st.caption(as_markdown(text))
    right = run.is_right(values)
    (st.success if right else st.info)(_verdict(run, values, right))
    reveal = lesson_run.filled(run.question.reveal, values, hidden=run.hidden)
    st.markdown(as_markdown(reveal))
    with st.container(horizontal=True):
        for name, label, value, change in run.compared():
            st.metric(
                label,
                value,
                help=MEANINGS[name] or None,
                delta=change,
                delta_color="off",
                delta_arrow="off",
                width="content",
            )


def _verdict(run: Run, values: Readouts, is_right: bool) -> str:
    """The answer beside what the fits say, in a sentence."""
    question, answer, right = run.question, run.answer, run.right(values)
    true = as_markdown(run.true_words(values))
    if run.asks_place:
        far = lesson_run.nearest(answer or [0.0, 0.0], right)
        within = plain_number(question.point.within, 3)
        if not math.isfinite(far):
            return "Measured: no prototype has a place in this figure."
        if run.is_wall:
            return f"Stars in the chart: within {within} of one is right."
        if answer is None:
            return "The stars are in the figure; you have marked no place."
        return f"Your mark is {plain_number(far, 2)} away; within {within} is right."
    if run.is_wall:
        return f"Measured: {true}."
    if answer is None:
        return f"Measured: {true} (you gave no answer)."
    agrees = "as predicted" if is_right else f"your prediction: {_words(run)}"
    return f"Measured: {true} ({agrees})."


def _way_on(run: Run, head: Any, row: Any) -> None:
    """Out, back and on: above the text, so that no button moves from step to step."""
    n_steps = len(run.lesson.steps)
    last = run.at == n_steps - 1
    head.progress(
        (run.at + 1) / n_steps,
        text=f"{as_markdown(run.lesson.title)} · step {run.at + 1} of {n_steps}",
    )
    leave = "Finish lesson" if last and not run.is_open_question else "Leave lesson"
    head.button(
        "Back to the editor" if run.is_trial else leave,
        key="lesson_leave",
        type="tertiary",
        width=_LEAVE_WIDTH,
        on_click=_leave,
        args=(run.is_trial,),
    )
    skips = run.step.task is not None and run.at not in run.reached
    back = {"on_click": _go, "args": (run.at - 1,), "disabled": run.at == 0}
    row.button("Back", key="lesson_back", **back)
    row.button(
        "Skip this task" if skips and not last else "Next",
        key="lesson_next",
        type="secondary" if skips or last or run.is_open_question else "primary",
        width=_NEXT_WIDTH,
        on_click=_go,
        args=(run.at + 1,),
        disabled=last or run.is_open_question,
    )
    row.button("Restart step", key="lesson_restart", on_click=_go, args=(run.at,))


#: Wide enough, in pixels, for all that stands on these two buttons.
_LEAVE_WIDTH, _NEXT_WIDTH = 120, 120


def _way_out(run: Run) -> None:
    """What is hidden, and what follows the last step."""
    if run.is_open_question:
        st.caption("Numbers, strip and test rows are hidden until the answer is shown.")
        return
    if run.question and run.asked_later("after"):
        st.caption("The figure stays: a question to come asks about its next model.")
    if run.at < len(run.lesson.steps) - 1:
        return
    if following := run.next_lesson:
        st.button(
            f"Start lesson {as_markdown(following[1].title)}",
            key="lesson_following",
            type="primary",
            on_click=begin,
            args=({"lesson": following[0]},),
        )
    st.caption("Your own settings come back when you leave the lesson.")


def _leave(is_trial: bool) -> None:
    lesson_run.leave()
    if is_trial:
        st.switch_page("pages/lessons.py")
    st.rerun()  # the whole page: its own settings are back


def _go(index: int) -> None:
    with problems_shown():
        lesson_run.go(index)
