"""Why this answer: a row, picked or edited; its scores, parts and smallest flip."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes.detail import draw
from pages.prototypes.model_context import ModelContext
from pages.state import session, widget_state
from pages.state.session import Cell, Slot
from pages.ui import explanation_sheet, fold_scores
from pages.ui.elements import data_editor, expander, number_columns, signed_bars, table
from pages.ui.text import escape_markdown, message, short_label
from pages.work import studies
from smpcore import contributions, figures
from smpcore.datasets import Input, Preparation, apply_steps, list_names, only_compared
from smpcore.explain import CaseExplainer, Contributions
from smpcore.live import TITLES, calibration_help, define


def _offer_sheet(
    context: ModelContext,
    row: pd.DataFrame,
    place: int,
    frozen: list[int],
    changed: bool,
    amount: float | None,
) -> None:
    """Offer a page for the row on the page, or for each that the visitor chooses."""
    dataset, division = context.data.dataset, context.data.split
    trained = np.full(dataset.n_samples, -1)
    trained[division.train] = np.arange(len(division.train))
    parts = {part: getattr(division, part) for part in context.open_parts}

    def facts(place: int) -> dict[str, str]:
        part = next(part for part, rows in parts.items() if place in rows)
        return {"True value": str(dataset.y[place]), "Part": TITLES[part].lower()}

    places = np.sort(np.concatenate([*parts.values()]))
    closed = np.setdiff1d(division.test, places)
    rows = explanation_sheet.Rows(
        dataset.frame,
        places,
        dataset.row_numbers(places),
        dataset.name,
        facts,
        trained,
        closed=dataset.row_numbers(closed),
    )
    edited = {"Edited": "by hand; the true value is that before"} if changed else {}
    shown = explanation_sheet.Rows(
        row,
        np.zeros(1, np.int64),
        dataset.row_numbers([place]),
        dataset.name,
        lambda _: facts(place) | edited,
        trained[[place]],
        frozen,
        amount,
    )
    names = context.names
    explanation_sheet.offer(context, context.model, "why", rows, shown, names)


#: Tables with more columns are not edited by hand.
MOST_EDITED = 400

#: Column -> value, and whether it is fixed.
Typed = dict[str, tuple[Cell, bool]]
#: The table of numbers of a row, to be typed over.
_NUMBERS = Slot[pd.DataFrame]("typed")


def _edited(context: ModelContext, place: int) -> tuple[pd.DataFrame, list[int], bool]:
    """Let the visitor edit a row and fix columns."""
    row = context.data.dataset.frame.iloc[[place]].copy()
    preparation = context.data.preparation
    order = {name: i for i, name in enumerate(context.whole.frame)}
    inputs = [*preparation.inputs, *context.forbidden]
    # What says where a value is missing follows from that value.
    inputs = [one for one in inputs if one.name not in preparation.added_columns]
    held = {*preparation.fixed_columns}  # an age or a sex, too
    inputs = [replace(one, fixed=one.name in held) for one in inputs]
    inputs.sort(key=lambda column: order.get(column.name, len(order)))
    if len(inputs) > MOST_EDITED:
        st.caption(f"Rows with more than {MOST_EDITED} columns cannot be edited here.")
        return row, preparation.fixed_features, False
    key = f"{context.whole.digest}_{place}"
    typed = session.get().typed.setdefault(key, {})
    forbidden = {column.name for column in context.forbidden}
    values = {column.name: _value(row, column) for column in inputs}
    with expander("Edit the row, or fix columns", "answer_edit", "edit"):
        _widgets(inputs, values, typed, key, forbidden)
    changed = False
    for column in inputs:
        value, _ = typed.get(column.name, (values[column.name], column.fixed))
        changed |= not _same(value, values[column.name])
        dtype = "float64" if column.kind == "number" else "object"
        row[column.name] = pd.Series([value], row.index, dtype=dtype)
    row = apply_steps(row, preparation.cleaning)
    return row, _frozen(preparation, typed), changed


def _frozen(preparation: Preparation, typed: Typed) -> list[int]:
    """Features of the columns that a counterfactual must not change."""
    held = {name: (0, True) for name in preparation.fixed_columns} | typed
    fixed = [c for c in preparation.inputs if held.get(c.name, (0, False))[1]]
    return [feature for column in fixed for feature in column.positions]


def _value(row: pd.DataFrame, column: Input) -> Any:
    """The table's own value, as an editor shows it."""
    value = row[column.name].iloc[0]
    return _number(value) if column.kind == "number" else value


