"""A visitor's workspace: saved as a file, opened again, kept over a reload; a pin."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import msgspec
import streamlit as st

from pages.state import (
    lesson_run,
    links,
    session,
    state_file,
    table_store,
    widget_state,
)
from pages.state.lesson_files import Lesson
from pages.state.session import Live, Slot
from pages.state.state_file import Pin, Saved
from pages.state.undo import Step
from pages.ui.elements import (
    close_dialog,
    download,
    is_dialog_wanted,
    noted,
    problems_shown,
    want_dialog,
)
from pages.ui.text import message
from pages.work import classes, disk_store, packing, visitors
from pages.work.store import KEEP_SECONDS, Store
from pages.work.studies import Entry
from smpcore import Dataset, SmpcoreError
from smpcore.datasets import check_fit
from smpcore.live import MINE, Choice, Context, pairs

#: What is kept for all browsers that were here in the last half hour.
BUDGET_BYTES = 50_000_000


#: What was said when the state of this table was opened.
_OPENED_STATE = Slot[str]("opened_state")


class _LastVisit(NamedTuple):
    """What a browser's last visit has beside its address, and which that was.

    It is laid out where the same address is opened again; notes and counts, which are
    in the bytes of a state file, with any.
    """

    state: bytes
    link: dict[str, str]
    tables: tuple[str, ...]
    draft: str
    undo: tuple[Step, ...]
    #: Long code of the class that it teaches.
    taught: str = ""

    @property
    def size(self) -> int:
        """Bytes: those of the file, and of points that were drawn."""
        drawn = [step.points[0].n_bytes for step in self.undo if step.points]
        return len(self.state) + sum(drawn)


#: Browser -> what is kept of it.
_files = Store(BUDGET_BYTES, seconds=KEEP_SECONDS, size=lambda last: last.size)
#: Its name in the server's store.
_VISIT = "visit"


def current() -> Choice:
    """The visitor's choice; after a reload with what was noted before it."""
    is_new = session.is_new()
    choice = session.current()
    if not is_new and session.was_address_left():
        _follow_history(choice)
    if is_new and (last := _last_visit()):
        _come_back(last, choice)
    return session.get().choice


def _last_visit() -> _LastVisit | None:
    """What is kept of this browser, by this server or in its store."""
    name = visitors.browser()
    if disk_store.is_stale(_VISIT):
        _files.pop(name)
    last = _files.get(name)
    if last is None and (data := disk_store.get(_VISIT)):
        last = packing.unpack(data, _LastVisit)
        last = last._replace(undo=tuple(map(_with_tuples, last.undo)))
        _files.put(name, last)
    return last


def _with_tuples(step: Step) -> Step:
    """The step with tuples where lists were written."""
    values = {
        name: tuple(map(tuple, value)) if isinstance(value, list) else value
        for name, value in step.choice.values.items()
    }
    return replace(step, choice=replace(step.choice, values=values))


def _come_back(last: _LastVisit, choice: Choice) -> None:
    visit, saved = session.get(), state_file.read(last.state)
    _lay_out(saved)
    table_store.look_again(last.tables)
    tables = [one for one in last.tables if table_store.find(one) is not None]
    at_hand = tuple(one for one in tables if one != choice.token)
    session.put(replace(choice, opened=saved.opened, others=at_hand))
    visit.classroom = classes.bring(last.taught, Lesson)
    if last.link != _link(choice):
        return
    visit.live.undo = list(last.undo)
    if last.draft and table_store.find(last.draft) is not None:
        visit.draft = last.draft


def _link(choice: Choice) -> dict[str, str]:
    try:
        return links.write_url(choice)
    except SmpcoreError:  # its table is gone
        return {}


def _follow_history(choice: Choice) -> None:
    """Choose what the address says after Back or Forward; a lesson stays."""
    visit, query = session.get(), st.query_params.to_dict()
    if "data" not in query or visit.lesson is not None:
        return
    visit.message = None  # the figure is drawn anew
    visit.editions["controls"] += 1  # those of this page would bring back what they say
    visit.live.present = query.pop("present", "") == "1"
    query.pop("class", None)
    before, notices = links.read_url(query)
    visit.notices.extend(notices)
    session.put(replace(before, **table_store.with_first(choice, before.token)))
    steps = visit.live.undo
    while steps and _is_same(steps[-1].choice, visit.choice):
        steps.pop()


def _is_same(one: Choice, other: Choice) -> bool:
    """Whether two choices have the same address."""
    return bool(link := _link(one)) and link == _link(other)


