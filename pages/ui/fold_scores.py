"""Fits on folds of the training rows: what calibrations and thresholds begin with."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.state.session import Slot
from pages.ui.elements import is_waiting, problems_shown, visit_task
from pages.ui.text import message
from pages.work.tasks import Task
from smpcore.live import CALIBRATED, Context, define

#: A page waits so long for the fits on folds, then shows how far they are.
WAIT_SECONDS = 2.0
#: The fits on folds.
_FOLDS = Slot[Task]("out_of_fold")
#: By model, outcome and column: the fits without each of its sites.
SITES = Slot[Task]("sites")
#: By model, outcome and seed: the refits on drawn rows.
OPTIMISM = Slot[Task]("optimism")


def _begin(context: Context) -> Task:
    """The visit's task of the fits on folds."""
    training, study = context.training_scores, context.data.dataset
    return visit_task(_FOLDS, training, training.compute, study=study)


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


def offer_calibration(context: Context) -> None:
    """Offer to calibrate the model; where it cannot be, say why."""
    training = context.training_scores
    if training.scores is not None:
        if training.problem:
            message(st.info, training.problem)
        return
    if _FOLDS.get(training):
        if training_scores(context) is not None:
            st.rerun()
        return
    what, term = CALIBRATED[context.data.dataset.task]
    st.button(
        f"Calibrate {what}",
        key="calibrate",
        icon=":material/percent:",
        help=define(term),
        on_click=_begin,
        args=(context,),
    )
