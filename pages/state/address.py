"""The address bar: it has the choice and the controls, and Back leads to older ones."""

from __future__ import annotations

import streamlit as st

from pages.state import links, session
from pages.state.choice import Choice
from pages.work import visitors


def show(choice: Choice) -> None:
    """Write choice and controls into the address bar, where it may not have them."""
    visit = session.get()
    wanted = links.write_url(choice) | links.write_controls(visit.widget_texts)
    wanted |= {"present": "1"} if visit.live.present else {}
    if run := visit.lesson:  # a reload comes back to it
        wanted |= run.link
    is_new = visit.address != wanted
    # What was written and not answered yet may come to the browser after Back, and take
    # the place of the address that Back led to.
    is_late = is_new and visit.address and not visit.has_address
    if is_late or st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)
        visit.has_address = False
    elif is_new:
        visit.has_address = True
    visit.address = wanted


def read() -> None:
    """Notice that the browser has what was written last.

    To be called where a run begins: later the parameters are what it has written.
    """
    if session.is_new():  # nothing was written; what is kept of a visit comes later
        return
    visit = session.get()
    if not visit.has_address:  # or it goes on having it
        visit.has_address = st.query_params.to_dict() == visit.address


def was_left() -> bool:
    """Whether Back or Forward led to another address.

    Streamlit forgets it where a message of the page comes before it has begun with
    that. But once the browser had an address, it has another one for no other reason.
    """
    visit, query = session.get(), st.query_params.to_dict()
    has_moved = visit.has_address and "data" in query and query != visit.address
    return has_moved or visitors.came_by_history()
