"""Cleaning steps: pure, the same on every row, recorded, and undone without loss."""

import json
import pickle
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore import prepare, read_table, split
from smpcore.datasets import (
    CleaningStep,
    apply_steps,
    describe_steps,
    effect_of,
    read_frame,
    step_of,
    steps_from_json,
    steps_to_json,
    suggest_codes,
    with_step,
)
from smpcore.datasets.columns import as_numbers
from smpcore.errors import DatasetError
from tests.smpcore.datasets.cases import made, refused, said

N = 60
THAL = ("3", "6", "7", "unknown")
TEXT = "age,sex,chol,thal,num\n" + "".join(
    f"{29 + i % 48},{'mf'[i % 2]},{180 + i if i % 3 else -9},{THAL[i % 4]},{i % 5}\n"
    for i in range(N)
)
STEPS = (
    CleaningStep("age", low=30, high=70, unit="years", fixed=True, indicator=True),
    CleaningStep("chol", codes=("-9",), unit="mg/dl", impute="most frequent"),
    CleaningStep(
        "thal",
        codes=("unknown",),
        levels=(("6", "defect"), ("7", "defect")),
        impute="own level",
    ),
    CleaningStep("num", levels=(("2", "1"), ("3", "1"), ("4", "1"))),
)


def table(text=TEXT, **options):
    return read_table(text.encode(), "heart.csv", **options)


def cleaned(steps=STEPS):
    return table().with_roles(cleaning=steps)


def by_hand(frame):
    """The same steps as an analyst writes them with pandas."""
    frame = frame.copy()
    age = frame["age"].astype(float)
    frame["age"] = age.where(age.between(30, 70))
    frame["chol"] = frame["chol"].replace(-9, np.nan).astype(float)
    frame["thal"] = frame["thal"].replace(
        {"unknown": "missing", "6": "defect", "7": "defect"}
    )
    frame["num"] = frame["num"].clip(upper=1)
    frame["age is missing"] = np.where(frame["age"].isna(), "yes", "no")
    return frame


def test_the_table_is_what_pandas_makes_of_it():
    raw = pd.read_csv(pd.io.common.StringIO(TEXT), dtype={"thal": "str"})
    loosely = {"check_dtype": False, "check_column_type": False}
    pd.testing.assert_frame_equal(cleaned().frame, by_hand(raw), **loosely)
    assert cleaned().classes.tolist() == [0, 1]


def test_a_new_file_is_cleaned_row_by_row_as_the_training_table():
    whole, _, _ = read_frame(TEXT.encode(), "a.csv")
    before = whole.copy(deep=True)
    once = apply_steps(whole, STEPS)
    pd.testing.assert_frame_equal(whole, before)
    assert apply_steps(whole.drop(columns="chol"), STEPS).shape == (N, 5)
    head = TEXT.splitlines(keepends=True)
    for rows in ([5, 0, 9, 7], [3], range(N)):
        part = head[0] + "".join(head[1 + i] for i in rows)
        frame, _, _ = read_frame(part.encode(), "b.csv")
        pd.testing.assert_frame_equal(
            apply_steps(frame, STEPS),
            once.iloc[list(rows)].reset_index(drop=True),
            check_dtype=False,
        )


def test_other_steps_make_another_data_set_even_of_the_same_bytes():
    unit = (CleaningStep("age", unit="years"),)
    digests = [table().digest, cleaned().digest, cleaned(unit).digest]
    digests.append(cleaned((replace(unit[0], fixed=True),)).digest)
    assert len(set(digests)) == 4
    assert cleaned().digest == cleaned().digest
    assert pickle.loads(pickle.dumps(cleaned())).digest == cleaned().digest


def test_roles_set_later_keep_the_steps():
    data = cleaned().with_roles({"sex": "ignore", "age is missing": "ignore"})
    assert data.cleaning == STEPS
    assert data.feature_columns == ["age", "chol", "thal"]
    assert data.frame["chol"].isna().sum() == 20
    assert data.with_roles({"sex": "feature"}).roles["age is missing"] == "ignore"


