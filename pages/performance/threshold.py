"""Threshold and reject band, probabilities and intervals: how good, and for what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance import operating_point
from pages.performance.operating_point import EvaluatedRows, OperatingPoint
from pages.state import widget_state
from pages.state.session import Slot
from pages.ui import charts, fold_scores
from pages.ui.elements import problems_shown, table
from pages.ui.outcome import outcome_picker
from pages.ui.text import escape_markdown, short_label
from smpcore import PrototypeModel, evaluation, figures
from smpcore.datasets import plain_number
from smpcore.live import calibration_basis, define
from smpcore.readouts import Shown
from smpcore.report import (
    ABOUT_CALIBRATION,
    BY_PREDICTION,
    CALIBRATED,
    SOFTMAX,
    calibration_lines,
    compared_probabilities,
    interval_lines,
    quartile_lines,
)

BASELINE = "training class shares"


@st.fragment
def probabilities(rows: EvaluatedRows) -> None:
    """Calibrate the model, and check its probabilities or intervals on the rows."""
    is_classifier = rows.data.dataset.classes is not None
    heading = "Probabilities" if is_classifier else "Prediction intervals"
    term = "Calibration" if is_classifier else "Prediction interval"
    st.markdown(f"**{heading}**", help=define(term))
    with problems_shown():
        if rows.part == "train":
            st.info(
                f"{heading} are learned on the training rows, and checked on others; "
                "choose validation rows, or set a validation share on Data."
            )
            return
        model = rows.model()
        fold_scores.offer_calibration(rows)
        if model.calibration is None:
            st.caption(
                "Refits the model on folds of the training rows; scores of the rows "
                f"left out tell how often a score is right. {heading} are then shown "
                "on every page."
            )
        else:
            (_classes if is_classifier else _numbers)(rows, model)


def _classes(rows: EvaluatedRows, model: PrototypeModel) -> None:
    """Measures of a classifier's probabilities, and their curves."""
    subject = "that the most probable class is right"
    if rows.is_binary:
        outcome_picker(st.columns([1, 3])[0], rows)
        subject = f"of {short_label(rows.names[rows.outcome])}"
    compared = _compared(rows, model)
    table(calibration_lines(compared, rows.truth, rows.outcome, **rows.dependence()))
    of_both = {name: compared[name] for name in (CALIBRATED, SOFTMAX)}
    names = subject, f"{rows.part} row"
    charts.of_probabilities(
        of_both, rows.truth, rows.outcome, names, **rows.dependence()
    )
    _basis(model, rows)


def _compared(rows: EvaluatedRows, model: PrototypeModel) -> dict[str, np.ndarray]:
    """Probabilities of every class: calibrated, not calibrated, and no model's."""
    trained = evaluation.class_numbers(rows.data.of("train")[1], model.classes)
    shares = np.bincount(trained, rows.data.weights("train"))
    shares = shares / shares.sum()
    return {
        **compared_probabilities(model.probabilities(rows.X), rows.scores),
        BASELINE: np.tile(shares, (len(rows.X), 1)),
    }


def _basis(model: PrototypeModel, rows: EvaluatedRows) -> None:
    """Which rows the calibration was learned on, and what the intervals are."""
    summed = "" if rows.is_binary else ", summed over the classes"
    st.caption(
        f"{calibration_basis(model)} Brier score: mean squared error{summed}. "
        f"{ABOUT_CALIBRATION} Shares in bins have {evaluation.WILSON} "
        f"interval{rows.data.cluster_note}{escape_markdown(rows.data.weight_note)}. "
        "If the method or "
        "its parameters were chosen on the validation rows, their results are "
        "optimistic."
    )


def _numbers(rows: EvaluatedRows, model: PrototypeModel) -> None:
    """How many rows the intervals of a regression cover."""
    of_rows = rows.data.clusters(rows.part), rows.data.weights(rows.part)
    table(interval_lines(model, rows.X, rows.y, *of_rows))
    st.caption(BY_PREDICTION)
    table(quartile_lines(model, rows.X, rows.y, *of_rows))
    st.caption(
        f"{calibration_basis(model)} Covers: {rows.part} rows, with Wilson's "
        f"95 % interval{rows.data.cluster_note}"
        f"{escape_markdown(rows.data.weight_note)}. These are "
        "out-of-fold residual intervals: their coverage is measured, not guaranteed."
    )


