"""What one visit remembers, controls aside: one typed record, and who writes it.

The address bar has the choice and the controls, and Back leads to older ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import streamlit as st

from pages.state import links, table_store
from pages.state.host import resolve, validated, with_data_here
from pages.work import visitors
from pages.work.tasks import Task
from smpcore import Dataset, SmpcoreError
from smpcore.live import BUNDLED, MINE, Choice, Context, Shown

if TYPE_CHECKING:  # these modules import this one
    from pages.state.lesson_run import Run
    from pages.state.state_file import Notes, Saved
    from pages.state.undo import Step
    from pages.work.classes import Classroom
    from pages.work.openml_sets import Download
    from pages.work.studies import Entry

Result = TypeVar("Result")
#: Parameters of a link that begins a lesson, beside those of a choice.
LESSON_LINK = ("class", "wall", "lesson", "step")
#: What a control of a page can be set to, and a cell of a table that is typed over.
Setting = str | float | list[str] | None
Cell = str | float | None

#: What an address without settings opens: validation accuracy is below training on
#: average, and the table of seed 0 is typical (`python -m tests.bench.first_screen`).
FIRST = {"data": "moons", "d.n_samples": "100", "d.noise": "0.3"}


@dataclass(frozen=True)
class Slot(Generic[Result]):
    """Where a visit remembers one result, the last one, with a key of what it is of.

    It is declared once, beside the page that uses it, with a name of its own.
    """

    name: str

    def get(self, key: Hashable) -> Result | None:
        """The result, if it is of this key."""
        known = get().results.get(self)
        return known[1] if known and known[0] == key else None

    def about(self, *first: Hashable) -> Result | None:
        """The result, if its key is a tuple that begins so."""
        key, result = get().results.get(self, ((), None))
        return result if key[: len(first)] == first else None

    def last(self) -> Result | None:
        """The result, whatever it is of."""
        return get().results.get(self, (None, None))[1]

    def put(self, key: Hashable, result: Result) -> None:
        """Remember this result in place of the last one."""
        get().results[self] = key, result

    def pop(self) -> Result | None:
        """Forget the result and return it, whatever it is of."""
        return get().results.pop(self, (None, None))[1]

    def get_or_make(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result, made anew if the last one is of another key."""
        results = get().results
        if self not in results or results[self][0] != key:
            results[self] = key, make()
        return results[self][1]


@dataclass
class Live(Shown):
    """State of the live figure, and what its page remembers beside it.

    Parameters
    ----------
    undo : list of Step
        What can be taken back, the latest last.
    drag_from, released : Choice or None
        Where the drag that is under way began; and what was chosen before it.
    """

    undo: list[Step] = field(default_factory=list)
    drag_from: Choice | None = None
    released: Choice | None = None
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class OutgoingFile:
    """A file on its way to the browser, by the key of its button and a number."""

    key: str = ""
    number: str = ""
    content: bytes = b""


@dataclass
class LessonDraft:
    """The step of a lesson that is being written: a new one, or the one of a number."""

    at: int | None = None
    #: The state that the step begins with, if an answer leads away from it.
    begin: Choice | None = None
    is_ready: bool = False


@dataclass
class Session:
    """What one visit remembers.

    Parameters
    ----------
    widget_texts, defaults, widget_starts : dict
        Key of a control -> its value, as a link writes it; its default; and the value
        that it began with on the page (see `widget_state`).
    message : object
        What the figure sent, for the run that it caused (untrusted).
    address, has_address : dict, bool
        Parameters of the URL as written last; whether the browser has answered so.
    draft : str
        Token of a table that cannot be fitted yet.
    fetched : set of str
        Keys of the data from elsewhere that were chosen.
    stated : dict
        Name of a table -> field -> what its author states in reports. By the name:
        other roles, cleaning steps and new rows leave it the same study.
    compared : dict
        Name of a table -> models that were looked at, and settings that were swept.
    notes : dict
        Model -> prototype -> name, note, and what was forbidden when it was written.
    typed : dict
        Row -> column -> value, and whether it is held still.
    refined, met : set
        Sweeps that a finer one was asked of, and those that were seen.
    editions : Counter
        How often the controls of a place began anew: part of their keys.
    awaited : Saved or None
        The opened state whose table is not here yet.
    results : dict
        Slot -> what its result is of, and the result.
    lesson_link : dict
        Class, wall, or lesson and step, that the link names, until it is begun.
    """

    choice: Choice = field(default_factory=Choice)
    notices: list[str] = field(default_factory=list)
    widget_texts: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Setting] = field(default_factory=dict)
    widget_starts: dict[str, Setting] = field(default_factory=dict)
    message: object = None
    address: dict[str, str] = field(default_factory=dict)
    has_address: bool = False
    live: Live = field(default_factory=Live)
    draft: str = ""
    fetched: set[str] = field(default_factory=set)
    pinned: Entry | None = None
    notes: Notes = field(default_factory=dict)
    stated: dict[str, dict[str, str]] = field(default_factory=dict)
    compared: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    typed: dict[str, dict[str, tuple[Cell, bool]]] = field(default_factory=dict)
    refined: set[Hashable] = field(default_factory=set)
    met: set[Hashable] = field(default_factory=set)
    editions: Counter[str] = field(default_factory=Counter)
    table_here: str = ""
    copy_wanted: bool = False
    #: Parts of `ReadingOptions` that the visitor has chosen for the file by buttons.
    read_as: dict[str, Any] = field(default_factory=dict)
    dialog: str = ""
    workspace_message: tuple[str, str] = ("", "")
    awaited: Saved | None = None
    openml_search: Download | None = None
    openml_wanted: int | None = None
    results: dict[Slot[Any], tuple[Hashable, Any]] = field(default_factory=dict)
    lesson: Run | None = None
    lesson_link: dict[str, str] = field(default_factory=dict)
    classroom: Classroom | None = None
    lessons: dict[str, bytes] = field(default_factory=dict)
    lesson_draft: LessonDraft = field(default_factory=LessonDraft)
    page: str = ""
    file: OutgoingFile = field(default_factory=OutgoingFile)


