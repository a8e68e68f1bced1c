"""The dialogue of the live figure: a message from the browser in, a payload out.

While a control moves, the answer is a warm-started *preview*; on release it is the
*canonical* fit (cold start, fixed seed), the only one that is linked, exported or
compared. The knots of the scrubbed path are asked for by the browser afterwards, a
few at a time, so that a new message never waits behind them.
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

from pages.shared import cached, controls, jobs, links, readouts
from pages.shared.canvas import pack
from pages.shared.choice import Choice
from pages.shared.edits import UNEXPECTED, edited, is_editable
from smpcore import METHODS, SmpcoreError, class_numbers, figures

log = logging.getLogger(__name__)

#: Rows that are drawn, at most; scores always count all of them.
SHOWN_ROWS = 2000
#: An answer with knots takes about this long at most.
KNOT_SECONDS = 0.15
PARTS = ("train", "validation", "test")


class Scene:
    """What stands still while a model changes: rows, window, labels.

    Parameters
    ----------
    choice : Choice
    data : Parts
    view : figures.View
    """

    def __init__(self, choice: Choice, data: cached.Parts, view: figures.View) -> None:
        open_test = choice.open_test or data.dataset.open_test
        self.parts = PARTS if open_test else PARTS[:2]
        self.view = view
        rows = [getattr(data.split, part) for part in self.parts]
        part = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        row = np.concatenate(rows)
        total = len(row)
        if total > SHOWN_ROWS:
            chosen = np.random.default_rng(0).permutation(total)[:SHOWN_ROWS]
            row, part = row[chosen], part[chosen]
        self.X = data.X[row]
        self.xy = view.project(self.X)
        self.lifted = view.lift(self.xy)
        classes = np.unique(data.of("train")[1])
        label = class_numbers(data.y[row], classes)
        self.header = {
            "title": data.dataset.name,
            "classes": [str(label) for label in classes],
            "editable": is_editable(data),
            "parts": ["training", "validation", "test"],
            "points": {
                "x": self.xy[:, 0].astype(np.float32),
                "y": self.xy[:, 1].astype(np.float32),
                "label": np.where(label < 0, 255, label).astype(np.uint8),
                "part": part.astype(np.uint8),
                "row": row.astype(np.int32),
            },
            "shown_of": [len(row), total],
            "view": {
                "x": list(view.x),
                "y": list(view.y),
                "xlabel": view.x_label[:80],
                "ylabel": view.y_label[:80],
                "note": view.note,
            },
            "image": _image_shape(data),
            "features": [name[:80] for name in data.preparation.feature_names],
            "alt": f"Decision regions on {data.dataset.name}",
        }


def _image_shape(data: cached.Parts) -> list[int] | None:
    shape = data.dataset.sample_shape
    n_features = len(data.preparation.feature_names)
    return list(shape) if len(shape) == 2 and np.prod(shape) == n_features else None


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
    before = links.current()
    header: dict[str, Any] = {"v": 1, "seq": 0, "busy": 0}
    notices = [{"level": "warning", "text": t} for t in links.take_notices()]
    live = st.session_state.setdefault("live", {})
    if message is None:
        live["edit"] = None
    try:
        seq, kind = _read(message)
        header["seq"] = seq
        with jobs.live_turn() as ahead:
            header["busy"] = ahead if ahead > 2 * jobs.N_CORES else 0
            choice = _applied(before, message, kind)
            choice, said = _within(choice, message)
            notices += [{"level": "info", "text": text} for text in said]
            _respond(header, choice, message or {}, kind)
            links.choose(choice)
            if kind != "knots":
                if not (message or {}).get("dragging"):
                    key = choice.method, choice.all_values
                    live["cautions"] = cached.cautions(choice.parts(), *key)
                told = live.get("cautions", [])
                notices += [{"level": "warning", "text": text} for text in told]
    except SmpcoreError as error:
        # Nothing is lost: what was on the screen stays, with the reason above it.
        notices.append({"level": "error", "text": str(error)})
        header["kind"] = "notice"
        if message is None:
            links.choose(Choice(token=before.token))
            _respond(header, links.current(), {}, "full")
    except Exception:
        # A bug: all of it in the log, a sentence to find it by for the visitor.
        number = secrets.token_hex(3)
        log.exception("bug %s while answering %s", number, type(message).__name__)
        text = f"The program made a mistake (number {number}, see the log); what was "
        notices.append({"level": "error", "text": text + "on the screen stays."})
        header = {"v": 1, "seq": header["seq"], "busy": 0, "kind": "notice"}
    return pack(header | {"notices": notices})


def _read(message: Mapping[str, Any] | None) -> tuple[int, str]:
    if message is None:
        return 0, "full"
    kind, seq = message.get("kind"), message.get("seq")
    known = ("set", "edit", "knots", "poll", "stop")
    values = message.get("values", {})
    plain = isinstance(values, dict) and all(
        isinstance(value, str | int | float | None) for value in values.values()
    )
    if kind not in known or not isinstance(seq, int) or not plain:
        raise SmpcoreError(UNEXPECTED)
    return seq, kind


def _applied(choice: Choice, message: Mapping[str, Any] | None, kind: str) -> Choice:
    """Apply what the message changes."""
    if kind == "set":
        return controls.set_values(choice, message.get("values", {}))
    if kind == "edit" and message["seq"] != st.session_state["live"].get("edit"):
        # The browser repeats an edit whose answer got lost: it counts once.
        choice = edited(choice, message, st.session_state["live"])
        st.session_state["live"]["edit"] = message["seq"]
    return choice


def _within(
    choice: Choice, message: Mapping[str, Any] | None
) -> tuple[Choice, list[str]]:
    """Bring log sliders back into their range when another option has moved its end.

    A prototype per example, say, needs a far smaller fusion than a few prototypes do:
    left alone, the slider would stand beyond the end where everything is one.
    """
    method = METHODS[choice.method]
    options = {p.name for p in method.params if p.scale == "choice"}
    if not options & set((message or {}).get("values", ())):
        return choice, []
    data = choice.parts()
    if cached.is_large(data):
        return choice, []
    values, said = dict(choice.values), []
    ends = cached.bounds(data, choice.method, choice.all_values)
    for param in method.params:
        low, high = ends.get(param.name, (0.0, np.inf))
        if param.scale == "log" and choice.all_values[param.name] > high:
            values[param.name] = float(f"{np.sqrt(low * high):.3g}")
            said.append(
                f"{param.label} stood beyond its new end {high:.3g} and is set to "
                f"{values[param.name]:g}, the middle."
            )
    return replace(choice, values=values), said


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
    if dragging:
        estimator, job, canonical = _preview(choice, data, live), None, False
    else:
        estimator, job, canonical = _canonical(choice, data, live, kind == "stop")
    if "bounds" not in live or live["bounds_of"] != choice.method:
        live.update(bounds=_widest(choice), bounds_of=choice.method)
    n_features = len(data.preparation.feature_names)
    support = np.ones(n_features, dtype=bool)
    if estimator is not None:
        live["state"] = estimator.state_
        support = estimator.model_.support
        seconds = time.perf_counter() - started
        header["picture"] = picture(estimator, scene, data, choice)
        header["picture"] |= {
            "canonical": canonical,
            "ms": 1000 * seconds,
            "chain": _chain(choice, scene_id),
            "knot": None,
            "value": choice.all_values[METHODS[choice.method].path],
        }
    header["job"] = job
    header["path"] = _path(choice, live["bounds"]) if live.get("quick") else None
    header["controls"] = controls.live_controls(choice, data, live["bounds"], support)
    known = message.get("have") == scene_id
    header["kind"] = "picture" if known else "full"
    if not known:
        header["scene"] = scene.header | {"id": scene_id}
    if not dragging:
        links.show_url(choice)


def _digest(digest: str, split_key: str, choice: Choice) -> str:
    parts = (digest, split_key, choice.open_test, sorted(choice.view.items(), key=str))
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _view(choice: Choice, data: cached.Parts, live: dict[str, Any]) -> figures.View:
    """The window; it stands still while the visitor's own points move inside it."""
    view = cached.view(data, choice.view_of(data))
    kept = live.get("scene")
    if kept is not None and live.get("edited") == choice.token != "":
        xy = kept.view.project(data.X)
        inside = (xy >= [kept.view.x[0], kept.view.y[0]]).all()
        if inside and (xy <= [kept.view.x[1], kept.view.y[1]]).all():
            return kept.view
    return view


