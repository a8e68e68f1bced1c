"""Lessons: files from anywhere, the ten that ship on real fits, and the runner."""

import html
import json
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import structs
from sklearn.svm import SVC

from pages.lessons import sheets
from pages.lessons.paper_figure import paper_figure
from pages.state import lesson_files, lesson_run, table_store
from pages.state.host import resolve
from pages.state.lesson_files import FORMAT, Lesson
from pages.state.lesson_run import Run
from pages.state.session import Live
from pages.ui.lesson_bar import as_markdown
from pages.ui.text import escape_markdown
from pages.work import visitors
from pages.work.fits import Fitted, measured
from smpcore import SmpcoreError, compile_model
from smpcore.codegen import quantise
from smpcore.colors import GREY
from smpcore.live import Choice
from smpcore.papers import PRINTED
from smpcore.readouts import READOUTS
from tests.app import kernels, opened, said, session_of, sound, words
from tests.test_live import Browser, figure_of

fixtures = (kernels,)
PAGES = Path(__file__).parents[1] / "pages"
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


@pytest.mark.parametrize("name", SHIPPED)
def test_older_names_of_read_outs_are_read_as_their_keys(name):
    older = {"n_prototypes": "prototypes", "n_nonzeros": "weights"}
    older |= {"n_features": "columns", "n_support_vectors": "support_vectors"}
    text = (lesson_files.HOME / name).read_text("utf-8")
    before = re.sub(
        r"\"(measure|show)\": (\"\w+\"|\[[^]]*\])|\{\w+\.\w+\}",
        lambda found: re.sub(r"\w+", lambda key: older.get(key[0], key[0]), found[0]),
        text,
    )
    assert not [key for key in older if f".{key}}}" in before]
    assert lesson_files.read(before.encode()) == SHIPPED[name]


def drawing(**changes) -> dict:
    step = SHIPPED["10-to-a-chip.json"].steps[0]
    return msgspec.to_builtins(step.points) | changes


