"""A class by a code: what its teacher sees, and that it is forgotten."""

import asyncio
import gc
import gzip
import io
import math
import re
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from streamlit.testing.v1 import AppTest

from pages.lessons import results
from pages.state.host import resolve
from pages.state.lesson_files import Lesson
from pages.state.lesson_run import Run
from pages.ui import lesson_bar, live
from pages.work import broadcast, classes, middleware, store, visitors
from smpcore import SmpcoreError
from smpcore.live import MINE
from tests.app import kernels, opened, said, session_of, sound
from tests.test_lessons import NUMBER, SHIPPED, Browser, lesson_with, read
from tests.test_live import decode, figure_of
from tests.test_middleware import asked

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def kept():
    return store.Store(seconds=60.0, dropped=classes.Classroom.forget)


@pytest.fixture(autouse=True)
def no_classes(monkeypatch):
    """No class of another test, and no wrong code."""
    monkeypatch.setattr(classes, "_classes", kept())
    monkeypatch.setattr(classes, "_wrong", store.Store())


def lesson(**more):
    return read(lesson_with(**more))


def test_a_code_is_read_aloud_and_typed_in_any_case():
    classroom = classes.start(lesson(), "")
    assert re.fullmatch(r"[2-9A-HJKMNP-Z]{8}", classroom.code)
    code = classroom.code.lower()
    assert classes.find(f" {code[:3]} {code[3:]}", Lesson) is classroom


@pytest.fixture
def tabs(monkeypatch):
    """Tabs that are open; the last one is the visitor's."""
    tabs = ["tab"]
    monkeypatch.setattr(classes, "visitor", lambda: tabs[-1])
    monkeypatch.setattr(classes, "is_here", lambda tab: tab in tabs)
    return tabs


def test_a_browser_that_comes_back_goes_on_where_it_was(tabs):
    classroom = classes.start(lesson(), "")
    student = classroom.join("cookie")
    student.step, student.answers[0] = 1, 5.0
    tabs.append("other")
    assert classroom.join("") is not student
    tabs[:] = ["other", "reloaded"]
    assert not student.is_here
    assert classroom.join("cookie") is student and student.is_here
    tabs.append("beside it")
    assert classroom.join("cookie") is student, "a browser takes part once"
    assert classroom.counts().n_here == 2 and classroom.counts().answers == {0: [5.0]}
    tabs[:] = ["beside it", "reloaded"]
    student.leave()
    assert student.is_here, "it goes on in the later tab"
    tabs[:] = ["beside it"]
    student.leave()
    assert not student.is_here


def test_another_class_of_the_same_browser_ends_the_first_which_is_forgotten():
    classroom, other = (classes.start(lesson(), "browser") for _ in range(2))
    assert classroom.has_ended and classes.taught_by("browser") is other
    classroom = other
    student = weakref.ref(classroom.join())
    classes.end(classroom)
    gc.collect()
    assert student() is None and classroom.has_ended
    with pytest.raises(SmpcoreError, match="no class with this code"):
        classes.find(classroom.code, Lesson)
    assert classes.taught_by("browser") is None


def test_in_a_full_class_who_has_left_makes_room(tabs, monkeypatch):
    monkeypatch.setattr(classes, "MOST_STUDENTS", 2)
    classroom = classes.start(lesson(), "")
    classroom.join().answers[0] = 1.0
    tabs.append("second")
    classroom.join()
    with pytest.raises(SmpcoreError, match="has 2 students, which is the most"):
        classroom.join()
    tabs[:] = ["third"]  # the others were closed: an answer stays as long as it can
    classroom.join().answers[0] = 2.0
    assert classroom.counts().answers == {0: [1.0, 2.0]}
    tabs[:] = ["fourth"]
    classroom.join()
    assert classroom.counts().answers == {0: [2.0]} and classroom.counts().n_here == 1


def test_no_class_ends_for_a_new_one_while_somebody_uses_it(tabs, monkeypatch):
    monkeypatch.setattr(classes, "MOST_CLASSES", 3)
    begun = [classes.start(lesson(), "")]
    tabs.append("student")
    begun[0].join()
    tabs.remove("tab")  # the teacher's was closed, a student is there
    begun += [classes.start(lesson(), "") for _ in range(2)]
    with pytest.raises(SmpcoreError, match="3 classes are taught at the moment"):
        classes.start(lesson(), "")
    assert not any(one.has_ended for one in begun)
    tabs[:] = ["other"]
    begun.append(classes.start(lesson(), ""))
    assert [one.has_ended for one in begun] == [True, False, False, False]


