"""Experiments of the papers: conclusions, numbers, and runs on the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session, widget_state
from pages.ui.elements import (
    expander,
    problems_shown,
    progress_bar,
    table,
    table_popover,
)
from pages.ui.text import escape_markdown, message
from pages.work import server_files, study_pool
from pages.work.slots import poll_interval
from pages.work.store import Store
from pages.work.tasks import Task
from smpcore import METHODS, figures
from smpcore.datasets import plural
from smpcore.live import BUNDLED
from smpcore.papers import (
    EXPERIMENTS,
    SHIPPED,
    VERDICTS,
    Comparison,
    Experiment,
    Place,
    beside_methods,
    compared,
    conclusions_table,
    differences,
    first_line,
    hardly_fails,
    missing_data,
    path_of,
    read_measured,
    run_experiment,
    table_of,
)

_runs = Store()
#: What is made from experiments' files, with the state of the files.
_tables = Store()


def place() -> Place:
    """Where the server has data files; nothing is downloaded for a visitor."""
    folder = os.environ.get("SPE_DATA", "")
    return Place(data=Path(folder) if folder else None)


class ExperimentRun(Task):
    """Measure the trials of an experiment that are missing."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        where = place()
        missing = missing_data(experiment, where)
        here = next(one for key, one in experiment.data.items() if key not in missing)
        # Of a public data set: a cluster may do the trials.
        super().__init__(self._measure, study=here.load(where.data))

    def _measure(self, stop: np.ndarray, progress: np.ndarray) -> None:
        n_trials, where = len(self._experiment.trials()), place()
        n_done = len(read_measured(self._experiment, where.out))
        with study_pool.executor_for(self._study) as executor:
            for _ in run_experiment(self._experiment, where, executor, stop):
                n_done += 1
                progress[0] = n_done / n_trials


def start(experiment: Experiment) -> None:
    """Run an experiment, or join its run; say why that is not possible."""
    with problems_shown():
        _runs.get_or_make(experiment.name, lambda: ExperimentRun(experiment)).start()


def table_of_experiment(experiment: Experiment) -> pd.DataFrame:
    """The numbers of an experiment: read anew where its files have changed."""
    make = partial(table_of, experiment, place())
    return _cached((experiment.name, experiment.repetitions), [experiment], make)


def from_tables(
    function: Callable[..., Any], experiments: Sequence[Experiment], *more: Hashable
) -> Any:
    """``function(experiments, table, *more)``: anew where a file has changed."""
    names = (one.name for one in experiments)
    key = function.__name__, *names, *more
    return _cached(
        key, experiments, lambda: function(experiments, table_of_experiment, *more)
    )


def _cached(
    key: Hashable, experiments: Sequence[Experiment], make: Callable[[], Any]
) -> Any:
    where = place()
    state = [
        (f.stat().st_mtime_ns, f.stat().st_size) if f.is_file() else 0
        for experiment in experiments
        for one in (experiment, *experiment.others)
        for f in (path_of(one.name, folder) for folder in (SHIPPED, where.out))
    ]
    state += [tuple(missing_data(one, where)) for one in experiments]
    before, made = _tables.get(key) or (None, None)
    if before != state:
        made = make()
        _tables.put(key, (state, made))
    return made


def _ranks(experiment: Experiment, numbers: pd.DataFrame) -> None:
    """Critical difference, accuracy against size, and what follows from them."""
    with problems_shown():
        comparison = compared(experiment, numbers)
        _critical_difference(experiment, comparison, "papers_ranks")
        if experiment.sizes:
            _against_size(experiment, comparison)
        table_popover(comparison.means.reset_index(), key="papers_ranks")
        if experiment.rivals:
            _rivals(experiment, numbers)


def _critical_difference(
    experiment: Experiment, comparison: Comparison, key: str
) -> None:
    """What follows from mean ranks, and their picture."""
    message(st.markdown, comparison.conclusion)
    ranks = comparison.ranks
    names = list(ranks.mean.index)
    st.plotly_chart(
        figures.critical_difference(
            names, list(ranks.mean), ranks.groups, ranks.critical
        ),
        key=key,
        alt=f"Mean ranks by {experiment.ranked}: {', '.join(names)}",
    )


def _rivals(experiment: Experiment, numbers: pd.DataFrame) -> None:
    """Where a readable model of another package is the better choice."""
    make = partial(beside_methods, experiment, place())
    beside = _cached(("rivals", experiment.name), [experiment], make)
    st.markdown("**Readable models of other packages beside the five methods**")
    for sentence in beside.sentences:
        message(st.markdown, sentence)
    comparison = compared(experiment, numbers, rivals=True)
    _critical_difference(experiment, comparison, "papers_rivals")
    means = comparison.means.reset_index()
    table_popover(means, beside.rows, key="papers_rivals")


