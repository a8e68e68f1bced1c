"""The live figure: a message from the browser in, a payload out.

On release of a control the answer is the *canonical* fit, while it moves the same one
where that is quick, else a *preview*; where the canonical fit takes long it goes on in
a job, and one on a part of the rows is shown meanwhile. Points of the path are asked
for afterwards, so that no message waits behind them.

What a lesson locks and hides is decided here, on the server. While a question is open
its picture stays: regions, training and validation rows, and prototypes with their
weights are what the question is about. Read-outs, strip, test rows and the steps of the
fit are not sent, nothing but the view can be changed, and the other pages that show
numbers of models are closed (`lesson_bar.closes`).
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from pages.explore import path
from pages.explore.canvas import message_problem, pack
from pages.explore.edits import UNEXPECTED, edited
from pages.explore.picture import picture
from pages.explore.scene import Scene, laying_out, scene_of
from pages.state import lesson_files, lesson_run, session, undo
from pages.state.choice import Choice
from pages.state.context import Context, resolve, validated
from pages.state.session import Live
from pages.state.state_file import FAR
from pages.ui import controls
from pages.work import cache, fits, slots
from pages.work.warmup import uncompiled
from smpcore import SmpcoreError
from smpcore.datasets import list_names

log = logging.getLogger(__name__)
#: At most so many training rows, and numbers in them.
MOST_ROWS, MOST_VALUES = 300, 100_000
#: Fewer rows than this tell nothing.
LEAST_ROWS = 30


def subsampled_fit(context: Context, state: Any) -> tuple[Any, cache.Parts | None]:
    """A quick fit on a part of the rows, and that part; None if it would not help."""
    method = context.method.key
    part = part_of(context.data, method)
    n_features = context.data.X.shape[1]
    aligned = context.method.comparison_cost(context.values, n_features) > 1
    if part is None or aligned:  # where comparing rows is slow, so is a part of them
        return None, None
    try:
        problem = cache.problem(part, method, context.values)
        return preview(context, problem, state), part
    except SmpcoreError as error:
        log.info("no subsampled fit: %s", error)  # all of the rows may do
        return None, None


def preview(context: Context, problem: Any, state: Any) -> Any:
    """A quick fit from where the last one ended."""
    estimator = context.method.estimator(context.values, problem.task, preview=True)
    with slots.stopped_after(fits.QUICK_SECONDS) as flag:
        return estimator.solve(problem, state, stop=flag)


def part_of(data: cache.Parts, method: str) -> cache.Parts | None:
    """The same data with fewer training rows, which keep the shares of the classes."""
    X, y = data.of("train")
    if data.dataset.matrices:  # fewer rows have other columns, too
        return None
    n_rows = min(MOST_ROWS, MOST_VALUES // max(X.shape[1], 1))
    if method in cache.uncompiled or min(n_rows, len(y)) < LEAST_ROWS:
        return None
    classify = data.dataset.task == "classification"
    return replace(data, split=data.split.thinned(data.y, n_rows, classify))


def words(part: cache.Parts, data: cache.Parts) -> str:
    """What a subsampled fit is, to be shown with its picture."""
    few, all_rows = len(part.split.train), len(data.split.train)
    if few == all_rows:
        return "Preview: short fit"
    return f"Preview: fitted on {few:,} of {all_rows:,} rows"


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


#: As the browser sent it (untrusted); None draws everything.
Message = Mapping[str, Any] | None

#: While a control moves, a canonical fit may take this long; a preview is shown if the
#: last one took longer.
CANONICAL_SECONDS = 0.05
#: Messages that change nothing: what they ask for comes beside the picture.
BACKGROUND = ("knots", "steps")


def answer(message: Message) -> bytes:
    """Answer a message of the live figure."""
    visit = session.get()
    chosen, live = visit.choice, visit.live
    before = session.current(first_run=message is None)
    header: dict[str, Any] = {"v": 1, "seq": 0, "busy": 0}
    notices = [{"level": "warning", "text": t} for t in session.take_notices()]
    if message is None:
        live.edit = live.released = None
    try:
        header["seq"], kind = _read(message)
        live.present = (message or {"present": live.present}).get("present", False)
        # The message was about a table that is gone, or about what a lesson's step
        # replaced in the same run.
        if chosen != before or live.scene is None:
            message, kind = None, "full"
        if visit.lesson is not None:
            message, kind, locked = filter_locked(message, kind)
            notices += [{"level": "info", "text": text} for text in locked]
        with slots.interactive_slot() as ahead:
            header["busy"] = ahead if ahead > 2 * slots.N_CORES else 0
            _follow(header, notices, before, message, kind)
    except SmpcoreError as error:
        # Nothing is lost: what was on the screen stays, with the reason above it.
        notices.append({"level": "error", "text": str(error)})
        header["kind"] = "notice"
        if message is None:
            session.choose(Choice(token=before.token, others=before.others))
            _respond(header, session.resolved(), {}, "full")
    except Exception:
        # A bug: all of it in the log, a sentence to find it by for the visitor.
        number = secrets.token_hex(3)
        log.exception("bug %s while answering %s", number, type(message).__name__)
        text = f"Internal error (ID {number}). The last result is kept."
        notices.append({"level": "error", "text": text})
        header = {"v": 1, "seq": header["seq"], "busy": 0, "kind": "notice"}
    if visit.lesson is not None:
        header = redact(header)
    return pack(header | {"notices": notices})


def _follow(
    header: dict[str, Any], notices: list, before: Choice, message: Message, kind: str
) -> None:
    """Make the message's choice the visitor's; fill in the answer, and what to say."""
    visit = session.get()
    live, dragging = visit.live, bool((message or {}).get("dragging"))
    context, changes = _last_with_values(before, message, kind, live), []
    goes_on = context is not None
    if not goes_on:
        context, changes = _resolved(before, message, kind)
    notices += [{"level": "info", "text": text} for text in changes]
    _respond(header, context, message or {}, kind)
    live.drag = context if kind == "set" and dragging else None
    visit.choice = context.choice
    if not goes_on:
        undo.follow(live, before, context.choice, message)
    header["undo"] = context.cached("undo", lambda: undo.next_undo(live))
    if kind in BACKGROUND:
        return
    if not dragging:
        live.released = context.choice
        key = context.method.key, context.values
        live.cautions = cache.cautions(context.data, *key)
    notices += [{"level": "warning", "text": text} for text in live.cautions]


def _read(message: Message) -> tuple[int, str]:
    if message is None:
        return 0, "full"
    if reason := message_problem(message):
        log.warning("a message of the figure was dropped: %s", reason)
        raise SmpcoreError(UNEXPECTED)
    return message["seq"], message["kind"]


def _last_with_values(
    before: Choice, message: Message, kind: str, live: Live
) -> Context | None:
    """The last context of a drag with its sliders moved; None: resolve anew."""
    context, live.drag = live.drag, None
    # Another page may have made another choice meanwhile.
    if context is None or context.choice is not before:
        return None
    if kind != "set" or not message.get("dragging"):
        return None
    return context.with_values(message.get("values", {}))


def _resolved(before: Choice, message: Message, kind: str) -> tuple[Context, list[str]]:
    """What the message makes of a choice, and what was changed besides, in words."""
    choice, changed = validated(_applied(before, message, kind))
    context, moved = resolve(choice), []
    chosen = set((message or {}).get("values", ()))
    options = {param.name for param in context.params if param.scale == "choice"}
    # Another page or a link, or all defaults: the figure shows what was chosen.
    if message is None or kind == "reset":
        context, moved = context.clip_to_ranges(context.values)
    elif "method" in chosen or (chosen and before.source != choice.source):
        context, moved = context.clip_to_ranges(chosen)
    elif chosen & options:  # they may move the ends of its sliders by much
        context, moved = context.clip_to_ranges(chosen | set(before.values))
    return context, [changed] * bool(changed) + moved


def _applied(choice: Choice, message: Message, kind: str) -> Choice:
    """Apply what the message changes."""
    if kind == "set":
        values = message.get("values", {})
        if values and session.get().live.scene.header["view"]["far"] is not None:
            # A map that a table opened with stays, and goes into the link.
            choice = replace(choice, view={"kind": "map", **choice.view})
        return controls.set_values(choice, values)
    if kind == "reset":
        return replace(choice, values={}, view={}, threshold=0.0, band=0.0)
    live = session.get().live
    if kind == "edit" and message["seq"] != live.edit:
        # The browser repeats an edit whose answer got lost: it counts once.
        choice = edited(choice, message, live)
        live.edit = message["seq"]
    return choice


def _respond(
    header: dict[str, Any], context: Context, message: Mapping[str, Any], kind: str
) -> None:
    """Fill in the answer to the message."""
    live = session.get().live
    scene = context.cached("scene", lambda: scene_of(context, live))
    # What is asked for of another scene would belong to nothing: the new one comes.
    if kind in BACKGROUND and message.get("have") == scene.header["id"]:
        header.update(kind=kind, **_pictures(context, scene, message, kind))
        return
    dragging, tied = bool(message.get("dragging")), bool(message.get("assignments"))
    started = time.perf_counter()
    estimator, data, job, canonical = _fitted(context, live, kind, dragging)
    bounds = context.holding(live.bounds.get(context.method.key))
    live.bounds = {context.method.key: bounds}
    automatic: Mapping[str, float] = {}
    support = np.ones(context.data.X.shape[1], dtype=bool)
    if estimator is not None:
        live.state = estimator.state_
        support, automatic = estimator.model_.support, estimator.automatic_
        seconds = time.perf_counter() - started
        value = context.values.get(context.method.path)
        part = None if data is context.data else words(data, context.data)
        painted = picture(estimator, scene, data, tied, coded=not dragging)
        header["picture"] = painted | {
            "canonical": canonical,
            "coarse": part,
            "ms": 1000 * seconds,
            "chain": path.chain(context, scene, bounds),
            "knot": None,
            "value": automatic.get(context.method.path) if value is None else value,
        }
    header["job"] = job
    scrubs = live.quick and context.method.scrubs(context.values)
    header["path"] = path.grid(context, bounds) if scrubs else None
    header["controls"] = controls.live_controls(context, bounds, support, automatic)
    header["terms"] = [term._asdict() for term in context.method.terms]
    full = {"kind": "full", "scene": scene.header | {"present": live.present}}
    known = message.get("have") == scene.header["id"]
    header |= {"kind": "picture"} if known else full
    if not dragging:
        header["headline"] = _headline(context, scene)
        header["laying_out"] = laying_out(context, scene)
        session.show_address(context.choice)


def _headline(context: Context, scene: Scene) -> str:
    """What the method does; a lesson has its own words."""
    if lesson_run.current():
        return ""
    is_drawn = scene.header["image"] is None and scene.header["view"]["far"] is None
    arrows = "arrows" if is_drawn else "prototypes"
    return context.method.summary.format(arrows=arrows)


def _pictures(
    context: Context, scene: Scene, message: Mapping[str, Any], kind: str
) -> dict[str, Any]:
    """What the browser asks for beside the picture, while nothing else goes on."""
    if kind == "knots":
        return {"knots": path.path_points(context, scene, message)}
    session.get().live.wait_for(run := path.run_of(context, message))
    return path.steps(context, scene, message, run)


def _fitted(
    context: Context, live: Live, kind: str, dragging: bool
) -> tuple[Any, cache.Parts, dict[str, Any] | None, bool]:
    """The fit shown, its rows, its job if it goes on, whether it is canonical."""
    estimator, data, job, canonical = None, context.data, None, False
    if not dragging:
        estimator, job, canonical = _canonical(context, live, kind == "stop")
    # The last canonical fit was a job, or this one is bound to be.
    key = context.method.key, context.values
    slow = context.cached("slow", lambda: cache.is_slow(data, *key))
    waits = job and kind in ("set", "reset", "edit", "full")
    if waits or (dragging and (slow or not live.quick)):
        estimator, data = subsampled_fit(context, live.state if dragging else None)
    elif dragging:
        estimator = _canonical_if_quick(context, live) if kind == "set" else None
        estimator = estimator or preview(context, context.problem(), live.state)
    return estimator, data, job, canonical


def _canonical_if_quick(context: Context, live: Live) -> Any:
    """The canonical fit, as a release gives it; None if it takes too long."""
    if live.seconds > CANONICAL_SECONDS:
        return None
    problem = context.problem()
    unfitted = context.method.estimator(context.values, problem.task)
    with slots.stopped_after(CANONICAL_SECONDS) as flag:
        fitted = unfitted.solve(problem, stop=flag)
    return None if fitted.history_.status == fits.STOPPED else fitted


def _canonical(
    context: Context, live: Live, stop: bool
) -> tuple[Any, dict[str, Any] | None, bool]:
    """The canonical fit, or None with what its job says; whether it is canonical."""
    method = context.method
    fit = context.fit()
    live.wait_for(fit)
    # Points of a path that is slow to solve would keep the visitor waiting.
    live.quick = fit.task is None
    if stop and fit.task is not None:
        fit.stop()
    elif fit.was_stopped:
        fit.restart()
    if fit.wait(0.0):
        live.bounds = {method.key: fit.bounds}
        live.seconds = fit.estimator.history_.seconds
        # What was chosen on folds beforehand takes its time once only.
        quick = live.seconds < fits.QUICK_SECONDS or not fit.compiled
        live.quick = quick and not cache.is_large(
            context.data, method.key, context.values
        )
        return context.with_threshold(fit.estimator), None, not fit.was_stopped
    doing = "Compiling and fitting" if method.key in uncompiled else "Fitting"
    others = ", kept running for another visitor" if stop else ""
    job = {
        "text": f"{doing} {method.title}{others}",
        "progress": float(fit.task.progress[0]),
        "seconds": fit.task.seconds,
    }
    return None, job, False
