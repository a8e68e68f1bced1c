"""A lesson as a file: what stands in it, what is hidden, and the package of it."""

import io
import json
import re
import zipfile
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from pages.state import lesson_files
from pages.state.host import resolve
from pages.state.lesson_run import Run
from pages.ui import lesson_page
from pages.work import classes
from smpcore.live import scorm_package
from tests.app import kernels, opened, session_of, sound
from tests.test_lessons import SHIPPED, read
from tests.test_saved_page import BAD, payload_of

fixtures = (kernels,)
pytestmark = pytest.mark.usefixtures("kernels")
NAMES = {name: lesson_files.listed()[name] for name in lesson_files.listed()}


@pytest.fixture(scope="module")
def files():
    """Payloads of lessons by their first numbers, each written once."""
    made = {}

    def payload(number):
        if number not in made:
            name = next(name for name in NAMES if name.startswith(number))
            made[number] = payload_of(lesson_page.lesson_page(NAMES[name], name))
        return made[number]

    return payload


def test_an_open_question_has_no_numbers_slider_or_test_rows_in_its_figure(files):
    file = files("02")
    first, *_, task = file["lesson"]["steps"]
    before, after = (file["figures"][first[when]] for when in ("before", "after"))
    assert before["picture"]["readouts"] == [] and before["answers"] is None
    assert before["path"] is None and before["knots"] == []
    assert before["picture"]["strip"] == {"nonzeros": 0}
    n_open, n_all = (len(one["scene"]["points"]["x"]) for one in (before, after))
    assert (n_open, n_all) == (800, 1000), "test rows come with the answer"
    assert after["picture"]["readouts"] and after["answers"]
    # The next question is about lam: its slider would answer it.
    assert after["path"] is None and "a question to come" in first["note"]
    moving = file["figures"][task["after"]]
    assert moving["path"]["param"] == "lam" and len(moving["knots"]) == 51


def test_what_is_right_is_what_fits_measure(files):
    step = files("02")["lesson"]["steps"][0]
    choice, _ = lesson_files.state_of(
        NAMES["02-fusion.json"].steps[0], "", {"lam": ".04"}
    )
    model = resolve(choice).fit().finished().model_
    question = step["question"]
    assert question["right"] == model.n_prototypes == 5 and question["whole"]
    assert question["reveal"].startswith(f"{model.n_prototypes} are left")
    assert "{" not in question["reveal"] and "measured" in question


@pytest.mark.parametrize("number", ["02", "08"])
def test_a_task_can_be_done_in_the_file(files, number):
    file = files(number)
    (at,) = [i for i, one in enumerate(file["lesson"]["steps"]) if one["has_task"]]
    knots = file["figures"][file["lesson"]["steps"][at]["after"]]["knots"]
    reached = [knot["reached"] for knot in knots]
    assert any(reached) and not all(reached)
    assert not file["figures"][file["lesson"]["steps"][at]["after"]]["picture"][
        "reached"
    ]


def test_a_count_moves_over_whole_numbers_each_a_fit_of_its_own(files):
    file = files("01")
    figure = file["figures"][file["lesson"]["steps"][1]["after"]]
    values = figure["path"]["values"]
    assert figure["path"]["param"] == "n_prototypes" and values[0] == 1
    assert values == np.unique(np.rint(values)).tolist()
    choice, _ = lesson_files.state_of(
        NAMES["01-several-prototypes.json"].steps[1], "", {"n_prototypes": "3"}
    )
    model = resolve(choice).fit().finished().model_
    owners = figure["knots"][values.index(3)]["prototypes"]["owner"]
    np.testing.assert_array_equal(owners, model.prototype_labels)


def test_steps_with_more_controls_say_so_and_lead_to_the_app():
    lesson = NAMES["00-tour.json"]
    one = replace_steps(lesson, lesson.steps[:1])
    (step,) = payload_of(lesson_page.lesson_page(one, "00-tour.json"))["lesson"][
        "steps"
    ]
    assert step["note"] == "In the app all settings of this step can be moved."
    assert step["app"] == "?lesson=00-tour.json&step=1" and not step["has_task"]
    (step,) = payload_of(lesson_page.lesson_page(one))["lesson"]["steps"]
    assert step["app"] == "", "a lesson of a browser has no address"


