"""The Data page without a browser: bring a table, mend it, divide it, delete it."""

import gc
import io
import re
import threading
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.data import tabs
from pages.export import python_lines
from pages.state import links, table_store
from pages.state.app_figure import set_values
from pages.state.host import resolve
from pages.ui import files
from pages.work import file_process, server_files
from pages.work.fair_line import Client, FairLine
from smpcore import load_dataset, read_table, split
from smpcore.datasets import make_dataset
from smpcore.live import MINE, Choice
from tests.app import (
    APP,
    WITHOUT_A_CHOICE,
    bring,
    kept_table,
    metrics,
    said,
    session_of,
    sound,
    until,
)
from tests.app import opened as at_a_link
from tests.smpcore.datasets.test_time_to_event import followed

PAGE = str(Path(__file__).parents[1] / "pages" / "data.py")
GOOD = "a,b,id,class\n" + "".join(
    f"{0.3 * i:.2f},{i % 5},n{i},{'xy'[i % 2]}\n" for i in range(60)
)
ONE_CLASS = "a,b,class\n" + "".join(f"{0.3 * i:.2f},{i % 2},x\n" for i in range(60))


def opened():
    return sound(AppTest.from_file(PAGE, default_timeout=60).run())


@pytest.fixture
def held(monkeypatch):
    """What lets the line of files go on, which another visitor's file holds."""
    line, go = FairLine(1, "held"), threading.Event()
    monkeypatch.setattr(file_process, "LINE", line)
    monkeypatch.setattr(files, "QUICK_SECONDS", 0.0)
    first = line.submit(go.wait, 60, owner=Client("another", "visitor"))
    yield lambda: (
        go.set(),
        first.result(10),
        line.submit(file_process.READERS.warm).result(10),
    )
    go.set()


def test_while_a_file_waits_the_page_shows_another_table(held):
    page = bring(opened(), GOOD)
    assert "The file waits" in page.get("progress")[0].proto.text
    before = facts(page)
    sound(data_picker(page).select("wine").run())
    assert facts(page) != before and choice(page).data == "wine"
    held()
    page = until(page, lambda page: choice(page).data == MINE)
    assert facts(page)["Rows"] == "60"
    assert not page.get("progress")


def test_a_file_that_is_cancelled_is_not_read(held):
    page = bring(opened(), GOOD)
    cancel = next(button for button in page.button if button.label == "Cancel")
    sound(cancel.click().run())
    assert "was cancelled; choose it again" in said(page)
    held()
    sound(page.run())
    assert choice(page).data != MINE and "was cancelled" in said(page)
    sound(bring(page, GOOD))
    until(page, lambda page: choice(page).data == MINE)


def test_what_is_deleted_is_held_by_nothing():
    page = bring(opened(), GOOD)
    held = weakref.ref(table_store.visit(choice(page).token)[0])
    assert held() is not None
    sound(page.button(key="delete_table").click().run())
    sound(page.run())
    gc.collect()
    assert held() is None


def edit(page, row, column, value):
    key = page.data_editor[0].key
    page.session_state[key] = {"edited_rows": {row: {column: value}}}
    return sound(page.run())


def data_picker(page):
    return next(one for one in page.selectbox if one.label == "Data")


facts = metrics


def choice(page):
    return session_of(page).choice


def test_a_generated_set_follows_its_controls():
    page = opened()
    sound(page.number_input(key="moons.n_samples.0").set_value(120).run())
    assert facts(page)["Rows"] == "120"
    assert choice(page).data_values == {"n_samples": 120, "noise": 0.3}


def test_another_target_mends_a_table_with_one_class():
    page = bring(opened(), ONE_CLASS)
    assert "one class only in the target 'class' ('x')" in said(page)
    assert choice(page).data == Choice.data
    assert facts(page)["Classes"] == "1"
    page = edit(page, 1, "role", "target")
    assert choice(page).data == "mine"
    assert facts(page)["Classes"] == "2"
    assert list(page.data_editor[0].value["role"]) == ["feature", "target", "feature"]
    assert "was the target; its role is feature now." in said(page)
    assert not session_of(page).draft


def test_a_second_file_is_the_test_part():
    page = bring(opened(), GOOD)
    page = bring(page, "a,b,class,more\n1,2,x,0\n2,3,z,0\n", place=1)
    assert facts(page)["Test"] == "2"
    assert "not in the data: 'more'" in said(page)
    assert "'z'; no model can predict them" in said(page)
    page = bring(page, "A,b,class\n1,2,x\n", "other.csv", place=1)
    assert "The test file has no column 'a'" in said(page)
    assert facts(page)["Test"] == "2"


