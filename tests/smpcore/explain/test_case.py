"""A case beside its training rows: every figure recomputed from the parts."""

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from smpcore import METHODS, load_dataset, prepare, report, split
from smpcore.datasets import CleaningStep, make_dataset, plain_number
from smpcore.explain import CaseExplainer, rule_section, single_column_changes
from smpcore.model import Calibration, chance
from smpcore.report import Calculator, Page
from tests.smpcore.test_report_calculator import script_of

HOSTILE = "</td><script>alert(1)</script>\"'&=1"


def explainer(name, method, numbers=True, **changes):
    dataset = load_dataset(name) if isinstance(name, str) else name
    division = split(dataset)
    train = division.train
    preparation = prepare(dataset, train)
    X = preparation.transform(dataset.frame)
    values = METHODS[method].defaults(dataset.task) | changes
    fitted = (
        METHODS[method].estimator(values, dataset.task).fit(X[train], dataset.y[train])
    )
    shown = dataset.row_numbers(train) if numbers else None
    of = fitted.model_, preparation, X[train], dataset.y[train], dataset.target, shown
    return dataset, division, CaseExplainer(*of)


def hostile_table():
    """Names and levels that would break out of a page, and missing values."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            HOSTILE: rng.normal(size=120).round(2),
            "site <b>": rng.choice(["<i>north", "south & co"], 120),
            "age": rng.integers(29, 78, 120),
        }
    )
    frame["y"] = np.where(frame[HOSTILE] + frame["age"] / 30 > 1.8, "<u>sick", "well")
    return make_dataset(frame, HOSTILE, roles={"y": "target"}, private=True)


@pytest.mark.parametrize("method", ["smp", "smallk", "mprotsvm"])
def test_parts_of_a_linear_model_are_weights_times_values(method):
    dataset, division, of = explainer("breast_cancer", method)
    model = of.model
    for place in division.validation[:5]:
        row = dataset.frame.iloc[[place]]
        x = row[dataset.feature_columns].to_numpy(float)[0]
        case = of.explain(row, "a row")
        scores = model.scores(x[None])[0]
        winner, other = np.argsort(-scores)[:2]
        assert case.answer == str(model.classes[winner])
        best = [
            max(
                (j for j in range(model.n_prototypes) if model.votes[j, c]),
                key=lambda j: model.activations(x[None])[0, j],
                default=None,
            )
            for c in (winner, other)
        ]
        weights = [0.0 if j is None else model.weights[j] for j in best]
        expected = (weights[0] - weights[1]) * (x - model.center) / model.scale
        named = dict(zip(of.preparation.feature_names, expected, strict=True))
        assert len(case.parts) == min(10, np.count_nonzero(expected))
        for name, value, size in case.parts:
            assert size == pytest.approx(named[name])
            assert float(value) == row[name].iloc[0]
        sizes = [abs(size) for _, _, size in case.parts]
        assert sizes == sorted(sizes, reverse=True)
        lead = plain_number(scores[winner] - scores[other])
        assert lead in case.facts.values()


@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_rows_are_those_of_a_plain_search(method):
    dataset, division, of = explainer("iris", method)
    used = np.flatnonzero(of.model.support)
    for place in (*division.train[:2], *division.validation[:3]):
        x = of.preparation.transform(dataset.frame.iloc[[place]])[0]
        known = np.flatnonzero(division.train == place)
        without = int(known[0]) if known.size else -1
        distances = {}
        for i, row in enumerate(of.X):
            apart = [(row[f] - x[f]) / np.std(of.X[:, f]) for f in used]
            if i != without:
                distances[i] = np.sqrt(np.sum(np.square(apart)))
        expected = sorted(distances.values())[:3]
        places, found = of.nearest(x, without)
        np.testing.assert_allclose(found, expected)
        np.testing.assert_allclose([distances[int(i)] for i in places], expected)
        case = of.explain(dataset.frame.iloc[[place]], "a row", without=without)
        titles = [f"row {division.train[i] + 1}" for i in places]
        assert list(case.nearest[0]) == ["", "this case", *titles]
        lines = {line[""]: line for line in case.nearest}
        truth = [str(label) for label in of.y[places]]
        assert [lines["true value"][title] for title in titles] == truth


def test_training_rows_are_not_shown_unless_they_may_be():
    dataset, division, of = explainer("wine", "smp", numbers=False)
    case = of.explain(dataset.frame.iloc[[division.validation[0]]], "a row")
    assert case.nearest == []
    page = report(of.model, Page("t", {}, cases=[case]))
    assert "not included" in page
    assert not re.search(r"row \d", page)


def test_the_change_changes_the_answer():
    dataset, division, of = explainer("breast_cancer", "smp")
    row = dataset.frame.iloc[[division.validation[0]]].copy()
    case = of.explain(row, "a row")
    assert 0 < len(case.changes) <= 8 and "not listed" not in case.change
    for line in case.changes:
        row[line["column"]] = float(line["then"])
    after = of.model.predict(of.preparation.transform(row))[0]
    assert f"from {case.answer} to {after}: " in case.change
    steps = [abs(line["change in standard deviations"]) for line in case.changes]
    assert f": {plain_number(sum(steps))} standard deviations, summed" in case.change
    assert "no advice" in case.change


def test_columns_that_cannot_be_changed_are_left_as_they_are():
    for name, method in (("breast_cancer", "smp"), ("diabetes", "supersparse")):
        dataset, division, of = explainer(name, method)
        row = dataset.frame.iloc[[division.validation[0]]]
        changed = {line["column"] for line in of.explain(row, "a row").changes}
        inputs = [replace(i, fixed=i.name in changed) for i in of.preparation.inputs]
        preparation = replace(of.preparation, inputs=tuple(inputs))
        held = replace(of, preparation=preparation).explain(row, "a row")
        assert changed and held.changes != of.explain(row, "a row").changes
        assert not changed & {line["column"] for line in held.changes}


def test_what_is_odd_about_the_row_is_said_in_words():
    dataset = hostile_table()
    _, _, of = explainer(dataset, "smp")
    row = dataset.frame.iloc[[0]].assign(**{HOSTILE: 99.0, "site <b>": "elsewhere"})
    row["age"] = np.nan
    said = " ".join(of.explain(row, "a row").remarks)
    spec = next(s for s in of.preparation.inputs if s.name == "age")
    counts_as = spec.text(np.full(of.X.shape[1], spec.fill))
    assert "= 99 (" in said and f"Missing: age (counts as {counts_as})." in said
    assert "site <b> = elsewhere" in said
    case = of.explain(dataset.frame.iloc[[0]], "a row")
    assert case.remarks == ()
    page = report(of.model, Page("t", {}, cases=[case]))
    assert "Nothing was missing, out of range or unseen." in page


class Tags(HTMLParser):
    """Names of all tags, and all text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def test_hostile_texts_stay_texts():
    dataset = hostile_table()
    _, _, of = explainer(dataset, "smp")
    row = dataset.frame.iloc[[0]].assign(**{"site <b>": HOSTILE})
    case = of.explain(row, HOSTILE, {HOSTILE: HOSTILE})
    page = report(of.model, Page(HOSTILE, {HOSTILE: HOSTILE}, cases=[case, case]))
    seen = Tags(page)
    allowed = {"html", "head", "meta", "title", "style", "body", "article", "h1", "h2"}
    assert set(seen.tags) <= allowed | {
        "p",
        "b",
        "div",
        "table",
        "tr",
        "th",
        "td",
        "span",
    }
    assert seen.tags.count("article") == 2
    assert page.count("<script") == 0 and escape(HOSTILE) in page
    assert "<u>sick" in seen.text or "well" in seen.text
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'") and "script" not in policy