QUESTION = {"text": "How many?", "reveal": "So many."}
NUMBER = QUESTION | {"number": {"measure": "prototypes"}}
TASK = {"text": "x", "reach": [{"measure": "gap", "at_most": 1}]}
REFUSED = [
    (lesson_with() | {"script": "import os"}, "unknown field script; remove it"),
    (lesson_with(text="x" * 2001), "“steps: 1: text”.*length <= 2000"),
    (lesson_with() | {"minutes": 1000}, "“minutes”: Expected int <= 240"),
    (lesson_with(state={"method": "forest"}), "step 1 .*unknown method, not smp,"),
    (lesson_with(state={"data": "circles", "lam": "900"}), "step 1 .* 10.0 is nearest"),
    (lesson_with(state={"mine": "token"}), "step 1 sets mine"),
    (lesson_with(free=["wheels"]), "step 1 frees controls that are not here: wheels"),
    (lesson_with(text="{before.wheels}"), "read-out that is not here: before.wheels"),
    (lesson_with(text="{after.cases}"), "read-out that is not here: after.cases"),
    (lesson_with(question=QUESTION), "“steps: 1: question”.*number, choices or"),
    (lesson_with(question=NUMBER | {"then": {"lam": "-1"}}), "step 1 .*lam"),
    (lesson_with(question=NUMBER | {"choices": [{"text": "a"}] * 2}), "question”"),
    (lesson_with(task={"text": "x", "reach": [{"measure": "gap"}]}), "reach: 1”.*at_"),
    (lesson_with(question=NUMBER, task=TASK), "“steps: 1”.*not both"),
    *(
        (lesson_with(task={"text": "x", "reach": [limit]}), f"reach: 1”.*{words}")
        for limit, words in (
            ({"measure": "validation_accuracy", "at_least": 101}, "from 0 to 100"),
            ({"measure": "n_prototypes", "at_most": -1}, "from 0 to"),
        )
    ),
    (
        lesson_with(task={"text": "x", "reach": [TASK["reach"][0] | {"of": "change"}]}),
        "task”.*of the model as it is",
    ),
    (lesson_with(state={}, points={"X": [[0, 1]]}), "“steps: 1: points”"),
    (lesson_with(state={}, points=drawing(y=[0, 1])), "step 1 should have for each"),
    (lesson_with(points=drawing()), "step 1 has points and names data"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_a_bad_lesson_is_refused_with_place_and_reason(content, message):
    with pytest.raises(SmpcoreError, match=message) as caught:
        read(content)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def started(lesson):
    app = opened({}, "lessons.py")
    name = next(name for name, one in SHIPPED.items() if one is lesson)
    app.button(key=f"start_{name}").click().run()
    return sound(app.switch_page("pages/explore.py").run())


def step_through(app, run, number):
    """Answer the step rightly, and compare what is said with the fits."""
    assert run.at == number
    question, step = run.question, run.step
    shown = " ".join(text.value for text in app.markdown).replace("\\", "")
    assert "{before" not in shown
    assert step.title in shown
    if question is None:
        return
    assert app.button(key="lesson_next").disabled if not last(run) else True
    found = run.readouts()
    key = f"lesson_answer_{number}"
    right = run.right(found)
    if question.choices:
        assert len(right) == 1, step.title
        app.radio(key=key).set_value(right[0])
    elif run.asks_place:
        assert app.button(key=f"{key}_sent").disabled
        run.mark = right[0]
        app.run()
    else:
        assert math.isfinite(right)
        app.number_input(key=key).set_value(round(right, 6))
    app.button(key=f"{key}_sent").click().run()
    sound(app)
    assert run.answers[number] is not None
    words = "Your mark is 0 away" if run.asks_place else "as predicted"
    assert words in " ".join(box.value for box in app.success)
    text = lesson_run.filled(question.reveal, found)
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
    # Only what the step frees is there, and locked.
    rows = {row["name"]: row.get("locked") for row in shown["controls"]}
    assert {name for name in rows if not name.startswith("v.")} == {"lam"}
    assert rows["lam"]
    before = browser.choice
    for kind, more in REFUSED_MESSAGES:
        answer = browser.send(kind, **more)
        assert "Locked in this step" in answer["notices"][0]["text"]
        assert browser.choice == before
    shown = browser.send("steps", want=[0, 1])
    assert shown["trace"] is None and shown["steps"] == [] and shown["job"] is None
    run.answers |= {0: 5, 1: 1}  # the second question would be answered by the strip
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


def written(app, kind, **texts):
    """Fill in the editor's form and save the step."""
    texts = {"Title of the step": "First"} | texts
    app.radio(key=lesson_key(app, "The step ")).set_value(kind).run()
    for field in (*app.text_input, *app.text_area):
        field.set_value(texts.get(field.label, field.value or "Look."))
    return sound(app.button(key="lesson_save").click().run())


def lesson_key(app, name):
    return f"step_{session_of(app).editions['lesson_step']}_{name}"


def test_what_changes_after_begin_is_what_the_answer_changes():
    app = opened({"data": "circles", "lam": "0.02"}, "lessons.py")
    app.button(key="lesson_begin").click().run()
    assert "The step begins with: data=circles, lam=0.02" in said(app)
    visit = session_of(app)
    visit.choice = replace(visit.choice, values={})  # λ is at its default again
    written(app.run(), "")
    assert "Only the answer to a question" in app.error[0].value
    written(app, "number")
    assert not app.error
    (data,) = visit.lessons.values()
    (step,) = lesson_files.read(data).steps
    assert step.state == {"data": "circles", "lam": "0.02"}
    assert step.question.then == {"lam": "0.003"} and step.free == ["lam"]
    run = Run(lesson_files.read(data), visit.choice)
    assert run.choice_of("before").values["lam"] == 0.02
    assert run.choice_of("after").values["lam"] == 0.003
    app.button(key="lesson_begin").click().run()
    visit.choice = replace(visit.choice, method="smallk", values={})
    written(app.run(), "number")
    assert "not data or method" in app.error[0].value
    assert visit.lessons == {"my-lesson-1.json": data}


#: What a page, a formula or a placeholder could be taken for.
TYPED = (
    "n<m",
    "<b>",
    "a & b &lt; c",
    "costs $5 and then $6",
    "{after....} {after.wheels} {before.n_prototypes",
    "\"quoted\" 'or' `so`\\",
    "    **x** -> :smile:",
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # Each text with one kind of step; with the others by `tests/run --all`.
        pytest.param(text, kind, marks=[pytest.mark.exhaustive] * ((n + turn) % 3 > 0))
        for n, text in enumerate(TYPED)
        for turn, kind in enumerate(("", "number", "point"))
    ],
)
def test_what_is_typed_in_the_editor_is_text(text, kind):
    app = opened({}, "lessons.py")
    app.radio(key=lesson_key(app, "The step ")).set_value(kind).run()
    for field in (*app.text_input, *app.text_area):
        if field.key != "class_code":
            is_filled = field.label[:4] in ("Text", "Ques", "What")
            field.set_value(text.replace("{after.wheels}", "") if is_filled else text)
    sound(app.run())
    sound(app.button(key="lesson_save").click().run())
    assert not app.error, app.error[0].value
    (data,) = session_of(app).lessons.values()
    lesson = lesson_files.read(data)
    assert (lesson.title, lesson.aim, lesson.steps[0].title) == (text, text, text)
    shown = " ".join(one.value for one in app.markdown)
    assert escape_markdown(text.strip()) in shown
    app.button(key="start_Yours: my-lesson-1.json").click().run()
    sound(app.switch_page("pages/explore.py").run())


def test_an_open_question_shows_no_placeholder_of_its_answer():
    asked = NUMBER | {"text": "Of {before.n_prototypes}: {after.n_prototypes}?"}
    content = lesson_with(text="To {after.n_prototypes}.", question=asked)
    app = opened({}, "lessons.py")
    session_of(app).lessons["mine.json"] = json.dumps(content).encode()
    app.run().button(key="start_Yours: mine.json").click().run()
    sound(app.switch_page("pages/explore.py").run())
    shown = words(app)
    assert "To {after.n_prototypes}." in shown
    assert "Of 4: {after.n_prototypes}?" in shown


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        (r"$\sum_{i<j}\|w_i-w_j\|$", 1),
        ("costs $5 and then $6", 0),
        ("from $ to $", 0),
        ("$x$ and $y_1$", 2),
        ("$x$$y$", 0),
    ],
)
def test_a_dollar_beside_a_digit_is_a_dollar(text, formulas):
    assert len(re.findall(r"(?<!\\)\$", as_markdown(text))) == 2 * formulas


