"""The path that is scrubbed, and the fit step by step: states as pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.live.context import Context, SliderRanges
from smpcore.live.messages import Message
from smpcore.live.parts import short_digest
from smpcore.live.picture import picture
from smpcore.live.scene import Scene
from smpcore.model import History, Step
from smpcore.readouts import READOUTS

#: An answer with points of the path takes about this long at most.
POINT_SECONDS = 0.15
#: Pictures that one answer has at most.
MOST_AT_ONCE = 16


def chain(context: Context, scene: Scene, bounds: SliderRanges) -> str:
    """Name of the path that the shown points belong to."""
    method = context.method
    values = method.off_path(context.values, context.data.dataset.task)
    others = scene.header["id"], method.key, sorted(values.items())
    return short_digest(*others, bounds.get(method.path))


def grid(context: Context, bounds: SliderRanges) -> dict[str, Any]:
    """The path as the figure needs it."""
    limits = bounds[context.method.path]
    return context.cached(("grid", limits), lambda: _grid(context, limits))


def _grid(context: Context, limits: tuple[float, float]) -> dict[str, Any]:
    method = context.method
    return described(context, method.path, method.grid(limits))


def described(context: Context, param: str, places: np.ndarray) -> dict[str, Any]:
    """Solved values of a control, and what the strip draws of them."""
    score = "mae" if context.task == "regression" else "accuracy"
    return {
        "param": param,
        "values": places.tolist(),
        "from_right": context.method.from_right,
        "score": READOUTS[score].label,
        "count": READOUTS["n_nonzeros"].column,
    }


def path_points(
    context: Context, scene: Scene, message: Message
) -> list[dict[str, Any]]:
    """Solve and paint the points of the path that the browser requests."""
    data, method, values = context.data, context.method, context.values
    if not method.scrubs(values):
        return []
    bounds = context.holding(context.host.computed.bounds(*context.request))
    places = method.grid(bounds[method.path])
    off_path = method.off_path(values, data.dataset.task)
    name = chain(context, scene, bounds)

    def paint(index: int) -> dict[str, Any]:
        value = float(places[index])
        fitted = context.host.computed.path_point(data, method.key, off_path, value)
        fitted = context.of_outcome(fitted)
        painted = picture(fitted, scene, data, message.assignments)
        of_path = {"knot": index, "value": value, "chain": name}
        return painted | of_path | {"canonical": False, "ms": 0.0}

    return wanted_pictures(message, len(places), paint)


def wanted_pictures(
    message: Message, count: int, paint: Callable[[int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """What takes a moment of what is wanted; the rest is asked for again."""
    wanted = [i for i in message.want if i < count]
    pictures: list[dict[str, Any]] = []
    started = time.perf_counter()
    for index in wanted[:MOST_AT_ONCE]:
        if pictures and time.perf_counter() - started > POINT_SECONDS:
            break
        pictures.append(paint(index))
    return pictures


#: States that are shown at most, and of data with more training values than `LARGE`.
MOST_SHOWN, MOST_LARGE, LARGE = 200, 60, 20_000


@dataclass(frozen=True)
class States:
    """States that can be shown, of our fit or of the printed algorithm."""

    estimator: Any
    at: Callable[[int], Step]
    #: Lists with an entry for each.
    curves: dict[str, Any]
    is_printed: bool

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.curves["iteration"])


def job_of(task: Any, text: str) -> dict[str, Any]:
    """How far work is that the figure waits for."""
    progress = float(task.progress[0])
    return {"text": text, "progress": progress, "seconds": task.seconds}


def run_of(context: Context, message: Message) -> Any:
    """What a request for states waits for: our fit, or the printed algorithm."""
    fits = context.host.fits
    fit = fits.recorded_fit(*context.request)
    if message.printed and fit.ready(0.0) and fits.has_printed(*context.request):
        return fits.printed_run(*context.request, fit.estimator)
    return fit


def steps(context: Context, scene: Scene, message: Message, run: Any) -> dict[str, Any]:
    """Answer a request for states: what all of them are, and some as pictures."""
    is_printed, fits = run.is_printed, context.host.fits
    if not run.ready(0.0):
        text = "Fitting again to record the states"
        if is_printed:
            text = f"Running the algorithm as printed, {run.seconds:.0f} s"
        job = job_of(run, text)
        return {"trace": None, "steps": [], "job": job, "printed": is_printed}
    states = _printed(run) if is_printed else _recorded(run, context)
    values = sorted(context.values.items())
    chain = short_digest(scene.header["id"], context.method.key, values)

    def paint(index: int) -> dict[str, Any]:
        at_step, entry = _step(context, states, index)
        tied = message.assignments
        painted = picture(at_step, scene, context.data, tied, coded=True)
        return painted | entry | {"chain": chain}

    return {
        "trace": states.curves | {"chain": chain},
        "steps": wanted_pictures(message, states.count, paint),
        "job": None,
        "printed": is_printed if fits.has_printed(*context.request) else None,
    }


def shown_states(history: History, n_values: int) -> np.ndarray:
    """Recorded states that are shown: the first, the last, and those between."""
    n, most = len(history.steps), MOST_LARGE if n_values > LARGE else MOST_SHOWN
    return np.linspace(0, n - 1, min(n, most)).astype(int)


def _recorded(fit: Any, context: Context) -> States:
    """The recorded states of our fit."""
    history = fit.estimator.history_
    shown = shown_states(history, context.data.of("train")[0].size)
    places = np.asarray(history.steps.places)[shown]
    iteration, gap = history.iteration[places], history.gap[places]
    curves = {
        "iteration": iteration.tolist(),
        "objective": history.objective[places].tolist(),
        "gap": [g if np.isfinite(g) else None for g in gap.tolist()],
        "phase": [history.phase_at(i) for i in iteration.tolist()],
    }

    def at(index: int) -> Step:
        return history.state(int(shown[index]))

    return States(fit.estimator, at, curves, is_printed=False)


def _printed(run: Any) -> States:
    """The states of the printed algorithm."""
    states = run.states
    curves = {
        "iteration": [state.iteration for state in states],
        "objective": [state.objective for state in states],
        "gap": [None] * len(states),
        "phase": [state.phase for state in states],
        "difference": run.difference,
    }
    return States(run.estimator, states.__getitem__, curves, is_printed=True)


def _step(context: Context, states: States, index: int) -> tuple[Any, dict[str, Any]]:
    """One state as a fitted estimator, and what the live figure says of it."""
    is_last = index == states.count - 1 and not states.is_printed
    state, estimator = states.at(index), states.estimator
    before = states.at(index - 1) if index else None
    at_step = estimator if is_last else estimator.at_step(state)
    # A threshold is set for our model.
    adjust = context.of_outcome if states.is_printed else context.with_threshold
    at_step = adjust(at_step)
    name, sentence = f"Step {state.number}", state.sentence(before)
    if states.is_printed:
        name = f"As printed, {name.lower()}"
        sentence = f"As printed, {sentence[0].lower()}{sentence[1:]}"
    path = context.method.path
    value = context.values.get(path)
    return at_step, {
        "canonical": is_last,
        "coarse": None if is_last else name,
        "ms": 0.0,
        "knot": None,
        "value": estimator.automatic_.get(path) if value is None else value,
        "step": {"index": index, "sentence": sentence},
    }
