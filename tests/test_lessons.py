"""Lessons: files from anywhere, the ten that ship on real fits, and the runner."""

import json
import math
from dataclasses import replace

import pytest

from pages.state import lesson_files, lesson_run, table_store
from pages.state.lesson_files import FORMAT, Lesson
from pages.state.lesson_run import Run
from smpcore import SmpcoreError
from tests.app import kernels, opened, said, session_of, sound
from tests.test_live import Browser

fixtures = (kernels,)
pytestmark = pytest.mark.usefixtures("kernels")
SHIPPED = {
    name: lesson
    for name, lesson in lesson_files.listed().items()
    if isinstance(lesson, Lesson)
}


def lesson_with(**step) -> dict:
    first = {"title": "One", "text": "See.", "state": {"data": "circles"}}
    about = {"format": FORMAT, "title": "Mine", "minutes": 5, "aim": "To see."}
    return about | {"steps": [first | step]}


def read(content: dict) -> Lesson:
    return lesson_files.read(json.dumps(content).encode())


def test_a_lesson_of_one_step_is_read():
    assert read(lesson_with()).steps[0]["title"] == "One"


def drawing(**changes) -> dict:
    step = SHIPPED["10-to-a-chip.json"].steps[0]
    return step["points"] | changes


QUESTION = {"text": "How many?", "reveal": "So many."}
NUMBER = QUESTION | {"number": {"measure": "prototypes"}}
REFUSED = [
    (lesson_with() | {"script": "import os"}, "'script' was unexpected"),
    (lesson_with(onload="x"), "“steps: 1”.*'onload' was unexpected"),
    (lesson_with(text="<script>alert(1)</script>"), "steps: 1: text”.*without HTML"),
    (lesson_with(title="<img src=x>"), "steps: 1: title”.*without HTML"),
    (lesson_with(text="x" * 2001), "steps: 1: text”.*too long"),
    (lesson_with() | {"minutes": 1000}, "minutes”: 1000 is greater than the maximum"),
    (lesson_with() | {"format": "x"}, "format should be"),
    (lesson_with() | {"steps": []}, "“steps”"),
    (lesson_with(state={"method": "forest"}), "step 1 .*unknown method"),
    (lesson_with(state={"data": "mnist-on-mars"}), "step 1 .*unknown data set"),
    (lesson_with(state={"data": "circles", "lam": "900"}), "step 1 .* 10.0 is nearest"),
    (lesson_with(state={"data": "circles", "wheels": "4"}), "step 1 .*wheels"),
    (lesson_with(state={"mine": "token"}), "steps: 1: state”"),
    (lesson_with(free=["wheels"]), "step 1 frees controls that are not here: wheels"),
    (lesson_with(text="{before.wheels}"), "read-out that is not here: before.wheels"),
    (lesson_with(text="{after.weights}"), "read-out that is not here: after.weights"),
    (lesson_with(question=QUESTION), "steps: 1: question”"),
    (lesson_with(question=NUMBER | {"then": {"lam": "-1"}}), "step 1 .*lam"),
    (
        lesson_with(question={**QUESTION, "number": {"measure": "beauty"}}),
        "question: number: measure”",
    ),
    (
        lesson_with(question=NUMBER, task={"text": "x", "reach": [{"measure": "gap"}]}),
        "steps: 1”|steps: 1: task",
    ),
    (lesson_with(state={}, points={"X": [[0, 1]]}), "step 1 is not valid"),
    (lesson_with(state={}, points=drawing(y=[0, 1])), "step 1 should have for each"),
    (lesson_with(points=drawing()), "step 1 has points and names data"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_a_bad_lesson_is_refused_with_place_and_reason(content, message):
    with pytest.raises(SmpcoreError, match=message) as caught:
        read(content)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b" " * 10_000_000, "at most 1 MB, it has 10.0 MB"),
        (b"\x89PNG", "should be JSON"),
        (b'{"format": NaN}', "no number"),
        (b"[]", "is not valid"),
    ],
)
def test_no_lesson_at_all_is_refused(data, message):
    with pytest.raises(SmpcoreError, match=message):
        lesson_files.read(data)