def test_who_begins_many_classes_ends_none_of_others(tabs, monkeypatch):
    monkeypatch.setattr(classes, "MOST_OF_ADDRESS", 2)
    first = classes.start(lesson(), "teacher")
    monkeypatch.setattr(classes, "address", lambda: "192.0.2.1")
    for i in range(9):
        tabs[:] = [f"tab {i}"]
        classes.start(lesson(), "")
    assert not first.has_ended and len(classes._classes.values()) == 3


def keys(page):
    return {control.key for control in (*page.button, *page.toggle) if control.key}


@pytest.mark.parametrize("browser", ["", "student"])
def test_only_its_teacher_holds_opens_reveals_and_ends_a_class(browser, monkeypatch):
    steer = {"class_move_open", "class_hold", "class_end"}
    classroom = classes.start(lesson(question=NUMBER), "teacher")
    before = classroom.changes, classroom.is_held, classroom.stage(0)
    monkeypatch.setattr(visitors, "browser", lambda: browser)
    page = opened({"class": classroom.code}, "lessons.py")
    assert session_of(page).lesson.student.classroom is classroom
    assert not steer & keys(page) and session_of(page).classroom is None
    # A student who begins a class has another one, and steers that alone.
    sound(page.button(key="class_02-fusion.json").click().run())
    own = session_of(page).classroom
    assert steer <= keys(page) and own is not classroom
    page.toggle(key="class_hold").set_value(False).run()
    page.button(key="class_end").click().run()
    assert own.has_ended and not classroom.has_ended
    assert (classroom.changes, classroom.is_held, classroom.stage(0)) == before
    # Whoever takes the lesson alone has no vote.
    alone = opened({"lesson": "02-fusion.json"})
    sent(alone, 5)
    assert not classroom.votes
    monkeypatch.setattr(visitors, "browser", lambda: "teacher")
    assert steer <= keys(opened({}, "lessons.py"))


def test_of_a_thousand_joins_as_many_as_there_is_room_for_take_part(tabs):
    classroom = classes.start(lesson(), "teacher")

    def joined(number):
        try:
            return classes.find(classroom.code, Lesson).join(f"browser {number}")
        except SmpcoreError as problem:
            assert "500 students, which is the most" in str(problem)

    with ThreadPoolExecutor(16) as pool:
        students = [one for one in pool.map(joined, range(1000)) if one]
    assert len({one.browser for one in students}) == classes.MOST_STUDENTS == 500
    assert classroom.counts().n_here == 500
    assert classroom.join(students[7].browser) is students[7]


def test_a_teacher_who_reloads_is_there(tabs):
    classroom = classes.start(lesson(), "browser")
    tabs[:] = ["reloaded"]
    assert not classroom.is_used
    assert classes.taught_by("browser") is classroom and classroom.is_used


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """What each code waited, all within one minute."""
    waits = []
    monkeypatch.setattr(classes, "_minute", lambda: 0)
    clock = SimpleNamespace(time=time.time, sleep=waits.append)
    monkeypatch.setattr(classes, "time", clock)
    return waits


def test_a_right_code_gets_in_whatever_wrong_codes_came_before(
    waits, monkeypatch, caplog
):
    monkeypatch.setattr(classes, "address", lambda: "192.0.2.1")
    classroom = classes.start(lesson(), "")
    for n in range(1000):
        with pytest.raises(SmpcoreError, match=r"no class with this code.*8 signs"):
            classes.find(f"2222{n:04}", Lesson)
    waits.clear()
    typed = opened({}, "lessons.py")
    typed.text_input(key="class_code").set_value(classroom.code.lower())
    next(one for one in typed.button if one.label == "Join").click().run()
    assert session_of(typed).lesson.student.classroom is classroom
    assert not waits, "its class is taught at this address"
    assert caplog.text.count("60 wrong codes of classes from 192.0.2.1") == 1


