"""The dialogue of the live figure: a message from the browser in, a payload out.

On release of a control, the answer is the *canonical* fit (cold start, fixed seed),
the only one that is linked, exported or compared. While a control moves it is the same
fit where that is quick, otherwise a warm-started *preview*. The knots of the scrubbed
path, canonical fits too, are asked for by the browser afterwards, a few at a time, so
that a new message never waits behind them.

Where the canonical fit takes long it goes on in a job, and a *coarse* fit on a part of
the rows is shown meanwhile, and while a control moves.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from pages.explore import messages, subsampled
from pages.explore.canvas import pack
from pages.explore.edits import UNEXPECTED, edited
from pages.explore.scene import Scene, picture
from pages.state import links, slider_ranges, undo
from pages.state.choice import MINE, Choice
from pages.ui import controls
from pages.work import cache, jobs
from pages.work.warmup import uncompiled
from smpcore import METHODS, SmpcoreError, figures

log = logging.getLogger(__name__)

#: An answer with knots takes about this long at most.
KNOT_SECONDS = 0.15

#: While a control moves, a canonical fit may take this long; a preview is shown if the
#: last one took longer.
HELD_SECONDS = 0.1


def answer(message: Mapping[str, Any] | None) -> bytes:
    """Answer a message of the live figure.

    Parameters
    ----------
    message : mapping or None
        As the browser sent it (untrusted); None draws everything.

    Returns
    -------
    bytes
        The payload.
    """
    chosen = st.session_state.get("choice")
    before = links.current()
    lost = chosen is not None and chosen != before
    header: dict[str, Any] = {"v": 1, "seq": 0, "busy": 0}
    notices = [{"level": "warning", "text": t} for t in links.take_notices()]
    live = st.session_state.setdefault("live", {})
    if message is None:
        live.update(edit=None, released=None)
    try:
        seq, kind = _read(message)
        header["seq"] = seq
        if lost:  # the message was about a table that is gone
            message, kind = None, "full"
        with jobs.live_turn() as ahead:
            header["busy"] = ahead if ahead > 2 * jobs.N_CORES else 0
            choice, said = _applied(before, message, kind).settled()
            notices += [{"level": "info", "text": said}] if said else []
            choice, said = _within(before, choice, message)
            notices += [{"level": "info", "text": text} for text in said]
            _respond(header, choice, message or {}, kind)
            links.choose(choice)
            undo.follow(live, before, choice, message)
            header["undo"] = undo.told(live)
            if kind != "knots":
                if not (message or {}).get("dragging"):
                    live["released"] = links.current()
                    key = choice.method, choice.all_values
                    live["cautions"] = cache.cautions(choice.parts(), *key)
                told = live.get("cautions", [])
                notices += [{"level": "warning", "text": text} for text in told]
    except SmpcoreError as error:
        # Nothing is lost: what was on the screen stays, with the reason above it.
        notices.append({"level": "error", "text": str(error)})
        header["kind"] = "notice"
        if message is None:
            links.choose(Choice(token=before.token, others=before.others))
            _respond(header, links.current(), {}, "full")
    except Exception:
        # A bug: all of it in the log, a sentence to find it by for the visitor.
        number = secrets.token_hex(3)
        log.exception("bug %s while answering %s", number, type(message).__name__)
        text = f"The program made a mistake (number {number}, see the log); what was "
        notices.append({"level": "error", "text": text + "on the screen stays."})
        header = {"v": 1, "seq": header["seq"], "busy": 0, "kind": "notice"}
    return pack(header | {"notices": notices})


def released() -> Choice:
    """The choice as it was when no control moved.

    Whoever wants its canonical fit does not start one for each place that a slider is
    dragged over.
    """
    return st.session_state["live"].get("released") or links.current()


def _read(message: Mapping[str, Any] | None) -> tuple[int, str]:
    if message is None:
        return 0, "full"
    if reason := messages.problem(message):
        log.warning("a message of the figure was dropped: %s", reason)
        raise SmpcoreError(UNEXPECTED)
    return message["seq"], message["kind"]


def _applied(choice: Choice, message: Mapping[str, Any] | None, kind: str) -> Choice:
    """Apply what the message changes."""
    if kind == "set":
        return controls.set_values(choice, message.get("values", {}))
    if kind == "reset":
        return replace(choice, values={}, view={}, threshold=0.0, band=0.0)
    if kind == "edit" and message["seq"] != st.session_state["live"].get("edit"):
        # The browser repeats an edit whose answer got lost: it counts once.
        choice = edited(choice, message, st.session_state["live"])
        st.session_state["live"]["edit"] = message["seq"]
    return choice


def _within(
    before: Choice, choice: Choice, message: Mapping[str, Any] | None
) -> tuple[Choice, list[str]]:
    """Bring into range what was not chosen for these data and this method.

    A figure that comes back, by another page or a link, shows what was chosen.
    """
    if message is None:
        return slider_ranges.within(choice, choice.all_values)
    together = set(message.get("values", ()))
    if together and (before.source, before.method) != (choice.source, choice.method):
        return slider_ranges.within(choice, together)
    if together & slider_ranges.options(choice):
        return slider_ranges.within(choice, together | set(before.values))
    return choice, []  # points drawn by hand, and steps back, move no setting


def _respond(
    header: dict[str, Any],
    choice: Choice,
    message: Mapping[str, Any],
    kind: str,
) -> None:
    """Fill in what the message asks for."""
    data = choice.parts()
    live = st.session_state["live"]
    scene_id = _digest(data.dataset.digest, data.split.key, choice)
    scene = live.get("scene")
    if scene is None or live.get("scene_id") != scene_id:
        scene = Scene(choice, data, _view(choice, data, live))
        live.update(scene=scene, scene_id=scene_id)
    if kind == "knots":
        header.update(kind="knots", knots=_knots(choice, data, scene, message))
        return
    dragging = bool(message.get("dragging"))
    started = time.perf_counter()
    part, job, canonical = data, None, False
    if not dragging:
        estimator, job, canonical = _canonical(choice, data, live, kind == "stop")
    if (dragging and _takes_long(choice, data)) or (
        job and kind in ("set", "reset", "edit", "full")
    ):
        estimator, part = _coarse(choice, data, live.get("state") if dragging else None)
    elif dragging:
        estimator = _held(choice, data, live) if kind == "set" else None
        estimator = estimator or _preview(choice, data, live.get("state"))
    if "bounds" not in live or live["bounds_of"] != choice.method:
        live.update(bounds=_widest(choice), bounds_of=choice.method)
    live["bounds"] = slider_ranges.holding(live["bounds"], choice)
    n_features = len(data.preparation.feature_names)
    automatic: Mapping[str, float] = {}
    support = np.ones(n_features, dtype=bool)
    if estimator is not None:
        live["state"] = estimator.state_
        support, automatic = estimator.model_.support, estimator.automatic_
        seconds = time.perf_counter() - started
        header["picture"] = picture(estimator, scene, part)
        header["picture"] |= {
            "canonical": canonical,
            "coarse": None if part is data else subsampled.words(part, data),
            "ms": 1000 * seconds,
            "chain": _chain(choice, scene_id, live["bounds"]),
            "knot": None,
            "value": _standing(choice, automatic),
        }
    header["job"] = job
    scrubs = live.get("quick") and METHODS[choice.method].scrubs(choice.all_values)
    header["path"] = _path(choice, live["bounds"]) if scrubs else None
    header["controls"] = controls.live_controls(
        choice, data, live["bounds"], support, automatic
    )
    known = message.get("have") == scene_id
    header["kind"] = "picture" if known else "full"
    if not known:
        header["scene"] = scene.header | {"id": scene_id}
    if not dragging:
        links.show_url(choice)


def _standing(choice: Choice, automatic: Mapping[str, float]) -> Any:
    """Where the scrubbed parameter stands; None without one."""
    path = METHODS[choice.method].path
    value = choice.all_values.get(path)
    return automatic.get(path) if value is None else value


def _digest(digest: str, split_key: str, choice: Choice) -> str:
    parts = (digest, split_key, choice.open_test, sorted(choice.view.items(), key=str))
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _view(choice: Choice, data: cache.Parts, live: dict[str, Any]) -> figures.View:
    """The window; it stands still while the visitor's own points move inside it."""
    view = cache.view(data, choice.view_of(data))
    drawn = choice.data == MINE and live.get("edited") == choice.token
    if not drawn or live.get("scene") is None:
        return view
    kept = live["scene"].view
    same = (kept.x_label, kept.y_label) == (view.x_label, view.y_label)
    if same and np.array_equal(kept.origin, view.origin):
        xy = kept.places(data.X, data.y)
        if (xy >= [kept.x[0], kept.y[0]]).all() and (
            xy <= [kept.x[1], kept.y[1]]
        ).all():
            return kept
    return view


