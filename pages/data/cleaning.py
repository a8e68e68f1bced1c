"""The section Clean of the Data page: suggestions, steps, the controls of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.data import editor
from pages.state import session
from pages.state.session import Slot
from pages.ui.elements import noted, table
from pages.ui.text import escape_markdown, message, short_label
from pages.work import cache
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import (
    CleaningStep,
    Effect,
    Suggestion,
    apply_steps,
    as_text,
    describe_steps,
    effect_of,
    plain_number,
    step_of,
    with_step,
)

#: More suggestions, values to choose from and levels to rename are not shown; nor are
#: levels of a column with more different numbers than the last.
MOST_SUGGESTED, MOST_VALUES, MOST_LEVELS, MOST_CODED = 8, 200, 100, 10
#: Steps that can be taken back.
MOST_UNDONE = 50
#: What a missing value becomes, by the kind of its column.
_IMPUTED = {
    "number": {
        "": "median of the training rows",
        "most frequent": "most frequent value of the training rows",
    },
    "category": {
        "": "no level (of two levels the commoner)",
        "most frequent": "most frequent level of the training rows",
        "own level": "a level of its own, “missing”",
    },
    "text": {"": "an empty text"},
}


_PROBLEM = Slot[str]("cleaning_problem")
#: Each step in words; steps, kinds and roles before each change.
_STEPS = Slot[list[list[str]]]("cleaning_words")
_EFFECTS = Slot[list[Effect | None]]("cleaning_effects")
_UNDO = Slot[list[dict[str, Any]]]("cleaning_undo")
#: Part of a step -> key of its control, and what a change of it does.
Keyed = Callable[[str], dict[str, Any]]


def clean(dataset: Dataset) -> None:
    """Let the visitor clean the columns of an own table, step by step."""
    is_series = dataset.feature_steps or len(dataset.sample_shape) > 1
    if not dataset.private or dataset.origin is None or is_series:
        return
    suggestions = cache.suggested_codes(dataset)
    is_open = bool(suggestions or dataset.cleaning)
    with st.expander("Clean", is_open, icon=":material/cleaning_services:"):
        noted(st.error, _PROBLEM, dataset.digest)
        _suggested(dataset, suggestions)
        _done(dataset)
        _column(dataset)


def _suggested(dataset: Dataset, suggestions: list[Suggestion]) -> None:
    offers = suggestions[:MOST_SUGGESTED]
    key = dataset.digest, len(dataset.whole), *(one.step for one in offers)
    effects = _EFFECTS.get_or_make(key, lambda: _effects(dataset, offers))
    for place, (one, effect) in enumerate(zip(offers, effects, strict=True)):
        left, right = st.columns([4, 1], vertical_alignment="center")
        message(left.markdown, one.reason)
        if effect is None:
            continue
        message(left.caption, effect.words(len(dataset.whole)))
        right.button(
            one.action,
            key=f"suggested_{place}",
            on_click=_accept,
            args=(dataset, one),
            width="stretch",
        )
    if (rest := len(suggestions) - MOST_SUGGESTED) > 0:
        st.caption(f"{rest:,} more columns have values that look like codes.")


def _effects(dataset: Dataset, offers: list[Suggestion]) -> list[Effect | None]:
    """What each offer does; None: there is nothing to take."""
    no_change = (*dataset.cleaning, *(CleaningStep(one.step.column) for one in offers))
    return [
        None
        if one.step in no_change
        else effect_of(dataset.whole[one.step.column], one.step, one.as_number)
        for one in offers
    ]


def _accept(dataset: Dataset, one: Suggestion) -> None:
    name, is_date = one.step.column, bool(one.step.date_use)
    kinds = {name: "number"} if one.as_number else {name: "category"} if is_date else {}
    roles = {name: "feature"} if is_date or one.step.pair else {}
    _change(dataset, lambda: one.step, kinds, roles)


def _done(dataset: Dataset) -> None:
    """The steps so far in words, each with a button that takes it away."""
    words = _STEPS.get_or_make(
        (dataset.digest, len(dataset.whole)),  # rows without a target count here, too
        lambda: [describe_steps([step], dataset.whole) for step in dataset.cleaning],
    )
    for place, (step, lines) in enumerate(zip(dataset.cleaning, words, strict=True)):
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.markdown("\n".join(f"- {escape_markdown(line)}" for line in lines))
        right.button(
            "Remove",
            key=f"remove_step_{place}",
            on_click=_change,
            args=(dataset, partial(CleaningStep, step.column)),
            width="stretch",
        )
    if _undo_stack(dataset):
        st.button("Undo", key="undo_cleaning", icon=":material/undo:", on_click=_undo)


def _undo_stack(dataset: Dataset) -> list[dict[str, Any]]:
    """Steps, kinds and roles before each change of this table, the latest last."""
    about = id(dataset.origin)  # the same object whatever the roles and steps
    return _UNDO.get_or_make(about, list)


def _undo() -> None:
    dataset, _ = editor.shown()
    if stack := _undo_stack(dataset):
        editor.keep(dataset.with_roles(**stack.pop()))


def _change(
    dataset: Dataset,
    step: Callable[[], CleaningStep],
    kinds: Mapping[str, Any] | None = None,
    roles: Mapping[str, Any] | None = None,
) -> None:
    """Clean a column with this step, unless nothing could learn from the table then."""
    _PROBLEM.pop()
    session.get().editions["cleaning"] += 1
    try:
        steps = with_step(dataset.cleaning, step())
        cleaned = dataset.with_roles(roles, kinds=kinds, cleaning=steps)
        problem = editor.fit_problem(cleaned)
        if problem and not editor.fit_problem(dataset):
            raise SmpcoreError(problem)
        editor.keep(cleaned)
    except SmpcoreError as error:
        _PROBLEM.put(dataset.digest, f"{error} The step was not applied.")
        return
    before = {"cleaning": dataset.cleaning}
    for part in ("kinds", "roles"):
        values = getattr(dataset, part)
        before[part] = {name: values[name] for name in dataset.origin.frame}
    stack = _undo_stack(dataset)
    stack.append(before)
    del stack[:-MOST_UNDONE]


def _column(dataset: Dataset) -> None:
    """The controls of one column, and what its step changes."""
    names = [name for name in dataset.origin.frame if dataset.roles[name] != "ignore"]
    name = st.selectbox("Column", names, None, short_label, key="clean_column")
    if name is None:
        return
    step, keyed = step_of(dataset.cleaning, name), partial(_keyed, dataset, name)
    raw = dataset.whole[name]
    left, right = st.columns(2)
    left.multiselect(
        "Values that mean missing",
        _values(raw, step),
        [*step.codes],
        accept_new_options=True,
        format_func=short_label,
        **keyed("codes"),
    )
    if dataset.roles[name] != "target":
        options = _IMPUTED[dataset.kinds[name]]
        start = [*options].index(step.impute) if step.impute in options else 0
        label = "A missing value becomes"
        right.selectbox(label, options, start, options.get, **keyed("impute"))
    is_label = dataset.roles[name] == "target" and dataset.task == "classification"
    if dataset.kinds[name] == "number" and not is_label:
        _numbers(step, keyed)
    _levels(raw, dataset.kinds[name], step, keyed("levels"))
    if dataset.roles[name] != "target":
        _marks(step, keyed)
    if not step.is_empty:
        _effect(raw, step)


def _key(dataset: Dataset, name: str, part: str) -> str:
    """Key of the control of a part of a step: it begins anew with each change."""
    return f"{part}_{dataset.digest}_{name}_{session.get().editions['cleaning']}"


def _keyed(dataset: Dataset, name: str, part: str) -> dict[str, Any]:
    """Key of a control, and what a change of it does."""
    key = _key(dataset, name, part)
    return {"key": key, "on_change": _edited, "args": (dataset, name)}


def _values(raw: pd.Series, step: CleaningStep) -> list[str]:
    """Values to choose codes from: the rarest and outermost are not left out."""
    values = raw.dropna().drop_duplicates().sort_values()
    if len(values) > MOST_VALUES:
        half = MOST_VALUES // 2
        values = pd.concat([values.iloc[:half], values.iloc[-half:]])
    return [*dict.fromkeys([*step.codes, *as_text(values)])]


def _numbers(step: CleaningStep, keyed: Keyed) -> None:
    low, high, unit = st.columns(3)
    for place, label, value, part in (
        (low, "Lowest plausible", step.low, "low"),
        (high, "Highest plausible", step.high, "high"),
    ):
        place.number_input(label, value=value, format="%g", **keyed(part))
    unit.text_input("Unit", step.unit, 20, **keyed("unit"))


def _marks(step: CleaningStep, keyed: Keyed) -> None:
    words = "Add a column that says where it is missing"
    about = "Age or sex, say: counterfactuals keep the value."
    with st.container(horizontal=True):
        st.checkbox(words, step.indicator, **keyed("indicator"))
        st.checkbox("Cannot be changed", step.fixed, help=about, **keyed("fixed"))


def _level_table(raw: pd.Series, step: CleaningStep) -> pd.DataFrame:
    """Values that are no codes, how often they occur, and what they are called."""
    codes_only = CleaningStep(step.column, codes=step.codes)
    known = as_text(apply_steps(raw.to_frame(), [codes_only])[step.column])
    counts = known.value_counts().sort_index()
    names = dict(step.levels)
    called = [names.get(value, value) for value in counts.index]
    return pd.DataFrame(
        {"value": counts.index, "rows": counts.to_numpy(), "called": called}
    )


def _levels(
    raw: pd.Series, kind: str, step: CleaningStep, keyed: dict[str, Any]
) -> None:
    """Rename the levels of a category; two with one name are merged."""
    n_values = raw.nunique()
    if kind == "number" and not step.levels and n_values > MOST_CODED:
        return
    if n_values > MOST_LEVELS:
        st.caption(f"More than {MOST_LEVELS} levels cannot be renamed here.")
        return
    levels = _level_table(raw, step)
    st.caption("Rename a level, or give two of them one name to merge them.")
    st.data_editor(
        levels,
        hide_index=True,
        disabled=["value", "rows"],
        column_config={
            "called": st.column_config.TextColumn(required=True, max_chars=100)
        },
        **keyed,
    )


def _edited(dataset: Dataset, name: str) -> None:
    """Take the column's step from its controls."""
    step, state = step_of(dataset.cleaning, name), st.session_state
    parts = "codes", "impute", "low", "high", "unit", "indicator", "fixed", "levels"
    keys = {part: _key(dataset, name, part) for part in parts}
    values = {part: state[key] for part, key in keys.items() if key in state}
    if "unit" in values:
        values["unit"] = values["unit"].strip()
    if "levels" in values:
        values["levels"] = _renamed(dataset.whole[name], step, values["levels"])
    _change(dataset, lambda: replace(step, **values))


def _renamed(
    raw: pd.Series, step: CleaningStep, edits: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    levels = _level_table(raw, step)
    for place, cells in edits["edited_rows"].items():
        levels.loc[int(place), "called"] = (cells.get("called") or "").strip()
    pairs = levels[["value", "called"]].itertuples(index=False, name=None)
    return tuple((old, new) for old, new in pairs if new and new != old)


def _effect(raw: pd.Series, step: CleaningStep) -> None:
    """What the step changes: counts before and after."""
    cleaned = apply_steps(raw.to_frame(), [step])[step.column]
    lines = []
    for title, column in (("as read", raw), ("cleaned", cleaned)):
        known = column.dropna()
        line = {
            "table": title,
            "rows with a value": f"{len(known):,}",
            "missing": f"{len(column) - len(known):,}",
            "different values": f"{known.nunique():,}",
        }
        if column.dtype.kind in "if" and len(known):
            ends = (plain_number(one, 6) for one in (known.min(), known.max()))
            line["range"] = f"{' to '.join(ends)} {step.unit}"
        lines.append(line)
    table(lines)
