"""Where the chosen model of two classes says yes, and where it is not sure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session, widget_state
from pages.state.context import Context, resolve
from pages.ui import calibration, readouts
from pages.ui.elements import problems_shown, table
from pages.ui.glossary import define
from pages.ui.text import short_label
from pages.work import cache
from smpcore import PrototypeModel, figures
from smpcore.evaluation import (
    band_for_error,
    margins,
    operating_points,
    rates_at,
    reject_curve,
    roc_area,
    threshold_for_cost,
    threshold_for_sensitivity,
)

#: Where the commoner class has less than this share, either may be the one to find.
IN_DOUBT = 0.6
WAYS = ("as fitted", "target sensitivity", "cost ratio")


@st.fragment
def section() -> None:
    """Curves on the validation rows, and the threshold and band that are set."""
    state = widget_state.for_value("operate", (False, True), False)
    wanted = st.toggle("Decision threshold and reject band", **state)
    context = session.resolved()
    session.show_url(context.choice)
    if not wanted:
        return
    with problems_shown():
        data = context.data
        if data.dataset.classes is None or len(data.dataset.classes) != 2:
            st.info("A threshold needs two classes; choose another data set on Data.")
        elif not len(data.split.validation):
            st.info(
                "A threshold is evaluated on validation rows, and there are none; set "
                "a validation share on Data."
            )
        elif (fit := context.fit()).wait(5.0):
            _curves(context, fit.estimator.model_)
        else:
            st.info("The model is still being fitted.")


def _curves(context: Context, model: PrototypeModel) -> None:
    data = context.data
    X, y = data.of("validation")
    columns = st.columns(4)
    positive = _positive(columns[0], data, model)
    sign = 1 if positive else -1
    margin, truth = sign * margins(model, X), y == model.classes[positive]
    weights = data.weights("validation")
    points = operating_points(margin, truth, weights)
    rule, way = _rule(columns[1:3], fixed=model.code_size > 0)
    wanted = columns[3].number_input(
        "Maximum error rate, %",
        0.0,
        100.0,
        100.0,
        key="wanted_error",
        help=define("Reject band"),
    )
    threshold, band, n_scored = 0.0, 0.0, 0
    if rule is not None or wanted < 100:
        scores = calibration.training_scores(context)
        if scores is None:
            return
        of_train = data.of("train")[1] == model.classes[positive], data.weights("train")
        lead = scores[:, positive] - scores[:, 1 - positive]
        threshold, band, n_scored = _chosen(lead, *of_train, rule, wanted / 100)
    _rates(margin, truth, (threshold, band), data)
    st.caption(_source(n_scored, data))
    curve = reject_curve(margin, truth, threshold, weights)
    area = _area(margin, truth, data)
    _pictures(points, curve, (threshold, band), area, len(y))
    left, right = st.columns([2, 5], vertical_alignment="center")
    label = str(model.classes[positive])
    words = _chosen_by(label, way, wanted if wanted < 100 else None, n_scored)
    args = context.key, sign * threshold, band, words
    left.button("Use on every page", key="use_operating", on_click=_set, args=args)
    right.caption(f"Used on every page: {context.operating or 'as fitted'}.")


def _chosen(
    lead: np.ndarray,
    truth: np.ndarray,
    weights: np.ndarray | None,
    rule: Callable[[pd.DataFrame], float] | None,
    wanted: float,
) -> tuple[float, float, int]:
    """Threshold and band of the training rows that have a score, and their number."""
    scored = np.isfinite(lead)
    lead, truth = lead[scored], truth[scored]
    weights = None if weights is None else weights[scored]
    threshold = rule(operating_points(lead, truth, weights)) if rule else 0.0
    band = band_for_error(reject_curve(lead, truth, threshold, weights), wanted)
    return threshold, band, int(scored.sum())


def _positive(place: Any, data: cache.Parts, model: PrototypeModel) -> int:
    """Number of the class that is to be found."""
    shares = [float((data.of("train")[1] == name).mean()) for name in model.classes]
    rarer = int(shares[1] <= shares[0])
    positive = place.selectbox(
        "Positive class",
        (rarer, 1 - rarer),
        format_func=lambda number: short_label(model.classes[number]),
        key=f"positive {data.dataset.digest}",
        help="The class to detect. Default: the rarer one in the training rows.",
    )
    if max(shares) < IN_DOUBT:
        place.caption(
            "Both classes are about equally frequent; choose the class to detect."
        )
    return positive


def _pictures(
    points: pd.DataFrame,
    curve: pd.DataFrame,
    moved: tuple[float, float],
    area: str,
    n_rows: int,
) -> None:
    """The curves on the validation rows, and as tables."""
    threshold, band = moved
    pictures = (
        ("ROC", figures.roc(points, threshold), area, "ROC"),
        (
            "Precision and recall",
            figures.precision_recall(points, threshold),
            "",
            "Recall",
        ),
        ("Coverage and error rate", figures.coverage(curve, band), "", "Reject band"),
    )
    for column, (title, figure, more, term) in zip(
        st.columns(3), pictures, strict=True
    ):
        alt = f"{title} on {n_rows} validation rows"
        column.plotly_chart(figure, key=f"operating_{title}", alt=alt)
        column.caption(f"{alt}.{more}", help=define(term))
    with st.expander("Show as tables", icon=":material/table:"):
        table(points)
        table(curve)


def _area(margin: np.ndarray, truth: np.ndarray, data: cache.Parts) -> str:
    """The area under the ROC curve in words."""
    of_rows = data.clusters("validation"), data.weights("validation")
    share, low, high = roc_area(margin, truth, *of_rows)
    if np.isnan(share):
        return ""
    return f" AUC {share:.3f}, 95 % interval {low:.3f} to {high:.3f} (DeLong's)."


def _rule(
    columns: Any, fixed: bool
) -> tuple[Callable[[pd.DataFrame], float] | None, str]:
    """How the controls choose a threshold of `operating_points`, also in words.

    None: as fitted.
    """
    way = columns[0].selectbox("Threshold", WAYS[:1] if fixed else WAYS, key="way")
    if way == WAYS[1]:
        wanted = columns[1].number_input(
            "Minimum sensitivity, %",
            0.0,
            100.0,
            95.0,
            key="wanted_sensitivity",
            help=define("Recall"),
        )
        rule = partial(threshold_for_sensitivity, wanted=wanted / 100)
        return rule, f"highest threshold with a sensitivity of at least {wanted:g} %"
    if way == WAYS[2]:
        price = columns[1].number_input(
            "Cost ratio, false negative : false positive",
            0.01,
            1000.0,
            5.0,
            key="price",
        )
        rule = partial(threshold_for_cost, miss=price, alarm=1.0)
        words = f"least cost, false negative : false positive {price:g} : 1"
        return rule, words
    columns[1].caption("0: predicts the class with the higher score")
    return None, WAYS[0]


def _rates(
    margin: np.ndarray,
    truth: np.ndarray,
    moved: tuple[float, float],
    data: cache.Parts,
) -> None:
    """Count what these settings do on the validation rows, with intervals."""
    threshold, band = moved
    sure, yes = np.abs(margin - threshold) > band, margin > threshold
    words = (
        f"Threshold {threshold:.4g}, band ±{band:.4g}: {sure.sum()} of {len(margin)} "
        f"validation rows are predicted, {(yes != truth)[sure].sum()} of them wrong."
    )
    of_rows = data.clusters("validation"), data.weights("validation")
    rates = rates_at(margin, truth, threshold, band, *of_rows)
    for name, (hits, n, low, high) in rates.items():
        words += f" {name.capitalize()}: " + (
            f"{100 * hits / n:.0f} % ({hits:.4g} of {n:.4g}, 95 % interval "
            f"{100 * low:.0f} to {100 * high:.0f} %)."
            if n
            else "no row of that class is predicted."
        )
    if data.weight_summary:
        words += f" {data.weight_summary.capitalize()}."
    st.markdown(words)


def _source(n_scored: int, data: cache.Parts) -> str:
    """Which rows the settings are chosen on, and which judge them."""
    chosen = "The threshold is as fitted."
    if n_scored:
        chosen = (
            f"Threshold and band are chosen on out-of-fold scores of {n_scored} of "
            f"{len(data.split.train)} training rows; the validation rows are not used."
        )
    return (
        f"{chosen} Wilson intervals{readouts.cluster_summary(data)}. If the method or "
        "its parameters were chosen on the validation rows, their results are "
        "optimistic; those of the test rows are not."
    )


def _chosen_by(positive: str, way: str, error: float | None, n_scored: int) -> str:
    """How threshold and band were chosen, for the report."""
    words = f"Positive class {positive}. Threshold: {way}."
    if error is not None:
        words += f" Band: the narrowest that leaves at most {error:g} % errors."
    if n_scored:
        words += f" Chosen on out-of-fold scores of {n_scored} training rows."
    return words


def _set(key: str, threshold: float, band: float, words: str) -> None:
    """Set them for the model of this key, unless another has been chosen since."""
    context = resolve(session.get().choice)  # a callback cannot run the page anew
    if context.key == key:
        moved = {"threshold": threshold, "band": band, "set_for": key}
        moved["set_by"] = words
        session.choose(replace(context.choice, **moved))
