"""Classes that take a lesson together: who is at which step, and what was answered.

A class is found by a code and lives in memory: counts and answers, no names. It is
forgotten when its teacher ends it, or hours after its last student came.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import cachetools

from pages.work.visitors import is_here, visitor
from smpcore import SmpcoreError

#: A class that nobody joins any more is forgotten after so long.
KEEP_SECONDS = 4 * 3600
#: Classes at once, and students of one: beyond any that one server bears.
MOST_CLASSES, MOST_STUDENTS = 200, 500
#: Signs of a code: none of them is taken for another one.
SIGNS, LENGTH = "23456789ABCDEFGHJKMNPQRSTUVWXYZ", 6
#: A wrong code is answered after so long: codes cannot be tried in numbers.
WRONG_SECONDS = 1.0


@dataclass(eq=False)
class Student:
    """One visit that takes part; what it does counts until the class ends.

    Parameters
    ----------
    classroom : Classroom
    tab : str
        The browser tab, to see whether it is still there.
    browser : str
        Whose tab it is, by a cookie: it may come back. Empty: nobody knows.
    step : int
        Where the student is.
    left : bool
        Whether the student has left the lesson.
    answers : dict
        Step -> answer: a number, the place of a choice, or a point.
    reached : set of int
        Steps whose task is done.
    """

    classroom: Classroom
    tab: str
    browser: str = ""
    step: int = 0
    left: bool = False
    answers: dict[int, Any] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)

    @property
    def is_here(self) -> bool:
        """Whether the tab still takes the lesson."""
        return not self.left and is_here(self.tab)


@dataclass(frozen=True)
class Counts:
    """A class at one moment.

    Parameters
    ----------
    n_here : int
    steps : Counter
        Step -> students there.
    answers : dict
        Step -> answers, those of students who have left included.
    reached : Counter
        Step -> students who have done its task.
    """

    n_here: int
    steps: Counter[int]
    answers: dict[int, list[Any]]
    reached: Counter[int]


class Classroom:
    """A lesson that a class takes.

    Parameters
    ----------
    lesson : Lesson
    teacher : str
        Browser that may see the counts and end the class; empty: this visit only.
    """

    def __init__(self, lesson: Any, teacher: str) -> None:
        self.lesson, self.teacher = lesson, teacher
        self.code = "".join(secrets.choice(SIGNS) for _ in range(LENGTH))
        self.has_ended = False
        self._students: list[Student] = []
        self._lock = threading.Lock()

    def join(self, browser: str = "") -> Student:
        """Let the visit take part; a browser that comes back goes on where it was.

        Parameters
        ----------
        browser : str

        Raises
        ------
        SmpcoreError
            If the class is full.
        """
        with self._lock:
            for student in self._students if browser else ():
                if student.browser == browser and not student.is_here:
                    student.tab, student.left = visitor(), False
                    return student
            if len(self._students) >= MOST_STUDENTS:
                raise SmpcoreError(
                    f"The class {self.code} has {MOST_STUDENTS} students, which is the "
                    "most; take the lesson alone on Lessons."
                )
            student = Student(self, visitor(), browser)
            self._students.append(student)
        return student

    def counts(self) -> Counts:
        """Count who is here, where, and what was answered."""
        with self._lock:
            students = list(self._students)
        here = [student for student in students if student.is_here]
        answers: dict[int, list[Any]] = {}
        for student in students:
            for step, value in dict(student.answers).items():
                answers.setdefault(step, []).append(value)
        return Counts(
            n_here=len(here),
            steps=Counter(student.step for student in here),
            answers=answers,
            reached=Counter(step for one in students for step in set(one.reached)),
        )

    def teach(self, lesson: Any) -> None:
        """Go on with another lesson; counts and answers begin anew."""
        with self._lock:
            self.lesson = lesson
            self._students.clear()

    def forget(self) -> None:
        """End the class: its students go on alone."""
        with self._lock:
            self.has_ended = True
            self._students.clear()


class _Classes(cachetools.TTLCache):
    """Classes by code; those that are dropped have ended."""

    def popitem(self) -> tuple[str, Classroom]:
        """Drop the class that is nearest to its end, for a new one."""
        code, classroom = super().popitem()
        classroom.forget()
        return code, classroom

    def expire(self, time: float | None = None) -> list[tuple[str, Classroom]]:
        """Drop classes that nobody has joined for long."""
        dropped = super().expire(time)
        for _, classroom in dropped:
            classroom.forget()
        return dropped


_classes = _Classes(MOST_CLASSES, KEEP_SECONDS)
_lock = threading.Lock()


def start(lesson: Any, teacher: str) -> Classroom:
    """Begin a class; one that this browser has begun before ends.

    Parameters
    ----------
    lesson : Lesson
    teacher : str
        See `Classroom`.
    """
    if before := taught_by(teacher):
        end(before)
    classroom = Classroom(lesson, teacher)
    with _lock:
        _classes[classroom.code] = classroom
    return classroom


def find(code: str) -> Classroom:
    """The class with a code as a student types it.

    Raises
    ------
    SmpcoreError
        If there is none, after a while.
    """
    name = "".join(code.upper().split())
    with _lock:
        _classes.expire()
        classroom = _classes.get(name)
        if classroom is not None:
            _classes[name] = classroom  # its time begins anew
            return classroom
    time.sleep(WRONG_SECONDS)
    raise SmpcoreError(
        "There is no class with this code: check its six signs, or ask your teacher "
        "whether the class has ended."
    )


def taught_by(teacher: str) -> Classroom | None:
    """The class that a browser has begun."""
    with _lock:
        _classes.expire()
        classes = list(_classes.values()) if teacher else []
    return next((one for one in classes if one.teacher == teacher), None)


def end(classroom: Classroom) -> None:
    """Forget a class with all its counts and answers."""
    with _lock:
        _classes.pop(classroom.code, None)
    classroom.forget()