def _takes_long(choice: Choice, data: cache.Parts) -> bool:
    """Whether the last canonical fit was a job, or this one is bound to be."""
    quick = st.session_state["live"].get("quick", True)
    return not quick or cache.is_slow(data, choice.method)


def _coarse(
    choice: Choice, data: cache.Parts, state: Any
) -> tuple[Any, cache.Parts | None]:
    """A quick fit on a part of the rows, and that part; None where there is none."""
    part = subsampled.part_of(data, choice.method)
    if part is None:
        return None, None
    try:
        return _preview(choice, part, state), part
    except SmpcoreError as error:
        log.info("no coarse answer: %s", error)  # all of the rows may do
        return None, None


def _held(choice: Choice, data: cache.Parts, live: dict[str, Any]) -> Any:
    """The canonical fit, as a release gives it; None where it takes too long."""
    if live.get("seconds", np.inf) > HELD_SECONDS:
        return None
    problem = cache.problem(data, choice.method, choice.all_values)
    unfitted = METHODS[choice.method].estimator(choice.all_values, data.dataset.task)
    with jobs.stopped_after(HELD_SECONDS) as flag:
        fitted = unfitted.solve(problem, stop=flag)
    return None if fitted.history_.status == cache.STOPPED else fitted


def _preview(choice: Choice, data: cache.Parts, state: Any) -> Any:
    """A quick fit from where the last one ended."""
    values = choice.all_values
    problem = cache.problem(data, choice.method, values)
    method = METHODS[choice.method]
    estimator = method.estimator(values, data.dataset.task, preview=True)
    with jobs.stopped_after(cache.QUICK_SECONDS) as flag:
        return estimator.solve(problem, state, stop=flag)