def typed(app, row, **cells):
    """Type into the table of answers or conditions."""
    edits = {"edited_rows": {row: cells}, "added_rows": [], "deleted_rows": []}
    app.session_state[app.data_editor[0].key] = edits
    return sound(app.run())


@pytest.mark.parametrize(
    ("cells", "missing"),
    [
        ({"text": "No", "at_least": 3}, "line 1”\\: fill in Read"),
        ({"measure": "n_nonzeros", "at_least": 3}, "answer 2”\\: fill in text"),
    ],
)
def test_half_a_line_of_answers_is_refused_and_none_is_lost(cells, missing):
    app = opened({}, "lessons.py")
    kind = app.radio(key=lesson_key(app, "The step "))
    kind.set_value("choices").run()
    shown = app.multiselect(key=lesson_key(app, "Read-outs"))
    assert "Validation accuracy (%)" in shown.options  # so that nobody types 0.9
    typed(app, 0, text="Yes", measure="n_prototypes", at_most=2)
    for other in ("task", "choices"):  # what was typed comes back
        kind.set_value(other).run()
    assert list(app.data_editor[0].value["text"].dropna()) == ["Yes"]
    typed(app, 1, **cells)
    written(app, "choices")
    assert missing in app.error[0].value
    typed(app, 1, text="No", measure="n_nonzeros", at_least=3)
    written(app, "choices")
    (data,) = session_of(app).lessons.values()
    choices = lesson_files.read(data).steps[0].question.choices
    assert [one.text for one in choices] == ["Yes", "No"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_lesson_that_is_opened_and_saved_step_by_step_stays_the_same(name):
    app = opened({}, "lessons.py")
    visit = session_of(app)
    visit.lessons = {name: (lesson_files.HOME / name).read_bytes()}
    visit.editions["lesson_edited"] += 1
    app.run()
    for number in range(len(SHIPPED[name].steps)):
        app.button(key=f"step_edit_{number}").click().run()
        title = app.text_input(key=lesson_key(app, "title"))
        title.set_value(f"{title.value}!")
        sound(app.button(key="lesson_save").click().run())
        assert not app.error
    again = lesson_files.read(visit.lessons[name])
    titled = [structs.replace(s, title=f"{s.title}!") for s in SHIPPED[name].steps]
    assert again.steps == titled


#: Values that fulfil a lesson's task.
SOLUTIONS = {
    ("00-tour.json", 1): {"lam": 0.2},
    ("01-several-prototypes.json", 1): {"n_prototypes": 3},
    ("02-fusion.json", 2): {"n_prototypes": 4, "lam": 0.01},
    ("03-sparsity.json", 1): {"mu": 0.01},
    ("05-local-optima.json", 2): {"temperature": 10.0},
    ("06-invented-cases.json", 2): {"n_prototypes": 3},
    ("08-kernels.json", 2): {"kappa": 1.0},
    ("11-a-picture-of-64-features.json", 2): {"mu": 0.005},
    ("12-equally-good-models.json", 2): {"k": 1},
}


def test_an_edited_drawing_stays_and_the_figures_are_those_of_the_lessons_own():
    question = NUMBER | {"number": {"measure": "validation_accuracy", "of": "before"}}
    content = lesson_with(state={}, points=drawing(), question=question)
    app = opened({}, "lessons.py")
    session_of(app).lessons["mine.json"] = json.dumps(content).encode()
    app.run().button(key="start_Yours: mine.json").click().run()
    sound(app.switch_page("pages/explore.py").run())
    visit = session_of(app)
    app.number_input(key="lesson_answer_0").set_value(50)
    app.button(key="lesson_answer_0_sent").click().run()
    measured = [text.value for text in app.info]
    token = visit.choice.token
    dataset, division = table_store.visit(token)
    edited = replace(dataset, frame=dataset.frame.assign(x=0.0))
    table_store.keep(edited, division, token)
    sound(app.run())
    assert table_store.visit(token)[0].digest == edited.digest
    assert [text.value for text in app.info] == measured
    app.button(key="lesson_restart").click().run()
    assert table_store.visit(token)[0].digest == dataset.digest
    app.button(key="lesson_leave").click().run()
    with pytest.raises(SmpcoreError):
        table_store.visit(token)


def test_every_task_is_fulfilled_by_values_that_its_step_leaves_free():
    tasks = {
        (name, i): step
        for name, lesson in SHIPPED.items()
        for i, step in enumerate(lesson.steps)
        if step.task
    }
    assert tasks.keys() == SOLUTIONS.keys()
    for (name, number), step in tasks.items():
        visit = session_of(app := started(SHIPPED[name]))
        visit.lesson.answers = dict.fromkeys(range(number), 0)
        visit.lesson.at = number - 1
        app.run().button(key="lesson_next").click().run()
        assert visit.lesson.at == number and not app.success
        before, solution = visit.choice.values, SOLUTIONS[name, number]
        changed = {k for k, v in solution.items() if before.get(k) != v}
        assert changed <= set(step.free)
        visit.choice = replace(visit.choice, values=before | solution)
        assert [box.value for box in sound(app.run()).success] == ["Done."]


def as_text(settings):
    """Values of controls, out of those that decide a step's model."""
    others = "data", "method", "seed", lesson_files.POINTS
    return {n: t for n, t in settings.items() if n not in others and n[:2] != "d."}


def tried(browser, run, at, of):
    """All that is shown to who sets what leads to a coming question's model."""
    step = run.lesson.steps[run.at]
    params = {one.name: one for one in resolve(browser.choice).params}
    settings = lesson_files.settings_of(run.lesson.steps[at], "step", of)
    wanted = resolve(Run(run.lesson, browser.choice, at=at).choice_of(of)).key
    values = {
        n: params[n].clean(t) for n, t in as_text(settings).items() if n in params
    }
    free = [n for n in values if step.free is None or n in step.free]
    shown = [browser.send("set", values={n: values[n] for n in free})]
    shown.append(browser.send("knots", want=list(range(40))))
    return shown, resolve(browser.choice).key == wanted


def go(browser, run, at):
    """Show a step, as the page does."""
    visit, run.at = session_of(browser.app), at
    visit.lesson, visit.live, visit.choice = run, Live(), run.choice_of(run.moment)
    shown = browser.post(None)
    browser.scene = shown["scene"]
    return shown


PAIRS = [
    (name, i, j)
    for name, lesson in SHIPPED.items()
    for j, later in enumerate(lesson.steps)
    if later.question
    for i in range(j)
]


@pytest.mark.parametrize(("name", "i", "j"), PAIRS)
def test_nothing_that_a_step_shows_answers_a_later_question(name, i, j):
    browser = Browser()
    run = Run(SHIPPED[name], browser.choice)
    steps = run.lesson.steps
    for at in range(j):
        is_place = steps[at].question and steps[at].question.point
        run.answers[at] = [0.0, 0.0] if is_place else 0
    first, later = go(browser, run, i), steps[j].question
    path = first["path"]
    here = lesson_files.settings_of(steps[i], "step", run.moment)
    for of, asked in later.asks.items():
        there = lesson_files.settings_of(steps[j], "step", of)
        differing = {n for n in {*here, *there} if here.get(n) != there.get(n)}
        on_path = differing <= {path["param"]} if path else False
        assert not (on_path and steps[i].question)
        shown, is_there = tried(browser, run, j, of)
        for one in first, *shown:
            told = {row["key"] for row in one.get("picture", {}).get("readouts", [])}
            assert not (is_there and asked & told)
        assert not (is_there and "place" in asked)
        assert path or not shown[-1]["knots"]


@pytest.mark.parametrize(("name", "i", "j"), PAIRS)
def test_no_text_of_a_step_has_a_number_that_answers_a_later_question(name, i, j):
    lesson = SHIPPED[name]
    run, later = (Run(lesson, Choice(), at=at) for at in (i, j))
    run.answers = {at: 0 for at in range(j) if lesson.steps[at].question}
    step, ones = run.step, dict.fromkeys(READOUTS, 1.0)
    texts = step.text + step.asked + (step.question.reveal if step.question else "")
    key_of = lambda run, of: resolve(run.choice_of(of)).key  # noqa: E731
    for (of, asked), moment in product(
        later.question.asks.items(), ("before", "after")
    ):
        if key_of(run, moment) != key_of(later, of):
            continue
        for placeholder in (f"{{{moment}.{one}}}" for one in asked):
            values = dict.fromkeys(("before", "after", "change"), ones)
            shown = lesson_run.filled(placeholder, values, hidden=run.hidden)
            assert placeholder not in texts or shown == "(asked later)"


def test_a_text_hides_what_is_asked_later_of_the_model_before_its_answer():
    asked = NUMBER | {"number": {"measure": "n_nonzeros"}, "then": {"lam": "0.5"}}
    later = NUMBER | {"number": {"measure": "n_prototypes", "of": "before"}}
    text = "Of {before.n_prototypes} to {after.n_prototypes}: {change.n_prototypes}."
    content = lesson_with(text=text, question=asked | {"reveal": text})
    content["steps"].append(lesson_with(question=later)["steps"][0])
    app = opened({}, "lessons.py")
    session_of(app).lessons["mine.json"] = json.dumps(content).encode()
    app.run().button(key="start_Yours: mine.json").click().run()
    sound(app.switch_page("pages/explore.py").run())
    assert "Of (asked later) to {after.n_prototypes}" in words(app)
    session_of(app).lesson.answers[0] = 3
    assert words(app.run()).count("Of (asked later) to 2: (asked later).") == 2
    session_of(app).lesson.answers[1] = 4
    assert words(app.run()).count("Of 4 to 2: −2.") == 2


def test_the_strip_after_the_first_answer_does_not_answer_the_second_question():
    browser = Browser()
    run = Run(SHIPPED["02-fusion.json"], browser.choice)
    run.answers[0] = 5
    shown = go(browser, run, 0)
    assert shown["picture"]["readouts"] and shown["path"] is None
    assert browser.send("knots", want=[0, 30])["knots"] == []
    before = browser.choice
    refused = browser.send("set", values={"lam": 0.08})["notices"][0]["text"]
    assert "Locked in this step" in refused and browser.choice == before
    run.answers[1] = 1
    assert browser.post(None)["path"]["param"] == "lam"


def test_a_place_that_is_asked_later_is_not_in_the_figure():
    browser = Browser()
    first = NUMBER | {"then": {"n_prototypes": "3"}}
    second = PLACE | {"point": {"of": "after", "within": 0.4}}
    content = lesson_with(state=CASES, question=first)
    content["steps"].append(lesson_with(state=CASES, question=second)["steps"][0])
    run = Run(read(content), browser.choice)
    run.answers[0] = 3
    go(browser, run, 0)
    assert browser.choice.values["n_prototypes"] == 2
    run.answers[1] = [0.0, 0.0]
    go(browser, run, 0)
    assert browser.choice.values["n_prototypes"] == 3


def test_numbers_of_a_model_wait_for_its_last_question():
    then = {"lam": "0.04"}
    first = NUMBER | {"then": then, "show": ["n_prototypes", "validation_accuracy"]}
    first |= {"reveal": "{after.n_prototypes}: {after.validation_accuracy}."}
    second = NUMBER | {"number": {"measure": "validation_accuracy", "of": "before"}}
    content = lesson_with(question=first)
    state = {"data": "circles"}
    later = {"title": "Two", "text": "x", "state": state | then, "question": second}
    content["steps"].append(later)
    app = opened({}, "lessons.py")
    session_of(app).lessons["mine.json"] = json.dumps(content).encode()
    app.run().button(key="start_Yours: mine.json").click().run()
    sound(app.switch_page("pages/explore.py").run())
    app.number_input(key="lesson_answer_0").set_value(4)
    sound(app.button(key="lesson_answer_0_sent").click().run())
    assert [one.label for one in app.metric] == ["Prototypes"]
    assert "asked later" in said(app, *app.markdown)
    assert "a question to come asks about its next model" in said(app, *app.caption)
    assert session_of(app).choice.values.get("lam") != 0.04
    session_of(app).lesson.answers[1] = 90
    assert len(sound(app.run()).metric) == 2


def test_read_outs_of_the_printed_algorithm_are_those_of_its_last_state():
    context = resolve(Choice(data="moons", method="smp", values={"lam": 0.12}))
    request = context.data, context.method.key, context.values
    fitted = context.fit().finished()
    plain = measured(Fitted(*request, fitted))
    assert not [name for name in plain if name.startswith("printed")]
    estimator = context.method.estimator(context.values, "classification")
    last = PRINTED["smp"](estimator, context.problem(), start=fitted.start_)[-1]
    assert len(np.unique(last.model.weights, axis=0)) == 4
    text = "printed_objective printed_prototypes printed_iterations"
    more = measured(Fitted(*request, fitted), text)
    assert {name: more[name] for name in more if name not in plain} == {
        "printed_objective": last.objective,
        "printed_prototypes": 4,
        "printed_iterations": 200,
    }


def test_support_vectors_are_those_of_the_comparison():
    context = resolve(Choice(data="moons"))
    request = context.data, context.method.key, context.values
    fitted = Fitted(*request, context.fit().finished())
    found = measured(fitted, "n_support_vectors svm_accuracy")
    X, y = context.data.of("train")
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    svm = SVC().fit(scaled, y)
    assert found["n_support_vectors"] == len(svm.support_)
    X_new, y_new = context.data.of("validation")
    right = svm.predict((X_new - X.mean(axis=0)) / X.std(axis=0)) == y_new
    assert found["svm_accuracy"] == pytest.approx(100 * right.mean())


def last(run):
    return run.at == len(run.lesson.steps) - 1


def test_choices_near_the_best_are_those_of_a_fit_to_each():
    state = SHIPPED["12-equally-good-models.json"].steps[0].state | {"k": "1"}
    step = read(lesson_with(state=state)).steps[0]
    context = resolve(lesson_files.state_of(step, "step")[0])
    fitted = Fitted(*context.request, context.fit().finished())
    row, problem = READOUTS["n_near_best"], context.problem()
    values = {"lam": 0.1, "n_prototypes": 1, "k": 1}
    objectives = [
        context.method.estimator(values | {"supports": ((column,),)}, problem.task)
        .solve(problem)
        .objective_
        for column in range(30)
    ]
    near = np.array(objectives) <= 1.05 * min(objectives)
    assert measured(fitted, row.key)[row.key] == near.sum() > 1
    assert row.key not in measured(fitted), "it is slow"


def test_answers_in_integers_are_compared_on_validation_rows():
    step = SHIPPED["13-alike-on-a-chip.json"].steps[0]
    context = resolve(lesson_files.state_of(step, "step")[0])
    fitted = Fitted(*context.request, context.fit().finished())
    model, data = fitted.estimator.model_, context.data
    rows = data.dataset.frame.iloc[data.split.validation]
    whole = quantise(compile_model(model, data.preparation), 8)
    same = whole.predict_frame(rows) == model.predict(data.of("validation")[0])
    found = measured(fitted, "same_int8 proved_int8 proved_int16")
    assert found["same_int8"] == 100 * same.mean()
    assert 0 < found["proved_int8"] <= min(found["same_int8"], found["proved_int16"])


@pytest.mark.parametrize("name", SHIPPED)
def test_every_step_of_a_lesson_is_reached_by_right_answers(name):
    app = started(SHIPPED[name])
    run = session_of(app).lesson
    for number in range(len(run.lesson.steps)):
        step_through(app, run, number)
        if not last(run):
            app.button(key="lesson_next").click().run()
            sound(app)
    app.button(key="lesson_leave").click().run()
    assert session_of(sound(app)).lesson is None
    assert session_of(app).choice.data == "moons"


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.py")))
def test_only_the_lesson_stays_open_during_a_question(page):
    app = started(SHIPPED["02-fusion.json"])
    sound(app.switch_page(f"pages/{page}").run())
    stays = page in ("explore.py", "lessons.py", "guide.py")
    assert ("is closed while a question" in said(app)) == (not stays)
    session_of(app).lesson.answers[0] = 5.0
    assert "is closed while" not in said(sound(app.run()))


def test_a_question_hides_downloads():
    app = started(SHIPPED["02-fusion.json"])
    assert not {one.key for one in app.button} & {"qr", "pin"}
    session_of(app).lesson.answers[0] = 5.0
    assert {"qr", "pin"} <= {one.key for one in app.run().button}


def test_a_link_opens_a_lesson_at_its_step():
    app = opened({"lesson": "02-fusion.json", "step": "2"})
    run = session_of(app).lesson
    assert (run.name, run.at) == ("02-fusion.json", 1)
    assert session_of(app).choice.data == "circles"
    assert app.query_params["lesson"] == "02-fusion.json"
    assert app.query_params["step"] == "2"
    app.button(key="lesson_leave").click().run()
    assert "lesson" not in sound(app).query_params


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"lesson": "../../secret"}, "not on this server"),
        ({"lesson": "02-fusion.json", "step": "9"}, "step should be from 1 to 3"),
        ({"lesson": "02-fusion.json", "step": "-1"}, "step should be from 1 to 3"),
        ({"step": "2"}, "not on this server"),
    ],
)
def test_a_wrong_link_to_a_lesson_is_a_sentence(link, words):
    app = opened(link)
    assert session_of(app).lesson is None
    assert words in figure_of(app)["notices"][0]["text"]


