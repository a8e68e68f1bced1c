"""Prototypes without a browser: portraits, rule, answers, report."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from pages.export.python_lines import python_of_choice
from pages.prototypes import detail, model_context, report
from pages.prototypes.model_context import with_model
from pages.prototypes.score import _TASK
from pages.state import links, state_file
from pages.state.host import resolve
from pages.state.session import Session
from pages.ui import exports, workspace
from pages.work import studies
from smpcore import METHODS
from smpcore.codegen import model_id
from smpcore.datasets import make_dataset
from smpcore.evaluation import match_prototypes
from smpcore.live import MINE, Choice, pairs
from tests.app import (
    at,
    brought,
    context_of,
    forbidden,
    has_button,
    kernels,
    laid_out,
    opened,
    said,
    session_of,
    sound,
    until,
    words,
)
from tests.html_document import Document
from tests.smpcore.test_report_calculator import script_of
from tests.smpcore.test_report_sections import words_of

pytestmark = pytest.mark.usefixtures(kernels.__name__)

NASTY = '<img src=x onerror=alert(1)>"&$x$**b**'


def test_values_outside_the_ranges_are_said_and_come_back():
    context = resolve(Choice(data="breast_cancer"))
    data, model = context.data, context.model()
    X = data.of("validation")[0]
    out = model.support & ((X < model.low) | (X > model.high))
    row = int(np.flatnonzero(out.any(axis=1))[0])
    page = at("Why this prediction", {"data": "breast_cancer"})
    assert "Out of the training range" not in words(page)
    assert "within the training range)" in words(page)
    page.selectbox(key="why_part").set_value("validation").run()
    number = int(data.split.validation[row]) + 1
    sound(page.number_input[0].set_value(number).run())
    name = model.feature_names[int(np.flatnonzero(out[row])[0])]
    assert f"Out of the training range: {name} = " in words(page)
    assert "including the way back into the range)" in words(page)


def test_an_alternative_is_the_model_of_every_page_link_file_and_script():
    page = at("Alternatives", {"data": "breast_cancer", "method": "smallk", "k": "2"})
    page.button(key="find_alternatives").click().run()
    until(page, lambda page: [b for b in page.selectbox if b.key == "alternative"])
    assert re.search(r"\*\*[\d,]+ choices of features\*\* .* no others", words(page))
    choices = page.dataframe[-1].value
    sound(page.selectbox(key="alternative").set_value(4).run())
    sound(page.button(key="use_alternative").click().run())
    assert "were picked here" in said(page)
    context = context_of(page)
    model = context.model()
    shown = choices.iloc[3, 3:].tolist()
    names = np.array(model.feature_names)
    used = [", ".join(names[row != 0]) for row in model.weights if row.any()]
    assert used == shown
    X, y = context.data.of("validation")
    accuracy = np.mean(model.predict(X) == y)
    assert choices.iloc[3, 2] == pytest.approx(100 * accuracy)
    link = links.write_url(context.choice)
    kept = state_file.read(state_file.write(workspace.gather(context.choice, False)))
    for again in (links.read_url(link), links.read_url(kept.link)):
        assert again[1] == []
        assert resolve(again[0]).key == context.key
    script: dict = {}
    exec(python_of_choice(context), script)
    np.testing.assert_array_equal(script["model"].model_.weights, model.weights)
    assert opened(link, "explore.py")  # its control says so, and takes it back
    without = replace(context.choice, forbidden=(names[model.weights[1] != 0][0],))
    assert resolve(without).values["supports"] is None
    next(b for b in page.button if b.label == "Let the fit choose").click().run()
    assert session_of(page).choice.values["supports"] is None
    assert "were picked here" not in said(page)


def test_a_search_that_is_stopped_says_up_to_where_it_is_complete():
    page = at("Alternatives", {"data": "breast_cancer", "method": "smallk", "k": "4"})
    page.button(key="find_alternatives").click().run()
    certified = r"Certified so far: all choices within ([\d.]+) % of the best"
    until(page, lambda page: re.search(certified, said(page)), 200)
    while_running = float(re.search(certified, said(page))[1])
    next(b for b in page.button if b.label == "Stop").click().run()
    until(page, lambda page: [b for b in page.selectbox if b.key == "alternative"])
    assert "The search was ended." in words(page)
    after = float(re.search(certified, words(page).replace("\\", ""))[1])
    assert 0 < while_running <= after < 5
    above = page.dataframe[-1].value["objective above the best, %"]
    assert len(above) == 100 or (above <= after + 0.1).all()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"data": "moons"}, "leaves no choice among 2 features"),
        ({"data": "breast_cancer", "loss": "max"}, "found for two classes, loss="),
    ],
)
def test_where_there_are_no_alternatives_a_sentence_says_why(query, words):
    page = at("Alternatives", query | {"method": "smallk"})
    page.button(key="find_alternatives").click().run()
    until(page, lambda page: page.error)
    assert words in page.error[0].value.replace("\\", "")


@pytest.fixture
def hostile():
    """A visitor's own table whose names and labels are code."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=[NASTY, "</script>"])
    frame["<b>kind"] = rng.choice(["<i>a", "`b`"], 60)
    frame["target"] = np.where(frame[NASTY] > 0, f"yes{NASTY}", "</body>no")
    return make_dataset(frame, NASTY, roles={"target": "target"}, private=True)


