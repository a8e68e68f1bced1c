"""A class by a code: what its teacher sees, and that it is forgotten."""

import gc
import json
import math
import re
import threading
import weakref
from collections import Counter
from types import SimpleNamespace

import pytest

from pages.lessons import class_view
from pages.state import lesson_files
from pages.ui import lesson_bar
from pages.work import addresses, classes, store, visitors
from smpcore import SmpcoreError
from tests.app import kernels, opened, said, session_of, sound
from tests.test_lessons import NUMBER, control, lesson_with

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def kept():
    return store.Store(seconds=60.0, dropped=classes.Classroom.forget)


@pytest.fixture(autouse=True)
def no_classes(monkeypatch):
    """No class of another test, and no wrong code."""
    monkeypatch.setattr(classes, "_classes", kept())
    monkeypatch.setattr(classes, "_wrong", store.Store())


def lesson(**more):
    return lesson_files.read(json.dumps(lesson_with(**more)).encode())


def test_a_code_is_read_aloud_and_typed_in_any_case():
    classroom = classes.start(lesson(), "")
    assert re.fullmatch(r"[2-9A-HJKMNP-Z]{6}", classroom.code)
    code = classroom.code.lower()
    assert classes.find(f" {code[:3]} {code[3:]}") is classroom


def test_students_are_counted_by_step_and_their_answers_stay():
    classroom = classes.start(lesson(), "")
    first, second = classroom.join(), classroom.join()
    first.step, second.step = 2, 1
    first.answers |= {0: 5.0, 1: 7.0}
    second.answers[0] = 5.0
    second.reached.add(1)
    counts = classroom.counts()
    assert counts.n_here == 2 and counts.steps == Counter({1: 1, 2: 1})
    assert counts.answers == {0: [5.0, 5.0], 1: [7.0]}
    assert counts.reached == Counter({1: 1})
    first.left = True
    counts = classroom.counts()
    assert counts.n_here == 1 and counts.steps == Counter({1: 1})
    assert counts.answers == {0: [5.0, 5.0], 1: [7.0]}


def test_a_closed_tab_is_not_here(monkeypatch):
    monkeypatch.setattr(classes, "visitor", lambda: "tab")
    monkeypatch.setattr(classes, "is_here", lambda tab: tab != "tab")
    classroom = classes.start(lesson(), "")
    classroom.join().answers[0] = 1.0
    assert classroom.counts().n_here == 0
    assert classroom.counts().answers == {0: [1.0]}


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


def test_a_reload_shows_what_was_answered(monkeypatch):
    monkeypatch.setattr(visitors, "browser", lambda: "cookie")
    monkeypatch.setattr(classes, "is_here", lambda tab: False)
    classroom = classes.start(lesson(question=NUMBER), "")
    app = opened({"class": classroom.code})
    control(app, "number_input", "lesson_answer_0").set_value(4)
    control(app, "button", "lesson_answer_0_sent").click().run()
    assert not session_of(sound(app)).lesson.is_open_question
    again = session_of(sound(opened({"class": classroom.code}))).lesson
    assert again.answers == {0: 4.0} and not again.is_open_question
    assert classroom.counts().answers == {0: [4.0]}


def test_an_ended_class_is_forgotten():
    classroom = classes.start(lesson(), "browser")
    student = weakref.ref(classroom.join())
    classes.end(classroom)
    gc.collect()
    assert student() is None and classroom.has_ended
    with pytest.raises(SmpcoreError, match="no class with this code"):
        classes.find(classroom.code)
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


def test_a_teacher_who_reloads_is_there(tabs):
    classroom = classes.start(lesson(), "browser")
    tabs[:] = ["reloaded"]
    assert not classroom.is_used
    assert classes.taught_by("browser") is classroom and classroom.is_used


