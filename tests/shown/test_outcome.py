"""The outcome is chosen once, on Data, and every figure that is shown is about it."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_auc_score

from pages.state import links
from pages.state.host import resolve, validated
from smpcore import METHODS
from smpcore.datasets import likely_outcome, load_dataset, make_dataset
from smpcore.live import NO_QUESTION, Choice
from tests.app import calibrated, context_of, kernels, opened, said, sound
from tests.html_document import Document
from tests.shown import oracle
from tests.shown.oracle import says
from tests.shown.test_figure import link
from tests.test_live import Browser

pytestmark = pytest.mark.usefixtures(kernels.__name__)
TABLES = ("breast_cancer", "clinic", "moons")


def chosen_on_data(fit, outcome):
    """The app after a visitor has said on Data which class is the event."""
    app = opened(link(fit), "data.py")
    box = next(b for b in app.selectbox if b.label == "Outcome")
    return sound(box.set_value(outcome).run())


def of_rows(fit, outcome, part="validation"):
    """By hand: which rows are events, and by how much that class leads."""
    labels = [str(label) for label in fit.model.classes]
    truth = np.array([*map(str, fit.truth(part))]) == outcome
    scores = fit.model.scores(fit.X[fit.parts[part]])
    lead = scores[:, 1] - scores[:, 0] - fit.model.tie
    return truth, lead if outcome == labels[1] else -lead


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("data", TABLES)
def test_every_page_is_about_the_class_that_was_chosen_on_data(data, place):
    fit = oracle.fit("mprotsvm", data)
    names = sorted(map(str, set(fit.y)))
    outcome, other = names[place], names[1 - place]
    app = chosen_on_data(fit, outcome)
    context = context_of(app)
    assert context.labels[context.outcome] == outcome
    truth, lead = of_rows(fit, outcome)
    app.switch_page("pages/performance.py").run()
    assert next(b for b in app.selectbox if b.label == "Outcome").value == outcome
    matrix, rates = (table.value for table in sound(app).dataframe[:2])
    counts = confusion_matrix(truth, lead > 0, labels=[True, False])
    for (i, j), count in np.ndenumerate(counts):
        assert matrix[str(j)][i].startswith(f"{count}")
    lines = rates.set_index("measure")
    for name, i in (("Sensitivity (recall)", 0), ("Specificity", 1)):
        says(lines.loc[name, "value"], "# %", 100 * counts[i, i] / counts[i].sum())
        assert lines.loc[name, "rows"].endswith(f"rows of {(outcome, other)[i]}")
    share = counts[0, 0] / counts[:, 0].sum()
    says(lines.loc["Positive predictive value", "value"], "# %", 100 * share)
    says(lines.loc["AUC", "value"], "#", roc_auc_score(truth, lead))
    app.segmented_control(key="performance_section").set_value("Threshold").run()
    text = next(e.value for e in sound(app).markdown if e.value.startswith("Threshold"))
    assert f"on the margin of {outcome}, band" in text.replace("\\", "")
    says(
        re.search(r"Sensitivity: [\d.]+ %", text)[0],
        "Sensitivity: # %",
        100 * counts[0, 0] / counts[0].sum(),
    )
    app.segmented_control(key="performance_section").set_value("Probabilities").run()
    app = calibrated(app)
    assert any(f"probability of {outcome}" in c.value for c in app.caption)
    table = next(t.value for t in app.dataframe if "Brier score" in t.value)
    line = table.set_index("probabilities").loc["calibrated"]
    rows = fit.X[fit.parts["validation"]]
    shares = context_of(app).model().probabilities(rows)[:, place]
    says(line["Brier score"].split()[0], "#", brier_score_loss(truth, shares))
    of = oracle.recalibrated(shares, truth, fit.groups("validation"))
    for name, ends in zip(("intercept", "slope"), of, strict=True):
        oracle.says_with_ends(line[f"Calibration {name}"], ends)
    app.switch_page("pages/prototypes.py").run()
    app.segmented_control(key="prototypes_section").set_value("Report").run()
    button = next(b for b in app.button if b.label == "Download the report")
    sound(button.click().run())
    (sent,) = (c.proto.bytes for c in app.get("bidi_component") if c.proto.bytes)
    document = Document(sent.partition(b"\n")[2].decode())
    text = " ".join(document.texts)
    assert f"As fitted: {outcome} is predicted" in text
    assert f"Validation: probability of {outcome}." in text
    table = [t for t in document.tables if t and t[0][0] == "true class"][1]
    assert [line[0] for line in table[1:]] == [outcome, other]
    assert [[int(c) for c in line[1:3]] for line in table[1:]] == counts.tolist()


@pytest.mark.parametrize("data", TABLES)
def test_prototypes_of_small_are_of_the_outcome(data):
    """They are the class that inputs must fit; the other one is the rest."""
    fit = oracle.fit("smallk", data)
    for outcome in sorted(map(str, set(fit.y))):
        query = link(fit) | {"outcome": outcome, "n_prototypes": "2"}
        context = resolve(links.read_url(query)[0])
        model = context.model()
        assert str(model.classes[model.outcome]) == outcome
        of_each = np.bincount(model.prototype_labels, minlength=2)
        assert of_each[model.outcome] == 2 and of_each.sum() == 3
        other = METHODS["smallk"].estimator(
            METHODS["smallk"].defaults()
            | {"n_prototypes": 2, "positive_class": model.classes[model.outcome]}
        )
        X, y = context.data.of("train")
        np.testing.assert_array_equal(other.fit(X, y).predict(X), model.predict(X))


def test_a_link_without_an_outcome_means_what_it_meant():
    """Thresholds are of the rarer class; SMaLL's prototypes of the second one."""
    old = {"data": "breast_cancer", "method": "smallk", "positive_class": "benign"}
    choice, said_ = links.read_url(old)
    context = resolve(choice)
    assert (choice.outcome, said_) == ("", [])
    assert context.labels[context.outcome] == "malignant"
    assert context.values["positive_class"] == "benign"
    assert "outcome" not in links.write_url(choice)
    shown = sound(opened(old, "data.py"))
    assert "has prototypes of benign, as its link says" in said(shown)
    box = next(b for b in shown.selectbox if b.label == "Outcome")
    box.set_value("benign").run()
    assert context_of(sound(shown)).choice.values == {}
    assert "as its link says" not in said(shown)
    digest = load_dataset("breast_cancer").digest
    for number, label in enumerate(("benign", "malignant")):
        query = {"data": "breast_cancer", f"p.positive {digest}": str(number)}
        choice, _ = links.read_url(query | {"method": "smallk"})
        assert choice.outcome == label
        assert resolve(choice).values["positive_class"] == "malignant"


