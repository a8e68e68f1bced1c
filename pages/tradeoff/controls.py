"""Controls of Trade-off: what is swept, by which score, against which size."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.state import widget_state
from pages.state.context import Context
from pages.tradeoff import batch
from pages.tradeoff.sweeps import SweepRequest
from pages.ui.glossary import MEANINGS, define
from pages.work.sweep_jobs import SWEPT_GROUPS
from smpcore import METHODS
from smpcore.datasets import text_features
from smpcore.evaluation import SCORES, SIZES, baseline_paths, title_of
from smpcore.readouts import READOUTS


def choose(context: Context, below: Any) -> SweepRequest:
    """Have the visitor choose what to sweep, or open a file below the results."""
    data, task, able = context.data, context.task, list(context.methods)
    first = [context.method.key] if context.method.key in able else able[:1]
    columns = st.columns([4, 2, 2, 1])
    chosen = columns[0].multiselect(
        "Methods",
        able,
        format_func=lambda key: METHODS[key].title,
        **widget_state.for_multiselect(f"sweep_methods_{task}", able, first),
    )
    score = widget_state.choose_one(
        *(columns[1], "Score", SCORES[task], f"sweep_score_{task}"),
        format_func=_label,
        help=MEANINGS["balanced_accuracy" if task == "classification" else "r2"],
    )
    size = widget_state.choose_one(
        *(columns[2], "Against", SIZES, "sweep_size"),
        format_func=_label,
        help="Flash and cycles of integer formats exclude the conversion of float "
        "inputs, which Export includes.",
    )
    groups = () if text_features(data.dataset) else _baselines(task)
    values = {key: _values(context, key) for key in chosen}
    with below:
        opened = batch.section(data)
    n_folds = _folds(columns[3], opened)
    return SweepRequest(data, values, score, size, n_folds, groups, opened)


def _label(key: str) -> str:
    return READOUTS[key].label


def _baselines(task: str) -> tuple[str, ...]:
    """The control of what is swept beside the methods."""
    groups = st.pills(
        "Baselines",
        SWEPT_GROUPS,
        selection_mode="multi",
        format_func=lambda group: ", ".join(
            title_of(path.key) for path in baseline_paths(task, (group,))
        ),
        **widget_state.for_multiselect("sweep_groups", SWEPT_GROUPS, ["usual"]),
        help=define("Selected prototypes"),
    )
    return tuple(groups)


def _folds(place: Any, opened: batch.Opened | None) -> int:
    """The control of folds; scores of an opened file are beside those of its folds."""
    if opened:
        n_folds = opened.subject.n_folds
        help_ = "As in the file that is open: only scores of the same folds compare."
        place.number_input("Folds", value=n_folds, disabled=True, help=help_)
        return n_folds
    state = widget_state.for_value("sweep_folds", range(2, 11), 5)
    return int(place.number_input("Folds", 2, 10, **state))


def _values(context: Context, key: str) -> dict[str, Any]:
    """A method's values, the swept one at its default: it is the same sweep."""
    start = METHODS[key].defaults(context.task)
    if key != context.method.key:
        return start
    chosen = {name: context.values.get(name, start[name]) for name in start}
    swept = METHODS[key].sparsity
    return chosen | {swept: start[swept]}