def beside_rows(choice, monkeypatch):
    """A choice with its model, of a visit that has just begun."""
    monkeypatch.setattr(st, "session_state", {"session": Session()})
    context = resolve(choice)
    return with_model(context, context.model())


@pytest.mark.parametrize("method", METHODS)
def test_the_report_is_text_pictures_and_one_script(method, hostile, monkeypatch):
    token = brought(hostile)["mine"]
    choice = Choice(data=MINE, token=token, method=method)
    context = beside_rows(choice, monkeypatch)
    context.notes[0] = {"name": NASTY, "note": f"note {NASTY}"}
    closed, full = (report.written(context, real) for real in (False, True))
    for text in (closed, full):
        document = Document(text)
        assert not {*document.tags} & {"img", "iframe", "link", "i", "b"}
        if "script" in document.tags:
            # Names are in it, as JavaScript's own strings.
            assert "alert" in (script := script_of(text)) and NASTY not in script
        assert f"note {NASTY}" in document.texts
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "Nearest to" in full
    assert "Nearest to" not in closed
    assert "Decision rule" in closed
    is_sum = context.model.is_linear and not context.model.code_size
    assert ("As a formula" in full) == is_sum == ("As a formula" in closed)
    # Real rows to begin with are offered where rows are shown.
    assert '"name": "Row' in full and '"name": "Row' not in closed
    assert "Median of the training rows" in full
    assert "Median of the training rows" not in closed
    assert "script" in Document(full).tags
    if context.model.kind_of_prototype == "mix of real cases":
        assert "Portraits are omitted" in closed
        assert "The model is not in this file" in closed
        assert "Left out, as the model holds training rows" in closed
        assert "script" not in Document(closed).tags
        # The values of real rows are in the rule's tables.
        assert "<th>column</th><th>value</th>" in full
        assert "<th>column</th><th>value</th>" not in closed


def test_parts_of_a_category_are_by_column_or_by_level():
    colours = np.array(["red", "a <b>hue</b>", "blue"])[np.arange(90) % 3]
    frame = pd.DataFrame({"colour": colours, "size": np.arange(90.0) % 7})
    frame["y"] = np.where(colours == "red", "yes", "no")
    dataset = make_dataset(frame, "hues", roles={"y": "target"})
    page = at("Why this prediction", brought(dataset))
    assert set(_parts(page)) == {"colour = red", "size = 0"}
    sound(page.segmented_control(key="why_by").set_value("feature").run())
    assert {"colour = red", "colour = blue"} < set(_parts(page))


def _parts(page):
    """Names of the parts of the lead, of the table beside the chart."""
    tables = [table.value for table in page.dataframe]
    return next(t.iloc[:, 0] for t in tables if "contribution" in t.columns[1])


def words_by_section(page):
    """What each section of the page says, one after the other."""
    for name in page.segmented_control(key="prototypes_section").options:
        choose = page.segmented_control(key="prototypes_section").set_value(name)
        yield words(sound(choose.run()))