def test_how_a_file_is_read_is_chosen_for_this_file_only():
    second = "\n".join(f"{n}.5,{n % 5},u{n % 3},{'cd'[n % 2]}" for n in range(30))
    page = bring(opened(), f"{GOOD}\nPart two\ndepth,step,site,sort\n{second}")
    button = next(one for one in page.button if "from line 64 instead" in one.label)
    assert facts(sound(button.click().run()))["Rows"] == "30"
    assert facts(bring(page, GOOD, "other.csv"))["Rows"] == "60"


def test_a_foreign_token_is_answered_in_words():
    page = AppTest.from_file(APP, default_timeout=60)
    page.query_params["data"], page.query_params["mine"] = "mine", "x" * 22
    sound(page.switch_page("pages/data.py").run())
    assert "The table of this link is not on the server" in said(page)
    assert choice(page).data == Choice.data


def test_a_leak_and_repeated_rows_are_named():
    rows = "".join(f"{i % 20},{i % 2},{'xy'[i % 2]}\n" for i in range(100))
    page = bring(opened(), "a,leak,class\n" + rows)
    assert "leak alone predicts 100.0% of the training rows" in said(page)
    assert "also stand in training: 40" in said(page)


def test_test_rows_are_drawn_only_when_they_are_open():
    frame = pd.DataFrame({"a": range(50), "y": [0, 1] * 25})
    division = split(make_dataset(frame, "t"))
    assert len(tabs.visible_rows(division, open_test=False)) == 40
    assert len(tabs.visible_rows(division, open_test=True)) == 50


LONG = "who,when,x,kind\n" + "".join(
    f"{who},{when},{who * when % 7},{'ab'[who % 2]}\n"
    for who in range(40)
    for when in range(5 + who % 3)
)
TS = "@univariate true\n@classLabel true a b\n@data\n" + "".join(
    f"{i % 7},{i % 5},{i % 3}:{'ab'[i % 2]}\n" for i in range(40)
)


def test_a_ts_file_is_series_and_drawn():
    page = bring(opened(), TS, "waves.ts")
    assert facts(page)["Channels"] == "1"
    assert facts(page)["Length"] == "3"
    assert [tab.label for tab in page.tabs][-1] == "Series"
    sound(page.number_input(key="long_times_0").set_value(6).run())
    assert facts(page)["Length"] == "6"
    assert "40 of 40 were resampled linearly to the length asked for, 6" in said(page)
    page = bring(page, TS, "test.ts", place=1)
    assert facts(page)["Test"] == "40"
    assert "Test file: Series have 3 to 3 values" in said(page)


def test_features_of_bundled_series_make_a_copy_beside_the_own_table():
    page, own = opened(), table_store.keep(load_dataset("iris"))
    small = {"n_samples": 40, "n_times": 12}
    session_of(page).choice = Choice(data="series", data_values=small, others=(own,))
    (box,) = [one for one in page.run().multiselect if "Features" in one.label]
    sound(box.set_value(["mean", "band 4"]).run())
    made = choice(page)
    assert made.data == MINE and made.token != own and own in made.others
    copy = kept_table(made.token).value.dataset
    assert [step.features for step in copy.feature_steps] == [("mean", "band 4")] * 9
    assert len(copy.feature_columns) == 18 and kept_table(own)
    assert "One count of each channel: c1" in said(page)
    (box,) = [one for one in page.multiselect if "Filters" in one.label]
    sound(box.set_value(["high-pass 2", "low-pass 1"]).run())
    steps = kept_table(choice(page).token).value.dataset.feature_steps
    assert {step.filters for step in steps} == {("high-pass 2", "low-pass 1")}
    assert "no signal overflows 32 bits" in said(page)
    assert re.search(r"included: 0\.00\d* \(high-pass 2\), 0\.00", said(page))
    (box,) = [one for one in page.multiselect if "Features" in one.label]
    sound(box.set_value([]).run())  # samples again, without any filter
    assert not kept_table(choice(page).token).value.dataset.feature_steps