def test_only_wrong_codes_count_and_those_who_take_part_come_back(monkeypatch, caplog):
    minute = [0]
    monkeypatch.setattr(classes, "_minute", lambda: minute[0])
    monkeypatch.setattr(classes, "MOST_WRONG", 3)
    classroom = classes.start(lesson(), "")
    classroom.join("student")
    for _ in range(5):
        classes.find(classroom.code)
    for _ in range(3):
        with pytest.raises(SmpcoreError, match="no class with this code"):
            classes.find("222222")
    assert caplog.text.count("3 wrong codes of classes from this machine") == 1
    for code, browser in ((classroom.code, ""), ("222222", "student")):
        with pytest.raises(SmpcoreError, match=r"Too many wrong codes.*wait a minute"):
            classes.find(code, browser)
    assert classes.find(classroom.code, "student") is classroom
    with monkeypatch.context() as patch:
        patch.setattr(classes, "address", lambda: "192.0.2.1")
        assert classes.find(classroom.code) is classroom
    minute[0] = 1
    assert classes.find(classroom.code) is classroom
    assert len(classes._wrong.values()) == 1


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "words"),
    [
        (None, None, None, "this machine"),
        ("192.0.2.7", None, None, "192.0.2.7"),
        ("2001:db8::1:2", None, None, "2001:db8::/64"),
        ("198.51.100.1", "198.51.100.1", None, "behind a proxy"),
        ("198.51.100.1", "198.51.100.1", "10.0.0.0/8", "198.51.100.1"),
        ("<b>" * 99, "x", "*", ("<b>" * 99)[:50]),
    ],
)
def test_an_address_is_believed_from_configured_proxies_only(
    monkeypatch, peer, forwarded, proxies, words
):
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    context = SimpleNamespace(ip_address=peer, headers=headers)
    monkeypatch.setattr(addresses.st, "context", context)
    monkeypatch.delenv(addresses.PROXIES, raising=False)
    if proxies:
        monkeypatch.setenv(addresses.PROXIES, proxies)
    assert addresses.address() == words