def test_wrong_codes_slow_typed_ones_of_their_address_and_no_link(waits, monkeypatch):
    classroom = classes.start(lesson(), "teacher")
    monkeypatch.setattr(classes, "address", lambda: "192.0.2.1")
    for n in range(1000):
        with pytest.raises(SmpcoreError, match="no class with this code"):
            classes.find(f"2222{n:04}", Lesson)
    assert waits[:21] == [0.0] * 21 and waits[23] == 0.75 and waits[-1] == 5.0
    waits.clear()
    assert classes.find(classroom.link_code, Lesson) is classroom and not waits
    assert classes.find(classroom.code, Lesson) is classroom and waits == [5.0]
    classroom.join("student")
    assert classes.find(classroom.code, Lesson) is classroom and len(waits) == 1
    monkeypatch.setattr(classes, "address", lambda: "192.0.2.2")
    assert classes.find(classroom.code, Lesson) is classroom and waits[1:] == [0.0]


def test_links_of_a_class_have_what_nobody_can_guess_or_type():
    teacher = opened({}, "lessons.py")
    teacher.button(key="class_02-fusion.json").click().run()
    classroom = session_of(teacher).classroom
    link = next(one.value for one in teacher.code if "class=" in one.value)
    assert link.endswith(f"class={classroom.link_code}")
    assert len(classroom.link_code) * 6 >= 96
    student = opened({"class": classroom.link_code})
    assert session_of(student).lesson.student.classroom is classroom
    assert student.query_params["class"] == classroom.link_code, "for a reload"


def test_guessing_a_code_is_hopeless():
    """As many guesses as nobody can make while a class is kept find none."""
    guesses, codes = 1000 * classes.KEEP_SECONDS, len(classes.SIGNS) ** classes.LENGTH
    assert guesses / codes < 1 / 59_000


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "words"),
    [
        (None, {}, "", "this machine"),
        ("192.0.2.7", {}, "", "192.0.2.7"),
        ("2001:db8::1:2", {}, "", "2001:db8::/64"),
        ("198.51.100.1", {"X-Forwarded-For": "x"}, "", "behind a proxy"),
        ("198.51.100.1", {"X-Forwarded-For": "x"}, "10.0.0.0/8", "198.51.100.1"),
        ("<b>" * 99, {}, "*", ("<b>" * 99)[:50]),
    ],
)
def test_an_address_is_believed_from_configured_proxies_only(
    monkeypatch, peer, forwarded, proxies, words
):
    context = SimpleNamespace(ip_address=peer, headers=forwarded)
    monkeypatch.setattr(visitors.st, "context", context)
    monkeypatch.setattr(
        visitors.os, "environ", {visitors.PROXIES: proxies} if proxies else {}
    )
    assert visitors.address() == words


def test_the_last_answer_of_a_browser_counts(monkeypatch):
    monkeypatch.setattr(visitors, "browser", lambda: "cookie")
    classroom = classes.start(lesson(question=NUMBER), "")
    classroom.move(0, classes.FIRST_VOTE)
    tabs = [opened({"class": classroom.code}) for _ in range(2)]
    for tab, value in zip(tabs, (4, 3), strict=True):
        tab.number_input(key="lesson_answer_0").set_value(value)
        sound(tab.button(key="lesson_answer_0_sent").click().run())
    assert classroom.counts().answers == {0: [3.0]}
    assert [vote.answer for vote in classroom.votes] == [3.0]


@pytest.mark.parametrize(
    ("value", "measure"),
    [
        *((one, "n_prototypes") for one in (1e308, math.nan, "9" * 10_000, True, [1])),
        *((one, "validation_accuracy") for one in (None, -1, 101)),
    ],
)
def test_an_answer_that_no_field_sends_is_none(value, measure, monkeypatch):
    asked = NUMBER | {"number": {"measure": measure}}
    classroom = classes.start(lesson(question=asked), "")
    classroom.move(0, classes.FIRST_VOTE)
    student = opened({"class": classroom.code})
    monkeypatch.setattr(lesson_bar.st, "session_state", {"answer": value})
    run = session_of(student).lesson
    lesson_bar._answer(run, "answer", run.limits())
    assert session_of(student).lesson.is_open_question
    assert not classroom.votes


