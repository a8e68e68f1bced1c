"""Who a script runs for, and who is still there.

The only file with names that Streamlit does not document; a test says for which
versions they were tried.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.websockets import WebSocket
from streamlit.runtime import exists, get_instance
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

#: Messages of one tab that are read in a second, and how many more at once; a drag
#: sends one for each picture, at most some 70 a second.
MESSAGES_A_SECOND, AT_ONCE = 200, 100


def pace_messages() -> None:
    """Read no tab's messages faster than a visitor can send them.

    The rest waits in the sender's connection. Read as they come, 18,000 messages a
    second kept every other visitor waiting for more than two seconds.
    """
    receive = WebSocket.receive_bytes
    if getattr(receive, "paced", False):
        return

    async def receive_paced(self: WebSocket) -> bytes:
        now = asyncio.get_running_loop().time()
        earliest = now - AT_ONCE / MESSAGES_A_SECOND
        due = max(getattr(self, "due", earliest), earliest) + 1 / MESSAGES_A_SECOND
        self.due = due
        await asyncio.sleep(max(0.0, due - now))
        return await receive(self)

    receive_paced.paced = True
    WebSocket.receive_bytes = receive_paced


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


def visitor() -> str:
    """Name the browser tab that the running script serves; empty outside a script."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def is_here(owner: object) -> bool:
    """Whether a tab is still connected; who is no tab is always here."""
    if not (owner and isinstance(owner, str) and exists()):
        return True
    return get_instance().is_active_session(owner)


def drop_files() -> None:
    """Forget the files that this tab has uploaded: Streamlit keeps them as they came.

    Their pickers are empty when they are drawn again.
    """
    if exists():
        get_instance().uploaded_file_mgr.remove_session_files(visitor())


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
