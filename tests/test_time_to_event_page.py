"""Time to event through the pages: asked on Data, in links, files and exports."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pages.export.python_lines import python_of_choice
from pages.prototypes import report, stability
from pages.prototypes.model_context import with_model
from pages.state import links, state_file, table_store
from pages.state.app_figure import set_values
from pages.state.host import resolve
from pages.state.state_file import Saved
from pages.ui import exports
from pages.work import visitors
from smpcore import SmpcoreError
from smpcore.datasets import FollowUp, answered
from smpcore.live import MINE, Choice, live_controls
from tests.app import bring, kernels, opened, said, session_of, sound
from tests.smpcore.datasets.test_time_to_event import followed
from tests.test_data_page import choice, edit, facts
from tests.test_data_page import opened as data_page

__all__ = ["kernels"]
ASKED = FollowUp("months", "death", "1", 14.0)


def text_of(dataset):
    return dataset.frame.to_csv(index=False)


def toggle(page):
    return next(t for t in page.toggle if t.label.startswith("Time to event"))


def ask(page):
    return sound(toggle(page).set_value(True).run())


@pytest.fixture
def mine(monkeypatch):
    """A choice of an uploaded table with the question, without a page."""
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    dataset = replace(followed(), private=True, name="followed")
    token = table_store.keep(dataset)
    yield Choice(data=MINE, token=token, follow_up=ASKED)
    table_store.delete(token)


def test_a_table_is_asked_and_the_slider_sets_the_horizon():
    page = bring(data_page(), text_of(followed()))
    assert "Target: " in said(page)
    page = ask(page)
    assert "Target: " not in said(page)  # the one before is none now
    asks = choice(page).follow_up
    assert (asks.time, asks.event, asks.value) == ("months", "death", "1")
    events = followed().frame.query("death == 1").months
    assert abs(asks.horizon - events.median()) <= 0.5
    shown = facts(page)
    assert shown["Features"] == "3" and int(shown["No answer"]) > 0
    rows = [int(shown[name]) for name in ("Training", "Validation", "Test")]
    assert sum(rows) + int(shown["No answer"]) == 240
    assert "Question: death within" in said(page)
    assert "months and death are no features then" in said(page)
    answers = [
        frame.value[f"death within {asks.horizon:g} months"]
        for frame in page.dataframe
        if f"death within {asks.horizon:g} months" in frame.value
    ]
    known, _ = answered(resolve(choice(page)).whole)
    assert np.array_equal(answers[0].notna(), known[: len(answers[0])])
    slider = next(s for s in page.slider if s.label.startswith("Within"))
    assert slider.label == "Within how many months"
    page = sound(slider.set_value(30.0).run())
    assert choice(page).follow_up.horizon == 30.0
    page = sound(toggle(page).set_value(False).run())
    assert choice(page).follow_up is None
    assert "within" not in page.query_params and "No answer" not in facts(page)


def test_a_time_as_a_plain_number_gets_a_hint():
    page = bring(data_page(), text_of(followed()))
    assert "looks like a follow-up time" not in said(page)
    page = edit(page, 3, "role", "target")
    assert resolve(choice(page)).task == "regression"
    assert "months looks like a follow-up time, and death like its event" in said(page)
    page = ask(page)
    assert "looks like a follow-up time" not in said(page)
    assert resolve(choice(page)).task == "classification"


def test_another_table_forgets_the_question_and_other_roles_say_so():
    page = ask(bring(data_page(), text_of(followed())))
    page = edit(page, 3, "read as", "category")
    assert choice(page).follow_up is None
    notices = " ".join(session_of(page).notices) + said(page)
    assert "The question of time to event no longer fits the table" in notices
    other = set_values(replace(choice(page), follow_up=ASKED), {"data": "iris"})
    assert other.follow_up is None


def test_a_link_and_a_state_file_bring_the_question_back(mine):
    query = links.write_url(mine)
    assert json.loads(query["within"]) == ["months", "death", "1", 14.0]
    back, notices = links.read_url(query)
    assert (back, notices) == (mine, [])
    assert resolve(back).key == resolve(mine).key
    assert resolve(back).key != resolve(replace(mine, follow_up=None)).key
    del query["mine"]  # as a state file is written
    saved = state_file.read(state_file.write(Saved(query)))
    assert saved.link == query


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('["months"]', "should ask about time to event as in"),
        ('["months", "death", "1", "x"]', "should ask about time to event as in"),
        ('["months", "death", "1", NaN]', "should ask about time to event as in"),
        ('["weeks", "death", "1", 14]', "should be a column of the table"),
        ('["months", "death", "1", 1e9]', "longest time"),
    ],
)
def test_a_wrong_link_is_one_sentence(mine, text, words):
    query = links.write_url(mine) | {"within": text}
    back, notices = links.read_url(query)
    assert back.follow_up is None
    assert len(notices) == 1 and words in notices[0]


def test_explore_has_a_slider_among_the_data_controls(mine):
    context = resolve(mine)
    rows = live_controls(context, {}, np.zeros(3, bool), {}, lambda _: [])
    row = next(row for row in rows if row["name"] == "within")
    assert (row["label"], row["group"], row["value"]) == (
        "death within (months)",
        "data",
        14.0,
    )
    moved = set_values(mine, {"within": 20.31})
    assert moved.follow_up == replace(ASKED, horizon=20.0)
    assert set_values(mine, {"within": 1e9}).follow_up.horizon < 1000
    assert context.with_values({"within": 20.0}) is None  # other data, so no drag
    with pytest.raises(SmpcoreError, match="should be a number from"):
        set_values(mine, {"within": "soon"})
    with pytest.raises(SmpcoreError, match="no control of this page"):
        set_values(replace(mine, follow_up=None), {"within": 20.0})


def test_python_lines_fit_the_same_weighted_model(mine, kernels, monkeypatch):
    context = resolve(mine)
    dataset = replace(context.table, private=False)
    monkeypatch.setattr(
        "pages.export.python_lines._table_source",
        lambda context: {"file": "followed.csv", "params": {}},
    )
    lines = python_of_choice(context)
    assert "event_within(read_table(" in lines and "'months', 'death', 14.0" in lines
    assert "row_weights(dataset, parts.with_censored, parts.train)" in lines
    assert len(lines.splitlines()) <= 12
    start = lines.index("read_table(open")
    call = lines[start : lines.index(")", lines.index(")", start) + 1) + 1]
    names = {"table": dataset}
    exec(lines.replace(call, "table", 1), names)
    data = context.data
    ours = context.model().predict(data.X[data.split.validation])
    assert np.array_equal(names["answers"], ours)
    plain = context.method.estimator(context.values).fit(*data.of("train")).model_
    assert not np.allclose(plain.scores(data.X), context.model().scores(data.X))


def test_bundle_and_report_say_the_question_and_weigh_alike(mine, kernels):
    context = resolve(mine)
    fit = context.fit()
    facts_of = report.facts_of(with_model(resolve(mine), fit.finished().model_))
    assert facts_of["Question"].startswith("death within 14 months? Rows censored")
    assert "independent of the event" in facts_of["Question"]
    provenance = exports._provenance(context, fit.finished())
    assert provenance["question"] == facts_of["Question"]
    entry = provenance["accuracy"]["validation"]
    data = context.data
    rows = data.split.validation
    right = fit.finished().model_.predict(data.X[rows]) == data.y[rows]
    weighted = np.average(right, weights=data.row_weights[rows])
    assert entry["accuracy_weighted"] == round(weighted, 4)
    assert f"{100 * weighted:.1f} %" in facts_of["Validation accuracy"]
    assert "(weighted for censoring;" in facts_of["Validation accuracy"]
    assert entry["weights_note"].startswith("weighted for censoring")
    with_it = with_model(context, fit.finished().model_)
    assert "shares are weighted." in report.written(with_it, False)


def test_a_choice_of_features_is_scored_with_the_weights_too(mine, kernels):
    context = resolve(replace(mine, method="smallk"))
    context = with_model(context, context.model())
    rows = [(0,)] * np.count_nonzero(context.model.weights.any(axis=1))
    found = SimpleNamespace(supports=[rows], objectives=np.ones(1))
    found.build = lambda place: context.model
    scores = context.data.evaluate(context.model, "validation")
    shown = stability._choices(context, found)["Validation accuracy %"].item()
    assert shown == 100 * scores.accuracy != 100 * scores.hits / scores.rows


@pytest.mark.parametrize(
    "name",
    ["explore.py", "compare.py", "performance.py", "prototypes.py", "tradeoff.py"],
)
def test_every_page_works_with_the_question(name, kernels, tmp_path, monkeypatch):
    (tmp_path / "followed.csv").write_text(text_of(followed()))
    monkeypatch.setenv("SPE_DATA", str(tmp_path))
    asked = json.dumps(["months", "death", "1", 14.0])
    page = opened({"data": "file:followed.csv", "within": asked}, name)
    assert choice(page).follow_up == ASKED
    assert not page.error, said(page)