def test_a_threshold_stays_where_it_is_when_the_outcome_is_another():
    moved = {"data": "breast_cancer", "threshold": "1.5", "band": "0.25"}
    X = load_dataset("breast_cancer")
    answers = []
    for outcome, words in (("malignant", "1.5"), ("benign", "-1.5")):
        context = resolve(links.read_url(moved | {"outcome": outcome})[0])
        assert f"moved to {words} on the margin of {outcome}" in context.operating
        answers.append(context.model().predict(context.data.X))
    assert (answers[0] == answers[1]).all() and len(answers[0]) == X.n_samples


@pytest.mark.parametrize(
    ("labels", "outcome", "is_sure"),
    [
        (("ja", "nein"), "ja", True),
        (("not sick", "sick"), "sick", True),
        (("tested_negative", "tested_positive"), "tested_positive", True),
        (("alive", "died"), "died", True),
        (("bad", "good"), "bad", True),
        (("a", "b"), "b", True),
        (("0", "1"), "1", True),
        (("-1", "1"), "1", True),
        (("class_0", "class_1"), "class_1", True),
        (("1", "2"), "2", True),
        (("N", "R"), "R", True),
        (("benign tumour", "malignant tumour"), "malignant tumour", True),
    ],
)
def test_an_outcome_is_proposed_by_its_name_before_the_rarer_class(
    labels, outcome, is_sure
):
    """The event is the commoner one, but for names that say nothing."""
    counts = [30, 12] if outcome in ("b", "2") else [12, 30]
    counts = counts if labels[1] == outcome else counts[::-1]
    frame = pd.DataFrame({"x": range(42), "y": np.repeat(labels, counts)})
    table = make_dataset(frame, "t", roles={"y": "target"})
    found = likely_outcome(table)
    assert (found.label, found.is_sure) == (outcome, is_sure)
    assert likely_outcome(table.with_roles(task="classification")).label == outcome


def test_new_data_have_the_outcome_that_they_propose():
    browser = Browser(data="moons")
    browser.drag(data="breast_cancer", release=True)
    assert browser.choice.outcome == "malignant"
    browser.drag(data="diabetes", release=True)
    assert browser.choice.outcome == ""
    wish = Choice(data="diabetes", **NO_QUESTION | {"two_classes": True})
    assert validated(wish)[0].outcome == "P"
