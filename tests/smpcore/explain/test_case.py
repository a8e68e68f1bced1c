"""A case beside its training rows: every figure recomputed from the parts."""

import re
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import pytest

from smpcore import METHODS, prepare, report, split
from smpcore.datasets import CleaningStep, make_dataset
from smpcore.evaluation import answer_rows
from smpcore.explain import CaseExplainer, rule_section, single_column_changes
from smpcore.model import Calibration, chance
from smpcore.report import Calculator, Page
from tests.html_document import Document
from tests.shown import oracle
from tests.smpcore.test_report_calculator import script_of

HOSTILE = "</td><script>alert(1)</script>\"'&=1"


def explainer(data, method, numbers=True):
    """A table (or the name of one), its parts, and its default model with its rows."""
    fit = oracle.Fit(method, "t", data)
    if isinstance(data, str):
        fit = oracle.fit(method, data)
    dataset, rows = fit.table, fit.parts["train"]
    shown = dataset.row_numbers(rows) if numbers else None
    of = fit.model, fit.preparation, fit.X[rows], fit.y[rows], dataset.target, shown
    return dataset, split(dataset), CaseExplainer(*of)


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


@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_rows_are_those_of_a_plain_search(method):
    dataset, division, of = explainer("iris", method)
    used = of.model.support
    for place in (*division.train[:2], *division.validation[:3]):
        x = of.preparation.transform(dataset.frame.iloc[[place]])[0]
        (known,) = np.nonzero(division.train == place)
        without = int(known[0]) if known.size else -1
        apart = np.linalg.norm(((of.X - x) / of.X.std(axis=0))[:, used], axis=1)
        apart[known] = np.inf
        places, found = of.nearest(x, without)
        np.testing.assert_allclose(found, np.sort(apart)[:3])
        np.testing.assert_allclose(apart[places], found)
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


def test_what_is_odd_about_the_row_is_said_in_words():
    dataset = hostile_table()
    _, _, of = explainer(dataset, "smp")
    row = dataset.frame.iloc[[0]].assign(**{HOSTILE: 99.0, "site <b>": "elsewhere"})
    row["age"] = np.nan
    said = " ".join(of.explain(row, "a row").remarks)
    spec = next(s for s in of.preparation.inputs if s.name == "age")
    counts_as = f"(counts as {spec.fill:.4g})"
    missing = f"Missing, and kept so in the changes below: age {counts_as}."
    assert "= 99 (above what was seen: max " in said and missing in said
    assert "site <b> = elsewhere" in said
    case = of.explain(dataset.frame.iloc[[0]], "a row")
    assert case.remarks == ()
    page = report(of.model, Page("t", {}, cases=[case]))
    assert "Nothing was missing, out of range or unseen." in page


def test_hostile_texts_stay_texts():
    dataset = hostile_table()
    _, _, of = explainer(dataset, "smp")
    row = dataset.frame.iloc[[0]].assign(**{"site <b>": HOSTILE})
    page = Page(HOSTILE, {HOSTILE: HOSTILE}, cases=[of.explain(row, HOSTILE)] * 2)
    calculator = Calculator(of.preparation, row.set_axis([HOSTILE]), target=HOSTILE)
    rule = rule_section(of.model, of.preparation, of.X)
    tried = replace(page, calculator=calculator, sections=[rule])
    for shown, n_scripts in ((page, 0), (tried, 1)):
        text = report(of.model, shown)
        seen = Document(text)
        assert not {"i", "u", "img"} & {*seen.tags}
        assert seen.tags.count("script") == n_scripts
        assert seen.tags.count("article") == 2
        assert HOSTILE not in text and escape(HOSTILE) in text
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
        assert policy.startswith("default-src 'none'")
        assert ("script" in policy) == bool(n_scripts)
    assert "alert" in script_of(text)
    assert "<u>sick" in "".join(seen.texts) and "&lt;u&gt;sick, if" in text


def test_a_calibrated_model_says_its_probability_or_its_interval():
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
    assert "too close" not in facts["Calibrated probability"]
    other = model.decide(model.scores(of.preparation.transform(row)))[0] - 1
    for offset, words in ((0.1, "; too close to call"), (2.0, "follows the scores")):
        offsets = np.zeros(3)  # all that counts: this class is more probable
        offsets[other] = offset
        close = replace(model, calibration=Calibration(42, 0.0, offsets))
        facts = replace(of, model=close).explain(row, "r").facts
        assert words in facts["Calibrated probability"]
    dataset, _, of = explainer("diabetes", "supersparse")
    row, shown = dataset.frame.iloc[[0]], {}
    for width in (10.0, np.inf):
        calibration = Calibration(42, half_widths=np.full(99, width))
        model = replace(of.model, calibration=calibration)
        facts = replace(of, model=model).explain(row, "r").facts
        shown[width] = facts["90 % prediction interval"]
    low, high = map(float, shown[10.0].split(" to "))
    assert high - low == pytest.approx(20, abs=0.02)
    assert shown[np.inf] == "unbounded"


