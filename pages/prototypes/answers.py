"""Why this answer: a row, picked or edited; its scores, parts and smallest flip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes import edited_rows, sheets
from pages.prototypes.context import ModelContext
from pages.prototypes.portraits import draw
from pages.state import widget_state
from pages.ui import calibration, explanation_sheet
from pages.ui.elements import signed_bars, table
from pages.ui.glossary import define
from pages.ui.readouts import TITLES
from pages.ui.text import escape_markdown, message, short_label
from pages.work import cache
from smpcore import contributions, figures
from smpcore.datasets import only_compared
from smpcore.explain import CaseExplainer, Contributions

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
        row, frozen, changed = edited_rows.edit(context, place)
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
    sheets.offer(context, row, place, frozen, changed, amount)


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
    with st.expander("Nearest training rows", icon=":material/table_rows:"):
        table(case.nearest)
        st.caption(case.nearest_note)
    return amount


def _on_map(context: ModelContext, x: np.ndarray, changed: np.ndarray) -> None:
    """The change as a way across a border, where the table is shown as a map."""
    view, model = cache.view(context.data, context.view), context.model
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
    of = left, "Rows", parts, "why_part"
    part = widget_state.choose_one(*of, format_func=TITLES.get)
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
    words += " The test set is closed." * (not opened)
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
        message(st.markdown, ". ".join(sure), help=calibration.help_text(context.model))
    calibration.offer(context)
    _activations(context, x)


def _activations(context: ModelContext, x: np.ndarray) -> None:
    """What every prototype and every class gets, as tables."""
    model = context.model
    activation = model.activations(x[None])[0]
    prototypes = [
        {
            "prototype": context.name(j),
            context.side_title: context.side(j),
            "activation": float(activation[j]),
            "weight": float(model.votes[j, model.prototype_labels[j]]),
        }
        for j in np.argsort(-activation, kind="stable")
    ]
    with st.expander("Activation of each prototype", icon=":material/list:"):
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
    meaning = "blue for the winner, vermilion for the runner-up"
    if context.model.classes is None:
        meaning = "blue raises it, vermilion lowers it"
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