def test_test_rows_are_cleaned_too():
    rows, _, _ = read_frame(TEXT.encode(), "test.csv")
    both = cleaned().with_test(rows)
    assert both.frame["chol"].isna().sum() == 40
    assert both.with_roles(cleaning=()).frame["chol"].isna().sum() == 0
    assert cleaned().with_roles(cleaning=()).digest == table().digest


def test_what_replaces_a_missing_value_is_learned_on_training_rows_only():
    data = cleaned()
    rows = split(data, 0.2, 0.2, 0).train
    spec = {one.name: one for one in prepare(data, rows).inputs}
    chol = data.frame["chol"].iloc[rows].dropna()
    assert spec["chol"].fill == chol.mode().min()
    assert spec["age"].fill == data.frame["age"].iloc[rows].dropna().median()
    others = np.setdiff1d(np.arange(N), rows)
    changed = data.frame
    changed.loc[others, "chol"] = 1e6
    changed.loc[others, "thal"] = "never seen"
    other = replace(data, frame=changed, origin=None)
    assert prepare(other, rows).inputs == prepare(data, rows).inputs


def test_the_most_frequent_level_replaces_a_missing_one_but_not_an_unknown_one():
    steps = [CleaningStep("a", impute="most frequent")]
    data = made({"a": list("xxyz") * 5, "y": [0, 1] * 10}, cleaning=steps)
    preparation = prepare(data, np.arange(20))
    new = pd.DataFrame({"a": ["x", None, "w"]})
    assert preparation.transform(new).tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert preparation.report(new).loc["a"].tolist() == [1, 1, 0]


def test_units_and_what_is_fixed_flow_to_the_inputs():
    spec = {one.name: one for one in prepare(cleaned(), np.arange(N)).inputs}
    units = [spec[name].unit for name in ("chol", "age", "sex")]
    assert units == ["mg/dl", "years", ""]
    assert [name for name in spec if spec[name].fixed] == ["age", "age is missing"]


def test_json_is_read_back():
    text = json.dumps(steps_to_json(STEPS))
    assert steps_from_json(json.loads(text)) == STEPS
    assert table(cleaning=json.loads(text)).digest == cleaned().digest
    usual = steps_to_json([CleaningStep("age", low=0)])
    assert usual == [{"column": "age", "low": 0}], "0 is a bound, not a default"


def test_steps_are_said_with_counts():
    sentences = describe_steps(STEPS, table().whole)
    assert "chol: -9 is missing (20 of 60 rows)." in sentences
    assert "thal: 6, 7 are merged into 'defect' (30 of 60 rows)." in sentences
    span = "age: values below 30 or above 70 years are missing (8 of 60 rows)."
    assert span in sentences
    assert "age: cannot be changed, counterfactuals keep it." in sentences
    assert "chol: -9 is missing." in describe_steps(STEPS)


