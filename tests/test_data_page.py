"""The Data page without a browser: bring a table, mend it, divide it, delete it."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import private, tables
from pages.shared.choice import BUNDLED, Choice
from smpcore import make_dataset, split

PAGE = str(Path(__file__).parents[1] / "pages" / "data.py")
GOOD = "a,b,id,class\n" + "".join(
    f"{0.3 * i:.2f},{i % 5},n{i},{'xy'[i % 2]}\n" for i in range(60)
)
ONE_CLASS = "a,b,class\n" + "".join(f"{0.3 * i:.2f},{i % 2},x\n" for i in range(60))


def opened():
    return sound(AppTest.from_file(PAGE, default_timeout=60).run())


def sound(page):
    assert not page.exception, [error.value for error in page.exception]
    return page


def bring(page, text, name="t.csv", place=0):
    data = text.encode() if isinstance(text, str) else text
    return sound(page.file_uploader[place].set_value((name, data, "text/csv")).run())


def edit(page, row, column, value):
    key = page.data_editor[0].key
    edited = {
        "edited_rows": {row: {column: value}},
        "added_rows": [],
        "deleted_rows": [],
    }
    page.session_state[key] = edited
    return sound(page.run())


def facts(page):
    return {metric.label: metric.value for metric in page.metric}


def said(page):
    elements = (*page.error, *page.warning, *page.info, *page.caption)
    return " ".join(element.value for element in elements).replace("\\", "")


def choice(page):
    return page.session_state["choice"]


@pytest.mark.parametrize("key", BUNDLED)
def test_every_data_set_that_a_method_can_learn(key):
    page = opened()
    picker = page.selectbox(key="data_pick")
    if BUNDLED[key].title not in picker.options:
        assert BUNDLED[key].task == "regression"
        return
    sound(picker.select(key).run())
    assert choice(page).data == key
    assert int(facts(page)["Training"].replace(",", "")) > 0
    names = page.data_editor[0].value["column"]
    assert len(names) == int(facts(page)["Features"]) + 1


def test_a_generated_set_follows_its_controls():
    page = opened()
    sound(page.number_input(key="moons.n_samples").set_value(100).run())
    assert facts(page)["Rows"] == "100"
    assert choice(page).data_values == {"n_samples": 100}


def test_the_parts_follow_their_controls():
    page = opened()
    sound(page.slider[0].set_value(0.5).run())
    sound(page.number_input[-1].set_value(7).run())
    assert facts(page)["Validation"] == "150"
    assert (choice(page).validation, choice(page).seed) == (0.5, 7)
    assert page.slider[1].max == pytest.approx(0.4)


def test_a_table_is_read_described_and_chosen():
    page = bring(opened(), GOOD)
    assert choice(page).data == "mine"
    assert facts(page)["Rows"] == "60"
    assert facts(page)["Features"] == "2"
    assert "Column 'id' is not used: it looks like an identifier." in said(page)
    assert list(page.data_editor[0].value["role"])[2:] == ["ignore", "target"]


def test_another_reading_can_be_chosen():
    page = bring(opened(), GOOD.replace(",", ";").replace(".", ","))
    assert page.selectbox(key="reading_decimal").label == "Decimal: ,"
    assert page.data_editor[0].value["read as"][0] == "number"
    sound(page.selectbox(key="reading_decimal").select(".").run())
    assert page.data_editor[0].value["read as"][0] == "category"
    sound(page.selectbox(key="reading_delimiter").select("|").run())
    assert "choose another delimiter than '|'" in said(page)
    assert facts(page)["Rows"] == "60"


def test_another_target_mends_a_table_with_one_class():
    page = bring(opened(), ONE_CLASS)
    assert "one class only in the target 'class' ('x')" in said(page)
    assert choice(page).data == Choice.data
    assert facts(page)["Classes"] == "1"
    page = edit(page, 1, "role", "target")
    assert choice(page).data == "mine"
    assert facts(page)["Classes"] == "2"
    assert list(page.data_editor[0].value["role"]) == ["feature", "target", "feature"]
    assert not page.session_state["draft"]


def test_a_role_that_cannot_be_is_answered_in_words():
    page = bring(opened(), GOOD)
    page = edit(page, 3, "role", "ignore")
    assert "No column has the role target" in said(page)


def test_a_numeric_target_waits_for_a_method():
    page = bring(
        opened(), "a,price\n" + "".join(f"{i % 7},{1.7 * i}\n" for i in range(60))
    )
    if all("regression" not in m.estimators for m in tables.METHODS.values()):
        assert "No method here does regression yet" in said(page)
        assert choice(page).data == Choice.data
    assert facts(page)["Rows"] == "60"


def test_a_second_file_is_the_test_part():
    page = bring(opened(), GOOD)
    page = bring(page, "a,b,class,more\n1,2,x,0\n2,3,z,0\n", place=1)
    assert facts(page)["Test"] == "2"
    assert "not in the data: 'more'" in said(page)
    assert "'z'; no model can predict them" in said(page)
    page = bring(page, "A,b,class\n1,2,x\n", "other.csv", place=1)
    assert "The test file has no column 'a'" in said(page)
    assert facts(page)["Test"] == "2"


BAD = {
    "empty": (b"", "file is empty"),
    "header only": (b"a,b\n", "a header but no rows"),
    "ragged": (b"a,b\n1\n2,3,4\n", "Line 2 has 1 field"),
    "zip": (b"PK\x03\x04....", "is a ZIP archive"),
    "Parquet": (b"PAR1....", "Parquet file cannot be read"),
    "ARFF": (b"@relation r\n@attribute a real\n", "no @DATA line"),
}


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD)
def test_a_bad_file_changes_nothing_and_is_explained(data, words):
    page = bring(opened(), data)
    assert words in said(page)
    assert choice(page).data == Choice.data
    assert facts(page)["Rows"] == "300"


def test_hostile_names_are_shown_and_not_obeyed():
    name = "![x](http://example.org/x.png) <script>alert(1)</script> **b**"
    page = bring(
        opened(), GOOD.replace("a,b,id", f"{name},b,id").replace("0.30", "word")
    )
    raw = " ".join(element.value for element in (*page.info, *page.warning))
    assert "word" in raw
    assert "![x](" not in raw and "<script>" not in raw and "**b" not in raw
    assert page.data_editor[0].value["column"][0] == name


def test_a_foreign_token_is_answered_in_words():
    page = AppTest.from_file(PAGE, default_timeout=60)
    page.query_params["data"], page.query_params["mine"] = "mine", "x" * 22
    sound(page.run())
    assert "The table of this link is not on the server" in said(page)
    assert choice(page).data == Choice.data


def test_delete_forgets_the_table_at_once():
    page = bring(opened(), GOOD)
    token = choice(page).token
    assert token in private._entries
    sound(page.button(key="delete_table").click().run())
    assert token not in private._entries
    assert choice(page).data == Choice.data
    assert choice(page).token == ""
    assert facts(page)["Rows"] == "300"


def test_a_leak_and_repeated_rows_are_named():
    rows = "".join(f"{i % 20},{i % 2},{'xy'[i % 2]}\n" for i in range(100))
    page = bring(opened(), "a,leak,class\n" + rows)
    assert "leak alone predicts 100.0% of the training rows" in said(page)
    assert "also stand in training: 40" in said(page)


def test_test_rows_are_drawn_only_when_they_are_open():
    frame = pd.DataFrame({"a": range(50), "y": [0, 1] * 25})
    division = split(make_dataset(frame, "t"))
    assert len(tables.visible_rows(division, open_test=False)) == 40
    assert len(tables.visible_rows(division, open_test=True)) == 50
