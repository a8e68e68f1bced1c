"""One prototype: what it is, what it wins, which rows are similar to it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.prototypes import forbidden, notes
from pages.prototypes.context import ModelContext
from pages.prototypes.portraits import draw
from pages.state import session
from pages.state.state_file import NAME, NOTE
from pages.ui.elements import signed_bars, table
from pages.ui.text import message, short_label
from smpcore import figures
from smpcore.datasets import list_names, plain_number, plural
from smpcore.explain import column_effects, likeness, nearest_examples, wins

_NEAREST = 5


def single(context: ModelContext) -> None:
    """One prototype: what it is, what it wins, which rows are similar to it."""
    model, j = context.model, _picked(context)
    has_classes = model.classes is not None
    _notes(context, j)
    _oddities(context, j)
    if context.portraits.signed and not context.portraits.values[j].any():
        more = ", and it wins where no other prototype has a higher one" * has_classes
        st.info(
            f"All its weights are 0: its activation is {plain_number(model.bias[j])} "
            f"for every input{more}."
        )
    else:
        shown, name = context.portraits, [context.name(j)]
        draw(context, shown.values[[j]], name, "portrait", shown.signed)
        if context.texts:
            message(st.markdown, f"Text: **{context.texts[j]}**")
        elif len(context.shape) == 1:
            _bars(context, j)
        _nearest(context, j)
    if has_classes:
        _won(context, j)
        if not context.portraits.signed or context.portraits.values[j].any():
            _densities(context, j)


def _picked(context: ModelContext) -> int:
    """The prototype that is chosen.

    A control whose options change as names are typed would lose its place: with other
    names it is another one, which begins where the last one stood.
    """
    numbers = range(context.model.n_prototypes)
    key = f"one_prototype_{context.choice.method}_{context.data.dataset.digest}"
    names = [context.name(j) for j in numbers]
    results = session.get().results
    start = min(results.get(key, (key, 0))[1], len(names) - 1)
    widget = f"{key}_{hash(tuple(names))}"
    j = st.selectbox("Prototype", numbers, start, context.name, key=widget)
    results[key] = key, j
    return j


def _notes(context: ModelContext, j: int) -> None:
    """Name and note of a prototype, kept for this model while the visit lasts."""
    written = context.notes.get(j, notes.EMPTY)
    left, right = st.columns([1, 3])
    about = hash((context.notes_key, context.choice.forbidden))
    key = f"{about}_{j}_{session.get().editions['controls']}"
    widget = f"name_{key}"
    left.text_input(
        "Name",
        written["name"],
        NAME,
        key=widget,
        on_change=lambda: notes.write(context, j, "name", st.session_state[widget]),
    )
    note = right.text_input("Note", written["note"], NOTE, key=f"note_{key}")
    if note != written["note"]:
        notes.write(context, j, "note", note)
    notes.caption_of(context, j)


def _oddities(context: ModelContext, j: int) -> None:
    fact = context.facts[j]
    if context.merged_from[j]:
        st.write(
            f"Merged from {context.model.counts[j]} equal prototypes of the fit, with "
            f"the training rows tied to each: {context.merged_from[j]}."
        )
    if np.isfinite(fact.distance):
        st.write(
            "Distance to the nearest training row: "
            f"{plain_number(fact.distance, 3)} standard deviations (median between "
            "training rows and their nearest neighbours: "
            f"{plain_number(fact.median_distance, 3)})."
        )
    for warning in oddities(context, j):
        message(st.warning, warning)


def oddities(context: ModelContext, j: int) -> list[str]:
    """What to read with care about a prototype, a sentence or two each; not escaped."""
    fact, names, warnings = context.facts[j], context.model.feature_names, []
    if fact.outside:
        outside = list_names([names[f] for f in fact.outside], 8)
        are = "is" if len(fact.outside) == 1 else "are"
        warnings.append(
            f"{plural(len(fact.outside), 'feature')} {are} outside the training range: "
            f"{outside}."
        )
    if fact.opposing:
        opposing = list_names([names[f] for f in fact.opposing], 8)
        have = "has" if len(fact.opposing) == 1 else "have"
        warnings.append(
            f"{plural(len(fact.opposing), 'weight')} {have} the opposite sign of the "
            f"difference between class means: {opposing}. Correlated features can "
            "cause this; interpret such weights with care."
        )
    return warnings


def _bars(context: ModelContext, j: int) -> None:
    """Sorted weights, or values in standard deviations from the training mean."""
    if context.portraits.signed and context.data.preparation.has_level_features:
        if not st.toggle("Show category levels", key="bars_by_level"):
            _effects(context, j)
            return
    values, title = context.portraits.values[j], "weight per standard deviation"
    if context.data.dataset.matrices:
        title = "weight of the similarity"
    if not context.portraits.signed:
        values = (values - context.model.center) / context.model.scale
        title = "standard deviations from the training mean"
    fact = context.facts[j]
    signed_bars(
        values,
        context.model.feature_names,
        title,
        "feature",
        key="weights",
        alt=f"Prototype {j + 1}: {title}, sorted",
        marked=fact.opposing if context.portraits.signed else fact.outside,
    )
    if np.count_nonzero(values) > 25:
        st.caption("The 25 largest; the table has all.")


def _effects(context: ModelContext, j: int) -> None:
    """What each column changes in a prototype's score, its levels together."""
    model, preparation = context.model, context.data.preparation
    weights = model.weights[j] / model.scale
    effects = column_effects(weights, preparation, context.rows[0])
    names = [column.name for column in preparation.inputs]
    title = "effect: standard deviation of its contribution to the score"
    alt = f"Prototype {j + 1}: {title}, sorted"
    signed_bars(effects, names, title, "column", key="effects", alt=alt)
    n_used, n_weights = np.count_nonzero(effects), np.count_nonzero(weights)
    st.caption(f"{n_used} of {len(names)} columns, {n_weights} weights.")


