"""What is wrong, or too good to be true, about the table of the Data page."""

import streamlit as st

from pages.data import editor, roles, time_to_event, uploads
from pages.state import session
from pages.ui.text import escape_markdown, message
from smpcore import Dataset
from smpcore.datasets import (
    Proposal,
    Split,
    find_duplicates,
    find_structure,
)


def remarks(dataset: Dataset, division: Split, table: Dataset) -> None:
    """What reading found, what stands in the way, and what is too good to be true."""
    if problem := editor.fit_problem(dataset):
        words = f"{problem} Until then the other pages show another table."
        message(st.warning, words, icon=":material/block:")
    if words := time_to_event.hint(dataset):
        message(st.warning, words, icon=":material/schedule:")
    repeated, proposals = session.remembered(
        "checked",
        (dataset.digest, division.key),
        lambda: (
            find_duplicates(dataset, division),
            find_structure(dataset, division),
        ),
    )
    if repeated:
        st.warning(
            f"Rows of the validation and test parts that also stand in training: "
            f"{repeated:,}. The model may have memorised them."
        )
    for proposal in proposals:
        _offer(table, proposal)
    notices = [*dataset.notices, *division.notices]
    if notices:
        st.info("\n".join(f"- {escape_markdown(notice)}" for notice in notices))
    uploads.points(table)


def _offer(table: Dataset, proposal: Proposal) -> None:
    """Say what the values of a table show, with a button that does something for it."""
    if not (proposal.is_leak or table.private):
        return
    left, right = st, None
    if table.private and proposal.action:
        left, right = st.columns([3, 1])
    message(left.warning if proposal.is_leak else left.info, proposal.words)
    if right is not None and right.button(
        escape_markdown(proposal.action),
        key=f"proposal_{proposal.action}",
        icon=":material/auto_fix_high:",
        width="stretch",
    ):
        changes = {"roles": proposal.roles, "cleaning": proposal.cleaning}
        roles.change_roles(table, **changes)