def test_a_long_table_becomes_series_and_its_python_reads_the_same():
    page = bring(opened(), LONG)
    assert "Channels" not in facts(page)
    sound(page.toggle(key="long_0").set_value(True).run())
    assert page.selectbox(key="long_label_0").value == "kind"
    assert (facts(page)["Rows"], facts(page)["Length"]) == ("40", "6")
    assert "were resampled linearly to the median length, 6" in said(page)
    sound(page.selectbox(key="long_time_0").select("kind").run())
    assert "should be three columns" in said(page)
    assert facts(page)["Rows"] == "40"
    sound(page.selectbox(key="long_time_0").select("when").run())
    sound(page.number_input(key="long_times_0").set_value(8).run())
    dataset, _ = table_store.visit(choice(page).token)
    source = python_lines._table_source(resolve(choice(page)))
    again = read_table(LONG.encode(), source["file"], **source["params"])
    assert source["file"] == "t.csv"
    assert again.digest == dataset.digest


PRICES = "a,b,price\n" + "".join(
    f"{0.3 * i:.2f},{i % 5},{1.7 * i + i % 3:.1f}\n" for i in range(60)
)


def test_a_number_to_predict_becomes_two_classes_and_back():
    page = bring(opened(), PRICES)
    assert "Classes" not in facts(page)
    sound(page.toggle[1].set_value(True).run())
    assert facts(page)["Classes"] == "2"
    assert choice(page).two_classes
    assert "'P' where 'price' is below 51.15, the mean of all 60 rows" in said(page)
    assert list(page.data_editor[0].value["read as"]) == ["number"] * 3
    assert "1" in page.query_params["two"]
    sound(page.toggle[1].set_value(False).run())
    assert "Classes" not in facts(page)
    assert "two" not in page.query_params


def test_a_time_to_event_question_leaves_nothing_to_be_cut():
    frame = followed().frame
    number_last = [*frame.columns.drop("months"), "months"]
    page = bring(opened(), frame[number_last].to_csv(index=False))
    cut = next(one for one in page.toggle if one.label.startswith("Two classes"))
    assert not cut.disabled
    asks = next(one for one in page.toggle if one.label.startswith("Time to event"))
    sound(asks.set_value(True).run())
    assert choice(page).follow_up is not None
    cut = next(one for one in page.toggle if one.label.startswith("Two classes"))
    assert cut.disabled


def test_each_table_that_is_brought_proposes_its_own_outcome():
    page = opened()
    for more in (0, 1):
        rows = "".join(f"{i % 7 + more},{('ja', 'nein')[i % 2]}\n" for i in range(60))
        page = bring(page, f"x,y\n{rows}")
        assert choice(page).outcome == "ja"
        box = next(one for one in page.selectbox if one.label == "Outcome")
        page = sound(box.set_value("nein").run())
        assert choice(page).outcome == "nein"


def test_two_classes_of_a_bundled_set_stand_in_its_link_only():
    wanted, notices = links.read_url({"data": "diabetes", "two": "1"})
    assert notices == []
    dataset = resolve(wanted).dataset
    assert dataset.task == "classification"
    assert dataset.digest == load_dataset("diabetes").two_classes().digest
    assert links.write_url(wanted)["two"] == "1"
    other = set_values(wanted, {"data": "iris"})
    assert not other.two_classes
    same, _ = links.read_url({"data": "iris", "two": "1"})
    assert resolve(same).dataset.digest == load_dataset("iris").digest


def test_an_operator_s_files_stand_in_the_list(tmp_path, monkeypatch):
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "waves.ts").write_text(TS)
    (tmp_path / "broken.csv").write_text("a,b\n1,2\n2,3,4\n")
    (tmp_path / "notes.md").write_text("no table")
    monkeypatch.setenv("SPE_DATA", str(tmp_path))
    page = opened()
    picker = data_picker(page)
    assert picker.options[-3:] == ["broken.csv", "good.csv", "waves.ts"]
    sound(picker.select("file:good.csv").run())
    assert facts(page)["Rows"] == "60"
    assert "file:good.csv" in page.query_params["data"]
    assert not resolve(choice(page)).dataset.private
    sound(data_picker(page).select("file:broken.csv").run())
    (notice,) = session_of(page).notices
    assert "'broken.csv' of this server cannot be read: Line 3 has 3" in notice
    assert data_picker(page).value == choice(page).data == "file:good.csv"
    sound(data_picker(page).select("file:waves.ts").run())
    assert facts(page)["Channels"] == "1"