OWN = {"impute": "own level"}
REFUSED = {
    "low=9 should be at most high=3": {"low": 9, "high": 3},
    "low=nan should be a finite number": {"low": float("nan")},
    "impute='mean' should be one of": {"impute": "mean"},
    "an indicator says the same": {"indicator": True, **OWN},
    "'a' is renamed to 'b', which is itself": {"levels": (("a", "b"), ("b", "c"))},
    "'a' is renamed to '-9', which is": {"levels": (("a", "-9"),), "codes": ("-9.0",)},
    "'missing' is renamed to 'x'": {"levels": (("missing", "x"),), **OWN},
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_step_that_cannot_be_is_refused(words):
    with refused(f"Cleaning of column 'c': {words}"):
        CleaningStep("c", **REFUSED[words])


ALL_LOST = CleaningStep("num", codes=tuple("01234"))
TWO = CleaningStep("age", low=1), CleaningStep("age", high=9)
STEPS_REFUSED = {
    "cleaning names 'no', which the table": [CleaningStep("no", codes=("1",))],
    "one step for each column, 'age' have": TWO,
    "a number has no level of its own": [CleaningStep("age", **OWN)],
    "has no values, so it cannot be the target": [ALL_LOST],
    "has a column 'age is missing' already": [CleaningStep("age", indicator=True)],
    "should have a column, and of the rest": [{"column": "age", "colour": 1}],
}


@pytest.mark.parametrize("words", STEPS_REFUSED)
def test_steps_that_do_not_fit_the_table_are_refused(words):
    frame, steps = table().whole, STEPS_REFUSED[words]
    if "already" in words:
        frame["age is missing"] = 1
    with refused(words):
        made(frame, "num", cleaning=steps)


def test_codes_are_suggested_and_never_applied():
    data = table()
    found = {one.step.column: one for one in suggest_codes(data)}
    codes = {name: found[name].step.codes for name in found}
    assert codes == {"chol": ("-9",), "thal": ("unknown",)}
    assert data.frame["chol"].min() == -9
    words = "chol: -9 in 20 of 60 rows looks like a code for a missing value."
    chol = found["chol"]
    assert chol.reason == words
    steps = with_step((CleaningStep("chol", unit="mg/dl"),), chol.step)
    assert [s.step.column for s in suggest_codes(cleaned(steps))] == ["thal"]


CODES = {"999": [120, 80, 130, 999], "-1": [*range(12), -1], "-99": [0.5, 2.5, -99]}
CODES["-77"] = [1, 2, 5, -77]
CODES |= {mark: ["a", "b", mark] for mark in ("?", " N/A")}
NO_CODES = ([-1, 1, -1, 1], [-1, 0, 1], [97, 98, 99], [-9, -3, 2], [0, 9, 99, 60])


def suggested(values, **roles):
    """What is proposed for a column of these values, five times, beside a target."""
    columns = {"a": values * 5, "y": [0, 1, 1, 0, 1] * len(values)}
    return suggest_codes(made(columns, roles=roles))


@pytest.mark.parametrize("code", CODES)
def test_what_looks_like_a_code(code):
    (found,) = suggested(CODES[code], a="feature")
    assert found.step.codes == (code,)


@pytest.mark.parametrize("values", NO_CODES)
def test_what_is_no_code(values):
    assert suggested(values) == []


def test_a_column_of_nothing_but_numbers_is_left_as_numbers():
    values = ["unknown" if i % 3 == 0 else str(i) for i in range(60)]
    data = made({"a": values, "y": [0, 1] * 30})
    assert data.kinds["a"] == "category"
    (found,) = suggest_codes(data)
    assert found.as_number
    number = data.with_roles(kinds={"a": "number"}, cleaning=[found.step])
    assert not said(number, "text instead of numbers")


def test_a_step_of_a_column_is_replaced_or_taken_away():
    steps = with_step(STEPS, CleaningStep("chol", low=100))
    assert step_of(steps, "chol") == CleaningStep("chol", low=100)
    assert with_step(steps, CleaningStep("chol")) == tuple(
        one for one in STEPS if one.column != "chol"
    )
    assert step_of(steps, "sex").is_empty


def test_why_a_column_is_not_used_is_said_until_it_is_used():
    data = made(table().whole.assign(id=[f"n{i}" for i in range(N)]), "num")
    words = "Column 'id' is not used: it looks like an identifier."
    assert words in data.notices
    assert words in data.with_roles({"sex": "ignore"}).notices
    assert words in data.with_roles(cleaning=STEPS).notices
    used = data.with_roles({"id": "group"})
    assert words not in used.notices
    assert words in used.with_roles({"id": "ignore"}).notices


words = st.sampled_from(["-9", "-9.0", "unknown", "6", "7", "missing", " 6", "", "x"])
values = words | st.integers(-20, 120).map(str) | st.none()
full = values.filter(bool)


@settings(deadline=None, max_examples=200)
@given(
    cells=st.lists(values, min_size=1, max_size=12),
    codes=st.lists(full, max_size=2),
    levels=st.dictionaries(full, full, max_size=3),
    bounds=st.tuples(st.none() | st.integers(-9, 50), st.none() | st.integers(50, 99)),
    more=st.sampled_from([{}, {"impute": "own level"}, {"indicator": True}]),
)
def test_a_second_run_changes_nothing(cells, codes, levels, bounds, more):
    try:
        step = CleaningStep("c", tuple(codes), tuple(levels.items()), *bounds, **more)
    except DatasetError:
        return
    frame = pd.DataFrame({"c": pd.Series(cells, dtype="str")})
    once = apply_steps(frame, [step])
    pd.testing.assert_frame_equal(apply_steps(once, [step]), once)
    for i in range(len(cells)):
        row = apply_steps(frame.iloc[[i]], [step])
        pd.testing.assert_frame_equal(row, once.iloc[[i]], check_dtype=False)


@pytest.mark.parametrize(
    ("cells", "numbers", "unit"),
    [
        (["12%", "13.5 %", "9%"], [12.0, 13.5, 9.0], "%"),
        (["$1", "$2.5", "$1,200"], [1.0, 2.5, 1200.0], "$"),
        (["1,200", "3,400", "12,000"], [1200, 3400, 12000], ""),
        (["1 200", "3\u202f400,5", "12\u00a0000"], [1200.0, 3400.5, 12000.0], ""),
        (["104 mmHg", "98 mmHg", "?"], [104.0, 98.0, np.nan], "mmHg"),
        (["5 mg/dl", "<0.1 mg/dl", "7"], [5.0, 0.1, 7.0], "mg/dl"),
        (["21.5°C", "-3 °C", "7°C"], [21.5, -3.0, 7.0], "°C"),
        (["EUR 1,200.50", "EUR 3", "EUR 7"], [1200.5, 3.0, 7.0], "EUR"),
    ],
)
def test_numbers_in_other_clothes_are_proposed_and_read_with_their_unit(
    cells, numbers, unit
):
    frame = pd.DataFrame({"x": cells * 4, "y": list("pqp") * 4})
    dataset = made(frame, private=True)
    assert dataset.roles["x"] == "feature" and dataset.kinds["x"] == "category"
    suggestion = next(s for s in suggest_codes(dataset) if s.step.column == "x")
    assert suggestion.step.unit == unit
    step = suggestion.step
    if "?" in cells:
        step = replace(step, codes=("?",))
    cleaned = dataset.with_roles(kinds={"x": "number"}, cleaning=(step,))
    np.testing.assert_array_equal(cleaned.frame["x"][:3], numbers)
    assert "numbers are read out of texts" in " ".join(describe_steps([step], frame))
    assert steps_from_json(steps_to_json([step])) == (step,)


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%d/%m/%Y %H:%M", "%H:%M"),
        *("%H:%M:%S.%f", "%I:%M %p", "%m/%d/%Y %I:%M %p", "%Y-%m-%dT%H:%M+02:00"),
    ],
)
def test_dates_are_days_weekdays_or_hours_and_never_silently_a_category(form):
    start = pd.Timestamp(2000, 1, 1)
    minutes = np.random.default_rng(0).integers(0, 12_000_000, 60)
    texts = (start + pd.to_timedelta(minutes, "min")).strftime(form)
    rows = "".join(f"{t},{i % 7},{'pq'[i % 2]}\n" for i, t in enumerate(texts))
    data = read_table(f"when,n,y\n{rows}".encode(), "t.csv")
    assert data.roles["when"] == "ignore"
    suggestions = [one for one in suggest_codes(data) if one.step.column == "when"]
    uses = {"hours"} if form[:2] in ("%H", "%I") else {"days", "weekday"}
    assert {one.step.date_use for one in suggestions} == uses
    read = [datetime.strptime(text, form) for text in texts]
    wanted = {
        "days": [(moment - start) / timedelta(days=1) for moment in read],
        "hours": [moment.hour + moment.minute / 60 for moment in read],
        "weekday": [moment.strftime("%A") for moment in read],
    }
    for one in suggestions:
        kinds = {"when": "number" if one.as_number else "category"}
        steps = [one.step]
        cleaned = data.with_roles({"when": "feature"}, kinds=kinds, cleaning=steps)
        got = cleaned.frame["when"]
        expected = pd.Series(wanted[one.step.date_use], name="when")
        pd.testing.assert_series_equal(got, expected, check_dtype=False, rtol=1e-7)
        again = apply_steps(apply_steps(data.whole, steps), steps)
        assert again["when"].tolist() == got.tolist()
        if form.startswith("%d/%m/%Y"):  # a workbook of the same dates
            frame = pd.DataFrame({"when": pd.Series(read, dtype="str")})
            assert apply_steps(frame, steps)["when"].tolist() == got.tolist()
        assert steps_from_json(steps_to_json(steps)) == tuple(steps)