def keep(choice: Choice) -> None:
    """Keep what is not in the address for this browser, and in the server's store."""
    saved = Saved(**_noted(), opened=choice.opened)
    name, visit = visitors.browser(), session.get()
    if not name:
        return
    try:
        content = state_file.write(saved)
    except SmpcoreError:
        return  # more than a file may hold: what was kept before stays
    undo = tuple(visit.live.undo)
    taught = visit.classroom.link_code if visit.classroom else ""
    tables = choice.user_tables
    last = _LastVisit(content, _link(choice), tables, visit.draft, undo, taught)
    if last != _files.get(name):
        _files.put(name, last)
        disk_store.put(_VISIT, partial(packing.pack, last))


def forget() -> None:
    """Delete at once all that is kept of this browser; the end of a run keeps anew."""
    _files.pop(visitors.browser())
    disk_store.delete()


def _noted() -> dict[str, Any]:
    visit = session.get()
    pin, notes = visit.pinned, state_file.written_notes(visit.notes)
    stated = state_file.written_statements(visit.stated)
    pin = pin and Pin(pin.key, dict(pin.values))
    return {"notes": notes, "pinned": pin, "stated": stated}


def _lay_out(saved: Saved) -> None:
    visit = session.get()
    visit.notes.update(state_file.read_notes(saved.notes))
    visit.stated.update(saved.stated)
    pin = saved.pinned
    visit.pinned = None if pin is None else Entry(pin.key, pairs(pin.values))


def gather(choice: Choice, with_points: bool) -> Saved:
    """What a state file of this visit holds."""
    link, table, points = links.write_url(choice), None, None
    if choice.data == MINE:
        del link["mine"]
        dataset, division = table_store.visit(choice.token)
        table = state_file.record_of(dataset)
        if with_points and is_drawn(choice):
            points = state_file.written_points(dataset, division)
    return Saved(link, table, points, **_noted(), opened=choice.opened)


def is_drawn(choice: Choice) -> bool:
    """Whether the table is points drawn here, none of which came from a file."""
    if choice.data != MINE:
        return False
    dataset, division = table_store.visit(choice.token)
    few = len(dataset.feature_columns) <= 2  # a state file has no room for series
    return few and division is not None and dataset.reading is None


def put(saved: Saved, before: Choice) -> str:
    """Make a saved state the visitor's, all of it or nothing."""
    query, token = dict(saved.link), ""
    if query.get("data") == MINE:
        if saved.table is None:
            raise SmpcoreError("The state file should name its table; it does not.")
        token = _token(saved, before)
        if not token:
            session.get().awaited = saved
            name = saved.table.name[:60]
            return (
                f"This state is of a table of your own, {name}, whose rows are not in "
                "the file. Upload that table on Data: its roles, kinds and cleaning "
                "steps are applied, and the state is opened."
            )
        query["mine"] = token
    try:
        choice, removed = links.read_all(query, "state file")
    except SmpcoreError:
        if token and token not in before.user_tables:
            table_store.delete(token)
        raise
    at_hand = table_store.with_first(before, token)
    session.choose(replace(choice, opened=choice.opened | saved.opened, **at_hand))
    _lay_out(saved)
    visit = session.get()
    visit.live, visit.awaited, visit.draft = Live(), None, ""
    visit.editions["controls"] += 1
    visit.notices.extend(removed)
    keep(visit.choice)
    return ""


def _token(saved: Saved, before: Choice) -> str:
    """Of the saved table: drawn points, or the table that is here already."""
    if saved.points is not None:
        return table_store.keep(*state_file.read_points(saved.points))
    tables = {token: table_store.find(token) for token in before.user_tables}
    digest = saved.table.digest
    same = (t for t, one in tables.items() if one and one.dataset.digest == digest)
    return next(same, "")


def await_table(choice: Choice) -> None:
    """Open the state that waits for this table; say so if the table is another."""
    visit = session.get()
    saved, token = visit.awaited, visit.draft or choice.token
    if saved is None or not (visit.draft or choice.data == MINE):
        return
    table = table_store.find(token)
    if table is None:  # the page shows it itself
        return
    try:
        words = _open_for(saved, table.dataset, token, choice)
    except SmpcoreError as problem:
        name = saved.table.name[:60]
        message(st.info, f"The state file waits for {name}. {problem}")
        return
    _OPENED_STATE.put(session.current().token, words)


def opened_state() -> None:
    """Say that the state of this table was opened, and what differs from then."""
    noted(st.success, _OPENED_STATE, session.current().token)


