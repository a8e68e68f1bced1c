"""How does this model run on a chip? What it needs, how exact it is, and its files."""

from functools import partial

import streamlit as st

from pages.shared import exports, links
from smpcore import EMITTERS, METHODS, ExportError, SmpcoreError


def _sizes(made: exports.Export) -> None:
    compiled = made.compiled
    inputs, rows, tables = st.columns(3)
    needed = f"{len(compiled.inputs)} of {len(made.data.preparation.inputs)}"
    inputs.metric("Inputs needed", needed)
    rows.metric("Prototypes", compiled.n_rows, help=f"{compiled.n_terms} weights")
    more = "Code adds 1.0-1.4 kB (ATmega328P), 2.1-2.5 kB (Cortex-M0)."
    tables.metric("Tables in flash", f"{compiled.table_bytes:,} bytes", help=more)


def _agreement(made: exports.Export) -> None:
    lines = []
    for part, exact in made.compiled.provenance["accuracy"].items():
        rows = getattr(made.data.split, part)
        answers = made.compiled.predict_frame(made.data.dataset.frame.iloc[rows])
        same = made.agreement(part)
        lines.append(
            {
                "part": part,
                "rows": same.n_rows,
                "right in float64": exact["hits"],
                "right in float32": int((answers == made.data.y[rows]).sum()),
                "same label": same.n_equal,
                "proved the same": same.n_certified,
                "score error": f"{same.score_error:.1e} (bound {same.score_bound:.1e})",
            }
        )
    st.dataframe(lines, hide_index=True)
    st.caption(
        "The app computes in float64, the C file in float32, bit for bit as counted "
        "here. Proved the same: the float64 margin is wider than rounding can reach."
    )


def _inputs(made: exports.Export) -> None:
    lines = []
    for entry in made.compiled.inputs:
        ends = f"{entry.low:.6g} to {entry.high:.6g}"
        missing = "no level" if entry.missing is None else f"{entry.missing:.6g}"
        seen = ", ".join(entry.levels) or ends
        lines.append({"column": entry.name, "in training": seen, "missing": missing})
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
        st.error(str(error))
        return
    vectors = made.vectors(real)
    told = f"{vectors.n_real} of them real" if vectors.n_real else "all synthetic"
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
    for tab, name in zip(st.tabs(list(files)), files, strict=True):
        tab.code(files[name].decode(), language="c", height=360)


choice = links.current()
st.subheader(f"Export: {METHODS[choice.method].title}")
try:
    export = exports.export(choice)
except SmpcoreError as problem:
    st.info(str(problem))
    st.stop()
for show in (_sizes, _agreement, _files):
    show(export)
with st.expander("Inputs: the columns that the C code asks for"):
    _inputs(export)
with st.expander("The same model in Python"):
    try:
        st.code(exports.python_of_choice(choice), language="python")
    except SmpcoreError as problem:
        st.info(str(problem))
