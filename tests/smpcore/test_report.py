"""The report as a document: whole, escaped, without anything that loads or runs."""

from dataclasses import replace

import numpy as np

from smpcore import METHODS, load_dataset, prepare, report, split
from smpcore.explain import PointsTable, Rule
from smpcore.report import Page
from tests.smpcore.codegen.random_models import random_linear


def test_a_picture_per_prototype_and_nothing_to_load():
    dataset = load_dataset("digits")
    train = split(dataset).train[:200]
    X = prepare(dataset, train).transform(dataset.frame.iloc[train])
    method = METHODS["smp"]
    model = method.estimator(method.defaults()).fit(X, dataset.y[train]).model_
    page = Page(
        "<x>", {"a": "<b>"}, model.weights, True, shape=(8, 8), notes={0: "<n>"}
    )
    text = report(model, page)
    assert text.count("<svg") == model.n_prototypes
    assert text.count("<rect") == 64 * model.n_prototypes
    assert "&lt;x&gt;" in text and "&lt;b&gt;" in text and "&lt;n&gt;" in text
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert np.all([tag not in text for tag in ("<x>", "<n>", "src=")])


def test_the_rule_is_sentences_and_tables_before_the_formula():
    model = random_linear(2, 2, 1, 1.0)
    line = {"column": "<b>age", "level or step": "per 10 years", "points for": "0.4"}
    table = PointsTable("<i>ill", 1, -1.25, (line,), 3)
    rule = Rule(("<u>ill, where its points sum to more than 0.",), (table,), ())
    page = Page("t", {}, model.weights, True, names={1: "<s>mine"}, rule=rule)
    before, after = report(model, page).split("<details>")
    assert "&lt;u&gt;ill, where its points" in before
    assert "&lt;s&gt;mine: &lt;i&gt;ill, constant -1.25" in before
    assert "<td>&lt;b&gt;age</td><td>per 10 years</td><td>0.4</td>" in before
    assert "3 lines with smaller effects omitted" in before
    assert "As a formula" in after
    assert not any(tag in before for tag in ("<b>", "<i>", "<u>", "<s>"))
    assert "points" not in report(model, replace(page, rule=None))


def test_bars_that_are_left_out_are_counted_and_warnings_stand_by_their_prototype():
    model = random_linear(30, 2, 1, 1.0)
    weights = np.arange(1.0, 31.0) * np.ones((2, 1))
    weights[0, :9] = 0.0
    weights[1, :14] = 0.0
    page = Page("t", {}, weights, True, warnings={1: ["Beware of <w>."]})
    first, second = report(model, page).split("<section>")[1:]
    assert first.count("<rect") == second.count("<rect") == 15
    assert "and 6 smaller ones" in first and "and 1 smaller one<" in second
    assert "Beware" not in first and "Beware of &lt;w&gt;." in second
    few = report(model, replace(page, portraits=weights * (weights > 20)))
    assert "smaller one" not in few