def test_a_class_that_nobody_uses_ends(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(store, "time", SimpleNamespace(monotonic=lambda: now[0]))
    classroom = classes.start(lesson(), "")
    now[0] = 50.0
    classes.find(classroom.code)  # its time begins anew
    now[0] = 100.0
    assert classes.find(classroom.code) is classroom
    now[0] = 161.0
    with pytest.raises(SmpcoreError):
        classes.find(classroom.code)
    assert classroom.has_ended


def test_another_class_of_the_same_browser_ends_the_first():
    first = classes.start(lesson(), "browser")
    second = classes.start(lesson(), "browser")
    assert first.has_ended and classes.taught_by("browser") is second


def test_many_students_at_once_are_all_counted():
    classroom = classes.start(lesson(), "")

    def take_part():
        for _ in range(20):
            student = classroom.join()
            student.answers[0] = 1
            classroom.counts()

    threads = [threading.Thread(target=take_part) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(classroom.counts().answers[0]) == 160


def test_the_first_answer_of_a_browser_counts(monkeypatch):
    monkeypatch.setattr(visitors, "browser", lambda: "cookie")
    classroom = classes.start(lesson(question=NUMBER), "")
    tabs = [opened({"class": classroom.code}) for _ in range(2)]
    for tab, value in zip(tabs, (4, 7), strict=True):
        control(tab, "number_input", "lesson_answer_0").set_value(value)
        sound(control(tab, "button", "lesson_answer_0_sent").click().run())
    assert classroom.counts().answers == {0: [4.0]}


@pytest.mark.parametrize("value", [1e308, math.nan, "9" * 10_000, True, [1], None])
def test_an_answer_that_no_field_sends_is_none(value, monkeypatch):
    classroom = classes.start(lesson(question=NUMBER), "")
    student = opened({"class": classroom.code})
    monkeypatch.setattr(lesson_bar.st, "session_state", {"answer": value})
    lesson_bar._answer("answer")
    assert session_of(student).lesson.is_open_question


CHOICES = {
    "text": "More or fewer?",
    "choices": [
        {"text": "More", "when": [{"measure": "weights", "at_least": 0}]},
        {"text": "Fewer", "when": [{"measure": "weights", "at_most": -1}]},
    ],
    "then": {"lam": "0.5"},
    "reveal": "So.",
}


def taught(**more):
    """A teacher's page with a class, and the class."""
    app = opened({}, "lessons.py")
    session_of(app).lessons["mine.json"] = json.dumps(lesson_with(**more)).encode()
    control(app.run(), "button", "class_Uploaded: mine.json").click().run()
    return sound(app), session_of(app).classroom


def test_a_class_from_its_code_to_its_end():
    teacher, classroom = taught(question=CHOICES)
    assert classroom.code in [metric.value for metric in teacher.metric]
    student = opened({}, "lessons.py")
    student.text_input(key="class_code").set_value(classroom.code.lower())
    button = next(b for b in student.button if b.label == "Join")
    sound(button.click().run())
    sound(student.switch_page("pages/explore.py").run())
    assert f"Class {classroom.code}" in said(student)
    assert "1 student here" in said(sound(teacher.run()))
    control(student, "radio", "lesson_answer_0").set_value(1)
    control(student, "button", "lesson_answer_0_sent").click().run()
    sound(teacher.run())
    table = teacher.dataframe[0].value
    assert table["Here"].tolist() == [1] and table["Answered"].tolist() == ["1"]
    bars = json.loads(teacher.get("plotly_chart")[0].proto.spec)["data"][0]
    assert bars["y"] == ["More", "Fewer"]
    assert classroom.counts().answers == {0: [1]}
    control(teacher, "toggle", "class_right_0").set_value(True).run()
    bars = json.loads(sound(teacher).get("plotly_chart")[0].proto.spec)["data"][0]
    assert bars["y"] == ["✓ More", "Fewer"]
    control(teacher, "button", "class_end").click().run()
    assert session_of(sound(teacher)).classroom is None
    assert "The class has ended" in said(sound(student.run()))
    assert classroom.counts().answers == {}


def test_a_link_joins_and_stays_in_the_address():
    _, classroom = taught()
    student = opened({"class": classroom.code})
    assert session_of(student).lesson.student.classroom is classroom
    assert student.query_params["class"] == classroom.code
    classes.end(classroom)
    assert "class" not in sound(student.run()).query_params


def test_a_wrong_code_is_a_sentence():
    app = opened({"class": "222222"})
    assert session_of(app).lesson is None
    payload = app.get("bidi_component")[0].proto.bytes.decode("utf-8", "replace")
    assert "There is no class with this code" in payload
    page = opened({}, "lessons.py")
    page.text_input(key="class_code").set_value("<b>")
    next(b for b in page.button if b.label == "Join").click().run()
    assert "There is no class with this code" in said(sound(page))


def test_numbers_are_binned_and_the_right_one_is_marked():
    names, counts, marked = class_view._of_numbers([1.0, 1.0, 3.0], 3.0)
    assert (names, counts, marked) == (["1", "3"], [2, 1], [1])
    many = [float(i) for i in range(40)]
    names, counts, marked = class_view._of_numbers(many, 39.0)
    assert sum(counts) == 40 and len(counts) == 8 and marked == [7]
    names, counts, marked = class_view._of_numbers([], None)
    assert (names, counts, marked) == ([], [], [])
    _, _, marked = class_view._of_numbers(many, 100.0)
    assert marked == [7]
    # A few that are far away leave the others apart, and a right one may not exist.
    for far in ([1e9, -1e9], [1.7e308, -1.7e308]):
        names, counts, marked = class_view._of_numbers(many + far, math.nan)
        assert sum(counts) == 42 and len(counts) == len(names) == 8 and not marked
        assert max(counts) < 10
    names, counts, _ = class_view._of_numbers([5.0] * 90 + many[:9], None)
    assert (names, counts) == (["below 5", "5 and more"], [5, 94])


def test_a_number_question_has_its_histogram():
    question = NUMBER | {"text": "How many of {before.prototypes}?"}
    teacher, classroom = taught(question=question)
    assert "How many of 4?" in said(teacher)
    for value in (2.0, 2.0, 4.0):
        classroom.join().answers[0] = value
    chart = json.loads(sound(teacher.run()).get("plotly_chart")[0].proto.spec)
    assert chart["data"][0]["y"] == ["2", "4"] and chart["data"][0]["x"] == [2, 1]


def test_the_next_lesson_keeps_the_code_and_begins_counts_anew():
    teacher, classroom = taught(question=NUMBER)
    student = opened({"class": classroom.code})
    session_of(student).lesson.student.answers[0] = 3.0
    assert classroom.counts().answers == {0: [3.0]}
    control(teacher, "button", "class_03-sparsity.json").click().run()
    sound(teacher)
    assert session_of(teacher).classroom is classroom
    assert control(teacher, "button", "class_03-sparsity.json").disabled
    assert classroom.lesson.title == "3 · Sparsity" and not classroom.counts().answers
    following = control(student.run(), "button", "class_next")
    assert following.label == "Go on with the class: 3 · Sparsity"
    following.click().run()
    run = session_of(sound(student)).lesson
    assert run.lesson is classroom.lesson and run.student.classroom is classroom
    assert classroom.counts().n_here == 1
