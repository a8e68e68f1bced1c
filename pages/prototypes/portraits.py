"""Portraits of the prototypes: all at a glance, and one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes.model_context import ModelContext
from pages.ui import readouts
from pages.ui.elements import signed_bars, table_popover
from pages.ui.elements import table as show_table
from pages.ui.text import define, escape_markdown, short_label
from pages.work import slots
from smpcore import figures
from smpcore.datasets import plain_number
from smpcore.explain import embedding, prototype_table, score_leads
from smpcore.model import value_range

#: Prototypes drawn beside each other; of series, whose lines share their axes, fewer.
MOST_DRAWN, MOST_LINES = 20, 6
#: Width of a small picture in CSS pixels: the least that Streamlit gives to a chart;
#: two stand beside each other on a phone.
_PICTURE = 150
_EMBEDDED = 200
#: Of a table: bars in a portrait, and its width; four stand beside each other.
_BARS, _BARS_WIDTH = 6, 290


@slots.interactive_slot()
def draw(
    context: ModelContext,
    rows: np.ndarray,
    titles: list[str],
    key: str,
    signed: bool = False,
) -> None:
    """Rows as pictures or, of series, channels; of a table nothing."""
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
    signed = signed and bool(np.nanmin(rows) < 0)
    top = float(np.nanmax(np.abs(rows))) or 1.0
    limits = (-top, top) if signed else value_range(context.model)
    width = _PICTURE if len(rows) > 1 else 2 * _PICTURE
    with st.container(horizontal=True, gap="xsmall"):
        for place, (row, title) in enumerate(zip(rows, titles, strict=True)):
            st.plotly_chart(
                figures.picture(row, shape, title, limits, signed, width),
                key=f"{key}_{place}",
                width="content",
                config={"displayModeBar": False},
                alt=short_label(f"Portrait of {title}"),
            )
    dark, bright = ("vermilion", "blue") if signed else ("black", "white")
    blank = " Forbidden pixels are crossed out." if np.isnan(rows).any() else ""
    span = "" if signed else ", the range of the training rows"
    beyond = figures.OUTSIDE * (limits[1] - limits[0])
    if (rows < limits[0] - beyond).any() or (rows > limits[1] + beyond).any():
        blank += " − marks values at least 10 % of the range below it, + above it."
    st.caption(
        f"From {plain_number(limits[0], 3)} ({dark}) to {plain_number(limits[1], 3)} "
        f"({bright}){span}.{blank}"
    )


@slots.interactive_slot()
def _bars(context: ModelContext, n: int) -> None:
    """What is largest in each of the first prototypes of a table, beside each other."""
    values, model = context.portraits.values, context.model
    title = "weights per standard deviation"
    if not context.portraits.signed:
        values = (values - model.center) / model.scale
        title = "standard deviations from the training mean"
    most, n_bars = np.abs(values[:n]).max(), min(_BARS, values.shape[1])
    with st.container(horizontal=True, gap="small"):
        for j in range(n):
            with st.container(width=_BARS_WIDTH, gap=None):
                st.markdown(f"**{escape_markdown(context.name(j))}**")
                figure = figures.signed_bars(
                    values[j], model.feature_names, "", most=_BARS, y_title=""
                )
                figure.update_layout(height=60 + 24 * n_bars, margin_t=8)
                figure.update_xaxes(range=[-most, most])  # bars can be compared
                words = f"The largest of {context.name(j)}: {title}"
                config = {"displayModeBar": False}
                key = f"bars_{j}"
                st.plotly_chart(figure, key=key, config=config, alt=short_label(words))
    st.caption(f"The largest {title}, at most {_BARS} of a prototype, on one scale.")


def lines(context: ModelContext) -> list[dict[str, Any]]:
    """The prototypes as lines of a table."""
    merged, texts = context.merged_from, context.texts
    return [
        {"prototype": context.name(j), context.side_title: context.side(j)}
        | ({"text": texts[j]} if texts else {})
        | numbers
        | ({"merged from": merged[j]} if any(merged) else {})
        for j, numbers in enumerate(prototype_table(context.model, *context.rows))
    ]


def gallery(context: ModelContext) -> None:
    """All prototypes at a glance, and what the whole model weighs."""
    model = context.model
    n = min(model.n_prototypes, MOST_LINES if context.channels else MOST_DRAWN)
    names, shown = [context.name(j) for j in range(n)], context.portraits
    draw(context, shown.values[:n], names, "gallery", shown.signed)
    if len(context.shape) == 1 and not context.texts:
        _bars(context, n)
    if len(context.shape) > 1:
        more = model.n_prototypes - n
        more_text = f" {more} more in the table and under One by one." if more else ""
        st.caption(shown.what + more_text)
    table = lines(context)
    show_table(table)
    far = any("distance to nearest row" in line for line in table)
    more_text = " Distances are in standard deviations." if far else ""
    st.caption(f"Counts refer to training rows.{more_text}")
    if model.classes is not None:
        _leads(context)
    if model.similarity.weights:
        _kernels(context)


@slots.interactive_slot()
def _leads(context: ModelContext) -> None:
    """How the final score is spread in each class."""
    model, (X, codes) = context.model, context.rows
    lead = score_leads(model, X, codes)
    title = "lead of the true class"
    if model.n_outputs == 2:
        title = f"score of {context.outputs[1]} minus score of {context.outputs[0]}"
    figure = figures.densities(
        lead, codes, model.classes, title, [(0.0, "decision boundary")]
    )
    words = "Density of the score on the training rows of each class"
    st.markdown("**Score distribution** of the training rows, by class")
    st.plotly_chart(figure, key="leads", alt=words)
    limits = {"rows": "size", "lowest": "min", "median": "median", "highest": "max"}
    summary = pd.Series(lead).groupby(codes).agg(**{n: f for n, f in limits.items()})
    summary.insert(0, "class", np.array(context.outputs)[summary.index])
    table_popover(summary)


@slots.interactive_slot()
def _kernels(context: ModelContext) -> None:
    """Weights of the similarity's kernels, and what they do to the rows."""
    model = context.model
    what, names, weights = readouts.kernel_weights(model, context.data)
    heading = f"**Weights β of the kernels**, by {what}"
    st.markdown(heading, help=define("Weight β"))
    alt = "Weights of the kernels, sorted"
    signed_bars(weights, names, "weight β", "kernel", key="beta", alt=alt)
    if what == "columns" and context.data.preparation.has_level_features:
        each = zip(model.feature_names, model.similarity.weights, strict=True)
        with st.popover("By category level"):
            show_table([{"kernel": name, "weight": weight} for name, weight in each])
    if model.classes is None:
        return
    X, codes = context.rows
    some = np.linspace(0, len(X) - 1, min(_EMBEDDED, len(X))).astype(int)
    before, after = (embedding(model, X[some], equal) for equal in (True, False))
    figure = figures.embeddings(before, after, codes[some], model.classes)
    words = "Training rows in feature space, before and after weighting the kernels"
    st.plotly_chart(figure, key="embedding", alt=words)
    st.caption(f"{words}: first two principal axes of {len(some)} rows.")
