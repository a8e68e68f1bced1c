"""How much too good is it on training rows, and how far do its predictions depend."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.performance.operating_point import EvaluatedRows
from pages.state import widget_state
from pages.ui.elements import show_section, study
from pages.ui.fold_scores import OPTIMISM
from pages.work import study_pool
from pages.work.tasks import Task
from smpcore import SmpcoreError, figures
from smpcore.evaluation import (
    Optimism,
    Recipe,
    bootstrap_optimism,
    tuning_paths,
)
from smpcore.readouts import READOUTS, Section
from smpcore.report import (
    instability_section,
    optimism_section,
    predicted_in_words,
    sample_size_section,
)

N_REFITS = 200
_MOST_SEEDS = 1000
#: Whether a refit chooses its sparsity parameter, and among how many values.
_FIXED, _ANEW, _N_POINTS = "as they are", "chosen anew in each refit", 5
#: Measures of the picture, of which 1 is the best value; and its marks.
_DRAWN = READOUTS["accuracy"].label, "AUC", READOUTS["r2"].label
_KINDS = "corrected for optimism", "apparent"


def section(rows: EvaluatedRows) -> None:
    """Refit on drawn rows; show how much better the model is on rows that it knows."""
    dataset = rows.data.dataset
    unfitted = rows.method.estimator_for(dataset, rows.values)
    try:
        recipe = Recipe(unfitted, dataset, rows.data.split)
    except SmpcoreError as problem:
        st.info(str(problem))
        return
    left, middle, right = st.columns([1, 2, 2], vertical_alignment="bottom")
    seeds = range(_MOST_SEEDS)
    seed = left.number_input(
        *("Seed of the refits", 0, _MOST_SEEDS - 1),
        **widget_state.for_value("optimism_seed", seeds, 0),
    )
    label = rows.method.param(rows.method.sparsity).label
    search = widget_state.choose_one(
        *(middle, "Parameters", (_FIXED, _ANEW), "optimism_parameters"),
        help=f"Anew: each refit chooses {label} among at most {_N_POINTS} values on "
        "folds of its rows, the other parameters as they are. That takes some 30 "
        "times as long.",
    )
    is_anew = search == _ANEW
    study(
        OPTIMISM,
        (rows.key, rows.outcome, seed, is_anew),
        partial(_job, rows, recipe, seed, is_anew),
        _show,
        words="Refits on drawn rows",
        intro=f"{N_REFITS} refits of the whole recipe, each on rows drawn from the "
        "training rows: how much too good scores on rows are that the model knows, how "
        "far the prediction of a row depends on them, and how many rows a study should "
        "have. Validation and test rows take no part.",
        place=right,
        label=f"Refit {N_REFITS} times",
        key="find_optimism",
        icon=":material/replay:",
    )


def _job(rows: EvaluatedRows, recipe: Recipe, seed: int, is_anew: bool) -> Task:
    """Refit in a thread."""
    if rows.is_binary:
        dataset = replace(recipe.dataset, outcome=rows.names[rows.outcome])
        recipe = replace(recipe, dataset=dataset)

    key, values = rows.method.key, rows.values

    def work(stop: np.ndarray, progress: np.ndarray) -> Optimism:
        whole = recipe
        if is_anew:
            about = recipe.dataset, recipe.split.with_censored, values, {}, _N_POINTS
            whole = replace(recipe, paths=tuple(tuning_paths(key, *about)))
        with study_pool.executor_for(recipe.dataset) as executor:
            where = {"executor": executor, "stop": stop, "progress": progress}
            return bootstrap_optimism(whole, n_refits=N_REFITS, seed=seed, **where)

    return Task(work, study=recipe.dataset)


def _show(result: Optimism) -> None:
    """Apparent and corrected scores, the refits' range for each row, and numbers."""
    figure = figures.forest(_points(result), "score", 1.0)
    figure.update_yaxes(title="measure (refits)")
    alt = "Scores on training rows, and corrected; the table has the same numbers"
    st.plotly_chart(figure, key="optimism_values", alt=alt)
    show_section(optimism_section(result))
    show_section(Section("", (instability_section(result),)))
    if result.rows["predicted"].notna().any():
        what = predicted_in_words(result)
        ranges = figures.predicted_ranges(result.rows, what)
        alt = f"Each training row's {what} against those of 95 % of the refits"
        st.plotly_chart(ranges, key="optimism_rows", alt=alt)
    if size := sample_size_section(result):
        show_section(Section("", (size,)))


def _points(result: Optimism) -> pd.DataFrame:
    """Two lines for each drawn measure: corrected with its interval, and apparent."""
    lines = result.lines[result.lines["measure"].isin(_DRAWN)]
    lines = lines[lines["corrected"].notna()]
    lines = lines.assign(group=lines["measure"], rows=lines["refits"])
    corrected = lines.assign(value=lines["corrected"], kind=_KINDS[0])
    apparent = lines["apparent"]
    limits = {"value": apparent, "low": apparent, "high": apparent}
    both = pd.concat([corrected, lines.assign(**limits, kind=_KINDS[1])])
    return both.sort_index(kind="stable").reset_index(drop=True)
