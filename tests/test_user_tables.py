"""Uploads and drawings are kept apart, and both stay at hand."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.state import table_store
from pages.state.host import resolve
from pages.state.state_file import apply_record, record_of
from pages.work import visitors
from pages.work.store import KEEP_SECONDS
from smpcore import SmpcoreError, load_dataset, read_table, split
from smpcore.datasets import CleaningStep, steps_to_json
from smpcore.live import MINE
from tests.app import bring, kept_table, said, session_of, sound
from tests.app import opened as visited
from tests.test_data_page import GOOD, choice, data_picker, facts, opened
from tests.test_live import Browser, kernels
from tests.test_live_edits import back

fixtures = (kernels,)
#: As visitors have it, not tests (`tests/conftest.py: tables_are_of_all_pages`).
OWNER = visitors.owner
PLACE = {"op": "add", "x": 0.5, "y": 0.5, "label": 1}


def uploaded():
    return table_store.keep(read_table(GOOD.encode(), "t.csv"))


@pytest.fixture
def browser():
    """A visitor with an upload, who has chosen Moons."""
    token = uploaded()
    browser = Browser(data=MINE, token=token)
    browser.drag(data="moons", release=True)
    yield browser
    table_store.delete(token)


def _listed(browser):
    picker = next(c for c in browser.last["controls"] if c["name"] == "data")
    return {o["label"]: o["value"] for o in picker["options"] if MINE in o["value"]}


def test_two_visitors_without_a_cookie_share_no_table(monkeypatch):
    tabs = ["one"]
    monkeypatch.setattr(visitors, "owner", OWNER)
    monkeypatch.setattr(visitors, "browser", lambda: "")
    monkeypatch.setattr(visitors, "visitor", lambda: tabs[-1])
    token = uploaded()
    assert table_store.find(token) is not None
    tabs.append("another")
    assert table_store.find(token) is None
    table_store.delete(token)
    tabs.append("one")
    assert table_store.find(token) is not None
    table_store.delete(token)
    assert table_store.find(token) is None


@pytest.mark.parametrize("data", ["moons", "drawn", "xor"])
def test_an_edit_of_other_data_leaves_the_upload(browser, data):
    browser.drag(data=data, release=True)
    upload = browser.choice.token
    before = table_store.visit(upload)[0].digest
    browser.send("edit", **PLACE)
    drawing = browser.choice.token
    assert (browser.choice.data, browser.choice.others) == (MINE, (upload,))
    assert table_store.visit(upload)[0].digest == before
    assert _listed(browser) == {"My table": f"mine:{upload}", "My drawing": MINE}
    browser.send("edit", **PLACE)
    assert browser.choice.token == drawing, "the same drawing goes on"
    browser.drag(data=f"mine:{upload}", release=True)
    assert len(browser.scene["points"]["x"]) == 48  # the test part is closed
    assert _listed(browser) == {"My table": MINE, "My drawing": f"mine:{drawing}"}
    back(browser)
    assert browser.choice.token == drawing
    for _ in range(2):
        back(browser)
    assert browser.choice.data == data
    assert _listed(browser) == {"My table": MINE}
    browser.drag(data=MINE, release=True)
    assert resolve(browser.choice).dataset.digest == before


def test_an_edit_of_the_upload_leaves_it_as_it_was(browser):
    browser.drag(data=MINE, release=True)
    upload, before = browser.choice.token, resolve(browser.choice).dataset.digest
    browser.send("edit", **PLACE)
    assert browser.choice.token != upload
    assert table_store.visit(upload)[0].digest == before
    assert table_store.visit(upload)[1] is None, "its parts can still be drawn anew"
    assert len(_listed(browser)) == 2
    back(browser)
    assert browser.choice.token == upload
    assert resolve(browser.choice).dataset.digest == before
    assert [*_listed(browser)] == ["My table"]


GONE = "The table of this link is not on the server"


def test_explore_goes_on_without_a_table_that_another_tab_deleted(browser):
    browser.drag(data=MINE, release=True)
    browser.drag(mu=0.05, release=True)
    table_store.delete(browser.choice.token)
    answer = browser.drag(mu=0.07)
    assert GONE in answer["notices"][0]["text"]
    assert answer["kind"] == "full"
    assert (browser.choice.data, browser.choice.user_tables) == ("moons", ())
    refused = back(browser)
    assert "Undo cannot take back" in refused["notices"][0]["text"]
    assert browser.choice.data == "moons"


@pytest.mark.parametrize("page", ["explore.py", "export.py"])
def test_every_page_says_that_a_table_has_expired(page):
    token = uploaded()
    app = visited({"data": MINE, "mine": token}, page)
    kept_table(token).used -= KEEP_SECONDS
    if page == "explore.py":  # the figure itself says it
        assert session_of(sound(app.run())).choice.data == "moons"
    else:
        assert GONE in said(app.run())
        assert sound(app).query_params["data"] == "moons"


def test_a_table_about_to_expire_is_announced_and_takes_its_file_along(monkeypatch):
    dropped = []
    monkeypatch.setattr(visitors, "drop_files", lambda: dropped.append(1))
    token = uploaded()
    app = AppTest.from_function(_watch, args=(token,)).run()
    assert not app.warning
    kept_table(token).used -= KEEP_SECONDS - 100
    assert "expires in 2 minutes" in sound(app.run()).warning[0].value
    app.button(key="keep_table").click().run()
    assert not sound(app.run()).warning and not dropped
    kept_table(token).used -= KEEP_SECONDS
    for _ in range(2):
        assert not sound(app.run()).warning
    assert dropped == [1]


def _watch(token):
    from pages.ui import navigation

    navigation.announce_expiry(token)


def test_a_second_drawing_leaves_the_first_and_the_lists_do_not_grow_for_ever(browser):
    upload = browser.choice.token
    for _ in range(table_store.MOST_DRAWINGS + 3):
        browser.send("edit", **PLACE)
        browser.drag(data="xor", release=True)
    listed = [*_listed(browser)]
    assert listed[:3] == ["My table", "My drawing", "My drawing (2)"]
    assert len(listed) == table_store.MOST_DRAWINGS + 1
    assert upload in browser.choice.user_tables


def test_a_file_replaces_the_upload_and_no_drawing():
    page = bring(opened(), GOOD)
    first = choice(page).token
    drawn = replace(load_dataset("moons"), private=True)
    drawing = table_store.keep(drawn, split(drawn))
    session_of(page).choice = table_store.show(choice(page), drawing)
    page.run()
    names = data_picker(page).options
    assert names[:2] == ["My table", "My drawing"]
    page = bring(page, GOOD.replace("0.30", "0.31"), "u.csv")
    assert choice(page).user_tables == (first, drawing), (
        "a new file replaces the old one"
    )
    assert facts(page)["Rows"] == "60"
    sound(data_picker(page).select(f"mine:{drawing}").run())
    assert choice(page).token == drawing
    assert facts(page)["Rows"] == "300"
    page.button(key="delete_table").click().run()
    assert choice(page).user_tables == ()
    assert not kept_table(first) and not kept_table(drawing)


def test_one_visitor_does_not_push_out_the_tables_of_others(monkeypatch):
    store = table_store._tables
    monkeypatch.setattr(store, "_owned", {})
    table = read_table(b"a,class\n1,x\n2,y\n3,x\n", "t.csv")
    monkeypatch.setattr(store, "most_owned", 4 * table.n_bytes)
    monkeypatch.setattr(store, "most", 6 * table.n_bytes)
    tokens = {}
    for visitor in ("a", "b", *"ccccccccc"):
        monkeypatch.setattr(visitors, "browser", lambda name=visitor: name)
        tokens[visitor] = table_store.keep(table)
    counts = {owner: len(owned) for owner, owned in store._owned.items()}
    assert counts == {"a": 1, "b": 1, "c": 4}
    monkeypatch.setattr(visitors, "browser", lambda: "d")
    table_store.keep(table)
    counts = {owner: len(owned) for owner, owned in store._owned.items()}
    assert counts == {"a": 1, "b": 1, "c": 3, "d": 1}
    monkeypatch.setattr(store, "most_owned", table.n_bytes - 1)
    with pytest.raises(SmpcoreError, match="for each visitor"):
        table_store.keep(table)


def test_features_of_series_come_back_from_records_and_go_again():
    """From a state file, from the Python that Export shows; and the samples after."""
    lines = [f"{k},{k * k % 7},{k - 3},4.5:{'ab'[k % 2]}" for k in range(12)]
    data = "\n".join(["@univariate true", "@classLabel true a b", "@data", *lines])
    table = read_table(data.encode(), "t.ts")
    samples = table.feature_columns
    step = CleaningStep(samples[0], features=("mean", "band 2"), n_times=4, count=0.5)
    roles = dict.fromkeys(samples, "ignore")
    featured = table.with_roles(roles, cleaning=[step])
    assert featured.feature_columns == ["c1 mean", "c1 band 2"]
    assert {featured.kinds[name] for name in featured.feature_columns} == {"number"}
    assert apply_record(table, record_of(featured))[0].digest == featured.digest
    noted = {"roles": dict(featured.roles), "cleaning": steps_to_json([step])}
    again = read_table(data.encode(), "t.ts", **noted)
    assert again.digest == featured.digest
    back = featured.with_roles(dict.fromkeys(samples, "feature"), cleaning=[])
    assert replace(back, sample_shape=(1, 4)).digest == table.digest