@pytest.mark.parametrize(
    ("measure", "value", "words"),
    [
        *(("n_prototypes", v, "a whole number from 0 to 8") for v in (-3, 4.5, 50)),
        ("n_features", 31, "a whole number from 0 to 2"),
        ("n_nonzeros", -1, "a whole number of at least 0"),
        ("validation_accuracy", 101, "a number from 0 to 100"),
        ("validation_accuracy", None, "a number from 0 to 100"),
    ],
)
def test_an_answer_that_cannot_be_is_refused_where_it_is_typed(measure, value, words):
    asked = NUMBER | {"number": {"measure": measure}, "then": {"n_prototypes": "4"}}
    state = {"data": "circles", "n_prototypes": "1"}
    classroom = classes.start(lesson(question=asked, state=state), "")
    classroom.move(0, classes.FIRST_VOTE)
    student = sent(opened({"class": classroom.code}), value)
    assert f"Answer with {words}." in said(student, *student.error)
    assert session_of(student).lesson.is_open_question and not classroom.votes
    assert "Sent: 2" in said(sent(student, 2), *student.info)


def test_a_teacher_sees_no_votes_until_they_are_shown(monkeypatch):
    monkeypatch.setattr(visitors, "browser", lambda: "teacher")
    classroom = classes.start(lesson(question=NUMBER), "teacher")
    classroom.move(0, classes.FIRST_VOTE)
    classroom.take(classroom.join(), classroom.lesson, 0, 7.0)
    page = opened({}, "lessons.py")
    drawn = lambda: [one for one in page.get("plotly_chart")]  # noqa: E731
    assert "1 answer: " in said(page, *page.caption) and not drawn()
    assert "7" not in said(page, *page.caption)
    sound(page.toggle(key="class_votes_0").set_value(True).run())
    assert len(drawn()) == 1
    sound(page.toggle(key="class_votes_0").set_value(False).run())
    assert not drawn()
    classroom.move(0, classes.SHOWN)
    assert len(drawn() or sound(page.run()).get("plotly_chart")) == 1


def voted(classroom, step, *votes):
    """Votes of students on a step: (student, vote, answer)."""
    number = len(classroom.lessons) - 1
    for student, vote, answer in votes:
        one = classes.Vote(0.0, number, step, vote, answer, student, 4)
        classroom.votes.append(one)


def table(classroom):
    return pd.read_csv(io.BytesIO(results.as_table(classroom)), dtype=str)


def test_negative_numbers_and_places_are_answers_of_the_file_as_they_are():
    place = NUMBER | {"point": {"within": 1}}
    del place["number"]
    classroom = classes.start(lesson(question=NUMBER), "")
    voted(classroom, 0, ("S1", 1, -31.0), ("S2", 1, -0.5))
    classroom.teach(lesson(question=place))
    voted(classroom, 0, ("S1", 1, [-0.25, 0.5]))
    assert [*table(classroom)["answer"]] == ["-31", "-0.5", "(-0.25, 0.5)"]


def test_gain_and_who_changed_his_mind_can_be_counted():
    asked = NUMBER | {"number": {"measure": "n_prototypes"}}
    classroom = classes.start(lesson(question=asked, state={"data": "circles"}), "")
    right = session_of(opened({"data": "circles"})).choice
    right = float(resolve(right).fit().finished().model_.n_prototypes)
    first = [("S1", right), ("S2", right + 1), ("S3", right + 1), ("S4", right + 1)]
    second = [("S1", right + 1), ("S2", right), ("S3", right), ("S4", right + 1)]
    voted(classroom, 0, *((name, 1, answer) for name, answer in first))
    read = table(classroom)
    assert set(read["gain"]) == {"–"}, "there was one vote"
    voted(classroom, 0, *((name, 2, answer) for name, answer in second))
    read = table(classroom)
    assert [*read] == results.COLUMNS and set(read["present"]) == {"4"}
    assert set(read["right answer"]) == {f"{right:g}"}
    by_vote = read.pivot(index="student", columns="vote", values="is right")
    assert [*by_vote.agg(" ".join, axis=1)] == ["yes no", "no yes", "no yes", "no no"]
    before, after = 1 / 4, 2 / 4
    gain = (after - before) / (1 - before)
    assert [*read["gain"].astype(float)] == pytest.approx([gain] * 8)
    sheet = results.summary(classroom)
    for cell in "1 of 4", "2 of 4", "2", "1", f"{gain:.3f}":
        assert f">{cell}<" in sheet
    classroom.teach(classroom.lesson)  # the same lesson again counts by itself
    voted(classroom, 0, ("S1", 1, right), ("S1", 2, right))
    assert [*table(classroom)["gain"]][-2:] == ["–", "–"], "all were right before"
    assert len({*table(classroom)["student"]}) == 4


