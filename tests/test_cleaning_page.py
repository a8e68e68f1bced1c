"""Cleaning on the Data page without a browser, and what comes back with a table."""

import io
import json
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest

from pages.export import python_lines
from pages.state import state_file, table_store
from pages.state.host import resolve
from pages.ui import workspace
from smpcore import SmpcoreError, read_table
from smpcore.datasets import CleaningStep
from smpcore.live import MINE, Choice
from tests.app import at, bring, kernels, said, session_of, sound
from tests.smpcore.datasets.test_cleaning import STEPS, TEXT
from tests.test_data_page import choice, edit, facts, opened

pytestmark = pytest.mark.usefixtures(kernels.__name__)

PATIENTS = "patient,age,sex,chol,smoking,ill\n" + "".join(
    f"p{i},{29 + i % 48},{'mf'[i % 2]},{200 + 3 * i % 97 if i % 4 else -9},"
    f"{['never', 'former', 'unknown'][i % 3]},{'yes' if i % 5 < 2 else 'no'}\n"
    for i in range(80)
)


def table(page):
    return table_store.visit(session_of(page).draft or choice(page).token)[0]


def widget(page, kind, what):
    found = (one for one in getattr(page, kind) if (one.key or "").startswith(what))
    return next(found)


def cleaned():
    page = bring(opened(), PATIENTS)
    for _ in range(2):
        sound(page.button(key="suggested_0").click().run())
    return page


def choose(page, name):
    return sound(page.selectbox(key="clean_column").select(name).run())


def test_the_controls_of_a_column_make_its_step():
    page = choose(cleaned(), "age")
    sound(widget(page, "number_input", "high").set_value(70.0).run())
    sound(widget(page, "text_input", "unit").set_value(" years ").run())
    sound(widget(page, "checkbox", "fixed").check().run())
    sound(widget(page, "checkbox", "indicator").check().run())
    sound(widget(page, "number_input", "low").set_value(90.0).run())
    assert "low=90 should be at most high=70" in said(page)
    step = CleaningStep("age", high=70, unit="years", fixed=True, indicator=True)
    assert table(page).cleaning[-1] == step
    assert "age is missing" in table(page).feature_columns
    data = resolve(choice(page)).data
    unit = {one.name: one.unit for one in data.preparation.inputs}
    assert unit["age"] == "years"
    page = choose(page, "smoking")
    sound(widget(page, "selectbox", "impute").select("own level").run())
    assert "missing" in table(page).frame["smoking"].unique()
    key = widget(page, "data_editor", "levels").key
    page.session_state[key] = {"edited_rows": {1: {"called": "former"}}}
    sound(page.run())
    values = {*table(page).frame["smoking"]}
    assert values <= {"former", "never", "missing"}


def test_every_step_can_be_taken_back():
    page = bring(opened(), PATIENTS)
    digests = [table(page).digest]
    for _ in range(2):
        sound(page.button(key="suggested_0").click().run())
        digests.append(table(page).digest)
    sound(page.button(key="remove_step_0").click().run())
    digests.append(table(page).digest)
    for digest in reversed(digests[:-1]):
        sound(page.button(key="undo_cleaning").click().run())
        assert table(page).digest == digest
    assert not [one for one in page.button if one.key == "undo_cleaning"]


@pytest.mark.parametrize(
    ("codes", "words"),
    [(["yes"], "one class only"), (["yes", "no"], "has no values, so it cannot be")],
)
def test_a_step_that_leaves_nothing_to_learn_is_not_applied(codes, words):
    page = choose(cleaned(), "ill")
    before = table(page).digest
    sound(widget(page, "multiselect", "codes").set_value(codes).run())
    assert words in said(page) and "The step was not applied." in said(page)
    assert table(page).digest == before
    assert choice(page).data == MINE
    assert widget(page, "multiselect", "codes").value == []
    sound(page.button(key="undo_cleaning").click().run())
    assert "The step was not applied." not in said(page)


def test_a_table_of_the_same_columns_gets_roles_and_steps_and_says_what_differs():
    page = edit(cleaned(), 2, "role", "ignore")
    steps = table(page).cleaning
    page = bring(page, PATIENTS + "p99,50,m,210,sometimes,yes\n", "more.csv")
    assert table(page).cleaning == steps
    assert table(page).roles["sex"] == "ignore"
    assert facts(page)["Rows"] == "81"
    assert "81 rows in place of 80" in said(page)
    assert "'sometimes' of smoking not seen before" in said(page)
    page = bring(page, PATIENTS.replace("smoking", "smoker"), "other.csv")
    assert table(page).cleaning == ()


