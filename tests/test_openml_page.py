"""Data from OpenML on the page, against a stand-in service over HTTP."""

import pytest

from pages.shared import fetched, links
from tests.app import kernels, opened, said, until
from tests.smpcore.datasets.openml_server import Served, serving

pytestmark = pytest.mark.usefixtures(kernels.__name__)
MANY = (
    "@relation m\n@attribute x real\n@attribute z real\n@attribute kind {a,b}\n@data\n"
)
MANY += "".join(f"{(i * 7) % 11},{i % 5},{'ab'[i % 2]}\n" for i in range(80))


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(fetched, "_errands", {})
    monkeypatch.setattr(fetched, "PATIENCE", 60.0)  # a busy machine is no reason
    sets = [
        Served(61, "small <b>kinds</b>", arff=MANY, target="kind", rows=80, columns=3),
        Served(62, "huge", rows=10**8),
        Served(63, "cut kinds", trouble="cut"),
        Served(64, "slow kinds", trouble="slow"),
    ]
    with serving(*sets) as service:
        monkeypatch.setenv("SPE_OPENML_SERVER", service.url)
        yield service


def searched(page, text):
    page.text_input(key="openml_text").set_value(text)
    page.button(key="FormSubmitter:openml-Search").click().run()
    return until(page, lambda p: any(s.key == "openml_choice" for s in p.selectbox))


def fetch(page, number):
    box = page.selectbox(key="openml_choice")
    box.set_value(number).run()
    page.button(key="openml_fetch").click().run()


def test_a_search_and_a_fetch_end_on_every_page(service):
    page = searched(opened({}, "data.py"), "KINDS")
    options = page.selectbox(key="openml_choice").options
    assert options[0].startswith("61 · small <b>kinds</b>, version 1: 80 rows")
    assert not any("huge" in option for option in options)
    fetch(page, 61)
    until(page, lambda p: p.session_state["choice"].data == "openml:61")
    page.run()
    assert page.metric[0].value == "80"
    assert "OpenML 61, version 1" in said(page)
    assert page.selectbox(key="data_pick").value == "openml:61"
    for other in ("explore.py", "compare.py", "export.py"):
        page.switch_page(f"pages/{other}").run()
        assert not page.exception
    assert any("fetch_openml(61)" in code.value for code in page.code)
    assert page.query_params["data"] == "openml:61"


def test_a_link_names_it(service):
    page = opened({"data": "openml:61"}, "data.py")
    assert page.metric[0].value == "80"
    choice, notices = links.read_url({"data": "openml:999"})
    assert choice.data == "moons"
    assert "no data set 999" in " ".join(notices)
    for text in ("openml:", "openml:../../x", "openml:1e3", "openml:²"):
        choice, notices = links.read_url({"data": text})
        assert choice.data == "moons"
        assert "no data set of OpenML" in " ".join(notices)


def test_what_goes_wrong_is_said_and_the_data_stay(service):
    page = searched(opened({"data": "iris"}, "data.py"), "kinds")
    fetch(page, 63)
    until(page, lambda p: "nothing was kept" in said(p))
    assert page.session_state["choice"].data == "iris"


def test_a_slow_fetch_can_be_stopped(service):
    page = searched(opened({"data": "iris"}, "data.py"), "kinds")
    fetch(page, 64)
    until(page, lambda p: "Fetching the rows" in said(p))
    page.button(key="openml_stop_0").click().run()
    until(page, lambda p: "Stopped" in said(p))
    assert page.session_state["choice"].data == "iris"


def test_offline_is_a_calm_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("SPE_OPENML_SERVER", "http://127.0.0.1:9/api/v1/xml")
    page = opened({}, "data.py")
    page.text_input(key="openml_text").set_value("iris")
    page.button(key="FormSubmitter:openml-Search").click().run()
    until(page, lambda p: "cannot be reached" in said(p))