def test_the_words_of_a_regression_are_of_numbers():
    query = {"data": "diabetes", "method": "supersparse"}
    page = opened(query, "prototypes.py")
    for shown in words_by_section(page):
        for table in page.dataframe:
            shown += " ".join(map(str, table.value))
        assert not re.search(r"class|speaks for|\bwins?\b|runner", shown), shown
    page = at("Why this prediction", query)
    amount = next(n for n in page.number_input if "Move the prediction" in n.label)
    sound(amount.set_value(1e9).run())
    assert "all others as they are: none within the training range." in words(page)
    sound(amount.set_value(0.0).run())
    assert "Choose an amount above 0" in words(page)


@pytest.fixture
def small():
    """A visitor's own table with numbers that have no digit in the first places."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"tiny": rng.uniform(1e-7, 9e-7, 60)})
    frame["people"] = rng.integers(10_000, 90_000, 60) + 0.5
    frame["y"] = np.where(frame["tiny"] > 4e-7, "a", "b")
    dataset = make_dataset(frame, "small", roles={"y": "target"})
    return brought(dataset), dataset


def _styles(table):
    told = json.loads(table.proto.columns)
    return {
        name: one["type_config"]["format"]
        for name, one in told.items()
        if one.get("type_config")
    }


def test_small_numbers_keep_their_digits_and_values(small):
    query, dataset = small
    page = at("Why this prediction", query)
    edited = page.dataframe[0]
    changed = next(table for table in page.dataframe if "then" in table.value)
    row = dataset.frame.loc[page.number_input[0].value - 1]
    assert edited.value["value"].tolist() == [row["tiny"], row["people"]]
    assert _styles(edited)["value"] == _styles(edited)["highest"] == "%.5g"
    for name, now, then in changed.value[["column", "now", "then"]].to_numpy():
        assert float(now) == row[name] != float(then)
        assert len(then.partition("e")[0].strip("0.").replace(".", "")) <= 5, then
    shown = at("One by one", query).dataframe
    (near,) = [_styles(table) for table in shown if "activation" in table.value]
    assert near["tiny"] == "%.4g" and near["people"] == "%.5g"


def test_the_report_warns_as_the_page_does(monkeypatch):
    context = beside_rows(Choice(data="breast_cancer", method="smp"), monkeypatch)
    odd = [j for j, fact in enumerate(context.facts) if fact.opposing]
    assert odd
    text = unescape(report.written(context, False))
    for j in odd:
        (warning,) = detail.oddities(context, j)
        _, section = text.split(f"<section><h3>Prototype {j + 1}:")
        assert "opposite sign of the difference" in warning
        assert warning in section.split("</section>")[0]


def test_what_was_typed_stays_when_a_feature_is_forbidden():
    page = at("Why this prediction", {"data": "iris"})
    assert "True value:" in said(page)

    def lines():
        return page.data_editor[0].value.set_index("column")

    column = lines().index[2]
    edits = {"edited_rows": {2: {"value": 9.5, "hold": True}}}
    page.session_state[page.data_editor[0].key] = edits
    sound(page.run())
    assert "You edited this row; true value before editing:" in said(page)
    assert "True value: " not in said(page)
    for names in ([lines().index[0]], [column], []):
        sound(forbidden(page).set_value(names).run())
        assert list(lines()["hold"]) == [name == column for name in lines().index]
        assert lines().loc[column, "value"] == 9.5
        assert "You edited this row" in said(page)
    sound(page.switch_page("pages/data.py").run())
    sound(page.switch_page("pages/prototypes.py").run())
    assert lines().loc[column, "value"] == 9.5
    page.number_input[0].set_value(page.number_input[0].max).run()
    assert "True value:" in said(page), "another row is as it was"
    assert not has_button(page, "take_back")
    page.number_input[0].set_value(1).run()
    sound(page.button(key="take_back").click().run())
    assert "True value:" in said(page)
    assert lines().loc[column, "value"] != 9.5 and not lines()["hold"].any()


def test_a_small_linear_model_of_three_classes_has_a_card_and_others_say_why_not():
    page = at("Score", {"data": "iris", "method": "smp", "n_prototypes": "1"})
    card = page.dataframe[-1].value
    assert list(card)[:2] == ["column", "value"]
    assert (card.iloc[:, 2:] >= 0).all(axis=None)
    assert "The class with the most points is predicted" in words(page)
    assert "Validation: accuracy of the card" in words(page)
    assert "Test: accuracy of the card" not in words(page)
    page = at("Score", {"data": "iris", "method": "supersparse"})
    assert "A score card needs a linear classifier" in words(page)
    page = at("Score", {"data": "diabetes", "method": "supersparse"})
    assert "A score gives the risk of an outcome" in words(page)


def score_of(page):
    """The page once the score that was asked for is there."""
    sound(page.button(key="find_score").click().run())
    session_of(page).results[_TASK][1].wait(120)
    return sound(page.run())


def test_two_classes_get_a_score_that_columns_are_switched_off_for(monkeypatch):
    monkeypatch.setattr("pages.prototypes.score._PARTS", 1)
    query = {"data": "breast_cancer", "method": "smallk", "n_prototypes": "1"}
    page = at("Score", query | {"p.score_points": "4"})
    page = score_of(page)
    pool, lines, risks = (one.value for one in page.dataframe)
    assert list(lines) == ["column", "value", "points"]
    assert 1 <= len(lines) <= 5
    assert lines["points"].between(1, 4).all()
    assert "Proved: no score of as many lines and points is below" in words(page)
    assert "Validation: accuracy" in words(page)
    assert "Test: accuracy" not in words(page)
    assert list(risks["total"]) == sorted(risks["total"])
    assert list(pool["loss above the best, %"]) == sorted(
        pool["loss above the best, %"]
    )
    first = lines["column"].iloc[0]
    switches = page.get("button_group")[-1]
    switches.set_value([name for name in switches.options if name != first]).run()
    assert first not in list(page.dataframe[1].value["column"])
    for label in ("More never lowers the risk", "More never raises the risk"):
        box = next(b for b in page.multiselect if b.label == label)
        sound(box.set_value(["mean radius"]).run())
    page.button(key="find_score").click().run()
    session_of(page).results[_TASK][1].wait(60)
    assert "choose one of the two" in page.run().error[0].value


def test_the_report_says_who_set_the_threshold_and_nothing_of_closed_rows(monkeypatch):
    choice = Choice(data="breast_cancer", method="smallk", seed=3)
    by = "Threshold: highest with a sensitivity of at least 95 %. Chosen on <b>."
    key = resolve(choice).key
    choice = replace(choice, threshold=0.25, band=0.1, set_for=key, set_by=by)
    context = beside_rows(choice, monkeypatch)

    def section_of(context, title):
        sections = report.checked_sections(context, False)
        (section,) = (one for one in sections if one.title == title)
        return words_of(section)

    words = section_of(context, "Threshold and band")
    of_class = "on the margin of malignant and not sure within 0.1 of it"
    assert f"Threshold moved to 0.25 {of_class}" in words
    assert by in words
    words = section_of(context, "Confusion matrix and recall")
    assert "Training: " in words and "Validation: " in words and "Test: " not in words
    number = model_id(exports.compiled(context).compiled)
    assert number in section_of(context, "Model ID and versions")
    assert number in report.written(context, False).partition("<script")[2]
    as_fitted = beside_rows(replace(choice, threshold=0, band=0), monkeypatch)
    assert "There is no band" in section_of(as_fitted, "Threshold and band")


def test_only_rows_of_open_parts_have_a_sheet():
    page = at("Why this prediction", {"data": "iris"})
    assert page.selectbox(key="why_part").options == ["Training", "Validation"]
    assert "The test set is closed" in words(page)
    division = resolve(Choice(data="iris")).data.split
    closed, open_row = (int(rows[0]) + 1 for rows in (division.test, division.train))
    field = page.text_input(key="why_cases")
    sound(field.set_value(str(closed)).run())
    assert f"{closed} is of the closed test part" in words(page)
    typed = f"1-20, {open_row}"
    sound(field.set_value(typed).run())
    n = int((division.test < 20).sum())
    assert n and f"{n} rows are of the closed test part, left out." in words(page)
    sound(field.set_value(str(open_row)).run())
    assert "and the three nearest training rows." in words(page)


def refitted(page, **values):
    """The page with other values of the method."""
    visit = session_of(page)
    visit.choice = replace(visit.choice, values=values)
    return sound(page.run())


def notes_of(page):
    context = context_of(page)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "session_state", {"session": session_of(page)})
        return model_context.fitted(with_model(context, context.model()))


def test_names_stay_with_their_prototype_after_a_refit():
    """They were gone after the smallest move of a slider."""
    page = at("One by one", {"data": "iris"})
    for j, name in enumerate(("round", "<b>thin</b>")):
        page.selectbox[0].set_value(j).run()
        sound(page.text_input[0].set_value(name).run())
    before = context_of(page).model()
    refitted(page, lam=0.004)
    after = context_of(page).model()
    partners, similarities = match_prototypes(before, after)
    found = notes_of(page)
    assert (similarities[:2] > 0.9).all() and not found.lost
    names = {int(partners[j]): n for j, n in enumerate(("round", "<b>thin</b>"))}
    assert {j: note["name"] for j, note in found.of.items()} == names
    assert "were written for another fit" in words(page)
    page.selectbox[0].set_value(int(partners[0])).run()
    assert page.text_input[0].value == "round"
    sound(page.text_input[0].set_value("oval").run())
    assert "were written for another fit" not in words(page)
    refitted(page)
    names = {j: note["name"] for j, note in notes_of(page).of.items()}
    assert names == {0: "oval", 1: "<b>thin</b>"}


def test_a_name_whose_prototype_is_gone_is_said_and_returns():
    page = at("One by one", {"data": "iris"})
    numbers = range(context_of(page).model().n_prototypes)
    for j in numbers:
        page.selectbox[0].set_value(j).run()
        sound(page.text_input[0].set_value(f"name <b>{j}").run())
    gone = "belonged to a prototype that is no longer there"
    assert gone not in words(page)
    refitted(page, n_prototypes=1)
    found = notes_of(page)
    assert len(found.lost) >= len(numbers) - 3 > 0
    for note in found.lost:
        assert f"The name {note['name']!r} {gone}" in words(page)
    refitted(page)
    assert gone not in words(page)
    assert [n["name"] for n in notes_of(page).of.values()] == [
        f"name <b>{j}" for j in numbers
    ]


def test_notes_of_a_model_that_cannot_be_are_left_alone():
    """A state file may say anything."""
    page = at("One by one", {"data": "iris"})
    context = context_of(page)
    key = context.whole.digest, context.data.split.key, "smp"
    wrong = ((), (("lam", "x"),), pairs({**context.values, "n_prototypes": 10**9}))
    for values in wrong:
        note = {"name": "wrong", "note": "", "without": ["no such column"]}
        session_of(page).notes[(*key, values)] = {0: note, 999_999: note}
    sound(page.run())
    assert "wrong" not in words(page)


def test_large_numbers_are_written_in_full():
    """A target around 1745 read 1.74e+03."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(51_745, 9_000, 90).round(1)})
    frame["y"] = (1745.3 + 0.2 * (frame["a"] - 51_745)).round(1)
    query = brought(make_dataset(frame, "large", roles={"y": "target"}))
    page = opened(query | {"m": "supersparse"}, "prototypes.py")
    for shown in words_by_section(page):
        assert not re.search(r"\de\+\d", shown)
    for other in ("data.py", "explore.py", "tradeoff.py", "apply.py"):
        sound(page.switch_page(f"pages/{other}").run())
        assert not re.search(r"\de\+\d", words(page)), other


