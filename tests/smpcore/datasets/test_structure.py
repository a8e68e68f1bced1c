"""What the values of a table say about its rows, whatever its columns are called."""

import re

import numpy as np
import pandas as pd
import pytest

from smpcore.datasets import (
    CleaningStep,
    column_unit,
    find_duplicates,
    find_structure,
    leaky_features,
    load_dataset,
    make_dataset,
    prepare,
    split,
    with_unit,
)
from smpcore.datasets.structure import repeated_keys, unit_of
from tests.smpcore.datasets.cases import made

RNG = np.random.default_rng(0)


def dataset(n=200, **columns):
    y = np.resize(["p", "q", "r"], n)
    columns = {"noise": RNG.normal(size=n), **columns}
    return made({**columns, "y": y}, roles=dict.fromkeys(columns, "feature"))


def test_rows_that_also_stand_in_training_are_counted():
    frame = pd.DataFrame({"a": RNG.normal(size=100), "b": None, "y": ["p", "q"] * 50})
    frame.loc[::2, "b"] = "u"
    data = made(frame)
    division = split(data)
    assert find_duplicates(data, division) == 0
    train, validation, test = division.train, division.validation, division.test
    for row, of in ((test[0], train[0]), (test[1], train[1]), (test[2], train[2]),
                    (validation[0], train[5]), (test[3], test[4])):  # fmt: skip
        frame.iloc[row, :2] = frame.iloc[of, :2]
    assert find_duplicates(made(frame), division) == 4


def test_without_features_nothing_is_a_duplicate():
    data = load_dataset("moons").with_roles({"x1": "ignore", "x2": "ignore"})
    assert find_duplicates(data, split(data)) == 0
    assert leaky_features(data, split(data)) == []


Y = np.resize(["p", "q", "r"], 200)
CODE = np.resize([0.0, 1.0, 2.0], 200)
FLIPPED = np.where(np.arange(200) % 150 == 7, "q", Y)
LEAKS = {
    "a code": CODE,
    "a code with noise": CODE + RNG.uniform(-0.4, 0.4, 200),
    "a code with holes": np.where(np.arange(200) % 3 == 0, np.nan, CODE),
    "a word": np.char.add("w", Y),
    "a word with an error": np.char.add("w", FLIPPED),
}


def leaks(data):
    return leaky_features(data, split(data))


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_a_leak_is_named(leak):
    ((name, share),) = leaks(dataset(leak=leak))
    assert name == "leak"
    assert 0.99 <= share <= 1


HARMLESS = {
    "names": [f"n{i}" for i in range(200)],
    "numbers": np.arange(200.0),
    "often": np.where(np.arange(200) % 6 == 0, RNG.permutation(CODE), CODE),
    "constant": np.ones(200),
    "empty": np.full(200, np.nan),
}


@pytest.mark.parametrize("column", HARMLESS.values(), ids=HARMLESS)
def test_what_is_no_leak_is_not_named(column):
    assert leaks(dataset(column=column)) == []