PLACE = {"text": "Where?", "reveal": "There.", "then": {"n_prototypes": "3"}}
PLACE |= {"point": {"of": "change", "within": 0.4}}
CASES = {"data": "moons", "method": "supersparse", "n_prototypes": "2"}


def asked_for_a_place(**state):
    browser = Browser()
    visit = session_of(browser.app)
    run = Run(read(lesson_with(state=CASES | state, question=PLACE)), visit.choice)
    visit.lesson, visit.choice = run, run.choice_of("before")
    return browser, run


def test_a_place_is_marked_by_a_message_and_compared_after_the_answer():
    browser, run = asked_for_a_place()
    assert browser.post(None)["mark"] == {"open": True, "at": None, "found": []}
    before = browser.choice
    shown = browser.send("edit", op="mark", x=0.5, y=-0.25)
    assert shown["mark"] == {"open": True, "at": [0.5, -0.25], "found": []}
    assert not shown["notices"] and browser.choice == before
    run.answers[0] = run.mark
    shown = browser.post(None)
    old, new = (
        resolve(run.choice_of(moment)).fit().finished().model_.prototypes
        for moment in ("before", "after")
    )
    far = [min(np.hypot(*(place - one)) for one in old) for place in new]
    assert shown["mark"]["at"] == [0.5, -0.25] and not shown["mark"]["open"]
    assert shown["mark"]["found"] == [new[int(np.argmax(far))].tolist()]
    moved = browser.send("edit", op="mark", x=9.0, y=9.0)
    assert moved["mark"]["at"] == [0.5, -0.25]  # an answer stays


