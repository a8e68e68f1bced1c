"""How good a model is on a file with the outcome: an external validation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import charts
from pages.ui.elements import table
from pages.ui.text import define, message, short_label
from smpcore import PrototypeModel, evaluation
from smpcore.datasets import plural
from smpcore.report import (
    ABOUT_CALIBRATION,
    calibration_lines,
    compared_probabilities,
)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of a file that were answered, and whose class is in the file.

    `fitted` is the model without a threshold that was moved; `y_encoded` is -1 where
    the model has no such class.
    """

    model: PrototypeModel
    fitted: PrototypeModel
    answers: pd.DataFrame
    y_encoded: np.ndarray
    clusters: np.ndarray | None
    weights: np.ndarray | None

    def of_classes(self, what: str) -> np.ndarray:
        """Columns of the answers that there is one of for each class."""
        names = [f"{what} of {name}" for name in self.model.classes]
        return self.answers[names].to_numpy()

    @cached_property
    def scores(self) -> np.ndarray:
        """Score of each class."""
        return self.of_classes("score")

    @property
    def event(self) -> str:
        """What a probability is of."""
        if len(self.model.classes) > 2:
            return "that the most probable class is right"
        return f"of {short_label(self.model.classes[self.model.outcome])}"

    def chosen(self, rows: np.ndarray) -> LabelledRows:
        """Some of them."""
        arrays = self.y_encoded, self.clusters, self.weights
        of_rows = (None if array is None else array[rows] for array in arrays)
        return LabelledRows(self.model, self.fitted, self.answers[rows], *of_rows)


def section(rows: LabelledRows) -> None:
    """Rates of two classes, and how good the probabilities are of rows with some."""
    if len(rows.model.classes) == 2:
        _rates(rows)
    if rows.model.calibration is None:
        return
    known = np.isfinite(rows.of_classes("probability")).all(axis=1)
    if known.any():
        _probabilities(rows.chosen(known), int((~known).sum()))


def _rates(rows: LabelledRows) -> None:
    """Sensitivity, specificity, predictive values and AUC with their intervals."""
    model, outcome = rows.model, rows.model.outcome
    predicted = np.where(rows.answers["answer"] == model.classes[outcome], 0, 1)
    if model.band:
        predicted[(rows.answers["not sure"] != "").to_numpy()] = 2
    measures = evaluation.two_class_measures(
        np.where(rows.y_encoded < 0, -1, (rows.y_encoded != outcome) * 1),
        predicted,
        rows.scores[:, outcome] - rows.scores[:, 1 - outcome],
        [short_label(model.classes[number]) for number in (outcome, 1 - outcome)],
        clusters=rows.clusters,
        weights=rows.weights,
    )
    table([measure.line for measure in measures])
    st.caption(
        "Predictive values by Bayes' rule with the prevalence of these rows taken as "
        "known.",
        help=define("Predictive value", "ROC"),
    )


def _probabilities(rows: LabelledRows, n_far: int) -> None:
    """How good the probabilities are, beside the softmax of the fitted scores."""
    moved = rows.model.intercept - rows.fitted.intercept
    compared = compared_probabilities(
        rows.of_classes("probability"), rows.scores - moved
    )
    of_rows = rows.y_encoded, rows.model.outcome
    dependence = {"clusters": rows.clusters, "weights": rows.weights}
    table(calibration_lines(compared, *of_rows, **dependence))
    words = f"Probability {rows.event}, {plural(len(rows.answers), 'row')}."
    if n_far:
        words += f" {plural(n_far, 'row')} far from the training data without a "
        words += "probability."
    message(st.caption, f"{words} {ABOUT_CALIBRATION}")
    charts.of_probabilities(compared, *of_rows, (rows.event, "row"), **dependence)
