"""The zip of an exported model: to download, and to look into."""

from __future__ import annotations

import io
import re
import zipfile
from functools import partial
from typing import Any

import streamlit as st

from pages.export import formats, settings
from pages.state.session import Slot
from pages.ui import exports, fold_scores
from pages.ui.elements import download
from pages.ui.text import as_written
from smpcore.codegen import TARGETS, SensorRange, Stream, TestVectors, has_block
from smpcore.evaluation import ComparedFormat

_VECTORS, _ZIP = Slot[TestVectors]("vectors"), Slot[bytes]("files")
_TABLE_HELP = (
    "The code gives calibrated probabilities, of two classes that of the second one, "
    "by a table of 16 segments at most. The README says how far they can be off. Flash "
    "and time above are those of the class alone."
)
_INTERVAL_HELP = (
    "The code has half the width of the interval as a constant. That it covers about "
    "90 of 100 rows is measured, not guaranteed."
)
_APART_HELP = (
    "The numbers of the model are in `model.bin` then, which the code checks and reads "
    "in place: a retrained model of the same form needs no new program. Measured on an "
    "ATmega328P: at most 4 % more cycles, and 1.4 kB more flash beside the block, in "
    "which are eight rows that try it, too. For linear prototypes in float32, as C99, "
    "without stream and probabilities."
)
#: End of a file -> what its text is coloured as.
_LANGUAGES = {"c": "c", "h": "c", "ino": "cpp", "py": "python", "json": "json"}
_LANGUAGES |= {"mjs": "javascript", "yml": "yaml", "txt": "cmake", "csv": "csv"}
_LANGUAGES |= {"rs": "rust", "toml": "toml", "mts": "typescript"}


def section(
    made: exports.Export,
    form: ComparedFormat,
    chosen: settings.Settings,
    ranges: dict[str, SensorRange],
    stream: Stream | None,
    key: Any,
    place: Any,
) -> None:
    """Make the zip, offer it at a place of the page, and show what is in it."""
    real = st.toggle(
        "Include real training rows in the test vectors",
        value=not made.data.dataset.private,
        key=f"export_real_{made.data.dataset.digest}",
    )
    made, calibrated = _with_calibration(made, chosen.target)
    vectors_key = key, form.name, real
    make_vectors = partial(made.vectors, form.model, real)
    vectors = _VECTORS.get_or_make(vectors_key, make_vectors)
    choice = chosen.target, form.name, chosen.name
    apart = _apart(form, chosen, stream, calibrated)
    about = formats.as_exported(form, made)
    make = partial(made.zip, vectors, *choice, ranges, stream, about, apart)
    packed = _ZIP.get_or_make((vectors_key, choice, calibrated, apart), make)
    with place:
        download(
            "Download the zip",
            lambda: packed,
            f"{chosen.name or exports.usual_name(made.context)}.zip",
            type="primary",
            key="export_download",
            help="Includes a self-test, test vectors and a README.",
        )
    origin = f"{vectors.n_real} of them real" if vectors.n_real else "all synthetic"
    if n_rows := form.model.n_training_rows:
        origin += f"; the model itself contains {n_rows} training rows"
    st.caption(f"Contains {len(vectors.rows)} test vectors, {origin}.")
    _show(_texts(packed))


def _with_calibration(made: exports.Export, target: str) -> tuple[exports.Export, bool]:
    """The model with or without its calibration, as asked, and whether it has one."""
    classes, calibration = made.compiled.classes, made.context.model().calibration
    if not TARGETS[target].has_probabilities:
        return made, False
    if calibration is None:
        fold_scores.offer_calibration(made.context)
        return made, False
    is_softmax = calibration.slope and not calibration.curves
    if classes and len(classes) > 2 and not is_softmax:
        st.caption("Probabilities that are no softmax of the scores are not exported.")
        return made, False
    if calibration.spread.size:
        st.caption(
            "The prediction interval is not exported: it is wider for some predictions "
            "than for others, and the code has one width for all. Apply, reports and "
            "the saved model have it."
        )
        return made, False
    wanted = st.toggle(
        "Include probabilities" if classes else "Include the 90 % prediction interval",
        value=True,
        key="export_calibration",
        help=_TABLE_HELP if classes else _INTERVAL_HELP,
    )
    return made.with_calibration(calibration if wanted else None), wanted


def _apart(
    form: ComparedFormat,
    chosen: settings.Settings,
    stream: Stream | None,
    calibrated: bool,
) -> bool:
    """Whether the parameters are to be a file of their own, where they can be."""
    can_be = chosen.target == "c99" and not stream and not calibrated
    return (
        can_be
        and has_block(form.model)
        and st.toggle(
            "Parameters in a file of their own", key="export_apart", help=_APART_HELP
        )
    )


def _texts(packed: bytes) -> dict[str, str]:
    """Path inside the zip's folder -> text, the README first; no binary files."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    texts = {
        name.partition("/")[2]: content.decode()
        for name, content in files.items()
        if not name.endswith((".onnx", ".bin"))
    }
    return dict(sorted(texts.items(), key=lambda one: one[0] != "README.md"))


def _show(files: dict[str, str]) -> None:
    name = st.selectbox("Look into the zip", list(files), key="export_file")
    if name.endswith(".md"):
        with st.container(height=480):
            # Smaller headings than those of the page around it.
            text = re.sub(r"^(#+) ", r"##\1 ", files[name], flags=re.MULTILINE)
            st.markdown(as_written(text))
    else:
        language = _LANGUAGES.get(name.rpartition(".")[2])
        st.code(files[name], language=language, height=480)
