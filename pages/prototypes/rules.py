"""The rule in words: sentences, a table of points per prototype, and the formula."""

from __future__ import annotations

import streamlit as st

from pages.prototypes import card
from pages.prototypes.context import ModelContext
from pages.prototypes.portraits import MOST_DRAWN
from pages.ui.elements import table as show_table
from pages.ui.text import escape_markdown
from smpcore.datasets import plain_number
from smpcore.explain import PointsTable, Rule, points_rule


def rule(context: ModelContext) -> Rule:
    """The rule of a model beside its training rows."""
    return points_rule(context.model, context.data.preparation, context.rows[0])


def section(context: ModelContext) -> None:
    """Sentences, one per class; then what each prototype is made of."""
    if context.texts:
        st.caption(
            "A score is the sum over prototypes of weight times exp(−γ edits), where "
            "edits counts the letters that are added, left out or replaced between a "
            "text and the prototype. Under All are the texts with their weights."
        )
        return
    result = rule(context)
    st.markdown("\n".join(f"- {escape_markdown(words)}" for words in result.sentences))
    for table in result.tables[:MOST_DRAWN]:
        st.markdown(f"**{escape_markdown(title(context, table))}**")
        if table.lines:
            show_table(list(table.lines), height="content")
        st.caption(about(table))
    if more := result.tables[MOST_DRAWN:]:
        st.caption(f"{len(more)} more in the report.")
    with st.expander("As a formula", icon=":material/function:"):
        st.code("\n".join(result.formula), language=None, wrap_lines=True)
        st.caption(
            "Values are in the original units of the columns. Small terms that are "
            "omitted here are counted; the model uses them all."
        )
    if context.model.classes is not None:
        card.expander(context)


def title(context: ModelContext, table: PointsTable) -> str:
    """What a table is of: a prototype by its name, or a class."""
    return table.title if table.prototype is None else context.name(table.prototype)


def about(table: PointsTable) -> str:
    """Where the points start, and what is left out, in a sentence or two."""
    left_out, words = table.n_left_out, "Sorted by distance from the training mean."
    if table.start is not None:
        order = "sorted by effect on the training rows"
        order = order if table.lines else "no column is used"
        words = f"Constant: {plain_number(table.start, 3)}; {order}."
    if left_out:
        words += f" {left_out} line{'s' * (left_out > 1)} with smaller effects omitted."
    return words
