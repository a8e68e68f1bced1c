"""What a class has answered, as files: every answer, and a summary to print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import lesson_run, session
from pages.state.lesson_files import Question
from pages.ui.elements import download
from pages.work.classes import Classroom, Vote
from smpcore.datasets import as_csv, plain_number
from smpcore.readouts import Section, number_text
from smpcore.report import printed

#: What stands where a number does not exist.
NONE = "–"
COLUMNS = [
    *("time", "lesson", "step", "question", "right answer", "present", "gain"),
    *("student", "vote", "answer", "is right"),
]


@dataclass(frozen=True)
class QuestionResult:
    """A question that a class has answered.

    Parameters
    ----------
    lesson, step, text, right : str
        Titles of both, the question, and its right answer in words.
    votes : sequence of Vote
    correct : sequence of bool
        Whether each of them is right.
    """

    lesson: str
    step: str
    text: str
    right: str
    votes: Sequence[Vote]
    correct: Sequence[bool]

    @property
    def n_present(self) -> int:
        """Students who were there when the last ones answered."""
        return max(vote.n_present for vote in self.votes)

    def answers(self, number: int) -> dict[str, bool]:
        """Student -> whether the answer of the vote of a number is right."""
        both = zip(self.votes, self.correct, strict=True)
        return {vote.student: right for vote, right in both if vote.vote == number}

    def changes(self, before: bool, after: bool) -> int:
        """How many students were right, or wrong, before and after the discussion."""
        first, second = self.answers(1), self.answers(2)
        pairs = ((first[one], second[one]) for one in first.keys() & second.keys())
        return sum(pair == (before, after) for pair in pairs)

    @property
    def gain(self) -> float | None:
        """(after - before) / (1 - before), of the shares that are right."""
        shares = [[*self.answers(number).values()] for number in (1, 2)]
        if not all(shares):
            return None
        before, after = map(np.mean, shares)
        return None if before == 1 else float((after - before) / (1 - before))


def question_results(classroom: Classroom) -> list[QuestionResult]:
    """Every question that was answered, in the order of the first answers."""
    votes: dict[tuple[int, int], list[Vote]] = {}
    for vote in [*classroom.votes]:  # students answer meanwhile
        votes.setdefault((vote.lesson, vote.step), []).append(vote)
    return [_question_result(classroom, *place, sent) for place, sent in votes.items()]


def _question_result(
    classroom: Classroom, number: int, at: int, votes: list[Vote]
) -> QuestionResult:
    lesson = classroom.lessons[number]
    run = lesson_run.Run(lesson, session.get().choice, at=at)
    try:
        values, correct = run.readouts(), []
        for vote in votes:
            run.answers[at] = vote.answer
            correct.append(run.is_right(values))
    finally:
        run.forget_drawings()
    question, right = run.question, run.right(values)
    right = [right] if question.number else right
    text = lesson_run.filled(question.text, values, is_shown=False)
    right = "; ".join(str(written(question, one)) for one in right)
    step = f"{at + 1}. {run.step.title}"
    return QuestionResult(lesson.title, step, text, right, votes, correct)


def written(question: Question, answer: Any) -> Any:
    """An answer as a cell of a table: a number stays one."""
    if question.choices:
        return question.choices[answer].text
    if question.point:
        return "({}, {})".format(*(plain_number(value) for value in answer))
    return int(answer) if answer == round(answer) else answer


def as_table(classroom: Classroom) -> bytes:
    """Every answer as CSV, by pseudonym, with what is known of its question."""
    rows = []
    for one in question_results(classroom):
        gain = NONE if one.gain is None else one.gain
        for vote, is_right in zip(one.votes, one.correct, strict=True):
            at = pd.Timestamp(vote.time, unit="s").isoformat(timespec="seconds")
            question = classroom.lessons[vote.lesson].steps[vote.step].question
            about = one.text, one.right, one.n_present, gain
            answer = written(question, vote.answer), "yes" if is_right else "no"
            sent = vote.student, vote.vote, *answer
            rows.append((f"{at}Z", one.lesson, one.step, *about, *sent))
    return as_csv(pd.DataFrame(rows, columns=COLUMNS, dtype=object))


def summary(classroom: Classroom) -> str:
    """A page to print: each question, and how the class has answered it."""
    parts = [_part(classroom, one) for one in question_results(classroom)]
    words = (
        "Gain is (after - before) / (1 - before), of the shares of right answers in "
        f"both votes; {NONE} where all were right before, or there was one vote only."
    )
    return printed(Section(f"Class {classroom.code}", [words, *parts]))


def _part(classroom: Classroom, one: QuestionResult) -> Section:
    numbers = {"present": one.n_present}
    for number in 1, 2:
        right = [*one.answers(number).values()]
        numbers[f"right in vote {number}"] = f"{sum(right)} of {len(right)}"
    numbers["wrong to right"] = one.changes(False, True)
    numbers["right to wrong"] = one.changes(True, False)
    numbers["gain"] = NONE if one.gain is None else number_text(one.gain, "")
    lines = _counted(classroom, one.votes)
    blocks = [one.text, f"Right: {one.right}", [numbers], lines]
    return Section(f"{one.lesson}: {one.step}", blocks)


def _counted(classroom: Classroom, votes: Sequence[Vote]) -> list[Mapping[str, Any]]:
    """How often each answer was given, by vote."""
    counts: dict[str, dict[str, int]] = {}
    for vote in votes:
        question = classroom.lessons[vote.lesson].steps[vote.step].question
        line = counts.setdefault(
            str(written(question, vote.answer)), {"vote 1": 0, "vote 2": 0}
        )
        line[f"vote {vote.vote}"] += 1
    return [{"answer": answer} | line for answer, line in counts.items()]


def offer(classroom: Classroom, place: str) -> None:
    """Buttons for both files."""
    with st.container(horizontal=True):
        csv, page = partial(as_table, classroom), partial(summary, classroom)
        download("All answers as CSV", csv, "answers.csv", key=f"class_csv_{place}")
        download("Summary to print", page, "class.html", key=f"class_sheet_{place}")
