"""Against what? Methods and baselines on the same rows, side by side."""

from typing import Any

import streamlit as st

from pages.compare import candidates, differences
from pages.state import session
from pages.ui.elements import problems_shown, progress_bar, start_all, stop_all
from pages.ui.text import escape_markdown, message
from pages.work import studies
from smpcore import figures
from smpcore.papers import shipped_advice

POLL_SECONDS = 0.4
COLUMNS = 3


def _progress(running: list) -> None:
    done, stopped = len(jobs) - len(running), [j for j in jobs.values() if j.missing]
    text = f"{done} of {len(jobs)} models fitted"
    if running:
        stop = {"key": "compare_stop", "on_click": stop_all, "args": (running,)}
        progress_bar(done / len(jobs), text, "Stop", **stop)
        for where in {job.where for job in running if search and job.where}:
            st.caption(where)
    else:
        start = {"key": "compare_again", "on_click": start_all, "args": (stopped,)}
        progress_bar(1.0, text, "Retry" if stopped else "", **start)


def _panels(scored: list[candidates.Scored], regions: candidates.Maps) -> None:
    if regions.classes is not None:
        legend = figures.class_legend(regions.classes)
        st.plotly_chart(
            legend, key="classes", alt="Class markers", config=differences.BARE
        )
    for place, one in enumerate(scored):
        if place % COLUMNS == 0:
            columns = st.columns(COLUMNS)
        name = one.entry.title
        with columns[place % COLUMNS]:
            st.markdown(f"**{escape_markdown(name)}**")
            alt, key = f"Regions of {name}", f"map {one.entry}"
            st.plotly_chart(regions.of(one), key=key, alt=alt, config=differences.BARE)
            words = candidates.summary(one, data) + regions.agreement(one)
            message(st.caption, words)


def _two(a: candidates.Scored, rest: list, scored: list, regions: Any) -> None:
    """Where A and another model differ."""
    b, _ = candidates.choose("B", rest, scored)
    if b is not None:
        figure = regions.difference(a, b)
        st.plotly_chart(figure, key="difference", alt="Where A and B differ")


def _results() -> None:
    running = [job for job in jobs.values() if job.running]
    _progress(running)
    for problem in candidates.problems(jobs):
        message(st.info, problem)
    part = data.scored_part
    scored = candidates.scored(jobs, context, part)
    if scored:
        a, rest = candidates.choose("A", entries, scored)
        differences.section(a, scored, context)
        regions = candidates.Maps(context, part)
        message(st.caption, candidates.note(regions, part))
        _panels(scored, regions)
        if a is not None and rest:
            _two(a, rest, scored, regions)
    if polling != bool(running):
        st.rerun()


with problems_shown(stop=True):
    context = session.resolved()
    data = context.data
entries, search = candidates.controls(context)
if pinned := session.get().pinned:
    message(st.caption, f"A: {pinned.title}, fitted on this data set.")
jobs = {entry: studies.candidate(data, entry, search) for entry in entries}
for job in jobs.values():
    job.join()
polling = any(job.running for job in jobs.values())
st.fragment(_results, run_every=POLL_SECONDS if polling else None)()
if context.task == "classification":
    message(st.caption, shipped_advice())
