"""Choose for me: settings chosen on folds, and why; and starts tried by their seeds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session
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
from pages.work.tasks import Task
from pages.work.warmup import make_ready
from smpcore import SmpcoreError
from smpcore.datasets import plain_number, plural
from smpcore.evaluation import Tuned, folds, tune, tuning_paths
from smpcore.live import Context, pairs
from smpcore.methods import START_SEED
from smpcore.readouts import READOUTS, number_text

_TUNED, _STARTS = Slot[Task]("tuned"), Slot[Task]("more_starts")
_MOST_LINES = 200
_NAME, _OF_STARTS = "tuner", "starts"
#: Seeds that are tried beside the one of the fit, of as many as its control has.
_MORE, _SEEDS = 20, int(START_SEED.high) + 1
#: An objective is lower by this share of it at least.
_LOWER = 1e-3


def button(place: Any) -> None:
    """A button that opens the search for settings."""
    place.button(
        "Choose for me",
        key="choose_for_me",
        icon=":material/tune:",
        on_click=_open,
        args=(_NAME, _TUNED),
        help="The settings of this method by cross-validation on the training rows: "
        "the smallest model that is nearly as good as the best.",
    )
    if is_dialog_wanted(_NAME):
        _dialog()


def _open(name: str, slot: Slot[Task]) -> None:
    """Show a dialog; what was ended with it is forgotten, and begins anew."""
    want_dialog(name)
    if (task := slot.last()) and task.was_left:
        slot.pop()


def _closed() -> None:
    """Nobody waits for what a dialog would have shown."""
    close_dialog()
    for slot in (_TUNED, _STARTS):
        if (task := slot.last()) and not task.done:
            task.leave()


@st.dialog("Choose for me", width="large", on_dismiss=_closed)
def _dialog() -> None:
    context = session.resolved()
    method, data = context.method, context.data
    varied = {*method.tuned, method.sparsity}
    fixed = {n: value for n, value in context.values.items() if n not in varied}
    key = data.dataset.digest, data.split.key, method.key, pairs(fixed)
    task = _TUNED.get_or_make(key, partial(_job, context, fixed))
    if _is_over(task, "Settings tried on folds"):
        with problems_shown(st.error):
            _show(context, task.result())


def _is_over(task: Task, words: str) -> bool:
    """Whether all was tried; else how far that is, or that it was stopped."""
    if is_waiting(task, 0.0, words):
        return False
    if task.problem or task.was_left:
        stopped = "Stopped before all were tried."
        message(st.info, stopped if task.was_left else task.problem)
        st.button("Start again", key="tune_again", on_click=task.start)
        return False
    return True


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


def _show(context: Context, tuned: Tuned) -> None:
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
    _offer(context, "Use these settings", tuned.values)
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


def _offer(context: Context, label: str, values: dict[str, Any]) -> None:
    """A button that makes them the settings of every page."""
    use = {"on_click": _use, "args": (context, values)}
    if st.button(label, key="use_tuned", type="primary", **use):
        st.rerun()  # a click in a dialog runs the dialog only


def _use(context: Context, values: dict[str, Any]) -> None:
    close_dialog()
    method, usual = context.method, context.method.defaults(context.task)
    cleaned = {name: method.param(name).clean(value) for name, value in values.items()}
    every = {**context.choice.values, **cleaned}
    changed = {name: v for name, v in every.items() if v != usual.get(name)}
    session.choose(replace(session.get().choice, method=method.key, values=changed))


def starts_button(place: Any) -> None:
    """A button that tries other starts, where a fit begins with a draw."""
    context = session.resolved()
    seed = next((p for p in context.params if p.name == START_SEED.name), None)
    if seed is None or not (seed.shown_if is None or seed.shown_if(context.values)):
        return
    place.button(
        f"Try {_MORE} more starts",
        key="more_starts",
        icon=":material/casino:",
        on_click=_open,
        args=(_OF_STARTS, _STARTS),
        help="Where a fit ends depends on its start: the objectives of other seeds.",
    )
    if is_dialog_wanted(_OF_STARTS):
        _starts_dialog()


@st.dialog("More starts", on_dismiss=_closed)
def _starts_dialog() -> None:
    context = session.resolved()
    task = _STARTS.get_or_make(context.key, partial(_starts_job, context))
    if not _is_over(task, "Starts tried"):
        return
    with problems_shown(st.error):
        (seed, first), *others = task.result()
        best, lowest = min(others, key=lambda one: one[1])
        lower = sum(objective < first * (1 - _LOWER) for _, objective in others)
        words = f"The fit of seed {seed} has the objective {plain_number(first, 5)}. "
        words += f"Of {len(others)} other seeds, {lower} are lower by "
        words += f"{100 * _LOWER:g} % or more."
        if lower:
            gain = plain_number(100 * (1 - lowest / first), 2)
            words += f" The lowest is that of seed {best}: {plain_number(lowest, 5)}, "
            words += f"{gain} % lower."
        message(st.markdown, words)
        if lower:
            _offer(context, f"Use seed {best}", {START_SEED.name: best})
        table(pd.DataFrame(task.result(), columns=["seed", "objective"]), height=250)
        st.caption(
            "On training rows. A lower objective is the better solution of the same "
            "problem; whether it predicts better, the validation rows tell."
        )


def _starts_job(context: Context) -> Task:
    """Fit from each seed in a thread, that of the screen first."""
    method, data, values = context.method, context.data, context.values
    (X, y), weights, more = (
        data.of("train"),
        data.weights("train"),
        data.metadata("train"),
    )
    seeds = [(values[START_SEED.name] + i) % _SEEDS for i in range(_MORE + 1)]

    def work(stop: np.ndarray, progress: np.ndarray) -> list[tuple[int, float]]:
        make_ready(method.key)
        tried: list[tuple[int, float]] = []
        for seed in seeds:
            here = {**values, START_SEED.name: seed}
            estimator = method.estimator_for(data.dataset, here)
            estimator.solve(estimator.problem(X, y, weights, **more), stop=stop)
            if stop[0]:
                raise SmpcoreError("Stopped before all were tried.")
            tried.append((seed, estimator.objective_))
            progress[0] = len(tried) / len(seeds)
        return tried

    return Task(work, study=data.dataset)
