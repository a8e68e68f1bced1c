"""Pictures in SVG that stand in a document by themselves: curves, and residuals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from smpcore.colors import GREY, OKABE_ITO
from smpcore.datasets import plain_number
from smpcore.model import Calibration
from smpcore.readouts import COVERAGE, READOUTS, Drawing

#: Pixels of the picture, and of the plane with its margins at the left and below.
_WIDTH, _HEIGHT, _LEFT, _TOP, _SIDE = 460, 290, 52, 12, 230
_N_TICKS = 6
#: Rows that a picture shows at most.
_MOST_MARKS = 500


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
        _Curve("exact", GREY, exact, "4 3"),
        _Curve("smoothed, 95 % band", OKABE_ITO[0], smoothed.rename(columns=names)),
        _Curve("bins, 95 % interval", "#1b1f24", bins.rename(columns=names), "", True),
    ]
    drawn = [curve for curve in curves if len(curve.points)]
    axes = "predicted probability", "observed share"
    return _chart("Calibration", axes, ((0.0, 1.0), (0.0, 1.0)), drawn)


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
        _Curve("treat none", GREY, every.assign(y=0.0), "2 3"),
        _Curve("treat all", OKABE_ITO[5], every, "6 3"),
        _Curve("this model, 95 % band", OKABE_ITO[0], curve.rename(columns=names)),
    ]
    # No net benefit is above the share of the outcome; one of the ticks is at 0.
    largest = max(curve["net_benefit"].max(), curve["treat_all"].max(), 0.01)
    top = (
        0.2 * np.ceil(largest / 0.2)
        if largest > 0.1
        else 0.04 * np.ceil(largest / 0.04)
    )
    axes = "threshold probability", "net benefit"
    limits = (0.0, 1.0), (-top / (_N_TICKS - 2), top)
    return _chart("Decision curve", axes, limits, curves)


#: The band of an interval may be as wide as the prediction is large.
_BAND_POINTS = 50


def residual_charts(
    rows: pd.DataFrame, target: str, calibration: Calibration | None
) -> list[Drawing]:
    """Draw actual against predicted, residuals against predicted, and their QQ plot.

    Parameters
    ----------
    rows : DataFrame
        From `smpcore.evaluation.RegressionScores.residuals`; of more than 500 rows
        evenly spread ones are drawn.
    target : str
        What is predicted, with its unit.
    calibration : Calibration, optional
        Of the 90 % prediction interval, which is drawn as a band.

    Returns
    -------
    list of Drawing
    """
    spread = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_MARKS)).astype(int)
    shown = rows.iloc[spread]
    both = _limits(rows[["actual", "predicted"]])
    diagonal = np.linspace(*both, _BAND_POINTS)
    line = pd.DataFrame({"x": diagonal, "y": diagonal})
    name = "actual = predicted"
    if calibration is not None:
        low, high = calibration.interval(diagonal, COVERAGE).T
        if np.isfinite(low).all():
            line = line.assign(low=low, high=high)
            name += ", " + READOUTS["interval"].label
    of_normal = rows["quantile"].agg(["min", "max"]).to_numpy()
    quartiles = rows["residual"].quantile([0.25, 0.75]).to_numpy()
    slope = np.ptp(quartiles) / np.ptp(ndtri([0.25, 0.75]))
    normal = pd.DataFrame({"x": of_normal, "y": quartiles.mean() + slope * of_normal})
    zero = line[["x"]].assign(y=0.0)
    residuals, quantiles = _limits(rows["residual"]), _limits(rows["quantile"])
    predicted = f"predicted {target:.40}"
    return [
        _chart(title, tuple(map(escape, axes)), limits, [guide, _points(shown, *of)])
        for title, axes, limits, guide, of in (
            (
                "Actual against predicted",
                (predicted, f"actual {target:.40}"),
                (both, both),
                _Curve(name, GREY, line),
                ("predicted", "actual"),
            ),
            (
                "Residuals against predicted",
                (predicted, "residual"),
                (both, residuals),
                _Curve("actual = predicted", GREY, zero),
                ("predicted", "residual"),
            ),
            (
                "QQ plot of the residuals",
                ("quantile of a normal distribution", "residual"),
                (quantiles, residuals),
                _Curve("normal distribution", GREY, normal),
                ("quantile", "residual"),
            ),
        )
    ]


def _points(rows: pd.DataFrame, x: str, y: str) -> _Curve:
    points = rows[[x, y]].set_axis(["x", "y"], axis=1)
    return _Curve("rows", OKABE_ITO[0], points, "", True)


def _limits(values: pd.DataFrame | pd.Series) -> tuple[float, float]:
    """Round numbers around values, so many round steps apart as there are ticks."""
    low, high = float(np.min(values)), float(np.max(values))
    n_steps = _N_TICKS - 1
    size = 10.0 ** np.floor(np.log10(max(high - low, 1e-9) / n_steps))
    for step in size * np.array([1, 2, 2.5, 5, 10, 20]):
        start = step * np.floor(low / step)
        if start + n_steps * step >= high:
            break
    return start, start + n_steps * step


def _chart(
    title: str,
    axes: tuple[str, str],
    limits: tuple[tuple[float, float], tuple[float, float]],
    curves: Sequence[_Curve],
) -> Drawing:
    """Curves on a plane between these ends of both axes."""
    frame = f'fill="none" stroke="{GREY}"'
    parts = [f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" {frame}/>']
    for share in np.linspace(0, 1, _N_TICKS):
        x, y = _LEFT + share * _SIDE, _TOP + (1 - share) * _SIDE
        below, beside = (
            plain_number(round(low + share * (high - low), 12)) for low, high in limits
        )
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
        parts += _drawn(curve, *limits)
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


def _drawn(
    curve: _Curve, across_limits: tuple[float, float], limits: tuple[float, float]
) -> list[str]:
    """Its band and its line, or its marks, in pixels of the plane."""
    (left, right), (low, high) = across_limits, limits

    def pixels(heights: Iterable[float]) -> list[tuple[str, str]]:
        across = (curve.points["x"] - left) / (right - left) * _SIDE
        upwards = (high - np.asarray(heights)) / (high - low) * _SIDE
        return [(f"{x:.1f}", f"{y:.1f}") for x, y in zip(across, upwards, strict=True)]

    middle = pixels(curve.points["y"])
    if curve.marks and "low" not in curve.points:  # dots of a line without length
        dots = "".join(f"M{x} {y}h0" for x, y in middle)
        style = 'stroke-width="5" stroke-linecap="round" stroke-opacity="0.6"'
        return [f'<path d="{dots}" stroke="{curve.color}" {style}/>']
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