def _nearest(context: ModelContext, j: int) -> None:
    """The training rows with its highest activations."""
    X, dataset = context.rows[0], context.data.dataset
    places = nearest_examples(context.model, X, _NEAREST)[j]
    rows = context.data.split.train[places]
    st.markdown("**Most similar training rows**")
    numbers = dataset.row_numbers(rows)
    titles = [f"row {n}: {dataset.y[r]}" for n, r in zip(numbers, rows, strict=True)]
    draw(context, X[places], titles, "nearest")
    about = {"similarity": likeness(context.model, X[places])[:, j]}
    with st.container() if len(context.shape) == 1 else st.popover("Show as a table"):
        table(context.table_of(rows, about), hide_index=False)


def _won(context: ModelContext, j: int) -> None:
    """Rows that it decides, by their class."""
    won = wins(context.model, *context.rows)[j]
    rows = [
        {"class": label, "training rows won": int(n)}
        for label, n in zip(context.outputs, won, strict=True)
        if n
    ]
    st.markdown("**Training rows that it wins**, by class")
    if rows:
        table(rows)
    else:
        st.caption("None: another prototype always has a higher score.")


def _densities(context: ModelContext, j: int) -> None:
    """How its features, and its activation, are distributed in each class."""
    model, (X, codes) = context.model, context.rows
    importance = _importance(context, j)
    order = np.argsort(-np.abs(importance), kind="stable")[:50]
    if importance.any():
        feature = st.selectbox(
            "Feature",
            [int(f) for f in order if importance[f]],
            format_func=lambda f: short_label(model.feature_names[f]),
            key=f"spread_of_{j}",
        )
        forbidden.button(context, feature)
        name = model.feature_names[feature]
        place = context.portraits.values[j, feature]
        marks = [] if context.portraits.signed else [(place, "prototype")]
        figure = figures.densities(X[:, feature], codes, model.classes, name, marks)
        alt = short_label(f"Density of {name} in each class")
        st.plotly_chart(figure, key="density", alt=alt)
    title = f"activation of prototype {j + 1}"
    activation = likeness(model, X)[:, j]
    figure = figures.densities(activation, codes, model.classes, title)
    st.plotly_chart(figure, key="said", alt=f"Density of {title} in each class")


def _importance(context: ModelContext, j: int) -> np.ndarray:
    model = context.model
    if context.texts:
        return np.zeros(model.n_features)
    if context.portraits.signed:
        return model.weights[j]
    if len(model.similarity.weights) == model.n_features:
        return np.array(model.similarity.weights)
    return (context.portraits.values[j] - model.center) / model.scale
