"""Lessons to choose from: those that ship, the operator's, and what was uploaded."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.state import lesson_files, session
from pages.state.lesson_files import Lesson
from pages.ui.text import message, short_label
from smpcore import SmpcoreError

#: Uploaded lessons that a visit holds; the oldest goes first.
MOST_UPLOADED = 20


def all_lessons() -> dict[str, Lesson | str]:
    """Lessons by the names of their files, or what is wrong with one."""
    uploaded = session.get().lessons.items()
    return lesson_files.listed() | {
        f"Uploaded: {name}": lesson_files.read(data) for name, data in uploaded
    }


def upload() -> None:
    """Open a lesson file for this visit; it is held in memory only."""
    file = st.file_uploader(
        "Open a lesson file",
        "json",
        key="lesson_file",
        max_upload_size=1,
        help="It is listed above for this visit only, and for nobody else.",
    )
    if file is not None and (problem := _taken(file)):
        message(st.error, problem)


def _taken(file: Any) -> str:
    """Keep an uploaded lesson; what is wrong with it otherwise."""
    lessons, name = session.get().lessons, short_label(file.name)
    data = file.getvalue()
    if lessons.get(name) == data:
        return ""
    try:
        lesson_files.read(data)
    except SmpcoreError as problem:
        return str(problem)
    lessons[name] = data
    for old in list(lessons)[:-MOST_UPLOADED]:
        del lessons[old]
    st.rerun()
    return ""
