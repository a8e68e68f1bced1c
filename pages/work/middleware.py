"""What stands between the network and Streamlit: messages, uploads and headers.

Messages of a tab are read no faster than a visitor sends them, and only the kinds that
the app needs. Uploads have a budget. Answers carry what a browser should know.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from pages.work import classes, disk_store, operation, visitors

log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Messages of one tab that are read in a second, and how many more at once; a drag
#: sends one for each picture, at most some 70 a second.
MESSAGES_A_SECOND, AT_ONCE = 200, 100
#: Kinds of message that Streamlit's page sends; "load_git_info" comes at the start of
#: each visit, and "backend_operation_request" asks for a deferred download.
ALLOWED = {
    "rerun_script",
    "stop_script",
    "file_urls_request",
    "app_heartbeat",
    "backend_operation_request",
    "load_git_info",
}
#: Lists and objects in one another in a value of a control; Python's reader of JSON
#: stops with an exception of thousands of lines at some 900.
DEEPEST = 32
#: Uploaded bytes that are held for one tab: a table and its test file of 50 MB each,
#: and one that replaces either of them.
SESSION_BYTES = 150_000_000
#: For all tabs of an address, which may have many cookies: a class of 25 with 30 MB
#: each. And for all: something is always left for others.
ADDRESS_BYTES, SERVER_BYTES = 750_000_000, 1_000_000_000
#: Files of a closed tab are held so long: a lost connection comes back within seconds.
GRACE_SECONDS = 10.0

_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+/?$")
#: A class by what its link has, and the number of the picture that is there.
_CLASS = re.compile(r"/_class/([\w-]{16})/(\d{1,9})$", re.ASCII)
_METRICS = re.compile(r"/_stcore/metrics/?$")
_READY = re.compile(r"/_stcore/ready/?$")
_ORIGIN = re.compile(r"[\w:/.*\[\]-]+", re.ASCII)
_LONG = re.compile(rf"[0-9]{{{sys.int_info.default_max_str_digits}}}")
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))

#: Tab -> why its last upload was refused; until its page has said so.
_refused: dict[str, str] = {}


def take_refusal() -> str:
    """Why an upload of the tab that runs was refused; empty after it has been asked."""
    return _refused.pop(visitors.visitor(), "")


def is_deep(text: str) -> bool:
    """Whether JSON is nested deeper than any control's value, or is not closed."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    data = text.encode("utf-8", "replace")
    # Escaped quotes go first; then every second piece between quotes is a string.
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    left = b"".join(data.split(b'"')[::2]).translate(_BRACKETS, _OTHERS)
    for _ in range(DEEPEST):  # each round takes the innermost away
        left = left.replace(b"[]", b"")
    return bool(left)


def has_long_number(text: str) -> bool:
    """Whether JSON has a whole number of more digits than Python reads."""
    if not _LONG.search(text):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError:  # what was typed may begin as JSON does
        return False
    except ValueError:
        return True
    return False


def frame_ancestors() -> str:
    """Whose pages may show the app in a frame: its own and those of the operator."""
    listed = os.environ.get("SPE_FRAME_ANCESTORS", "").replace(",", " ").split()
    for wrong in [origin for origin in listed if not _ORIGIN.fullmatch(origin)]:
        log.warning("SPE_FRAME_ANCESTORS: %r is no origin and is left out", wrong)
        listed.remove(wrong)
    return " ".join(["'self'", *listed])


def policy() -> str:
    """What a page of the app may load: only from here.

    Streamlit's page and its components have scripts and styles of their own in them, a
    component's script comes as a blob, and numbers of 64 bits are WebAssembly. Nothing
    makes code from text: of what the page can load, only Plotly's charts in WebGL and
    Vega's would, which the app does not draw.
    """
    return "; ".join(
        [
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "media-src 'self' data: blob:",
            "frame-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {frame_ancestors()}",
        ]
    )


#: What starlette says of a connection that is closed a second time.
_CLOSED = "once a close message has been sent"


_PROXY = (
    "Requests come through a proxy, and %s is not set: all visitors count as one "
    "address, so that one of them slows the codes and takes the room of all. Set it to "
    "the proxy's address, as the guide says on servers."
)


_ENDING = "The server starts anew. Load this page again in half a minute."


class _Full(Exception):
    """No room for the rest of an upload."""


