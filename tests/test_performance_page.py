"""The performance page: figures of an independent count, thresholds, cases, groups."""

import dataclasses
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from sklearn.metrics import roc_auc_score
from streamlit.testing.v1 import AppTest

from pages.performance import operating_point
from pages.state.host import resolve
from pages.state.session import Session
from pages.work import visitors
from smpcore.datasets import make_dataset, plain_number
from smpcore.evaluation import class_numbers, margins
from smpcore.live import Choice, calibration_line
from smpcore.model import chance
from tests.app import (
    bring,
    brought,
    calibrated,
    context_of,
    has_button,
    kernels,
    opened,
    said,
    session_of,
    sound,
    until,
    words,
)

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def _tables(app: AppTest) -> list:
    return [table.value for table in app.dataframe]


def _reference(data: str, part: str = "validation"):
    """The model on the screen, rows of a part and their labels, without the page."""
    context = resolve(Choice(data=data))
    X, y = context.data.of(part)
    return context.model(), X, y


def _slider(app: AppTest) -> dict:
    return json.loads(app.get("bidi_component")[0].proto.json)


def _move(app: AppTest, threshold: float) -> AppTest:
    """As the slider does while it moves; the outcome is the second class."""
    key = operating_point.key_of(context_of(app))
    point = operating_point.OperatingPoint(threshold)
    session_of(app).results[operating_point.TRIED] = key, point
    return sound(app.run())


def test_the_matrix_follows_the_threshold_and_so_does_the_other_section():
    app = opened({"data": "breast_cancer"}, "performance.py")
    moved = 2.03
    app = _move(app, moved)
    model, X, y = _reference("breast_cancer")
    margin = margins(model, X)
    found = int(((margin > moved) & (y == "malignant")).sum())
    assert _tables(app)[0]["0"][0].startswith(f"{found} (")
    app.segmented_control(key="performance_section").set_value("Threshold").run()
    assert _slider(app)["value"] == moved
    assert f"Threshold {moved:.4g} on the margin of malignant, band" in words(app)
    assert "What is set above is tried on this page only." in said(app)
    app.button(key="use_operating").click().run()
    _outcome(app).select("benign").run()
    # The same threshold, and the same rows, seen from the other class.
    assert _slider(app)["value"] == -moved
    assert f"Threshold -{moved:.4g} on the margin of benign, band" in words(app)
    assert f"moved to -{moved:.4g} on the margin of benign" in said(app)
    app.segmented_control(key="performance_section").set_value("Confusion").run()
    assert _tables(sound(app))[0]["1"][1].startswith(f"{found} (")
    app.segmented_control(key="performance_section").set_value("Threshold").run()
    app.button(key="as_fitted").click().run()
    app.button(key="use_operating").click().run()
    assert "Threshold 0 on the margin of benign, band" in words(app)
    assert "test rows are not while nothing is chosen on them" in said(app)
    assert "tried on this page only" not in said(app)
    assert session_of(app).choice.threshold == 0


def test_several_classes_have_a_view_of_one_against_the_rest():
    app = opened({"data": "iris"}, "performance.py")
    model, X, y = _reference("iris")
    app.selectbox(key="one_class").select("virginica").run()
    rates = _tables(sound(app))[1].set_index("measure")
    found = int(((model.predict(X) == y) & (y == "virginica")).sum())
    assert rates.loc["Sensitivity (recall)", "rows"].startswith(f"{found} of ")
    scores = model.scores(X)
    lead = scores[:, 2] - scores[:, :2].max(axis=1)
    area = roc_auc_score(y == "virginica", lead)
    line = rates.loc["AUC, one against the rest"]
    assert line["value"] == f"{area:.3f}"
    assert "its score minus the highest other score" in line["rows"]


def test_test_rows_are_offered_only_once_they_are_open():
    closed = opened({"data": "breast_cancer"}, "performance.py")
    options = closed.selectbox(key="performance_part").options
    assert options == ["Validation", "Training"]
    link = {"data": "breast_cancer", "opened": "1", "open": "1"}
    app = opened(link, "performance.py")
    app.selectbox(key="performance_part").select("test").run()
    n_rows = len(context_of(app).data.split.test)
    assert f"{n_rows} rows by true class" in said(sound(app))
    closed.selectbox(key="performance_part").select("train").run()
    assert "fitted on these rows" in said(sound(closed))


