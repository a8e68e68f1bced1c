"""A colleague checks a report: every number that decides is printed in it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from smpcore import METHODS, Dataset, export, load_dataset, prepare, report, split
from smpcore.datasets import plain_number
from smpcore.evaluation import (
    RowMeasure,
    at_threshold,
    brier_score,
    calibrate,
    group_rows,
    subgroups,
)
from smpcore.explain import Section
from smpcore.report import (
    Page,
    calibration_section,
    columns_section,
    confusion_section,
    numbers_section,
    parts_section,
    subgroups_section,
    versions_section,
)
from smpcore.similarity import Similarity
from smpcore.solvers.nqp import nqp_rows
from tests.smpcore.codegen.random_models import random_linear
from tests.smpcore.codegen.zips import unpack
from tests.smpcore.test_report_calculator import FITTED, fitted


class Reader(HTMLParser):
    """Headings of a report with the paragraphs and tables under each."""

    def __init__(self, text):
        super().__init__()
        self.parts, self.words, self.tables, self.now = {}, [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.now = tag
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_data(self, data):
        if self.now == "h2":
            self.words, self.tables = [], []
            self.parts[data] = self.words, self.tables
        elif self.now in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif self.now == "p":
            self.words.append(data)

    def handle_endtag(self, tag):
        self.now = None

    def table(self, title, number=0):
        """Lines of a table, by the words of its first line."""
        head, *lines = self.parts[title][1][number]
        return [dict(zip(head, line, strict=True)) for line in lines]


def read(model, *sections):
    page = Page("t", {"a": "b"}, model.prototypes, False, sections=sections)
    return Reader(report(model, page))


NUMBERS = "The model in numbers"


def inputs_of(row, features, columns):
    """Features of a raw row, by what is printed of columns."""
    values = []
    for name in features:
        column, is_level, level = name.partition(" = ")
        column = column if is_level else name
        value = row[column]
        if pd.isna(value):
            value = columns[column]["a missing value becomes"]
        values.append(float(str(value) == level) if is_level else float(value))
    return np.array(values)


def scores_of(words, tables, values):
    """Scores of an input by the tables of a report alone."""
    lines, names = tables[0], [*tables[0][0]]
    taken = [[float(line[name]) for line in lines] for name in names[1:3]]
    x = (values - taken[0]) / taken[1]
    columns = np.array(
        [
            [float(line[n]) for line in lines]
            for n in names
            if re.match(r"(z|weight )\d", n)
        ]
    )
    rest = tables[1:]
    if "standard deviation, feature by feature. Activation" in words:
        activation = columns @ x
    else:
        activation = similarity_of(words, lines, x, columns)
        if "share" in rest[0][0]:
            mixed = np.zeros(1 + max(int(line["prototype"]) for line in rest[0]))
            for line in rest[0]:
                place, case = int(line["prototype"]), int(line["case"][1:]) - 1
                mixed[place] += float(line["share"]) * activation[case]
            activation, rest = mixed[1:], rest[1:]
    prototypes, *rest = rest
    activation = activation + [float(line["bias"]) for line in prototypes]
    if size := re.search(r"at most (\d+) coefficients", words):
        gram = [[*map(float, list(line.values())[1:])] for line in rest[0]]
        codes, objective = np.zeros((1, len(gram))), np.empty(1)
        nqp_rows(np.array(gram), -activation[None], int(size[1]), codes, objective)
        activation = codes[0]
    outputs = rest[-1]
    scores = np.array([float(line["intercept"]) for line in outputs])
    for k, line in enumerate(outputs):
        if "weight" in prototypes[0] and "class" not in prototypes[0]:
            weights = [float(p["weight"]) for p in prototypes]
        elif "class" in prototypes[0]:
            own = [p["class"] == line["output"] for p in prototypes]
            scores[k] += activation[own].max()
            continue
        else:
            weights = [float(p[f"weight for {line['output']}"]) for p in prototypes]
        scores[k] += activation @ weights
    return scores


def similarity_of(words, lines, x, cases):
    apart = x - cases
    gamma = float((re.search(r"gamma = ([^ ,]+[\d])", words) or [0, "nan"])[1])
    if "sum over features of weight" in words:
        weight, width = (
            [float(line[n]) for line in lines] for n in ("weight", "width")
        )
        return (weight * np.exp(-(apart**2) / width)).sum(axis=1)
    if "sum of (x - z)^2" in words:
        return np.exp(-gamma * (apart**2).sum(axis=1))
    if "sum of |x - z|" in words:
        return np.exp(-gamma * np.abs(apart).sum(axis=1))
    raise NotImplementedError(words)


@pytest.mark.parametrize(("method", "task"), FITTED)
def test_a_prediction_is_worked_out_from_the_printed_numbers_alone(method, task):
    dataset, preparation, model = fitted(method, task)
    if model.n_outputs == 2 and not model.code_size:
        model = at_threshold(model, 0.125)
    train = np.arange(40)
    sections = (
        columns_section(dataset, preparation, train, ()),
        numbers_section(model),
    )
    page = read(model, *sections)
    columns = {
        line["column"]: line for line in page.table("Columns and missing values")
    }
    words = " ".join(page.parts[NUMBERS][0])
    tables = [page.table(NUMBERS, k) for k in range(len(page.parts[NUMBERS][1]))]
    frame = dataset.frame
    assert frame.isna().to_numpy().any()
    X = preparation.transform(frame)
    wanted, seen = model.scores(X), set()
    for row, x, score in zip(frame.to_dict("records"), X, wanted, strict=True):
        values = inputs_of(row, [line["feature"] for line in tables[0]], columns)
        np.testing.assert_allclose(values, x, rtol=1e-12)
        found = scores_of(words, tables, values)
        room = 1e-6 * np.abs(wanted).max()
        if not (model.code_size and score.max() == model.unrepresented):
            np.testing.assert_allclose(found, score, atol=room)
            seen.add(tuple(score))
    assert len(seen) > 1


def test_the_threshold_is_in_the_printed_intercepts():
    model = at_threshold(random_linear(3, 2, 1, 1.0), 0.125)
    page = read(model, numbers_section(model))
    outputs = page.table(NUMBERS, 2)
    assert [line["intercept"] for line in outputs] == ["0", "-0.125"]


def test_what_cannot_be_printed_is_said():
    model = random_linear(3, 2, 1, 1.0)
    other = replace(model, similarity=Similarity("strings"))
    (words,) = numbers_section(other).blocks
    assert "strings has no formula" in words
    wide = random_linear(10_001, 2, 1, 1.0)
    (words,) = numbers_section(wide).blocks
    assert "20,006 numbers" in words


def table_with_groups():
    random = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame(
        {
            "size": np.where(random.random(n) < 0.1, np.nan, random.normal(5, 2, n)),
            "sex": random.choice(["f", "m", "m", None], n),
            "patient": np.arange(n) // 3,
            "note": "x",
        }
    )
    frame["y"] = np.where(
        frame["size"].fillna(5) + random.normal(0, 1, n) > 5, "b", "a"
    )
    roles = {"size": "feature", "sex": "feature", "patient": "group", "note": "ignore"}
    return Dataset("t", frame, roles | {"y": "target"}, "classification")


def test_columns_and_parts_are_those_of_the_data():
    dataset = table_with_groups()
    division = split(dataset, 0.25, 0.25, seed=7)
    preparation = prepare(dataset, division.train)
    model = random_linear(preparation.n_features, 2, 1, 1.0)
    page = read(
        model,
        columns_section(dataset, preparation, division.train, ["size"]),
        parts_section(dataset, division, "2 times"),
    )
    lines = {line["column"]: line for line in page.table("Columns and missing values")}
    training = dataset.frame.iloc[division.train]
    roles = {name: line["role"] for name, line in lines.items()}
    assert roles == dict(dataset.roles)
    size, sex = lines["size"], lines["sex"]
    assert float(size["a missing value becomes"]) == training["size"].median()
    assert size["missing in training"] == str(training["size"].isna().sum()) != "0"
    assert sex["a missing value becomes"] == "m" == training["sex"].mode()[0]
    assert (size["used by the model"], sex["used by the model"]) == ("yes", "no")
    assert lines["patient"]["a missing value becomes"] == ""
    parts = page.table("Parts of the data")
    for line, name in zip(parts, ("train", "validation", "test"), strict=True):
        rows = getattr(division, name)
        assert line["rows"] == str(len(rows))
        assert line["groups"] == str(dataset.frame["patient"].iloc[rows].nunique())
        count = "" if name == "test" else str((dataset.y[rows] == "a").sum())
        assert line["class a"] == count
    (words, *_) = page.parts["Parts of the data"][0]
    assert "Seed 7; test set opened: 2 times." in words
    assert "same value of patient always stay in one part" in words
    assert "shares of 0.25 for validation and 0.25 for test; classes keep" in words


def test_counts_and_recall_of_each_class():
    dataset = table_with_groups()
    division = split(dataset)
    preparation = prepare(dataset, division.train)
    X = preparation.transform(dataset.frame)
    row = METHODS["smp"]
    estimator = row.estimator(row.defaults()).fit(
        X[division.train], dataset.y[division.train]
    )
    model = replace(estimator.model_, band=0.4)
    X, y = X[division.validation], dataset.y[division.validation]
    groups = dataset.groups[division.validation]
    alone = read(model, confusion_section(model, {"Validation": (X, y, None)}))
    lines = alone.table("Confusion matrix and recall")
    answers = model.predict(X)
    for line, label in zip(lines, model.classes, strict=True):
        rows = y == label
        for other in model.classes:
            count = int(line[f"predicted {other}"])
            assert count == (answers[rows] == other).sum()
        hits, n = (answers[rows] == label).sum(), rows.sum()
        assert line["recall"] == f"{100 * hits / n:.1f} %" and line["rows"] == str(n)
        from statsmodels.stats.proportion import proportion_confint

        low, high = proportion_confint(hits, n, method="wilson")
        interval = line["95 % interval of recall"]
        assert interval == f"{100 * low:.1f} to {100 * high:.1f} %"
        precision = 100 * (y[answers == label] == label).mean()
        assert line["precision"] == f"{precision:.1f} %"
    words = " ".join(alone.parts["Confusion matrix and recall"][0])
    assert f"{(answers == y).sum()} of {len(y)} rows are right" in words
    assert f"{(~model.sure(X)).sum()} are within the band" in words
    together = read(model, confusion_section(model, {"Validation": (X, y, groups)}))
    wider = together.table("Confusion matrix and recall")
    assert wider != lines


def test_the_id_is_that_of_the_export(tmp_path):
    _, preparation, model = fitted("smp")
    packed = export(model, preparation, "javascript", name="mine")
    files = unpack(packed, tmp_path)
    number = re.search(r'"id": "(\w{8})"', (tmp_path / "mine.json").read_text())[1]
    assert files
    page = read(model, versions_section(model, preparation))
    assert f"Model ID {number}" in page.parts["Model ID and versions"][0][0]
    programs = {
        line["program"]: line["version"] for line in page.table("Model ID and versions")
    }
    assert programs["numpy"] == np.__version__
    assert {"smpcore", "Python", "scikit-learn", "numba"} <= {*programs}
    unused = replace(model, anchors=0 * model.anchors)
    words = read(unused, versions_section(unused, preparation))
    assert "No model ID: " in words.parts["Model ID and versions"][0][0]


def test_words_and_tables_of_a_section_are_text_and_a_long_table_is_folded():
    model = random_linear(2, 2, 1, 1.0)
    lines = [{"<i>name": f"<b>{k}"} for k in range(41)]
    page = Page("t", {}, model.weights, True, sections=[Section("<u>", ("<s>", lines))])
    text = report(model, page)
    assert not re.search(r"<[ibus]>", text)
    assert "&lt;u&gt;" in text and "&lt;s&gt;" in text and "&lt;b&gt;40" in text
    assert "<summary>Table of 41 lines</summary>" in text
    page = replace(page, sections=[Section("t", (lines[:40],))])
    assert "Table of" not in report(model, page)


def test_groups_are_printed_as_they_are_counted():
    rng = np.random.default_rng(0)
    site = np.where(np.arange(200) % 10, "<b>north</b>", "south")
    frame = pd.DataFrame({"x": rng.normal(size=200), "site": site})
    frame["y"] = np.where(frame["x"] > 0, "yes", "no")
    roles = {"x": "feature", "site": "ignore", "y": "target"}
    dataset = Dataset("made", frame, roles, "classification")
    rows = np.arange(80)
    hits = np.arange(80) % 4 > 0
    measures = [RowMeasure("Accuracy", hits * 1.0, True)]
    grouping = group_rows(dataset, "site", np.arange(200))
    section = subgroups_section(grouping, rows, measures)
    words, lines = section.blocks
    assert section.title == "Subgroups by site"
    north, south = lines
    inside = site[:80] == "<b>north</b>"
    assert north["rows"] == str(inside.sum())
    assert north["value"] == f"{100 * hits[inside].mean():.1f} %"
    assert north["all others"] == f"{100 * hits[~inside].mean():.1f} %"
    table = subgroups(grouping, rows, measures)
    low, high = table.loc[0, ["low", "high"]]
    assert (
        north["simultaneous 95 % interval"]
        == f"{100 * low:.1f} % to {100 * high:.1f} %"
    )
    assert south["rows"] == "8" and south["difference"] == "not tested"
    assert "fewer than 10 rows are not tested" in words


def test_a_colleague_can_recompute_probabilities_from_the_report():
    dataset = load_dataset("wine")
    parts = split(dataset)
    train, rows = parts.train, parts.validation
    X = prepare(dataset, train).transform(dataset.frame)
    fitted = METHODS["smallk"].estimator({}).fit(X[train], dataset.y[train])
    scores = fitted.model_.scores(X)
    learned = calibrate(scores[train], dataset.y[train], dataset.classes)
    model = replace(fitted.model_, calibration=learned)
    checked = {"Validation": (X[rows], dataset.y[rows], None)}
    page = read(model, calibration_section(model, checked))
    title = "Calibrated probabilities"
    words, *more = page.parts[title][0]
    slope = float(re.search(r"slope ([-\d.e]+) and", words)[1])
    offsets = [float(line["offset"]) for line in page.table(title)]
    expected = softmax(slope * scores + offsets, axis=1)
    np.testing.assert_allclose(model.probabilities(X), expected, rtol=1e-6)
    score = brier_score(expected[rows], dataset.y_encoded[rows])[0]
    assert f"Brier score {score:.4f}" in " ".join(more)
    assert sum(int(line["rows"]) for line in page.table(title, 1)) == len(rows)


def test_the_report_of_a_regression_tells_width_and_coverage():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (160, 1))
    y = np.sin(X[:, 0]) + rng.normal(scale=0.2, size=160)
    row = next(m for m in METHODS.values() if "regression" in m.estimators)
    model = row.estimator({}, "regression").fit(X[:80], y[:80]).model_
    learned = calibrate(model.predict(X[80:120]), y[80:120])
    model = replace(model, calibration=learned)
    checked = {"Validation": (X[120:], y[120:], None)}
    page = read(model, calibration_section(model, checked))
    line = page.table("Prediction intervals")[2]
    half = learned.half_width(0.9)
    assert line["interval"] == "90 %" and line["width"] == f"± {plain_number(half, 6)}"
    covered = int((np.abs(model.predict(X[120:]) - y[120:]) <= half).sum())
    assert line["rows covered"] == f"{covered} of 40"