def test_no_page_ends_where_an_operator_s_file_cannot_be_read(tmp_path, monkeypatch):
    """Neither chosen, nor in a link, nor where it was chosen before it was changed."""
    (tmp_path / "good.csv").write_text(GOOD)
    file, whole = tmp_path / "cut.parquet", io.BytesIO()
    pd.read_csv(io.StringIO(GOOD)).to_parquet(whole)
    file.write_bytes(whole.getvalue())
    with (tmp_path / "large.csv").open("wb") as large:
        large.truncate(119_000_000)
    monkeypatch.setenv("SPE_DATA", str(tmp_path))
    page = at_a_link({"data": "file:large.csv"}, "data.py")
    assert "The file has 119 MB, at most 50 MB are read" in said(page)
    file.write_bytes(whole.getvalue()[:-40])
    names = {path.name for path in Path(PAGE).parent.glob("*.py")}
    for name in sorted(names - {*WITHOUT_A_CHOICE}):
        session_of(page).choice = Choice(data="file:cut.parquet")
        words = said(sound(page.switch_page(f"pages/{name}").run()))
        is_in_figure = name == "explore.py"  # whose notices are drawn by the browser
        assert is_in_figure or "seems to be cut off or damaged" in words
        assert choice(page).data == Choice.data


def test_an_operator_s_file_is_read_anew_when_it_changes(tmp_path, monkeypatch):
    file = tmp_path / "good.csv"
    file.write_text(GOOD)
    monkeypatch.setenv("SPE_DATA", str(tmp_path))
    before = server_files.load("file:good.csv")
    assert server_files.load("file:good.csv") is before
    file.write_text(GOOD + "9,9,z,x\n")
    assert server_files.load("file:good.csv").n_samples == before.n_samples + 1
    page = opened()
    sound(data_picker(page).select("file:good.csv").run())
    file.unlink()
    sound(page.run())
    assert "is not in this server's folder of tables" in session_of(page).notices[0]
    assert choice(page).data == Choice.data


@pytest.mark.parametrize(
    "name",
    [
        "../outside.csv",
        "leads_out.csv",
        "sub/in.csv",
        "nothing.csv",
        "itself.csv",
        ".hid.csv",
        "latin\udce9.csv",
        "",
    ],
)
def test_a_link_opens_no_file_but_those_listed(tmp_path, monkeypatch, name):
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    files = "outside.csv", "home/sub/in.csv", "home/.hid.csv", "home/latin\udce9.csv"
    for path in files:
        (tmp_path / path).write_text(GOOD)
    (home / "leads_out.csv").symlink_to(tmp_path / "outside.csv")
    (home / "nothing.csv").symlink_to(tmp_path / "absent.csv")
    (home / "itself.csv").symlink_to("itself.csv")
    monkeypatch.setenv("SPE_DATA", str(home))
    assert server_files.files() == {}
    wanted, notices = links.read_url({"data": f"file:{name}"})
    assert wanted.data == Choice.data
    assert "is not in this server's folder" in notices[0]


DATED = "when,a,b,class\n" + "".join(
    f"2021-{1 + i // 20:02d}-{1 + i % 20:02d},{0.3 * i:.2f},{i % 5},{'xy'[i % 2]}\n"
    for i in range(60)
)


def test_a_time_column_makes_blocks_in_time_and_python_says_so():
    page = bring(opened(), DATED)
    assert "In time:" not in said(page)
    page = edit(page, 0, "role", "time")
    told = said(page)
    assert "training from '2021-01-01' to '2021-02-16'" in told
    assert "test from '2021-03-09' to '2021-03-20'" in told
    assert facts(page)["Features"] == "2"
    assert (facts(page)["Training"], facts(page)["Validation"]) == ("36", "12")
    dataset, _ = table_store.visit(choice(page).token)
    source = python_lines._table_source(resolve(choice(page)))
    again = read_table(DATED.encode(), source["file"], **source["params"])
    assert source["params"]["roles"]["when"] == "time"
    np.testing.assert_array_equal(again.times, dataset.times)
    assert split(again).key == split(dataset).key


def test_a_column_that_is_no_time_is_refused_in_words():
    page = edit(bring(opened(), DATED.replace("2021-01-03", "soon")), 0, "role", "time")
    assert "row 3 holds 'soon'" in said(page)
    assert resolve(choice(page)).dataset.times is None


def test_a_browser_that_has_not_drawn_the_own_table_yet_does_not_put_it_away():
    page = opened()
    before = page._tree.get_widget_states()  # what the browser goes on sending
    bring(page, GOOD)
    assert choice(page).data == MINE
    sound(page._run(before))
    assert choice(page).data == MINE
