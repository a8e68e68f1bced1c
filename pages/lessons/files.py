"""Lesson files of this browser, beside those that are listed for all."""

from __future__ import annotations

import streamlit as st

from pages.state import lesson_files, session
from pages.state.lesson_files import Lesson
from pages.ui.elements import problems_shown
from pages.ui.text import short_label
from pages.work import visitors
from pages.work.store import KEEP_SECONDS, Store

#: Lessons that a browser has; the oldest goes first.
MOST_LESSONS = 20
#: Browser -> its lesson files by name: all of them, and those of one.
_files = Store(
    100_000_000,
    MOST_LESSONS * lesson_files.MOST_BYTES,
    KEEP_SECONDS,
    size=lambda files: sum(map(len, files.values())),
)


def of_browser() -> dict[str, bytes]:
    """Lesson files that this browser has made or opened, by name."""
    browser = visitors.browser()
    files = _files.get(browser) if browser else None
    return session.get().lessons if files is None else files


def keep(name: str, data: bytes) -> None:
    """Keep a lesson file for this browser, also over a reload; empty: forget it."""
    files = {one: content for one, content in of_browser().items() if one != name}
    files |= {name: data} if data else {}
    files = dict(list(files.items())[-MOST_LESSONS:])
    session.get().lessons = files
    if browser := visitors.browser():
        _files.put(browser, files)


def all_lessons() -> dict[str, Lesson | str]:
    """Lessons by the names of their files, or what is wrong with one."""
    return lesson_files.listed() | {
        f"Yours: {name}": lesson_files.read(data) for name, data in of_browser().items()
    }


def upload() -> None:
    """Open a lesson file; it is held in memory only."""
    editions = session.get().editions
    file = st.file_uploader(
        "Open a lesson file",
        "json",
        key=f"lesson_file_{editions['lesson_file']}",
        max_upload_size=1,
        help="It is listed below in this browser only, for half an hour after your "
        "last visit.",
    )
    if file is None:
        return
    with problems_shown(st.error):
        lesson_files.read(data := file.getvalue())
        keep(short_label(file.name), data)
        editions["lesson_file"] += 1  # else it would come again after an edit
        editions["lesson_edited"] += 1
        st.rerun()