def test_of_many_classes_those_with_the_most_wrong_answers_are_shown():
    rng = np.random.default_rng(0)
    label = np.repeat([f"<i>class</i> {i:02}" for i in range(40)], 15)
    frame = pd.DataFrame({"x": rng.normal(size=600), "z": rng.normal(size=600)})
    table = make_dataset(frame.assign(y=label), "many").with_roles({"y": "target"})
    app = opened(brought(table), "performance.py")
    assert "The 30 classes with the most wrong answers" in said(app)
    context = context_of(app)
    X, y = context.data.of("validation")
    wrong = pd.Series(y)[context.model().predict(X) != y].value_counts()
    matrix = _tables(app)[0]
    assert len(matrix) == 30 and len(matrix.columns) == 32
    counts = matrix[matrix.columns[1:]].map(lambda text: int(text.split()[0]))
    assert counts.to_numpy().sum() >= wrong.iloc[:30].sum() > 0
    assert wrong.index[0] in matrix["truth"].tolist()


def test_a_threshold_is_set_linked_and_exported():
    app = opened({"data": "breast_cancer"}, "performance.py", "Threshold")
    app.selectbox(key="way").select("target sensitivity").run()
    app.number_input(key="wanted_sensitivity").set_value(100.0).run()
    app.number_input(key="wanted_error").set_value(1.0).run()
    app = until(app, lambda app: has_button(app, "use_operating"))
    app.button(key="use_operating").click().run()
    assert "Threshold moved to" in said(app) and "not sure within" in said(app)
    assert "Rows within the band are counted like all others." in said(app)
    by = session_of(app).choice.set_by
    assert "Outcome malignant" in by and "sensitivity of at least 100 %" in by
    assert "at most 1 % errors" in by and re.search(r"out-of-fold scores of \d+ tr", by)
    threshold = float(app.query_params["threshold"])
    assert threshold != 0 and float(app.query_params["band"]) > 0
    linked = opened({"data": "breast_cancer", "threshold": f"{threshold}"}, "export.py")
    assert "Threshold moved to" in said(linked)
    app.switch_page("pages/export.py").run()
    assert "Threshold moved to" in said(app)
    other = dataclasses.replace(session_of(app).choice, seed=1)
    assert resolve(other).operating == ""  # another model has not that threshold


def _outcome(app):
    return next(box for box in app.selectbox if box.label == "Outcome")


def test_a_threshold_of_an_earlier_model_does_not_bring_that_model_back(monkeypatch):
    before, now = Choice(data="breast_cancer", seed=1), Choice(data="breast_cancer")
    visit = Session(now)
    monkeypatch.setattr(st, "session_state", {"session": visit})
    half = operating_point.OperatingPoint(0.5)
    operating_point.TRIED.put(operating_point.key_of(resolve(before)), half)
    operating_point._set(operating_point.key_of(resolve(before)))
    used = resolve(visit.choice)
    assert used.key == resolve(now).key and not used.operating
    operating_point.TRIED.put(operating_point.key_of(resolve(now)), half)
    operating_point._set(operating_point.key_of(resolve(now)))
    used = resolve(visit.choice)
    assert used.key == resolve(now).key and "0.5" in used.operating


def test_without_validation_rows_training_rows_are_kind_and_check_nothing():
    app = opened({"data": "breast_cancer", "validation": "0"}, "performance.py")
    assert app.selectbox(key="performance_part").value == "train"
    assert "fitted on these rows" in said(app)
    sections = app.segmented_control(key="performance_section")
    sound(sections.set_value("Probabilities").run())
    assert "set a validation share on Data" in said(app)
    assert not has_button(app, "calibrate")


def test_the_prevalence_stays():
    app = opened({"data": "breast_cancer"}, "performance.py")
    app.number_input(key="prevalence").set_value(5.0).run()
    app.switch_page("pages/apply.py").run()
    app.switch_page("pages/performance.py").run()
    assert sound(app).number_input(key="prevalence").value == 5.0


