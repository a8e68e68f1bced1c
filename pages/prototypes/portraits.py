"""Portraits of the prototypes: all at a glance, and one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from pages.prototypes import forbidden
from pages.prototypes.context import ModelContext
from pages.state import session
from pages.state.state_file import NAME, NOTE
from pages.ui import readouts
from pages.ui.text import escape_markdown, number_columns, short_label
from pages.work import jobs
from smpcore import (
    column_effects,
    embedding,
    figures,
    likeness,
    measures_of_prototypes,
    nearest_examples,
    wins,
)

#: Prototypes drawn beside each other; of series, whose lines share their axes, fewer.
MOST_DRAWN, MOST_LINES = 20, 6
_NEAREST = 5
#: Column of the distances, where prototypes are single cases.
_NEAREST_ROW = "to the nearest row"
#: Width of a small picture in CSS pixels: the least that Streamlit gives to a chart;
#: two stand beside each other on a phone.
_PICTURE = 150
_EMBEDDED = 200


@jobs.live_turn()
def draw(
    context: ModelContext,
    rows: np.ndarray,
    titles: list[str],
    key: str,
    signed: bool = False,
) -> None:
    """Rows as pictures or, of series, channels; of a table nothing.

    Parameters
    ----------
    context : ModelContext
    rows : ndarray of shape (n_rows, n_features)
    titles : list of str
    key : str
    signed : bool
        Weights, and not values.
    """
    shape = context.shape
    if len(shape) < 2:
        return
    rows = context.in_place(rows)
    if context.channels:
        gone = np.isnan(rows.reshape(-1, *shape)).all(axis=(0, 2))
        marked = zip(context.channels, gone, strict=True)
        names = [f"{name} (forbidden)" if out else name for name, out in marked]
        figure = figures.channels(rows, shape, titles, names)
        words = f"Channels of {', '.join(titles[:6])}"
        st.plotly_chart(figure, key=key, alt=short_label(words))
        return
    low, high = float(np.nanmin(rows)), float(np.nanmax(rows))
    top = max(abs(low), abs(high)) or 1.0
    signed = signed and low < 0
    ends = (-top, top) if signed else (low, high)
    width = _PICTURE if len(rows) > 1 else 2 * _PICTURE
    with st.container(horizontal=True, gap="xsmall"):
        for place, (row, title) in enumerate(zip(rows, titles, strict=True)):
            st.plotly_chart(
                figures.picture(row, shape, title, ends, signed, width),
                key=f"{key}_{place}",
                width="content",
                config={"displayModeBar": False},
                alt=short_label(f"Portrait of {title}"),
            )
    dark, bright = ("vermilion", "blue") if signed else ("black", "white")
    blank = " Forbidden pixels are crossed out." if np.isnan(rows).any() else ""
    st.caption(f"From {ends[0]:.3g} ({dark}) to {ends[1]:.3g} ({bright}).{blank}")


def lines(context: ModelContext) -> list[dict[str, Any]]:
    """The prototypes as lines of a table."""
    model, (X, codes) = context.model, context.rows
    won = wins(model, X, codes)
    measured = measures_of_prototypes(model, X, codes)
    table = []
    for j, fact in enumerate(context.facts):
        line = {
            "prototype": context.name(j),
            context.side_title: context.side(j),
            "vote": float(model.votes[j, model.owner[j]]),
            "bias": float(model.bias[j]),
            "merged": int(model.counts[j]),
            "non-zeros": int(np.count_nonzero(context.portraits[j])),
        }
        if model.classes is not None:
            line["rows won"] = int(won[j].sum())
            own = won[j, model.owner[j]]
            line["of its own class"] = int(own)
        line |= {name: float(values[j]) for name, values in measured.items()}
        if np.isfinite(fact.distance):
            line[_NEAREST_ROW] = fact.distance
            line["usual distance"] = fact.usual
            line["out of range"] = len(fact.outside)
        if context.signed:
            line["opposing weights"] = len(fact.opposing)
        table.append(line)
    return table


def gallery(context: ModelContext) -> None:
    """All prototypes at a glance, and what the whole model weighs."""
    model = context.model
    n = min(model.n_prototypes, MOST_LINES if context.channels else MOST_DRAWN)
    names = [context.name(j) for j in range(n)]
    draw(context, context.portraits[:n], names, "gallery", context.signed)
    if len(context.shape) > 1:
        more = model.n_prototypes - n
        told = f" {more} more are in the table and under One by one." if more else ""
        st.caption(context.what + told)
    table = lines(context)
    st.dataframe(table, hide_index=True, column_config=number_columns(table))
    far = any(_NEAREST_ROW in line for line in table)
    told = " Distances are in standard deviations." if far else ""
    st.caption(f"Rows are training rows.{told}")
    if model.classes is not None:
        _leads(context)
    if model.similarity.weights:
        _kernels(context)


@jobs.live_turn()
def _leads(context: ModelContext) -> None:
    """How the final score is spread in each class."""
    model, (X, codes) = context.model, context.rows
    scores = model.scores(X)
    if model.n_outputs == 2:
        lead = scores[:, 1] - scores[:, 0]
        title = f"score of {context.outputs[1]} less score of {context.outputs[0]}"
    else:
        rows = np.arange(len(codes))
        own = scores[rows, codes]
        scores[rows, codes] = -np.inf
        lead = own - scores.max(axis=1)
        title = "lead of the row's own class"
    figure = figures.densities(lead, codes, model.classes, title, [(0.0, "border")])
    words = "Density of the final score among the training rows of each class"
    st.markdown("**The final score**, training rows by class")
    st.plotly_chart(figure, key="leads", alt=words)
    with st.popover("As a table"):
        parts = [(n, lead[codes == c]) for c, n in enumerate(context.outputs)]
        table = [
            {
                "class": label,
                "rows": int(own.size),
                "lowest": float(own.min()),
                "median": float(np.median(own)),
                "highest": float(own.max()),
            }
            for label, own in parts
            if own.size
        ]
        st.dataframe(table, hide_index=True, column_config=number_columns(table))


@jobs.live_turn()
def _kernels(context: ModelContext) -> None:
    """Weights of the similarity's kernels, and what they do to the rows."""
    model = context.model
    what, names, weights = readouts.kernel_weights(model, context.data)
    st.markdown(f"**Weights β of the kernels**, by {what}")
    figure = figures.signed_bars(weights, names, "weight β")
    st.plotly_chart(figure, key="beta", alt="Weights of the kernels, sorted")
    with st.popover("As a table"):
        order = np.argsort(-weights, kind="stable")
        table = [{"kernel": names[i], "weight": float(weights[i])} for i in order]
        st.dataframe(table, hide_index=True, column_config=number_columns(table))
        if what == "columns" and context.data.preparation.has_level_features:
            st.caption("Level by level:")
            own = zip(model.feature_names, model.similarity.weights, strict=True)
            table = [{"kernel": name, "weight": weight} for name, weight in own]
            st.dataframe(table, hide_index=True, column_config=number_columns(table))
    if model.classes is None:
        return
    X, codes = context.rows
    some = np.linspace(0, len(X) - 1, min(_EMBEDDED, len(X))).astype(int)
    before, after = (embedding(model, X[some], alike) for alike in (True, False))
    figure = figures.embeddings(before, after, codes[some], model.classes)
    words = "Training rows in feature space, before and after weighting the kernels"
    st.plotly_chart(figure, key="embedding", alt=words)
    st.caption(f"{words}: first two principal axes of {len(some)} rows.")


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
            "All its weights are zero: its activation is "
            f"{context.model.bias[j]:.4g} whatever the input"
            + (
                ", and wins where no other prototype has more."
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
    left, right = st.columns([1, 3])
    key = f"{hash(context.notes_key)}_{j}_{session.get().editions['controls']}"
    named = f"name_{key}"
    left.text_input(
        "Your name for it",
        own["name"],
        NAME,
        key=named,
        on_change=lambda: own.update(name=st.session_state[named]),
    )
    own["note"] = right.text_input("Your note", own["note"], NOTE, key=f"note_{key}")


def _oddities(context: ModelContext, j: int) -> None:
    fact = context.facts[j]
    if np.isfinite(fact.distance):
        st.write(
            f"The nearest training row is {fact.distance:.3g} standard deviations "
            f"away; from a training row to its nearest neighbour {fact.usual:.3g} is "
            "usual."
        )
    for warning in oddities(context, j):
        st.warning(escape_markdown(warning))


def oddities(context: ModelContext, j: int) -> list[str]:
    """What to read with care about a prototype, a sentence or two each; not escaped."""
    fact, names, found = context.facts[j], context.model.feature_names, []
    if fact.outside:
        listed = ", ".join(short_label(names[f]) for f in fact.outside[:8])
        found.append(
            f"{len(fact.outside)} features lie outside what training rows have: "
            f"{listed}."
        )
    if fact.opposing:
        listed = ", ".join(short_label(names[f]) for f in fact.opposing[:8])
        found.append(
            f"{len(fact.opposing)} weights have the sign opposite to the feature's "
            f"own class difference: {listed}. Features that say the same thing can "
            "do that; read such a weight with care."
        )
    return found


def _bars(context: ModelContext, j: int) -> None:
    """Sorted weights, or values in standard deviations from the training mean."""
    preparation = context.data.preparation
    if context.signed and preparation.has_level_features:
        if not st.toggle("Levels one by one", key="bars_by_level"):
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
        st.caption("The 25 largest; all are in the table.")
    with st.popover("As a table"):
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
    title = "effect: standard deviation of its part of the score"
    figure = figures.signed_bars(effects, names, title)
    st.plotly_chart(figure, key="effects", alt=f"Prototype {j + 1}: {title}, sorted")
    st.caption(f"{n_used} of {len(names)} columns, {n_weights} weights.")
    with st.popover("As a table"):
        order = np.argsort(-effects, kind="stable")
        shown = [{"column": names[i], "effect": float(effects[i])} for i in order]
        st.dataframe(shown, hide_index=True, column_config=number_columns(shown))


def _nearest(context: ModelContext, j: int) -> None:
    """The training rows that it speaks for most."""
    X, _ = context.rows
    places = nearest_examples(context.model, X, _NEAREST)[j]
    rows = context.data.split.train[places]
    st.markdown("**Training rows nearest to it**: those most like it")
    dataset = context.data.dataset
    titles = [f"row {row}: {dataset.y[row]}" for row in rows]
    draw(context, X[places], titles, "nearest")
    frame = dataset.frame.iloc[rows, :200]
    frame.insert(0, "likeness", likeness(context.model, X[places])[:, j], True)
    with st.container() if len(context.shape) == 1 else st.popover("As a table"):
        st.dataframe(frame, column_config=number_columns(frame))


def _won(context: ModelContext, j: int) -> None:
    """Rows that it decides, by their class."""
    won = wins(context.model, *context.rows)[j]
    said = [
        {"class": label, "rows it decides": int(n)}
        for label, n in zip(context.outputs, won, strict=True)
        if n
    ]
    st.markdown("**Training rows that it decides**, by their class")
    if said:
        st.dataframe(said, hide_index=True)
    else:
        st.caption("None: another prototype is always ahead of it.")


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
    title = f"what prototype {j + 1} says"
    figure = figures.densities(said, codes, model.classes, title)
    st.plotly_chart(figure, key="said", alt=f"Density of {title} in each class")


def _importance(context: ModelContext, j: int) -> np.ndarray:
    model = context.model
    if context.signed:
        return model.weights[j]
    if len(model.similarity.weights) == model.n_features:
        return np.array(model.similarity.weights)
    return (context.portraits[j] - model.center) / model.scale
