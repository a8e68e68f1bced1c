"""Data from OpenML on the page, against a stand-in service over HTTP."""

import io

import numpy as np
import pytest

from pages.state import links, table_store
from pages.state.host import resolve
from pages.work import openml_sets
from pages.work.store import Store
from smpcore import read_table, split
from smpcore.live import MINE
from tests.app import kernels, opened, said, session_of, until
from tests.smpcore.datasets.openml_server import Served, serving
from tests.test_data_page import data_picker

pytestmark = pytest.mark.usefixtures(kernels.__name__)
MANY = (
    "@relation m\n@attribute x real\n@attribute z real\n@attribute kind {a,b}\n@data\n"
)
MANY += "".join(f"{(i * 7) % 11},{i % 5},{'ab'[i % 2]}\n" for i in range(80))
PQ = np.array(["p", "q"] * 10)


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(openml_sets, "_downloads", Store(8))
    monkeypatch.setattr(openml_sets, "PATIENCE", 60.0)  # a busy machine is no reason
    sets = [
        Served(61, "small <b>kinds</b>", arff=MANY, target="kind", rows=80, columns=3),
        Served(62, "huge", rows=10**8),
        Served(64, "slow kinds", trouble="slow"),
        Served(65, "one value", MANY.replace(",b\n", ",a\n"), "kind", 80, 3),
    ]
    with serving(*sets) as service:
        monkeypatch.setenv("SPE_OPENML_SERVER", service.url)
        yield service


def search(page, text):
    page.text_input(key="openml_text").set_value(text)
    page.button(key="FormSubmitter:openml-Search").click().run()
    return page


def searched(page, text):
    search(page, text)
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
    until(page, lambda p: session_of(p).choice.data == "openml:61")
    page.run()
    assert page.metric[0].value == "80"
    assert "OpenML 61, version 1" in said(page)
    assert data_picker(page).value == "openml:61"
    for other in ("explore.py", "compare.py", "export.py"):
        page.switch_page(f"pages/{other}").run()
        assert not page.exception
    assert any("fetch_openml(61)" in code.value for code in page.code)
    assert page.query_params["data"] == "openml:61"


def test_a_copy_gets_other_roles_and_python_fetches_it_again(service):
    page = opened({"data": "openml:61"}, "data.py")
    page.button(key="copy_table").click().run()
    choice = session_of(page).choice
    assert choice.data == MINE
    assert not any(button.key == "copy_table" for button in page.button)
    assert page.segmented_control[0].value == "classification"
    mended = resolve(choice).table.with_roles(roles={"z": "target"}, task="regression")
    query = {"data": MINE, "mine": table_store.keep(mended, token=choice.token)}
    page = opened(query, "export.py")
    (script,) = [code.value for code in page.code if "fetch_openml" in code.value]
    told = {}
    exec(script, told)  # what the page hands out
    assert told["dataset"].digest == mended.digest
    page = opened({"data": "iris"}, "data.py")
    assert not any(button.key == "copy_table" for button in page.button)


def test_a_set_that_cannot_be_learned_is_mended_in_a_copy(service):
    page = searched(opened({"data": "iris"}, "data.py"), "one value")
    fetch(page, 65)
    until(page, lambda p: "one class only" in said(p))
    page.button(key="copy_table").click().run()
    draft = table_store.visit(session_of(page).draft)[0]
    tables = draft.with_roles(roles={"kind": "ignore", "z": "target"})
    assert tables.private and tables.n_samples == 80


def test_moved_points_of_a_file_have_no_python_that_forgets_them(service):
    table = read_table(io.BytesIO(b"a,b,y\n" + b"1,2,p\n3,1,q\n" * 9), "t.csv")
    points = table.with_points(np.random.default_rng(0).normal(size=(20, 2)), PQ)
    token = table_store.keep(points, split(points))
    page = opened({"data": MINE, "mine": token}, "export.py")
    assert "Drawn points" in said(page)
    assert not any("read_table" in code.value for code in page.code)


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


@pytest.mark.parametrize(
    "number, words", [(999, "no data set 999"), (62, "100,000,000 rows")]
)
def test_an_id_that_does_not_fit_says_why(service, number, words):
    page = searched(opened({"data": "iris"}, "data.py"), str(number))
    assert "not among the data sets" in page.selectbox(key="openml_choice").options[0]
    fetch(page, number)
    until(page, lambda p: words in said(p))
    assert session_of(page).choice.data == "iris"


def test_a_name_that_nobody_has_is_a_sentence(service):
    page = search(opened({"data": "iris"}, "data.py"), "zzz")
    until(page, lambda p: "try a part of the name, or the id" in said(p))


def test_a_slow_fetch_can_be_stopped(service):
    page = searched(opened({"data": "iris"}, "data.py"), "kinds")
    fetch(page, 64)
    until(page, lambda p: "Fetching the rows" in said(p))
    page.button(key="openml_stop_0").click().run()
    until(page, lambda p: "Stopped" in said(p))
    assert session_of(page).choice.data == "iris"


def test_offline_is_a_calm_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("SPE_OPENML_SERVER", "http://127.0.0.1:9/api/v1/xml")
    page = search(opened({}, "data.py"), "iris")
    until(page, lambda p: "cannot be reached" in said(p))