def test_a_duration_of_days_is_read_in_hours():
    rows = "".join(f"{20 + i}:{10 + i}:30,{i % 7},{'pq'[i % 2]}\n" for i in range(40))
    (one,) = suggest_codes(read_table(f"took,n,y\n{rows}".encode(), "t.csv"))
    hours = apply_steps(pd.DataFrame({"took": ["52:30:36"]}), [one.step])["took"]
    np.testing.assert_allclose(hours, [52.51])


#: Two cells that take turns, and why they are not read as numbers.
NOT_NUMBERS = [
    ("{} mg", "{} mmol", "they have several units, 'mg', 'mmol'; write them in one."),
    ("{} mm", "{} k", "they have several units, 'k', 'mm'; write them in one."),
    ("{}%", "0.{}", "some are in % and some are not; write them in one way."),
]


@pytest.mark.parametrize(("even", "odd", "words"), NOT_NUMBERS)
def test_numbers_that_would_come_out_wrong_are_not_offered_but_it_is_said_why(
    even, odd, words
):
    cells = [(odd if i % 2 else even).format(i) for i in range(40)]
    rows = "".join(f"{cell};{'pq'[i % 3 > 1]}\n" for i, cell in enumerate(cells))
    data = read_table(f"x;y\n{rows}".encode(), "t.csv")
    (one,) = suggest_codes(data)
    assert one.step.is_empty and not one.as_number
    assert "are not read as numbers" in one.reason and words in one.reason
    assert data.whole["x"].tolist() == cells


