"""How does this model run on a chip? How exact it is, what it takes, its files."""

from functools import partial

import streamlit as st

from pages.export import boards, formats, ranges, settings, usage
from pages.state import session
from pages.ui import exports
from pages.ui.text import escape_markdown
from smpcore import SmpcoreError
from smpcore.codegen import EMITTERS, PACKERS
from smpcore.errors import ExportError


def _compare(form: formats.Form, found: dict[str, formats.Form]) -> None:
    if problem := found[asked.number_format].problem:
        st.info(escape_markdown(f"{problem} {form.name} is shown."))
    formats.table(formats.lines(made, found, target.chip), target.chip)
    st.caption(f"On all open rows. **{form.name}:** {formats.told(form)}")
    st.caption(formats.worth(form, made))
    if differing := formats.differing(made, form):
        with st.expander(f"Rows for which {form.name} and float64 predictions differ"):
            st.dataframe(differing, hide_index=True)


def _files(form: formats.Form) -> None:
    real = st.toggle(
        "Include real training rows in the test vectors",
        value=exports.carries_real_rows(made.data),
        key=f"export_real_{made.data.dataset.digest}",
    )
    model = formats.as_exported(form, made)
    try:
        files = EMITTERS[target.files](model, asked.prefix)
    except ExportError as error:
        st.error(escape_markdown(str(error)))
        return
    make = partial(made.vectors, model, real)
    vectors = session.remembered("vectors", (key, form.name, real), make)
    told = f"{vectors.n_real} of them real" if vectors.n_real else "all synthetic"
    if held := model.n_training_rows:
        told += f"; the model itself contains {held} training rows"
    st.download_button(
        "Download the zip",
        data=partial(PACKERS[target.files], model, vectors, asked.prefix),
        file_name=f"{asked.prefix}.zip",
        mime="application/zip",
        icon=":material/download:",
        on_click="ignore",
        type="primary",
        key="export_download",
        help="Includes a self-test that compares every score bit for bit.",
    )
    st.caption(f"Contains {len(vectors.rows)} test vectors, {told}.")
    st.markdown(usage.lines(asked.target, model, asked.prefix, len(vectors.rows)))
    for tab, name in zip(st.tabs(list(files)), files, strict=True):
        tab.code(files[name].decode(), language="c", height=360)


context = session.resolved()
st.subheader("Export")
try:
    learned_on = escape_markdown(context.data.dataset.name)
    said = f"{context.method.title}, trained on {learned_on}."
    st.caption(said + (f" {context.operating}." if context.operating else ""))
except SmpcoreError as problem:
    st.info(escape_markdown(str(problem)))
    st.stop()
asked = settings.ask()
target = settings.TARGETS[asked.target]
try:
    key = settings.key(context)
    made = session.remembered("export", key, partial(exports.export, context))
    place = st.container()
    given = ranges.editor(made)
    key = key, tuple(given.items())
    job = settings.begun("forms", key, partial(formats.forms, made, given))
    if not settings.waits(job, "Number formats compared on all open rows"):
        found = job.result()
        shown = formats.shown(found, asked.number_format)
        with place:
            _compare(shown, found)
            boards.section(made, shown, target.chip, key)
        _files(shown)
except SmpcoreError as problem:  # the Python below can be had all the same
    st.info(escape_markdown(str(problem)))
with st.expander("The same model in Python"):
    try:
        st.code(exports.python_of_choice(context), language="python")
    except SmpcoreError as problem:
        st.info(escape_markdown(str(problem)))
session.show_url(session.current())