def _preview(choice: Choice, data: cached.Parts, live: dict[str, Any]) -> Any:
    """A quick fit from where the last one ended; None where no fit is quick."""
    if cached.is_large(data):
        return None
    values = choice.all_values
    problem = cached.problem(data, choice.method, values)
    estimator = METHODS[choice.method].estimator(values, data.dataset.task)
    with jobs.stopped_after(cached.QUICK_SECONDS) as flag:
        return estimator.solve(problem, live.get("state"), stop=flag)


def _canonical(
    choice: Choice, data: cached.Parts, live: dict[str, Any], stop: bool
) -> tuple[Any, dict[str, Any] | None, bool]:
    """The canonical fit, or None with what its job says; whether it is canonical."""
    fit = cached.fit(data, choice.method, choice.all_values)
    if stop and fit.job is not None:
        fit.job.stop()
    elif fit.was_stopped:
        fit.restart()
    if fit.wait(1.0 if stop else 0.0):
        # Knots of a path that is slow to solve would keep the visitor waiting.
        quick = fit.job is None
        live.update(bounds=fit.bounds, bounds_of=choice.method, quick=quick)
        return fit.estimator, None, not fit.was_stopped
    job = {
        "text": f"Fitting {METHODS[choice.method].title}",
        "progress": float(fit.job.progress[0]),
        "seconds": time.monotonic() - fit.job.started,
    }
    return None, job, False


