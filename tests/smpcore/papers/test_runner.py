"""The runner of a declared experiment: divisions, means, what is kept."""

from dataclasses import replace

from smpcore import load_dataset
from smpcore.papers.experiment import Case, Outcome, Trial
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


def test_rows_of_the_same_content_are_not_measured_again_for_another_model():
    experiment, calls = declared()
    again = replace(MOONS, frame=MOONS.frame.copy())
    fewer = replace(MOONS, frame=MOONS.frame.iloc[:30], origin=None)
    for dataset in (MOONS, again, fewer):
        assert Case(experiment, FIRST, dataset).of("two").measures["value"] == 2.0
    assert len(calls) == 2


def test_a_model_may_ask_for_another_of_the_same_division():
    def measure(case):
        if case.trial.model == "two":
            return Outcome({"value": 10 * case.of("one").measures["value"]})
        return Outcome({"value": case.trial.repetition})

    experiment, _ = declared(repetitions=1, n_halves=3)
    outcome = replace(experiment, measure=measure).run(Trial("moons", "two", 0), MOONS)
    assert outcome.measures["value"] == 10.0
    assert outcome.measures["value, standard deviation"] == 10.0
