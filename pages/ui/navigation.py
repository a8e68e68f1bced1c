"""Start-up and navigation: what every page begins and ends with."""

from pathlib import Path

import streamlit as st

from pages.state import session
from pages.state.choice import MINE
from pages.ui import notices, workspace
from pages.ui.text import escape_markdown
from pages.work import cache


def run() -> None:
    """Show the page that is open."""
    st.set_page_config(
        page_title="Sparse Prototype Explorer",
        page_icon="assets/icon.svg",
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    st.html(Path("assets/style.css"))
    cache.start_up()
    page = st.navigation(
        [
            st.Page(
                "pages/explore.py",
                title="Explore",
                icon=":material/explore:",
                default=True,
            ),
            st.Page("pages/data.py", title="Data", icon=":material/table:"),
            st.Page(
                "pages/prototypes.py", title="Prototypes", icon=":material/interests:"
            ),
            st.Page("pages/compare.py", title="Compare", icon=":material/compare:"),
            st.Page(
                "pages/tradeoff.py",
                title="Trade-off",
                icon=":material/stacked_line_chart:",
            ),
            st.Page("pages/apply.py", title="Apply", icon=":material/fact_check:"),
            st.Page("pages/export.py", title="Export", icon=":material/memory:"),
        ],
        position="top",
    )
    choice = workspace.current()
    session.show_url(choice)
    workspace.entrance(choice)
    if choice.data == MINE:
        notices.announce_expiry(choice.token)
    if (
        page.url_path
    ):  # the figure of the first page says all of this itself, as it changes
        notices.remind(choice)
        for notice in session.take_notices():
            st.warning(escape_markdown(notice))
    page.run()
    session.show_url(session.current())  # what the page was told is linked and kept too
    workspace.keep(session.current())