def test_a_pseudonym_stays_and_does_not_say_who_came_first(tabs):
    classroom = classes.start(lesson(question=NUMBER), "")
    names = [classroom.join(f"browser {i}").name for i in range(50)]
    assert len({*names}) == 50 and names != sorted(names)
    assert classroom.join("browser 7").name == names[7]
    classroom.move(0, classes.FIRST_VOTE)
    classroom.take(classroom.join("browser 7"), classroom.lesson, 0, 3.0)
    (vote,) = classroom.votes
    assert (vote.student, vote.n_present) == (names[7], 50)


def test_a_timer_closes_the_vote(monkeypatch):
    now = [0.0]
    clock = SimpleNamespace(time=time.time, sleep=time.sleep, monotonic=lambda: now[0])
    classroom = classes.start(lesson(question=NUMBER), "")
    monkeypatch.setattr(classes, "time", clock)
    first, second = (opened({"class": classroom.code}) for _ in range(2))
    wall = opened({"wall": classroom.link_code}, "lessons.py")
    classroom.move(0, classes.FIRST_VOTE)
    classroom.close_in(30)
    run = session_of(sound(first.run())).lesson
    assert (run.seconds_left, run.stage) == (30.0, classes.FIRST_VOTE)
    sound(second.run())
    for page in first, sound(wall.run()):
        assert any("--seconds:30" in one.proto.body for one in page.get("html"))
    now[0] = 29.0
    sent(first, 4)
    before = classroom.changes
    now[0] = 30.0
    assert classroom.changes != before, "pages look at it"
    late = sent(second, 3)
    assert "too late to be counted" in figure_of(late)["notices"][0]["text"]
    assert "The vote is closed. Wait" in words(late) and not late.number_input
    assert "The vote is closed." in words(sound(wall.run()))
    assert classroom.counts().answers == {0: [4.0]}
    classroom.move(0, classes.SECOND_VOTE)
    sent(sound(second.run()), 3, "lesson_answer_0_second")
    assert classroom.counts().second == {0: [3.0]}


def test_a_question_is_skipped():
    steps = [{"title": t, "text": "x", "question": NUMBER} for t in ("One", "Two")]
    teacher = opened({}, "lessons.py")
    teacher.button(key="class_02-fusion.json").click().run()
    classroom = session_of(teacher).classroom
    classroom.teach(read(lesson_with() | {"steps": steps}))
    sound(teacher.run()).button(key="class_move_open").click().run()
    student = classroom.join("browser")
    sound(teacher.button(key="class_move_skip").click().run())
    assert (classroom.at, classroom.stage(0)) == (1, classes.CLOSED)
    assert not classroom.take(student, classroom.lesson, 0, 3.0)
    assert "class_move_skip" not in keys(teacher), "the last one is shown"


def sent(student, value, key="lesson_answer_0"):
    """The student's page after an answer was sent."""
    student.number_input(key=key).set_value(value)
    return sound(student.button(key=f"{key}_sent").click().run())


def words(student):
    return said(student, *student.markdown, *student.success)


def test_an_answer_is_changed_until_the_vote_closes():
    asked = NUMBER | {"then": {"lam": "0.5"}}
    classroom = classes.start(lesson(question=asked, state={"data": "circles"}), "")
    student = opened({"class": classroom.code})
    classroom.move(0, classes.FIRST_VOTE)
    classroom.take(classroom.join("another"), classroom.lesson, 0, 5.0)
    for value in (4, 6, 2):
        sent(student.run(), value)
    assert "Sent: 2. You can change it" in words(student)
    assert sorted(classroom.counts().answers[0]) == [2.0, 5.0]
    assert [vote.answer for vote in classroom.votes] == [5.0, 2.0]
    classroom.close_in(0)
    assert "Sent: 2. The vote is closed" in words(student.run())
    assert not student.number_input