def test_columns_may_be_named_as_the_tables_own():
    rng = np.random.default_rng(0)
    names = ["class", "similarity", "weight %"]
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=names)
    frame["target"] = np.where(frame["class"] > 0, "a", "b")
    table = make_dataset(frame, "Mine", roles={"target": "target"})
    at("One by one", brought(table) | {"method": "imkpl"})


def test_a_change_is_a_way_across_the_border_of_the_map():
    """From the row's place to one at which the model answers otherwise."""
    context = resolve(Choice(data="digits", view={"kind": "map"}))
    laid_out(context.data)
    page = at("Why this prediction", {"data": "digits", "v.kind": "map"})
    charts = (json.loads(chart.proto.spec) for chart in page.get("plotly_chart"))
    last = [chart["data"][-1] for chart in charts]
    (way,) = [trace for trace in last if trace.get("mode") == "lines+markers"]
    ends = [np.frombuffer(b64decode(way[axis]["bdata"])) for axis in "xy"]
    start, end = np.column_stack(ends)
    row = context.data.X[[context.data.split.train.min()]]
    view, model = studies.view(context.data, context.view), context.model()
    np.testing.assert_allclose(start, view.project(row)[0])
    (answer,) = model.predict(view.lift(end[None]))
    assert answer != model.predict(row)[0]


