"""Choose for me: settings are chosen on folds of the training rows, and shown why."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.state import session
from pages.state.context import Context
from pages.state.session import Slot
from pages.ui.elements import (
    close_dialog,
    is_dialog_wanted,
    is_waiting,
    problems_shown,
    table,
    want_dialog,
)
from pages.ui.text import message
from pages.work import study_pool
from pages.work.cache import pairs
from pages.work.tasks import Task
from pages.work.warmup import make_ready
from smpcore.datasets import plain_number, plural
from smpcore.evaluation import Tuned, folds, tune, tuning_paths
from smpcore.readouts import READOUTS, number_text

_TUNED = Slot[Task]("tuned")
_MOST_LINES = 200
_NAME = "tuner"


def button(place: Any) -> None:
    """A button that opens the search for settings."""
    place.button(
        "Choose for me",
        key="choose_for_me",
        icon=":material/tune:",
        on_click=want_dialog,
        args=(_NAME,),
        help="The settings of this method by cross-validation on the training rows: "
        "the smallest model that is nearly as good as the best.",
    )
    if is_dialog_wanted(_NAME):
        _dialog()


@st.dialog("Choose for me", width="large", on_dismiss=close_dialog)
def _dialog() -> None:
    context = session.resolved()
    method, data = context.method, context.data
    varied = {*method.tuned, method.sparsity}
    fixed = {n: value for n, value in context.values.items() if n not in varied}
    key = data.dataset.digest, data.split.key, method.key, pairs(fixed)
    task = _TUNED.get_or_make(key, partial(_job, context, fixed))
    if is_waiting(task, 0.0, "Settings tried on folds"):
        return
    if task.problem or task.was_left:
        stopped = "Stopped before all settings were tried."
        message(st.info, stopped if task.was_left else task.problem)
        st.button("Start again", key="tune_again", on_click=task.start)
        return
    with problems_shown(st.error):
        _show(context, fixed, task.result())


def _job(context: Context, fixed: dict[str, Any]) -> Task:
    """Fit in a thread: all it needs is looked up now."""
    key, data = context.method.key, context.data
    dataset, rows = data.dataset, data.split.with_censored

    def work(stop: np.ndarray, progress: np.ndarray) -> Tuned:
        make_ready(key)
        paths, drawn = tuning_paths(key, dataset, rows, fixed), folds(dataset, rows)
        with study_pool.executor_for(dataset) as executor:
            where = {"executor": executor, "stop": stop, "progress": progress}
            return tune(dataset, drawn, paths, **where)

    return Task(work, study=dataset)


def _show(context: Context, fixed: dict[str, Any], tuned: Tuned) -> None:
    """What was tried, which setting is taken and why."""
    lines, unit = tuned.table, READOUTS[tuned.score].unit
    chosen, best = lines[lines["chosen"]].iloc[0], lines.iloc[0]
    tried = lines[list(tuned.values)].to_dict("records")
    settings = [f"{context.method.key} {setting}" for setting in tried]
    session.note_compared(context.table.name, "swept", settings)
    score = partial(number_text, unit="%" if unit == "%" else "target")
    label = READOUTS[tuned.score].label
    words = f"{label} {score(chosen['mean'])} with {_numbers(chosen)}."
    message(st.markdown, f"{_in_words(context, tuned.values)}: {words}")
    about = f"It is the best of {plural(len(lines), 'setting')}."
    if tuned.values != tuned.best:
        about = (
            f"Of {plural(len(lines), 'setting')}, the best has {score(best['mean'])} "
            f"with {_numbers(best)}. {int(lines['within'].sum())} are within one "
            "standard error of it; of these, this one stores the fewest numbers."
        )
    message(st.markdown, about)
    use = {"on_click": _use, "args": (context, fixed, tuned.values)}
    if st.button("Use these settings", key="use_tuned", type="primary", **use):
        st.rerun()  # a click in a dialog runs the dialog only
    names = {name: context.method.param(name).label for name in tuned.values}
    sign = " %" if unit == "%" else ""
    shown = lines.sort_values("chosen", ascending=False, kind="stable")
    shown = shown.iloc[:_MOST_LINES].rename(columns=names)
    for name, title in {"mean": label, "error": "standard error"}.items():
        shown[name] = shown[name] * (100 if sign else 1)
        shown = shown.rename(columns={name: title + sign})
    table(shown.rename(columns={"within": "within one error"}), height=300)
    failed = f" {plural(tuned.failed, 'setting')} could not be fitted on every fold."
    message(
        st.caption,
        "Means over folds of the training rows, each with its standard error; models "
        "are fitted without the fold, preparation included. Validation and test rows "
        "take no part. As the best of many, a mean here is too good: the score on "
        f"the validation rows is not.{failed if tuned.failed else ''}",
    )


def _in_words(context: Context, values: dict[str, Any]) -> str:
    """Each parameter by its label, with its value."""
    param = context.method.param
    return ", ".join(f"{param(n).label} {plain_number(v)}" for n, v in values.items())


def _numbers(line: Any) -> str:
    return f"{plain_number(line['numbers'], 3)} numbers stored"


def _use(context: Context, fixed: dict[str, Any], tuned: dict[str, Any]) -> None:
    """Make them the settings of every page."""
    close_dialog()
    method, usual = context.method, context.method.defaults(context.task)
    cleaned = {name: method.param(name).clean(value) for name, value in tuned.items()}
    values = {n: v for n, v in (fixed | cleaned).items() if v != usual[n]}
    session.choose(replace(session.get().choice, method=method.key, values=values))
