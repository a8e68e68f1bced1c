"""How good the probabilities, or the intervals, of the model on the screen are."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.performance import operating_point, pictures
from pages.performance.rows import EvaluatedRows
from pages.ui import calibration
from pages.ui.elements import problems_shown, table
from pages.ui.glossary import define
from pages.ui.text import short_label
from smpcore import PrototypeModel, figures
from smpcore.datasets import plain_number, plural
from smpcore.evaluation import (
    brier_score,
    calibration_error,
    class_numbers,
    decision_curve,
    event,
    interval_coverage,
    reliability,
)

CALIBRATED, SOFTMAX = "calibrated", "softmax of the scores"
BASELINE = "training class shares"


@st.fragment
def section(rows: EvaluatedRows) -> None:
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
        calibration.offer(rows)
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
    positive, subject = 1, "that the most probable class is right"
    if rows.is_binary:
        positive = operating_point.positive_class(st.columns([1, 3])[0], rows)
        subject = f"of {short_label(model.classes[positive])}"
    known = rows.truth >= 0
    truth, of_rows = rows.truth[known], rows.dependence(known)
    tables, lines = {}, []
    for name, shares in _compared(rows, model).items():
        checked = event(shares[known], truth, positive)
        tables[name] = reliability(*checked, **of_rows)
        score, low, high = brier_score(shares[known], truth, **of_rows)
        line = {"probabilities": name, "Brier score": score}
        line["95 % interval"] = f"{low:.3f}–{high:.3f}"
        error = calibration_error(tables[name])
        lines.append(line | {"Expected calibration error": error})
    table(lines)
    del tables[BASELINE]
    drawn = [("Reliability plot", figures.reliability(tables, subject), "Calibration")]
    tables = {f"Reliability, {name}": lines for name, lines in tables.items()}
    if rows.is_binary:
        checked = event(model.probabilities(rows.X)[known], truth, positive)
        curve = tables["Decision curve"] = decision_curve(*checked, **of_rows)
        figure = figures.decision_curve(curve)
        drawn.append(("Decision curve", figure, "Decision curve"))
    of = f", probability {subject}, {plural(len(truth), f'{rows.part} row')}"
    pictures.show([(*one, "") for one in drawn], of, tables)
    _source(model, rows)


def _compared(rows: EvaluatedRows, model: PrototypeModel) -> dict[str, np.ndarray]:
    """Probabilities of every class: calibrated, not calibrated, and no model's."""
    trained = class_numbers(rows.data.of("train")[1], model.classes)
    shares = np.bincount(trained, rows.data.weights("train"))
    shares = shares / shares.sum()
    named = rows.data.named(rows.part)[0]
    return {
        CALIBRATED: model.probabilities(rows.X),
        SOFTMAX: rows.fit().finished().predict_proba(named),
        BASELINE: np.tile(shares, (len(rows.X), 1)),
    }


def _source(model: PrototypeModel, rows: EvaluatedRows) -> None:
    """Which rows the calibration was learned on, and what the intervals are."""
    summed = "" if rows.is_binary else ", summed over the classes"
    dependent = rows.data.cluster_note
    weights = rows.data.weight_note
    st.caption(
        f"{calibration.basis(model)} Brier score: mean squared error{summed}; "
        f"Student's 95 % interval{dependent}{weights}; shares have Wilson's. If the "
        "method or its parameters were chosen on the validation rows, their results "
        "are optimistic."
    )


def _numbers(rows: EvaluatedRows, model: PrototypeModel) -> None:
    """How many rows the intervals of a regression cover."""
    lines = []
    for line in interval_coverage(model, rows.X, rows.y, rows.clusters).itertuples():
        counts = f"{100 * line.share:.0f} % ({line.covered} of {line.rows})"
        limits = f"{100 * line.low:.0f}–{100 * line.high:.0f} %"
        name, covered = f"{100 * line.coverage:.0f} %", f"{counts}, {limits}"
        half = f"± {plain_number(line.half_width)}"
        lines.append({"Prediction interval": name, "width": half, "covers": covered})
    table(lines)
    dependent = rows.data.cluster_note
    st.caption(
        f"{calibration.basis(model)} Covers: {rows.part} rows, with Wilson's 95 % "
        f"interval{dependent}. These are out-of-fold residual intervals: their "
        "coverage is measured, not guaranteed; they are as wide for every row."
    )
