"""What does the model say about new rows? A second file, answered row by row."""

import streamlit as st

from pages.apply import new_rows, validation
from pages.state import session
from pages.ui import fold_scores
from pages.ui.elements import await_fit, problems_shown, trained_on
from pages.ui.text import message
from pages.work import cache
from smpcore.codegen import used_inputs
from smpcore.datasets import only_compared

with problems_shown(st.error, stop=True):
    context = session.resolved()
    data = context.data
    trained_on(context)
    file = new_rows.upload(data)
    await_fit(context)
    model = context.model()
    used = used_inputs(model, data.preparation)
    # Forbidden columns are checked, too: no model uses them, the file may have them.
    whole = cache.computed.parts(context.whole, data.split).preparation
    if file is None:
        new_rows.expected(data, used)
        st.stop()
    matched = new_rows.matched(file, data, used, whole)
    if matched is None:
        st.stop()
    answers = new_rows.answers(context, model, file, matched, whole)
if notices := file.content.attrs.get("notices"):
    message(st.info, " ".join(notices))
for notice in matched.notices:
    message(st.warning, notice)
new_rows.summary(model, answers)
fold_scores.offer_calibration(context)
where = new_rows.known(file, data, matched)
new_rows.overlap(where, context.open_test)
if matched.labels is not None:
    scored = new_rows.counted(where, context.open_test)
    recalibrated = new_rows.read_out(context, model, file, matched, answers, scored)
    if recalibrated is not None:
        answers = validation.with_probabilities(answers, model.classes, recalibrated)
is_table = not only_compared(data.dataset)  # what follows is about columns
if is_table:
    validation.drift(data, file, matched, used)
    answers = new_rows.with_points(context, matched, answers)
names = new_rows.carried(file, data)
new_rows.shown(file, names, answers)
if is_table:
    new_rows.sheet(context, file, matched, file.content[names])