def replace_steps(lesson, steps):
    return msgspec.structs.replace(lesson, steps=steps)


def test_one_step_is_saved_with_what_its_place_in_the_lesson_hides(files):
    lesson = NAMES["02-fusion.json"]
    file = payload_of(lesson_page.lesson_page(lesson, "02-fusion.json", only=1))
    (step,) = file["lesson"]["steps"]
    whole = files("02")["lesson"]["steps"][1]
    assert step["question"] == whole["question"] and step["text"] == whole["text"]
    assert len(file["figures"]) == 2
    assert file["lesson"]["key"] != files("02")["lesson"]["key"]


def hostile():
    """A lesson whose every text is hostile."""
    data = json.loads((lesson_files.HOME / "02-fusion.json").read_text())
    step = data["steps"][0] | {"title": BAD, "text": f"{BAD} $x_{{1}}$"}
    step["question"] |= {"text": BAD, "reveal": BAD}
    step.pop("claims", None)
    return read(data | {"title": f"{BAD}\x08 &", "aim": BAD, "steps": [step]})


def test_hostile_texts_stay_text_in_page_and_manifest():
    page = lesson_page.lesson_page(hostile())
    assert b"<img" not in page
    assert payload_of(page)["lesson"]["steps"][0]["title"] == BAD
    (policy,) = re.findall(rb'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith(b"default-src 'none'; ") and b"unsafe" not in policy
    with zipfile.ZipFile(io.BytesIO(scorm_package(hostile().title, page))) as file:
        assert sorted(file.namelist()) == ["imsmanifest.xml", "index.html"]
        root = ElementTree.fromstring(file.read("imsmanifest.xml"))
        assert file.read("index.html") == page
    names = {"": "http://www.imsproject.org/xsd/imscp_rootv1p1p2"}
    title = root.find("organizations/organization/title", names)
    assert title.text == f"{BAD} &"
    (resource,) = root.findall("resources/resource", names)
    kind = resource.get("{http://www.adlnet.org/xsd/adlcp_rootv1p2}scormtype")
    assert (kind, resource.get("href")) == ("sco", "index.html")
    item = root.find("organizations/organization/item", names)
    assert item.get("identifierref") == resource.get("identifier")


@pytest.mark.parametrize("is_shipped", [True, False])
def test_the_lessons_page_saves_listed_lessons_and_those_of_the_browser(is_shipped):
    app = opened({}, "lessons.py")
    sheet = NAMES["02-fusion.json"]
    lesson = replace_steps(sheet, sheet.steps[2:])
    if not is_shipped:
        session_of(app).lessons = {"mine.json": msgspec.json.encode(lesson)}
    name = "09-as-printed.json" if is_shipped else "Yours: mine.json"
    lesson = NAMES[name] if is_shipped else lesson
    app.run().selectbox(key="lesson_sheet").set_value(name).run()
    sound(app.button(key="lesson_package").click().run())
    content = session_of(app).file.content.partition(b"\n")[2]
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        page = payload_of(file.read("index.html"))
    steps = page["lesson"]["steps"]
    assert [one["title"] for one in steps] == [one.title for one in lesson.steps]
    # A step that frees one control has its slider.
    assert page["figures"][steps[-1]["after"]]["path"]["param"] == "lam"


def test_a_step_is_saved_from_explore_but_never_out_of_a_class():
    app = opened({"data": "moons"}, "explore.py")
    visit = session_of(app)
    visit.lesson = Run(NAMES["02-fusion.json"], visit.choice, at=2)
    sound(app.run())
    sound(app.button(key="save_lesson_step").click().run())
    file = payload_of(session_of(app).file.content.partition(b"\n")[2])
    (step,) = file["lesson"]["steps"]
    assert step["has_task"] and step["title"] == visit.lesson.lesson.steps[2].title
    visit.lesson.student = classes.start(visit.lesson.lesson, "teacher").join("b")
    app.run()
    assert not [one for one in app.button if one.key == "save_lesson_step"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHIPPED)
def test_each_lesson_is_at_most_as_large_as_its_figures(name):
    page = lesson_page.lesson_page(NAMES[name], name)
    assert len(page) <= 8e6