_WANTED_ERROR = Slot[float]("wanted_error")
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
    outcome_picker(columns[0], rows)
    known, outcome = rows.truth >= 0, rows.outcome
    margin, of_rows = rows.margin[known], rows.dependence(known)
    truth, weights = rows.truth[known] == outcome, of_rows["weights"]
    points = evaluation.operating_points(margin, truth, weights)
    rule, way = _rule(columns[1:3], rows)
    wanted = columns[3].number_input(
        "Maximum error rate, %",
        0.0,
        100.0,
        _WANTED_ERROR.get_or_make(rows.key, lambda: 100.0),
        key="wanted_error",
        help=define("Reject band"),
    )
    _WANTED_ERROR.put(rows.key, wanted)
    threshold = operating_point.current(rows).threshold
    band, n_scored = 0.0, 0
    if rule is not None or wanted < 100:
        scores = fold_scores.training_scores(rows)
        if scores is None:
            return
        lead = scores[:, outcome] - scores[:, 1 - outcome]
        truths = rows.data.of("train")[1] == rows.fitted.classes[outcome]
        of_rule = rule or (lambda _: threshold)
        of_train, n_scored = rows.data.weights("train"), int(np.isfinite(lead).sum())
        threshold, band = _chosen(lead, truths, of_train, of_rule, wanted / 100)
    words = _chosen_by(rows.names[outcome], way, wanted, n_scored)
    point = OperatingPoint(threshold, band, words)
    operating_point.TRIED.put(operating_point.key_of(rows), point)
    _rates(rows, margin, truth, (threshold, band), of_rows)
    st.caption(_source(n_scored, rows, rule is not None))
    curve = evaluation.reject_curve(margin, truth, threshold, weights)
    area = area_in_words(margin, truth, **of_rows)
    drawn = _figures(points, curve, (threshold, band), area)
    subject = f" on {len(truth)} {rows.title}"
    subject += ", with those within the band" if band else ""
    charts.side_by_side(drawn, subject, {"Thresholds": points, "Reject bands": curve})
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
    threshold = rule(evaluation.operating_points(lead, truth, weights))
    return threshold, evaluation.band_for_error(
        evaluation.reject_curve(lead, truth, threshold, weights), wanted
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
    area = Shown("AUC", evaluation.roc_area(margin, truth, **of_rows), unit="")
    return f" {area.in_words}." if area.text else ""


def _rule(
    columns: Any, rows: EvaluatedRows
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
        rule = partial(evaluation.threshold_for_sensitivity, wanted=wanted / 100)
        return rule, f"highest threshold with a sensitivity of at least {wanted:g} %"
    if way == WAYS[2]:
        price = columns[1].number_input(
            "Cost ratio, false negative : false positive",
            0.01,
            1000.0,
            5.0,
            key="price",
        )
        rule = partial(evaluation.threshold_for_cost, miss=price, alarm=1.0)
        words = f"least cost, false negative : false positive {price:g} : 1"
        return rule, words
    operating_point.slider(columns[1], rows)
    return None, f"{ways[0]}, on the {rows.title}"


def _rates(
    rows: EvaluatedRows,
    margin: np.ndarray,
    truth: np.ndarray,
    moved: tuple[float, float],
    of_rows: Mapping[str, np.ndarray | None],
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
    for name, rate in evaluation.rates_at(margin, truth, *moved, **of_rows).items():
        label = f"{name.capitalize()}{' of these' if band else ''}:"
        basis = f"{rate.hits} of {rate.n}" if rate.n else ""
        absent = "no row of that class is predicted"
        shown = Shown(label, rate.estimate, basis, absent=absent)
        words += f" {shown.in_words}."
    if rows.data.weight_summary:
        words += escape_markdown(f" Rows are {rows.data.weight_summary}.")
    st.markdown(words)


def _source(n_scored: int, rows: EvaluatedRows, by_rule: bool) -> str:
    """Which rows the settings are chosen on, and which judge them."""
    chosen = ""
    if n_scored:
        settings = "Threshold and band are" if by_rule else "The band is"
        unused = f"; the {rows.title} are not used" if rows.part != "train" else ""
        chosen = (
            f"{settings} chosen on out-of-fold scores of {n_scored} of "
            f"{len(rows.data.split.train)} training rows{unused}. "
        )
    if not by_rule:
        chosen += f"A threshold that is set by hand is chosen on the {rows.title}. "
    return (
        f"{chosen}Wilson intervals{rows.data.cluster_note}. If the method "
        "or its parameters were chosen on the validation rows, their results are "
        "optimistic; those of the test rows are not while nothing is chosen on them."
    )


def _chosen_by(outcome: str, way: str, error: float, n_scored: int) -> str:
    """How threshold and band were chosen, for the report."""
    words = f"Outcome {outcome}. Threshold: {way}."
    if error < 100:
        words += f" Band: the narrowest that leaves at most {error:g} % errors."
    if n_scored:
        words += f" Chosen on out-of-fold scores of {n_scored} training rows."
    return words
