"""The report as a document: whole, escaped, without anything that loads or runs."""

from dataclasses import replace

import numpy as np
import pandas as pd

from smpcore import prepare, report
from smpcore.datasets import make_dataset
from smpcore.explain import Case, rule_section
from smpcore.readouts import Section
from smpcore.report import Page
from tests.smpcore.codegen.models import random_linear


def test_the_rule_is_sentences_and_tables_before_the_formula():
    frame = pd.DataFrame(np.eye(20), columns=[f"<b>{k}" for k in range(20)])
    frame["y"] = ["<i>a", "b"] * 10
    dataset = make_dataset(frame, "t", roles={"y": "target"})
    model = random_linear(20, 2, 1, 1.0, classes=dataset.classes)
    preparation = prepare(dataset, np.arange(20))
    X = preparation.transform(dataset.frame)
    section = rule_section(model, preparation, X, names=["<s>mine", "<s>other"])
    page = Page("t", {}, model.weights, True, sections=[section])
    before, after = report(model, page).split("<details>")
    assert "<p>b, if the sum of its points is" in before
    assert "<p>&lt;i&gt;a otherwise.</p>" in before
    assert "<h3>&lt;s&gt;other</h3>" in before and "<td>&lt;b&gt;" in before
    assert "5 lines with smaller effects omitted" in before
    assert after.startswith("<summary>As a formula</summary><p>b, if ")
    assert not any(tag in before for tag in ("<b>", "<i>", "<u>", "<s>"))
    assert "points" not in report(model, replace(page, sections=()))


def test_cases_are_printed_alone_but_for_the_card():
    model = random_linear(2, 2, 1, 1.0)
    case = Case("one", "ja", {}, (), ("for", "against"), [], "", [], "", "", [])
    card = Section("Score card", ("add these",))
    rest = [Section("Decision rule", ("many words",))]
    text = report(model, Page("t", {}, cases=[case], card=card, sections=rest))
    head, shown_only = text.split('<div class="screen">')
    assert head.index("<article>") < head.index("add these")
    assert "many words" in shown_only and "many words" not in head
    assert ".screen { display: none }" in head.partition("@media print")[2]
    alone = report(model, Page("t", {}, card=card, sections=rest))
    assert 'class="screen"' not in alone and "many words" in alone


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


def test_of_many_prototypes_the_rest_is_counted():
    many = random_linear(2, 63, 1, 1.0, classes=np.arange(63))
    assert "<p>3 more prototypes are not shown.</p>" in report(
        many, Page("t", {}, np.ones((63, 2)), True)
    )
    few = random_linear(2, 3, 1, 1.0)
    assert "not shown" not in report(few, Page("t", {}, np.ones((3, 2)), True))
