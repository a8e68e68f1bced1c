"""Where the chosen model of two classes says yes, and where it is not sure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import cached, kept, links, tables
from pages.shared.choice import Choice
from smpcore import (
    PrototypeModel,
    SmpcoreError,
    band_for_error,
    figures,
    margins,
    operating_points,
    reject_curve,
    threshold_for_cost,
    threshold_for_sensitivity,
)

WAYS = ("as fitted", "by wanted sensitivity", "by cost")


@st.fragment
def section() -> None:
    """Curves on the validation rows, and the threshold and band that are set."""
    begun = kept.enter("operate", (False, True), False)
    wanted = st.toggle("Threshold and “not sure” band of the model", **begun)
    choice = links.current()
    links.show_url(choice)
    if not wanted:
        return
    try:
        data = choice.parts()
        if data.dataset.classes is None or len(data.dataset.classes) != 2:
            st.info("A threshold needs data of two classes; choose such on Data.")
            return
        if not len(data.split.validation):
            st.info(
                "A threshold is chosen on validation rows, and there are none: give "
                "them a share on Data."
            )
            return
        fit = cached.fit(data, choice.method, choice.all_values)
        if fit.wait(5.0):
            _curves(choice, data, fit.estimator.model_)
        else:
            st.info("The fit is still running.")
    except SmpcoreError as problem:
        st.info(tables.plain(str(problem)))


def _curves(choice: Choice, data: cached.Parts, model: PrototypeModel) -> None:
    X, y = data.of("validation")
    margin = margins(model, X)
    columns = st.columns(4)
    positive = columns[0].selectbox(
        "Positive class",
        (1, 0),
        format_func=lambda number: tables.short(model.classes[number]),
        key="positive",
    )
    sign = 1 if positive else -1
    margin, truth = sign * margin, y == model.classes[positive]
    points = operating_points(margin, truth)
    threshold = _threshold(columns[1:3], points, fixed=model.code_size > 0)
    curve = reject_curve(margin, truth, threshold)
    wanted = columns[3].number_input(
        "Wrong answers, % at most",
        0.0,
        100.0,
        100.0,
        key="wanted_error",
        help="Below 100 a band opens in which the model says “not sure”.",
    )
    band = band_for_error(curve, wanted / 100)
    _told(margin, truth, threshold, band)
    pictures = (
        ("ROC", figures.roc(points, threshold)),
        ("Precision and recall", figures.precision_recall(points, threshold)),
        ("Answered rows and errors", figures.coverage(curve, band)),
    )
    for column, (title, figure) in zip(st.columns(3), pictures, strict=True):
        words = f"{title} on {len(y)} validation rows"
        column.plotly_chart(figure, key=f"operating_{title}", alt=words)
        column.caption(f"{words}.")
    with st.expander("These curves as tables", icon=":material/table:"):
        for table in (points, curve):
            st.dataframe(table, hide_index=True, column_config=tables.numbers(table))
    left, right = st.columns([2, 5], vertical_alignment="center")
    args = choice.key, sign * threshold, band
    left.button("Use on every page", key="use_operating", on_click=_set, args=args)
    right.caption(f"On every page now: {choice.operating or 'as fitted'}.")


def _threshold(columns: Any, points: pd.DataFrame, fixed: bool) -> float:
    """The threshold that the controls ask for."""
    way = columns[0].selectbox("Threshold", WAYS[:1] if fixed else WAYS, key="way")
    if way == WAYS[1]:
        wanted = columns[1].number_input(
            "Sensitivity, % at least", 0.0, 100.0, 95.0, key="wanted_sensitivity"
        )
        return threshold_for_sensitivity(points, wanted / 100)
    if way == WAYS[2]:
        price = columns[1].number_input(
            "A miss costs so many false alarms", 0.01, 1000.0, 5.0, key="price"
        )
        return threshold_for_cost(points, price, 1.0)
    columns[1].caption("0: the class with the higher score")
    return 0.0


def _told(margin: np.ndarray, truth: np.ndarray, threshold: float, band: float) -> None:
    """Count what these settings do."""
    sure, yes = np.abs(margin - threshold) > band, margin > threshold
    found, alarms = (yes & truth & sure).sum(), (yes & ~truth & sure).sum()
    st.markdown(
        f"Threshold {threshold:.4g}, band ±{band:.4g}: {sure.sum()} of {len(margin)} "
        f"rows get an answer, {(yes != truth)[sure].sum()} of them wrong. {found} of "
        f"{truth.sum()} positive rows are found, with {alarms} false alarms."
    )


def _set(key: str, threshold: float, band: float) -> None:
    """Set both for the model with this key, whatever else has been chosen since."""
    moved = {"threshold": threshold, "band": band, "set_for": key}
    links.choose(replace(links.current(), **moved))
