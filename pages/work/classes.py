"""Classes that take a lesson together: who is at which step, and what was answered.

A class is found by a code and lives in memory: counts and answers, no names. It is
forgotten when its teacher ends it, or hours after its last student came. Where the
operator has a store it outlives the server there, under its long code, and several
servers share it. While it is
held together, its teacher opens each question, has the class vote again after it has
discussed, and shows the answer; the students' pages look whether they have to follow.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pages.work import disk_store, packing
from pages.work.broadcast import Broadcast
from pages.work.store import Store
from pages.work.visitors import address, is_here, visitor
from smpcore import SmpcoreError

log = logging.getLogger(__name__)

#: A class that nobody joins any more is forgotten after so long.
KEEP_SECONDS = 4 * 3600
#: Classes at once, those of one address, and students of one: beyond any that one
#: server bears.
MOST_CLASSES, MOST_OF_ADDRESS, MOST_STUDENTS = 200, 40, 500
#: Signs of a code that is typed: none of them is taken for another one. Who tries 1,000
#: codes a second for as long as a class is kept, more than a server can answer, finds a
#: given one with a chance of 1 in 45,000 (14.4 million of 30 ** 8).
SIGNS, LENGTH = "23456789ABCDEFGHJKMNPQRSTUVWXYZ", 8
#: So many wrong codes of one address in a minute slow no other one, as a school has one
#: address; each further one adds so many seconds to what the next code waits, up to a
#: most. Who is where the class is already taught or taken does not wait.
FREE_WRONG, SECONDS_EACH, MOST_SECONDS = 20, 0.25, 5.0
#: So many wrong codes of one address in a minute are logged.
MANY_WRONG = 60
#: Stages of a question, and those in which the class answers it.
CLOSED, FIRST_VOTE, SECOND_VOTE, SHOWN = range(4)
VOTES = (FIRST_VOTE, SECOND_VOTE)
#: Seconds that a teacher may leave for a vote.
TIMES = (30, 60, 120, 180, 300)


#: Another word for each server that shares the store.
_SERVER = secrets.token_hex(8)
#: How often a server says in the store which students it has.
BEAT_SECONDS = 4.0
#: Names in the store: of a class under its long code, of that under the typed one.
_CLASS, _LINK = "class", "link"
_LINK_CODE = re.compile(r"[\w-]{16}", re.ASCII)


@dataclass(eq=False)
class Student:
    """One visit that takes part; what it does counts until the class ends.

    Its browser is known by a cookie, so that it may come back in another tab. A wall
    and the teacher follow the class too, and count as nobody.

    Parameters
    ----------
    name : str
        Its pseudonym in results; empty for who counts as nobody.
    server, seen : str, float
        Where its tab is connected, and when it last was, by the clock on the wall.
    answers, second : dict
        Step -> answer of the first vote, and of the one after the discussion.
    """

    classroom: Classroom
    tab: str
    browser: str = ""
    name: str = ""
    server: str = field(default_factory=lambda: _SERVER)
    seen: float = 0.0
    step: int = 0
    left: bool = False
    answers: dict[int, Any] = field(default_factory=dict)
    second: dict[int, Any] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)

    @property
    def is_here(self) -> bool:
        """Whether the tab still takes the lesson."""
        if self.server != _SERVER:
            return not self.left and self.seen > time.time() - 3 * BEAT_SECONDS
        return not self.left and is_here(self.tab)

    def leave(self) -> None:
        """Leave the lesson, unless it goes on in a later tab of the same browser."""
        self.left = self.tab == visitor()


@dataclass(frozen=True)
class Counts:
    """Who is at which step of a class now; answers also of those who have left."""

    n_here: int
    steps: Counter[int]
    answers: dict[int, list[Any]]
    second: dict[int, list[Any]]
    reached: Counter[int]


@dataclass(frozen=True)
class Vote:
    """An answer as it came.

    Parameters
    ----------
    lesson : int
        Which one of the lessons of the class.
    step, vote : int
    student : str
        Pseudonym of who sent it.
    n_present : int
        Students who were there.
    """

    time: float
    lesson: int
    step: int
    vote: int
    answer: Any
    student: str
    n_present: int


class _StoredStudent(NamedTuple):
    browser: str
    name: str
    server: str
    seen: float
    step: int
    left: bool
    answers: dict[int, Any]
    second: dict[int, Any]
    reached: set[int]


class _Stored(NamedTuple):
    """A class as the store has it, its timer by the clock on the wall."""

    lessons: list[bytes]
    teacher: str
    code: str
    link_code: str
    is_held: bool
    at: int
    turns: int
    changes: int
    closes_at: float | None
    stages: dict[int, int]
    votes: list[Vote]
    students: list[_StoredStudent]


class Classroom:
    """A lesson that a class takes.

    Its teacher is a browser, which may see the counts and end the class; empty: this
    visit only. `turns` counts how often the teacher has moved all students to `at`.
    """

    def __init__(self, lesson: Any, teacher: str) -> None:
        #: All that it has taken; the last one goes on.
        self.lessons, self.teacher = [lesson], teacher
        self.is_held, self.at, self.turns, self._changes = True, 0, 0, 0
        self._closes_at: float | None = None
        self._answered = 0
        self.votes: list[Vote] = []
        self._stages: dict[int, int] = {}
        self.tab, self.address = visitor(), address()
        self.code = "".join(secrets.choice(SIGNS) for _ in range(LENGTH))
        #: What its link has in place of the code, too long to be guessed.
        self.link_code = secrets.token_urlsafe(12)
        #: Addresses of its teacher and its students.
        self.addresses = {self.address}
        self.has_ended = self._is_led = False
        #: Pictures that the figures of the class show in place of their own.
        self.broadcast = Broadcast()
        self._students: list[Student] = []
        self._names: set[str] = set()
        self._lock, self._beat_at = threading.Lock(), 0.0

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Change the class, as another server may have left it, and store it."""
        with self._lock, disk_store.exclusive(_CLASS, self.link_code) as item:
            if item and item.content:
                self._take_over(packing.unpack(item.content, _Stored))
            yield
            if item:
                item.content = packing.pack(self._stored())

    def _stored(self) -> _Stored:
        self._beat_at = now = time.time()
        for one in self._students:
            one.seen = now if one.server == _SERVER and one.is_here else one.seen
        names = _StoredStudent._fields
        students = (vars(one) for one in self._students)
        timer, late = self._closes_at, time.time() - time.monotonic()
        return _Stored(
            [packing.pack(one) for one in self.lessons],
            self.teacher,
            self.code,
            self.link_code,
            self.is_held,
            self.at,
            self.turns,
            self._changes,
            timer and timer + late,
            self._stages,
            self.votes,
            [_StoredStudent(*map(one.get, names)) for one in students],
        )

    def _take_over(self, stored: _Stored) -> None:
        """Go on as another server has left the class."""
        kind, late = type(self.lesson), time.time() - time.monotonic()
        new = stored.lessons[len(self.lessons) :]
        self.lessons += [packing.unpack(one, kind) for one in new]
        self.is_held, self.at, self.turns = stored.is_held, stored.at, stored.turns
        timer, self._changes = stored.closes_at, stored.changes
        self._closes_at = timer and timer - late
        self._stages, self.votes = stored.stages, stored.votes
        here = {one.name: one for one in self._students}
        self._students = []
        for known in stored.students:
            student = here.get(known.name) or Student(self, "")
            begun = {"answers": known.answers, "second": known.second}
            for name, answers in begun.items():
                if new:  # who takes the lesson before goes on with its answers
                    setattr(student, name, answers)
                else:
                    getattr(student, name).update(answers)
            if new or known.name not in here or known.server != _SERVER:
                others = known._asdict().keys() - begun.keys()
                vars(student).update({name: getattr(known, name) for name in others})
            self._students.append(student)
        self._names |= {one.name for one in self._students}

    def refresh(self) -> None:
        """Read what other servers have changed, and say now and then who is here."""
        if disk_store.is_stale(_CLASS, self.link_code):
            if (data := disk_store.get(_CLASS, self.link_code)) is None:
                return _classes.pop(self.code)  # another server has ended it
            with self._lock:
                self._take_over(packing.unpack(data, _Stored))
        if self._beat_at and self._beat_at < time.time() - BEAT_SECONDS:
            with self._change():
                pass  # what is stored says it
        return None

    @property
    def lesson(self) -> Any:
        """The lesson that goes on."""
        return self.lessons[-1]

    def join(self, browser: str = "") -> Student:
        """Let the visit take part; a browser that comes back goes on where it was.

        A browser takes part once, also in several tabs; its teacher's follows only. In
        a full class, who has left makes room, those with the fewest answers first.
        """
        if browser and browser == self.teacher:
            return self.watch()
        with self._change():
            self.addresses.add(address())
            if student := self._student_of(browser):
                student.tab, student.left, student.server = visitor(), False, _SERVER
                return student
            if len(self._students) >= MOST_STUDENTS:
                gone = [student for student in self._students if not student.is_here]
                if not gone:
                    raise SmpcoreError(
                        f"The class {self.code} has {MOST_STUDENTS} students, which is "
                        "the most; take the lesson alone on Lessons."
                    )
                self._students.remove(min(gone, key=lambda one: len(one.answers)))
            student = Student(self, visitor(), browser, self._new_name())
            self._students.append(student)
        return student

    def _new_name(self) -> str:
        """A pseudonym that says nothing, nor who came first."""
        while (name := f"S{secrets.randbelow(900_000) + 100_000}") in self._names:
            pass
        self._names.add(name)
        return name

    def watch(self) -> Student:
        """Let the visit follow the class, and count as nobody."""
        return Student(self, visitor())

    def _student_of(self, browser: str) -> Student | None:
        same = (one for one in self._students if browser and one.browser == browser)
        return next(same, None)

    @property
    def is_used(self) -> bool:
        """Whether its teacher is there, or a student."""
        with self._lock:
            students = list(self._students)
        return is_here(self.tab) or any(student.is_here for student in students)

    def counts(self) -> Counts:
        """Count who is here, where, and what was answered."""
        self.refresh()
        with self._lock:
            students = list(self._students)
        here = self._here()
        return Counts(
            n_here=len(here),
            steps=Counter(student.step for student in here),
            answers=_by_step(student.answers for student in students),
            second=_by_step(student.second for student in students),
            reached=Counter(step for one in students for step in set(one.reached)),
        )

    @property
    def seconds_left(self) -> float | None:
        """Until the vote closes; None if the class has all the time it wants."""
        if self._closes_at is None or not self.is_held:
            return None
        return max(0.0, self._closes_at - time.monotonic())

    @property
    def is_time_up(self) -> bool:
        """Whether the vote was closed by its timer."""
        return self.seconds_left == 0.0

    @property
    def changes(self) -> int:
        """Another number for all that pages of students have to show."""
        self.refresh()
        return 2 * self._changes + self.is_time_up

    @property
    def is_joining(self) -> bool:
        """Whether its teacher has not moved it yet, or lets everybody go on alone."""
        return not (self.is_held and self.turns)

    @property
    def is_led(self) -> bool:
        """Whether figures follow the teacher's, unless a student breaks away."""
        return self._is_led and self.is_held and not self.has_ended

    def lead(self, is_led: bool) -> None:
        """Have the figures of the class follow the teacher's, or not."""
        with self._change():
            self._is_led = is_led
            self._announce()

    def begins_answer(self) -> bool:
        """Whether the answer shown now was not begun on another screen."""
        with self._lock:
            is_first, self._answered = self._answered != self.turns, self.turns
        return is_first

    def _announce(self) -> None:
        """Have all pages look again; what was shown belongs to what was before."""
        self.broadcast.put()
        self._changes += 1

    def _here(self) -> list[Student]:
        return [student for student in [*self._students] if student.is_here]

    def stage(self, step: int) -> int:
        """How far the class is with the question of a step."""
        return self._stages.get(step, CLOSED)

    def take(self, student: Student, lesson: Any, step: int, answer: Any) -> bool:
        """Count an answer; False if it came too late.

        While a vote goes on it may be changed; who goes on alone knows what is right.
        """
        with self._change():
            stage = self.stage(step) if self.is_held else FIRST_VOTE
            is_over = self.is_time_up and step == self.at
            if lesson is not self.lesson or stage not in VOTES or is_over:
                return False
            sent = student.answers if stage == FIRST_VOTE else student.second
            if self.is_held or step not in sent:
                sent[step] = answer
                if student.name:
                    self._note(student.name, step, stage, answer)
        return True

    def _note(self, name: str, step: int, stage: int, answer: Any) -> None:
        """Note a vote in place of an earlier one of the same student."""
        place = len(self.lessons) - 1, step, stage, name
        for vote in self.votes:
            if (vote.lesson, vote.step, vote.vote, vote.student) == place:
                self.votes.remove(vote)
                break
        n_here = len(self._here())
        self.votes.append(Vote(time.time(), *place[:3], answer, name, n_here))

    def move(self, step: int, stage: int | None = None) -> None:
        """Bring all students to a step, and its question to a stage.

        The vote on a question that is left for a later step is closed: it is skipped.
        """
        with self._change():
            self._announce()
            if step > self.at and self.stage(self.at) in VOTES:
                self._stages[self.at] = CLOSED
            self.at, self.turns, self._closes_at = step, self.turns + 1, None
            if stage is not None:
                self._stages[step] = stage

    def close_in(self, seconds: float | None) -> None:
        """Close the vote in so many seconds; None: whenever its teacher goes on."""
        now = time.monotonic()
        with self._change():
            self._closes_at = None if seconds is None else now + seconds
            self._changes += 1

    def hold(self, is_held: bool) -> None:
        """Keep the class together, or let everybody go on alone."""
        with self._change():
            self.is_held = is_held
            self._announce()

    def teach(self, lesson: Any) -> None:
        """Go on with another lesson; counts begin anew."""
        with self._change():
            self._announce()
            self.lessons.append(lesson)
            self.at, self._stages, self._closes_at = 0, {}, None
            for one in self._students:
                one.step, one.answers, one.second, one.reached = 0, {}, {}, set()

    def forget(self) -> None:
        """End the class: its students go on alone."""
        with self._lock:
            self.has_ended = True
            self._students.clear()
        self._announce()


