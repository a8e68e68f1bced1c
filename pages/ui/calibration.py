"""The calibration of the model on the screen: offered, under way, and in words."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.state import session
from pages.state.context import Context
from pages.ui.elements import is_waiting, problems_shown, visit_task
from pages.ui.text import define, message
from pages.work.cache import Parts, pairs
from pages.work.tasks import Task
from smpcore import PrototypeModel
from smpcore.datasets import plain_number, plural
from smpcore.evaluation import brier_score, class_numbers
from smpcore.readouts import COVERAGE

#: A page waits so long for the fits on folds, then shows how far they are.
WAIT_SECONDS = 2.0
#: Name of the task among the visit's.
_TASK = "out_of_fold"
#: What is calibrated, and its term in the glossary.
_WORDS = {
    "classification": ("probabilities", "Calibration"),
    "regression": ("intervals", "Prediction interval"),
}


def _key(context: Context) -> tuple:
    dataset, division = context.data.dataset, context.data.split
    return dataset.digest, division.key, context.method.key, pairs(context.values)


def _begin(context: Context) -> Task:
    """The visit's task of the fits on folds."""
    compute, study = context.training_scores.compute, context.data.dataset
    return visit_task(_TASK, _key(context), compute, study=study)


def training_scores(context: Context) -> np.ndarray | None:
    """Out-of-fold scores of the training rows; None while they are on their way."""
    training = context.training_scores
    if training.scores is not None:
        return training.scores
    task = _begin(context)
    if is_waiting(task, WAIT_SECONDS, "Cross-validation fits"):
        return None
    with problems_shown():
        return task.result()
    st.button("Retry", key="refit_folds", on_click=task.start)
    return None


def offer(context: Context) -> None:
    """Offer to calibrate the model; where it cannot be, say why."""
    training = context.training_scores
    if training.scores is not None:
        if training.problem:
            message(st.info, training.problem)
        return
    if session.get().results.get(_TASK, (None,))[0] == _key(context):
        if training_scores(context) is not None:
            st.rerun()
        return
    what, term = _WORDS[context.data.dataset.task]
    st.button(
        f"Calibrate {what}",
        key="calibrate",
        icon=":material/percent:",
        help=define(term),
        on_click=_begin,
        args=(context,),
    )


def basis(model: PrototypeModel) -> str:
    """What a calibration was learned on, and for which rows it holds."""
    rows = f"{model.calibration.rows:,} training rows"
    if model.classes is None:
        return f"From out-of-fold residuals of {rows}."
    return (
        f"Calibrated on out-of-fold scores of {rows}, for rows with the same shares of "
        "the classes."
    )


def help_text(model: PrototypeModel) -> str:
    """What the numbers of a calibration mean."""
    _, term = _WORDS["regression" if model.classes is None else "classification"]
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
        return "interval", f"± {plain_number((high - low)[0] / 2, 3)}", detail
    known = class_numbers(y, model.classes)
    score, low, high = brier_score(model.probabilities(X), known, *of_rows)
    detail = f"Brier score of {plural(len(y), f'{part} row')}, 95 % interval "
    detail += f"{low:.3f}–{high:.3f}"
    detail += data.weight_note
    return "probabilities", f"{score:.3f}", detail
