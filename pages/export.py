"""How does this model run on a chip? How exact it is, what it takes, its files."""

from functools import partial

import streamlit as st

from pages.export import boards, formats, ranges, settings, usage
from pages.state import session
from pages.ui import exports
from pages.ui.elements import download, problems_shown, table
from pages.ui.glossary import define
from pages.ui.progress import is_waiting, visit_task
from pages.ui.text import escape_markdown, message
from smpcore.codegen import EMITTERS, PACKERS
from smpcore.evaluation import ComparedFormat


def _compare(form: ComparedFormat, forms: dict[str, ComparedFormat]) -> None:
    if problem := forms[chosen.number_format].problem:
        message(st.info, f"{problem} {form.name} is shown.")
    formats.table(formats.lines(made, forms, target.chip), target.chip)
    proof = f"On all open rows. **{form.name}:** {formats.proved(form)}"
    st.caption(proof, help=define("Proved equal", "Rows saturated"))
    st.caption(formats.form_quality(form, made))
    if differing := formats.differing(made, form):
        with st.expander(f"Rows for which {form.name} and float64 predictions differ"):
            table(differing)


def _files(form: ComparedFormat) -> None:
    real = st.toggle(
        "Include real training rows in the test vectors",
        value=exports.carries_real_rows(made.data),
        key=f"export_real_{made.data.dataset.digest}",
    )
    model = formats.as_exported(form, made)
    files = EMITTERS[target.files](model, chosen.prefix)
    make = partial(made.vectors, model, real)
    vectors = session.remembered("vectors", (key, form.name, real), make)
    origin = f"{vectors.n_real} of them real" if vectors.n_real else "all synthetic"
    if n_rows := model.n_training_rows:
        origin += f"; the model itself contains {n_rows} training rows"
    download(
        "Download the zip",
        partial(PACKERS[target.files], model, vectors, chosen.prefix),
        f"{chosen.prefix}.zip",
        type="primary",
        key="export_download",
        help="Includes a self-test that compares every score bit for bit.",
    )
    st.caption(f"Contains {len(vectors.rows)} test vectors, {origin}.")
    st.markdown(usage.lines(chosen.target, model, chosen.prefix, len(vectors.rows)))
    for tab, name in zip(st.tabs(list(files)), files, strict=True):
        tab.code(files[name].decode(), language="c", height=360)


context = session.resolved()
st.subheader("Export")
with problems_shown(stop=True):
    name = escape_markdown(context.data.dataset.name)
    operating = f" {context.operating}." if context.operating else ""
    st.caption(f"{context.method.title}, trained on {name}.{operating}")
chosen = settings.controls()
target = settings.TARGETS[chosen.target]
with problems_shown():  # the Python below can be had all the same
    opened = context.choice.open_test, context.times_opened
    key = context.key, context.operating, opened
    made = session.remembered("export", key, partial(exports.export, context))
    place = st.container()
    sensors = ranges.editor(made)
    key = key, tuple(sensors.items())
    task = visit_task("forms", key, partial(formats.forms, made, sensors))
    words = "Number formats compared on all open rows"
    if not is_waiting(task, settings.QUICK_SECONDS, words, stoppable=False):
        forms = task.result()
        form = formats.shown(forms, chosen.number_format)
        with place:
            _compare(form, forms)
            boards.section(made, form, target.chip, key)
        with problems_shown(st.error):
            _files(form)
with st.expander("The same model in Python"):
    with problems_shown():
        st.code(exports.python_of_choice(context), language="python")
session.show_url(session.current())
