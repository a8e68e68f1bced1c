"""All rows of a large file, of which the pages show a sample: statistics, and a fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from pages.state.session import Slot
from pages.ui import elements
from pages.ui.elements import download, table
from pages.ui.text import message, short_label
from pages.work import server_files
from pages.work.server_files import FileStatisticsJob
from pages.work.tasks import Task
from smpcore.datasets import plain_number
from smpcore.evaluation import AllRowsFit, Scores, fit_all_rows
from smpcore.live import Context, solver_readouts
from smpcore.readouts import READOUTS, Shown

#: The visit's fit of all rows, and the share of the others that is left out.
FIT, _LEFT_OUT = Slot[Task]("fit of all rows"), 0.2


def show(job: FileStatisticsJob) -> None:
    """Statistics of all rows, or how far they are."""
    job.join()
    statistics = _result(job, "Counting over all rows", "Count over all rows")
    if statistics is None:
        return
    st.caption(
        f"Of all {statistics.n_rows:,} rows of the file; all else on these pages is "
        "computed from the sample."
    )
    table(statistics.columns, key="all_rows")
    if statistics.class_counts:
        rows = [
            {"class": label, "rows": n, "share %": 100 * n / statistics.n_rows}
            for label, n in statistics.class_counts.items()
        ]
        table(rows, key="all_rows_classes")


def show_fit(context: Context, path: Path) -> None:
    """A fit of the method on the screen to all rows, once it is asked for."""
    method, choice, task = context.method, context.choice, context.task
    st.subheader(f"{method.title} on all rows")
    if words := _obstacle(context):
        message(st.caption, words)
        return
    estimator = method.estimator(context.values, task)
    if not estimator.reads_blocks:
        able = [
            other.title
            for other in context.methods.values()
            if other.estimator(other.defaults(task), task).reads_blocks
        ]
        st.caption(
            f"With its settings on Explore, {method.title} learns from the sample "
            f"only. Rows of a file are read in blocks by {', '.join(able)}."
        )
        return
    key = context.dataset.digest, context.key
    job = server_files.fit_begun(key)
    if job is None or (job.was_left and job is not FIT.last()):
        st.caption(
            "With the settings on Explore; missing values are filled from the sample. "
            "A fifth of the rows outside it is left out, to see how good the model is."
        )
        fitting = partial(
            fit_all_rows, path, context.dataset, estimator, _LEFT_OUT, choice.seed
        )
        st.button(
            "Fit on all rows",
            key="fit_all_rows",
            on_click=partial(_begin, key, fitting),
        )
        return
    job.join()
    fitted = _result(job, "Fitting all rows", "Fit on all rows")
    if fitted is not None:
        _show_fitted(fitted)


def _obstacle(context: Context) -> str:
    """Why no method learns from all rows here; empty if some do."""
    if column := context.dataset.weight:
        return (
            "All rows of a file are learned from without weights: give "
            f"{short_label(column)} the role ignore for that."
        )
    if context.choice.two_classes or context.choice.follow_up:
        return "Only a target of the file itself can be learned from all rows."
    return ""


def _begin(key: Hashable, fitting: Callable[..., Any]) -> None:
    """Fit all rows, and leave what the visit began before."""
    job, before = server_files.begin_fit(key, fitting), FIT.last()
    if before is not None and before is not job:
        before.leave()
    FIT.put(key, job)
    if job.was_left:
        job.start()


def _result(job: Task, words: str, begin: str) -> Any:
    """What work gave; None while it goes on, and once stopped, with a button again."""
    if not job.was_left and elements.is_waiting(job, 0.0, words):
        return None
    if job.was_left or (result := job.result()) is None:
        st.caption("Stopped.")
        st.button(begin, on_click=job.start, key=f"{begin} again")
        return None
    return result


def _show_fitted(fitted: AllRowsFit) -> None:
    model = fitted.estimator.model_
    is_share = isinstance(fitted.scores, Scores)
    label = READOUTS["accuracy" if is_share else "mae"].label
    unit = "%" if is_share else "target"
    shown = Shown(label, fitted.scores.estimate, unit=unit)
    left, middle, right = st.columns(3)
    left.metric(f"{label} on rows left out", shown.text)
    middle.metric(READOUTS["n_prototypes"].label, model.n_prototypes)
    right.metric("Features used", int(model.support.sum()))
    objective = plain_number(fitted.estimator.objective_, 5)
    gap, solver = solver_readouts(fitted)
    bound, name = gap["detail"], READOUTS["objective"].label
    st.caption(
        f"Learned from {fitted.n_train:,} rows, measured on {fitted.scores.rows:,} "
        f"left out (95 % interval {shown.interval}, {shown.estimate.method}). "
        f"{name} {objective}: "
        f"{solver['detail']}, {solver['value']}. {bound[0].upper()}{bound[1:]}. "
        "Whoever chooses settings by this measure needs other rows to take it again."
    )
    download("Download this model", model.to_json, "model.json", key="all_rows_model")
