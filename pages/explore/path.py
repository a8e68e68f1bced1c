"""The path that is scrubbed: its points, canonical fits that are solved beforehand."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from pages.explore.picture import picture
from pages.explore.scene import Scene
from pages.state.context import Context, SliderRanges
from pages.work import cache
from smpcore.readouts import READOUTS

#: An answer with points of the path takes about this long at most.
POINT_SECONDS = 0.15
#: Pictures that one answer has at most.
MOST_AT_ONCE = 16


def chain(context: Context, scene: Scene, bounds: SliderRanges) -> str:
    """Name of the path that the shown points belong to."""
    method = context.method
    values = method.off_path(context.values, context.data.dataset.task)
    others = scene.header["id"], method.key, tuple(sorted(values.items()))
    text = repr((*others, bounds.get(method.path)))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def grid(context: Context, bounds: SliderRanges) -> dict[str, Any]:
    """The path as the figure needs it."""
    ends = bounds[context.method.path]
    return context.cached(("grid", ends), lambda: _grid(context, ends))


def _grid(context: Context, ends: tuple[float, float]) -> dict[str, Any]:
    method = context.method
    score = "mae" if context.task == "regression" else "accuracy"
    return {
        "param": method.path,
        "values": method.grid(ends).tolist(),
        "from_right": method.from_right,
        "score": READOUTS[score].label,
        "count": READOUTS["n_nonzeros"].column,
    }


def path_points(
    context: Context, scene: Scene, message: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Solve and paint the points of the path that the browser requests."""
    data, method, values = context.data, context.method, context.values
    if not method.scrubs(values):
        return []
    bounds = context.holding(cache.bounds(data, method.key, values))
    places = method.grid(bounds[method.path])
    off_path = method.off_path(values, data.dataset.task)
    name = chain(context, scene, bounds)

    def paint(index: int) -> dict[str, Any]:
        value = float(places[index])
        fitted = cache.path_point(data, method.key, off_path, value)
        painted = picture(fitted, scene, data, bool(message.get("assignments")))
        of_path = {"knot": index, "value": value, "chain": name}
        return painted | of_path | {"canonical": False, "ms": 0.0}

    return wanted_pictures(message, len(places), paint)


def wanted_pictures(
    message: Mapping[str, Any], count: int, paint: Callable[[int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """What takes a moment of what is wanted; the rest is asked for again."""
    wanted = [i for i in message.get("want", ()) if type(i) is int and 0 <= i < count]
    pictures: list[dict[str, Any]] = []
    started = time.perf_counter()
    for index in wanted[:MOST_AT_ONCE]:
        if pictures and time.perf_counter() - started > POINT_SECONDS:
            break
        pictures.append(paint(index))
    return pictures