def test_hostile_texts_stay_texts_where_the_model_can_be_tried():
    dataset = hostile_table()
    _, _, of = explainer(dataset, "smp")
    row = dataset.frame.iloc[[0]].assign(**{"site <b>": HOSTILE})
    calculator = Calculator(of.preparation, row.set_axis([HOSTILE]), target=HOSTILE)
    page = report(
        of.model,
        Page(
            HOSTILE,
            {HOSTILE: HOSTILE},
            cases=[of.explain(row, HOSTILE)],
            calculator=calculator,
            sections=[rule_section(of.model, of.preparation, of.X)],
        ),
    )
    seen = Tags(page)
    assert not {"i", "u", "img"} & {*seen.tags} and seen.tags.count("script") == 1
    assert "alert" in script_of(page) and HOSTILE not in page
    assert "<u>sick" in seen.text and "&lt;u&gt;sick, if" in page


def test_a_calibrated_model_says_its_probability():
    dataset, _, of = explainer("wine", "smp")
    row = dataset.frame.iloc[[0]]
    assert "Calibrated probability" not in of.explain(row, "r").facts
    calibration = Calibration(42, 0.5, np.array([0.0, -1.0, -2.0]))
    model = replace(of.model, calibration=calibration)
    facts = replace(of, model=model).explain(row, "r").facts
    logits = 0.5 * model.scores(of.preparation.transform(row))[0] - np.arange(3)
    shares = np.exp(logits) / np.exp(logits).sum()
    best = int(shares.argmax())
    first = facts["Calibrated probability"].split(", ")[0]
    assert first == f"{model.classes[best]} {chance(shares[best])}"
    assert facts["Calibrated on"] == "42 training rows"


def test_a_calibrated_regression_says_its_interval():
    dataset, _, of = explainer("diabetes", "supersparse")
    row = dataset.frame.iloc[[0]]
    for width, text in ((10.0, None), (np.inf, "unbounded")):
        calibration = Calibration(42, half_widths=np.full(99, width))
        model = replace(of.model, calibration=calibration)
        facts = replace(of, model=model).explain(row, "r").facts
        shown = facts["90 % prediction interval"]
        if text is None:
            low, high = map(float, shown.split(" to "))
            assert high - low == pytest.approx(20, abs=0.02)
        else:
            assert shown == text