def _widgets(
    inputs: list[Input],
    values: dict[str, Any],
    typed: Typed,
    key: str,
    forbidden: set[str],
) -> None:
    """A select box for each category, an editor for the numbers."""
    # Editors of another name begin with the table's own values.
    key = f"{key}_{session.get().editions['rows']}"
    for column in inputs:
        if column.kind == "category":
            _category(column, values[column.name], typed, key)
        if column.kind == "text":
            _text(column, values[column.name], typed, key)
    numbers = [column for column in inputs if column.kind == "number"]
    if numbers:
        _numbers(numbers, values, typed, key, forbidden)
    message(
        st.caption,
        "An empty value is replaced as in the training rows: by default a number by "
        "their median; a category has none of its levels then, of two levels the "
        "commoner.",
    )
    if names := [column.name for column in inputs if column.fixed]:
        message(
            st.caption,
            f"Held, as set on Data or as an age or a sex: {list_names(names)}. They "
            "stay as they are unless you take the mark away.",
        )
    if forbidden:
        names = escape_markdown(
            list_names([c.name for c in inputs if c.name in forbidden])
        )
        st.caption(f"Forbidden features, which do not affect the prediction: {names}.")
    if typed:
        st.button("As in the table", key="take_back", on_click=_reset, args=(typed,))


def _reset(typed: Typed) -> None:
    """Forget what was typed into a row."""
    typed.clear()
    session.get().editions["rows"] += 1


def _remember(typed: Typed, column: Input, before: Any, value: Any, held: bool) -> None:
    """Remember a value that is not the table's, or a mark that is not the usual one."""
    typed.pop(column.name, None)
    if held != column.fixed or not _same(value, before):
        typed[column.name] = value, held


def _same(one: Any, other: Any) -> bool:
    return (pd.isna(one) and pd.isna(other)) or str(one) == str(other)


def _numbers(
    numbers: list[Input],
    values: dict[str, Any],
    typed: Typed,
    key: str,
    forbidden: set[str],
) -> None:
    """A table of the numbers, in which values are typed."""

    def start() -> pd.DataFrame:
        known = [typed.get(c.name, (values[c.name], c.fixed)) for c in numbers]
        columns = {
            "column": [column.name for column in numbers],
            "value": [float(value) for value, _ in known],
            "hold": [fixed for _, fixed in known],
            "lowest in training": [column.low for column in numbers],
            "highest": [column.high for column in numbers],
        }
        if any(column.unit for column in numbers):
            columns["unit"] = [column.unit for column in numbers]
        if forbidden:
            columns["used"] = ["no" if c.name in forbidden else "yes" for c in numbers]
        return pd.DataFrame(columns)

    widget = f"edit_{key}_{hash(tuple(sorted(forbidden)))}"
    table = data_editor(
        _NUMBERS,
        widget,
        start,
        hide_index=True,
        disabled=["column", "lowest in training", "highest", "unit", "used"],
        column_config=number_columns,
    )
    edited = zip(numbers, table["value"], table["hold"], strict=True)
    for column, value, held in edited:
        _remember(typed, column, values[column.name], _number(value), bool(held))


def _number(value: Any) -> float:
    return float(pd.to_numeric(value, errors="coerce"))


def _text(column: Input, before: Any, typed: Typed, key: str) -> None:
    """One text, to be typed."""
    value, held = typed.get(column.name, (before, column.fixed))
    name = escape_markdown(short_label(column.name))
    value = st.text_input(name, value, column.width, key=f"text_{key}_{column.name}")
    _remember(typed, column, before, value, held)


def _category(column: Input, before: Any, typed: Typed, key: str) -> None:
    """One category: a choice of its levels, and whether it is fixed."""
    levels = list(column.levels)
    # A level that training rows lack cannot be chosen, and is left as it is.
    before = before if str(before) in levels else None
    value, held = typed.get(column.name, (before, column.fixed))
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    value = left.selectbox(
        escape_markdown(short_label(column.name)),
        levels,
        levels.index(str(value)) if str(value) in levels else None,
        short_label,
        key=f"level_{key}_{column.name}",
    )
    held = right.checkbox("hold", held, key=f"hold_{key}_{column.name}")
    _remember(typed, column, before, value, held)