@pytest.mark.parametrize("place", [{"x": None, "y": 0.0}, {"x": 1e200, "y": 0.0}])
def test_a_mark_that_is_no_place_is_not_kept(place):
    browser, run = asked_for_a_place()
    assert browser.send("edit", op="mark", **place)["mark"]["at"] is None
    assert run.mark is None


def test_a_direction_has_no_place():
    browser, run = asked_for_a_place(method="smp")
    run.answers[0] = [0.0, 0.0]
    assert browser.post(None)["mark"]["found"] == []
    assert not run.is_right(run.readouts())


def test_a_request_that_comes_with_a_new_step_gets_its_picture():
    """The browser asks for more of a picture while Next is pressed: one run of both."""
    browser = Browser()
    visit = session_of(browser.app)
    visit.lesson = Run(SHIPPED["02-fusion.json"], visit.choice)
    visit.live = Live()  # what a step begins with
    shown = browser.send("knots", want=[0])
    assert shown["kind"] == "full" and shown["picture"]["readouts"] == []


def test_each_lesson_that_ships_has_a_small_picture_and_a_line_of_story():
    for name, lesson in SHIPPED.items():
        picture = (lesson_files.HOME / name).with_suffix(".png")
        assert lesson.story and 1_000 < picture.stat().st_size <= 10_000


