"""Start-up and navigation: what every page begins and ends with."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

import streamlit as st

from pages.state import lesson_run, session, table_store
from pages.ui import lesson_bar, workspace
from pages.ui.text import escape_markdown
from pages.work import middleware, visitors
from smpcore import SmpcoreError
from smpcore.datasets import list_names, plural
from smpcore.live import MINE, Choice

#: A warning is shown so long before a table expires.
WARNED_SECONDS = 5 * 60


@st.fragment(run_every=60)
def announce_expiry(token: str) -> None:
    """Say a few minutes before a table expires that it will; its file goes with it."""
    left = table_store.seconds_left(token)
    visit = session.get()
    before, visit.table_here = visit.table_here, token if left else ""
    if not left and before == token:
        visitors.drop_files()
        st.rerun()
    if 0 < left < WARNED_SECONDS:
        minutes = max(1, math.ceil(left / 60))
        st.warning(
            f"Your table expires in {plural(minutes, 'minute')}, as nothing was done "
            "here for a while."
        )
        st.button(
            "Keep my table",
            key="keep_table",
            on_click=table_store.is_drawing,
            args=(token,),
        )


def show_forbidden(choice: Choice) -> None:
    """Say on a page what its models do without."""
    if not choice.forbidden:
        return
    names = escape_markdown(list_names(choice.forbidden, 8))
    st.caption(f":material/block: Trained without {names}, forbidden on Prototypes.")


def show_sample() -> None:
    """Say on a page that the data are a sample of the rows of a file."""
    with suppress(SmpcoreError):  # the page says so where it needs the data
        table = session.resolved().table
        if n_rows := table.reading and table.reading.sampled_from:
            words = f"A sample of {table.n_samples:,} of {n_rows:,} rows."
            st.caption(f":material/filter_alt: {words}")


#: How often a student's page looks whether the teacher has moved the class.
FOLLOW_SECONDS = 1.5

PRODUCT = "Sparse Prototype Explorer"
#: Title, icon and question of each page, in the order of the bar; the figure of the
#: first one says what it shows.
_PAGES = {
    "Explore": ("explore", ""),
    "Data": (
        "table",
        "What is in the table, what is each column for, and which rows test it?",
    ),
    "Prototypes": (
        "interests",
        "What has the model learned, and why does it answer as it does?",
    ),
    "Compare": ("compare", "Which model is better on the same rows, and by how much?"),
    "Trade-off": (
        "stacked_line_chart",
        "How small may a model get before its answers suffer?",
    ),
    "Performance": (
        "monitoring",
        "How good is the model on rows that it was not fitted on, and for whom?",
    ),
    "Apply": ("fact_check", "What does the model say about new rows?"),
    "Export": (
        "memory",
        "Does the model fit on the chip, and are its answers the same there?",
    ),
    "Lessons": ("school", "A question first: predict, then see the figure's answer."),
    "Papers": ("article", "What holds of five papers, and what is measured here?"),
    "Guide": ("help", "How is it done? Teaching, tables, exports, the library."),
}


def _pages() -> list[st.Page]:
    """Every page, in the order of the bar."""
    return [
        st.Page(
            f"pages/{title.replace('-', '').lower()}.py",
            title=title,
            icon=f":material/{icon}:",
            default=title == "Explore",
        )
        for title, (icon, _) in _PAGES.items()
    ]


def run() -> None:
    """Show the page that is open."""
    st.set_page_config(
        page_title=PRODUCT,
        page_icon="assets/icon.svg",
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    st.html(Path("assets/style.css"))
    choice = _chosen()
    if (taken := lesson_run.current()) and taken.student:
        # In front of all that comes and goes: a browser takes blocks by their place.
        st.fragment(_follow_class, run_every=FOLLOW_SECONDS)()
    # `?embed=true`: a frame of another page has one page of the app, without the bar.
    is_wall = taken is not None and taken.is_wall
    position = "hidden" if st.context.is_embedded or is_wall else "top"
    page = st.navigation(_pages(), position=position)
    if is_wall and page.title != "Lessons":
        st.switch_page("pages/lessons.py")
    if is_wall:
        page.run()
        return
    session.turn_to(page.url_path)
    _show_state(choice, is_first_page=not page.url_path)
    if page.url_path and page.title != "Lessons":  # Explore shows it with its figure
        lesson_bar.show()
    if not lesson_bar.closes(page.title):
        _show_title(page.title)
        page.run()
    # Values set on this page are linked and kept too.
    session.show_address(session.current())
    workspace.keep(session.current())


def _show_title(title: str) -> None:
    """The page's title and its question; over Explore's controls the product's name."""
    question = _PAGES[title][1]
    key = "title" if question else "first_title"
    head = st.container(key=key, horizontal=True, vertical_alignment="bottom")
    head.title(title, anchor=False, width="content")
    head.caption(question or PRODUCT, width="content")


def _follow_class() -> None:
    """Run the page again where the teacher has moved the class."""
    if lesson_run.is_behind():
        st.rerun()


def _chosen() -> Choice:
    """What is chosen, and the address bar as that has it.

    The settings go out before the page, of whose address and settings the browser then
    makes one step of its history. Behind the page they were a second one: Back led from
    the page with its settings to the page without them.
    """
    session.read_address()
    workspace.current()
    lesson_bar.begin_by_link()
    lesson_run.follow()
    choice = session.current()
    session.show_address(choice)
    return choice


def _show_state(choice: Choice, is_first_page: bool) -> None:
    """What every page shows above itself; the first page's figure shows notices."""
    if not st.context.is_embedded:
        workspace.save_and_open(choice)
    if problem := middleware.take_refusal():
        st.error(problem)
    if choice.data == MINE:
        announce_expiry(choice.token)
    if not is_first_page:
        show_forbidden(choice)
        show_sample()
        for notice in session.take_notices():
            st.warning(escape_markdown(notice))
