"""Against what? Methods and baselines on the same rows, side by side."""

import streamlit as st

from pages.compare import contenders, maps
from pages.state import session
from pages.ui import pin
from pages.ui.text import escape_markdown
from pages.work import cache, comparisons
from smpcore import SmpcoreError, figures

POLL_SECONDS = 0.4
COLUMNS = 3
#: A bar of seven buttons over each map would be fifty stops for the keyboard.
BARE = {"displayModeBar": False}


def _progress(jobs: dict) -> bool:
    running = [job for job in jobs.values() if job.running]
    done = len(jobs) - len(running)
    bar, button = st.columns([5, 1], vertical_alignment="center")
    words = f"{done} of {len(jobs)} models fitted"
    if running:
        bar.progress(done / len(jobs), text=words)
    else:
        bar.caption(f"{words}.")
    if running and button.button("Stop", key="compare_stop", width="stretch"):
        for job in running:
            job.leave()
    stopped = [job for job in jobs.values() if job.missing]
    if stopped and not running:
        if button.button("Retry", key="compare_again", width="stretch"):
            for job in stopped:
                job.start()
            st.rerun()
    return bool(running)


def _panels(found: list, regions: maps.Maps) -> None:
    if regions.classes is not None:
        legend = figures.class_legend(regions.classes)
        st.plotly_chart(legend, key="classes", alt="Class markers", config=BARE)
    for place, one in enumerate(found):
        if place % COLUMNS == 0:
            columns = st.columns(COLUMNS)
        name = one.entry.title
        with columns[place % COLUMNS]:
            st.markdown(f"**{escape_markdown(name)}**")
            alt, key = f"Regions of {name}", f"map {one.entry}"
            st.plotly_chart(regions.of(one), key=key, alt=alt, config=BARE)
            st.caption(escape_markdown(contenders.told(one, data)))


def _two(found: list, regions: maps.Maps, part: str) -> None:
    two = contenders.two(asked, found)
    if two is None:
        return
    a, b = two
    figure = regions.difference(a, b)
    st.plotly_chart(figure, key="difference", alt="Where A and B differ")
    table = contenders.differences(found, a, data, part)
    st.caption(comparisons.about_differences(len(a.loss), part, data.dataset))
    st.dataframe(table, hide_index=True)


def _results() -> None:
    running = _progress(jobs)
    if running and search:
        for words in {job.where for job in jobs.values() if job.where}:
            st.caption(words)
    for problem in contenders.problems(jobs):
        st.info(escape_markdown(problem))
    part = contenders.judged_by(data)
    found = contenders.scored(jobs, context, part)
    if found:
        regions = maps.Maps(context, part)
        st.caption(escape_markdown(maps.note(regions, data, part)))
        _panels(found, regions)
        if len(found) > 1:
            _two(found, regions, part)
    if polling and not running:
        st.rerun()


st.subheader("Compare")
context = session.resolved()
try:
    data = context.data
except SmpcoreError as problem:
    st.info(escape_markdown(str(problem)))
    st.stop()
left, right = st.columns([1, 5], vertical_alignment="center")
pin.button(context, left)
if pinned := session.get().pinned:
    right.caption(escape_markdown(f"A: {pinned.title}, fitted on this data set."))
asked, search = contenders.entries(context)
jobs = {entry: cache.contender(data, entry, search) for entry in asked}
polling = any(job.running for job in jobs.values())
st.fragment(_results, run_every=POLL_SECONDS if polling else None)()
