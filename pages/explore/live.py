"""The live figure of a visit: a message from the browser in, a payload out.

What a lesson locks and hides is decided here, on the server. While a question is open
its picture stays: regions, training and validation rows, and prototypes with their
weights are what the question is about. Read-outs, strip, test rows and the steps of the
fit are not sent, nothing but the view can be changed, and the other pages that show
numbers of models are closed (`lesson_bar.closes`).
"""

from __future__ import annotations

import logging
import secrets
from typing import Any

import msgspec

from pages.state import lesson_files, lesson_run, session, undo
from pages.state.app_figure import AppFigure
from pages.state.host import HOST
from pages.state.session import Live
from pages.ui import workspace
from pages.work import slots
from smpcore import SmpcoreError
from smpcore.datasets import list_names
from smpcore.live import (
    BACKGROUND,
    FAR,
    Choice,
    Message,
    pack,
    read_message,
)

log = logging.getLogger(__name__)


def filter_locked(message: Message) -> tuple[Message, list[str]]:
    """Drop the changes of a message that the step of the lesson locks."""
    run = lesson_run.current()
    changes = {"set": message.values, "reset": ["*"], "edit": [lesson_files.POINTS]}
    if run is None or message.kind not in changes:
        return message, []
    if message.op == "mark":
        return _marked(run, message), []
    locked = [name for name in changes[message.kind] if run.locks(name)]
    if not locked:
        return message, []
    names = {"*": "reset", lesson_files.POINTS: "drawing"}
    what = list_names([names.get(name, name) for name in locked], longest=40)
    text = f"Locked in this step of the lesson, so that nothing changed: {what}. "
    text += "Answer the question first, go on to the next step, or leave the lesson."
    left = {n: value for n, value in message.values.items() if n not in locked}
    return _setting(message, left), [text]


def _setting(message: Message, values: dict[str, Any]) -> Message:
    """The message with these values in place of what it changes."""
    dragging = message.dragging and bool(values)
    return msgspec.structs.replace(
        message, kind="set", values=values, dragging=dragging
    )


def _marked(run: lesson_run.Run, message: Message) -> Message:
    """Keep the place that the message marks; what is left of it changes nothing."""
    place = [message.x, message.y]
    is_place = all(v is not None and abs(v) < FAR for v in place)
    if run.is_open_question and not run.is_answered and run.asks_place and is_place:
        run.mark = [float(value) for value in place]
    return _setting(message, {})


def answer(sent: Any) -> bytes:
    """Answer what the browser has sent (untrusted); None draws everything."""
    visit = session.get()
    chosen, live = visit.choice, visit.live
    before = session.current(first_run=sent is None)
    header: dict[str, Any] = {"v": 1, "seq": 0, "busy": 0}
    notices: list[dict[str, str]] = []
    message = Message("poll", 0)  # until it is read
    full = Message("full", 0, present=live.present)
    if sent is None:
        live.edit = live.released = None
    try:
        message = full if sent is None else read_message(sent)
        header["seq"], live.present = message.seq, message.present
        # The message was about a table that is gone, or about what a lesson's step
        # replaced in the same run.
        if chosen != before or live.scene is None:
            message = full
        if visit.lesson is not None:
            message, locked = filter_locked(message)
            notices += [{"level": "info", "text": text} for text in locked]
        with slots.interactive_slot() as ahead:
            header["busy"] = ahead if ahead > 2 * slots.N_CORES else 0
            _follow(header, notices, visit, before, message)
    except SmpcoreError as error:
        # Nothing is lost: what was on the screen stays, with the reason above it.
        notices.append({"level": "error", "text": str(error)})
        header["kind"] = "notice"
        if message.kind == "full":
            session.choose(Choice(token=before.token, others=before.others))
            AppFigure(HOST, live).respond(header, session.resolved(), message)
    except Exception:
        # A bug: all of it in the log, a sentence to find it by for the visitor.
        number = secrets.token_hex(3)
        log.exception("bug %s while answering %s", number, message.kind)
        text = f"Internal error (ID {number}). The last result is kept."
        notices.append({"level": "error", "text": text})
        header = {"v": 1, "seq": header["seq"], "busy": 0, "kind": "notice"}
    if visit.lesson is not None:
        header = lesson_run.redact(visit.lesson, header, session.resolved().method.path)
    notices = [{"level": "warning", "text": t} for t in _taken(live, message)] + notices
    return pack(header | {"notices": notices})


def _taken(live: Live, message: Message) -> list[str]:
    """What a link or another page has said; it stays while the visitor does nothing."""
    stays = live.notices if message.kind in ("poll", *BACKGROUND) else []
    live.notices = [*stays, *session.take_notices()]
    return live.notices if message.kind not in BACKGROUND else []


def _follow(
    header: dict[str, Any],
    notices: list,
    visit: session.Session,
    before: Choice,
    message: Message,
) -> None:
    """Make the message's choice the visitor's; fill in the answer, and what to say."""
    live, kind = visit.live, message.kind
    context, changes, goes_on = AppFigure(HOST, live).follow(header, before, message)
    for text in changes:
        notices.append({"level": "info", "text": text})
    if live.canonical:
        session.note_compared(context.table.name, "fitted", [context.key])
    visit.choice = context.choice
    if not goes_on:
        undo.follow(live, before, context.choice, kind, message.dragging)
    header["undo"] = context.cached("undo", lambda: undo.next_undo(live))
    if kind in BACKGROUND:
        return
    if not message.dragging:
        live.released = context.choice
        session.show_address(context.choice)
        workspace.keep(context.choice)
    for text in live.cautions:
        notices.append({"level": "warning", "text": text})
