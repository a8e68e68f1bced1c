"""A section of the explanation sheet, as a page shows it."""

from __future__ import annotations

import streamlit as st

from pages.ui.elements import table
from pages.ui.text import escape_markdown, message
from smpcore.explain import Section


def show(section: Section) -> None:
    """Its paragraphs, tables and parts; the heading is the page's own."""
    for block in section.blocks:
        if isinstance(block, str):
            message(st.markdown, block)
        elif not isinstance(block, Section):
            if block:
                table(list(block), height="content")
        elif block.folded:
            with st.expander(escape_markdown(block.title)):
                show(block)
        else:
            st.markdown(f"**{escape_markdown(block.title)}**")
            show(block)
