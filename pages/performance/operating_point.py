"""Threshold and band that are tried here: one value for all sections of the page."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from pages.performance.rows import EvaluatedRows
from pages.state import address, session, widget_state
from pages.state.context import resolve
from pages.ui.glossary import define
from pages.ui.live_slider import live_slider
from pages.ui.text import message, short_label
from smpcore import PrototypeModel
from smpcore.evaluation import at_threshold

#: Where the commoner class has less than this share, either may be the one to find.
IN_DOUBT = 0.6
#: A slider has about so many steps.
_STEPS = 200


@dataclass(frozen=True)
class OperatingPoint:
    """Where a model of two classes says yes, and where it is not sure."""

    threshold: float = 0.0
    band: float = 0.0
    words: str = ""


def current(rows: EvaluatedRows) -> OperatingPoint:
    """The point that is tried; at first the one that every page uses."""
    choice = rows.choice
    start = OperatingPoint()
    if rows.operating:
        start = OperatingPoint(choice.threshold, choice.band, choice.set_by)
    return session.remembered("operating_point", rows.key, lambda: start)


def set_current(key: str, point: OperatingPoint) -> None:
    """Try another point for the model of this key."""
    session.get().results["operating_point"] = key, point


def positive_class(place: Any, rows: EvaluatedRows) -> int:
    """Number of the class that is to be detected."""
    y, model = rows.data.of("train")[1], rows.fitted
    shares = [float((y == name).mean()) for name in model.classes]
    rarer = rows.rarer_class
    key = f"positive {rows.data.dataset.digest}"
    positive = widget_state.choose_one(
        *(place, "Positive class", (rarer, 1 - rarer), key),
        format_func=lambda number: short_label(model.classes[number]),
        help="The class to detect. Default: the rarer one in the training rows.",
    )
    if max(shares) < IN_DOUBT:
        place.caption(
            "Both classes are about equally frequent; choose the class to detect."
        )
    return positive


def slider(place: Any, rows: EvaluatedRows) -> None:
    """The threshold, on the margin of the rarer class, to be moved by hand."""
    if rows.fitted.code_size:
        place.caption("Threshold 0: this model has no intercept that could be moved.")
        return
    sign = rows.threshold_sign
    threshold = sign * current(rows).threshold
    with place:
        live_slider(
            "Threshold on the margin of "
            f"{short_label(rows.fitted.classes[rows.rarer_class])}",
            _range(sign * rows.margin_in_training, threshold),
            threshold + 0.0,
            f"threshold {rows.key}",
            lambda moved: _move(rows, sign * moved),
        )


def _range(margin: np.ndarray, threshold: float) -> tuple[float, float, float]:
    """Ends and step of the slider, of which 0 is one of the steps."""
    ends = margin.min(), margin.max(), threshold, -threshold, 0.0
    spread = max(ends) - min(ends)
    step = 10.0 ** math.floor(math.log10(max(spread, 1e-9) / _STEPS) + 0.5)
    low = (math.floor(min(ends) / step) - 1) * step
    return round(low, 12), round((math.ceil(max(ends) / step) + 1) * step, 12), step


def _move(rows: EvaluatedRows, threshold: float) -> None:
    words = f"Threshold: set by hand, on the {rows.title}."
    set_current(rows.key, replace(current(rows), threshold=threshold, words=words))
    widget_state.set_value("way", "set by hand")


def use(rows: EvaluatedRows) -> None:
    """Buttons that set the point for every page, and that take it back."""
    args = (rows.key,)
    with st.container(horizontal=True):
        st.button("Use on every page", key="use_operating", on_click=_set, args=args)
        st.button("As fitted", key="as_fitted", on_click=_reset, args=args)
    now, point = session.resolved(), current(rows)
    words = f"Used on every page: {now.operating or 'as fitted'}."
    used = (now.choice.threshold, now.choice.band) if now.operating else (0.0, 0.0)
    if (point.threshold, point.band) != used:
        words += " What is set above is tried on this page only."
    message(st.caption, words, help=define("Threshold"))
    address.show(now.choice)


def tried_model(rows: EvaluatedRows) -> PrototypeModel:
    """The model at the threshold that is tried, with its calibration."""
    model = replace(rows.fitted, calibration=rows.model().calibration)
    return at_threshold(model, current(rows).threshold) if rows.is_binary else model


def _set(key: str) -> None:
    """Set the point for the model of this key, unless another was chosen since."""
    context = resolve(session.get().choice)  # a callback cannot run the page anew
    known, point = session.get().results.get("operating_point", ("", None))
    if context.key == known == key:
        moved = {"threshold": point.threshold, "band": point.band, "set_for": key}
        session.choose(replace(context.choice, **moved, set_by=point.words))


def _reset(key: str) -> None:
    """Try the model as it was fitted; every page goes on as before."""
    set_current(key, OperatingPoint())
    widget_state.set_value("way", "set by hand")
