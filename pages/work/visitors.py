"""Who a script runs for, from where, and who is still there.

The only file with names that Streamlit does not document; a test says for which
versions they were tried.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import streamlit as st
from google.protobuf.message import DecodeError

# app.py and middleware.py take three of these from here.
from starlette.datastructures import MutableHeaders as MutableHeaders
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware as Middleware
from starlette.responses import PlainTextResponse as PlainTextResponse
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import exists, get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

#: What a file counts at least: a million empty ones take memory too.
LEAST_BYTES = 100_000


@asynccontextmanager
async def send_at_once(_: Any) -> AsyncIterator[None]:
    """Have the server send messages as they come, while it runs.

    asyncio sees to that for sockets that it makes itself; Streamlit hands it one. Each
    message waited until the browser had confirmed the one before: 40 ms a picture.
    """
    loop = asyncio.get_running_loop()
    create_server = loop.create_server

    def create(*args: Any, sock: socket.socket | None = None, **options: Any) -> Any:
        if sock is not None:  # its connections inherit it
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return create_server(*args, sock=sock, **options)

    loop.create_server = create
    yield


def keep_uploads_in_memory() -> None:
    """Write nothing of an upload to the disk, which may be full, and outlives visits.

    From a megabyte on it went to the temporary folder on its way into memory.
    Streamlit counts its bytes against ``server.maxUploadSize`` as they come.
    """
    MultiPartParser.spool_max_size = sys.maxsize


def draw_parts_whole() -> None:
    """Send nothing of a part of the page whose parts above it are not sent.

    A part that runs again as soon as the page is drawn takes back what it had drawn
    and not sent, but not what parts within it had: that had no place in the browser.
    """
    clear = AppSession._clear_queue

    def clear_with_inner(session: AppSession, parts: list[str] | None = None) -> None:
        drawn = {message.delta.fragment_id for message in session._browser_queue._queue}
        above = session._fragment_storage.has_ancestor_in
        inner = [part for part in drawn if part and above(part, parts or ())]
        clear(session, parts and [*parts, *inner])

    AppSession._clear_queue = clear_with_inner


def visitor() -> str:
    """Name the browser tab that the running script serves; empty outside a script."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def browser() -> str:
    """Name this visitor's browser by its cross-site-request cookie.

    The cookie is masked anew at every page load; unmasked it stays the same.
    Empty outside a script.
    """
    if not visitor():
        return ""
    cookie = st.context.cookies.get("_streamlit_xsrf")
    fields = cookie.split("|") if isinstance(cookie, str) else []
    try:
        mask, masked = bytes.fromhex(fields[1]), bytes.fromhex(fields[2])
        token = bytes(b ^ mask[i % len(mask)] for i, b in enumerate(masked))
    except (IndexError, ValueError, ZeroDivisionError):
        return ""
    return hashlib.blake2b(token, digest_size=16).hexdigest()


def is_here(owner: object) -> bool:
    """Whether a tab is still connected; who is no tab is always here."""
    if not (owner and isinstance(owner, str) and exists()):
        return True
    return get_instance().is_active_session(owner)


def parsed(data: bytes) -> tuple[str, list[str]]:
    """Kind of a browser's message, empty if there is none, and the JSON in it."""
    try:
        message = BackMsg.FromString(data)
    except DecodeError:
        return "", []
    texts = []
    for state in message.rerun_script.widget_states.widgets:
        field = state.WhichOneof("value")
        if field in ("json_value", "json_trigger_value"):
            texts.append(getattr(state, field))
        # Selections and edits of a table are JSON too; what is typed is not.
        elif field == "string_value" and state.string_value.startswith("{"):
            texts.append(state.string_value)
    return message.WhichOneof("type") or "", texts


def run_again(tab: str) -> None:
    """Have the script of a tab run again with what is set there."""
    if exists() and (session := get_instance().get_app_session(tab)):
        session.request_rerun(None)


def held_bytes() -> dict[str, int]:
    """Tab -> bytes of the files that Streamlit holds for it."""
    if not exists():
        return {}
    return {
        tab: sum(max(len(file.data), LEAST_BYTES) for file in list(files.values()))
        for tab, files in list(get_instance().uploaded_file_mgr.file_storage.items())
    }


def drop_files(tab: str = "") -> None:
    """Forget the files that a tab has uploaded: Streamlit keeps them as they came.

    Their pickers are empty when they are drawn again.
    """
    if exists():
        get_instance().uploaded_file_mgr.remove_session_files(tab or visitor())


def drop_callbacks() -> None:
    """Forget what the controls of this tab call, and with which arguments.

    Streamlit keeps both after a control has left the page: a model with its rows,
    perhaps. A control that is drawn again gets them anew.
    """
    names = ("callback", "callbacks", "callback_args", "callback_kwargs")
    controls = get_script_run_ctx().session_state._state._new_widget_state
    for key, control in controls.widget_metadata.items():
        controls.widget_metadata[key] = replace(control, **dict.fromkeys(names))


def came_by_history() -> bool:
    """Whether the script runs because Back or Forward of the browser was pressed."""
    context = get_script_run_ctx(suppress_warning=True)
    return bool(context and context.is_history_navigation)


def runs_fragments() -> bool:
    """Whether parts of the page run, and not the page."""
    context = get_script_run_ctx(suppress_warning=True)
    return bool(context and context.fragment_ids_this_run)


def set_navigation() -> None:
    """Have pages run by app.py only.

    Streamlit takes a folder named pages for its older kind of multipage app until
    app.py has called st.navigation.
    """
    PagesManager.uses_pages_directory = False


def force_navigation() -> None:
    """Run app.py first when a link straight to a page is the server's first request.

    Streamlit has run the page alone (see `set_navigation`).
    """
    if PagesManager.uses_pages_directory:
        set_navigation()
        st.rerun()


#: Environment variable of uvicorn, the server below Streamlit: addresses and networks
#: of the proxies whose header X-Forwarded-For it believes.
PROXIES = "FORWARDED_ALLOW_IPS"


def address() -> str:
    """The visitor's address, or that of the proxy before it if none is configured.

    Of an IPv6 address it is the network: one machine may have all addresses of it.
    Unconfigured, uvicorn believes the header from this machine. It may have been passed
    on as a visitor wrote it: all who send it share one address then.
    """
    if PROXIES not in os.environ and "X-Forwarded-For" in st.context.headers:
        return "behind a proxy"
    text = st.context.ip_address or "this machine"
    try:
        known = ipaddress.ip_address(text)
    except ValueError:
        return text[:50]
    if known.version == 4:
        return text
    return str(ipaddress.ip_network((known, 64), strict=False))
