"""How does this model run on a chip? How exact it is, what it takes, its files."""

from functools import partial

import streamlit as st

from pages.export import boards, files, formats, python_lines, ranges, settings
from pages.state import session
from pages.ui import exports
from pages.ui.text import escape_markdown
from smpcore import SmpcoreError


def _compare(form: formats.Form, found: dict[str, formats.Form]) -> None:
    if problem := found[asked.number_format].problem:
        st.info(escape_markdown(f"{problem} {form.name} is shown."))
    formats.table(formats.lines(made, found, asked.chip), asked.chip)
    st.caption(f"On all open rows. **{form.name}:** {formats.told(form)}")
    st.caption(formats.worth(form, made))
    if differing := formats.differing(made, form):
        with st.expander(f"Rows for which {form.name} and float64 predictions differ"):
            st.dataframe(differing, hide_index=True)


context = session.resolved()
st.subheader("Export")
try:
    learned_on = escape_markdown(context.data.dataset.name)
    said = f"{context.method.title}, trained on {learned_on}."
    st.caption(said + (f" {context.operating}." if context.operating else ""))
except SmpcoreError as problem:
    st.info(escape_markdown(str(problem)))
    st.stop()
asked = settings.ask(exports.usual_name(context))
try:
    key = settings.key(context)
    made = session.remembered("export", key, partial(exports.compiled, context))
    place = st.container()
    given = ranges.editor(made)
    key = key, tuple(given.items())
    job = settings.begun("forms", key, partial(formats.forms, made, given))
    if not settings.waits(job, "Number formats compared on all open rows"):
        found = job.result()
        shown = formats.shown(found, asked.number_format)
        with place:
            _compare(shown, found)
            boards.section(made, shown, asked.chip, key)
        files.section(made, shown, asked, given, key)
except SmpcoreError as problem:  # the Python below can be had all the same
    st.info(escape_markdown(str(problem)))
with st.expander("The same model in Python"):
    try:
        st.code(python_lines.python_of_choice(context), language="python")
    except SmpcoreError as problem:
        st.info(escape_markdown(str(problem)))
session.show_url(session.current())
