"""The fit step by step: recorded states of the canonical fit, as pictures."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from pages.explore.path import KNOT_SECONDS
from pages.explore.picture import picture
from pages.explore.scene import Scene
from pages.state.context import Context
from pages.work import fits
from smpcore.model import History

#: States that are shown at most, and of data with more training values than `LARGE`.
MOST_SHOWN, MOST_LARGE, LARGE = 200, 60, 20_000
#: States that one answer paints at most.
MOST_AT_ONCE = 16


def recorded_fit(context: Context) -> fits.Fit:
    """The canonical fit once more, with its states."""
    return fits.recorded_fit(context.data, context.method.key, context.values)


def steps(
    context: Context, scene: Scene, message: Mapping[str, Any], fit: fits.Fit
) -> dict[str, Any]:
    """Answer a request for states: what all of them are, and some as pictures."""
    if not fit.wait(0.0):
        progress, seconds = float(fit.task.progress[0]), fit.task.seconds
        text = "Fitting again to record the states"
        job = {"text": text, "progress": progress, "seconds": seconds}
        return {"trace": None, "steps": [], "job": job}
    history = fit.estimator.history_
    shown = shown_states(history, context.data.of("train")[0].size)
    name = _chain(context, scene)
    pictures: list[dict[str, Any]] = []
    started = time.perf_counter()
    for index in [i for i in message.get("want", ()) if type(i) is int][:MOST_AT_ONCE]:
        if not 0 <= index < len(shown):
            continue
        if pictures and time.perf_counter() - started > KNOT_SECONDS:
            break  # the browser requests the others again
        at_step, entry = _step(context, fit.estimator, shown, index)
        tied = bool(message.get("assignments"))
        painted = picture(at_step, scene, context.data, tied)
        pictures.append(painted | entry | {"chain": name})
    return {"trace": _trace(history, shown, name), "steps": pictures, "job": None}


def shown_states(history: History, n_values: int) -> np.ndarray:
    """Recorded states that are shown: the first, the last, and those between."""
    n, most = len(history.steps), MOST_LARGE if n_values > LARGE else MOST_SHOWN
    return np.linspace(0, n - 1, min(n, most)).astype(int)


def _chain(context: Context, scene: Scene) -> str:
    """Name of the fit that the states belong to."""
    values = tuple(sorted(context.values.items()))
    text = repr((scene.header["id"], context.method.key, values))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _trace(history: History, shown: np.ndarray, name: str) -> dict[str, Any]:
    """Curves over all shown states, and the phase of each."""
    places = np.asarray(history.steps.places)[shown]
    iteration, gap = history.iteration[places], history.gap[places]
    return {
        "chain": name,
        "iteration": iteration.tolist(),
        "objective": history.objective[places].tolist(),
        "gap": [g if np.isfinite(g) else None for g in gap.tolist()],
        "phase": [history.phase_at(i) for i in iteration.tolist()],
    }


def _step(
    context: Context, estimator: Any, shown: np.ndarray, index: int
) -> tuple[Any, dict[str, Any]]:
    """One state as a fitted estimator, and what the live figure says of it."""
    history, last = estimator.history_, index == len(shown) - 1
    state = history.state(int(shown[index]))
    before = history.state(int(shown[index - 1])) if index else None
    path = context.method.path
    value = context.values.get(path)
    at_step = estimator if last else estimator.at_step(state)
    return context.with_threshold(at_step), {
        "canonical": last,
        "coarse": None if last else f"Step {state.number}",
        "ms": 0.0,
        "knot": None,
        "value": estimator.automatic_.get(path) if value is None else value,
        "step": {"index": index, "sentence": state.sentence(before)},
    }