def _widest(choice: Choice) -> dict[str, tuple[float, float]]:
    """Slider ends before a fit has told better ones."""
    return {p.name: (p.low, p.high) for p in METHODS[choice.method].params}


def _chain(choice: Choice, scene_id: str) -> str:
    """Name of the path that the shown knots belong to."""
    values = {**choice.all_values, METHODS[choice.method].path: None}
    text = repr((scene_id, choice.method, cached.pairs(values)))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _path(choice: Choice, bounds: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    method = METHODS[choice.method]
    return {
        "param": method.path,
        "values": method.knots(bounds[method.path]).tolist(),
        "from_right": True,
    }


def _knots(
    choice: Choice,
    data: cached.Parts,
    scene: Scene,
    message: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Solve and paint the knots that the browser asks for."""
    method, values = METHODS[choice.method], choice.all_values
    bounds = cached.bounds(data, choice.method, values)
    knots = method.knots(bounds[method.path])
    wanted = [i for i in message.get("want", ()) if isinstance(i, int)]
    path = cached.path(data, choice.method, values, tuple(knots))
    chain = _chain(choice, st.session_state["live"]["scene_id"])
    pictures: list[dict[str, Any]] = []
    started = time.perf_counter()
    for index in wanted[:16]:
        if not 0 <= index < len(knots):
            continue
        if pictures and time.perf_counter() - started > KNOT_SECONDS:
            break  # the browser asks for the others again
        entry = picture(path.knot(index), scene, data, choice)
        entry |= {"knot": index, "value": float(knots[index]), "chain": chain}
        pictures.append(entry | {"canonical": False, "ms": 0.0})
    return pictures


def picture(
    estimator: Any, scene: Scene, data: cached.Parts, choice: Choice
) -> dict[str, Any]:
    """A fitted model as the live figure paints it.

    Parameters
    ----------
    estimator : fitted estimator
    scene : Scene
    data : Parts
    choice : Choice

    Returns
    -------
    dict
    """
    model = estimator.model_
    raster = figures.decision_raster(model, scene.view)
    predicted = model.scores(scene.X).argmax(axis=1)
    painted = model.scores(scene.lifted).argmax(axis=1)
    hollow = painted != predicted
    texts, strip = readouts.readouts(estimator, data, scene.parts, raster)
    n_nodes = len(raster.winner)
    return {
        "grid": [n_nodes, n_nodes],
        "winner": raster.winner,
        "runner": raster.runner,
        "margin": raster.margin,
        "margin_max": raster.margin_max,
        "lines": None
        if raster.lines is None
        else {"coef": raster.lines, "owner": model.owner.astype(np.uint8)},
        "predicted": predicted.astype(np.uint8),
        "hollow": hollow.astype(np.uint8),
        "own_share": float(1 - hollow.mean()),
        "prototypes": {
            "weights": model.weights.astype(np.float32),
            "owner": model.owner.astype(np.uint8),
            "count": model.counts.astype(np.int32),
            "bias": model.bias.astype(np.float32),
            "caption": readouts.KINDS[model.kind_of_prototype],
        },
        "readouts": texts,
        "strip": strip,
    }