def test_who_goes_on_alone_changes_no_answer():
    """The right one stands there."""
    classroom = classes.start(lesson(question=NUMBER), "")
    classroom.is_held = False
    student = classroom.join("browser")
    for value in (4.0, 6.0):
        assert classroom.take(student, classroom.lesson, 0, value)
    assert classroom.counts().answers[0] == [4.0]


def test_a_class_votes_discusses_votes_again_and_then_sees_the_answer():
    asked = NUMBER | {"reveal": "It was {after.n_prototypes}.", "then": {"lam": "0.5"}}
    classroom = classes.start(lesson(question=asked, state={"data": "circles"}), "")
    first, second = (opened({"class": classroom.code}) for _ in range(2))
    for student in first, second:
        assert "Wait here" in words(student) and not student.number_input
    classroom.move(0, classes.FIRST_VOTE)
    sent(first.run(), 4)
    shown = words(first)
    assert "Sent: 4. You can change it" in shown and "It was" not in shown
    assert session_of(first).lesson.is_open_question
    assert session_of(first).choice.values.get("lam") != 0.5
    classroom.move(0, classes.SECOND_VOTE)
    assert "Your first answer: 4" in words(first.run())
    sent(first, 3, "lesson_answer_0_second")
    assert "Second vote" in words(second.run()), "who sent nothing votes all the same"
    counts = classroom.counts()
    assert (counts.answers, counts.second) == ({0: [4.0]}, {0: [3.0]})
    classroom.move(0, classes.SHOWN)
    # An answer that was typed before and comes now is said to be late.
    late = sent(second, 2, "lesson_answer_0_second")
    assert "too late to be counted" in figure_of(late)["notices"][0]["text"]
    assert "you gave no answer" in words(late) and "It was" in words(late)
    assert "your prediction: 3" in words(first.run())
    assert [(vote.vote, vote.answer) for vote in classroom.votes] == [(1, 4), (2, 3)]


def test_nothing_of_the_answer_reaches_a_class_before_it_is_shown():
    browser = Browser()
    visit = session_of(browser.app)
    taught = SHIPPED["02-fusion.json"]
    classroom = classes.start(taught, "")
    visit.lesson = run = Run(taught, visit.choice, student=classroom.join())
    lesson_bar.lesson_run._show(run.choice_of("before"))
    for stage in classes.CLOSED, classes.FIRST_VOTE, classes.SECOND_VOTE:
        classroom.move(0, stage)
        run.answers[0] = run.second[0] = 5
        shown = browser.post(None)
        assert shown["picture"]["readouts"] == [] and shown["path"] is None
        assert 2 not in shown["scene"]["points"]["part"]
    classroom.move(0, classes.SHOWN)
    assert browser.post(None)["picture"]["readouts"]


def test_screens_follow_and_who_is_let_go_stays():
    steps = [{"title": t, "text": "x"} for t in ("One", "Two", "Three")]
    classroom = classes.start(read(lesson_with() | {"steps": steps}), "")
    student = opened({"class": classroom.code})
    at = lambda: session_of(student.run()).lesson.at  # noqa: E731
    classroom.move(2)
    assert at() == 2
    student.button(key="lesson_back").click().run()
    assert at() == 1, "a student may look back"
    classroom.hold(False)
    classroom.move(0)
    assert at() == 1
    classroom.teach(lesson())
    assert session_of(student.run()).lesson.lesson is classroom.lesson
    classes.end(classroom)
    assert "The class is over" in words(student.run())


def test_the_wall_and_its_teacher_count_as_nobody(monkeypatch):
    monkeypatch.setattr(visitors, "browser", lambda: "teacher")
    classroom = classes.start(lesson(question=NUMBER), "teacher")
    shown = opened({"wall": classroom.link_code}, "lessons.py")
    taught = opened({"class": classroom.code})
    monkeypatch.setattr(visitors, "browser", lambda: "student")
    opened({"class": classroom.code})
    classroom.move(0, classes.FIRST_VOTE)
    assert "0 answers, 1 student here" in words(sound(shown.run()))
    sent(sound(taught.run()), 4)
    assert "You are not counted" in said(taught, *taught.caption)
    assert not classroom.votes and classroom.counts().answers == {}
    assert classroom.counts().n_here == 1