#: A cell with a counting number, and how each of two offers reads the cells.
EITHER = [
    (
        "1{:02},037",
        {"A comma parts thousands": 1e3, "A comma stands before decimals": 1},
    ),
    ("$1,{:03}", {"A comma parts thousands": 1e3, "A comma stands before decimals": 1}),
    ("{}.5K", {"K stands for × 1,000": 1e3, "K is a unit": 1}),
    ("{}.5 M", {"M stands for × 1,000,000": 1e6, "M is a unit": 1}),
]


@pytest.mark.parametrize(("cell", "factors"), EITHER)
def test_where_a_column_may_be_read_in_two_ways_both_are_offered(cell, factors):
    cells = [cell.format(i) for i in range(40)]
    rows = "".join(f"{cell};{'pq'[i % 3 > 1]}\n" for i, cell in enumerate(cells))
    data = read_table(f"x;y\n{rows}".encode(), "t.csv")
    assert data.whole["x"].tolist() == cells  # nothing is computed before the choice
    offers = suggest_codes(data)
    assert [one.action for one in offers] == [*factors]
    plain = [float(cell.strip("$ KM").replace(",", ".")) for cell in cells]
    for one in offers:
        numbers = as_numbers(apply_steps(data.whole, [one.step])["x"])
        np.testing.assert_allclose(numbers, np.multiply(plain, factors[one.action]))
        assert steps_from_json(steps_to_json([one.step])) == (one.step,)


def test_two_numbers_with_a_slash_are_a_fraction_or_two_columns():
    rows = "".join(f"{110 + i}/{i % 9},{i % 7},{'pq'[i % 2]}\n" for i in range(40))
    data = read_table(f"bp,n,y\n{rows}".encode(), "t.csv")
    offers = {one.action: one.step for one in suggest_codes(data)}
    assert [*offers] == ["Read as fractions", "Read as two numbers"]
    quotient = apply_steps(data.whole, [offers["Read as fractions"]])["bp"]
    first, second = np.arange(110, 150), np.arange(40) % 9
    expected = np.divide(first, second, np.full(40, np.nan), where=second > 0)
    np.testing.assert_allclose(as_numbers(quotient), expected)
    steps = [offers["Read as two numbers"]]
    kinds, roles = {"bp": "number"}, {"bp": "feature"}
    both = data.with_roles(roles, kinds=kinds, cleaning=steps)
    assert both.feature_columns == ["bp", "n", "bp second"]
    assert both.frame["bp second"].tolist() == second.tolist()
    assert apply_steps(both.frame, steps)["bp second"].tolist() == second.tolist()
    new = pd.DataFrame({"bp": ["99/8", None, "7"], "n": 1})
    inputs = prepare(both, np.arange(40)).inputs
    assert "bp second" in {one.name for one in inputs}
    cleaned = apply_steps(new, steps)
    np.testing.assert_array_equal(as_numbers(cleaned["bp second"]), [8, np.nan, np.nan])


