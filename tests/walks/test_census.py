"""Every control of every page in every state that shows other ones is pressed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest

from smpcore import METHODS, list_datasets, load_dataset
from tests import attempts
from tests.walks import tables
from tests.walks.visit import PAGES, Control, Visit

#: What is not pressed here, with the reason. Anything else that is not pressed fails.
EXCEPTIONS = {
    "toolbar": "the framework's own toolbar of a table",
    "chart": "Plotly's own toolbar of a chart",
    "help": "shows its text when it is pointed at",
    "code": "the framework's own button that copies code",
    "list": "opens a list: walks choose from lists",
    "picker": "opens the system's file dialog: walks upload files",
    "frame": "the framework's bar of pages and its menu",
}
#: There only while something lasts: pressed where it is met, and by walks.
_PASSING = re.compile(
    r"^(Stop|Cancel|Saved|Link copied|(‖ )?Pause( the fit)?|30 s|[1-5] min)$"
)
#: Pressed late: what they close, or where they lead to, hides other controls.
_CLOSING = re.compile(r"^(Close|Back|Hide|Stop|Remove|Clear|Predict )")
_LEAVING = re.compile(
    r"^(Delete|Leave|End|Forget|Reset all|Present|Start|Take the tour|Teach|Use this"
    r"|Join)"
)
#: The same in every state of a page: pressed in its first one.
_ALIKE = re.compile("^(Save and open|Take the tour|Present|Copy link)$")
_RANKS = ("expander", "link", "button", "checkbox", "switch", "radio", "tab")
#: Rows of a list repeat a control: so many of one name are pressed.
_OF_ONE_NAME = 2
#: Rounds at most, and those that may lead to nothing new: a page that is
#: slow to come has not yet what is looked for.
_ROUNDS, _IDLE = 12, 3


Key = tuple[str, str, int]


@dataclass(frozen=True)
class State:
    """A page as a visitor comes to it.

    Parameters
    ----------
    page : str
        Its title.
    query : str
        Of the address; empty: what the file or the preparation left.
    bring : callable, optional
        What a visitor does first, with an own table or a lesson.
    """

    page: str
    query: str = ""
    bring: Callable[[Visit], None] | None = None

    @property
    def name(self) -> str:
        """For the record."""
        own = [self.bring.__name__] if self.bring else []
        return " ".join([self.page, *([self.query] if self.query else []), *own])

    def reach(self, visit: Visit) -> None:
        """Come to it from outside."""
        visit.state = self.name
        if self.bring:
            self.bring(visit)
        else:
            visit.open(f"{PAGES[self.page]}?{self.query}")
        if self.is_left(visit):
            visit.go(self.page)
        # Stopped, as it may be where it lasts, it would leave a page without controls.
        for _ in attempts():
            if "Fitting the model:" not in visit.text():
                break
            visit.rest()

    def is_left(self, visit: Visit) -> bool:
        """Whether the visitor has gone to another page or other data."""
        url = urlsplit(visit.page.url)
        if url.path.strip("/") != PAGES[self.page]:
            return True
        wanted, now = parse_qs(self.query), parse_qs(url.query)
        names = {"data", "method"} & {*wanted}
        return any(wanted[name] != now.get(name, wanted[name]) for name in names)


def saving(visit: Visit) -> None:
    """Open the dialog that saves and opens, which every page has."""
    visit.open("lessons").click("button", "Save and open")


def learning(visit: Visit) -> None:
    """Begin a lesson."""
    visit.open("lessons")
    visit.click("button", "Start", nth=1)


def teaching(visit: Visit) -> None:
    """Begin a class, if there is none yet."""
    visit.open("lessons")
    if "Class: " not in visit.text():
        visit.click("button", "Teach a class")


_OWN = (tables.clinic, tables.followed)
#: A cover of pages x methods and of pages x kinds of data.
STATES = [
    *(
        State("Explore", f"data={data}&method={key}")
        for data, key in (
            *(("moons&d.n_samples=60", "imkpl"), ("iris", "smp"), ("digits", "smp")),
            *(("wine", "mprotsvm"), ("series", "smallk"), ("sine", "supersparse")),
            ("words", "supersparse"),
        )
    ),
    *(State("Explore", bring=bring) for bring in (tables.clinic, learning)),
    *(State("Data", f"data={data}") for data in ("moons", "words", "similarities")),
    *(State("Data", bring=bring) for bring in (*_OWN, tables.series)),
    *(
        State("Prototypes", f"data={data}&method={key}")
        for data, key in (
            *(("digits", "smp"), ("iris", "imkpl"), ("diabetes", "supersparse")),
            *(("iris", "smallk"), ("breast_cancer", "mprotsvm"), ("series", "smp")),
            *(("words", "supersparse"), ("similarities", "imkpl")),
        )
    ),
    State("Prototypes", bring=tables.clinic),
    State("Compare", "data=moons"),
    State("Compare", bring=tables.clinic),
    State("Trade-off", "data=moons"),
    State("Trade-off", "data=diabetes"),
    State("Performance", "data=iris"),
    State("Performance", "data=diabetes"),
    State("Performance", bring=tables.clinic),
    State("Apply", bring=tables.new_rows),
    State("Export", "data=breast_cancer&method=smp"),
    State("Export", "data=iris&method=imkpl"),
    State("Lessons", ""),
    *(State("Lessons", bring=bring) for bring in (teaching, saving)),
    State("Papers", ""),
    State("Guide", ""),
]
#: Each bundled table with each method that learns it.
LEARNED = [
    f"data={info.key}&method={key}"
    for info in list_datasets()
    for dataset in [load_dataset(info.key)]
    for key, method in METHODS.items()
    if method.learns(dataset, info.task)
]
#: Every page about a model, with every method and each bundled table that it learns.
PRODUCT = [
    *(State("Explore", bring=bring) for bring in (tables.followed, saving)),
    *(
        state
        for page in PAGES
        if page not in ("Data", "Lessons", "Papers", "Guide")
        for query in LEARNED
        if (state := State(page, query)) not in STATES
    ),
]


def _rank(control: Control, place: int) -> tuple[int, int]:
    """Folds first, then downloads and buttons; what changes the page comes last."""
    if control.kind == "open":  # a press would hide what is in it
        return len(_RANKS), place
    for more, pattern in enumerate((_CLOSING, _LEAVING)):
        if pattern.match(control.name):
            return len(_RANKS) + more, place
    rank = _RANKS.index(control.role) if control.role in _RANKS else 2
    # Of tabs and choices the inner ones first: they stand behind the outer ones.
    return rank, -place if control.role in ("radio", "tab") else place


class Census:
    """The controls of one state: which were seen, behind what, and which pressed.

    Parameters
    ----------
    visit : Visit
    state : State
    """

    def __init__(self, visit: Visit, state: State) -> None:
        self.visit, self.state = visit, state
        self.pressed: set[Key] = set()
        #: Those that had gone when they were to be pressed: they have a second chance.
        self.missed: set[Key] = set()
        #: Control -> what was pressed when it was seen first; None at the beginning.
        self.behind: dict[Key, Key | None] = {}

    def run(self) -> None:
        """Press one control after the other until none is left."""
        n_idle = 0
        for _ in range(_ROUNDS):
            self.state.reach(self.visit)
            n_before = len(self.pressed)
            self._press_what_is_there()
            for key in self.left:
                if key not in self.pressed and not self.state.is_left(self.visit):
                    self._open_the_way(key)
                    self._press_what_is_there()
            # What it stands behind is a guess: it may have been late to come.
            if self.left and n_idle and len(self.pressed) == n_before:
                self._press_behind_folds()
                self._press_behind_each_choice()
            n_idle = n_idle + 1 if len(self.pressed) == n_before else 0
            if not self.left or n_idle == _IDLE:
                break
        self._report()

    @property
    def left(self) -> list[Key]:
        """Controls that were seen and not pressed."""
        return [
            key
            for key in self.behind
            if key not in self.pressed and not _PASSING.match(key[1])
        ]

    def _open_the_way(self, key: Key | None) -> None:
        """Press again what a control stands behind."""
        way = []
        while key is not None and (key := self.behind[key]) is not None:
            way.append(key)
        for key in reversed(way):
            there = {c.key: c for c in self.visit.controls() if c.visible}
            if key in there and not self.state.is_left(self.visit):
                self.visit.press(there[key])

    def _press_behind_each_choice(self) -> None:
        """Press what is left behind any choice, wherever it was seen first."""
        for key in [key for key in self.pressed if key[0] in ("radio", "tab")]:
            there = {c.key: c for c in self.visit.controls() if c.visible}
            is_to_press = key in there and there[key].enabled and self.left
            if is_to_press and not self.state.is_left(self.visit):
                self.visit.press(there[key])
                self._press_what_is_there()

    def _is_to_press(self, control: Control) -> bool:
        is_first = self.state is next(s for s in STATES if s.page == self.state.page)
        is_said_off = control.place in EXCEPTIONS or not control.enabled
        return not is_said_off and (is_first or not _ALIKE.match(control.name))

    def _is_off(self, control: Control) -> bool:
        """Whether it cannot be pressed any more, and shows it."""
        found = [c for c in self.visit.controls() if c.key == control.key]
        return bool(found) and not found[0].enabled

    def _due(self) -> list[tuple[tuple, Control]]:
        return [
            (_rank(control, place), control)
            for place, control in enumerate(self.visit.controls())
            if control.visible and self._is_to_press(control)
            if control.key not in self.pressed and control.nth < _OF_ONE_NAME
        ]

    def _press_what_is_there(self) -> None:
        last: Key | None = None
        while not self.state.is_left(self.visit):
            due = self._due()
            new = {c.key for _, c in due} - {*self.behind}
            self.behind |= dict.fromkeys(new, last)
            if due:
                # What has just come may go again: of its rank it is the first.
                _, control = min(
                    due, key=lambda d: (d[0][0], d[1].key not in new, d[0])
                )
                self.pressed.add(last := control.key)
                passes = _PASSING.match(control.name)
                if self.visit.press(control) or passes or self._is_off(control):
                    continue
                if last in self.missed:
                    self.visit.found("it has gone before it could be pressed")
                else:
                    self.missed.add(last)
                    self.pressed.discard(last)
            elif not self._closed_dialog():
                return

    def _closed_dialog(self) -> bool:
        """Leave an open dialog, all of whose controls were pressed."""
        page = self.visit.page
        if not page.evaluate("() => speWatch.dialog()"):
            return False
        page.keyboard.press("Escape")
        self.visit.rest()
        return not page.evaluate("() => speWatch.dialog()")

    def _press_behind_folds(self) -> None:
        """Open folds that were shut since."""
        for control in self.visit.controls():
            if control.role == "expander" and control.visible and not control.kind:
                self.visit.press(control)
        self._press_what_is_there()

    @property
    def _unseen(self) -> list[Control]:
        """Controls in the document of which none of that name was pressed."""
        names = {key[:2] for key in self.pressed}
        return [
            control
            for control in self.visit.controls()
            if self._is_to_press(control) and not _PASSING.match(control.name)
            if control.key[:2] not in names
        ]

    def _report(self) -> None:
        if self.state.is_left(self.visit):
            self.state.reach(self.visit)
        if self._unseen:
            self._press_behind_folds()
        self.visit.doing = "the end"
        for role, name, nth in self.left:
            self.visit.found(f"never pressed: {role} {name!r} ({nth + 1})")
        if self.state.is_left(self.visit):
            self.state.reach(self.visit)
        for control in self._unseen:
            self.visit.found(f"in the document, but never to be seen: {control}")


#: States of `tests/run --all`: long ones, whose controls others press too, and those of
#: Performance, whose sections were once not found again on a busy machine.
LONG = {
    *("Performance data=iris", "Performance data=diabetes", "Performance clinic"),
    *("Lessons saving",),
    *("Explore clinic", "Explore learning", "Explore data=series&method=smallk"),
    "Explore data=digits&method=smp",
    *("Explore data=words&method=supersparse", "Prototypes data=series&method=smp"),
    *("Prototypes data=iris&method=imkpl", "Lessons teaching"),
}


def _cells() -> list:
    """Every state, for workers in turns; what `tests/run --all` adds is marked."""
    cells, turns = [], Counter()
    for state in (*STATES, *PRODUCT):
        late = state in PRODUCT or state.name in LONG
        marks = [pytest.mark.xdist_group(f"walks {turns[late] % 2}")]
        marks += [pytest.mark.exhaustive] * late
        cells.append(pytest.param(state, marks=marks, id=state.name))
        turns[late] += 1
    return cells


@pytest.mark.parametrize("state", _cells())
def test_every_control_can_be_pressed(visit, state):
    Census(visit, state).run()
    if path := os.environ.get("CENSUS"):
        with open(path, "a", encoding="utf-8") as file:
            for where, control in visit.pressed:
                file.write(f"{where}\t{control}\n")
            for line in visit.findings:
                file.write(f"FOUND\t{line}\n")
