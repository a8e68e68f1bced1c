"""The runner of a declared experiment: divisions, means, claims, what is kept."""

import json
from dataclasses import replace
from operator import gt

import numpy as np
import pytest

from smpcore import load_dataset
from smpcore.papers import compare
from smpcore.papers.experiment import CLAIMS, Claim, Outcome, Trial, holding
from smpcore.papers.trial_files import Measured
from tests.smpcore.papers.toy import TOY

MOONS = load_dataset("moons", n_samples=40)
FIRST = Trial("moons", "one", 0)


def declared(**changes):
    """An experiment of its own `measure`, and the trials that were measured."""
    calls = []

    def measure(case):
        calls.append(case.trial)
        value = case.declared * (1.0 + case.trial.repetition)
        return Outcome(
            {"value": value, "rows": len(case.rows.y)}, {"along": {3: value}}
        )

    return replace(TOY, measure=measure, **changes), calls


ABOVE = {"two is above one": Claim("two", gt, ("one",), "value")}


def test_a_trial_of_several_divisions_is_their_mean():
    def summary(outcome):
        return {"twice": 2 * outcome.measures["value"]}

    experiment, calls = declared(repetitions=1, n_halves=3, summary=summary)
    outcome = experiment.run(FIRST, MOONS)
    assert outcome.measures == {
        "value": 2.0,
        "rows": 20.0,
        "value, standard deviation": 1.0,
        "twice": 4.0,
    }
    assert outcome.curves == {"along": {3: 2.0}}
    assert {one.repetition for one in calls} == {0, 1, 2}


def test_claims_are_a_model_of_their_own_after_the_others():
    experiment, _ = declared(claims=ABOVE)
    models = [one.model for one in experiment.trials()[:3]]
    assert models == ["one", "two", CLAIMS]
    assert experiment.printed[-1] == holding(["gone"], [CLAIMS], *ABOVE)[0]
    assert replace(experiment, claimed={}).printed == TOY.reported
    plain, _ = declared()
    assert CLAIMS not in plain.all_models


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (Claim("two", gt, ("one",), "value"), True),
        (Claim("one", gt, ("two",), "value"), False),
        (Claim("two", gt, ("one",), "value", factor=2.0), False),
        (Claim("two", gt, ("one",), "value", factor=2.0, more=-0.1), True),
        (Claim("two", gt, ("one", "two"), "value"), False),
    ],
)
def test_a_claim_is_about_each_rival(claim, holds):
    experiment, _ = declared(claims={"it": claim, "never said": lambda case: None})
    outcome = experiment.run(Trial("moons", CLAIMS, 0), MOONS)
    assert outcome.measures == {"it": holds}


def test_what_claims_compare():
    def first(case):
        return case.of("one").measures["value"]

    trial, values = Trial("moons", CLAIMS, 2), {}
    for claims_of in ("repetition", "means", "means, once"):
        experiment, _ = declared(claims={"it": first}, claims_of=claims_of)
        values[claims_of] = dict(experiment.run(trial, MOONS).measures)
    assert values == {
        "repetition": {"it": 3.0},
        "means": {"it": 2.0},
        "means, once": {},
    }


def test_rows_of_the_same_content_are_not_measured_again():
    experiment, calls = declared(claims=ABOVE)
    again = replace(MOONS, frame=MOONS.frame.copy())
    fewer = replace(MOONS, frame=MOONS.frame.iloc[:30], origin=None)
    for dataset in (MOONS, again, fewer):
        experiment.run(FIRST, dataset)
        experiment.run(FIRST._replace(model=CLAIMS), dataset)
    two = FIRST._replace(model="two")
    assert calls == [FIRST, two, FIRST, two]


def test_a_model_may_ask_for_another_of_the_same_division():
    def measure(case):
        if case.trial.model == "two":
            return Outcome({"value": 10 * case.of("one").measures["value"]})
        return Outcome({"value": case.trial.repetition})

    experiment, _ = declared(repetitions=1, n_halves=3)
    outcome = replace(experiment, measure=measure).run(Trial("moons", "two", 0), MOONS)
    assert outcome.measures["value"] == 10.0
    assert outcome.measures["value, standard deviation"] == 10.0


def test_a_claim_that_holds_is_written_as_1_and_reproduces():
    experiment, _ = declared(claims=ABOVE, reported=(), tolerance=0.0)
    outcome = experiment.run(Trial("moons", CLAIMS, 0), MOONS)
    held = replace(outcome, measures={name: np.bool_(True) for name in ABOVE})
    for one in (outcome, held):
        measured = Measured(FIRST._replace(model=CLAIMS), one, 0.1, "")
        written = json.dumps(measured.record()["measures"])
        assert written == '{"two is above one": 1.0}'
        table = compare(experiment, [measured])
        row = table[(table.model == CLAIMS) & (table.data == "moons")].iloc[0]
        assert (row.reported, row.measured, row.status) == (1.0, 1.0, "reproduced")