def is_new() -> bool:
    """Whether this visit has only just begun."""
    return "session" not in st.session_state


def get() -> Session:
    """What this visit remembers; at first what its link says."""
    visit = st.session_state.get("session")
    if visit is None:
        query = st.query_params.to_dict()
        live = Live(present=query.pop("present", "") == "1")
        lesson = {name: query.pop(name)[:100] for name in LESSON_LINK if name in query}
        table_store.look_again({query.get("mine", "")})
        choice, notices = links.read_url(query or FIRST)
        changes = links.read_controls(query)
        visit = Session(choice, notices, changes, live=live, lesson_link=lesson)
        st.session_state["session"] = visit
        put(choice)
    return visit


def current(first_run: bool = True) -> Choice:
    """The visitor's choice."""
    if first_run:
        visitors.force_navigation()
    visit = get()
    if visit.choice.data not in BUNDLED:
        choice, gone = with_data_here(visit.choice)
        if gone:
            choose(choice)
            for notice in gone:
                _notify(notice)
    return visit.choice


def resolved() -> Context:
    """What follows from the visitor's choice."""
    return resolve(current())


def released() -> Choice:
    """The choice as it was when no control of the figure moved.

    Whoever wants its canonical fit does not start one for each place that a slider is
    dragged over.
    """
    return get().live.released or current()


def _notify(notice: str) -> None:
    """Show a sentence once, whoever says it."""
    notices = get().notices
    if notice not in notices:
        notices.append(notice)


def note_compared(table: str, kind: str, settings: Iterable[str]) -> None:
    """Note what a visitor could choose among: the report says among how many."""
    get().compared.setdefault(table, set()).update((kind, one) for one in settings)


def choose(choice: Choice) -> bool:
    """Make this the visitor's choice, with a method that can learn its data.

    Returns whether it is: data that cannot be had are not chosen, and a notice says
    why.
    """
    try:
        resolve(choice)
    except SmpcoreError as error:
        _notify(str(error))
        return False
    try:
        choice, left_out = validated(choice)
    except SmpcoreError:  # its data have no question: the page that needs them says so
        left_out = []
    put(choice)
    get().notices.extend(left_out)
    return True


def put(choice: Choice) -> None:
    """Make this the visitor's choice; it can learn its data.

    How often a test part was opened is never taken back.
    """
    visit = get()
    opened = dict(Counter(visit.choice.opened) | Counter(choice.opened))
    visit.choice = replace(choice, opened=opened)
    if choice.data not in (MINE, *BUNDLED):
        visit.fetched.add(choice.data)


def choose_data(choice: Choice) -> None:
    """Make this the visitor's choice, of data that its values were not chosen for."""
    if not choose(choice):
        return
    try:
        context, changes = resolved().clip_to_ranges(())
    except SmpcoreError:  # the page that needs these data says what is wrong
        return
    choose(context.choice)
    get().notices.extend(changes)


def select_rows(dataset: Dataset, rows: np.ndarray) -> None:
    """Light rows of a table, by their places in it, up on Explore."""
    get().live.selected = {dataset.digest: rows.tolist()}


def are_selected(dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    """Which of some rows, by their places in a table, are selected there or here."""
    return np.isin(rows, get().live.selected.get(dataset.digest, ()))


def turn_to(page: str) -> None:
    """Note which page runs; what another one was to save is not wanted any more."""
    visit = get()
    if page != visit.page:
        visit.page, visit.file, visit.dialog = page, OutgoingFile(), ""


def take_notices() -> list[str]:
    """Sentences to show once."""
    visit = get()
    notices, visit.notices = visit.notices, []
    return notices


def forget_results() -> None:
    """Leave what still runs for this visit, and forget what was found."""
    visit = get()
    for _, result in visit.results.values():
        if isinstance(result, Task):
            result.leave()
    visit.results.clear()
    visit.file = OutgoingFile()


def show_address(choice: Choice) -> None:
    """Write choice and controls into the address bar, where it may not have them."""
    visit = get()
    wanted = links.write_url(choice) | links.write_controls(visit.widget_texts)
    wanted |= {"present": "1"} if visit.live.present else {}
    if run := visit.lesson:  # a reload comes back to it
        wanted |= run.link
    is_new = visit.address != wanted
    # What was written and not answered yet may come to the browser after Back, and take
    # the place of the address that Back led to.
    is_late = is_new and visit.address and not visit.has_address
    if is_late or st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)
        visit.has_address = False
    elif is_new:
        visit.has_address = True
    visit.address = wanted


def read_address() -> None:
    """Notice that the browser has what was written last.

    To be called where a run begins: later the parameters are what it has written.
    """
    if is_new():  # nothing was written; what is kept of a visit comes later
        return
    visit = get()
    if not visit.has_address:  # or it goes on having it
        visit.has_address = st.query_params.to_dict() == visit.address


def was_address_left() -> bool:
    """Whether Back or Forward led to another address.

    Streamlit forgets it where a message of the page comes before it has begun with
    that. But once the browser had an address, it has another one for no other reason.
    """
    visit, query = get(), st.query_params.to_dict()
    has_moved = visit.has_address and "data" in query and query != visit.address
    return has_moved or visitors.came_by_history()
