"""The zip of an exported model: to download, and to look into."""

from __future__ import annotations

import io
import re
import zipfile
from functools import partial
from typing import Any

import streamlit as st

from pages.export import formats, settings
from pages.state import session
from pages.ui import exports
from pages.ui.text import escape_markdown
from smpcore.codegen import SensorRange
from smpcore.errors import ExportError

#: End of a file -> what its text is coloured as.
_LANGUAGES = {"c": "c", "h": "c", "ino": "cpp", "py": "python", "json": "json"}
_LANGUAGES |= {"mjs": "javascript", "yml": "yaml", "txt": "cmake", "csv": "csv"}


def section(
    made: exports.Export,
    form: formats.Form,
    asked: settings.Settings,
    ranges: dict[str, SensorRange],
    key: Any,
) -> None:
    """Make the zip, offer it, and show what is in it.

    Parameters
    ----------
    made : Export
    form : Form
    asked : Settings
    ranges : dict of str to SensorRange
    key : object
        The same for the same model and ranges only.
    """
    real = st.toggle(
        "Include real training rows in the test vectors",
        value=exports.carries_real_rows(made.data),
        key=f"export_real_{made.data.dataset.digest}",
    )
    told = formats.as_exported(form, made)
    choice = real, asked.target, form.name, asked.name
    make = partial(made.zip, *choice, ranges if form.is_whole else None, told)
    try:
        packed = session.remembered("files", (key, *choice), make)
    except ExportError as error:
        st.error(escape_markdown(str(error)))
        return
    st.download_button(
        "Download the zip",
        data=packed,
        file_name=f"{asked.name or made.usual_name}.zip",
        mime="application/zip",
        icon=":material/download:",
        on_click="ignore",
        type="primary",
        key="export_download",
        help="Includes a self-test, test vectors and a README.",
    )
    files = _texts(packed)
    st.caption(_vectors_in_words(files, form.model.n_training_rows))
    _show(files)


def _texts(packed: bytes) -> dict[str, str]:
    """Path inside the zip's folder -> text, the README first; no binary files."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    found = {
        name.partition("/")[2]: content.decode()
        for name, content in files.items()
        if not name.endswith(".onnx")
    }
    return dict(sorted(found.items(), key=lambda one: one[0] != "README.md"))


def _vectors_in_words(files: dict[str, str], held: int) -> str:
    (table,) = (text for name, text in files.items() if name.endswith(".csv"))
    kinds = [line.partition(",")[0] for line in table.splitlines()[1:]]
    real = kinds.count("real")
    told = f"{real} of them real" if real else "all synthetic"
    if held:
        told += f"; the model itself contains {held} training rows"
    return f"Contains {len(kinds)} test vectors, {told}."


def _show(files: dict[str, str]) -> None:
    name = st.selectbox("Look into the zip", list(files), key="export_file")
    if name.endswith(".md"):
        with st.container(height=480):
            # Smaller headings than those of the page around it.
            st.markdown(re.sub(r"^(#+) ", r"##\1 ", files[name], flags=re.MULTILINE))
    else:
        language = _LANGUAGES.get(name.rpartition(".")[2])
        st.code(files[name], language=language, height=480)
