"""Sparse Prototype Explorer: start-up and navigation."""

import os
from pathlib import Path

import streamlit as st

# One core a visitor: threads that wait for their share of a small product take most of
# the time of a fit. scikit-learn reads this when it is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pages.shared import cached, desk, forbidding, links, own, tables
from pages.shared.choice import MINE

st.set_page_config(
    page_title="Sparse Prototype Explorer",
    page_icon="assets/icon.svg",
    layout="wide",
    initial_sidebar_state="collapsed",
)
st.html(Path("assets/style.css"))
cached.start_up()
page = st.navigation(
    [
        st.Page(
            "pages/explore.py",
            title="Explore",
            icon=":material/explore:",
            default=True,
        ),
        st.Page("pages/data.py", title="Data", icon=":material/table:"),
        st.Page("pages/prototypes.py", title="Prototypes", icon=":material/interests:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/compare:"),
        st.Page(
            "pages/tradeoff.py", title="Trade-off", icon=":material/stacked_line_chart:"
        ),
        st.Page("pages/apply.py", title="Apply", icon=":material/fact_check:"),
        st.Page("pages/export.py", title="Export", icon=":material/memory:"),
    ],
    position="top",
)
choice = desk.current()
links.show_url(choice)
desk.entrance(choice)
if choice.data == MINE:
    own.announce_expiry(choice.token)
if page.url_path:  # the figure of the first page says all of this itself, as it changes
    forbidding.remind(choice)
    for notice in links.take_notices():
        st.warning(tables.plain(notice))
page.run()
links.show_url(links.current())  # what the page was told is linked and kept too
desk.keep(links.current())