def test_nobody_acts_on_the_wall_or_sees_a_vote_before_all_do():
    asked = NUMBER | {"reveal": "It was {after.n_prototypes}.", "then": {"lam": "0.5"}}
    asked["text"] = "How many are left, of 8?"
    classroom = classes.start(lesson(question=asked, state={"data": "circles"}), "")
    wall = opened({"wall": classroom.link_code}, "lessons.py")
    assert classroom.code in words(wall) and "0 students here" in words(wall)
    student = classroom.join("browser")
    for stage in classes.FIRST_VOTE, classes.SECOND_VOTE:
        classroom.move(0, stage)
        classroom.take(student, classroom.lesson, 0, 7.0)
        text = words(sound(wall.run()))
        assert "1 answer, 1 student here" in text and asked["text"] in text
        assert "7" not in text.replace(classroom.code, "")
        assert not wall.get("plotly_chart")
    classroom.move(0, classes.SHOWN)
    assert "It was" in words(sound(wall.run())) and "Measured: " in words(wall)
    shown = [one.value for one in wall.caption]
    assert any("left, of 8" in text for text in shown)
    assert not any("\\\\" in text for text in shown), "escaped twice"
    assert len(wall.get("plotly_chart")) == 1
    assert not [*wall.button, *wall.toggle, *wall.text_input, *wall.number_input]
    classroom.teach(lesson())
    assert session_of(sound(wall.run())).lesson.is_wall
    classes.end(classroom)
    assert "The class is over" in words(sound(wall.run()))


class Teacher(Browser):
    """The figure of the one who teaches the class, at its place."""

    def __init__(self, room, **more):
        super().__init__()
        visit = session_of(self.app)
        visit.lesson = Run(
            room.lesson, visit.choice, student=room.watch(), turns=room.turns, **more
        )
        visit.choice = visit.lesson.choice_of(visit.lesson.moment)
        self.last = self.post(None)


def shown_by(room, number=0):
    """The picture that a member of the class reads, by the route."""
    scope = {"type": "http", "method": "GET", "headers": []}
    scope["path"] = f"/base/_class/{room.link_code}/{number}"
    start, body = asked(middleware.Guard(None), scope)
    if start["status"] != 200:
        return start["status"]
    headers = dict(start["headers"])
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"cache-control"] == b"no-store"
    return decode(gzip.decompress(body["body"]))


@pytest.fixture
def room(monkeypatch):
    """A class at a step without a question, and later ones that ask."""
    monkeypatch.setattr(broadcast, "PATIENCE", 0.01)
    steps = [*SHIPPED["02-fusion.json"].steps]
    room = classes.start(structs.replace(lesson(), steps=[steps[2], *steps[:2]]), "")
    room.move(0)
    return room


def test_a_class_reads_the_pictures_of_its_teacher_while_it_is_led(room):
    teacher = Teacher(room, is_teacher=True)
    assert shown_by(room) == 204, "off by default"
    room.lead(True)
    picture = teacher.drag(lam=0.03)["picture"]
    shown = shown_by(room)
    assert np.array_equal(shown["picture"]["winner"], picture["winner"])
    assert shown["kind"] == "full" and shown["shown"]["turns"] == room.turns
    assert not shown["notices"] and "undo" not in shown and shown["path"] is None
    assert shown_by(room, shown["shown"]["number"]) == 204, "nothing newer"
    room.hold(False)
    assert shown_by(room) == 204 and not room.is_led
    assert asked_status(f"/_class/{'x' * 16}/0") == 404, "who has no link of a class"
    classes.end(room)
    assert shown_by(room) == 404


def asked_status(path):
    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    return asked(middleware.Guard(None), scope)[0]["status"]


def test_nobody_but_its_teacher_shows_a_class_anything(room):
    room.lead(True)
    student = Teacher(room)
    student.drag(lam=0.03)
    assert shown_by(room) == 204
    late = Teacher(room, is_teacher=True)
    room.move(1, classes.FIRST_VOTE)  # and the tab has not followed yet
    late.drag(lam=0.03)
    assert shown_by(room) == 204