def _by_step(votes: Iterable[Mapping[int, Any]]) -> dict[int, list[Any]]:
    """Step -> the answers of all students to its question."""
    answers: dict[int, list[Any]] = {}
    for vote in votes:
        for step, value in dict(vote).items():  # students answer meanwhile
            answers.setdefault(step, []).append(value)
    return answers


_classes = Store(seconds=KEEP_SECONDS, dropped=Classroom.forget)
#: Address and minute -> how many wrong codes came.
_wrong = Store(10_000)
_lock = threading.Lock()


def start(lesson: Any, teacher: str) -> Classroom:
    """Begin a class; one that this browser has begun before ends."""
    if before := taught_by(teacher):
        end(before)
    classroom = Classroom(lesson, teacher)
    with _lock:
        _make_room(classroom.address)
        _classes.put(classroom.code, classroom)
    with classroom._change():
        link = classroom.link_code.encode()
        disk_store.put(_LINK, lambda: link, _stretched(classroom.code))
    return classroom


def _stretched(code: str) -> str:
    """A key from a code that is typed: to try all of them takes too long."""
    if not disk_store.opened() or len(code) != LENGTH or {*code} - {*SIGNS}:
        return "none"
    salt = b"a code that is typed"
    return hashlib.scrypt(code.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32).hex()


