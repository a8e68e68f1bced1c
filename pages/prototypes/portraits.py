"""Portraits of the prototypes: all at a glance, and one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.ui import readouts
from pages.ui.text import number_columns, short_label
from pages.work import slots
from smpcore import figures
from smpcore.explain import embedding, measures_of_prototypes, wins

#: Prototypes drawn beside each other; of series, whose lines share their axes, fewer.
MOST_DRAWN, MOST_LINES = 20, 6
#: Column of the distances, where prototypes are single cases.
_NEAREST_ROW = "distance to nearest row"
#: Width of a small picture in CSS pixels: the least that Streamlit gives to a chart;
#: two stand beside each other on a phone.
_PICTURE = 150
_EMBEDDED = 200


@slots.interactive_slot()
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
            "weight": float(model.votes[j, model.prototype_labels[j]]),
            "bias": float(model.bias[j]),
            "merged": int(model.counts[j]),
            "non-zeros": int(np.count_nonzero(context.portraits[j])),
        }
        if model.classes is not None:
            line["training rows won"] = int(won[j].sum())
            own = won[j, model.prototype_labels[j]]
            line["won rows of its class"] = int(own)
        line |= {name: float(values[j]) for name, values in measured.items()}
        if np.isfinite(fact.distance):
            line[_NEAREST_ROW] = fact.distance
            line["median distance between rows"] = fact.usual
            line["features out of range"] = len(fact.outside)
        if context.signed:
            line["weights of opposite sign"] = len(fact.opposing)
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
        told = f" {more} more in the table and under One by one." if more else ""
        st.caption(context.what + told)
    table = lines(context)
    st.dataframe(table, hide_index=True, column_config=number_columns(table))
    far = any(_NEAREST_ROW in line for line in table)
    told = " Distances are in standard deviations." if far else ""
    st.caption(f"Counts refer to training rows.{told}")
    if model.classes is not None:
        _leads(context)
    if model.similarity.weights:
        _kernels(context)


@slots.interactive_slot()
def _leads(context: ModelContext) -> None:
    """How the final score is spread in each class."""
    model, (X, codes) = context.model, context.rows
    scores = model.scores(X)
    if model.n_outputs == 2:
        lead = scores[:, 1] - scores[:, 0]
        title = f"score of {context.outputs[1]} minus score of {context.outputs[0]}"
    else:
        rows = np.arange(len(codes))
        own = scores[rows, codes]
        scores[rows, codes] = -np.inf
        lead = own - scores.max(axis=1)
        title = "lead of the true class"
    figure = figures.densities(
        lead, codes, model.classes, title, [(0.0, "decision boundary")]
    )
    words = "Density of the score on the training rows of each class"
    st.markdown("**Score distribution** of the training rows, by class")
    st.plotly_chart(figure, key="leads", alt=words)
    with st.popover("Show as a table"):
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


@slots.interactive_slot()
def _kernels(context: ModelContext) -> None:
    """Weights of the similarity's kernels, and what they do to the rows."""
    model = context.model
    what, names, weights = readouts.kernel_weights(model, context.data)
    st.markdown(f"**Weights β of the kernels**, by {what}")
    figure = figures.signed_bars(weights, names, "weight β", y_title="kernel")
    st.plotly_chart(figure, key="beta", alt="Weights of the kernels, sorted")
    with st.popover("Show as a table"):
        order = np.argsort(-weights, kind="stable")
        table = [{"kernel": names[i], "weight": float(weights[i])} for i in order]
        st.dataframe(table, hide_index=True, column_config=number_columns(table))
        if what == "columns" and context.data.preparation.has_level_features:
            st.caption("By category level:")
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
