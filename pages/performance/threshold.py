"""The threshold and the reject band: how they are chosen, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance import operating_point, pictures
from pages.performance.operating_point import OperatingPoint
from pages.performance.rows import EvaluatedRows
from pages.state import session, widget_state
from pages.ui import calibration
from pages.ui.elements import problems_shown
from pages.ui.glossary import define
from pages.ui.text import escape_markdown
from smpcore import figures
from smpcore.datasets import plain_number
from smpcore.evaluation import (
    band_for_error,
    operating_points,
    rates_at,
    reject_curve,
    roc_area,
    threshold_for_cost,
    threshold_for_sensitivity,
)

WAYS = ("set by hand", "target sensitivity", "cost ratio")


@st.fragment
def section(rows: EvaluatedRows) -> None:
    """Curves on the rows, and the threshold and band that are tried."""
    with problems_shown():
        if rows.is_binary:
            _curves(rows)
        else:
            st.info("A threshold needs two classes; choose another data set on Data.")


def _curves(rows: EvaluatedRows) -> None:
    columns = st.columns([2, 2, 3, 2])
    positive = operating_point.positive_class(columns[0], rows)
    sign = 1 if positive else -1
    margin = sign * rows.margin
    truth = rows.y == rows.fitted.classes[positive]
    points = operating_points(margin, truth, rows.weights)
    rule, way = _rule(columns[1:3], rows, positive)
    wanted = columns[3].number_input(
        "Maximum error rate, %",
        0.0,
        100.0,
        session.remembered("wanted_error", rows.key, lambda: 100.0),
        key="wanted_error",
        help=define("Reject band"),
    )
    session.get().results["wanted_error"] = rows.key, wanted
    threshold = sign * operating_point.current(rows).threshold + 0.0  # no -0
    band, n_scored = 0.0, 0
    if rule is not None or wanted < 100:
        scores = calibration.training_scores(rows)
        if scores is None:
            return
        lead = scores[:, positive] - scores[:, 1 - positive]
        truths = rows.data.of("train")[1] == rows.fitted.classes[positive]
        of_rule = rule or (lambda _: threshold)
        weights, n_scored = rows.data.weights("train"), int(np.isfinite(lead).sum())
        threshold, band = _chosen(lead, truths, weights, of_rule, wanted / 100)
    label = str(rows.fitted.classes[positive])
    words = _chosen_by(label, way, wanted if wanted < 100 else None, n_scored)
    point = OperatingPoint(sign * threshold, band, words)
    operating_point.set_current(rows.key, point)
    _rates(rows, margin, truth, (threshold, band))
    st.caption(_source(n_scored, rows, rule is not None))
    curve = reject_curve(margin, truth, threshold, rows.weights)
    area = area_in_words(margin, truth, **rows.dependence())
    points["threshold"] *= (turned := sign * rows.threshold_sign)  # as they are shown
    drawn = _figures(points, curve, (turned * threshold, band), area)
    tables = {"Thresholds": points, "Reject bands": curve}
    pictures.show(drawn, f" on {len(rows.y)} {rows.title}", tables)
    operating_point.use(rows)


def _chosen(
    lead: np.ndarray,
    truth: np.ndarray,
    weights: np.ndarray | None,
    rule: Callable[[pd.DataFrame], float],
    wanted: float,
) -> tuple[float, float]:
    """Threshold and band of the training rows that have an out-of-fold score."""
    scored = np.isfinite(lead)
    lead, truth = lead[scored], truth[scored]
    weights = None if weights is None else weights[scored]
    threshold = rule(operating_points(lead, truth, weights))
    return threshold, band_for_error(
        reject_curve(lead, truth, threshold, weights), wanted
    )


def _figures(
    points: pd.DataFrame, curve: pd.DataFrame, moved: tuple[float, float], area: str
) -> list[tuple[str, Any, str, str]]:
    """The curves, each with its title, its term and more words."""
    threshold, band = moved
    precision = figures.precision_recall(points, threshold)
    return [
        ("ROC", figures.roc(points, threshold), "ROC", area),
        ("Precision and recall", precision, "Recall", ""),
        ("Coverage and error rate", figures.coverage(curve, band), "Reject band", ""),
    ]


def area_in_words(
    margin: np.ndarray, truth: np.ndarray, **of_rows: np.ndarray | None
) -> str:
    """The area under the ROC curve in words."""
    share, low, high = roc_area(margin, truth, **of_rows)
    if np.isnan(share):
        return ""
    return f" AUC {share:.3f}, 95 % interval {low:.3f} to {high:.3f} (DeLong's)."


def _rule(
    columns: Any, rows: EvaluatedRows, positive: int
) -> tuple[Callable[[pd.DataFrame], float] | None, str]:
    """How the controls choose a threshold of `operating_points`, also in words.

    None: by hand.
    """
    ways = WAYS[:1] if rows.fitted.code_size else WAYS
    way = widget_state.choose_one(columns[0], "Choose the threshold by", ways, "way")
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
    operating_point.slider(columns[1], rows)
    return None, f"{ways[0]}, on the {rows.title}"


def _rates(
    rows: EvaluatedRows,
    margin: np.ndarray,
    truth: np.ndarray,
    moved: tuple[float, float],
) -> None:
    """Count what these settings do on the rows, with intervals."""
    threshold, band = moved
    sure, yes = np.abs(margin - threshold) > band, margin > threshold
    shown = escape_markdown(
        rows.threshold_in_words(operating_point.current(rows).threshold)
    )
    words = (
        f"Threshold {shown}, band ±{plain_number(band)}: "
        f"{sure.sum()} of {len(margin)} {rows.title} are predicted, "
        f"{(yes != truth)[sure].sum()} of them wrong."
    )
    for name, rate in rates_at(margin, truth, *moved, **rows.dependence()).items():
        low, high = rate.interval
        words += f" {name.capitalize()}: " + (
            f"{100 * rate.share:.0f} % ({rate.hits} of {rate.n}, 95 % interval "
            f"{100 * low:.0f} to {100 * high:.0f} %)."
            if rate.n
            else "no row of that class is predicted."
        )
    if rows.data.weight_summary:
        words += f" {rows.data.weight_summary.capitalize()}."
    st.markdown(words)


def _source(n_scored: int, rows: EvaluatedRows, by_rule: bool) -> str:
    """Which rows the settings are chosen on, and which judge them."""
    chosen = ""
    if n_scored:
        settings = "Threshold and band are" if by_rule else "The band is"
        chosen = (
            f"{settings} chosen on out-of-fold scores of {n_scored} of "
            f"{len(rows.data.split.train)} training rows"
            + f"; the {rows.title} are not used" * (rows.part != "train")
            + ". "
        )
    if not by_rule:
        chosen += f"A threshold that is set by hand is chosen on the {rows.title}. "
    return (
        f"{chosen}Wilson intervals{rows.data.cluster_note}. If the method "
        "or its parameters were chosen on the validation rows, their results are "
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
