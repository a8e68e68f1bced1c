"""The editor: what Explore shows becomes a step of a lesson, saved as a file."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from pages.state import lesson_files, links, session, state_file, table_store
from pages.state.choice import MINE, Choice
from pages.ui import workspace
from pages.ui.elements import download
from pages.ui.text import message
from pages.work.lesson_measures import MEASURES
from smpcore import SmpcoreError
from smpcore.datasets import plural

_KINDS = ("Text only", "Question: predict a number", "Task: reach a value")
_ABOUT = {"title": "My lesson", "minutes": 10, "aim": "What the class should see."}


def show() -> None:
    """Add the current state as a step; download the lesson."""
    st.markdown("**Make a lesson**")
    steps, choice = session.get().lesson_steps, session.current()
    st.caption(
        "Set up Explore as the step should begin, then describe it here. Choices, "
        "locked controls and states after an answer are written into the downloaded "
        "file; assets/lessons/schema.json describes it."
    )
    with st.form("lesson_step"):
        _fields()
        st.form_submit_button(
            "Save this state as a step", on_click=_add, args=(choice,)
        )
    if problem := session.get().lesson_problem:
        message(st.error, problem)
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
    download("Download the lesson", content, "lesson.json", key="lesson_download")


def _fields() -> None:
    """What describes a step."""
    st.text_input("Title of the step", key="step_title", max_chars=100)
    st.text_area("Text; formulas between $ signs", key="step_text", max_chars=2000)
    st.radio("The step has", _KINDS, horizontal=True, key="step_kind")
    names = {name: row.label for name, row in MEASURES.items()}
    left, right = st.columns(2)
    left.selectbox("Read-out", names, format_func=names.get, key="step_measure")
    right.number_input("At least (of a task)", value=95.0, key="step_least")
    st.text_input("Question or task", key="step_ask", max_chars=2000)
    st.text_input("What is said after the answer", key="step_reveal", max_chars=2000)


def _entry() -> dict[str, Any]:
    """The step that the fields describe."""
    said = st.session_state
    entry = {"title": said["step_title"], "text": said["step_text"]}
    name, ask = said["step_measure"], said["step_ask"]
    if said["step_kind"] == _KINDS[1]:
        asked = {"measure": name, "of": "before"}
        reveal = said["step_reveal"]
        entry["question"] = {"text": ask, "number": asked, "reveal": reveal}
    if said["step_kind"] == _KINDS[2]:
        reach = [{"measure": name, "at_least": said["step_least"]}]
        entry["task"] = {"text": ask, "reach": reach}
    return entry


def _add(choice: Choice) -> None:
    """Append the step, if a lesson of it alone could be opened."""
    visit = session.get()
    visit.lesson_problem = ""
    try:
        entry = _entry() | _state(choice)
        _written(_ABOUT, [entry])
    except SmpcoreError as problem:
        visit.lesson_problem = str(problem)
        return
    visit.lesson_steps.append(entry)


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
    data = json.dumps(content, ensure_ascii=False, indent=1).encode()
    lesson_files.read(data)
    return data
