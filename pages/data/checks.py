"""What is wrong, or too good to be true, about the table of the Data page."""

import streamlit as st

from pages.data import editor, roles, time_to_event
from pages.state import session
from pages.ui.text import escape_markdown, message, short_label
from smpcore import Dataset
from smpcore.datasets import (
    Split,
    find_duplicates,
    leaky_features,
    rows_of_known_groups,
)


def remarks(dataset: Dataset, division: Split, table: Dataset) -> None:
    """What reading found, what stands in the way, and what is too good to be true."""
    if problem := editor.fit_problem(dataset):
        words = f"{problem} Until then the other pages show another table."
        message(st.warning, words, icon=":material/block:")
    if words := time_to_event.hint(dataset):
        message(st.warning, words, icon=":material/schedule:")
    repeated, telling, groups = session.remembered(
        "checked",
        (dataset.digest, division.key),
        lambda: (
            find_duplicates(dataset, division),
            leaky_features(dataset, division),
            rows_of_known_groups(dataset, division),
        ),
    )
    for name, known in groups:
        _offer_group(table, division, name, known)
    if repeated:
        st.warning(
            f"Rows of the validation and test parts that also stand in training: "
            f"{repeated:,}. The model may have memorised them."
        )
    for name, share in telling:
        words = f"{short_label(name)} alone predicts {share:.1%} of the training rows"
        leakage = "Possible target leakage: is it known before the target?"
        message(st.warning, f"{words}. {leakage}")
    notices = [*dataset.notices, *division.notices]
    if notices:
        st.info("\n".join(f"- {escape_markdown(notice)}" for notice in notices))


def _offer_group(table: Dataset, division: Split, name: str, known: int) -> None:
    """Say how many rows a model may know by their patient, and how to mend it."""
    held_out = division.validation.size + division.test.size
    message(
        st.warning,
        f"{known:,} of {held_out:,} validation and test rows have a "
        f"{short_label(name)} that is also in the training rows: possible leakage, "
        "which makes the scores optimistic.",
    )
    if table.private:
        words = escape_markdown(f"Keep the rows of one {short_label(name)} together")
        if st.button(words, key=f"group_{name}", icon=":material/group_work:"):
            roles.apply_roles(table, roles={name: "group"})