def test_no_certainty_far_outside_of_the_training_range():
    """More than half of a used column's range beyond it; other values are named."""
    dataset, division, of = explainer("breast_cancer", "smp")
    calibration = Calibration(42, 0.5, np.zeros(2))
    of = replace(of, model=replace(of.model, calibration=calibration))
    used, idle = (np.flatnonzero(u)[0] for u in (of.model.support, ~of.model.support))
    span = of.model.high - of.model.low
    cases = ((used, 0.45, True), (used, 0.55, False), (idle, 9.0, True))
    for feature, beyond, is_told in cases:
        name = of.preparation.feature_names[feature]
        value = of.model.high[feature] + beyond * span[feature]
        row = dataset.frame.iloc[[0]].assign(**{name: value})
        case = of.explain(row, "a row")
        assert ("withheld" not in case.facts["Calibrated probability"]) == is_told
        assert name in case.remarks[0]
        shown = answer_rows(of.model, of.preparation, row)["probability"].notna().all()
        assert shown == is_told
    held_out = np.concatenate([division.validation, division.test])
    X = of.preparation.transform(dataset.frame.iloc[held_out])
    assert of.model.far_outside(X).any(axis=1).mean() <= 0.01


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


def test_one_column_alone_stays_in_order_with_the_others():
    """Without the order some of these values would have moved the prediction."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(np.sort(rng.normal(size=(120, 3))).round(3), columns=[*"abc"])
    frame["y"] = frame["a"] + frame["b"] - 2 * frame["c"]
    data = make_dataset(frame, "t", roles={"y": "target"})
    _, division, of = explainer(data, "supersparse")
    free = kept = 0
    for place in division.validation:
        x = of.preparation.transform(data.frame.iloc[[place]])[0]
        free += len(single_column_changes(of.model, of.preparation, x, 0.6))
        case = of.explain(data.frame.iloc[[place]], "a row", amount=0.6)
        for line in case.changes:
            kept += 1
            for way in ("raises it at", "lowers it at"):
                row = dict(data.frame.iloc[place])
                row[line["column"]] = float(line[way] or row[line["column"]])
                assert row["a"] <= row["b"] <= row["c"]
    assert 0 < kept < free


def test_a_sheet_keeps_what_cannot_be_changed_or_was_not_measured():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(120, 2)).round(2), columns=["size", "dose"])
    sums = frame["size"] + frame["dose"]
    steps = [CleaningStep("size", fixed=True)]
    for target, method in (
        (np.where(sums > 0, "yes", "no"), "smp"),
        (sums, "supersparse"),
    ):
        for cleaning, missing, columns in (
            (steps, [], {"dose"}),
            ([], ["dose"], {"size"}),
            ([], [], {"size", "dose"}),
        ):
            table = frame.assign(y=target)
            roles = {"y": "target"}
            data = make_dataset(table, "t", roles=roles, cleaning=cleaning)
            _, division, of = explainer(data, method)
            rows = (data.frame.iloc[[i]].copy() for i in division.validation)
            rows = (row.assign(**dict.fromkeys(missing, np.nan)) for row in rows)
            cases = [of.explain(row, "a row") for row in rows]
            changed = {line["column"] for case in cases for line in case.changes}
            assert changed == columns


NAMES = "Alter âge EDAD patientAge leeftijd_jahre 年齢 возраст".split()


@pytest.mark.parametrize("name", NAMES)
def test_age_and_sex_are_held_by_names_and_values_and_others_are_not(name):
    """What is held is in no change, as the test above says."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            name: rng.integers(20, 80, 150),
            "column 2": rng.choice(["Mann", "Frau"], 150),
            "Geschlecht des Patienten": rng.choice(["1", "2"], 150),
            "stage": rng.integers(0, 9, 150),
            "dose": rng.normal(size=150).round(2),
            "age of the pump": rng.normal(500, 90, 150).round(),
        }
    )
    frame["y"] = np.where(frame["dose"] + frame["stage"] / 4 > 1, "yes", "no")
    kinds = {"Geschlecht des Patienten": "category"}
    dataset = make_dataset(frame, "t", roles={"y": "target"}, kinds=kinds)
    assert prepare(dataset, np.arange(150)).fixed_columns == list(frame)[:3]


@pytest.mark.parametrize("method", ["smp", "supersparse"])
def test_other_changes_leave_what_those_before_change_most(method):
    """Put into the row each is answered as it says; its rarity is counted anew."""
    dataset, division, of = explainer("wine", method)
    checked, scale = 0, of.X.std(axis=0)
    rows = (of.X / scale)[:, of.model.support]
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    for place in division.validation:
        row = dataset.frame.iloc[[place]]
        if of.preparation.report(row)["out_of_range"].any() or checked > 8:
            continue  # the way back into the range is part of each change
        case = of.explain(row, "r")
        left = {case.changes[0]["column"]}
        for line in case.others:
            changes = dict(part.split(": ") for part in line["instead"].split("; "))
            moved, used = row.copy(), {}
            for name, words in changes.items():
                now, then = words.split(" → ")
                assert float(now) == float(row[name].iloc[0])
                moved[name] = used[name] = float(then)
            assert not left & {*used}
            x, other = (of.preparation.transform(r)[0] for r in (row, moved))
            assert str(of.model.predict(other[None])[0]) == line["prediction"]
            steps = np.abs(other - x) / scale
            assert float(line["standard deviations"]) == pytest.approx(
                steps.sum(), rel=1e-3
            )
            far = np.linalg.norm(rows - (other / scale)[of.model.support], axis=1)
            share = (apart.min(axis=1) >= far.min()).mean()
            assert line["training rows as far"] == chance(share)
            sizes = dict(zip(of.preparation.feature_names, steps, strict=True))
            left.add(max(used, key=sizes.get))
            checked += 1
    assert checked > 4
