"""The live figure as a drawing on paper: regions and rows, without a browser."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from smpcore.colors import GREY, blend, class_color
from smpcore.datasets import plain_number
from smpcore.readouts import Drawing

#: Pixels of the figure's side, and of the frame for its axes.
SIDE, FRAME = 380, 30
#: Parts of the rows that are drawn: a lesson's test rows stay closed.
_SHOWN = 2
_WHITE = (255, 255, 255)


def paper_figure(picture: Mapping[str, Any], scene: Mapping[str, Any]) -> Drawing:
    """Draw a picture of a model in its scene."""
    view, points = scene["view"], scene["points"]
    (left, right), (low, high) = view["x"], view["y"]
    parts = _regions(picture) if "winner" in picture else []
    is_shown = points["part"] < _SHOWN
    x = SIDE * (points["x"] - left) / (right - left)
    y = SIDE * (high - points["y"]) / (high - low)
    for i in np.flatnonzero(is_shown & (np.abs(x - SIDE / 2) <= SIDE / 2)):
        label = int(points["label"][i])
        color = GREY if label == 255 else class_color(label)
        parts.append(_mark(float(x[i]), float(y[i]), label, color))
    names = ", ".join(scene["classes"])
    keys = [
        f'<g transform="translate({FRAME + 90 * (i % 4)} {SIDE + 58 + 18 * (i // 4)})">'
        f"{_mark(0, -4, i, class_color(i))}"
        f'<text x="9">{escape(name[:14])}</text></g>'
        for i, name in enumerate(scene["classes"])
    ]
    height = SIDE + 70 + 18 * (max(len(keys) - 1, 0) // 4)
    title = f"Figure of {scene['title']}: rows of {names}" if names else scene["title"]
    across, up = (_axis(view[name], view[f"{name}label"]) for name in "xy")
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE + 2 * FRAME}" '
        f'viewBox="0 0 {SIDE + 2 * FRAME} {height}" role="img" font-size="12" '
        f'aria-label="{escape(title)}"><g transform="translate({FRAME} 10)">'
        f'<svg width="{SIDE}" height="{SIDE}">{"".join(parts)}</svg>'
        f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#1b1f24"/>'
        f'<text x="{SIDE / 2}" y="{SIDE + 18}" text-anchor="middle">'
        f"{across}</text>"
        f'<text transform="translate(-10 {SIDE / 2}) rotate(-90)" '
        f'text-anchor="middle">{up}</text></g>'
        f"{''.join(keys)}</svg>"
    )
    return Drawing(title, svg)


def _axis(window: Any, label: str) -> str:
    """What is at an axis: its name between both ends."""
    low, high = (plain_number(one, 3) for one in window)
    return f"{low} ← {escape(label)} → {high}"


def _mark(x: float, y: float, label: int, color: str) -> str:
    """A row: a circle or a square, as classes are told apart without colours."""
    paint = f'fill="{color}" stroke="#fff" stroke-width=".6"'
    if label % 2:
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" {paint}/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" {paint}/>'


def _regions(picture: Mapping[str, Any]) -> list[str]:
    """The class that wins at each node, nodes of a line that agree as one piece."""
    n = picture["grid"][0]
    winner, side, pieces = np.reshape(picture["winner"], (n, n)), SIDE / n, []
    for row, line in enumerate(winner):
        cuts = [0, *(np.flatnonzero(np.diff(line)) + 1).tolist(), n]
        for begin, end in pairwise(cuts):
            color = blend(class_color(int(line[begin])), _WHITE, 0.72)
            pieces.append(
                f'<path d="M{begin * side:.1f} {SIDE - (row + 1) * side:.1f}'
                f'h{(end - begin) * side:.1f}v{side + 0.4:.1f}H{begin * side:.1f}z" '
                f'fill="{color}"/>'
            )
    return pieces