def _traces(page, key):
    (chart,) = [
        chart
        for chart in page.get("plotly_chart")
        if chart.proto.id.endswith(f"-{key}")
    ]
    return json.loads(chart.proto.spec)


@pytest.mark.parametrize("method", ["smp", "smallk", "supersparse"])
def test_prototypes_of_series_have_the_colours_of_their_classes(method):
    """All classes are drawn, and weights are called weights; no colour is a sign."""
    page = at("All", {"data": "series", "method": method})
    model = context_of(page).model()
    chart = _traces(page, "gallery")
    lines = {line["name"]: line["line"] for line in chart["data"] if line["showlegend"]}
    assert len(lines) == min(model.n_prototypes, 8)
    colours = {}
    for name, line in lines.items():
        colours.setdefault(re.search(r"class (.*)\)", name)[1], set()).add(
            line["color"]
        )
    assert colours.keys() == {*map(str, model.classes)}
    assert all(len(of) == 1 for of in colours.values())
    assert len(set.union(*colours.values())) == len(colours)
    assert len({(one["color"], one["dash"]) for one in lines.values()}) == len(lines)
    words = "weight" if context_of(page).model().is_linear else "value"
    assert chart["layout"]["yaxis"]["title"]["text"] == words
    assert "teal" not in said(page).lower() and "crimson" not in said(page)


