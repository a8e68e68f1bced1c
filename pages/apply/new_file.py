"""A file of new rows that stays open, in memory only, while its visitor is here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from pages.state import session
from pages.ui import files
from pages.ui.text import escape_markdown, short_label
from pages.work import cache, reading
from smpcore.datasets import read_frame


@dataclass(frozen=True, eq=False)
class NewFile:
    """A table of new rows beside the data set that it was opened for.

    Parameters
    ----------
    key : tuple of str
        Of the upload, and of the data set.
    name : str
        Of the file.
    frame : DataFrame
    chosen : dict
        Column that the model asks for -> what the visitor takes in its place. It may
        be written to.
    """

    key: tuple[str, str]
    name: str
    frame: pd.DataFrame
    chosen: dict[str, str] = field(default_factory=dict)

    def remember(self, column: str, options: list[str]) -> str:
        """Let a selectbox say what was chosen before; its key."""
        key = f"renamed_{column}"
        said = self.chosen.get(column)
        if key not in st.session_state and said in options:
            st.session_state[key] = said
        return key


def upload(data: cache.Parts) -> NewFile | None:
    """The file picker, and the file that is open.

    Raises
    ------
    SmpcoreError
        If the file cannot be read.
    """
    digest = data.dataset.digest
    visit = session.get()
    of, kept = visit.results.get("new_rows", ("", None))
    if of != digest:
        kept = None
    file = st.file_uploader(
        "New rows: a table with the same columns, with or without the target",
        files.ENDINGS,
        key=f"new_rows_{digest}_{visit.editions['new_rows']}",
        on_change=_forget,
        help="They stay in memory until you leave or close them, are visible in your "
        "browser only, and join neither the data set nor any export.",
    )
    if file is not None and not (kept and kept.key[0] == file.file_id):
        kept = _read(file, data)
    if kept is None:
        return None
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.caption(
        f"Open: {escape_markdown(short_label(kept.name))}, {len(kept.frame):,} rows. "
        "It stays open while you are here."
    )
    right.button("Close", key="close_new_rows", on_click=_close)
    return kept


def _read(file: Any, data: cache.Parts) -> NewFile:
    how = files.like(data.dataset)
    frame, _, _ = reading.read(read_frame, file, file.name, **how)
    kept = NewFile((file.file_id, data.dataset.digest), file.name, frame)
    session.get().results["new_rows"] = data.dataset.digest, kept
    return kept


def _forget() -> None:
    _, kept = session.get().results.pop("new_rows", ("", None))
    for name in kept.chosen if kept else ():
        st.session_state.pop(f"renamed_{name}", None)


def _close() -> None:
    """Forget the file; a picker of another name has none."""
    _forget()
    session.get().editions["new_rows"] += 1
