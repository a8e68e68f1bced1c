"""Curves as SVG that stands in a document by itself: calibration and net benefit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd

from smpcore.readouts import Drawing

#: Pixels of the picture, and of the plane with its margins at the left and below.
_WIDTH, _HEIGHT, _LEFT, _TOP, _SIDE = 460, 290, 52, 12, 230
_BLUE, _GREY = "#0072b2", "#7f858c"
_N_TICKS = 6


class _Curve(NamedTuple):
    """A line, or marks with their intervals, in a legend's words."""

    name: str
    color: str
    points: pd.DataFrame
    dash: str = ""
    marks: bool = False


def calibration_chart(bins: pd.DataFrame, smoothed: pd.DataFrame) -> Drawing:
    """Draw observed shares against predicted probabilities.

    Parameters
    ----------
    bins : DataFrame
        From `smpcore.evaluation.reliability`.
    smoothed : DataFrame
        From `smpcore.evaluation.calibration_curve`; maybe without lines.

    Returns
    -------
    Drawing
    """
    exact = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    names = {"probability": "x", "share": "y"}
    curves = [
        _Curve("exact", _GREY, exact, "4 3"),
        _Curve("smoothed, 95 % band", _BLUE, smoothed.rename(columns=names)),
        _Curve("bins, 95 % interval", "#1b1f24", bins.rename(columns=names), "", True),
    ]
    drawn = [curve for curve in curves if len(curve.points)]
    axes = "predicted probability", "observed share"
    return _chart("Calibration", axes, (0.0, 1.0), drawn)


def benefit_chart(curve: pd.DataFrame) -> Drawing:
    """Draw the net benefit against the threshold probability.

    Parameters
    ----------
    curve : DataFrame
        From `smpcore.evaluation.decision_curve`.

    Returns
    -------
    Drawing
    """
    names = {"threshold": "x", "net_benefit": "y"}
    every = curve[["threshold", "treat_all"]].set_axis(["x", "y"], axis=1)
    curves = [
        _Curve("treat none", _GREY, every.assign(y=0.0), "2 3"),
        _Curve("treat all", "#d55e00", every, "6 3"),
        _Curve("this model, 95 % band", _BLUE, curve.rename(columns=names)),
    ]
    # No net benefit is above the share of the outcome; one of the ticks is at 0.
    largest = max(curve["net_benefit"].max(), curve["treat_all"].max(), 0.01)
    top = (
        0.2 * np.ceil(largest / 0.2)
        if largest > 0.1
        else 0.04 * np.ceil(largest / 0.04)
    )
    axes = "threshold probability", "net benefit"
    return _chart("Decision curve", axes, (-top / (_N_TICKS - 2), top), curves)


def _chart(
    title: str,
    axes: tuple[str, str],
    limits: tuple[float, float],
    curves: Sequence[_Curve],
) -> Drawing:
    """Curves on a plane whose horizontal axis goes from 0 to 1."""
    low, high = limits
    frame = f'fill="none" stroke="{_GREY}"'
    parts = [f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" {frame}/>']
    for share in np.linspace(0, 1, _N_TICKS):
        x, y = _LEFT + share * _SIDE, _TOP + (1 - share) * _SIDE
        below = f"{share:.1f}"
        beside = f"{low + share * (high - low):.2f}"
        parts.append(_text(x, _TOP + _SIDE + 15, below, "middle"))
        parts.append(_text(_LEFT - 5, y + 4, beside, "end"))
    parts.append(_text(_LEFT + _SIDE / 2, _HEIGHT - 8, axes[0], "middle"))
    middle = _TOP + _SIDE / 2
    turned = f' transform="rotate(-90 12 {middle:g})"'
    parts.append(_text(12, middle, axes[1], "middle", turned))
    # A picture within cuts off what lies outside of the plane.
    parts.append(
        f'<svg x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" '
        'overflow="hidden">'
    )
    for curve in curves:
        parts += _drawn(curve, low, high)
    parts.append("</svg>")
    for place, curve in enumerate(curves):
        x, y = _LEFT + _SIDE + 12, _TOP + 12 + 20 * place
        mark = f'<circle cx="{x + 9}" cy="{y}" r="3" fill="{curve.color}"/>'
        line = f'<path d="M{x} {y}h18" {_stroke(curve)}/>'
        parts += [mark if curve.marks else line, _text(x + 24, y + 4, curve.name)]
    return Drawing(
        title,
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" style="max-width: 100%; height: auto" font-size="11" '
        f'font-family="sans-serif" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>",
    )


def _drawn(curve: _Curve, low: float, high: float) -> list[str]:
    """Its band and its line, or its marks, in pixels of the plane."""

    def pixels(heights: Iterable[float]) -> list[tuple[str, str]]:
        across = curve.points["x"] * _SIDE
        upwards = (high - np.asarray(heights)) / (high - low) * _SIDE
        return [(f"{x:.1f}", f"{y:.1f}") for x, y in zip(across, upwards, strict=True)]

    middle = pixels(curve.points["y"])
    if "low" not in curve.points:
        return [f'<path d="{_path(middle)}" {_stroke(curve)}/>']
    limits = pixels(curve.points["low"]), pixels(curve.points["high"])
    if curve.marks:
        pairs = zip(*limits, middle, strict=True)
        return [
            f'<path d="{_path([bottom, top])}" stroke="{curve.color}"/>'
            f'<circle cx="{x}" cy="{y}" r="3" fill="{curve.color}"/>'
            for bottom, top, (x, y) in pairs
        ]
    outline = _path([*limits[0], *reversed(limits[1])])
    band = f'<path d="{outline}z" fill="{curve.color}" fill-opacity="0.2"/>'
    return [band, f'<path d="{_path(middle)}" {_stroke(curve)}/>']


def _path(points: Iterable[tuple[str, str]]) -> str:
    return "M" + "L".join(" ".join(point) for point in points)


def _stroke(curve: _Curve) -> str:
    return (
        f'fill="none" stroke="{curve.color}" stroke-width="2" '
        f'stroke-dasharray="{curve.dash}"'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{words}</text>'