def test_an_operators_lessons_are_listed_with_what_is_wrong(tmp_path, monkeypatch):
    (tmp_path / "mine.json").write_text(json.dumps(lesson_with()))
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "far.json").symlink_to("/etc/passwd")
    monkeypatch.setenv("SPE_LESSONS", str(tmp_path))
    found = lesson_files.listed()
    assert found["mine.json"].title == "Mine"
    assert "should be JSON" in found["bad.json"]
    assert "far.json" not in found
    page = opened({}, "lessons.py")
    assert "should be JSON" in said(page)


def test_ten_lessons_ship():
    assert len(SHIPPED) == 10
    assert [name[:2] for name in SHIPPED] == [f"{i:02}" for i in range(1, 11)]


def control(app, kind, key):
    return next(one for one in getattr(app, kind) if one.key == key)


def started(lesson):
    app = opened({}, "lessons.py")
    name = next(name for name, one in SHIPPED.items() if one is lesson)
    control(app, "button", f"start_{name}").click().run()
    return sound(app.switch_page("pages/explore.py").run())


def step_through(app, run, number):
    """Answer the step rightly, and compare what is said with the fits."""
    assert run.at == number
    question, step = run.question, run.step
    shown = " ".join(text.value for text in app.markdown).replace("\\", "")
    assert "{before" not in shown
    assert step["title"] in shown
    if question is None:
        return
    assert control(app, "button", "lesson_next").disabled if not last(run) else True
    found = run.readouts()
    key = f"lesson_answer_{number}"
    if "choices" in question:
        right = run.right_choices(found)
        assert len(right) == 1, step["title"]
        control(app, "radio", key).set_value(right[0])
    else:
        value = run.right_number(found)
        assert math.isfinite(value)
        control(app, "number_input", key).set_value(round(value, 6))
    control(app, "button", f"{key}_sent").click().run()
    sound(app)
    assert run.answers[number] is not None
    assert "as predicted" in " ".join(box.value for box in app.success)
    text = lesson_run.filled(question["reveal"], found)
    assert text in "".join(m.value for m in app.markdown).replace("\\", "")


def test_numbers_are_hidden_and_controls_locked_until_the_answer():
    browser = Browser()
    visit = session_of(browser.app)
    lesson = SHIPPED["02-fusion.json"]
    visit.lesson = run = Run(lesson, visit.choice)
    visit.choice = replace(
        visit.choice, data="circles", values={"n_prototypes": 4, "lam": 0.02}
    )
    shown = browser.post(None)
    assert shown["kind"] == "full"
    assert shown["picture"]["readouts"] == []
    assert shown["picture"]["strip"] == {"nonzeros": 0}
    assert shown["path"] is None
    assert {*shown["scene"]["points"]["part"]} == {0, 1}  # no test rows
    locked = {row["name"] for row in shown["controls"] if row.get("locked")}
    assert {"data", "method", "lam", "mu"} <= locked
    before = browser.choice
    for kind, more in REFUSED_MESSAGES:
        answer = browser.send(kind, **more)
        assert "Locked in this step" in answer["notices"][0]["text"]
        assert browser.choice == before
    steps = browser.send("steps", want=[0, 1])["steps"]
    assert [picture["readouts"] for picture in steps] == [[]] * len(steps)
    run.answers[0] = 5
    shown = browser.post(None)
    assert shown["picture"]["readouts"]
    assert {*shown["scene"]["points"]["part"]} == {0, 1, 2}
    assert shown["path"]["param"] == "lam"
    # λ alone is free in this step.
    shown = browser.send("set", values={"lam": 1.0, "n_prototypes": 2})
    assert "n_prototypes" in shown["notices"][0]["text"]
    assert browser.choice.values == {"lam": 1.0, "n_prototypes": 4}
    visit.lesson = Run(read(lesson_with(free=["mu"])), visit.choice)
    assert browser.post(None)["path"] is None  # its strip would move λ


REFUSED_MESSAGES = (
    ("set", {"values": {"lam": 1.0}}),
    ("set", {"values": {"lam": 1.0}, "dragging": True}),
    ("reset", {}),
    ("edit", {"op": "add", "x": 0.0, "y": 0.0, "label": 0}),
)


def test_an_uploaded_lesson_is_listed_for_this_visit_only():
    app = opened({}, "lessons.py")
    data = json.dumps(lesson_with()).encode()
    session_of(app).lessons["mine.json"] = data
    assert "Mine" in " ".join(text.value for text in app.run().markdown)
    other = opened({}, "lessons.py")
    assert "Mine" not in " ".join(text.value for text in other.markdown)