def test_moves_of_a_straight_line_are_exact():
    """y = 3 a - 2 b + 5 [c = q]: a step of 6 is 2 of a, or -3 of b."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "a": rng.uniform(0, 10, 200).round(3),
            "b": rng.uniform(0, 10, 200).round(3),
            "c": rng.choice(["p", "q", "r"], 200),
        }
    )
    frame["y"] = 3 * frame["a"] - 2 * frame["b"] + 5.0 * (frame["c"] == "q")
    dataset = make_dataset(frame, "line", roles={"y": "target"})
    preparation = prepare(dataset, np.arange(200))
    X = preparation.transform(dataset.frame)
    method = METHODS["supersparse"]
    values = method.defaults("regression") | {"similarity": "linear", "lam": 1e-9}
    model = method.estimator(values, "regression").fit(X, dataset.y).model_
    assert model.is_linear
    row = dataset.frame.iloc[[0]].assign(a=5.0, b=5.0, c="p")
    x = preparation.transform(row)[0]
    slope = dict(zip(preparation.feature_names, _slopes(model, x), strict=True))
    lines = single_column_changes(model, preparation, x, 4.0)
    by_column = {line["column"]: line for line in lines}
    for name in ("a", "b"):
        for sign, key in ((1, "raises it at"), (-1, "lowers it at")):
            exact = 5.0 + sign * 4.0 / slope[name]
            assert float(by_column[name][key]) == pytest.approx(exact, abs=2e-3)
            x_moved = x.copy()
            x_moved[preparation.feature_names.index(name)] = float(by_column[name][key])
            moved = model.predict(x_moved[None])[0] - model.predict(x[None])[0]
            assert sign * moved >= 4.0 - 1e-4
    assert by_column["c"]["raises it at"] == "q"
    assert by_column["c"]["lowers it at"] == ""
    assert single_column_changes(model, preparation, x, 1e6) == []


def test_a_value_outside_the_range_moves_into_it_only():
    dataset, division, of = explainer("diabetes", "supersparse")
    x = of.preparation.transform(dataset.frame.iloc[[division.validation[0]]])[0]
    place = of.preparation.feature_names.index("bmi")
    spec = of.preparation.inputs[place]
    for outside in (spec.low - 30, spec.high + 30):
        x[place] = outside
        lines = single_column_changes(of.model, of.preparation, x, 1.0)
        line = next(line for line in lines if line["column"] == "bmi")
        for key in ("raises it at", "lowers it at"):
            assert not line[key] or spec.low <= float(line[key]) <= spec.high
        end = float(np.clip(outside, spec.low, spec.high))
        moved = x.copy()
        moved[place] = end
        step = np.diff(of.model.predict(np.stack([x, moved])))[0]
        if abs(step) >= 1:
            assert float(line["raises it at" if step > 0 else "lowers it at"]) == end


def test_whole_numbers_stay_whole():
    dataset, division, of = explainer("diabetes", "supersparse")
    x = of.preparation.transform(dataset.frame.iloc[[division.validation[0]]])[0]
    for line in single_column_changes(of.model, of.preparation, x, 5.0):
        spec = next(s for s in of.preparation.inputs if s.name == line["column"])
        for key in ("raises it at", "lowers it at"):
            if spec.integer and line[key]:
                assert float(line[key]).is_integer()


def _slopes(model, x):
    steps = np.eye(len(x))
    return model.predict(x + steps) - model.predict(x[None])


@pytest.mark.parametrize("place", range(4))
def test_moves_of_a_curve_move_so_far_and_no_nearer_value_does(place):
    dataset, division, of = explainer("diabetes", "supersparse")
    x = of.preparation.transform(dataset.frame.iloc[[division.validation[place]]])[0]
    start = of.model.predict(x[None])[0]
    lines = single_column_changes(of.model, of.preparation, x, 20.0)
    assert lines
    for line in lines:
        spec = next(s for s in of.preparation.inputs if s.name == line["column"])
        for sign, key in ((1, "raises it at"), (-1, "lowers it at")):
            if not line[key]:
                continue
            value = float(line[key])
            assert spec.low <= value <= spec.high
            grid = np.repeat(x[None], 2000, axis=0)
            grid[:, spec.first] = np.linspace(x[spec.first], value, 2000)
            moved = sign * (of.model.predict(grid) - start)
            assert moved[-1] >= 20 - 1e-9
            near = abs(grid[:, spec.first] - value) <= 10.0**-spec.decimals
            assert (moved[~near] < 20 * (1 + 1e-6)).all()


def test_a_sheet_keeps_what_cannot_be_changed():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(120, 2)).round(2), columns=["age", "dose"])
    sums = frame["age"] + frame["dose"]
    steps = [CleaningStep("age", fixed=True)]
    for target, method in (
        (np.where(sums > 0, "yes", "no"), "smp"),
        (sums, "supersparse"),
    ):
        for cleaning, columns in ((steps, {"dose"}), ([], {"age", "dose"})):
            table = frame.assign(y=target)
            roles = {"y": "target"}
            data = make_dataset(table, "t", roles=roles, cleaning=cleaning)
            _, division, of = explainer(data, method)
            rows = (data.frame.iloc[[i]] for i in division.validation)
            cases = [of.explain(row, "a row") for row in rows]
            changed = {line["column"] for case in cases for line in case.changes}
            assert changed == columns