def saved_state(page):
    saved = workspace.gather(choice(page), with_points=False)
    return state_file.read(state_file.write(saved))


def test_a_state_file_brings_roles_and_steps_back():
    page = cleaned()
    page = edit(page, 2, "role", "ignore")
    digest, token = table(page).digest, choice(page).token
    saved = saved_state(page)
    content = state_file.write(saved)
    assert b"former" not in content, "a level that no step names is not in the file"
    table_store.delete(token)
    fresh = opened()
    session_of(fresh).awaited = saved
    fresh = bring(fresh, PATIENTS)
    assert table(fresh).digest == digest
    assert "The saved state of this table is opened." in said(fresh, *fresh.success)
    assert session_of(fresh).awaited is None


def test_a_state_file_is_opened_for_other_rows_of_the_same_columns():
    page = cleaned()
    saved = saved_state(page)
    fresh = opened()
    session_of(fresh).awaited = saved
    lines = PATIENTS.splitlines()
    text = "\n".join(
        f"{line},{'extra' if i == 0 else i}" for i, line in enumerate(lines[:-5])
    )
    fresh = bring(fresh, text)
    words = said(fresh, *fresh.success)
    assert "75 rows in place of 80" in words and "new and not used: 'extra'" in words
    assert table(fresh).cleaning == table(page).cleaning
    assert table(fresh).roles["extra"] == "ignore"


def test_a_state_file_waits_for_a_table_with_its_columns_and_names_them():
    saved = saved_state(cleaned())
    fresh = opened()
    session_of(fresh).awaited = saved
    fresh = bring(fresh, PATIENTS.replace("chol", "cholesterol"))
    assert "This table has no column 'chol'." in said(fresh)
    assert session_of(fresh).awaited is saved
    assert table(fresh).cleaning == ()


HOSTILE = {
    "unknown entry": ({"column": "age", "run": "x"}, "run"),
    "no text": ({"column": 3}, "column"),
    "wrong word": ({"column": "age", "impute": "magic"}, "impute"),
    "no finite number": ({"column": "age", "low": 1e999}, "JSON|low"),
    "low above high": ({"column": "age", "low": 9, "high": 1}, "at most high"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_step_of_a_state_file_is_checked(what):
    step, words = HOSTILE[what]
    content = json.loads(state_file.write(saved_state(cleaned())))
    content["table"]["columns"]["cleaning"] = [step]
    with pytest.raises(SmpcoreError, match=words):
        state_file.read(json.dumps(content).encode())


def test_a_very_wide_table_is_noted_without_its_columns():
    frame = pd.DataFrame(np.zeros((4, 1001)), columns=[f"c{i}" for i in range(1001)])
    text = frame.assign(y=[0, 1, 0, 1]).to_csv(index=False)
    record = state_file.record_of(read_table(text.encode(), "t.csv"))
    assert record.columns is None


def test_the_exported_python_cleans_as_the_page_did(tmp_path, monkeypatch):
    data = read_table(TEXT.encode(), "heart.csv", cleaning=STEPS)
    token = table_store.keep(data)
    context = resolve(Choice(data=MINE, token=token))
    script = python_lines.python_of_choice(context)
    (tmp_path / "heart.csv").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    scope = {}
    with redirect_stdout(io.StringIO()):
        exec(script, scope)
    assert scope["dataset"].digest == data.digest
    np.testing.assert_array_equal(scope["X"], context.data.X)
    table_store.delete(token)


def test_a_fixed_column_is_held_unless_the_mark_is_taken_away():
    data = read_table(
        PATIENTS.encode(),
        "t.csv",
        cleaning=[
            CleaningStep("age", fixed=True, indicator=True, high=70, unit="years"),
            CleaningStep("sex", fixed=True),
            CleaningStep("chol", codes=("-9",)),
        ],
    )
    token = table_store.keep(data)
    page = at("Why this prediction", {"data": MINE, "mine": token})
    assert "Held, as set on Data or as an age or a sex: age, sex." in said(page)
    (editor,) = (e.value for e in page.data_editor if "hold" in e.value)
    assert editor.set_index("column")["hold"].to_dict() == {"age": True, "chol": False}
    assert editor.set_index("column")["unit"]["age"] == "years"
    holds = {one.key: one.value for one in page.checkbox if one.label == "hold"}
    assert [value for key, value in holds.items() if key.endswith("_sex")] == [True]
    assert not [key for key in holds if key.endswith("is missing")]
    table_store.delete(token)