def test_a_code_in_a_number_to_predict_is_a_caution(monkeypatch):
    """-9 among positive numbers counts as a number until it is cleaned."""
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(200, 2)).round(3), columns=["a", "b"])
    frame["y"] = (20 + 3 * frame["a"]).round(2).where(np.arange(200) % 20 > 0, -9.0)
    dataset = make_dataset(frame, "t", roles={"y": "target"})
    app = opened(brought(dataset), "performance.py")
    assert "y: -9 in 10 of 200 rows looks like a code for a missing value" in said(app)


# Calibrated probabilities and intervals on the pages, from button to figures.


@pytest.mark.parametrize("data", ["breast_cancer", "diabetes"])
def test_why_apply_and_explore_show_what_was_calibrated(data):
    # Another split than that of other tests: their results are shared.
    query = {"data": data, "validation": "0.3"}
    page = opened(query | {"p.prototypes_section": "Why this prediction"})
    page.switch_page("pages/prototypes.py").run()
    context = context_of(page)
    pattern = r"Calibrated probability: |90 % prediction interval: "

    def shown() -> list[str]:
        texts = [text.value.replace("\\", "") for text in page.markdown]
        return [text for text in texts if re.match(pattern, text)]

    assert not shown()
    page = calibrated(page)
    assert len(shown()) == 1 and not has_button(page, "calibrate")
    model = context.model()
    x = context.data.of("train")[0][0]
    if model.classes is None:
        low, high = model.intervals(x[None], 0.9)[0]
        text = f"{plain_number(low, 5)} to {plain_number(high, 5)}"
    else:
        share = model.probabilities(x[None])[0]
        text = f"{model.classes[share.argmax()]} {chance(share.max())}, "
    assert text in shown()[0] and "Calibrated on: " in shown()[0]
    page.switch_page("pages/apply.py").run()
    frame = context.data.dataset.frame.iloc[:20]
    bring(page, frame.to_csv(index=False), "new.csv")
    table = page.dataframe[-1].value
    rows = context.data.X[:20]
    if model.classes is None:
        found = table[["90 % interval low", "90 % interval high"]]
        np.testing.assert_allclose(found, model.intervals(rows, 0.9))
    else:
        found = table[[f"probability of {name}" for name in model.classes]]
        np.testing.assert_allclose(found, model.probabilities(rows))
        numbers = class_numbers(table["answer"].to_numpy(), model.classes)
        chosen = found.to_numpy()[np.arange(20), numbers]
        np.testing.assert_allclose(table["probability"], chosen)
    estimator = context.with_threshold(context.fit().estimator)
    of = estimator.model_, context.data, "validation"
    key, value, detail = calibration_line(*of)
    assert (key == "interval") == (model.classes is None)
    assert value and "rows" in detail


def test_what_cannot_be_calibrated_is_said_and_the_page_goes_on(monkeypatch):
    module = sys.modules["smpcore.evaluation.calibrate"]
    monkeypatch.setattr(module, "FEWEST_ROWS", 1000)
    query = {"data": "moons", "validation": "0.35"}
    page = calibrated(opened(query, "performance.py", "Probabilities"))
    assert "calibration should have at least 1000 of each class" in said(page)
    assert not page.dataframe


def test_rows_of_a_class_that_comes_late_count_the_same_in_each_section():
    rng, label = np.random.default_rng(0), np.tile(["a", "b"], 100).astype(object)
    label[130::3] = "c"
    frame = pd.DataFrame(
        {"x": rng.normal(size=200) + (label == "a"), "when": range(200)}
    )
    roles = {"y": "target", "when": "time"}
    table = make_dataset(frame.assign(y=label), "late").with_roles(roles)
    app = opened(brought(table), "performance.py")
    assert re.search(r"of 40 rows, .* Classes never predicted: c\.", said(app))
    assert f"Without {(label[120:160] == 'c').sum()} rows of classes" in said(app)
    area = _tables(app)[1].set_index("measure").loc["AUC", "value"]
    app.segmented_control(key="performance_section").set_value("Threshold").run()
    assert f"AUC {area} (95 % interval" in said(sound(app))
