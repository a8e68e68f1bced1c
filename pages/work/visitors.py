"""Who a script runs for, from where, and who is still there.

The only file with names that Streamlit does not document; a test says for which
versions they were tried.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import os
import re
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import streamlit as st
import streamlit.logger
import streamlit.net_util
from google.protobuf.message import DecodeError

# app.py and middleware.py take three of these from here.
from starlette.datastructures import MutableHeaders as MutableHeaders
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware as Middleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse as PlainTextResponse
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import exists, get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.stats import CounterStat, GaugeStat

from pages.work import operation

#: What a file counts at least: a million empty ones take memory too.
LEAST_BYTES = 100_000


class _Metrics:
    """The operator's numbers beside Streamlit's, as Streamlit reads them."""

    stats_families = tuple(operation.METRICS)

    def get_stats(self, _: Any) -> dict[str, list[CounterStat | GaugeStat]]:
        """All of them, by name."""
        return {
            name: [_metric(name, *pair) for pair in sorted(values.items())]
            for name, values in operation.metrics().items()
        }


def _metric(name: str, kind: str, value: int) -> CounterStat | GaugeStat:
    words, label = operation.METRICS[name]
    stat = CounterStat if name == "refusals" else GaugeStat
    return stat(name, value, {label: kind} if label else None, help=words)


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
    if exists():
        get_instance().stats_mgr.register_provider(_Metrics())
    operation.drain_before_end(loop)
    yield
    operation.stop_tasks()


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
    return _browser_of(st.context.cookies) if visitor() else ""


def _browser_of(cookies: Mapping[str, str]) -> str:
    cookie = cookies.get("_streamlit_xsrf")
    fields = cookie.split("|") if isinstance(cookie, str) else []
    try:
        mask, masked = bytes.fromhex(fields[1]), bytes.fromhex(fields[2])
        token = bytes(b ^ mask[i % len(mask)] for i, b in enumerate(masked))
    except (IndexError, ValueError, ZeroDivisionError):
        return ""
    return hashlib.blake2b(token, digest_size=16).hexdigest()


#: Cookie with the key of a browser's stored work, which no script reads; a browser
#: takes the first name, which no neighbour of the server can set, by HTTPS only.
_KEYS = "__Host-spe_key", "spe_key"
_KEY = re.compile(r"[\w-]{43}", re.ASCII)


def key() -> str:
    """What this visitor's stored work is encrypted with; empty without a cookie."""
    return _key_of(st.context.cookies, _KEYS) if visitor() else ""


def _key_of(cookies: Mapping[str, str], names: Iterable[str]) -> str:
    known = next((cookies[name] for name in names if name in cookies), "")
    return known if _KEY.fullmatch(known) else ""


def key_cookie(scope: MutableMapping[str, Any], seconds: int) -> str:
    """The header that gives a browser a key, or has it keep the one it has longer."""
    is_safe = scope.get("scheme") == "https"
    name = _KEYS[0 if is_safe else 1]
    known = _key_of(HTTPConnection(scope).cookies, [name]) or secrets.token_urlsafe(32)
    cookie = f"{name}={known}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax"
    return f"{cookie}; Secure" if is_safe else cookie


#: Where Streamlit reads whose a connection is (``server.trustedUserHeaders``): who has
#: no more than the name of a tab, which stands in addresses of uploads, gets a new one.
_BROWSER = b"x-spe-browser"


