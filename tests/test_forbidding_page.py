"""Features forbidden on Prototypes, and what the other pages make of it."""

import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.export import python_lines
from pages.prototypes import report
from pages.prototypes.model_context import with_model
from pages.state import undo
from pages.state.app_figure import AppFigure, set_values
from pages.state.host import HOST, resolve, validated
from pages.state.session import Live
from pages.ui import exports
from smpcore import METHODS, SmpcoreError
from smpcore.live import Choice, Message
from tests.app import (
    APP,
    at,
    forbidden,
    kernels,
    opened,
    session_of,
    sound,
    words,
)

pytestmark = pytest.mark.usefixtures(kernels.__name__)

PETAL = "petal width (cm)"
PAGES = ("data", "compare", "tradeoff", "apply", "export")


def without(*names):
    return json.dumps(names, ensure_ascii=False)


def chosen(page):
    return session_of(page).choice


def sight_of(choice):
    context = resolve(choice)
    return with_model(context, context.model())


@pytest.mark.parametrize(
    ("data", "name", "method"),
    [
        # Pixels and channels are gathered before a method sees them.
        pytest.param(
            data,
            name,
            method,
            marks=()
            if data in ("iris", "moons") or not number
            else pytest.mark.exhaustive,
        )
        for data, name in (
            ("iris", PETAL),
            ("digits", None),
            ("series", None),
            ("moons", None),
        )
        for number, method in enumerate(METHODS)
    ],
)
def test_forbidden_and_allowed_again_by_every_method(data, name, method):
    page = opened({"data": data, "method": method}, "prototypes.py")
    before = resolve(chosen(page)).data.preparation.n_features
    picker = forbidden(page)
    name = name or resolve(chosen(page)).data.dataset.feature_columns[0].split("_t")[0]
    sound(picker.set_value([name]).run())
    assert chosen(page).forbidden == (name,)
    assert resolve(chosen(page)).data.preparation.n_features < before
    assert f"Trained without {name}" in words(page)
    for section in ("One by one", "Rule in words", "Why this prediction", "Report"):
        page.segmented_control(key="prototypes_section").set_value(section).run()
        assert not sound(page).error
        if section == "Why this prediction":
            assert "would change from" in words(page)
    sound(forbidden(page).set_value([]).run())
    assert chosen(page).forbidden == ()
    assert resolve(chosen(page)).data.preparation.n_features == before


@pytest.mark.parametrize("data", ["iris", "series"])
def test_a_button_beside_a_feature_forbids_it(data):
    page = at("One by one", {"data": data})
    # Of the first one that wins rows, whichever that is.
    (box,) = (b for b in page.selectbox if str(b.key).startswith("column_"))
    feature = box.value
    name = resolve(chosen(page)).data.preparation.feature_names[feature]
    name = name.rpartition("_t")[0] or name  # of a series all of the channel
    late = page._tree.get_widget_states()
    sound(page.button(key="forbid_feature").click().run())
    assert chosen(page).forbidden == (name,)
    assert forbidden(page).value == [name]
    sound(page._run(late))  # a browser that has not drawn that yet
    assert chosen(page).forbidden == (name,)


def test_editing_it_is_without_effect_and_the_page_says_so():
    page = at("Why this prediction", {"data": "iris", "without": without(PETAL)})
    assert "which do not affect the prediction: petal width (cm)" in words(page)
    context = sight_of(chosen(page))
    assert [given.name for given in context.forbidden] == [PETAL]
    row = context.data.dataset.frame.iloc[[3]]
    other = row.assign(**{PETAL: 99.0})
    prepared = [context.data.preparation.transform(r) for r in (row, other)]
    assert np.array_equal(*prepared)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_learns_without_it_and_says_so(name):
    page = opened({"data": "iris", "without": without(PETAL)}, f"{name}.py")
    assert "Trained without petal width (cm)" in words(page)
    assert chosen(page).forbidden == (PETAL,)
    assert not page.error


@pytest.mark.parametrize(
    "text, told",
    [
        (without("size"), "as these data do not have it: size"),
        ("size", "should name what is forbidden as in"),
        ('{"a": 1}', "should name what is forbidden as in"),
        ("[1]", "should name what is forbidden as in"),
        ("[" * 5000, "should name what is forbidden as in"),
        (without("x1", "x2"), "allow at least one of them"),
    ],
)
def test_a_wrong_link_is_answered_in_a_sentence(text, told):
    page = AppTest.from_file(APP, default_timeout=60)
    page.query_params["data"] = "moons"
    page.query_params["without"] = text
    page.switch_page("pages/prototypes.py").run()
    assert told in words(sound(page))
    assert chosen(page).forbidden == ()
    assert "without" not in page.query_params


def test_pictures_and_channels_stay():
    for data in ("digits", "series"):
        start = Choice(data=data)
        column = next(iter(resolve(start).dataset.feature_columns)).split("_t")[0]
        context = sight_of(Choice(data=data, forbidden=(column,)))
        assert context.shape == resolve(start).dataset.sample_shape
        drawn = context.in_place(context.portraits.values)
        assert drawn.shape[1] == np.prod(context.shape)
        assert np.isnan(drawn).any()
        html = report.written(context, real=True)
        assert "Forbidden features" in html
        assert not re.search(r"\bnan\b", html)


def test_other_data_forbid_nothing():
    choice = set_values(Choice(data="iris", forbidden=(PETAL,)), {"data": "wine"})
    assert choice.forbidden == ()
    lost, told = validated(Choice(data="iris", forbidden=("size", PETAL)))
    assert lost.forbidden == (PETAL,)
    assert len(told) == 1 and "No longer forbidden" in told[0] and "size" in told[0]


def test_an_export_knows_and_does_not_ask():
    made = exports.compiled(resolve(Choice(data="iris", forbidden=(PETAL,))))
    assert made.compiled.provenance["forbidden"] == [PETAL]
    assert PETAL not in [given.name for given in made.compiled.inputs]
    script = python_lines.python_of_choice(made.context)
    assert f"forbid(load_dataset('iris'), ['{PETAL}'])" in script


def test_points_are_not_drawn_where_a_feature_is_forbidden():
    choice = Choice(data="moons")
    name = resolve(choice).dataset.feature_columns[0]
    choice = Choice(data="moons", forbidden=(name,))
    message = Message("edit", 1, op="add", x=0.0, y=0.0, label=0)
    with pytest.raises(SmpcoreError, match="two numeric features"):
        AppFigure(HOST, Live()).edited(choice, message)


def test_it_is_undone():
    page = opened({"data": "iris"}, "prototypes.py")
    forbidden(page).set_value([PETAL]).run()
    live = session_of(page).live
    assert undo.next_undo(live) == "what is forbidden"
    assert undo.back(chosen(page), live).forbidden == ()


def test_a_forbidden_pixel_is_crossed_out():
    page = opened({"data": "digits", "without": without("pixel_3_4")}, "prototypes.py")
    figure = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert figure["data"][1]["hovertemplate"].endswith("forbidden<extra></extra>")
    assert "Forbidden pixels are crossed out" in words(page)
