"""How does this model run on a chip? How exact it is, what it takes, its files."""

from functools import partial

import streamlit as st

from pages.export import (
    boards,
    counts,
    files,
    formats,
    peers,
    python_lines,
    ranges,
    settings,
    streams,
)
from pages.state import session
from pages.state.session import Slot
from pages.ui import exports
from pages.ui.elements import (
    await_fit,
    is_waiting,
    problems_shown,
    table,
    trained_on,
    visit_task,
)
from pages.ui.text import message
from pages.work.tasks import Task
from smpcore.evaluation import ComparedFormat
from smpcore.live import define

_COMPILED, _FORMS = Slot[exports.Export]("export"), Slot[Task]("forms")


def _compare(form: ComparedFormat, forms: dict[str, ComparedFormat]) -> None:
    if problem := forms[chosen.number_format].problem:
        message(st.info, f"{problem} {form.name} is shown.")
    formats.table(formats.lines(made, forms, chosen.chip), chosen.chip)
    proof = f"On all open rows. **{form.name}:** {formats.proved(form)}"
    st.caption(proof, help=define("Proved equal", "Rows saturated"))
    st.caption(formats.form_quality(form, made))
    if differing := formats.differing(made, form):
        words = f"Rows for which {form.name} and float64 predictions differ"
        with st.expander(words, key="export_differing"):
            table(differing)


with problems_shown(stop=True):
    context = session.resolved()
    trained_on(context, f" {context.operating}." if context.operating else "")
chosen = settings.controls(exports.usual_name(context))
with problems_shown():  # the Python below can be had all the same
    await_fit(context)
    opened = context.choice.open_test, context.times_opened
    key = context.key, context.operating, opened
    made = _COMPILED.get_or_make(key, partial(exports.compiled, context))
    decision, place = st.container(), st.container()
    in_floats, made = made, counts.editor(made)
    stream, rate = streams.control(made, chosen.target)
    sensors = ranges.editor(made)
    if stream:
        sensors = stream.ranges(made.compiled, sensors)
    key = key, tuple(made.counts.items()), tuple(sensors.items()), stream
    task = visit_task(_FORMS, key, partial(formats.forms, made, sensors))
    words = "Number formats compared on all open rows"
    if not is_waiting(task, settings.QUICK_SECONDS, words, stoppable=False):
        forms = task.result()
        form = formats.shown(forms, chosen.number_format)
        sentences = decision.empty()
        with place:
            _compare(form, forms)
            known, fits = boards.section(
                made, form, chosen.chip, key, in_floats, stream, rate
            )
        sentences.markdown(f"{fits} {formats.decision(form)}".strip())
        with place:
            peers.section(made, form, chosen.chip, known.get(chosen.chip))
        with problems_shown(st.error):
            files.section(made, form, chosen, sensors, stream, key, decision)
with st.expander("The same model in Python", key="export_python"):
    with problems_shown():
        st.code(python_lines.python_of_choice(context), language="python")
session.show_address(session.current())
