"""The path that is scrubbed: its points, canonical fits that are solved beforehand."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import Any

from pages.explore.picture import picture
from pages.explore.scene import Scene
from pages.state.context import Context, SliderRanges
from pages.work import cache
from smpcore.readouts import READOUTS

#: An answer with points of the path takes about this long at most.
POINT_SECONDS = 0.15


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
    wanted = [i for i in message.get("want", ()) if type(i) is int]
    off_path = method.off_path(values, data.dataset.task)
    name = chain(context, scene, bounds)
    pictures: list[dict[str, Any]] = []
    started = time.perf_counter()
    for index in wanted[:16]:
        if not 0 <= index < len(places):
            continue
        if pictures and time.perf_counter() - started > POINT_SECONDS:
            break  # the browser requests the others again
        fitted = cache.path_point(data, method.key, off_path, float(places[index]))
        entry = picture(fitted, scene, data, bool(message.get("assignments")))
        entry |= {"knot": index, "value": float(places[index]), "chain": name}
        pictures.append(entry | {"canonical": False, "ms": 0.0})
    return pictures