@pytest.mark.parametrize("name", ["", *SHIPPED])
def test_a_sheet_has_what_is_asked_what_is_measured_and_what_is_said(name):
    app = opened({}, "lessons.py")
    app.selectbox(key="lesson_sheet").set_value(name).run()
    sound(app.button(key="lesson_sheet_download").click().run())
    page = session_of(app).file.content.decode().partition("<body>")[2]
    text = html.unescape(re.sub("<[^>]+>", " ", page))
    assert "{" not in text and "None" not in text
    lessons = [SHIPPED[name]] if name else [*SHIPPED.values()][:6]
    assert sum(lesson.minutes for lesson in lessons) <= 90
    for lesson in lessons:
        assert lesson.title in text and lesson.aim in text
    for step in lessons[0].steps * bool(name):
        asked = step.question
        for part in (asked.text, asked.expect, asked.reveal) if asked else ():
            assert all(words in text for words in re.split(r"\{.*?\}", part))
    measured = {"02-fusion.json": "Right: 5, within 0.", "": "5 to 6"}
    measured["06-invented-cases.json"] = "Right: within 0.3 of (-0.01, -0.01)."
    assert measured.get(name, "") in text


@pytest.mark.parametrize("kind", [sheets.STUDENTS, sheets.SOLUTIONS])
@pytest.mark.parametrize("name", ["02-fusion.json", "06-invented-cases.json", "Yours"])
def test_students_have_questions_with_figures_and_no_answer_on_paper(name, kind):
    app = opened({}, "lessons.py")
    if name == "Yours":
        question = NUMBER | {"then": {"n_prototypes": "2"}, "reveal": "R <{after.gap}>"}
        files = session_of(app).lessons
        files["mine.json"] = json.dumps(lesson_with(question=question)).encode()
        name = "Yours: mine.json"
        lesson = lesson_files.read(files["mine.json"])
        app.run()
    else:
        lesson = SHIPPED[name]
    app.selectbox(key="lesson_sheet").set_value(name).run()
    app.segmented_control(key="lesson_sheet_kind").set_value(kind).run()
    sound(app.button(key="lesson_sheet_download").click().run())
    page = session_of(app).file.content.decode()
    text = html.unescape(re.sub("<[^>]+>", " ", page.partition("<body>")[2]))
    n_figures = page.count('aria-label="Figure of')
    questions = [step.question for step in lesson.steps if step.question]
    for step in lesson.steps:
        assert step.title in text and step.asked.partition("{")[0] in text
    solved = kind == sheets.SOLUTIONS
    assert page.count('aria-label="Space to write"') >= len(questions) * (not solved)
    after = sum(question.then is not None for question in questions)
    assert n_figures == len(lesson.steps) + after * solved
    for question in questions:
        said = re.split(r"\{.*?\}|[.]", question.reveal)
        assert all((words in text) == solved for words in said if len(words) > 25)
    assert ("Right: " in text) == solved and "{after" not in text


