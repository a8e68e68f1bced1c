"""The controls that search OpenML and fetch from it."""

from __future__ import annotations

import streamlit as st

from pages.state import session
from pages.state.app_figure import set_values
from pages.ui.text import message
from pages.work import openml_sets
from pages.work.openml_sets import Download

POLL_SECONDS = 0.4


def _search() -> None:
    text = st.session_state["openml_text"]
    session.get().openml_search = openml_sets.search(text)


def _fetch(number: int) -> None:
    session.get().openml_wanted = number
    openml_sets.begin(number)


def controls() -> None:
    """Search by name or id, choose, fetch."""
    with st.form("openml", border=False):
        left, right = st.columns([4, 1], vertical_alignment="bottom")
        left.text_input(
            "Name, a part of it, or OpenML's id",
            key="openml_text",
            max_chars=100,
            help="Only this asks anything of the internet: openml.org gets your search "
            "once a day as a request for its whole list, and the id that you fetch.",
        )
        right.form_submit_button("Search", on_click=_search, width="stretch")
    visit = session.get()
    search, wanted = visit.openml_search, visit.openml_wanted
    download = None if wanted is None else openml_sets.begin_once(wanted)
    polling = any(one.running for one in (search, download) if one is not None)
    interval = POLL_SECONDS if polling else None
    st.fragment(_shown, run_every=interval)(search, download, polling)


def _shown(search: Download | None, download: Download | None, polling: bool) -> None:
    running = [one for one in (search, download) if one is not None and one.running]
    for place, one in enumerate(running):
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.caption(f"{one.message or 'Waiting'} … {one.seconds:.0f} s")
        right.button("Stop", key=f"openml_stop_{place}", on_click=one.leave)
    if search is not None and not search.running:
        _results(search)
    if download is not None and not download.running:
        _arrived(download)
    elif polling and not running:
        st.rerun()


def _results(search: Download) -> None:
    if search.problem:
        message(st.warning, search.problem)
        return
    listed = dict(search.content)
    if not listed:
        st.info(
            "OpenML lists no active data set of that name that is small enough to be "
            "read here; try a part of the name, or the id."
        )
        return
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    number = left.selectbox(
        f"Found: {len(listed)}"
        + ("" if len(listed) < openml_sets.MOST_LISTED else " or more"),
        listed,
        format_func=listed.get,
        key="openml_choice",
    )
    right.button(
        "Fetch",
        key="openml_fetch",
        on_click=_fetch,
        args=(number,),
        type="primary",
        width="stretch",
    )


def _arrived(download: Download) -> None:
    """Choose what was fetched; or say why nothing came."""
    visit = session.get()
    wanted, visit.openml_wanted = visit.openml_wanted, None
    if not download.done:
        others = "Stopped here; it is still being fetched for another visitor."
        visit.notices.append(others)
    elif download.problem:
        visit.notices.append(download.problem)
    else:
        key = f"{openml_sets.PREFIX}{wanted}"
        openml_sets.load(key)
        visit.fetched.add(key)
        session.choose_data(set_values(session.current(), {"data": key}))
    st.rerun()
