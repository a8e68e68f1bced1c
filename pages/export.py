"""How does this model run on a chip? What it needs, how exact it is, and its files."""

from functools import partial

import streamlit as st

from pages.shared import exports, links, tables
from smpcore import EMITTERS, METHODS, ExportError, SmpcoreError


def _sizes(made: exports.Export) -> None:
    compiled = made.compiled
    needed = f"{len(compiled.inputs)} of {len(made.data.preparation.inputs)}"
    size = f"{compiled.table_bytes:,} bytes"
    with st.container(horizontal=True):
        st.metric("Inputs needed", needed, width=160)
        st.metric("Prototypes", made.n_prototypes, help=compiled.in_words, width=160)
        st.metric("Tables in flash", size, help=made.besides, width=200)
    for warning in compiled.warnings:
        st.warning(warning)


def _agreement(made: exports.Export) -> None:
    st.dataframe(made.agreements(), hide_index=True)
    st.caption(tables.plain(made.worth))
    st.caption(
        "The app computes in float64, the C file in float32, bit for bit as counted "
        f"here. {made.proof}"
    )


def _inputs(made: exports.Export) -> None:
    lines = []
    for entry in made.compiled.inputs:
        ends = f"{entry.low:.6g} to {entry.high:.6g}"
        missing = "no level" if entry.missing is None else f"{entry.missing:.6g}"
        seen = ", ".join(entry.levels) or ends
        lines.append({"column": entry.name, "in training": seen, "missing": missing})
    with st.expander("Inputs: the columns that the C code asks for"):
        st.dataframe(lines, hide_index=True, height="content")


def _files(made: exports.Export) -> None:
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    prefix = left.text_input("Prefix of every name", "mdl", key="export_prefix")
    real = right.toggle(
        "Put real training rows among the test vectors",
        value=exports.carries_real_rows(made.data),
        key=f"export_real_{made.data.dataset.digest}",
    )
    try:
        files = EMITTERS["c99"](made.compiled, prefix)
    except ExportError as error:
        st.error(tables.plain(str(error)))
        return
    vectors = made.vectors(real)
    told = f"{vectors.n_real} of them real" if vectors.n_real else "all synthetic"
    if held := made.compiled.n_training_rows:
        told += f"; the model itself holds {held} training rows"
    st.download_button(
        "Download the zip",
        data=partial(made.zip, real, prefix),
        file_name=f"{prefix}.zip",
        mime="application/zip",
        icon=":material/download:",
        on_click="ignore",
        key="export_download",
        help="Unpack, then `make`: compiles and compares every score bit for bit.",
    )
    st.caption(f"It holds {len(vectors.rows)} test vectors, {told}.")
    for tab, content in zip(st.tabs(list(files)), files.values(), strict=True):
        tab.code(content.decode(), language="c", height=360)


choice = links.current()
st.subheader("Export")
try:
    learned_on = tables.plain(choice.dataset().name)
    said = f"{METHODS[choice.method].title}, learned on {learned_on}."
    st.caption(said + (f" {choice.operating}." if choice.operating else ""))
    choice.parts()
except SmpcoreError as problem:
    st.info(tables.plain(str(problem)))
    st.stop()
try:
    export = exports.export(choice)
    for show in (_sizes, _agreement, _files, _inputs):
        show(export)
except SmpcoreError as problem:  # the Python below can be had all the same
    st.info(tables.plain(str(problem)))
with st.expander("The same model in Python"):
    try:
        st.code(exports.python_of_choice(choice), language="python")
    except SmpcoreError as problem:
        st.info(tables.plain(str(problem)))