#: Pixels of a row that holds a whole change.
_OTHER_HEIGHT = 92
_SPLITS = {
    "": "finest exact split",
    "prototype": "prototypes",
    "column": "columns",
    "feature": "category levels",
}


@st.fragment
def why(context: ModelContext) -> None:
    """Pick a row, edit it, and see what its answer is made of."""
    model = context.model
    place, about, words = _picked(context)
    row, frozen, changed = context.data.dataset.frame.iloc[[place]], [], False
    if not context.data.dataset.matrices:
        row, frozen, changed = _edited(context, place)
    truth = (
        "You edited this row; true value before editing" if changed else "True value"
    )
    label = escape_markdown(short_label(context.data.dataset.y[place]))
    about.caption(words.format(f"{truth}: **{label}**."))
    x = context.data.preparation.transform(row)[0]
    draw(context, x[None], ["this row"], "this_row")
    explainer = explanation_sheet.explainer(context, model, True)
    remarks = () if context.data.dataset.matrices else explainer.remarks(row, x)
    for remark in remarks:
        message(st.warning, remark)
    _verdict(context, x, explainer)
    _parts(context, row, x, explainer)
    if only_compared(context.data.dataset):
        st.caption(
            "These rows are compared as wholes, not by features that could be changed: "
            "there is no counterfactual here."
        )
        return
    without = next(iter(np.flatnonzero(context.data.split.train == place)), -1)
    of_row = row, "this row", None, frozen, int(without)
    amount = _change(context, x, explainer, of_row)
    _offer_sheet(context, row, place, frozen, changed, amount)


def _change(
    context: ModelContext, x: np.ndarray, explainer: CaseExplainer, of_row: tuple
) -> float | None:
    """The smallest change that changes the answer, in the words of the sheet.

    Returns how far a predicted number should move.
    """
    amount, title = None, "The smallest change that changes the prediction"
    if context.model.classes is None:
        title = "What moves the prediction: the nearest value of one column"
        name = escape_markdown(short_label(context.outputs[0]))
        amount = st.number_input(
            f"Move the prediction of {name} by",
            value=explainer.usual_amount,
            min_value=0.0,
            format="%g",
            key=f"why_amount_{context.data.dataset.digest}",
        )
        if not amount:
            st.info("Choose an amount above 0.")
            return None
    case = explainer.explain(*of_row, amount)
    st.markdown(f"**{title}**", help=define("Counterfactual"))
    message(st.markdown, case.change)
    if case.changed is not None:
        draw(context, np.stack([x, case.changed]), ["before", "after"], "flipped")
        _on_map(context, x, case.changed)
    if case.changes:
        table(case.changes)
    if case.others:  # a change is long: it takes lines
        table(case.others, row_height=_OTHER_HEIGHT)
    with expander("Nearest training rows", "answer_nearest", "table_rows"):
        table(case.nearest)
        st.caption(case.nearest_note)
    return amount


def _on_map(context: ModelContext, x: np.ndarray, changed: np.ndarray) -> None:
    """The change as a way across a border, where the table is shown as a map."""
    view, model = studies.view(context.data, context.view), context.model
    if view.far(2) is None or model.classes is None:
        return
    end = view.place_answered(model, changed)
    if end is None:
        return
    answers = figures.decision_raster(model, view, view.most_nodes).winner
    way = np.vstack([view.project(x[None]), end])
    figure = figures.change_map(view, answers, way, model.classes)
    alt = "The change on the map: from the row across the border"
    st.plotly_chart(figure, key="change_map", alt=alt, config={"displayModeBar": False})
    st.caption(
        "Circle: the row. Star: of the places with the new prediction, the one whose "
        "input is nearest to the changed row. The line between them stands for no "
        f"inputs. {view.note}"
    )


