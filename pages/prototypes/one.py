"""One prototype: what it is, what it wins, who is like it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.prototypes import forbidden
from pages.prototypes.context import ModelContext
from pages.prototypes.portraits import draw
from pages.state import session
from pages.state.state_file import NAME, NOTE, WORD
from pages.ui.text import escape_markdown, number_columns, short_label
from smpcore import figures
from smpcore.explain import column_effects, likeness, nearest_examples, wins

_NEAREST = 5


def single(context: ModelContext) -> None:
    """One prototype: what it is, what it wins, who is like it."""
    numbers = range(context.model.n_prototypes)
    # A control whose options change as names are typed would lose its place: with
    # other names it is another one, which begins where the last one stood.
    key = f"one_prototype_{context.choice.method}_{context.data.dataset.digest}"
    names = [context.name(j) for j in numbers]
    results = session.get().results
    start = min(results.get(key, (key, 0))[1], len(names) - 1)
    chosen = f"{key}_{hash(tuple(names))}"
    j = st.selectbox("Prototype", numbers, start, context.name, key=chosen)
    results[key] = key, j
    _written(context, j)
    _oddities(context, j)
    if context.signed and not context.portraits[j].any():
        st.info(
            "All its weights are 0: its activation is "
            f"{context.model.bias[j]:.4g} for every input"
            + (
                ", and it wins where no other prototype has a higher one."
                if context.model.classes is not None
                else "."
            )
        )
        if context.model.classes is not None:
            _won(context, j)
        return
    draw(context, context.portraits[[j]], [context.name(j)], "portrait", context.signed)
    if len(context.shape) == 1:
        _bars(context, j)
    _nearest(context, j)
    if context.model.classes is not None:
        _won(context, j)
        _spread(context, j)


def _written(context: ModelContext, j: int) -> None:
    """Name and note of a prototype, kept for this model while the visit lasts."""
    own = context.notes.setdefault(j, {"name": "", "note": ""})
    forbidden = [name[:WORD] for name in context.choice.forbidden]

    def write(name: str, text: str) -> None:
        own.update({name: text, "without": forbidden})

    left, right = st.columns([1, 3])
    key = f"{hash(context.notes_key)}_{j}_{session.get().editions['controls']}"
    named = f"name_{key}"
    left.text_input(
        "Name",
        own["name"],
        NAME,
        key=named,
        on_change=lambda: write("name", st.session_state[named]),
    )
    note = right.text_input("Note", own["note"], NOTE, key=f"note_{key}")
    if note != own["note"]:
        write("note", note)
    written = own["name"] or own["note"]
    if written and own.get("without", []) != forbidden:
        st.caption(
            "Written for a model with other forbidden features; check that it still "
            "refers to this prototype."
        )


def _oddities(context: ModelContext, j: int) -> None:
    fact = context.facts[j]
    if np.isfinite(fact.distance):
        st.write(
            f"Distance to the nearest training row: {fact.distance:.3g} standard "
            f"deviations (median between training rows and their nearest neighbours: "
            f"{fact.usual:.3g})."
        )
    for warning in oddities(context, j):
        st.warning(escape_markdown(warning))


def oddities(context: ModelContext, j: int) -> list[str]:
    """What to read with care about a prototype, a sentence or two each; not escaped."""
    fact, names, found = context.facts[j], context.model.feature_names, []
    if fact.outside:
        listed = ", ".join(short_label(names[f]) for f in fact.outside[:8])
        found.append(
            f"{len(fact.outside)} features are outside the training range: {listed}."
        )
    if fact.opposing:
        listed = ", ".join(short_label(names[f]) for f in fact.opposing[:8])
        found.append(
            f"{len(fact.opposing)} weights have the opposite sign of the difference "
            f"between class means: {listed}. Correlated features can cause this; "
            "interpret such weights with care."
        )
    return found


def _bars(context: ModelContext, j: int) -> None:
    """Sorted weights, or values in standard deviations from the training mean."""
    preparation = context.data.preparation
    if context.signed and preparation.has_level_features:
        if not st.toggle("Show category levels", key="bars_by_level"):
            _effects(context, j)
            return
    model, names = context.model, context.model.feature_names
    values, title = context.portraits[j], "weight per standard deviation"
    if not context.signed:
        values = (values - model.center) / model.scale
        title = "standard deviations from the training mean"
    marked = context.facts[j].opposing if context.signed else context.facts[j].outside
    figure = figures.signed_bars(values, names, title, marked)
    st.plotly_chart(figure, key="weights", alt=f"Prototype {j + 1}: {title}, sorted")
    if len(np.flatnonzero(values)) > 25:
        st.caption("The 25 largest; the table has all.")
    with st.popover("Show as a table"):
        order = np.argsort(-np.abs(values), kind="stable")
        shown = [{"feature": names[f], title: float(values[f])} for f in order]
        st.dataframe(shown, hide_index=True, column_config=number_columns(shown))


def _effects(context: ModelContext, j: int) -> None:
    """What each column changes in a prototype's score, its levels together."""
    model, preparation = context.model, context.data.preparation
    weights = model.weights[j] / model.scale
    effects = column_effects(weights, preparation, context.rows[0])
    names = [given.name for given in preparation.inputs]
    n_used, n_weights = np.count_nonzero(effects), np.count_nonzero(weights)
    title = "effect: standard deviation of its contribution to the score"
    figure = figures.signed_bars(effects, names, title, y_title="column")
    st.plotly_chart(figure, key="effects", alt=f"Prototype {j + 1}: {title}, sorted")
    st.caption(f"{n_used} of {len(names)} columns, {n_weights} weights.")
    with st.popover("Show as a table"):
        order = np.argsort(-effects, kind="stable")
        shown = [{"column": names[i], "effect": float(effects[i])} for i in order]
        st.dataframe(shown, hide_index=True, column_config=number_columns(shown))


