"""The dialog in which a visit is saved as a file and opened again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.state import lesson_run, session, state_file
from pages.state.choice import MINE, Choice
from pages.ui import workspace
from pages.ui.elements import is_dialog_wanted, problems_shown, want_dialog
from pages.ui.file_download import download
from pages.ui.text import message
from smpcore import SmpcoreError


def button(choice: Choice) -> None:
    """The way to the file from every page: at the right of the bar of pages."""
    st.button(
        "Save and open",
        key="workspace",
        icon=":material/save:",
        type="tertiary",
        on_click=_want_dialog,
        help="Save all settings and notes to a file, or open one.",
    )
    if is_dialog_wanted("workspace"):
        _dialog(choice)


def _want_dialog() -> None:
    want_dialog("workspace")
    visit = session.get()
    visit.workspace_message = "", ""
    visit.editions["workspace"] += 1  # else the last file is sent once more


@st.dialog("Save and open", icon=":material/save:")
def _dialog(choice: Choice) -> None:
    visit = session.get()
    level, text = visit.workspace_message
    if level == "done":
        visit.workspace_message = "", ""
        st.toast(text)
        st.rerun()
    with problems_shown():
        _save(choice)
    file = st.file_uploader(
        "Open a saved state",
        "json",
        key=f"workspace_file_{visit.editions['workspace']}",
        max_upload_size=1,
    )
    is_locked = lesson_run.hides_numbers()
    st.button(
        "Open",
        key="workspace_open",
        on_click=_open,
        args=(file, choice),
        disabled=file is None or is_locked,
    )
    usual = "Replaces the current settings; notes on other models are kept."
    st.caption("Answer the lesson's question first." if is_locked else usual)
    if text:
        message(st.error if level == "error" else st.info, text)


def _save(choice: Choice) -> None:
    with_points = workspace.is_drawn(choice) and st.checkbox(
        "Include my points",
        key="workspace_points",
        help="Otherwise the file contains no rows of the table.",
    )
    content = state_file.write(workspace.gather(choice, with_points))
    download(
        "Save", lambda: content, "state.json", key="workspace_save", type="primary"
    )
    st.caption(
        "The file contains no rows of your table, but the names of its columns, their "
        "roles and the cleaning steps."
        if choice.data == MINE and not with_points
        else "Settings, names and notes on prototypes, the pinned model, and how often "
        "test rows were opened."
    )


def _open(file: Any, before: Choice) -> None:
    try:
        waits = workspace.put(state_file.read(file.getvalue()), before)
    except SmpcoreError as problem:
        session.get().workspace_message = "error", str(problem)
        return
    done = "done", "The saved state was opened."
    session.get().workspace_message = ("info", waits) if waits else done