def _canonical(
    choice: Choice, data: cache.Parts, live: dict[str, Any], stop: bool
) -> tuple[Any, dict[str, Any] | None, bool]:
    """The canonical fit, or None with what its job says; whether it is canonical."""
    fit = cache.fit(data, choice.method, choice.all_values)
    _wait_for(fit, live)
    # Knots of a path that is slow to solve would keep the visitor waiting.
    live["quick"] = fit.task is None
    if stop and fit.task is not None:
        fit.stop()
    elif fit.was_stopped:
        fit.restart()
    if fit.wait(0.0):
        live.update(bounds=fit.bounds, bounds_of=choice.method)
        live["seconds"] = fit.estimator.history_.seconds
        # What was chosen on folds beforehand takes its time once only.
        quick = live["seconds"] < cache.QUICK_SECONDS
        live["quick"] = quick and not cache.is_slow(data, choice.method)
        return choice.at_work(fit.estimator), None, not fit.was_stopped
    doing = "Compiling and fitting" if choice.method in uncompiled else "Fitting"
    others = ", goes on: another visitor waits for it" if stop else ""
    job = {
        "text": f"{doing} {METHODS[choice.method].title}{others}",
        "progress": float(fit.task.progress[0]),
        "seconds": fit.task.seconds,
    }
    return None, job, False


def _wait_for(fit: cache.Fit, live: dict[str, Any]) -> None:
    """Wait for this fit and for no older one, which may end then."""
    fit.join()
    older = live.get("waits_for", fit)
    live["waits_for"] = fit
    if older is not fit:
        older.leave()


def _widest(choice: Choice) -> dict[str, tuple[float, float]]:
    """Slider ends before a fit has told better ones."""
    params = METHODS[choice.method].controls(choice.task)
    numbers = [p for p in params if p.scale in ("linear", "log", "int")]
    return {p.name: (p.low, p.high) for p in numbers}


def _chain(choice: Choice, scene_id: str, bounds: slider_ranges.Ends) -> str:
    """Name of the path that the shown knots belong to."""
    row = METHODS[choice.method]
    values = cache.pairs(row.off_path(choice.all_values, choice.task))
    text = repr((scene_id, choice.method, values, bounds.get(row.path)))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _path(choice: Choice, bounds: slider_ranges.Ends) -> dict[str, Any]:
    method = METHODS[choice.method]
    return {
        "param": method.path,
        "values": method.knots(bounds[method.path]).tolist(),
        "from_right": method.from_right,
    }


def _knots(
    choice: Choice,
    data: cache.Parts,
    scene: Scene,
    message: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Solve and paint the knots that the browser asks for."""
    method, values = METHODS[choice.method], choice.all_values
    if not method.scrubs(values):
        return []
    bounds = slider_ranges.holding(cache.bounds(data, choice.method, values), choice)
    knots = method.knots(bounds[method.path])
    wanted = [i for i in message.get("want", ()) if type(i) is int]
    path = cache.path(data, choice.method, values, tuple(knots))
    chain = _chain(choice, st.session_state["live"]["scene_id"], bounds)
    pictures: list[dict[str, Any]] = []
    started = time.perf_counter()
    for index in wanted[:16]:
        if not 0 <= index < len(knots):
            continue
        if pictures and time.perf_counter() - started > KNOT_SECONDS:
            break  # the browser asks for the others again
        entry = picture(path.knot(index), scene, data)
        entry |= {"knot": index, "value": float(knots[index]), "chain": chain}
        pictures.append(entry | {"canonical": False, "ms": 0.0})
    return pictures
