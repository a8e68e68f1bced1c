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
from smpcore.datasets import only_compared, plain_number, text_features
from smpcore.explain import Contributions, certainty

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
    result = contributions(model, x, None, context.data.preparation)
    _verdict(context, x, result)
    _parts(context, x)
    if only_compared(context.data.dataset):
        st.caption(
            "These rows are compared as wholes, not by features that could be changed: "
            "there is no counterfactual here."
        )
        return
    amount = _change(context, row, x, frozen)
    sheets.offer(context, row, place, frozen, changed, amount)


def _change(
    context: ModelContext, row: pd.DataFrame, x: np.ndarray, frozen: list[int]
) -> float | None:
    """The smallest change that changes the answer, in the words of the sheet.

    Returns how far a predicted number should move.
    """
    explainer = explanation_sheet.explainer(context, context.model, False)
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
    case = explainer.explain(row, "this row", frozen=frozen, amount=amount)
    for remark in case.remarks:
        message(st.warning, remark)
    st.markdown(f"**{title}**", help=define("Counterfactual"))
    message(st.markdown, case.change)
    if case.changed is not None:
        draw(context, np.stack([x, case.changed]), ["before", "after"], "flipped")
        _on_map(context, x, case.changed)
    if case.changes:
        table(case.changes)
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


def _verdict(context: ModelContext, x: np.ndarray, result: Contributions) -> None:
    """The answer, its lead and probability, and what every prototype says."""
    model = context.model
    winner, runner = (context.outputs[i] for i in (result.winner, result.runner_up))
    labels = [escape_markdown(short_label(name)) for name in (winner, runner)]
    if model.classes is None:
        st.markdown(f"Prediction: **{plain_number(result.lead, 5)}**.")
    else:
        st.markdown(
            f"Prediction: **{labels[0]}**. Lead over the runner-up **{labels[1]}**: "
            f"{plain_number(result.lead)}.",
            help=define("Lead"),
        )
    if sure := [f"{name}: {text}" for name, text in certainty(model, x).items()]:
        message(st.markdown, ". ".join(sure), help=calibration.help_text(model))
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


def _parts(context: ModelContext, x: np.ndarray) -> None:
    """The lead of the winner, or the number that is answered, split."""
    split = "prediction" if context.model.classes is None else "lead"
    preparation = context.data.preparation
    n_shown = len(_SPLITS) - (not preparation.has_level_features)
    n_shown = 2 if text_features(context.data.dataset) else n_shown
    by = st.segmented_control(
        f"Contributions to the {split} by",
        list(_SPLITS)[:n_shown],
        default="",
        required=True,
        format_func=_SPLITS.get,
        key="why_by",
    )
    result = contributions(context.model, x, by or None, preparation)
    names = part_names(context, result, x)
    if not result.parts.any():
        st.caption(
            f"{result.rule} All contributions are 0; constant: "
            f"{plain_number(result.rest)}."
        )
        return
    meaning = "blue for the winner, vermilion for the runner-up"
    if context.model.classes is None:
        meaning = "blue raises it, vermilion lowers it"
    title = f"contribution to the {split}"
    alt = f"Contributions to the {split} by {result.of}: {meaning}"
    signed_bars(result.parts, names, title, result.of, key="parts", alt=alt)
    total = (
        f"The contributions sum to {plain_number(result.parts.sum(), 5)}; adding the "
        f"biases ({plain_number(result.rest, 5)}) gives exactly the {split}, "
        f"{plain_number(result.lead, 5)}. "
    )
    constant = "" if result.exact else f" Constant: {plain_number(result.rest, 5)}."
    st.caption(f"{total if result.exact else ''}{result.rule}{constant}")


def part_names(
    context: ModelContext, result: Contributions, x: np.ndarray
) -> list[str]:
    """Names of the parts of a lead; of a column with the row's own value."""
    if result.of == "column":
        inputs = context.data.preparation.inputs
        words = [f"{column.name} = {column.text(x)} {column.unit}" for column in inputs]
        return [one.strip() for one in words]
    if result.of == "feature":
        return list(context.model.feature_names)
    if result.of == "prototype":
        return [context.name(j) for j in range(len(result.parts))]
    return [f"{result.of} {i + 1}" for i in range(len(result.parts))]
