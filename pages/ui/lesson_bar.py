"""A step of a lesson above the page: text, question or task, reveal, and the way on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.state import lesson_run
from pages.state.lesson_run import Run
from pages.ui.elements import problems_shown
from pages.ui.text import escape_markdown
from pages.work.lesson_measures import MEASURES
from smpcore.datasets import plain_number

#: A formula of a lesson; the signs that Markdown reads otherwise are in none.
_FORMULA = re.compile(r"(\$[^$`\[\]<!\n]{1,200}\$)")


def plain(text: str) -> str:
    """A text of a lesson for Markdown: formulas stay, all else is escaped."""
    parts = _FORMULA.split(text)
    return "".join(p if i % 2 else escape_markdown(p) for i, p in enumerate(parts))


def show(place: Any = st) -> None:
    """Show the step of the lesson that goes on, if one does.

    Parameters
    ----------
    place : container of Streamlit
    """
    run = lesson_run.current()
    if run is None:
        return
    with place.container(border=True, key="lesson", gap="small"):
        n_steps = len(run.lesson.steps)
        st.progress(
            (run.at + 1) / n_steps,
            text=f"{plain(run.lesson.title)} · step {run.at + 1} of {n_steps}",
        )
        with problems_shown():
            _texts(run)
        _way_on(run)


def _texts(run: Run) -> None:
    """Text, task, question or reveal of the step."""
    texts = [run.step["text"], (run.question or run.step.get("task", {})).get("text")]
    is_filled = any("{before." in text for text in texts if text)
    found = run.readouts() if is_filled or run.at in run.answers else {}
    texts = [lesson_run.filled(text, found) for text in texts if text]
    # Beside each other, so that the figure below stays on the screen.
    left, right = st.columns(2, gap="medium") if len(texts) > 1 else (st, st)
    left.markdown(f"**{plain(run.step['title'])}**\n\n{plain(texts[0])}")
    if len(texts) == 1:
        return
    with right:
        if run.question is None:
            _task(texts[1])
        elif run.is_open_question:
            _question(run, texts[1])
        else:
            _reveal(run, found, texts[1])


def _task(text: str) -> None:
    st.markdown(f"Task: {plain(text)}")
    done = lesson_run.check_task()
    if done is None:
        st.caption("The model is still being fitted.")
    elif done:
        st.success("Done.", icon=":material/check:")


def _question(run: Run, text: str) -> None:
    """The question as a form: Enter answers it."""
    question, key = run.question, f"lesson_answer_{run.at}"
    with st.form(f"lesson_form_{run.at}", border=False):
        st.markdown(plain(text))
        if "choices" in question:
            texts = [plain(choice["text"]) for choice in question["choices"]]
            st.radio(
                "Your prediction",
                range(len(texts)),
                format_func=texts.__getitem__,
                index=None,
                key=key,
            )
        else:
            row = MEASURES[question["number"]["measure"]]
            unit = f" ({row.unit})" if row.unit == "%" else ""
            label = f"Your prediction: {row.label.lower()}{unit}"
            options = {"value": None, "step": 1.0, "format": "%g", "width": 260}
            st.number_input(label, key=key, **options)
        st.form_submit_button(
            "Answer", key=f"{key}_sent", type="primary", on_click=_answer, args=(key,)
        )


def _answer(key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        with problems_shown():
            lesson_run.answer(value)


def _reveal(run: Run, found: Mapping[str, Mapping[str, float]], text: str) -> None:
    """What was answered, what is right, and the read-outs before and after."""
    st.caption(plain(text))
    question = run.question
    right = run.is_right(found)
    show_answer = st.success if right else st.info
    show_answer(_verdict(run, found, right))
    st.markdown(plain(lesson_run.filled(question["reveal"], found)))
    if "then" not in question:
        return
    with st.container(horizontal=True):
        for name in run.shown():
            row, before, after = (MEASURES[name], *(_at(found, name)))
            st.metric(
                row.label,
                row.text(after),
                delta=f"{row.change(before, after)} from {row.text(before)}",
                delta_color="off",
                delta_arrow="off",
                width="content",
            )


def _at(found: Mapping[str, Mapping[str, float]], name: str) -> tuple[float, float]:
    return found["before"][name], found["after"][name]


def _verdict(run: Run, found: Mapping[str, Mapping[str, float]], right: bool) -> str:
    """The answer beside what the fits say, in a sentence."""
    answer, question = run.answers[run.at], run.question
    if "choices" in question:
        texts = [plain(choice["text"]) for choice in question["choices"]]
        said, true = texts[answer], [texts[i] for i in run.right_choices(found)]
        true = "; ".join(true) or "none of these"
    else:
        row = MEASURES[question["number"]["measure"]]
        said, true = plain_number(answer), row.text(run.right_number(found))
    agrees = "as predicted" if right else f"your prediction: {said}"
    return f"Measured: {true} ({agrees})."


def _way_on(run: Run) -> None:
    """Back, on and out; a question has to be answered before the next step."""
    row = st.container(horizontal=True, vertical_alignment="center")
    last = run.at == len(run.lesson.steps) - 1
    skips = "task" in run.step and run.at not in run.reached
    row.button(
        "Back",
        key="lesson_back",
        on_click=_go,
        args=(run.at - 1,),
        disabled=run.at == 0,
    )
    if not last:
        row.button(
            "Skip this task" if skips else "Next",
            key="lesson_next",
            type="secondary" if skips or run.is_open_question else "primary",
            on_click=_go,
            args=(run.at + 1,),
            disabled=run.is_open_question,
        )
    row.button("Restart step", key="lesson_restart", on_click=_go, args=(run.at,))
    row.button(
        "Finish lesson" if last and not run.is_open_question else "Leave lesson",
        key="lesson_leave",
        on_click=_leave,
        help="Your own settings from before the lesson come back.",
    )
    if run.is_open_question:
        row.caption("Numbers, strip and test rows are hidden until you answer.")


def _go(index: int) -> None:
    with problems_shown():
        lesson_run.go(index)


def _leave() -> None:
    lesson_run.leave()
