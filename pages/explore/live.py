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

import msgspec
import numpy as np

from pages.explore import path
from pages.explore.canvas import Message, pack, read_message
from pages.explore.edits import edited
from pages.explore.picture import picture
from pages.explore.scene import Scene, laying_out, scene_of
from pages.state import lesson_files, lesson_run, session, undo
from pages.state.choice import Choice
from pages.state.context import Context, resolve
from pages.state.session import Live
from pages.state.settings import validated
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
    if header.get("knots") and run.locks(session.resolved().method.path):
        header = header | {"knots": []}
    if "picture" in header and run.asks_place:
        header = header | {"mark": _mark(run)}
    if not run.hides_numbers:
        return header
    if "trace" in header:  # its curves and sentences are full of numbers
        header = header | {"trace": None, "steps": [], "job": None, "printed": None}
    if "picture" in header:
        header = header | {"picture": _without_numbers(header["picture"])}
    return header


def _without_numbers(picture: dict[str, Any]) -> dict[str, Any]:
    return picture | {"readouts": [], "strip": _NO_STRIP}


#: While a control moves, a canonical fit may take this long; a preview is shown if the
#: last one took longer.
CANONICAL_SECONDS = 0.05
#: Messages that change nothing: what they ask for comes beside the picture.
BACKGROUND = ("knots", "steps")


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
            _respond(header, session.resolved(), message, live)
    except Exception:
        # A bug: all of it in the log, a sentence to find it by for the visitor.
        number = secrets.token_hex(3)
        log.exception("bug %s while answering %s", number, message.kind)
        text = f"Internal error (ID {number}). The last result is kept."
        notices.append({"level": "error", "text": text})
        header = {"v": 1, "seq": header["seq"], "busy": 0, "kind": "notice"}
    if visit.lesson is not None:
        header = redact(header)
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
    context, changes = _last_with_values(before, message, live), []
    goes_on = context is not None
    if not goes_on:
        context, changes = _resolved(before, message)
    for text in changes:
        notices.append({"level": "info", "text": text})
    _respond(header, context, message, live)
    live.drag = context if kind == "set" and message.dragging else None
    visit.choice = context.choice
    if not goes_on:
        undo.follow(live, before, context.choice, kind, message.dragging)
    header["undo"] = context.cached("undo", lambda: undo.next_undo(live))
    if kind in BACKGROUND:
        return
    if not message.dragging:
        live.released = context.choice
        live.cautions = cache.cautions(*context.request)
    for text in live.cautions:
        notices.append({"level": "warning", "text": text})


def _last_with_values(before: Choice, message: Message, live: Live) -> Context | None:
    """The last context of a drag with its sliders moved; None: resolve anew."""
    context, live.drag = live.drag, None
    # Another page may have made another choice meanwhile.
    if context is None or context.choice is not before:
        return None
    if message.kind != "set" or not message.dragging:
        return None
    return context.with_values(message.values)


def _resolved(before: Choice, message: Message) -> tuple[Context, list[str]]:
    """What the message makes of a choice, and what was changed besides, in words."""
    choice, left_out = validated(_applied(before, message))
    context, moved = resolve(choice), []
    chosen = set(message.values)
    options = {param.name for param in context.params if param.scale == "choice"}
    # Another page or a link, or all defaults: the figure shows what was chosen.
    if message.kind in ("full", "reset"):
        context, moved = context.clip_to_ranges(context.values)
    elif "method" in chosen or (chosen and before.source != choice.source):
        context, moved = context.clip_to_ranges(chosen)
    elif chosen & options:  # they may move the ends of its sliders by much
        context, moved = context.clip_to_ranges(chosen | set(before.values))
    return context, left_out + moved


def _applied(choice: Choice, message: Message) -> Choice:
    """Apply what the message changes."""
    kind, values, live = message.kind, message.values, session.get().live
    if kind == "set":
        if values and live.scene and live.scene.header["view"]["far"] is not None:
            # A map that a table opened with stays, and goes into the link.
            choice = replace(choice, view={"kind": "map", **choice.view})
        return controls.set_values(choice, values)
    if kind == "reset":
        return replace(choice, values={}, view={}, threshold=0.0, band=0.0)
    if kind == "edit" and message.seq != live.edit:
        # The browser repeats an edit whose answer got lost: it counts once.
        choice = edited(choice, message, live)
        live.edit = message.seq
    return choice


def _respond(
    header: dict[str, Any], context: Context, message: Message, live: Live
) -> None:
    """Fill in the answer to the message."""
    dragging = message.dragging
    scene = context.cached("scene", lambda: scene_of(context, live))
    # What is asked for of another scene would belong to nothing: the new one comes.
    known = message.have == scene.header["id"]
    if known and message.kind in BACKGROUND:
        header.update(kind=message.kind, **_pictures(context, scene, message))
        return
    started = time.perf_counter()
    estimator, data, job, canonical = _fitted(context, live, message)
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
        tied = message.assignments
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


def _pictures(context: Context, scene: Scene, message: Message) -> dict[str, Any]:
    """What the browser asks for beside the picture, while nothing else goes on."""
    if message.kind == "knots":
        return {"knots": path.path_points(context, scene, message)}
    session.get().live.wait_for(run := path.run_of(context, message))
    return path.steps(context, scene, message, run)


def _fitted(
    context: Context, live: Live, message: Message
) -> tuple[Any, cache.Parts, dict[str, Any] | None, bool]:
    """The fit shown, its rows, its job if it goes on, whether it is canonical."""
    estimator, data, job, canonical = None, context.data, None, False
    kind, dragging = message.kind, message.dragging
    if not dragging:
        estimator, job, canonical = _canonical(context, live, kind == "stop")
    # The last canonical fit was a job, or this one is bound to be.
    slow = context.cached("slow", lambda: cache.is_slow(*context.request))
    waits = job and kind in ("set", "reset", "edit", "full")
    if waits or (dragging and (slow or not live.quick)):
        estimator, data = subsampled_fit(context, live.state if dragging else None)
    elif dragging:
        estimator = _canonical_if_quick(context, live) if kind == "set" else None
        estimator = estimator or preview(context, context.problem(), live.state)
    if estimator and len(context.labels) == 2:  # no call more in others' drags
        estimator = context.of_outcome(estimator)
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
    live.quick = fit.is_quick
    if stop and not fit.is_quick:
        fit.stop()
    elif fit.was_stopped:
        fit.restart()
    if fit.ready(0.0):
        session.note_compared(context.table.name, "fitted", [context.key])
        live.bounds = {method.key: fit.bounds}
        live.seconds = fit.estimator.history_.seconds
        # What was chosen on folds beforehand takes its time once only.
        quick = live.seconds < fits.QUICK_SECONDS or not fit.compiled
        live.quick = quick and not cache.is_large(*context.request)
        return context.with_threshold(fit.estimator), None, not fit.was_stopped
    doing = "Compiling and fitting" if method.key in uncompiled else "Fitting"
    others = ", kept running for another visitor" if stop else ""
    return None, path.job_of(fit, f"{doing} {method.title}{others}"), False