def with_browser(scope: MutableMapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """Headers of a connection, with the browser that it is from."""
    name = _browser_of(HTTPConnection(scope).cookies)
    others = [one for one in scope["headers"] if one[0] != _BROWSER]
    return [*others, (_BROWSER, name.encode())]


def is_from_browser_of(tab: str, scope: MutableMapping[str, Any]) -> bool:
    """Whether a request is from the browser that has opened a tab; it has a cookie."""
    session = get_instance().get_app_session(tab)
    known = session and session._user_info.get("browser")
    return bool(known) and known == _browser_of(HTTPConnection(scope).cookies)


def owner() -> str:
    """Whose the things are that a visit brings: the browser's, without a cookie of this
    tab alone.
    """
    return browser() or visitor()


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
        elif field == "string_value" and state.string_value.lstrip().startswith("{"):
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


#: Streamlit keeps the visit of a closed tab so long.
VISIT_SECONDS = 120.0


def end_old_visits() -> None:
    """End the visits that no tab comes back to: each holds three descriptors.

    Streamlit forgets them when somebody else leaves, however much later that is.
    """
    if exists():
        manager = get_instance()._session_mgr
        with manager._storage_lock:
            old = manager._session_storage._cache.expire()
        for _, visit in old:
            visit.session.shutdown()


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


def stay_offline() -> None:
    """Ask no other machine for this one's address.

    Streamlit does for each request from a page of another site, while all visitors
    wait; at its start it does not, as .streamlit/config.toml names an address.
    """
    streamlit.net_util._external_ip = ""


def force_navigation() -> None:
    """Run app.py first when a link straight to a page is the server's first request.

    Streamlit has run the page alone (see `set_navigation`).
    """
    if PagesManager.uses_pages_directory:
        set_navigation()
        st.rerun()


#: So that nobody finds a visitor's name in the log who knows the cookie.
_SALT = os.urandom(16)


def pseudonym(name: str = "") -> str:
    """What stands for a visitor in the log until the server ends; - for nobody."""
    name = name or owner()
    return name and hashlib.blake2b(name.encode(), key=_SALT, digest_size=3).hexdigest()


def pseudonym_in(scope: MutableMapping[str, Any]) -> str:
    """That of whom a connection is from."""
    return pseudonym(_browser_of(HTTPConnection(scope).cookies) or address_in(scope))


def set_log_lines() -> None:
    """Have every line of the log say when, how grave it is, and whom it is about."""
    handler = logging.StreamHandler()
    words = "%(asctime)s %(levelname)s %(visitor)s %(message)s"
    handler.setFormatter(logging.Formatter(words))

    def with_visitor(record: logging.LogRecord) -> bool:
        record.visitor = getattr(record, "visitor", "") or pseudonym() or "-"
        return True

    handler.addFilter(with_visitor)
    logging.basicConfig(handlers=[handler])

    def take_handler(logger: logging.Logger) -> None:
        # Each request has addresses and names of tabs in it.
        logger.handlers = [] if logger.name == "uvicorn.access" else [handler]

    streamlit.logger.setup_formatter = take_handler  # its own loggers have theirs
    streamlit.logger.update_formatter()


#: Environment variable of uvicorn, the server below Streamlit: addresses and networks
#: of the proxies whose header X-Forwarded-For it believes.
PROXIES = "FORWARDED_ALLOW_IPS"


def is_behind_unknown_proxy(scope: MutableMapping[str, Any]) -> bool:
    """Whether a request has come through a proxy, and no proxies are configured."""
    names = {name for name, _ in scope.get("headers", ())}
    return b"x-forwarded-for" in names and PROXIES not in os.environ


def address() -> str:
    """The visitor's address, or that of the proxy before it if none is configured.

    Unconfigured, uvicorn believes the header from this machine. It may have been passed
    on as a visitor wrote it: all who send it share one address then.
    """
    if PROXIES not in os.environ and "X-Forwarded-For" in st.context.headers:
        return "behind a proxy"
    return _network(st.context.ip_address or "this machine")


def address_in(scope: MutableMapping[str, Any]) -> str:
    """The address that a request is from, as `address`."""
    if is_behind_unknown_proxy(scope):
        return "behind a proxy"
    return _network((scope.get("client") or ["this machine"])[0])


def _network(text: str) -> str:
    """An address; of IPv6 the network: one machine may have all addresses of it."""
    try:
        known = ipaddress.ip_address(text)
    except ValueError:
        return text[:50]
    if known.version == 4:
        return text
    return str(ipaddress.ip_network((known, 64), strict=False))
