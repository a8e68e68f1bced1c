"""Calibrated probabilities and intervals on the pages, from button to figures."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.state.context import Context, resolve
from pages.ui import calibration
from smpcore.datasets import plain_number
from smpcore.evaluation import brier_score, calibrate, class_numbers, out_of_fold
from smpcore.model import PrototypeModel, chance
from tests.app import kernels, opened, said, session_of, sound, until

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def _section(query: dict[str, str]) -> AppTest:
    """The page with this section, whatever it is called for the task."""
    page = opened(query, "performance.py")
    sections = page.segmented_control(key="performance_section")
    name = next(n for n in sections.options if n in ("Probabilities", "Intervals"))
    return sound(sections.set_value(name).run())


def _has(page: AppTest, key: str) -> bool:
    return any(button.key == key for button in page.button)


def _calibrated(page: AppTest) -> AppTest:
    """The page after the button was pressed and the fits are there.

    There is no button where another test has calibrated the same model.
    """
    if _has(page, "calibrate"):
        page.button(key="calibrate").click().run()
    context = _context(page)
    return until(page, lambda _: context.training_scores.scores is not None).run()


def _context(page: AppTest) -> Context:
    return resolve(session_of(page).choice)


def _oracle(context: Context) -> PrototypeModel:
    """The model with a calibration that is computed anew."""
    data = context.data
    estimator = context.method.estimator(context.values, data.dataset.task)
    scores = out_of_fold(estimator, data.dataset, data.split)
    rows = data.split.train
    learned = calibrate(scores, data.dataset.y[rows], data.dataset.classes)
    return replace(context.fit().finished().model_, calibration=learned)


@pytest.mark.parametrize("data", ["breast_cancer", "wine"])
def test_the_section_shows_the_measures_of_validation_rows(data):
    page = _section({"data": data, "validation": "0.45"})
    assert not page.dataframe
    page = _calibrated(page)
    context = _context(page)
    X, y = context.data.of("validation")
    oracle = _oracle(context)
    numbers = class_numbers(y, oracle.classes)
    score = brier_score(oracle.probabilities(X), numbers)[0]
    lines = page.dataframe[0].value.set_index("probabilities")
    assert lines.loc["calibrated", "Brier score"] == pytest.approx(score, rel=1e-6)
    softmax = context.fit().estimator.predict_proba(context.data.named("validation")[0])
    expected = brier_score(softmax, numbers)[0]
    assert lines.loc["softmax of the scores", "Brier score"] == pytest.approx(expected)
    assert "training rows, for rows with the same shares of the classes" in said(page)
    two = len(oracle.classes) == 2
    captions = [caption.value for caption in page.caption]
    assert any(text.startswith("Reliability plot") for text in captions)
    assert any(text.startswith("Decision curve, ") for text in captions) == two


def test_the_section_shows_how_many_rows_the_intervals_cover():
    page = _calibrated(_section({"data": "diabetes"}))
    context = _context(page)
    X, y = context.data.of("validation")
    low, high = _oracle(context).intervals(X, 0.9).T
    covered = int(((low <= y) & (y <= high)).sum())
    line = page.dataframe[0].value.iloc[2]
    assert f"({covered} of {len(y)}), " in line["covers"]
    assert line["width"] == f"± {plain_number((high - low)[0] / 2)}"


def test_without_validation_rows_nothing_is_checked():
    page = _section({"data": "iris", "validation": "0"})
    assert "set a validation share on Data" in said(page)
    assert not _has(page, "calibrate")


@pytest.mark.parametrize("data", ["breast_cancer", "diabetes"])
def test_why_apply_and_explore_show_what_was_calibrated(data):
    # Another split than that of other tests: their results are shared.
    query = {"data": data, "validation": "0.3"}
    page = opened(query | {"p.prototypes_section": "Why this prediction"})
    page.switch_page("pages/prototypes.py").run()
    context = _context(page)
    pattern = r"Calibrated probability: |90 % prediction interval: "

    def shown() -> list[str]:
        texts = [text.value.replace("\\", "") for text in page.markdown]
        return [text for text in texts if re.match(pattern, text)]

    assert not shown()
    page = _calibrated(page)
    assert len(shown()) == 1 and not _has(page, "calibrate")
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
    file = ("new.csv", frame.to_csv(index=False).encode(), "text/csv")
    sound(page.file_uploader[0].set_value(file).run())
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
    key, value, detail = calibration.readout(*of)
    assert (key == "interval") == (model.classes is None)
    assert value and "rows" in detail


def test_what_cannot_be_calibrated_is_said_and_the_page_goes_on(monkeypatch):
    module = sys.modules["smpcore.evaluation.calibrate"]
    monkeypatch.setattr(module, "FEWEST_ROWS", 1000)
    page = _calibrated(_section({"data": "moons", "validation": "0.35"}))
    assert "calibration should have at least 1000 of each class" in said(page)
    assert not page.dataframe


def test_the_fits_on_folds_are_shared_with_the_decision_threshold():
    page = opened({"data": "breast_cancer", "validation": "0.15"}, "performance.py")
    page.segmented_control(key="performance_section").set_value("Threshold").run()
    context = _context(page)
    assert context.model().calibration is None
    page.selectbox(key="way").select("cost ratio").run()
    until(page, lambda _: context.training_scores.scores is not None)
    assert context.model().calibration is not None
    assert not _has(
        _section({"data": "breast_cancer", "validation": "0.15"}), "calibrate"
    )
