"""How good a model is on a file with the outcome: an external validation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import widget_state
from pages.state.session import Slot
from pages.ui import charts
from pages.ui.elements import expander, problems_shown, show_section, table
from pages.ui.files import OpenFile
from pages.ui.text import message, short_label
from smpcore import PrototypeModel, evaluation
from smpcore.datasets import plural
from smpcore.live import Parts, define, pairs
from smpcore.model import Calibration
from smpcore.readouts import Section, number_text
from smpcore.report import (
    ABOUT_CALIBRATION,
    calibration_lines,
    compared_probabilities,
    subgroups_section,
)

_DRIFT, _GROUPS = Slot[pd.DataFrame]("drift"), Slot[Section]("file_groups")
#: Columns of the table of differences.
MOST_COLUMNS = 10
_ABOUT_DRIFT = (
    "Numbers: mean and median; the difference of both means over their pooled standard "
    "deviation (SD). Categories: the most frequent level in training; the largest "
    "change of a level's share. Rows count by their weights, where they have some."
)
AS_FITTED = "as fitted"
_ABOUT_RECALIBRATION = (
    "Intercept and slope of a logistic regression on the log-odds, fitted to these "
    "rows. Log-loss and Brier score: on folds that it is fitted without; apparent: on "
    "the rows that it is fitted to."
)
_FEW = "A slope is fitted from 50 independent rows of the rarer class on."
_NOT_APART = "No log-loss: without one of the folds nothing could be fitted."
_TAKEN = (
    "Recalibrated on this file: the probabilities in the table and the downloads. "
    "Answers, scores and case sheets stay as fitted."
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


def section(rows: LabelledRows) -> Calibration | None:
    """Rates of two classes, and how good the probabilities are of rows with some.

    Returns the recalibration that the visitor takes; None: probabilities as fitted.
    """
    is_binary = len(rows.model.classes) == 2
    if is_binary:
        _rates(rows)
    if rows.model.calibration is None:
        return None
    known = np.isfinite(rows.of_classes("probability")).all(axis=1)
    if not known.any():
        return None
    with_some = rows.chosen(known)
    _probabilities(with_some, int((~known).sum()))
    return _recalibration(with_some) if is_binary else None


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


def _recalibration(rows: LabelledRows) -> Calibration | None:
    """Compare recalibrations on these rows; the one that the visitor takes."""
    model, known = rows.model, rows.y_encoded >= 0
    of_rows = model.calibration, rows.scores, rows.y_encoded
    st.markdown("**Recalibrate here**", help=define("Calibration"))
    lines = evaluation.recalibration_table(
        *of_rows, model.outcome, rows.clusters, rows.weights
    )
    table(lines)
    kinds, words = {}, []
    for kind in lines["recalibration"].iloc[1:]:
        with problems_shown(st.info):
            kinds[kind] = evaluation.recalibrate(*of_rows, kind, rows.weights)
            words.append(_change(rows.chosen(known), kind, kinds[kind]))
    if len(lines) == 2:
        words.append(_FEW)
    if lines["log-loss"].isna().any() and kinds:
        words.append(_NOT_APART)
    message(st.caption, " ".join([_ABOUT_RECALIBRATION, *words]))
    if not kinds:
        return None
    label = "Probabilities in the table and the downloads"
    options = [AS_FITTED, *kinds]
    chosen = widget_state.choose_one(st, label, options, "recalibration", buttons=True)
    if chosen != AS_FITTED:
        st.caption(_TAKEN)
    return kinds.get(chosen)


def _change(rows: LabelledRows, kind: str, changed: Calibration) -> str:
    """What a recalibration changes of the rows, as a sentence."""
    model, outcome = rows.model, rows.model.outcome
    limit = evaluation.threshold_probability(model)
    before, after = (
        one.probabilities(rows.scores)[:, outcome]
        for one in (model.calibration, changed)
    )
    means = (
        number_text(float(np.average(values, weights=rows.weights)))
        for values in (before, after, rows.y_encoded == outcome)
    )
    moved = int(((before > limit) != (after > limit)).sum())
    start, end, observed = means
    return (
        f"With the {kind}, the mean probability {rows.event} goes from {start} to "
        f"{end} (observed: {observed}), and {moved:,} of "
        f"{plural(len(before), 'row')} change side of the "
        f"threshold's probability, {number_text(limit)}."
    )


def subgroups(
    data: Parts,
    file: OpenFile,
    matched: evaluation.Matched,
    places: np.ndarray,
    measures: Sequence[evaluation.RowMeasure],
    dependence: tuple[np.ndarray | None, np.ndarray | None],
    about: tuple,
) -> None:
    """How good the answers are in the groups that a column of the file makes.

    They are compared once for a model, which `about` tells, a file and a column.
    """
    dataset, frames = data.dataset, (matched.frame, file.content)
    apart = dataset.target, dataset.weight, dataset.time
    names = [n for n in dataset.roles if n not in apart and any(n in f for f in frames)]
    if not names:
        return
    with expander("Groups of rows of this file", "file_groups", "groups"):
        name = widget_state.choose_one(
            *(st, "Column", names, "file_group_column"),
            default=min(names, key=lambda name: _n_values(data, name)),
            format_func=short_label,
            help="Any column of the file that the data have, too. Numbers are cut at "
            "their quartiles in the training rows.",
        )
        values = frames[name not in matched.frame][name].iloc[places]

        def compare() -> Section:
            grouping = evaluation.group_rows(dataset, name, data.split.train, values)
            rows = np.arange(len(places))
            return subgroups_section(grouping, rows, measures, *dependence)

        key = file.id, about, pairs(file.replaced), name
        with problems_shown(st.info):
            show_section(_GROUPS.get_or_make(key, compare))


def _n_values(data: Parts, name: str) -> float:
    """Of how many values a column is; one of one value, or of many, comes last."""
    count = data.dataset.frame[name].nunique()
    return count if 1 < count <= evaluation.MOST_SITES else np.inf


def with_probabilities(
    answers: pd.DataFrame, classes: np.ndarray, calibration: Calibration
) -> pd.DataFrame:
    """The answers with the probabilities of another calibration."""
    names = [f"probability of {name}" for name in classes]
    scores = answers[[f"score of {name}" for name in classes]].to_numpy()
    shares = calibration.probabilities(scores)
    shares[answers[names].isna().to_numpy()] = np.nan
    numbers = evaluation.class_numbers(answers["answer"].to_numpy(), classes)
    columns = dict(zip(names, shares.T, strict=True))
    columns["probability"] = shares[np.arange(len(shares)), numbers]
    return answers.assign(**columns)


def drift(
    data: Parts, file: OpenFile, matched: evaluation.Matched, used: Collection[str]
) -> None:
    """The columns that the model uses, in the training rows and in the file."""
    inputs = [column for column in data.preparation.inputs if column.name in used]
    training = data.dataset.frame.iloc[data.split.train]
    of_rows = training, matched.frame, inputs, _weights(data, file)
    compare = partial(evaluation.column_drift, *of_rows)
    parts = data.dataset.digest, data.split.key
    key = file.id, parts, pairs(file.replaced), tuple(sorted(used))
    lines = _DRIFT.get_or_make(key, compare)
    if lines.empty:
        return
    with expander("Columns in training and in this file", "drift", "compare_arrows"):
        shown = lines.iloc[:MOST_COLUMNS].drop(columns="size")
        for name in ("missing in training", "missing in file"):
            shown[name] = shown[name].map(number_text)
        table(shown)
        words = plural(len(lines), "column")
        if len(lines) > MOST_COLUMNS:
            words = f"The {MOST_COLUMNS} that differ most of {words}"
        message(st.caption, f"{words} that the model uses. {_ABOUT_DRIFT}")


def _weights(
    data: Parts, file: OpenFile
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What each training row weighs, and each row of the file."""
    weights = data.weights("train")
    return weights, evaluation.weights_like(data.dataset, file.content)
