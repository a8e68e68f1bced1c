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
from functools import partial
from typing import Any

import msgspec
import numpy as np

from pages.state import lesson_files, lesson_run, session, undo
from pages.state.app_figure import AppFigure
from pages.state.host import HOST, resolve
from pages.state.session import Live
from pages.ui import qr, workspace
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

#: Pictures on the way from the model before an answer to the one after it.
N_MOVES = 10


def filter_locked(message: Message) -> tuple[Message, list[str]]:
    """Drop the changes of a message that the step of the lesson locks."""
    run = lesson_run.current()
    changes = {"set": message.values, "reset": ["*"], "edit": [lesson_files.POINTS]}
    if run is None or message.kind not in changes:
        return message, []
    if message.op == "mark":
        return _marked(run, message), []
    locked = [name for name in changes[message.kind] if run.locks(name)]
    if len(locked) < len(changes[message.kind]):
        run.follows = False  # the teacher's figure, until that is wanted again
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


def _redacted(run: lesson_run.Run, header: dict[str, Any]) -> dict[str, Any]:
    """The answer to a message without what is hidden until a question is answered."""
    header = lesson_run.redact(run, header, session.resolved().method.path)
    if run.is_teacher and header.get("path"):  # the class sees what comes from here
        header = header | {"path": None}
    if "controls" in header and run.student:
        header = header | {"led": _led(run)}
    return header


def _led(run: lesson_run.Run) -> dict[str, Any]:
    """Where pictures of the teacher's figure come from, if it is to be followed."""
    room = run.led_by if run.follows or run.is_wall else None
    if room is None:
        return {"url": "", "turns": 0}
    server = qr.server("lessons" if run.is_wall else "")
    return {"url": f"{server}/_class/{room.link_code}/", "turns": room.turns}


def _show_class(run: lesson_run.Run, header: dict[str, Any], live: Live) -> None:
    """Send the class the picture of its teacher, but no private table unasked."""
    room, choice = run.leads, session.get().choice
    is_hidden = run.is_private(choice) and run.consented != choice.source
    if room is None or is_hidden or "picture" not in header:
        return
    room.broadcast.put(partial(_class_picture, header, live.scene.header, run.turns))


def show_answer(run: lesson_run.Run) -> None:
    """Have the figure move from the model before an answer to the one after it."""
    room = run.led_by
    if room is None or run.moment != "after" or not room.begins_answer():
        return
    before, after = (resolve(run.choice_of(name)) for name in ("before", "after"))
    moved = {
        name: (before.values[name], value)
        for name, value in after.values.items()
        if before.values.get(name, value) != value
    }
    changed = before.with_values({name: new for name, (_, new) in moved.items()})
    if not moved or changed is None or changed.key != after.key:
        return  # it has other data or another method: nothing is between the two
    scales = {param.name: param.scale for param in before.params}
    figure, pictures = AppFigure(HOST, Live()), []
    for share in np.linspace(0.0, 1.0, N_MOVES):
        values = {n: _between(*pair, share, scales[n]) for n, pair in moved.items()}
        header: dict[str, Any] = {}
        message = Message("set", 0, dragging=share < 1.0)
        figure.respond(header, before.with_values(values), message)
        if "picture" in header:
            scene = figure.shown.scene.header
            pictures.append(
                partial(_class_picture, _redacted(run, header), scene, run.turns)
            )
    room.broadcast.put(*pictures)


def _between(old: float, new: float, share: float, scale: str) -> float:
    """A value of a control on the way from one to another."""
    if scale == "log" and min(old, new) > 0:
        return old * (new / old) ** share
    return old + share * (new - old)


def _class_picture(
    header: dict[str, Any], scene: dict[str, Any], turns: int, number: int
) -> bytes:
    """An answer as others may have it: without marks, notices and names of tables."""
    rows = [
        row
        if row["name"] != "data"
        else row
        | {"options": [o for o in row["options"] if o["value"] == row["value"]]}
        for row in header["controls"]
    ]
    shown = {name: header[name] for name in ("picture", "terms")}
    about = {"v": 1, "seq": 0, "busy": 0, "notices": [], "kind": "full", "job": None}
    about |= {"path": None, "controls": rows, "scene": scene | {"present": False}}
    return pack(about | shown | {"shown": {"number": number, "turns": turns}})


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
        _show_class(visit.lesson, header := _redacted(visit.lesson, header), live)
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