def by_link(link_code: str) -> Classroom | None:
    """The class on this server whose link has this in place of its code."""
    every = (one for one in _classes.values() if one.link_code == link_code)
    return next(every, None)


def bring(link_code: str, kind: type) -> Classroom | None:
    """The class with a long code, from the store if it has to be; None if none is."""
    if classroom := by_link(link_code):
        return classroom
    is_code = _LINK_CODE.fullmatch(link_code)
    if not (data := is_code and disk_store.get(_CLASS, link_code)):
        return None
    stored = packing.unpack(data, _Stored)
    classroom = Classroom(packing.unpack(stored.lessons[0], kind), stored.teacher)
    classroom.code, classroom.link_code = stored.code, stored.link_code
    with classroom._lock:
        classroom._take_over(stored)
    _classes.put(classroom.code, classroom)
    return classroom


def _make_room(begun_at: str) -> None:
    """End a class that nobody uses, where an address or the server has too many."""
    every = _classes.values()
    of_address = [one for one in every if one.address == begun_at]
    for known, most in (of_address, MOST_OF_ADDRESS), (every, MOST_CLASSES):
        if len(known) < most:
            continue
        left = next((one for one in known if not one.is_used), None)
        if left is None:
            log.warning("no class more: %d from %s", len(known), begun_at)
            raise SmpcoreError(
                f"{len(known)} classes are taught at the moment, which is the most; "
                "take the lesson alone, or begin the class later."
            )
        _classes.pop(left.code)
        return


