"""Sparse Prototype Explorer: start-up and navigation."""

from pathlib import Path

import streamlit as st

from pages.shared import cached, links

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
        st.Page("pages/export.py", title="Export", icon=":material/memory:"),
    ],
    position="top",
)
links.show_url(links.current())
page.run()
