"""QR codes of addresses of this app, for a room that reads them from a screen."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode, urlsplit

import segno
import streamlit as st

from pages.state import links, session
from pages.ui.elements import (
    close_dialog,
    is_dialog_wanted,
    problems_shown,
    want_dialog,
)
from smpcore import SmpcoreError
from smpcore.live import MINE

#: Pixels of a module of the code, and modules around it; dark on white in any theme.
_SCALE, _BORDER = 10, 3


def address(query: Mapping[str, str], page: str = "") -> str:
    """The address of Explore with these parameters, as this browser reaches it."""
    return f"{server(page)}/?{urlencode(query)}"


def server(page: str = "") -> str:
    """The address of this app, as this browser reaches it on one of its pages."""
    here = str(st.context.url or "").split("?")[0].rstrip("/")
    return here.removesuffix(f"/{page}")


def is_local(link: str) -> bool:
    """Whether a link leads nowhere but on this machine."""
    return urlsplit(link).hostname in (None, "localhost", "127.0.0.1", "::1")


def warn_of_local(link: str) -> None:
    """Say that a link leads nowhere but on this machine, if it does."""
    if is_local(link):
        st.info(
            "This link works on this machine only. For others, start the server with "
            "`--server.address 0.0.0.0`, and open this page by the machine's name or "
            "network address."
        )


@lru_cache(50)
def image(text: str) -> bytes:
    """A QR code as PNG."""
    try:
        code = segno.make_qr(text, error="l", boost_error=True)
    except segno.DataOverflowError as error:
        raise SmpcoreError(
            "This link is too long for a QR code; use Copy link, or save the state as "
            "a file."
        ) from error
    file = io.BytesIO()
    code.save(file, kind="png", scale=_SCALE, border=_BORDER)
    return file.getvalue()


def button(place: Any) -> None:
    """A button that shows the code of the model on the screen."""
    help = "The link to this model as a code that a room can read from the screen"
    place.button("QR code", key="qr", on_click=want_dialog, args=("qr",), help=help)
    if is_dialog_wanted("qr"):
        _dialog()


@st.dialog("QR code", width="medium", on_dismiss=close_dialog)
def _dialog() -> None:
    choice = session.released()
    if choice.data == MINE:
        st.info(
            "Your own table stays in this browser: its link opens nowhere else, and "
            "has no QR code."
        )
        return
    text = address(links.write_url(choice))
    with problems_shown():
        st.image(image(text), caption=text, width="stretch")
        warn_of_local(text)