@pytest.mark.parametrize(("data", "idle"), [("series", [0]), ("wine", [0, 5])])
def test_a_prototype_that_wins_no_row_is_faded_last_and_said(data, idle):
    page = at("All", {"data": data, "method": "smp"})
    lines = page.dataframe[0].value
    assert np.flatnonzero(lines["training rows won"] == 0).tolist() == idle
    told = [
        f"{name}, wins no row" if j in idle else name
        for j, name in enumerate(lines["prototype"])
    ]
    order = [*(j for j in range(len(lines)) if j not in idle), *idle]
    if data == "series":
        drawn = [t for t in _traces(page, "gallery")["data"] if t["showlegend"]]
        opaque = [trace.get("opacity", 1) for trace in drawn]
        names = [trace["name"] for trace in drawn]
    else:
        bars = [_traces(page, f"bars_{j}")["data"][0] for j in order]
        opaque = [trace.get("opacity", 1) for trace in bars]
        names = [m.value for m in page.markdown if m.value.startswith("**Prototype")]
        names = [name.strip("*").replace("\\", "") for name in names]
    assert names == [told[j] for j in order]
    assert [o < 1 for o in opaque] == [j in idle for j in order]
    assert "Faded, last: it wins no training row." in said(page)
    page = at("One by one", {"data": data, "method": "smp"})
    picker = next(one for one in page.selectbox if one.label == "Prototype")
    assert picker.options == [told[j] for j in order]
    assert "Wins no training row" not in words(page)
    sound(picker.select(idle[-1]).run())
    assert "Wins no training row" in words(page)


def test_prototypes_that_are_drawn_are_of_every_class():
    labels = np.repeat(np.arange(5), [9, 1, 4, 1, 2])
    drawn = detail.of_every_class(labels, 7)
    assert drawn.tolist() == sorted({*drawn}) and len(drawn) == 7
    assert {*labels[drawn]} == {*range(5)}
    assert detail.of_every_class(np.zeros(9, int), 4).tolist() == [0, 1, 2, 3]
