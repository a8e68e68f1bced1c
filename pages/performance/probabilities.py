"""How good the probabilities, or the intervals, of the model on the screen are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance.rows import EvaluatedRows
from pages.state.context import Context
from pages.ui import calibration, readouts
from pages.ui.elements import problems_shown, table
from pages.ui.glossary import define
from pages.ui.text import short_label
from pages.work.parts import Parts
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
    """Calibrate the model, and check its probabilities or intervals on the rows.

    Parameters
    ----------
    rows : EvaluatedRows
    """
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
        if model.calibration is not None:
            (_classes if is_classifier else _numbers)(rows, model, rows.part)


def _classes(context: Context, model: PrototypeModel, part: str) -> None:
    """Measures of a classifier's probabilities, and their curves."""
    data = context.data
    X, y = data.of(part)
    y_encoded = class_numbers(y, model.classes)
    known, of_rows = y_encoded >= 0, (data.clusters(part), data.weights(part))
    of_rows = [None if of is None else of[known] for of in of_rows]
    y_encoded = y_encoded[known]
    trained = class_numbers(data.of("train")[1], model.classes)
    shares = np.bincount(trained, data.weights("train"))
    shares = shares / shares.sum()
    softmax = context.fit().finished().predict_proba(data.named(part)[0])
    every = {
        CALIBRATED: model.probabilities(X)[known],
        SOFTMAX: softmax[known],
        BASELINE: np.tile(shares, (known.sum(), 1)),
    }
    rarer = int(shares[1] <= shares[0])
    tables = {
        name: reliability(*event(rows, y_encoded, rarer), *of_rows)
        for name, rows in every.items()
    }
    lines = []
    for name, rows in every.items():
        score, low, high = brier_score(rows, y_encoded, *of_rows)
        line = {"probabilities": name, "Brier score": score}
        line["95 % interval"] = f"{low:.3f}–{high:.3f}"
        error = calibration_error(tables[name])
        lines.append(line | {"Expected calibration error": error})
    table(lines)
    probability, truth = event(every[CALIBRATED], y_encoded, rarer)
    curve = None
    if len(model.classes) == 2:
        curve = decision_curve(probability, truth, *of_rows)
    del tables[BASELINE]
    subject = "that the most probable class is right"
    if curve is not None:
        subject = f"of {short_label(model.classes[rarer])}"
    _pictures(tables, curve, subject, f"{plural(len(truth), f'{part} row')}")
    _source(model, data, curve is not None)


def _pictures(
    tables: dict[str, pd.DataFrame], curve: pd.DataFrame | None, subject: str, rows: str
) -> None:
    """The reliability plot and, of two classes, the decision curve; as tables too."""
    pictures = [
        ("Reliability plot", figures.reliability(tables, subject), "Calibration")
    ]
    if curve is not None:
        drawn = figures.decision_curve(curve)
        pictures.append(("Decision curve", drawn, "Decision curve"))
    for column, (title, figure, term) in zip(st.columns(2), pictures, strict=False):
        alt = f"{title}, probability {subject}, {rows}"
        column.plotly_chart(figure, key=f"probabilities_{title}", alt=alt)
        column.caption(f"{alt}.", help=define(term))
    with st.expander("Show as tables", icon=":material/table:"):
        for name, lines in tables.items():
            st.caption(f"Reliability, {name}.")
            table(lines)
        if curve is not None:
            st.caption("Decision curve.")
            table(curve)


def _source(model: PrototypeModel, data: Parts, is_binary: bool) -> None:
    """Which rows the calibration was learned on, and what the intervals are."""
    summed = "" if is_binary else ", summed over the classes"
    dependent, weights = readouts.cluster_summary(data), readouts.weight_summary(data)
    st.caption(
        f"{calibration.basis(model)} Brier score: mean squared error{summed}; "
        f"Student's 95 % interval{dependent}{weights}; shares have Wilson's. If the "
        "method or its parameters were chosen on the validation rows, their results "
        "are optimistic."
    )


def _numbers(context: Context, model: PrototypeModel, part: str) -> None:
    """How many rows the intervals of a regression cover."""
    data = context.data
    found = interval_coverage(model, *data.of(part), data.clusters(part))
    lines = []
    for line in found.itertuples():
        counts = f"{100 * line.share:.0f} % ({line.covered} of {line.rows})"
        limits = f"{100 * line.low:.0f}–{100 * line.high:.0f} %"
        name, covered = f"{100 * line.coverage:.0f} %", f"{counts}, {limits}"
        half = f"± {plain_number(line.half_width)}"
        lines.append({"Prediction interval": name, "width": half, "covers": covered})
    table(lines)
    st.caption(
        f"{calibration.basis(model)} Covers: {part} rows, with Wilson's 95 % interval"
        f"{readouts.cluster_summary(data)}. Prediction intervals are split "
        "conformal: they assume that new rows resemble the training rows, and are as "
        "wide for every row."
    )