class Guard:
    """ASGI middleware in front of Streamlit."""

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        is_loaded: Callable[[], bool] = lambda: True,
    ) -> None:
        self._app, self._is_loaded = app, is_loaded
        self._policy = policy()
        self._has_metrics = os.environ.get("SPE_METRICS") == "1"
        self._has_store = disk_store.opened() is not None
        #: Tab -> bytes of its uploads that are still under way.
        self._coming: Counter[str] = Counter()
        #: Closed tab that has files -> when it was first seen closed.
        self._closed: dict[str, float] = {}
        #: Tab that has uploaded files -> its address.
        self._addresses: dict[str, str] = {}
        self._is_proxy_named = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass on what may go through."""
        if not self._is_proxy_named and visitors.is_behind_unknown_proxy(scope):
            self._is_proxy_named = True
            log.warning(_PROXY, visitors.PROXIES)
        if scope["type"] == "websocket":
            if operation.draining.is_set():
                operation.refusals["visit while the server ends"] += 1
                return await send({"type": "websocket.close", "code": 1012})
            scope = {**scope, "headers": visitors.with_browser(scope)}
            return await self._socket(scope, receive, send)
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        cookie = ""
        if self._has_store and _opens_page(scope):
            cookie = visitors.key_cookie(scope, disk_store.KEEP_SECONDS)
        send = self._with_headers(send, cookie)
        if _READY.search(scope["path"]):
            problem = operation.unready(self._is_loaded)
            answer = visitors.PlainTextResponse(
                problem or "ok", 503 if problem else 200
            )
            return await answer(scope, receive, send)
        if operation.draining.is_set() and _opens_page(scope):
            operation.refusals["visit while the server ends"] += 1
            refusal = visitors.PlainTextResponse(_ENDING, 503, {"Retry-After": "30"})
            return await refusal(scope, receive, send)
        if _METRICS.search(scope["path"]) and not self._has_metrics:
            refusal = visitors.PlainTextResponse("Not found", 404)
            return await refusal(scope, receive, send)
        if asked := _CLASS.search(scope["path"]):
            answer = await _picture_of_class(asked[1], int(asked[2]))
            return await answer(scope, receive, send)
        upload = scope["method"] != "OPTIONS" and _UPLOAD.search(scope["path"])
        # Streamlit refuses a tab that it does not know before it reads anything.
        if upload and visitors.is_here(upload[1]):
            if not visitors.is_from_browser_of(upload[1], scope):
                operation.refusals["upload to another browser's tab"] += 1
                refusal = visitors.PlainTextResponse("Another browser's tab", 403)
                return await refusal(scope, receive, send)
            if scope["method"] == "PUT":
                return await self._upload(upload[1], scope, receive, send)
        return await self._app(scope, receive, send)

    async def _socket(self, scope: Message, receive: Receive, send: Send) -> None:
        """Read a tab's messages, each when it is due."""
        due, n_refused, is_new, is_open = 0.0, 0, True, True

        async def receive_allowed() -> Message:
            nonlocal due, n_refused, is_new, is_open
            while is_open:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                # The rest waits in the sender's connection. Read as they came, 18,000
                # messages a second kept every other visitor waiting for two seconds.
                now = time.monotonic()
                earliest = now - AT_ONCE / MESSAGES_A_SECOND
                due = max(due, earliest) + 1 / MESSAGES_A_SECOND
                if due > now:
                    await asyncio.sleep(due - now)
                if is_new:  # or it has come back
                    is_new = False
                    self._look_for_closed()
                problem = _problem(message.get("bytes"))
                if not problem:
                    return message
                n_refused += 1
                operation.refusals["message"] += 1
                if n_refused == 1:
                    visitor = {"visitor": visitors.pseudonym_in(scope)}
                    log.warning("A message is dropped: %s", problem, extra=visitor)
                    continue
                is_open = False
                await send({"type": "websocket.close", "code": 1008})
            return {"type": "websocket.disconnect", "code": 1008}

        async def send_open(message: Message) -> None:
            if is_open:
                await send(message)

        try:
            await self._app(scope, receive_allowed, send_open)
        except RuntimeError as problem:
            # Streamlit takes a visitor who is gone for one who sends texts, and closes
            # the connection a second time.
            if _CLOSED not in str(problem):
                raise
        finally:
            self._drop_later()

    async def _upload(
        self, session: str, scope: Message, receive: Receive, send: Send
    ) -> None:
        """Read an upload as long as there is room for it."""
        received, self._addresses[session] = 0, visitors.address_in(scope)

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            n_bytes = len(message.get("body", b""))
            received += n_bytes
            self._coming[session] += n_bytes
            if problem := self._no_room(session):
                raise _Full(problem)
            return message

        try:
            announced = dict(scope["headers"]).get(b"content-length", b"")
            length = int(announced) if announced.isdigit() else 0
            if problem := self._no_room(session, length):
                raise _Full(problem)
            await self._app(scope, receive_counted, send)
        except _Full as problem:
            operation.refusals["upload without room"] += 1
            _refused[session] = str(problem)
            visitors.run_again(session)
            refusal = visitors.PlainTextResponse(str(problem), 413)
            await refusal(scope, receive, send)
        finally:
            self._coming[session] -= received
            if not self._coming[session]:
                del self._coming[session]
            if not visitors.is_here(session):  # it was closed meanwhile
                self._drop_later()

    def _no_room(self, session: str, more: int = 0) -> str:
        """Why a tab may upload no more bytes; empty if it may."""
        held = visitors.held_bytes()
        if held.get(session, 0) + self._coming[session] + more > SESSION_BYTES:
            return (
                "The file was not taken: a tab may hold "
                f"{SESSION_BYTES / 1e6:.0f} MB of uploaded files. Remove a file from "
                "the uploader, or reload the page, and upload it again."
            )
        every, here = Counter(held) + self._coming, self._addresses[session]
        of_address = [n for tab, n in every.items() if self._addresses.get(tab) == here]
        is_full = every.total() + more > SERVER_BYTES
        if is_full or sum(of_address) + more > ADDRESS_BYTES:
            return (
                "The file was not taken: this server holds as many uploaded files as "
                f"it can{'' if is_full else ' of your address'} at the moment. Try "
                "again in a minute."
            )
        return ""

    def _look_for_closed(self) -> None:
        """Note since when tabs that have files are closed."""
        now = time.monotonic()
        closed = [tab for tab in visitors.held_bytes() if not visitors.is_here(tab)]
        self._closed = {tab: self._closed.get(tab, now) for tab in closed}

    def _drop_later(self) -> None:
        """Drop what closed tabs have, unless their browsers come back."""
        self._look_for_closed()
        loop = asyncio.get_running_loop()
        loop.call_later(GRACE_SECONDS + 0.1, self._drop)
        loop.call_later(visitors.VISIT_SECONDS + 1.0, visitors.end_old_visits)

    def _drop(self) -> None:
        self._look_for_closed()
        for tab, since in list(self._closed.items()):
            if since <= time.monotonic() - GRACE_SECONDS:
                visitors.drop_files(tab)
        for tab in [tab for tab in _refused if not visitors.is_here(tab)]:
            del _refused[tab]
        known = {*visitors.held_bytes(), *self._coming}
        self._addresses = {n: at for n, at in self._addresses.items() if n in known}

    def _with_headers(self, send: Send, cookie: str = "") -> Send:
        """Tell browsers what pages may load, and who may show them in a frame."""

        async def send_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                headers = visitors.MutableHeaders(scope=message)
                headers["x-content-type-options"] = "nosniff"
                if cookie:
                    headers.append("set-cookie", cookie)
                if headers.get("content-type", "").startswith("text/html"):
                    headers["content-security-policy"] = self._policy
            await send(message)

        return send_headers


async def _picture_of_class(link: str, number: int) -> visitors.PlainTextResponse:
    """What the teacher of a class shows, for who has its link as all members have."""
    room = classes.by_link(link)
    if room is None:
        return visitors.PlainTextResponse("Not found", 404)
    data = await room.broadcast.after(number)
    headers = {"Cache-Control": "no-store", "Content-Type": "application/octet-stream"}
    headers |= {"Content-Encoding": "gzip"} if data else {}
    return visitors.PlainTextResponse(data, 200 if data else 204, headers)


def _opens_page(scope: Message) -> bool:
    """Whether a browser asks for a page, and not for what is in one."""
    return b"text/html" in dict(scope["headers"]).get(b"accept", b"")


def _problem(data: bytes | None) -> str:
    """What is wrong with a message; empty if nothing is."""
    kind, texts = visitors.parsed(data or b"")
    if kind not in ALLOWED:
        return f"{kind or 'unreadable'} is nothing that a page of this app sends"
    if any(map(is_deep, texts)):
        return f"a value is nested deeper than {DEEPEST} levels"
    if any(map(has_long_number, texts)):
        return "a number has more digits than are read"
    return ""
