"""Messages above every page."""

from __future__ import annotations

import math
from contextlib import suppress

import streamlit as st

from pages.state import session, table_store
from pages.state.choice import Choice
from pages.ui.text import escape_markdown
from pages.work import visitors
from smpcore import SmpcoreError
from smpcore.datasets import list_names, plural

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
