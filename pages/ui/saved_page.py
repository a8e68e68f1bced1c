"""The figure as one file that needs no server."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from pages.state import lesson_run, links
from pages.ui import qr
from pages.ui.elements import download
from pages.work import slots
from smpcore.live import MINE, Choice, Context, saved_page, second_control


def offer(context: Context) -> None:
    """A button that saves the figure of a model; rows of an upload only if wanted."""
    if lesson_run.current():
        return
    with st.popover("Save as a page", key="save_page", icon=":material/web:"):
        st.markdown(
            "One file with the live figure of this model and the solved values of its "
            "main slider. It needs no server and no network."
        )
        private = context.data.dataset.private
        with_rows = not private or st.checkbox(
            "With the rows of my table",
            key="save_page_rows",
            help="Without them the file holds names, regions, numbers and prototypes. "
            "Prototypes that are rows of the table are in it all the same.",
        )
        other = second_control(context)
        second = other is not None and st.checkbox(
            f"With a second slider: {other.label}",
            key="save_page_second",
            help="Fewer values of each; it takes some seconds.",
        )
        turn = slots.interactive_slot
        download(
            "Save",
            lambda: saved_page(
                context, _address(context.choice), with_rows, turn, second
            ),
            "figure.html",
            key="save_page_file",
        )


def _address(choice: Choice) -> str:
    """Of the same figure in the app, or what to add to its address."""
    if choice.data == MINE:
        return ""
    query = links.write_url(choice)
    here = qr.address(query)
    return f"?{urlencode(query)}" if qr.is_local(here) else here
