"""What pages are told stays: on other pages and back, and in a link."""

import pytest

from pages.state.context import resolve
from pages.work import studies
from tests.app import kernels, opened, said, session_of, sound

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(studies, "COARSE_SECONDS", 0.2)


def _told_trade_off(page):
    page.selectbox(key="sweep_score_classification").select("accuracy").run()
    page.selectbox(key="sweep_size").select("flash_bytes").run()
    page.number_input(key="sweep_folds").set_value(3).run()
    page.button_group(key="sweep_groups").set_value(["selected"]).run()
    page.multiselect[0].set_value(["smallk", "imkpl"]).run()
    return sound(page)


def _says_trade_off(page):
    return (
        page.selectbox(key="sweep_score_classification").value,
        page.selectbox(key="sweep_size").value,
        page.number_input(key="sweep_folds").value,
        page.button_group(key="sweep_groups").value,
        page.multiselect[0].value,
    )


def _told_prototypes(page):
    page.segmented_control(key="prototypes_section").set_value(
        "Why this prediction"
    ).run()
    page.selectbox(key="why_part").select("validation").run()
    page.number_input[0].set_value(page.number_input[0].max - 1).run()
    return sound(page)


def _says_prototypes(page):
    return page.selectbox(key="why_part").value, page.number_input[0].value


PAGES = {
    "tradeoff.py": (_told_trade_off, _says_trade_off),
    "prototypes.py": (_told_prototypes, _says_prototypes),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same_from_its_link_and_when_it_comes_back(name):
    tell, says = PAGES[name]
    page = opened({"data": "breast_cancer", "method": "smallk"}, name)
    before = says(opened({"data": "breast_cancer"}, name)) if "proto" not in name else 0
    wanted = says(tell(page))
    assert wanted != before
    link = dict(page.query_params)
    page.switch_page("pages/apply.py").run()
    sound(page.switch_page(f"pages/{name}").run())
    assert says(page) == wanted
    again = opened(link, name)
    assert says(again) == wanted
    assert not again.warning
    choices = [session_of(app).choice for app in (page, again)]
    assert resolve(choices[0]).key == resolve(choices[1]).key


@pytest.mark.parametrize("text", ["", "nonsense", "<b>x</b>", "-1", "1e9", "smp,zzz"])
def test_a_link_cannot_say_what_a_control_cannot(text):
    keys = (
        "sweep_score_classification",
        "sweep_size",
        "sweep_folds",
        *["sweep_groups"] * bool(text),  # none is a choice, too
    )
    start = _says_trade_off(opened({"data": "iris"}, "tradeoff.py"))
    page = opened({"data": "iris"} | {f"p.{key}": text for key in keys}, "tradeoff.py")
    assert _says_trade_off(page) == start
    assert not [name for name in page.query_params if name.startswith("p.")]
    assert "ignored" not in said(page)


def test_another_model_on_explore_is_the_one_that_is_swept():
    page = opened({"data": "iris"}, "tradeoff.py")
    first = page.multiselect[0].value
    other = "smallk"
    assert first != [other]
    there = opened({"data": "iris", "method": other})
    session_of(page).choice = session_of(there).choice
    page.switch_page("pages/apply.py").run()
    page.switch_page("pages/tradeoff.py").run()
    assert page.multiselect[0].value == [other]