def find(code: str, kind: type) -> Classroom:
    """The class with a code as a student types it, or as its link has it."""
    text = "".join(code.split())
    classroom = bring(text, kind) or _classes.get(text.upper())
    if classroom and (text == classroom.link_code or address() in classroom.addresses):
        return classroom
    tried_at = address(), _minute()
    n_wrong = _wrong.get(tried_at) or 0
    time.sleep(min(MOST_SECONDS, max(0, n_wrong - FREE_WRONG) * SECONDS_EACH))
    link = classroom or disk_store.get(_LINK, _stretched(text.upper()))
    if classroom := classroom or (link and bring(link.decode(), kind)):
        return classroom
    with _lock:
        n_wrong = (_wrong.get(tried_at) or 0) + 1
        _wrong.put(tried_at, n_wrong)
    if n_wrong == MANY_WRONG:
        log.warning("%d wrong codes of classes from %s", MANY_WRONG, tried_at[0])
    raise SmpcoreError(
        f"There is no class with this code: check its {LENGTH} signs, or ask your "
        "teacher whether the class has ended."
    )


def _minute() -> int:
    return int(time.monotonic() // 60)


def taught_by(teacher: str) -> Classroom | None:
    """The class that a browser has begun; its teacher is in this tab now."""
    classes = _classes.values() if teacher else []
    classroom = next((one for one in classes if one.teacher == teacher), None)
    if classroom is not None:
        classroom.tab = visitor()
    return classroom


def end(classroom: Classroom) -> None:
    """Forget a class with all its counts and answers."""
    _classes.pop(classroom.code)
    disk_store.delete(key=classroom.link_code)
    disk_store.delete(key=_stretched(classroom.code))
