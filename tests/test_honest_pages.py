"""Every page says what a dead model is worth, and how little few rows tell."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from pages.prototypes import report
from pages.prototypes.model_context import with_model
from pages.state import state_file, table_store
from pages.state.host import resolve
from pages.ui import exports
from pages.work import cache, fits, tasks
from smpcore import Dataset, load_dataset
from tests.app import (
    bring,
    brought,
    kernels,
    metrics,
    opened,
    said,
    session_of,
    swept,
    until,
)
from tests.test_live import figure_of

pytestmark = pytest.mark.usefixtures(kernels.__name__)

#: Of 400 rows each part has one in twenty of the rare class.
USUAL = "majority-class baseline: 95.0 %"
#: At this sparsity every weight is zero.
DEAD = {"mu": "10"}


@pytest.fixture
def rare():
    """A link to 400 rows of noise with 5 % of a rare class."""
    y = np.where(np.arange(400) % 20 == 0, "ill", "well")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 3)))
    frame.columns = [*"abc"]
    roles = {**dict.fromkeys("abc", "feature"), "y": "target"}
    dataset = Dataset("rare", frame.assign(y=y), roles, "classification")
    return brought(dataset)


def test_explore_says_what_a_dead_model_is_worth(rare):
    picture = figure_of(opened(rare | DEAD))["picture"]
    told = {entry["name"]: entry for entry in picture["readouts"]}
    assert USUAL in told["Validation accuracy"]["detail"]
    assert told["Classes never predicted"]["value"] == "ill"


@pytest.mark.parametrize("name", ["prototypes", "compare"])
def test_pages_say_what_a_dead_model_is_worth(name, rare):
    page = opened(rare | DEAD, f"{name}.py")
    until(page, lambda page: USUAL in said(page))
    until(page, lambda page: "Classes never predicted: ill" in said(page))
    if name == "prototypes":
        assert "Not better than the majority-class baseline" in said(page)


def test_export_says_what_one_answer_would_reach(rare):
    table = opened(rare, "export.py").dataframe[0].value.T
    assert table["Training: right"]["majority-class baseline"] == "95.0 %"
    page = opened(rare | {"mu": "0.03"}, "export.py")
    until(page, lambda page: "Classes never predicted: ill." in said(page))
    dead = opened(rare | DEAD, "export.py")
    words = "The model uses no input, it always answers 'well'"
    until(dead, lambda page: words in said(page))
    assert "It needs no column for this model" in said(opened(rare | DEAD, "apply.py"))


def test_trade_off_says_what_a_dead_model_is_worth(rare):
    page = swept(opened(rare, "tradeoff.py"))
    assert "Majority-class baseline: 0.5." in said(page)
    dead = page.dataframe[0].value.query("`Non-zeros` == 0")
    assert len(dead)
    assert dead["Remarks"].str.contains("not better than the baseline").all()
    page.selectbox(key="sweep_score_classification").select("accuracy").run()
    assert "Majority-class baseline: 0.95." in said(page)


def test_apply_says_what_a_dead_model_is_worth(rare):
    page = opened(rare | DEAD, "apply.py")
    frame = table_store.visit(rare["mine"])[0].frame
    frame[frame.columns[0]] += 1e-3  # rows of the data set itself are not scored
    shown = metrics(bring(page, frame.to_csv(index=False), "new.csv"))
    assert shown["Accuracy"] == "95.0 %"
    assert shown["Correct rows"] == "380 of 400"
    assert shown["Majority-class baseline"] == "95.0 %"
    assert "Classes never predicted: ill." in said(page)


def test_apply_and_export_of_numbers_name_the_training_median():
    page = opened({"data": "diabetes"}, "apply.py")
    frame = load_dataset("diabetes").frame
    frame[frame.columns[0]] += 1e-3  # rows of the data set itself are not scored
    shown = metrics(bring(page, frame.to_csv(index=False), "new.csv"))
    usual = float(shown["Training-median baseline"])
    assert usual > float(shown["Mean absolute error"])
    table = opened({"data": "diabetes"}, "export.py").dataframe[0].value.T
    error = table["Validation: mean error"].astype(float)
    assert error["training-median baseline"] > error["float32"]


def test_few_rows_have_wide_intervals_and_repeated_folds():
    query = {"data": "moons", "d.n_samples": "50"}
    assert "95 % interval" in said(opened(query, "prototypes.py"))
    page = swept(opened(query, "tradeoff.py"))
    assert "Refine runs 3 repeats" in said(page)
    swept(page.button(key="sweep_refine").click().run())
    assert "3 repeats were run" in said(page)
    assert page.dataframe[0].value["Folds"].max() == 15


@pytest.mark.parametrize("times", [0, 2])
def test_opening_the_test_set_is_in_state_file_report_and_bundle(times):
    was = {"opened": "2", "open": "1"} if times else {}
    choice = session_of(opened({"data": "breast_cancer"} | was)).choice
    export, digest = exports.compiled(resolve(choice)), resolve(choice).dataset.digest
    files = zipfile.ZipFile(
        io.BytesIO(export.zip(export.vectors(export.compiled, False)))
    )
    at = {name.rpartition("/")[2]: name for name in files.namelist()}
    told = json.loads(files.read(at["breast_cancer.json"]))["provenance"]
    assert told["test_set_opened"] == times
    assert ("test" in told["accuracy"]) == bool(times)
    readme = files.read(at["README.md"]).decode().replace("\\", "")
    assert f"| test_set_opened | {times} |" in readme
    facts = report.facts_of(with_model(resolve(choice), export.estimator.model_))
    assert facts["Test set opened"] == (f"{times} times" if times else "never")
    opened_parts = [text for name, text in facts.items() if name == "Test accuracy"]
    assert len(opened_parts) == bool(times)
    assert all("majority-class baseline" in text for text in opened_parts)
    state = state_file.read(state_file.write(state_file.Saved(opened=choice.opened)))
    assert state.opened == ({digest: times} if times else {})


@pytest.mark.parametrize("page", ["prototypes", "performance", "apply", "export"])
def test_a_page_whose_model_is_being_fitted_shows_how_far_it_is(page, monkeypatch):
    monkeypatch.setattr(cache.computed, "quick_seconds", 0.0)
    monkeypatch.setattr(fits.Fit, "ready", lambda fit, seconds: False)
    monkeypatch.setattr(tasks.Task, "wait", lambda task, seconds: False)
    app = opened({"data": "moons", "lam": f"0.0012{len(page)}"}, f"{page}.py")
    (bar,) = app.get("progress")
    assert bar.proto.text.startswith("Fitting the model: ")
    assert "Stop" in [button.label for button in app.button]