@pytest.mark.parametrize("stage", [classes.CLOSED, *classes.VOTES, classes.SHOWN])
def test_what_a_question_hides_is_in_no_picture_of_the_teacher(room, stage):
    room.lead(True)
    room.move(1, stage)
    teacher = Teacher(room, is_teacher=True, at=1)
    shown = shown_by(room)
    assert shown["picture"]["readouts"] == teacher.last["picture"]["readouts"]
    assert (shown["picture"]["readouts"] == []) == (stage != classes.SHOWN)
    teacher.drag(lam=0.08)  # which a later question asks
    assert session_of(teacher.app).choice.values["lam"] != 0.08


def test_a_table_of_the_teachers_own_is_shown_after_consent_only(room):
    room.teach(lesson())  # its step leaves all free
    room.lead(True)
    teacher = Teacher(room, is_teacher=True)
    before = shown_by(room)["shown"]["number"]
    teacher.send("edit", op="add", x=0.0, y=0.0, label=0)
    run, choice = session_of(teacher.app).lesson, teacher.choice
    assert choice.data == MINE and run.is_private(choice)
    teacher.drag(lam=0.03)
    assert shown_by(room, before) == 204
    run.consented = choice.source
    time.sleep(broadcast.SECONDS)
    teacher.drag(lam=0.04)
    shown = shown_by(room, before)
    (row,) = [row for row in shown["controls"] if row["name"] == "data"]
    assert [one["value"] for one in row["options"]] == [row["value"]]


def test_who_moves_a_control_breaks_away_and_may_come_back(room):
    room.lead(True)
    student = Teacher(room)
    run = session_of(student.app).lesson
    assert student.last["led"]["url"].endswith(f"/_class/{room.link_code}/")
    assert student.drag(release=True)["led"]["url"], "a look changes nothing"
    assert not student.drag(lam=0.03)["led"]["url"] and not run.follows
    run.follows = True
    assert student.post(None)["led"]["url"]
    run.at = 1  # looks back, or ahead
    assert not student.post(None)["led"]["url"]
    wall = Teacher(room, is_wall=True, follows=False)
    assert wall.last["led"]["url"], "it follows always"


def test_pictures_come_at_most_five_a_second_and_the_last_one_comes():
    async def watch():
        sent, seen, times = broadcast.Broadcast(), [], []
        began = time.monotonic()

        def drag():
            for i in range(40):
                sent.put(lambda number, i=i: f"{i} {number}".encode())
                time.sleep(0.01)

        dragging = asyncio.get_running_loop().run_in_executor(None, drag)
        number = 0
        while not seen or not seen[-1].startswith("39 "):
            data = gzip.decompress(await sent.after(number)).decode()
            seen, number = [*seen, data], int(data.split()[1])
            times.append(time.monotonic() - began)
        await dragging
        assert np.diff(times).min() > 0.9 * broadcast.SECONDS and len(seen) <= 4
        sent.put(*(lambda _, i=i: b"%d" % i for i in range(2)))
        assert gzip.decompress(await sent.after(number)) == b"0"
        assert gzip.decompress(await sent.after(number + 1)) == b"1"

    with ThreadPoolExecutor(1) as thread:  # a browser's loop may run in this one
        thread.submit(asyncio.run, watch()).result()


def test_an_answer_moves_from_the_model_before_it_to_the_one_after(room, monkeypatch):
    monkeypatch.setattr(live, "N_MOVES", 3)
    room.move(2, classes.SHOWN)
    wall = Teacher(room, is_wall=True, at=2)
    run = session_of(wall.app).lesson

    def script():
        from pages.state import lesson_run
        from pages.ui import live

        live.show_answer(lesson_run.current())

    wall.app._script_path = AppTest.from_function(script)._script_path
    sound(wall.app.run())
    values = []
    for number in range(3):
        time.sleep(broadcast.SECONDS)
        shown = shown_by(room, number)
        rows = {row["name"]: row["value"] for row in shown["controls"]}
        values.append(rows["lam"])
    before, after = (run.choice_of(one).values["lam"] for one in ("before", "after"))
    assert values == pytest.approx([before, (before * after) ** 0.5, after])
    assert not room.begins_answer(), "a second wall does not begin it again"