def _against_size(experiment: Experiment, comparison: Comparison) -> None:
    """Mean scores against a size that can be chosen."""
    score, sizes, means = experiment.ranked, experiment.sizes, comparison.means
    size = widget_state.choose_one(st, "Size", sizes, "papers_size", buttons=True)
    st.plotly_chart(
        figures.accuracy_size(means, score, size, comparison.ours),
        key="papers_sizes",
        alt=f"Mean {score} against {size} of {len(means)} models; the table has both",
    )


def _numbers(experiment: Experiment, numbers: pd.DataFrame) -> None:
    """Chart and table of one measure, and a model of it to open."""
    measures = [*numbers["measure"].unique()]
    if not measures:
        st.info("Nothing is reported in numbers, and nothing is measured yet.")
        return
    if experiment.ranked:
        _ranks(experiment, numbers)
    for decided in from_tables(differences, [experiment])[1]:
        message(st.caption, decided)
    measure = measures[0]
    if len(measures) > 1:
        measure = widget_state.choose_one(st, "Measure", measures, "papers_measure")
    rows = numbers[numbers["measure"] == measure]
    if rows[["reported", "measured"]].notna().any(axis=None):
        models = [*rows["model"].unique()]
        # More colours than these cannot be told apart.
        drawn = st.multiselect(
            "Models in the chart",
            models,
            **widget_state.for_multiselect(
                f"papers_models_{experiment.name}", models, models[:4]
            ),
        )
        axis = experiment.axis if rows["at"].notna().any() else ""
        st.plotly_chart(
            figures.reported_measured(rows[rows["model"].isin(drawn)], measure, axis),
            key="papers_chart",
            alt=f"{measure}, reported (open) and measured (filled); the table has both",
        )
    empty = [name for name in rows if rows[name].isna().all()]
    table(rows.drop(columns=["measure", *empty]))
    _open(experiment)


def _open(experiment: Experiment) -> None:
    """Open a measured model on Explore: its data, method and settings."""
    models = {
        f"{data}, {model}, repetition {repetition + 1}": (data, *shown)
        for one in read_measured(experiment, SHIPPED, place().out).values()
        for data, model, repetition in [one.trial]
        for shown in [(one.outcome.method, one.outcome.values)]
        if shown[0] in METHODS and _data_key(experiment, data)
    }
    # Otherwise the paper's method on the experiment's data, at its settings.
    models = models or {
        f"{key}, settings of the experiment": (key, experiment.paper, experiment.values)
        for key in experiment.data
        if experiment.paper in METHODS and _data_key(experiment, key)
    }
    if not models:
        return
    left, button = st.columns([5, 2], vertical_alignment="bottom")
    name = left.selectbox("Measured model", models, key="papers_model")
    if button.button(
        "Open this model",
        key="papers_use",
        on_click=_use,
        args=(experiment, *models[name]),
        help="Explore fits these settings to its own division of the data.",
    ):
        st.switch_page("pages/explore.py")


def _use(
    experiment: Experiment, data: str, method: str, values: Mapping[str, Any]
) -> None:
    choice = replace(
        session.get().choice,
        data=_data_key(experiment, data),
        method=method,
        values=dict(values),
        data_values={},
        forbidden=(),
        two_classes=experiment.data[data].two_classes,
        follow_up=None,
        outcome="",  # as the paper: a method's own class has the prototypes
    )
    session.choose_data(choice)


def _data_key(experiment: Experiment, data: str) -> str:
    """The data as Explore names them; empty if it does not have them."""
    source = experiment.data[data]
    if source.bundled in BUNDLED:
        return source.bundled
    file = f"{server_files.PREFIX}{source.file}"
    return file if source.file and file in server_files.files() else ""


#: A running experiment is looked at this often.
POLL_SECONDS = 1.0


def show(experiment: Experiment) -> None:
    """The command, a button that runs it here, and the numbers as they come in."""
    st.code(experiment.command, language="bash")
    polling = poll_interval(POLL_SECONDS) if _is_running(experiment) else None

    def refreshed() -> None:
        _progress(experiment)
        _numbers(experiment, table_of_experiment(experiment))
        # The button that begins a run runs this alone.
        if (polling is not None) != _is_running(experiment):
            st.rerun()

    st.fragment(refreshed, run_every=polling)()


def _is_running(experiment: Experiment) -> bool:
    task = _runs.get(experiment.name)
    return task is not None and task.running