def test_the_effect_of_a_step_shows_its_smallest_largest_and_strangest_cells():
    cells = [*(f"{i} mg" for i in range(30)), "1,200 mg*", "-3 mg", "high", None]
    column = pd.Series(cells, name="x")
    step = CleaningStep("x", numbers=True, unit="mg", cell_unit="mg")
    effect = effect_of(column, step, as_number=True)
    assert len(effect.examples) == 6 and effect.n_missing == 1
    examples = dict(effect.examples)
    assert examples["-3 mg"] == "-3" and examples["1,200 mg*"] == "1200"
    assert examples["high"] == "missing"
    codes = CleaningStep("x", codes=("0 mg", "high"))
    effect = effect_of(column, codes)
    assert effect.examples[:2] == [("0 mg", "missing"), ("high", "missing")]
    assert effect.n_missing == 2


def test_what_the_visitor_says_about_commas_is_obeyed():
    rows = "".join(f"1{i:02},037;{'pq'[i % 3 > 1]}\n" for i in range(40))
    text = f"x;y\n{rows}".encode()
    (one,) = suggest_codes(read_table(text, "t.csv", decimal="."))
    assert apply_steps(read_frame(text, "t.csv")[0], [one.step])["x"][1] == 101_037
    assert read_frame(text, "t.csv", decimal=",")[0]["x"][1] == 101.037


def test_other_rows_are_read_in_the_unit_and_the_way_of_the_first_ones():
    step = CleaningStep("x", numbers=True, unit="kilo", cell_unit="kg", decimal=",")
    cells = ["1,5 kg", "1.234 kg", "1,234", "7 g", "1.5 kg", "7 kg*", "?"]
    frame = pd.DataFrame({"x": cells})
    column = apply_steps(frame, [step])["x"]
    numbers = [1.5, 1234, 1.234, 0.007, 1.5, 7, np.nan]  # 1.5 is no thousand
    np.testing.assert_array_equal(as_numbers(column), numbers)
    again = apply_steps(column.to_frame(), [step])["x"]
    np.testing.assert_array_equal(as_numbers(again), numbers)
    with refused("decimal=';' should be one of '.', ',', ''"):
        replace(step, decimal=";")


@pytest.mark.parametrize("mark", ["{}*", "<{}", "{},020", "{}p", "high"])
@pytest.mark.parametrize("every", [5, 40])
def test_no_advice_loses_more_than_a_twentieth_of_the_values(mark, every):
    cells = [mark.format(i) if i % every == 1 else str(i) for i in range(1, 201)]
    rows = "".join(f'"{cell}",{"pq"[i % 3 > 1]}\n' for i, cell in enumerate(cells))
    data = read_table(f"x,y\n{rows}".encode(), "t.csv")
    is_lost = data.kinds["x"] == "number" or said(data, "to treat text as missing")
    assert is_lost == (every == 40)
    for one in suggest_codes(data):
        column = apply_steps(data.whole, [one.step])["x"]
        assert np.isnan(as_numbers(column)).mean() <= 0.05 or one.step.is_empty
        assert mark != "{}*" or column.tolist() == [*range(1, 201)]


def test_dates_that_can_be_read_in_two_ways_are_proposed_in_both():
    rows = "".join(f"0{i % 9 + 1}/0{i % 5 + 2}/2020,{i % 4}\n" for i in range(40))
    data = read_table(f"when,y\n{rows}".encode(), "t.csv")
    reasons = {one.reason.split(";")[0] for one in suggest_codes(data)}
    days = "2 January", "1 February"
    assert reasons == {f"when: '01/02/2020' is {day} 2020" for day in days}
