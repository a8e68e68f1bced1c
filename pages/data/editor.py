"""The visitor's own table: brought, read, given roles, and taken away again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.state import session, table_store, widget_state
from pages.state.app_figure import set_values
from pages.state.session import Live
from pages.ui import files, workspace
from pages.ui.text import message
from pages.work import cache, sources, visitors
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import Split, check_fit
from smpcore.live import BUNDLED, MINE, NO_QUESTION, SEED, Choice
from smpcore.parameters import Param

#: What belongs to the data that were chosen before.
_NOT_CHOSEN = {"data_values": {}, "forbidden": (), **NO_QUESTION}


def dataset_picker() -> None:
    """Which table: a bundled one with its parameters, or the visitor's own."""
    choice, visit = session.current(), session.get()
    draft = visit.draft
    # A draft stands in the list in place of the table that was shown last.
    mine = table_store.titles(choice) | ({MINE: "My table"} if draft else {})
    others = sources.listed(visit.fetched)
    if choice.data not in (MINE, *BUNDLED, *others):  # of more files than are listed
        others.append(choice.data)
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    left.selectbox(
        "Data",
        [*mine, *BUNDLED, *others],
        format_func=lambda key: mine.get(key) or _title(key),
        **widget_state.for_choice("data_pick", MINE if draft else choice.data, _pick),
    )
    if mine:
        right.button(
            "Delete",
            help="Delete my tables and drawings from the server, now.",
            icon=":material/delete:",
            key="delete_table",
            on_click=forget,
            width="stretch",
        )
    params = BUNDLED[choice.data].params if choice.data in BUNDLED else ()
    if params and not draft:
        session.choose(set_values(choice, _generated(choice, params)))


def _title(key: str) -> str:
    return BUNDLED[key].title if key in BUNDLED else sources.title(key)


def _pick(data: str) -> None:
    visit = session.get()
    if visit.draft:
        table_store.delete(visit.draft)
        visit.draft = ""
    session.choose_data(set_values(session.current(), {"data": data}))


def _generated(choice: Choice, params: tuple[Param, ...]) -> dict[str, Any]:
    """What the controls of a generated set say."""
    values = {}
    for column, param in zip(st.columns(len(params)), params, strict=True):
        value = choice.data_values.get(param.name, param.start)
        number = type(param.start)
        chosen = column.number_input(
            param.label,
            number(param.low),
            number(param.high),
            number(value),
            step=1 if param.scale == "int" else 0.05,
            key=f"{choice.data}.{param.name}.{session.get().editions['controls']}",
            help=param.help or None,
        )
        if chosen != value:
            values[f"d.{param.name}"] = chosen
    return values


def shown() -> tuple[Dataset, Split | None]:
    """The table of this page: one that cannot be fitted yet, or the chosen one.

    Its number to predict is still a number: see `with_task`.
    """
    choice = session.current()
    visit = session.get()
    token = visit.draft or (choice.token if choice.data == MINE else "")
    if token:
        try:
            return table_store.visit(token)
        except SmpcoreError as error:
            visit.draft = ""
            session.choose(Choice())
            message(st.warning, str(error))
    return session.resolved().table, None


def split_controls(dataset: Dataset, drawn: Split | None) -> None:
    """Let the visitor choose the shares of the parts and the seed."""
    choice = session.current()
    if drawn is not None:
        st.caption("The split is fixed once a point was moved.")
        return
    columns, edition = st.columns(3), session.get().editions["controls"]
    # Without a key a control whose start has moved is another one: of two changes one
    # after the other the second was lost.
    validation = columns[0].slider(
        "Validation share", 0.0, 0.6, choice.validation, key=f"validation.{edition}"
    )
    most = round(min(0.6, 0.9 - validation), 2)
    test = columns[1].slider(
        "Test share",
        0.0,
        most,
        min(choice.test, most),
        disabled=dataset.test_rows is not None,
        key=f"test.{edition}",
    )
    limits = int(SEED.low), int(SEED.high)
    seed = columns[2].number_input(
        "Seed of the split", *limits, choice.seed, key=f"seed.{edition}"
    )
    session.choose(replace(choice, validation=validation, test=test, seed=seed))


def division_of(dataset: Dataset, drawn: Split | None) -> Split:
    """The parts of a table: as drawn by hand, or by shares and seed."""
    choice = session.current()
    if drawn is not None:
        return drawn
    return cache.computed.split_of(dataset, choice.validation, choice.test, choice.seed)


def fit_problem(dataset: Dataset) -> str:
    """Why no method can learn from this table yet; empty if one can."""
    try:
        check_fit(dataset, division_of(dataset, None))
    except SmpcoreError as error:
        return str(error)
    return ""


def keep(dataset: Dataset, brought: bool = False) -> None:
    """Keep a visitor's table; as soon as it can be fitted, every page works with it."""
    choice, visit = session.current(), session.get()
    if fit_problem(dataset):
        visit.draft = table_store.keep(dataset, token=visit.draft)
        return
    edited = not (visit.draft or brought)
    same = edited and choice.data == MINE
    if visit.draft:
        table_store.delete(visit.draft)
        visit.draft = ""
    known = table_store.find(choice.token) if same else None
    token = choice.token if same else table_store.upload_of(choice)
    if edited and choice.data in BUNDLED:
        token = ""  # beside the visitor's own tables
    token = table_store.keep(dataset, token=token)
    start = {"data_values": {}, "view": {}, "open_test": False}
    if known is None or known[0].target != dataset.target:
        start["outcome"] = None  # what was chosen was a class of another target
    if choice.data != MINE:
        start |= _NOT_CHOSEN
    session.choose_data(replace(table_store.show(choice, token), **start))


def forget() -> None:
    """Delete the visitor's table from the server."""
    choice = session.current()
    visit = session.get()
    for token in {*choice.user_tables, visit.draft} - {""}:
        table_store.delete(token)
    visit.draft, visit.live, visit.typed, visit.awaited = "", Live(), {}, None
    session.forget_results()  # whatever was found for a table may hold its rows
    visit.editions["uploads"] += 1
    files.delete()
    workspace.forget()
    visitors.drop_files()
    visitors.drop_callbacks()
    start = {"data": Choice.data, "token": "", "others": (), "view": {}}
    session.choose(replace(choice, **start, **_NOT_CHOSEN))