def _progress(experiment: Experiment) -> None:
    """How far the run is, or the button that starts it."""
    task = _runs.get(experiment.name)
    if task is not None and task.running:
        share = float(task.progress[0])
        text = f"{100 * share:.0f} % of {plural(len(experiment.trials()), 'trial')}"
        stop = {"key": "papers_stop", "on_click": task.leave}
        progress_bar(min(0.99, share), text, "Stop", **stop)
        return
    if task is not None and task.problem:
        message(st.info, task.problem)
    missing = missing_data(experiment, place())
    n_here = len(experiment.data) - len(missing)
    st.button(
        "Measure what is missing",
        key="papers_run",
        on_click=start,
        args=(experiment,),
        disabled=not n_here,
        help="On this server; what is measured stays there, and a run that is stopped "
        "goes on where it was.",
    )
    if missing:
        message(
            st.caption,
            f"{n_here} of {plural(len(experiment.data), 'data set')} are here; the "
            "table says what the others need. Files are looked for in the operator's "
            "folder SPE_DATA; only the command downloads.",
        )


#: Names of the columns that are shown.
_COLUMNS = {
    "paper": "Paper",
    "verdict": "Verdict",
    "readings": "Readings",
    "here": "Here",
    "printed": "In its numbers",
    "best": "Most favourable reading",
    "chance": "Shuffled",
    "claim": "The paper says",
    "where": "Where",
    "reading": "Our own reading",
    "open": "Open, not measured",
    "experiment": "Experiment",
}


def _shown(lines: pd.DataFrame, *without: str) -> None:
    lines = lines.drop(columns=["kind", *without]).rename(columns=_COLUMNS)
    table(lines.loc[:, (lines != "").any()])


def of_all_papers() -> None:
    """The main conclusions of all papers, with what became of them."""
    lines = from_tables(conclusions_table, EXPERIMENTS)
    if lines.empty:
        return
    holds, depends, in_part, fails = ((lines["kind"] == one).sum() for one in VERDICTS)
    st.markdown(
        f"**Of {len(lines)} conclusions of five papers {holds} hold, {depends} depend "
        f"on what the paper leaves open, {in_part} hold in part and {fails} do not "
        "hold here**"
    )
    st.plotly_chart(
        figures.verdict_strip(lines, VERDICTS),
        key="papers_verdicts",
        alt="Conclusions of each paper by verdict; the table has them in words",
    )
    st.caption(
        "Holds: in every comparison, or as often as in the paper's own numbers; in "
        "part: in half of them or more. The Guide has the same to quote."
    )
    with expander("Conclusions as a table", "papers_conclusions", "table"):
        _shown(lines, "reading", "open")
        st.caption(
            "Readings: in how many of those measured it holds. Here: in how many "
            "comparisons in our own reading. Shuffled: with numbers shuffled between "
            "models."
        )
        _hardly_fail(lines)


def quotations(experiments: Sequence[Experiment]) -> None:
    """A paper's main conclusions in its own words, with what became of them."""
    lines = from_tables(conclusions_table, experiments)
    words = [
        f"- **{escape_markdown(row['verdict'])}**: {escape_markdown(row['claim'])} "
        f"({escape_markdown(row['where'])})"
        for row in lines.to_dict("records")
    ]
    st.markdown("\n".join(words))


def _hardly_fail(lines: pd.DataFrame) -> None:
    """Say which conclusions pass whatever the models are."""
    for row in lines.to_dict("records"):
        if text := hardly_fails(row):
            message(st.caption, f"{row['claim']}: {row['verdict']}. {text}")


def of_one(experiment: Experiment) -> None:
    """What the paper concludes from a table or figure, and whether that holds."""
    first = from_tables(first_line, EXPERIMENTS, experiment.name)
    message(st.markdown, first)
    lines = from_tables(conclusions_table, [experiment], False)
    if not lines.empty:
        _shown(lines, "paper", "experiment")
        _hardly_fail(lines)


def forest(experiments: Sequence[Experiment]) -> None:
    """Measured minus printed means of a paper's tables, and how they are decided."""
    tables = [one for one in experiments if one.ranked or one.beside]
    rows, decided = from_tables(differences, tables)
    if rows.empty:
        if any(one.paper != "all" for one in experiments):
            st.caption(
                "No number of this paper can be set beside ours: its tables are lost "
                "in the text at hand. Its conclusions are tested on other data."
            )
        return
    st.plotly_chart(
        figures.mean_differences(rows),
        key="papers_forest",
        alt="Measured minus printed means with 90 % intervals; the table has them",
    )
    message(st.caption, " ".join(decided))
    table_popover(rows, key="papers_rows")