def test_a_feature_far_better_than_the_next_is_named():
    """Patients whose treatment follows from the diagnosis; a third come twice."""
    random, n = np.random.default_rng(1), 400
    sick = random.random(n) < 0.46
    treated = np.where(random.random(n) < 0.06, ~sick, sick)
    columns = {
        "Patient ID": [f"p{i}" for i in np.arange(n) // 1.5],
        "pulse": 70 + 15 * sick + 12 * random.normal(size=n),
        "age": 60 + 9 * random.normal(size=n),
        "treatment after diagnosis": np.where(treated, "PCI", "none"),
        "y": np.where(sick, "sick", "healthy"),
    }
    ((name, share),) = leaks(made(columns))
    assert name == "treatment after diagnosis"
    assert 0.9 < share < 0.97


def test_a_rare_class_does_not_make_every_feature_telling():
    y = np.where(np.arange(1000) % 200 == 0, "rare", "usual")
    data = made({"a": RNG.normal(size=1000), "b": y == "rare", "y": y})
    assert leaks(data) == [("b", 1.0)]


def test_the_highest_share_stands_first():
    data = dataset(second=LEAKS["a word with an error"], first=CODE)
    assert [name for name, _ in leaks(data)] == ["first", "second"]


def test_a_regression_target_in_other_units_is_named():
    y = RNG.normal(size=100)
    columns = {"pounds": 2.2 * y + 1, "noise": RNG.normal(size=100)}
    data = made({**columns, "word": ["u"] * 100, "y": y}, task="regression")
    assert [name for name, _ in leaks(data)] == ["pounds"]


def test_a_strong_cause_of_a_number_is_not_named():
    a, b, noise = RNG.normal(size=(3, 400))
    y = 2 * a + 0.3 * b + 0.3 * noise
    assert leaks(made({"a": a, "b": b, "y": y}, task="regression")) == []


def test_few_rows_and_one_class_tell_nothing():
    few = make_dataset(pd.DataFrame({"a": [1.0, 2, 3], "y": ["p", "q", "p"]}), "t")
    assert leaks(few) == []
    assert leaks(made({"a": np.arange(50.0) * 2, "y": ["p"] * 50})) == []


@pytest.mark.parametrize("key", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_bundled_sets_have_neither_leaks_nor_keys_nor_dates(key):
    data = load_dataset(key)
    assert leaks(data) == []
    assert {p.action for p in find_structure(data, split(data))} <= {"Take these units"}


def proposals(columns):
    data = made(columns)
    return data, {p.action: p for p in find_structure(data, split(data))}


def visits(seed, key, effect=1.2, n=60):
    """Two to five visits of each patient, whose values differ by patient."""
    random = np.random.default_rng(seed)
    who = np.repeat(random.permutation(n), random.integers(2, 6, n))
    of_patient = random.normal(size=(n, 2))
    columns = {
        "age": random.integers(20, 80, who.size),
        key: who + 1000 if seed % 3 else [f"Fall {number:02d}" for number in who],
        "a": effect * of_patient[who, 0] + random.normal(size=who.size),
        "b": random.normal(size=who.size),
        "y": random.choice(["ill", "well"], who.size),
    }
    if seed % 2:
        columns["y"] = np.where(of_patient[who, 1] > 0, "ill", "well")
    return pd.DataFrame(columns).sample(frac=1, random_state=seed)


@pytest.mark.parametrize("key", ["Patient", "Pat_Nr", "Пациент", "x1"])
@pytest.mark.parametrize("seed", range(4))
def test_a_repeated_key_is_a_group_with_the_share_of_rows_that_leak(seed, key):
    frame = visits(seed, key)
    data, proposed = proposals(frame)
    proposal = proposed.pop(f"Keep the rows of one {key} together")
    parts, who = split(data), frame[key].to_numpy()
    others = np.r_[parts.validation, parts.test]
    n_known = sum(value in {*who[parts.train]} for value in who[others])
    words = f"{n_known} of {others.size} validation and test rows"
    assert proposal.words.startswith(f"{words} ({n_known / others.size:.0%}) have a")
    assert not any(action.startswith("Keep") for action in proposed)
    grouped = data.with_roles(proposal.roles)
    told = [p.words for p in find_structure(grouped, split(grouped)) if not p.action]
    cases = [words for words in told if "'y'" in words or "y. There are 60" in words]
    assert bool(cases) == bool(seed % 2), "the label is constant within patients"


def test_keys_that_say_nothing_are_known_by_how_they_are_written():
    random = np.random.default_rng(0)
    columns = {
        "block": np.repeat(random.permutation(25), 4),
        "even": random.permutation(np.repeat(np.arange(25) * 7, 4)),
        "code": random.choice([f"Q-{i}" for i in range(20)], 100),
        "hour": np.resize(np.arange(24), 100),
        "word": random.choice([f"{c}{d}" for c in "abcde" for d in "xyz"], 100),
        "pulse": random.integers(50, 90, 100),
    }
    frame = pd.DataFrame(columns)
    assert repeated_keys(frame, frame) == ["block", "even", "code"]


@pytest.mark.parametrize("seed", range(6))
def test_a_measurement_with_many_equal_values_is_no_key(seed):
    """Neighbouring ages are as alike as equal ones; many zeros are one value."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, 300)
    smoked = np.where(random.random(300) < 0.4, 0, random.integers(1, 40, 300))
    columns = {
        "age": age,
        "smoked": smoked,
        "years": np.where(smoked > 0, random.integers(1, 40, 300), 0),
        "group": pd.cut(age, 4).astype(str),
        "height": 0.1 * age + random.normal(size=300),
        "squared": age**2.0 + 0.5,
    }
    frame = pd.DataFrame(columns)
    assert repeated_keys(frame, frame) == []


def test_a_column_that_only_one_class_has_is_recorded_after_the_outcome():
    random = np.random.default_rng(0)
    dead = random.random(300) < 0.4
    known = dead & (random.random(300) < 0.6)
    columns = {
        "причина": np.where(known, random.choice(["x", "y"], 300), None),
        "t": np.where(known, random.normal(size=300), np.nan),
        "gaps": np.where(random.random(300) < 0.8, random.normal(size=300), np.nan),
        "few": np.where(np.cumsum(dead) * dead % 50 == 7, 1.5, np.nan),
        "y": np.where(dead, "dead", "alive"),
    }
    data, proposed = proposals(columns)
    assert set(proposed) == {f"Known only afterwards: {n}" for n in ("причина", "t")}
    n_known = int(known[split(data).train].sum())
    words = f"has a value in {n_known} training rows, all of the class dead"
    proposal = proposed["Known only afterwards: t"]
    assert words in proposal.words and proposal.roles == {"t": "known afterwards"}


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d %H:%M"])
def test_dates_that_order_the_rows_offer_a_split_by_time(form):
    random = np.random.default_rng(0)
    days = pd.date_range("2021-01-29", periods=90).strftime(form)
    frame = pd.DataFrame({"Tag": random.permutation(days), "a": random.normal(size=90)})
    frame["y"] = random.choice(["p", "q"], 90)
    data, proposed = proposals(frame)
    proposal = proposed["Split by time: Tag"]
    assert f"from {days[0]} to {days[-1]}" in proposal.words
    timed = data.with_roles(proposal.roles)
    parts = split(timed)
    assert timed.times[parts.train].max() < timed.times[parts.test].min()
    assert not any("Split" in p.action for p in find_structure(timed, parts))


UNITS = {
    **{"weight (kg)": "kg", "Temp [°C]": "°C", "height_cm": "cm", "share (%)": "%"},
    **{"glucose_mg/dl": "mg/dl", "BMI (kg/m^2)": "kg/m^2", "age years": "years"},
    **{"HbA1c (mmol/mol)": "mmol/mol", "speed.km/h": "km/h"},
    **dict.fromkeys("x_min class_a farm V1 T_max m".split(), ""),
    **{"a (1)": "", "p (no)": ""},
}


@pytest.mark.parametrize(("name", "unit"), UNITS.items())
def test_a_unit_at_the_end_of_a_name(name, unit):
    assert unit_of(name) == unit


def test_units_of_names_become_cleaning_steps():
    random = np.random.default_rng(0)
    names = ["weight (kg)", "height_cm", "kind (g)", "y"]
    frame = pd.DataFrame(random.normal(size=(40, 4)), columns=names)
    frame["kind (g)"] = random.choice(["u", "v"], 40)
    data, proposed = proposals(frame)
    data = data.with_roles(cleaning=proposed["Take these units"].cleaning)
    units = [(step.column, step.unit) for step in data.cleaning]
    assert units == [("weight (kg)", "kg"), ("height_cm", "cm")]
    assert find_structure(data, split(data)) == []


def test_many_features_that_tell_the_target_are_one_proposal():
    random, y = np.random.default_rng(0), np.arange(80) % 2
    frame = pd.DataFrame(10 * y[:, None] + random.normal(size=(80, 200)))
    data = make_dataset(frame.assign(noise=random.normal(size=80), y=y), "t")
    (one,) = [p for p in find_structure(data, split(data)) if "leakage" in p.words]
    assert one.words.startswith("200 columns tell the target almost alone: 0, 1,")
    assert {*one.roles.values()} == {"known afterwards"} and len(one.roles) == 200


def leaked(**columns):
    """What is said of the columns of a table with a rare outcome."""
    random, n = np.random.default_rng(1), 600
    rare = np.arange(n) % 25 == 3
    frame = pd.DataFrame({"a": random.normal(size=n), "y": np.where(rare, "yes", "no")})
    frame = frame.assign(**{name: make(rare, random) for name, make in columns.items()})
    _, proposed = proposals(frame)
    return proposed


def test_a_column_that_orders_the_classes_or_a_level_of_one_class_is_a_leak():
    """Of a rare class 99 % of the rows are told by saying nothing."""
    n = 600
    proposed = leaked(
        score=lambda rare, random: random.uniform(0.985 * rare, 1.0),
        weak=lambda rare, random: rare + random.normal(size=n),
        left=lambda rare, random: np.where(
            rare & (random.random(n) < 0.8), "died", random.choice(["home", "ward"], n)
        ),
        ward=lambda rare, random: random.choice(["A", "B"], n),
    )
    proposed = {a: p for a, p in proposed.items() if a.startswith("Known only")}
    assert set(proposed) == {f"Known only afterwards: {n}" for n in ("score", "left")}
    assert "order (AUC 0.99" in proposed["Known only afterwards: score"].words
    words = proposed["Known only afterwards: left"].words
    assert re.match(r"left is died in \d+ training rows, all of the class yes,", words)
    assert "Possible target leakage" in words


def test_what_is_known_afterwards_is_no_input_and_need_not_be_there():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"a": random.normal(size=80), "late": random.normal(size=80)})
    frame["y"] = np.resize(["p", "q"], 80)
    data = made(frame, roles={"late": "known afterwards"})
    assert data.feature_columns == ["a"]
    tested = data.with_test(frame[["a", "y"]].iloc[:9])
    assert tested.frame["late"].isna().sum() == 9


@pytest.mark.parametrize(("name", "unit"), [("distance [km]", "km"), ("b_cm", "cm")])
def test_a_unit_that_stands_in_a_name_stands_nowhere_else(name, unit):
    """Neither behind its values nor on an axis; another unit does."""
    frame = pd.DataFrame({name: np.arange(40.0), "y": ["a", "b"] * 20})
    for taken, beside, axis in ((unit, "", name), ("mm", "mm", f"{name} [mm]")):
        steps = [CleaningStep(name, unit=taken)]
        of = make_dataset(frame, "t", roles={name: "feature"}, cleaning=steps)
        (column,) = prepare(of, np.arange(40)).inputs
        assert (column.unit, column.unit_beside) == (taken, beside)
        assert column_unit(of, name) == taken
        assert with_unit(of, name) == axis
