"""What a lesson locks and hides on the live figure, decided on the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pages.state import lesson_run
from smpcore.datasets import list_names

#: In place of what the strip draws of a model while a question is open.
_NO_STRIP = {"nonzeros": 0}


def let_through(
    message: Mapping[str, Any] | None, kind: str
) -> tuple[Mapping[str, Any] | None, str, list[str]]:
    """Drop the changes of a message that the step of the lesson locks.

    Parameters
    ----------
    message : mapping or None
        A checked message of the figure.
    kind : str
        Of the message.

    Returns
    -------
    message : mapping or None
        Without what is locked.
    kind : str
    notices : list of str
        What was dropped, in sentences.
    """
    run = lesson_run.current()
    if run is None or message is None or kind not in ("set", "reset", "edit"):
        return message, kind, []
    values = message.get("values", {})
    asked = list(values) if kind == "set" else [lesson_run.POINTS]
    asked = ["*"] if kind == "reset" else asked
    locked = [name for name in asked if run.locks(name)]
    if not locked:
        return message, kind, []
    names = {"*": "reset", lesson_run.POINTS: "drawing"}
    what = list_names([names.get(name, name) for name in locked], longest=40)
    text = f"Locked in this step of the lesson, so that nothing changed: {what}. "
    text += "Answer the question first, go on to the next step, or leave the lesson."
    left = {name: value for name, value in values.items() if name not in locked}
    kept = {name: message[name] for name in ("seq", "have") if name in message}
    kept |= {"dragging": bool(message.get("dragging")) and bool(left)}
    return kept | {"kind": "set", "values": left}, "set", [text]


def conceal(header: dict[str, Any]) -> dict[str, Any]:
    """The answer to a message without what is hidden until a question is answered."""
    run = lesson_run.current()
    if run is None:
        return header
    if "controls" in header:
        rows = header["controls"]
        rows = [r | {"locked": True} if run.locks(r["name"]) else r for r in rows]
        header = header | {"controls": rows}
    path = header.get("path")
    if path and run.locks(path["param"]):  # its strip would scrub a locked control
        header = header | {"path": None}
    if not run.is_open_question:
        return header
    for name in ("knots", "steps"):
        if name in header:
            header = header | {name: [_without_numbers(p) for p in header[name]]}
    if "picture" in header:
        header = header | {"picture": _without_numbers(header["picture"])}
    return header


def _without_numbers(picture: dict[str, Any]) -> dict[str, Any]:
    return picture | {"readouts": [], "strip": _NO_STRIP}
