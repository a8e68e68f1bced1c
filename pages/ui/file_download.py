"""A button that makes a file and gives it to the browser, or says why there is none."""

from __future__ import annotations

import json
import logging
import mimetypes
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from pages.state import session
from pages.state.session import OutgoingFile
from pages.ui.component import component
from pages.ui.text import message
from smpcore import SmpcoreError

#: A file travels as one message, of which the server sends 100 MB at most.
MOST_BYTES = 95_000_000
log = logging.getLogger(__name__)


@st.fragment
def download(
    label: str,
    make: Callable[[], bytes | str],
    file_name: str,
    *,
    key: str,
    **options: Any,
) -> None:
    """A button that saves a file; the rest of the page does not run again.

    Streamlit's own button is not used: a callable that it is given runs without the
    visitor, nobody hears why it failed, and the file is gone before the browser has
    fetched it when other visitors' pages run meanwhile. Here the file stays on the page
    until the browser says that it has it, or another page is opened.
    """
    visit, icon = session.get(), ":material/download:"
    st.button(label, key=key, icon=icon, on_click=_want, args=(key,), **options)
    if visit.file.key != key:
        return
    try:
        if not visit.file.content:
            with st.spinner("Making the file"):
                number, content = secrets.token_hex(8), _as_bytes(make())
            kind = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
            header = json.dumps({"id": number, "name": file_name, "type": kind})
            visit.file = OutgoingFile(key, number, header.encode() + b"\n" + content)
    except SmpcoreError as problem:
        visit.file = OutgoingFile()
        message(st.error, f"No file: {problem}")
    except Exception:
        # A bug: all of it in the log, a sentence to find it by for the visitor.
        visit.file = OutgoingFile()
        number = secrets.token_hex(3)
        log.exception("bug %s while making %s", number, key)
        st.error(f"No file: internal error (ID {number}). Tell it to the operator.")
    else:
        save, taken = component("save_file"), partial(_taken, key)
        save(key=f"{key}_file", data=visit.file.content, on_saved_change=taken)


def _want(key: str) -> None:
    # A run that is broken off draws no file: the next one knows that it is wanted.
    session.get().file = OutgoingFile(key)


def _taken(key: str) -> None:
    """Forget the file that the browser says it has."""
    visit, state = session.get(), st.session_state.get(f"{key}_file") or {}
    if visit.file.key == key and state.get("saved") == visit.file.number:
        visit.file = OutgoingFile()


def _as_bytes(content: bytes | str) -> bytes:
    """A file's content; a text may hold what is no character of Unicode."""
    if isinstance(content, str):
        content = content.encode("utf-8", "replace")
    if len(content) > MOST_BYTES:
        raise SmpcoreError(
            f"it has {len(content) / 1e6:.0f} MB, and {MOST_BYTES / 1e6:.0f} MB can be "
            "sent; choose fewer rows or columns, or another format."
        )
    return content
