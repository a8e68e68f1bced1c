"""How small may it get? Scores on folds against what the models cost."""

from functools import partial

import pandas as pd
import streamlit as st

from pages.state import session
from pages.tradeoff import charts, operating_point, sweeps
from pages.ui.text import escape_markdown
from pages.work.slots import interactive_slot
from smpcore import SmpcoreError


def _progress(jobs: list) -> None:
    """How far the sweeps are, with Stop and Refine."""
    running = [job for job in jobs if job.running]
    done, fits = sum(job.n_found for job in jobs), sum(job.n_fits for job in jobs)
    left = [job.seconds_left for job in running if job.seconds_left is not None]
    text = f"{done} of {fits} fits" if fits else "Waiting for a free core"
    if left:
        text += f", about {sum(left):.0f} s left of what has begun"
    elif not running and done < fits:
        text += " finished: a first sweep ends after two seconds, or at Stop"
    bar, button = st.columns([5, 1], vertical_alignment="center")
    bar.progress(min(1.0, done / max(1, fits)), text=text)
    if running:
        button.button("Stop", key="sweep_stop", on_click=sweeps.stop, args=(running,))
    else:
        button.button(
            "Refine",
            key="sweep_refine",
            on_click=asked.refine,
            help="Up to 30 values of each method, each fit to the end.",
        )


def _clicked(asked: sweeps.SweepRequest, points: pd.DataFrame) -> None:
    picked = st.session_state["tradeoff_chart"].selection.points
    if picked and picked[0].get("customdata") in points.index:
        sweeps.use(asked, points.loc[picked[0]["customdata"]])


@interactive_slot()
def _choose(found: sweeps.SweepResult) -> None:
    """The twin of a click, and the model that is chosen."""
    rows = found.of_methods.itertuples()
    texts = {sweeps.label(row): row for row in rows}
    left, button, link = st.columns([5, 2, 2], vertical_alignment="bottom")
    picked = left.selectbox("Select a point", texts, key="point")
    button.button(
        "Use this model",
        key="use_point",
        on_click=sweeps.use,
        args=(asked, texts[picked]),
        type="primary",
    )
    link.page_link("pages/explore.py", label="Open in Explore")
    if told := sweeps.in_use(session.resolved(), found, asked):
        st.success(told)
    session.show_url(session.current())


def _results() -> None:
    pairs = asked.jobs()
    jobs = [fine or first for first, fine in pairs]
    pace = sweeps.pace(pairs)
    _progress(jobs)
    problems = dict.fromkeys(job.problem for job in jobs if job.problem)
    for words in dict.fromkeys(job.where for job in jobs if job.where):
        st.caption(words)
    for problem in problems:
        st.info(escape_markdown(problem))
    if pairs:
        found = sweeps.gather(asked, pairs)
        for sentence in charts.failures(found, asked.score):
            st.warning(escape_markdown(sentence))
        if len(found.points):
            charts.show(found, asked, partial(_clicked, asked, found.of_methods))
            if len(found.of_methods):
                _choose(found)
            charts.table_twin(found, asked)
        if not pace and not problems and (late := charts.unfinished(found, asked)):
            st.info(late)
    # The whole page decides how often this is looked at, and follows a point.
    if pace != polling or session.resolved().key != context.key:
        st.rerun()


st.subheader("Trade-off")
try:
    context = session.resolved()
    data = context.data
except SmpcoreError as problem:
    st.info(escape_markdown(str(problem)))
    st.stop()
asked = sweeps.ask(context)
polling = sweeps.pace(asked.jobs())
st.fragment(_results, run_every=polling)()
operating_point.section()
