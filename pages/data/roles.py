"""What the columns of a table are for: roles, kinds, and the task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.data import editor
from pages.state import session
from pages.ui.elements import problems_shown
from pages.ui.text import message
from smpcore import Dataset
from smpcore.datasets import plain_number

ROLES = ("feature", "target", "group", "time", "ignore")
KINDS = ("number", "category", "text")


def _cut(dataset: Dataset) -> None:
    """A switch that makes two classes of a number to predict."""
    if dataset.task != "regression":
        return
    chosen = st.toggle(
        "Two classes: below the mean 'P', else 'N'",
        session.current().two_classes,
        key=f"two_{dataset.digest}",
        help="The papers' binary versions of such tables. The mean is that of all "
        "rows, test rows included: it belongs to the question.",
    )
    if chosen != session.current().two_classes:
        session.choose(replace(session.current(), two_classes=chosen))
        st.rerun()


def roles(dataset: Dataset) -> None:
    """A table of the columns, in which roles and kinds can be changed."""
    digest, words = session.get().results.get("former_target", ("", ""))
    if digest == dataset.digest:
        message(st.info, words)
    table = session.remembered("columns", dataset.digest, lambda: _overview(dataset))
    select = st.column_config.SelectboxColumn
    edited = st.data_editor(
        table,
        key=f"roles_{dataset.digest}",
        hide_index=True,
        disabled=["column", "values", "missing", *_fixed(dataset)],
        column_config={
            "role": select(options=list(ROLES), required=True),
            "read as": select(options=list(KINDS), required=True),
        },
    )
    changed = edited["role"] != table["role"], edited["read as"] != table["read as"]
    new_roles = dict(edited[changed[0]][["column", "role"]].to_numpy())
    new_kinds = dict(edited[changed[1]][["column", "read as"]].to_numpy())
    change_roles(dataset, roles=new_roles, kinds=new_kinds)


def _overview(dataset: Dataset) -> pd.DataFrame:
    frame = dataset.frame
    return pd.DataFrame(
        {
            "column": list(frame),
            "role": list(dataset.roles.values()),
            "read as": list(dataset.kinds.values()),
            "values": [_summary(frame[name]) for name in frame],
            "missing": frame.isna().sum().to_numpy(),
        }
    )


def task(dataset: Dataset) -> None:
    """A choice of what the target is."""
    tasks = ["classification", "regression"]
    chosen = st.segmented_control(
        "Task",
        tasks,
        default=dataset.task,
        required=True,
        disabled=bool(_fixed(dataset)),
        key=f"task_{dataset.digest}",
    )
    _cut(dataset)
    change_roles(dataset, task=None if chosen == dataset.task else chosen)


def _fixed(dataset: Dataset) -> list[str]:
    return [] if dataset.private else ["role", "read as"]


def change_roles(dataset: Dataset, **changes: Any) -> None:
    if not any(changes.values()):
        return
    with problems_shown(st.error):
        changed = dataset.with_roles(**changes)
        editor.keep(changed)
        if (before := dataset.target) != changed.target:
            words = f"{before} was the target; its role is {changed.roles[before]} now."
            session.get().results["former_target"] = changed.digest, words
        st.rerun()


def _summary(column: pd.Series) -> str:
    if column.isna().all():
        return "nothing"
    if column.dtype.kind in "if":
        return f"{plain_number(column.min(), 6)} to {plain_number(column.max(), 6)}"
    different = column.dropna().unique()
    words = ", ".join(str(value)[:20] for value in sorted(different)[:4])
    return words if len(different) <= 4 else f"{len(different):,}: {words}, …"
