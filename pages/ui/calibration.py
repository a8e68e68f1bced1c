"""The calibration of the model on the screen: offered, under way, and in words."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.state import session
from pages.state.context import Context
from pages.ui.elements import problems_shown
from pages.ui.glossary import define
from pages.ui.progress import is_waiting, visit_task
from pages.ui.text import message
from pages.work.memo import pairs
from pages.work.parts import Parts
from smpcore import PrototypeModel
from smpcore.datasets import plain_number, plural
from smpcore.evaluation import brier_score, class_numbers
from smpcore.readouts import COVERAGE

#: A page waits so long for the fits on folds, then shows how far they are.
WAIT_SECONDS = 2.0
#: Name of the task among the visit's.
_TASK = "out_of_fold"


def _key(context: Context) -> tuple:
    data = context.data
    method = context.method.key, pairs(context.values)
    return data.dataset.digest, data.split.key, *method


def training_scores(context: Context) -> np.ndarray | None:
    """Out-of-fold scores of the training rows; None while they are on their way."""
    found = context.training_scores
    if found.scores is not None:
        return found.scores
    task = visit_task(_TASK, _key(context), found.compute, study=context.data.dataset)
    if is_waiting(task, WAIT_SECONDS, "Cross-validation fits"):
        return None
    with problems_shown():
        return task.result()
    st.button("Retry", key="refit_folds", on_click=task.start)
    return None


def offer(context: Context) -> None:
    """Offer to calibrate the model; the page runs again when its calibration is there.

    Why there is none is said where it cannot be learned.
    """
    found = context.training_scores
    if found.scores is not None:
        if found.problem:
            message(st.info, found.problem)
        return
    is_classifier = context.data.dataset.classes is not None
    if session.get().results.get(_TASK, (None,))[0] == _key(context):
        if training_scores(context) is not None:
            st.rerun()
        return
    st.button(
        "Calibrate probabilities" if is_classifier else "Calibrate intervals",
        key="calibrate",
        icon=":material/percent:",
        help=define("Calibration" if is_classifier else "Prediction interval"),
        on_click=_start,
        args=(context,),
    )


def _start(context: Context) -> None:
    found = context.training_scores
    visit_task(_TASK, _key(context), found.compute, study=context.data.dataset)


def basis(model: PrototypeModel) -> str:
    """What a calibration was learned on, and for which rows it holds."""
    rows = f"{model.calibration.rows:,} training rows"
    if model.classes is None:
        return f"From out-of-fold residuals of {rows}; for rows like these."
    return (
        f"Calibrated on out-of-fold scores of {rows}, for rows with the same shares of "
        "the classes."
    )


def help_text(model: PrototypeModel) -> str:
    """What the numbers of a calibration mean."""
    term = "Calibration" if model.classes is not None else "Prediction interval"
    return (
        f"{define(term)} {basis(model)} Of a row that the model has learned from it is "
        "optimistic."
    )


def readout(model: PrototypeModel, data: Parts, part: str) -> tuple[str, str, str]:
    """Key, value and detail of a line about a calibration, on rows of a part."""
    X, y = data.of(part)
    of_rows = data.clusters(part), data.weights(part)
    if model.classes is None:
        low, high = model.intervals(X, COVERAGE).T
        covered = int(((low <= y) & (y <= high)).sum())
        detail = f"covers {covered} of {plural(len(y), f'{part} row')}"
        return (
            "interval",
            f"± {plain_number((high - low)[0] / 2, 3)}",
            detail,
        )
    known = class_numbers(y, model.classes)
    score, low, high = brier_score(model.probabilities(X), known, *of_rows)
    detail = f"Brier score of {plural(len(y), f'{part} row')}, 95 % interval "
    detail += f"{low:.3f}–{high:.3f}"
    detail += data.weight_note
    return "probabilities", f"{score:.3f}", detail
