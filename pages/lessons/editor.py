"""The editor: what Explore shows becomes a step of a lesson, saved as a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import streamlit as st

from pages.state import lesson_files, links, session, state_file, table_store
from pages.state.choice import MINE, Choice
from pages.state.context import resolve
from pages.ui import workspace
from pages.ui.file_download import download
from pages.ui.text import message
from smpcore import SmpcoreError
from smpcore.datasets import plural
from smpcore.readouts import READOUTS

_KINDS = (
    "Text only",
    "Question: predict a number",
    "Task: reach a value",
    "Question: mark where a prototype lies",
)
_ABOUT = {"title": "My lesson", "minutes": 10, "aim": "What the class should see."}


@dataclass
class Draft:
    """The lesson that a visit makes: its steps as they are written."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    #: The state that the next step begins with, if an answer leads away from it.
    begin: Choice | None = None
    problem: str = ""  # why the last step was not taken


def draft() -> Draft:
    """The lesson that this visit makes."""
    visit = session.get()
    visit.lesson_draft = visit.lesson_draft or Draft()
    return visit.lesson_draft


def show() -> None:
    """Add the current state as a step; download the lesson."""
    st.markdown("**Make a lesson**")
    made, choice = draft(), session.current()
    steps = made.steps
    st.caption(
        "Set up Explore as the step should begin, then describe it here. If an answer "
        "is to change the settings, choose Begin first, change them on Explore, and "
        "come back. Choices and locked controls can be added to the downloaded file; "
        "pages/state/lesson_files.py lists all that it can hold."
    )
    _beginning(made, choice)
    with st.form("lesson_step"):
        _fields()
        st.form_submit_button(
            "Save this state as a step", on_click=_add, args=(choice,)
        )
    if made.problem:
        message(st.error, made.problem)
    if not steps:
        return
    names = "; ".join(step["title"] for step in steps)
    message(st.caption, f"{plural(len(steps), 'step')} so far: {names}.")
    st.button("Remove the last step", key="lesson_pop", on_click=steps.pop)
    about = {
        "title": st.text_input("Title of the lesson", _ABOUT["title"], max_chars=100),
        "minutes": st.number_input("Minutes", 1, 240, _ABOUT["minutes"]),
        "aim": st.text_input("Aim", _ABOUT["aim"], max_chars=500),
    }
    try:
        content = _written(about, steps)
    except SmpcoreError as problem:
        message(st.error, str(problem))
        return
    download(
        "Download the lesson", lambda: content, "lesson.json", key="lesson_download"
    )


def _beginning(made: Draft, choice: Choice) -> None:
    """Begin a step, and what it begins with."""
    st.button(
        "Begin a step with this state",
        key="lesson_begin",
        on_click=_begin,
        args=(choice,),
        help="What you change on Explore from now on is what the answer shows.",
    )
    if made.begin is not None:
        shown = ", ".join(map("=".join, links.write_url(made.begin).items()))
        message(st.caption, f"The step begins with: {shown}.")


def _fields() -> None:
    """What describes a step."""
    st.text_input("Title of the step", key="step_title", max_chars=100)
    st.text_area("Text; formulas between $ signs", key="step_text", max_chars=2000)
    st.radio("The step has", _KINDS, horizontal=True, key="step_kind")
    names = {name: row.label for name, row in READOUTS.items() if row.value}
    first, second, third = st.columns(3)
    first.selectbox("Read-out", names, format_func=names.get, key="step_measure")
    second.number_input("At least (of a task)", value=95.0, key="step_least")
    third.number_input(
        "Right within (of a question)",
        min_value=0.0,
        value=1.0,
        key="step_within",
        help="Distance of a number, or of a place in the units of the axes.",
    )
    st.text_input("Question or task", key="step_ask", max_chars=2000)
    st.text_input("What is said after the answer", key="step_reveal", max_chars=2000)


def _begin(choice: Choice) -> None:
    draft().begin = choice


def _entry() -> dict[str, Any]:
    """The step that the fields describe."""
    said = st.session_state
    entry = {"title": said["step_title"], "text": said["step_text"]}
    kind, name, ask = said["step_kind"], said["step_measure"], said["step_ask"]
    within = {"within": said["step_within"]}
    if kind == _KINDS[2]:
        reach = [{"measure": name, "at_least": said["step_least"]}]
        entry["task"] = {"text": ask, "reach": reach}
    elif kind != _KINDS[0]:
        asked = {"number": {"measure": name, "of": "after"} | within}
        if kind == _KINDS[3]:
            asked = {"point": {"of": "after"} | within}
        entry["question"] = {"text": ask, "reveal": said["step_reveal"]} | asked
    return entry


def _add(choice: Choice) -> None:
    """Append the step, if a lesson of it alone could be opened."""
    made = draft()
    made.problem = ""
    begin = made.begin or choice
    try:
        entry = _entry() | _state(begin)
        then = _changes(begin, choice)
        if then and "question" in entry:
            entry["question"]["then"], entry["free"] = then, [*then]
        elif then:
            raise SmpcoreError(
                "Only the answer to a question changes settings: choose a question, or "
                "begin the step with the state that is shown now."
            )
        _written(_ABOUT, [entry])
    except SmpcoreError as problem:
        made.problem = str(problem)
        return
    made.steps.append(entry)
    made.begin = None


def _changes(begin: Choice, after: Choice) -> dict[str, str]:
    """What the answer changes: settings of the method, as a link has them."""
    if begin == after:
        return {}
    both = resolve(begin), resolve(after)
    old, new = ((c.data, c.method.key) for c in both)
    if old != new:
        raise SmpcoreError(
            "An answer changes settings of the method, not data or method: begin the "
            "step with the data and the method that are shown now."
        )
    before = both[0].values
    values = both[1].values.items()
    return {n: links.as_text(v) for n, v in values if before.get(n) != v}


def _state(choice: Choice) -> dict[str, Any]:
    """The choice as a step begins with it."""
    state = links.write_url(choice)
    for name in ("mine", "opened", "open"):
        state.pop(name, None)
    if choice.data != MINE:
        return {"state": state}
    if not workspace.is_drawn(choice):
        raise SmpcoreError(
            "A lesson holds no rows of an uploaded table; choose bundled data, draw "
            "points, or ask the operator to put the table into the folder SPE_DATA."
        )
    dataset, division = table_store.visit(choice.token)
    del state["data"]
    return {"state": state, "points": state_file.written_points(dataset, division)}


def _written(about: dict[str, Any], steps: list[dict[str, Any]]) -> bytes:
    """The lesson as a file that can be opened again."""
    content = {"format": lesson_files.FORMAT, **about, "steps": steps}
    data = msgspec.json.format(msgspec.json.encode(content), indent=1)
    lesson_files.read(data)
    return data
