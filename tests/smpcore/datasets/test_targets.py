"""Which column is the target: by name, values, gaps and place; what is asked."""

import numpy as np
import pandas as pd
import pytest

from smpcore.datasets import late_columns, make_dataset
from tests.smpcore.datasets.cases import said

N = 120


def columns(seed=0):
    """Columns that tables are drawn from: none is called a target."""
    rng = np.random.default_rng([56, seed])
    gaps = np.where(rng.random(N) < 0.6, None, rng.choice(["seen", "new"], N))
    return {
        "length": rng.normal(50, 10, N).round(2),
        "blood pressure": rng.normal(120, 15, N).round(1),
        "colour": rng.choice(["red", "green", "blue"], N),
        "note": [f"{rng.integers(1000)} of {i}" for i in range(N)],
        "siblings": rng.integers(0, 6, N),
        "row id": rng.permutation(N),
        "remark": gaps,
        "started": [f"2024-0{1 + i % 9}-1{i % 7}" for i in range(N)],
    }


def table(named, places, seed):
    """Some columns in an order drawn anew, with others put in at their places."""
    others, rng = columns(seed), np.random.default_rng([57, seed])
    order = [*rng.permutation(list(others))]
    for name, place in zip(named, places, strict=True):
        order.insert(place if place >= 0 else len(order), name)
    return pd.DataFrame({name: {**others, **named}[name] for name in order})


BINARY, LEVELS = np.resize([0, 1, 1], N), np.resize(["k", "l", "m"], N)
CALLED = ["Survived", "Diagnose", "is_fraud", "HeartDisease", "Zielklasse", "Klasse"]
CALLED += ["class", "y", "Diagnóstico", "класс", "Label", "ラベル"]
CALLED += ["Outcome", "loan default", "species", "Ergebnis", "Überlebt", "diagnosis"]


@pytest.mark.parametrize("values", [BINARY, LEVELS], ids=["numbers", "words"])
@pytest.mark.parametrize("name", CALLED)
def test_a_name_of_a_target_is_known_wherever_it_stands(name, values):
    for seed, place in enumerate([0, 1, 4, -1]):
        data = make_dataset(table({name: values}, [place], seed), "t")
        assert (data.target, data.task) == (name, "classification")
        assert data.origin.targets[0].reason.startswith("named like a target")


@pytest.mark.parametrize("seed", range(20))
def test_no_target_loses_rows_or_is_an_identifier_or_a_text_unasked(seed):
    data = make_dataset(table({}, [], seed), "t")
    assert data.target not in ("remark", "row id", "note", "started")
    assert data.n_samples == N and len(data.origin.targets) == 3
    gaps = np.where(np.arange(N) % 4, BINARY, np.nan)
    data = make_dataset(table({"class": gaps}, [-1], seed), "t")
    assert data.target != "class" and data.n_samples == N
    assert said(data, "is a guess", "'class' (named like a target", "25% of the rows")
    asked = make_dataset(
        table({"class": gaps}, [-1], seed), "t", roles={"class": "target"}
    )
    assert asked.n_samples == 90 and not asked.origin.targets


AMOUNTS = ["Liegedauer (Tage)", "price", "length of stay [days]", "Umsatz", "cost_eur"]


@pytest.mark.parametrize("name", AMOUNTS)
@pytest.mark.parametrize("most", [12, 900])
def test_a_last_number_named_as_time_or_amount_is_predicted_and_asked_about(name, most):
    amounts = np.random.default_rng(most).integers(1, most, N)
    data = make_dataset(table({name: amounts}, [-1], most), "t")
    assert (data.target, data.task) == (name, "regression")
    assert said(data, "The target", "is a guess", "It may also be")
    other = data.with_roles({data.origin.targets[1].name: "target"})
    assert not said(other, "is a guess")


def test_titanic_is_about_who_survived():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "PassengerId": np.arange(1, N + 1),
            "Survived": BINARY,
            "Pclass": rng.integers(1, 4, N),
            "Name": [f"Mr. {i}" for i in range(N)],
            "Sex": rng.choice(["male", "female"], N),
            "Age": rng.integers(1, 80, N),
            "Fare": rng.uniform(5, 200, N).round(2),
            "Cabin": np.where(rng.random(N) < 0.8, None, "C85"),
            "Embarked": rng.choice(["S", "C", "Q"], N),
        }
    )
    data = make_dataset(frame, "titanic")
    assert data.target == "Survived" and not said(data, "is a guess")
    assert [one.name for one in data.origin.targets][:2] == ["Survived", "Embarked"]


def test_coordinates_are_no_target_and_a_y_beside_x_is_one():
    values = dict(zip("xyz", np.random.default_rng(0).normal(size=(3, N)), strict=True))
    frame = pd.DataFrame({**values, "price": np.arange(N) ** 1.5})
    assert make_dataset(frame, "t").target == "price"
    assert make_dataset(frame[["x", "y"]], "t").target == "y"


LATE = ["follow-up (days)", "discharge_ward", "Entlassungsart", "lab result", "futime"]
LATE += ["date of death", "length of stay", "Untersuchungsergebnis", "survivalMonths"]


@pytest.mark.parametrize("name", LATE)
def test_what_may_be_known_only_after_the_outcome_is_said(name):
    for seed, kinds in enumerate([np.arange(N) ** 1.5, LEVELS]):
        named = {"relapse": BINARY, name: kinds}
        frame = table(named, [1, 2], seed).assign(remark="")
        data = make_dataset(frame, "t", roles={"relapse": "target", name: "feature"})
        if name == "futime" and seed:  # no time without numbers
            continue
        proposal, *rest = late_columns(data)
        assert name in proposal.words and proposal.roles == {name: "known afterwards"}
        assert late_columns(data, [proposal]) == rest
        assert [p.action for p in rest] == ["Ask about time to event"] * bool(rest)
        assert not late_columns(data.with_roles(proposal.roles))
    assert not late_columns(make_dataset(table({"class": LEVELS}, [0], 1), "t"))