def _picked(context: ModelContext) -> tuple[int, Any, str]:
    """A row of an open part, where to say what it is, and that but for its target."""
    division, opened = context.data.split, context.open_test
    parts = context.open_parts
    left, right, about = st.columns([1, 1, 3], vertical_alignment="bottom")
    part = widget_state.choose_one(
        left, "Rows", parts, "why_part", format_func=TITLES.get
    )
    rows = np.sort(getattr(division, part))
    numbers = context.data.dataset.row_numbers(rows)
    first, last = int(numbers[0]), int(numbers[-1])
    every = range(first, last + 1)
    state = widget_state.for_value(f"why_row_{division.key}_{part}", every, first)
    number = right.number_input("Row", first, last, **state)
    place = int(np.searchsorted(numbers, number))
    words = f"One of {len(rows):,} rows. {{}}"
    if numbers[place] != number:
        other = f"Row {number} is not a {TITLES[part].lower()} row"
        words = f"{other}; row {numbers[place]} is shown. {{}}"
    words += "" if opened else " The test set is closed."
    return int(rows[place]), about.empty(), words


def _verdict(context: ModelContext, x: np.ndarray, explainer: CaseExplainer) -> None:
    """The answer, its lead and probability, and what every prototype says."""
    split = contributions(context.model, x, None, context.data.preparation)
    is_class = context.model.classes is not None
    answer = escape_markdown(short_label(explainer.answer(split)))
    facts = [f"{name}: {text}" for name, text in explainer.facts(x, split).items()]
    lead = [escape_markdown(text) for text in facts[:is_class]]
    words = f"{'. '.join([f'Prediction: **{answer}**', *lead])}."
    st.markdown(words, help=define("Lead") if is_class else None)
    if sure := facts[is_class:]:
        message(st.markdown, ". ".join(sure), help=calibration_help(context.model))
    fold_scores.offer_calibration(context)
    _activations(context, x)


def _activations(context: ModelContext, x: np.ndarray) -> None:
    """What every prototype and every class gets, as tables."""
    model = context.model
    activation = model.activations(x[None])[0]
    order = np.argsort(-activation, kind="stable")
    prototypes = {
        "prototype": [context.name(j) for j in order],
        context.side_title: [context.side(j) for j in order],
        "activation": activation[order],
        "weight": model.votes[order, model.prototype_labels[order]],
    }
    with expander("Activation of each prototype", "answer_activations", "list"):
        table(prototypes)
        if model.classes is not None:
            scores = model.scores(x[None])[0]
            columns = {"class": context.outputs, "score": scores}
            if model.calibration is not None:
                columns["probability"] = model.probabilities(x[None])[0]
            table(columns)


def _parts(
    context: ModelContext, row: pd.DataFrame, x: np.ndarray, explainer: CaseExplainer
) -> None:
    """The lead of the winner, or the number that is answered, split."""
    split = "prediction" if context.model.classes is None else "lead"
    preparation = context.data.preparation
    n_shown = len(_SPLITS) - (not preparation.has_level_features)
    n_shown = 2 if only_compared(context.data.dataset) else n_shown
    by = st.segmented_control(
        f"Contributions to the {split} by",
        list(_SPLITS)[:n_shown],
        default="column" if n_shown > 2 else "",
        required=True,
        format_func=_SPLITS.get,
        key="why_by",
    )
    result = contributions(context.model, x, by or None, preparation)
    meaning = "teal for the winner, crimson for the runner-up"
    if context.model.classes is None:
        meaning = "teal raises it, crimson lowers it"
    title = f"contribution to the {split}"
    alt = f"Contributions to the {split} by {result.of}: {meaning}"
    if result.parts.any():
        names = part_names(context, result, row, x, explainer)
        signed_bars(result.parts, names, title, result.of, key="parts", alt=alt)
    st.caption(escape_markdown(explainer.sum_in_words(result)))


def part_names(
    context: ModelContext,
    result: Contributions,
    row: pd.DataFrame,
    x: np.ndarray,
    explainer: CaseExplainer,
) -> list[str]:
    """Names of the parts of a lead; of a column with the row's own value."""
    if result.of == "column":
        inputs = context.data.preparation.inputs
        return [f"{one.name} = {explainer.value(row, one, x)}" for one in inputs]
    if result.of == "feature":
        return list(context.model.feature_names)
    if result.of == "prototype":
        return [context.name(j) for j in range(len(result.parts))]
    return [f"{result.of} {i + 1}" for i in range(len(result.parts))]