def _nearest(context: ModelContext, j: int) -> None:
    """The training rows that it speaks for most."""
    X, _ = context.rows
    places = nearest_examples(context.model, X, _NEAREST)[j]
    rows = context.data.split.train[places]
    st.markdown("**Most similar training rows**")
    dataset = context.data.dataset
    titles = [f"row {row}: {dataset.y[row]}" for row in rows]
    draw(context, X[places], titles, "nearest")
    frame = dataset.frame.iloc[rows, :200]
    frame.insert(0, "similarity", likeness(context.model, X[places])[:, j], True)
    with st.container() if len(context.shape) == 1 else st.popover("Show as a table"):
        st.dataframe(frame, column_config=number_columns(frame))


def _won(context: ModelContext, j: int) -> None:
    """Rows that it decides, by their class."""
    won = wins(context.model, *context.rows)[j]
    said = [
        {"class": label, "training rows won": int(n)}
        for label, n in zip(context.outputs, won, strict=True)
        if n
    ]
    st.markdown("**Training rows that it wins**, by class")
    if said:
        st.dataframe(said, hide_index=True)
    else:
        st.caption("None: another prototype always has a higher score.")


def _spread(context: ModelContext, j: int) -> None:
    """How its features, and what it says, are spread in each class."""
    model, (X, codes) = context.model, context.rows
    order = np.argsort(-np.abs(_importance(context, j)), kind="stable")
    order = [int(f) for f in order if _importance(context, j)[f] != 0][:50]
    if order:
        feature = st.selectbox(
            "Feature",
            order,
            format_func=lambda f: short_label(model.feature_names[f]),
            key=f"spread_of_{j}",
        )
        forbidden.button(context, feature)
        name = model.feature_names[feature]
        marks = [] if context.signed else [(context.portraits[j, feature], "prototype")]
        figure = figures.densities(X[:, feature], codes, model.classes, name, marks)
        words = short_label(f"Density of {name} in each class")
        st.plotly_chart(figure, key="density", alt=words)
    said = likeness(model, X)[:, j]
    title = f"activation of prototype {j + 1}"
    figure = figures.densities(said, codes, model.classes, title)
    st.plotly_chart(figure, key="said", alt=f"Density of {title} in each class")


def _importance(context: ModelContext, j: int) -> np.ndarray:
    model = context.model
    if context.signed:
        return model.weights[j]
    if len(model.similarity.weights) == model.n_features:
        return np.array(model.similarity.weights)
    return (context.portraits[j] - model.center) / model.scale