def _open_for(saved: Saved, here: Dataset, token: str, choice: Choice) -> str:
    """Open a state for this table, given its roles and steps; say what differs."""
    differences: list[str] = []
    if here.digest != saved.table.digest:
        if saved.table.columns is None or here.origin is None:
            raise SmpcoreError("This table differs from that one.")
        here, differences = state_file.apply_record(here, saved.table)
        check_fit(here)
        token = table_store.keep(here, token=token)
    table = msgspec.structs.replace(saved.table, digest=here.digest)
    stated = dict(saved.stated)
    if saved.table.name in stated:  # it is the same study, whatever its file is called
        stated[here.name[: state_file.WORD]] = stated.pop(saved.table.name)
    saved = msgspec.structs.replace(saved, table=table, stated=stated)
    put(saved, table_store.show(choice, token))
    if not differences:
        return "The saved state of this table is opened."
    return (
        f"The saved state is opened for a table that differs: {'; '.join(differences)}."
        " Roles, kinds and cleaning steps are applied; models are fitted anew."
    )


def save_and_open(choice: Choice) -> None:
    """The way to the file from every page: at the right of the bar of pages."""
    st.button(
        "Save and open",
        key="workspace",
        icon=":material/save:",
        type="tertiary",
        on_click=_want_dialog,
        help="Save all settings and notes to a file, or open one.",
    )
    if is_dialog_wanted("workspace"):
        _dialog(choice)


def _want_dialog() -> None:
    want_dialog("workspace")
    visit = session.get()
    visit.workspace_message = "", ""
    visit.editions["workspace"] += 1  # else the last file is sent once more


@st.dialog("Save and open", icon=":material/save:", on_dismiss=close_dialog)
def _dialog(choice: Choice) -> None:
    visit = session.get()
    level, text = visit.workspace_message
    if level == "done":
        visit.workspace_message = "", ""
        close_dialog()
        st.toast(text)
        st.rerun()
    with problems_shown():
        _save(choice)
    file = st.file_uploader(
        "Open a saved state",
        "json",
        key=f"workspace_file_{visit.editions['workspace']}",
        max_upload_size=1,
    )
    is_locked = lesson_run.hides_numbers()
    st.button(
        "Open",
        key="workspace_open",
        on_click=_open,
        args=(file, choice),
        disabled=file is None or is_locked,
    )
    usual = "Replaces the current settings; notes on other models are kept."
    st.caption("Answer the lesson's question first." if is_locked else usual)
    if text:
        message(st.error if level == "error" else st.info, text)


def _save(choice: Choice) -> None:
    with_points = is_drawn(choice) and st.checkbox(
        "Include my points",
        key="workspace_points",
        help="Otherwise the file contains no rows of the table.",
    )
    content = state_file.write(gather(choice, with_points))
    download(
        "Save", lambda: content, "state.json", key="workspace_save", type="primary"
    )
    st.caption(
        "The file contains no rows of your table, but the names of its columns, their "
        "roles and the cleaning steps."
        if choice.data == MINE and not with_points
        else "Settings, names and notes on prototypes, what you stated for the report, "
        "the pinned model, and how often test rows were opened."
    )


def _open(file: Any, before: Choice) -> None:
    try:
        waits = put(state_file.read(file.getvalue()), before)
    except SmpcoreError as problem:
        session.get().workspace_message = "error", str(problem)
        return
    done = "done", "The saved state was opened."
    session.get().workspace_message = ("info", waits) if waits else done


def pinned_entry(context: Context, key: str = "") -> Entry:
    """The chosen method with its values, or another one at its defaults."""
    chosen = context.method
    if key not in ("", chosen.key):
        return Entry(key)
    start = chosen.defaults(context.task)
    start |= chosen.data_params(context.dataset, context.values)  # nobody chose these
    mine = {n: v for n, v in context.values.items() if n in start and v != start[n]}
    return Entry(chosen.key, pairs(mine))


def pin_button(context: Context, place: Any) -> None:
    """A button that keeps the model of Explore as A, or lets it go."""
    here = pinned_entry(context)
    held = session.get().pinned == here
    place.button(
        "Unpin A" if held else "Pin as A",
        key="pin",
        icon=":material/keep_off:" if held else ":material/keep:",
        on_click=_pin,
        args=(None if held else here, context.choice),
        help="Keep the current model as A on Compare while you change it on Explore.",
    )


def _pin(pinned: Entry | None, choice: Choice) -> None:
    session.get().pinned = pinned
    if pinned:
        widget_state.set_value("compare_a", pinned.title)
    keep(choice)
