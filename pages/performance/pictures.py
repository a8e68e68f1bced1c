"""Figures beside each other, each with what it is of; their numbers as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.ui.elements import table
from pages.ui.glossary import define


def show(
    figures: Sequence[tuple[str, Any, str, str]],
    subject: str,
    tables: Mapping[str, pd.DataFrame],
) -> None:
    """Show figures by title, with a term of the glossary and more words each."""
    columns = st.columns(max(2, len(figures)))
    for column, (title, figure, term, more) in zip(columns, figures, strict=False):
        alt = f"{title}{subject}"
        column.plotly_chart(figure, key=f"performance_{title}", alt=alt)
        column.caption(f"{alt}.{more}", help=define(term))
    with st.expander("Show as tables", icon=":material/table:"):
        for name, lines in tables.items():
            st.caption(f"{name}.")
            table(lines)
