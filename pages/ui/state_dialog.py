"""The dialog in which a visit is saved as a file and opened again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.state import session, state_file
from pages.state.choice import MINE, Choice
from pages.ui import workspace
from pages.ui.text import escape_markdown
from smpcore import SmpcoreError


def _ask() -> None:
    visit = session.get()
    visit.workspace_wanted = True
    visit.editions["workspace"] += 1


def entrance(choice: Choice) -> None:
    """The way to the file from every page: a button beside the pages."""
    st.sidebar.button(
        "Save and open",
        key="workspace",
        icon=":material/save:",
        on_click=_ask,
        help="Save all settings and notes to a file, or open one.",
    )
    visit = session.get()
    if visit.workspace_wanted:
        visit.workspace_wanted, visit.workspace_said = False, ("", "")
        _dialog(choice)


@st.dialog("Save and open", icon=":material/save:")
def _dialog(choice: Choice) -> None:
    visit = session.get()
    level, said = visit.workspace_said
    if level == "done":
        visit.workspace_said = "", ""
        st.toast(said)
        st.rerun()
    try:
        _save(choice)
    except SmpcoreError as problem:
        st.info(escape_markdown(str(problem)))
    file = st.file_uploader(
        "Open a saved state",
        "json",
        key=f"workspace_file_{visit.editions['workspace']}",  # no file of the last time
        max_upload_size=1,
    )
    st.button(
        "Open",
        key="workspace_open",
        on_click=_open,
        args=(file, choice),
        disabled=file is None,
    )
    st.caption("Replaces the current settings; notes on other models are kept.")
    if said:
        show = st.error if level == "error" else st.info
        show(escape_markdown(said))


def _save(choice: Choice) -> None:
    with_points = workspace.is_drawn(choice) and st.checkbox(
        "Include my points",
        key="workspace_points",
        help="Otherwise the file contains only the name of the table.",
    )
    content = state_file.write(workspace.gather(choice, with_points))
    st.download_button(
        "Save",
        data=content,
        file_name="state.json",
        mime="application/json",
        icon=":material/download:",
        on_click="ignore",
        key="workspace_save",
        type="primary",
    )
    if choice.data == MINE and not with_points:
        st.caption("The file contains the name of your table, not its rows.")
    else:
        st.caption(
            "Settings, names and notes on prototypes, the pinned model, and how "
            "often test rows were opened."
        )


def _open(file: Any, before: Choice) -> None:
    try:
        waits = workspace.put(state_file.read(file.getvalue()), before)
    except SmpcoreError as problem:
        session.get().workspace_said = "error", str(problem)
        return
    said = ("info", waits) if waits else ("done", "The saved state was opened.")
    session.get().workspace_said = said
