"""The rows of a part, the threshold that is tried on them, and some as a list."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session, widget_state
from pages.state.host import resolve
from pages.state.session import Slot
from pages.ui.elements import live_slider, number_columns
from pages.ui.text import message, short_label
from smpcore import PrototypeModel
from smpcore.evaluation import at_threshold, class_numbers, margins
from smpcore.live import TITLES, Context, define


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluatedRows(Context):
    """A choice with its fitted model, and the rows that it is evaluated on."""

    fitted: PrototypeModel
    part: str

    @cached_property
    def rows(self) -> np.ndarray:
        """Their places in the table."""
        return getattr(self.data.split, self.part)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Their numbers, as all pages show them."""
        return self.data.dataset.row_numbers(self.rows)

    @cached_property
    def X(self) -> np.ndarray:
        """Their features."""
        return self.data.of(self.part)[0]

    @cached_property
    def y(self) -> np.ndarray:
        """Their labels, or the numbers to predict."""
        return self.data.of(self.part)[1]

    def dependence(self, chosen: Any = slice(None)) -> dict[str, np.ndarray | None]:
        """Clusters and weights of some of them, as measures take them."""
        clusters, weights = self.data.clusters(self.part), self.data.weights(self.part)
        of_rows = {"clusters": clusters, "weights": weights}
        return {k: None if v is None else v[chosen] for k, v in of_rows.items()}

    @property
    def title(self) -> str:
        """What they are, for a sentence."""
        return f"{TITLES[self.part].lower()} rows"

    @cached_property
    def scores(self) -> np.ndarray:
        """Score of each output."""
        return self.fitted.scores(self.X)

    @cached_property
    def truth(self) -> np.ndarray:
        """Class numbers."""
        return class_numbers(self.y, self.fitted.classes)

    @cached_property
    def answers(self) -> np.ndarray:
        """Class numbers that the model predicts as it was fitted."""
        return self.fitted.decide(self.scores)

    @cached_property
    def margin(self) -> np.ndarray:
        """How much more the outcome scores than the other of two classes."""
        return margins(self.fitted, self.X)

    @cached_property
    def margin_in_training(self) -> np.ndarray:
        """The same of the training rows."""
        return margins(self.fitted, self.data.of("train")[0])

    @property
    def names(self) -> list[str]:
        """The classes as text."""
        return [str(label) for label in self.fitted.classes]

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, between which a threshold decides."""
        return self.fitted.classes is not None and len(self.fitted.classes) == 2


#: A slider has about so many steps.
_STEPS = 200


@dataclass(frozen=True)
class OperatingPoint:
    """Where a model of two classes says yes, and where it is not sure."""

    threshold: float = 0.0
    band: float = 0.0
    words: str = ""


#: By `key_of`; and that a row is to be opened on another page.
TRIED, _OPEN_CASE = Slot[OperatingPoint]("operating_point"), Slot[bool]("open_case")


def current(rows: EvaluatedRows) -> OperatingPoint:
    """The point that is tried; at first the one that every page uses."""
    choice = rows.choice
    start = OperatingPoint()
    if rows.operating:
        threshold = rows.turned(choice.threshold)
        start = OperatingPoint(threshold, choice.band, choice.set_by)
    return TRIED.get_or_make(key_of(rows), lambda: start)


def key_of(context: Context) -> tuple[str, int]:
    """Which model is tried, and which class its threshold is of."""
    return context.key, context.outcome


def slider(place: Any, rows: EvaluatedRows) -> None:
    """The threshold, on the margin of the outcome, to be moved by hand."""
    if rows.fitted.code_size:
        place.caption("Threshold 0: this model has no intercept that could be moved.")
        return
    threshold = current(rows).threshold
    with place:
        live_slider(
            f"Threshold on the margin of {short_label(rows.names[rows.outcome])}",
            _range(rows.margin_in_training, threshold),
            threshold,
            f"threshold {rows.key} {rows.outcome}",
            lambda moved: _move(rows, moved),
        )


def _range(margin: np.ndarray, threshold: float) -> tuple[float, float, float]:
    """Ends and step of the slider, of which 0 is one of the steps."""
    least = min(margin.min(), threshold, 0.0)
    most = max(margin.max(), threshold, 0.0)
    step = 10.0 ** math.floor(math.log10(max(most - least, 1e-9) / _STEPS) + 0.5)
    low, high = math.floor(least / step) - 1, math.ceil(most / step) + 1
    return round(low * step, 12), round(high * step, 12), step


def _move(rows: EvaluatedRows, threshold: float) -> None:
    words = f"Threshold: set by hand, on the {rows.title}."
    TRIED.put(key_of(rows), replace(current(rows), threshold=threshold, words=words))
    widget_state.set_value("way", "set by hand")


def use(rows: EvaluatedRows) -> None:
    """Buttons that set the point for every page, and that take it back."""
    args = (key_of(rows),)
    with st.container(horizontal=True):
        set_now = {"key": "use_operating", "on_click": _set, "args": args}
        if st.button("Use on every page", **set_now):
            st.rerun()  # the sentence above is about the model of every page
        st.button("As fitted", key="as_fitted", on_click=_reset, args=args)
    now, point = session.resolved(), current(rows)
    words = f"Used on every page: {now.operating or 'as fitted'}."
    used = now.choice if now.operating else OperatingPoint()
    if (now.turned(point.threshold), point.band) != (used.threshold, used.band):
        words += " What is set above is tried on this page only."
    message(st.caption, words, help=define("Threshold"))
    session.show_address(now.choice)


def tried_model(rows: EvaluatedRows) -> PrototypeModel:
    """The model at the threshold that is tried, with its calibration."""
    model = replace(rows.fitted, calibration=rows.model().calibration)
    return at_threshold(model, current(rows).threshold) if rows.is_binary else model


def _set(key: tuple[str, int]) -> None:
    """Set the point for the model of this key, unless another was chosen since."""
    context = resolve(session.get().choice)  # a callback cannot run the page anew
    point = TRIED.get(key)
    if point is not None and key_of(context) == key:
        choice = replace(
            context.choice,
            threshold=context.turned(point.threshold),
            band=point.band,
            set_for=context.key,
            set_by=point.words,
        )
        session.choose(choice)


def _reset(key: tuple[str, int]) -> None:
    """Try the model as it was fitted; every page goes on as before."""
    TRIED.put(key, OperatingPoint())
    widget_state.set_value("way", "set by hand")


#: Rows and columns of the list.
MOST_ROWS, MOST_COLUMNS = 1000, 200


def cases(rows: EvaluatedRows, places: np.ndarray, columns: Mapping[str, Any]) -> None:
    """List rows with their own values, and offer to open one."""
    if not len(places):
        return
    shown = places[:MOST_ROWS]
    frame = rows.data.dataset.frame.iloc[rows.rows[shown], :MOST_COLUMNS]
    frame = frame.drop(columns=rows.data.dataset.target, errors="ignore")
    for name, values in reversed(columns.items()):
        name = f"{name} (model)" if name in frame else name
        frame.insert(0, name, values[:MOST_ROWS])
    numbers = rows.numbers[shown]
    st.dataframe(
        frame.set_axis(pd.Index(numbers, name="row"), axis=0),
        key="cases",
        placeholder="–",
        height=min(260, 38 + 35 * len(frame)),
        column_config=number_columns(frame),
        on_select=partial(_picked, rows, shown),
        selection_mode="multi-row",
    )
    if len(places) > MOST_ROWS or frame.shape[1] > MOST_COLUMNS:
        st.caption(
            f"The first {len(shown):,} of {len(places):,} rows, at most "
            f"{MOST_COLUMNS} columns."
        )
    _open_case(rows, numbers.tolist())


def _picked(rows: EvaluatedRows, shown: np.ndarray) -> None:
    """Selected rows light up on Explore; the first one can be opened."""
    selected = [i for i in st.session_state["cases"].selection.rows if i < len(shown)]
    if selected:
        widget_state.set_value("case", int(rows.numbers[shown[selected[0]]]))
    session.select_rows(rows.data.dataset, rows.rows[shown[selected]])


def _open_case(rows: EvaluatedRows, numbers: list[int]) -> None:
    """The twin of a click on a line, and the button."""
    left, right = st.columns([2, 6], vertical_alignment="bottom")
    number = widget_state.choose_one(left, "Row", numbers, "case")
    right.button(
        "Open in Why this prediction",
        key="open_case",
        icon=":material/open_in_new:",
        on_click=_choose,
        args=(rows, number),
    )
    # A callback cannot leave the page.
    if _OPEN_CASE.pop():
        st.switch_page("pages/prototypes.py")


def _choose(rows: EvaluatedRows, number: int) -> None:
    """Set what the section of the other page begins with."""
    widget_state.set_value("prototypes_section", "Why this prediction")
    widget_state.set_value("why_part", rows.part)
    widget_state.set_value(f"why_row_{rows.data.split.key}_{rows.part}", number)
    _OPEN_CASE.put(rows.key, True)
