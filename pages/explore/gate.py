"""What a lesson locks and hides on the live figure, decided on the server.

While a question is open its picture stays: regions, training and validation rows, and
prototypes with their weights are what the question is about. Read-outs, strip, test
rows and the steps of the fit are not sent, nothing but the view can be changed, and
the other pages that show numbers of models are closed (`lesson_bar.closes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pages.state import lesson_files, lesson_run
from pages.state.state_file import FAR
from smpcore import SmpcoreError
from smpcore.datasets import list_names

#: In place of what the strip draws of a model while a question is open.
_NO_STRIP = {"nonzeros": 0}


def filter_locked(
    message: Mapping[str, Any] | None, kind: str
) -> tuple[Mapping[str, Any] | None, str, list[str]]:
    """Drop the changes of a message that the step of the lesson locks."""
    run = lesson_run.current()
    if run is None or message is None or kind not in ("set", "reset", "edit"):
        return message, kind, []
    if kind == "edit" and message.get("op") == "mark":
        return _marked(run, message), "set", []
    values = message.get("values", {})
    asked = list(values) if kind == "set" else [lesson_files.POINTS]
    asked = ["*"] if kind == "reset" else asked
    locked = [name for name in asked if run.locks(name)]
    if not locked:
        return message, kind, []
    names = {"*": "reset", lesson_files.POINTS: "drawing"}
    what = list_names([names.get(name, name) for name in locked], longest=40)
    text = f"Locked in this step of the lesson, so that nothing changed: {what}. "
    text += "Answer the question first, go on to the next step, or leave the lesson."
    left = {name: value for name, value in values.items() if name not in locked}
    dragging = bool(message.get("dragging") and left)
    return _setting(message, left, dragging), "set", [text]


def _setting(
    message: Mapping[str, Any], values: Mapping[str, Any], dragging: bool = False
) -> dict[str, Any]:
    """The message with these values in place of what it changes."""
    head = {name: message[name] for name in ("seq", "have") if name in message}
    return head | {"kind": "set", "values": values, "dragging": dragging}


def _marked(run: lesson_run.Run, message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep the place that the message marks; what is left of it changes nothing."""
    place = [message.get("x"), message.get("y")]
    is_place = all(isinstance(v, int | float) and abs(v) < FAR for v in place)
    if run.is_open_question and not run.is_answered and run.asks_place and is_place:
        run.mark = [float(value) for value in place]
    return _setting(message, {})


def _mark(run: lesson_run.Run) -> dict[str, Any]:
    """The visitor's mark, and after the answer the places that were asked for."""
    if run.is_open_question:
        return {"open": True, "at": run.mark, "found": []}
    with suppress(SmpcoreError):  # the page shows why a fit has no result
        run.readouts()
    places = run.places.get(run.at, [])
    return {"open": False, "at": run.answer, "found": places}


def redact(header: dict[str, Any]) -> dict[str, Any]:
    """The answer to a message without what is hidden until a question is answered."""
    run = lesson_run.current()
    if run is None:
        return header
    if "controls" in header:
        rows = [row for row in header["controls"] if run.shows(row["name"])]
        rows = [r | {"locked": True} if run.locks(r["name"]) else r for r in rows]
        header = header | {"controls": rows}
    path = header.get("path")
    if path and run.locks(path["param"]):  # its strip would scrub a locked control
        header = header | {"path": None}
    if "picture" in header and run.asks_place:
        header = header | {"mark": _mark(run)}
    if not run.is_open_question:
        return header
    if "knots" in header:
        header = header | {"knots": [_without_numbers(p) for p in header["knots"]]}
    if "trace" in header:  # its curves and sentences are full of numbers
        header = header | {"trace": None, "steps": [], "job": None, "printed": None}
    if "picture" in header:
        header = header | {"picture": _without_numbers(header["picture"])}
    return header


def _without_numbers(picture: dict[str, Any]) -> dict[str, Any]:
    return picture | {"readouts": [], "strip": _NO_STRIP}