def test_a_figure_on_paper_names_every_class_and_has_rows_where_they_are():
    classes = [f"kind {i}" for i in range(10)]
    table = [(0.0, 1.0, 0, 0), (2.0, 4.0, 1, 1), (1.0, 2.5, 255, 0)]
    table += [(9.0, 1.0, 0, 0), (-1.5, 2.5, 0, 0), (1.0, 1.0, 0, 2)]  # outside; test
    columns = zip("x y label part".split(), np.array(table).T, strict=True)
    scene = {"points": dict(columns), "classes": classes, "title": "T"}
    view = {"x": [-1, 3], "y": [0, 5], "xlabel": "a", "ylabel": "b"}
    picture = {"grid": [2, 2], "winner": [0, 1, 1, 1]}
    drawn = paper_figure(picture, scene | {"view": view}).svg
    assert all(f">{name}</text>" in drawn for name in classes)
    height = int(re.search(r'viewBox="0 0 440 (\d+)"', drawn)[1])
    places = re.findall(r"translate\((\d+) (\d+)\)\"><[cr]", drawn)
    assert places == [
        (str(30 + 90 * (i % 4)), str(380 + 58 + 18 * (i // 4))) for i in range(10)
    ]
    assert height == 380 + 58 + 18 * 2 + 12  # what hangs below a letter's line
    plane = drawn.partition("</svg>")[0]
    # 95 pixels for 1 of x, 76 for 1 of y, which goes up; squares are 6 wide.
    assert re.findall(r'c.="([\d.]+)" cy="([\d.]+)" r=".*?" fill="(.*?)"', plane) == [
        ("95.0", "304.0", "#0072B2")
    ]
    assert re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" .*? fill="(.*?)"', plane) == [
        ("282.0", "73.0", "#E69F00"),
        ("187.0", "187.0", GREY),
    ]
    assert re.findall(r'd="(.*?)"', plane) == [
        *("M0.0 190.0h190.0v190.4H0.0z", "M190.0 190.0h190.0v190.4H190.0z"),
        "M0.0 0.0h380.0v190.4H0.0z",
    ]
    assert ">-1 ← a → 3<" in drawn and ">0 ← b → 5<" in drawn


def test_steps_of_a_lesson_are_moved_and_deleted():
    app = opened({}, "lessons.py")
    visit = session_of(app)
    steps = [{"title": name, "text": "x"} for name in "ABCD"]
    content = lesson_with() | {"steps": steps}
    visit.lessons = {"mine.json": json.dumps(content).encode()}
    visit.editions["lesson_edited"] += 1
    app.run()
    moves = {"up_2": "ACBD", "down_1": "ABCD", "up_3": "ABDC", "down_0": "BADC"}
    for key, titles in (moves | {"delete_1": "BDC", "delete_2": "BD"}).items():
        sound(app.button(key=f"step_{key}").click().run())
        lesson = lesson_files.read(visit.lessons["mine.json"])
        assert "".join(step.title for step in lesson.steps) == titles, key


def test_a_lesson_that_was_made_is_there_after_a_reload_of_its_browser(monkeypatch):
    for browser, n_shown in ("one that reloads", 0), ("one that reloads", 1), ("x", 0):
        monkeypatch.setattr(visitors, "browser", lambda browser=browser: browser)
        app = opened({}, "lessons.py")
        keys = [button.key for button in app.button]
        assert keys.count("start_Yours: my-lesson-1.json") == n_shown
        if not n_shown and browser != "x":
            written(app, "")
