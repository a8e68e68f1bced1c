"""How small may it get? Scores on folds against what the models cost."""

from functools import partial

import pandas as pd
import streamlit as st

from pages.state import session
from pages.tradeoff import sweeps
from pages.ui import saved_page, tuner
from pages.ui.elements import problems_shown, progress_bar, stop_all
from pages.ui.text import message
from pages.work.slots import interactive_slot


def _progress(jobs: list) -> None:
    """How far the sweeps are, with Stop and Refine."""
    running = [job for job in jobs if job.running]
    done, fits = sum(job.n_done for job in jobs), sum(job.n_fits for job in jobs)
    left = [job.seconds_left for job in running if job.seconds_left is not None]
    waiting = running and not fits
    text = "Waiting for a free core" if waiting else f"{done} of {fits} fits"
    if left:
        text += f", about {sum(left):.0f} s left of what has begun"
    elif not running and done < fits:
        text += " finished: the rest was stopped"
    if running:
        stop = {"key": "sweep_stop", "on_click": stop_all, "args": (running,)}
        progress_bar(min(0.99, done / max(1, fits)), text, "Stop", **stop)
    else:
        help = "Up to 30 values of each method, each fit to the end."
        refine = {"key": "sweep_refine", "on_click": request.refine, "help": help}
        progress_bar(1.0, text, "Refine", **refine)


def _clicked(request: sweeps.SweepRequest, points: pd.DataFrame) -> None:
    picked = st.session_state["tradeoff_chart"].selection.points
    if picked and picked[0].get("customdata") in points.index:
        point = points.loc[picked[0]["customdata"]]
        st.session_state["point"] = sweeps.label(point)
        sweeps.use(request, point)


@interactive_slot()
def _choose(result: sweeps.SweepResult) -> None:
    """The twin of a click, and the model that is chosen."""
    rows = result.of_methods.itertuples()
    texts = {sweeps.label(row): row for row in rows}
    left, button, link = st.columns([5, 2, 2], vertical_alignment="bottom")
    picked = left.selectbox("Select a point", texts, key="point")
    button.button(
        "Use this model",
        key="use_point",
        on_click=sweeps.use,
        args=(request, texts[picked]),
        type="primary",
    )
    link.page_link("pages/explore.py", label="Open in Explore")
    if message_in_use := sweeps.in_use(session.resolved(), result, request):
        st.success(message_in_use)
        saved_page.offer(session.resolved())
    session.show_address(session.current())


def _results() -> None:
    pairs = request.jobs()
    jobs = [fine or first for first, fine in pairs]
    wait = sweeps.poll_interval(pairs)
    _progress(jobs)
    problems = dict.fromkeys(job.problem for job in jobs if job.problem)
    for words in dict.fromkeys(job.where for job in jobs if job.where):
        st.caption(words)
    for problem in problems:
        message(st.info, problem)
    if pairs:
        result = sweeps.gather(request, pairs)
        session.note_compared(context.table.name, "swept", result.points.index)
        for sentence in sweeps.failures(result, request.score):
            message(st.warning, sentence)
        if len(result.points):
            sweeps.chart(result, request, partial(_clicked, request, result.of_methods))
            if len(result.of_methods):
                _choose(result)
            sweeps.points_table(result, request)
        if not wait and not problems and (late := sweeps.unfinished(result, request)):
            st.info(late)
    # The whole page decides how often this is looked at, and follows a point.
    if wait != polling or session.resolved().key != context.key:
        st.rerun()


with problems_shown(stop=True):
    context = session.resolved()
    data = context.data
top, results, below = (st.container() for _ in range(3))
with top:
    request = sweeps.choose(context, below)
    tuner.button(st)
polling = sweeps.poll_interval(request.jobs())
with results:
    st.fragment(_results, run_every=polling)()