def test_what_explore_shows_becomes_a_step():
    app = opened({"data": "circles", "lam": "0.02"}, "lessons.py")
    labels = {"Title of the step": "First", "Question or task": "How many?"}
    labels["What is said after the answer"] = "So many."
    for field in [*app.text_input, *app.text_area]:
        if field.label in labels:
            field.set_value(labels[field.label])
    app.text_area[0].set_value("Look.")
    step_kind = next(r for r in app.radio if r.label == "The step has")
    step_kind.set_value(step_kind.options[1])
    saving = next(b for b in app.button if b.label == "Save this state as a step")
    sound(saving.click().run())
    assert not app.error
    (step,) = session_of(app).lesson_steps
    assert step["state"] == {"data": "circles", "lam": "0.02"}
    assert step["question"]["number"]["of"] == "before"
    app.text_area[0].set_value("<b>Look</b>")
    saving = next(b for b in app.button if b.label == "Save this state as a step")
    sound(saving.click().run())
    assert "without HTML" in app.error[0].value.replace("\\", "")
    assert len(session_of(app).lesson_steps) == 1


#: Values that fulfil a lesson's task.
SOLUTIONS = {
    ("01-several-prototypes.json", 1): {"n_prototypes": 3},
    ("02-fusion.json", 2): {"n_prototypes": 4, "lam": 0.02},
    ("03-sparsity.json", 1): {"mu": 0.01},
    ("06-invented-cases.json", 1): {"n_prototypes": 3},
}


def test_an_edited_drawing_stays_and_the_figures_are_those_of_the_lessons_own():
    question = NUMBER | {"number": {"measure": "validation_accuracy", "of": "before"}}
    content = lesson_with(state={}, points=drawing(), question=question)
    app = opened({}, "lessons.py")
    session_of(app).lessons["mine.json"] = json.dumps(content).encode()
    control(app.run(), "button", "start_Uploaded: mine.json").click().run()
    sound(app.switch_page("pages/explore.py").run())
    visit = session_of(app)
    control(app, "number_input", "lesson_answer_0").set_value(50)
    control(app, "button", "lesson_answer_0_sent").click().run()
    measured = [text.value for text in app.info]
    token = visit.choice.token
    dataset, division = table_store.visit(token)
    edited = replace(dataset, frame=dataset.frame.assign(x=0.0))
    table_store.keep(edited, division, token)
    sound(app.run())
    assert table_store.visit(token)[0].digest == edited.digest
    assert [text.value for text in app.info] == measured
    control(app, "button", "lesson_restart").click().run()
    assert table_store.visit(token)[0].digest == dataset.digest
    control(app, "button", "lesson_leave").click().run()
    with pytest.raises(SmpcoreError):
        table_store.visit(token)


def test_every_task_is_fulfilled_by_values_that_its_step_leaves_free():
    tasks = {
        (name, i): step
        for name, lesson in SHIPPED.items()
        for i, step in enumerate(lesson.steps)
        if "task" in step
    }
    assert tasks.keys() == SOLUTIONS.keys()
    for (name, number), step in tasks.items():
        app = started(SHIPPED[name])
        visit = session_of(app)
        visit.lesson.answers = dict.fromkeys(range(number), 0)
        visit.lesson.at = number - 1
        app.run()
        control(app, "button", "lesson_next").click().run()
        assert visit.lesson.at == number
        assert not app.success
        values = visit.choice.values | SOLUTIONS[name, number]
        changed = {k for k, v in values.items() if visit.choice.values.get(k) != v}
        assert changed <= set(step["free"])
        visit.choice = replace(visit.choice, values=values)
        sound(app.run())
        assert [box.value for box in app.success] == ["Done."]


def last(run):
    return run.at == len(run.lesson.steps) - 1


@pytest.mark.parametrize("name", SHIPPED)
def test_every_step_of_a_lesson_is_reached_by_right_answers(name):
    app = started(SHIPPED[name])
    run = session_of(app).lesson
    for number in range(len(run.lesson.steps)):
        step_through(app, run, number)
        if not last(run):
            control(app, "button", "lesson_next").click().run()
            sound(app)
    control(app, "button", "lesson_leave").click().run()
    assert session_of(sound(app)).lesson is None
    assert session_of(app).choice.data == "moons"
