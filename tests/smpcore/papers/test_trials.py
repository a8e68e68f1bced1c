"""A small trial of each model of an experiment measures what it measured before.

``python -m tests.smpcore.papers.test_trials`` writes the numbers anew, where an
experiment is meant to change. They are no figures of a paper: 90 rows of one data set.
Where one rounding turns a search, a list has what three kinds of processors give
(``OPENBLAS_CORETYPE`` SkylakeX, Haswell, Nehalem), by hand.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

from smpcore.methods import METHODS
from smpcore.papers import EXPERIMENTS, by_name
from smpcore.papers.experiment import Trial
from smpcore.papers.protocols import accuracy

PATH = Path(__file__).with_name("trials.json")
TRIALS = json.loads(PATH.read_text("utf-8"))


@cache
def small(name):
    """The experiment with one division of few rows, and these rows."""
    whole = by_name(EXPERIMENTS, name)
    made = {key: source.load() for key, source in whole.data.items() if source.make}
    data = min(made, key=lambda key: made[key].frame.size)
    rows = np.random.default_rng(0).permutation(made[data].n_samples)[:90]
    frame = made[data].frame.iloc[np.sort(rows)].reset_index(drop=True)
    experiment = replace(whole, n_halves=1, repetitions=min(whole.repetitions, 2))
    return experiment, data, replace(made[data], frame=frame, origin=None)


@cache
def outcome_of(name, model):
    experiment, data, dataset = small(name)
    return experiment.run(Trial(data, model, 0), dataset)


def numbers(name, model):
    """All that a trial measures, by name and place."""
    experiment, outcome = small(name)[0], outcome_of(name, model)
    every = {measure: float(x) for measure, x in outcome.measures.items()}
    for curve, points in outcome.curves.items():
        every |= {f"{curve} at {float(at):g}": float(x) for at, x in points.items()}
    values = {key: str(value) for key, value in outcome.values.items()}
    return {
        key: float(f"{x:.5g}")
        for key, x in every.items()
        if not key.startswith(experiment.elsewhere)
    } | values


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIALS)
@pytest.mark.filterwarnings("ignore")
def test_a_small_trial_measures_what_it_did(name):
    for model, wanted in TRIALS[name].items():
        found = numbers(name, model)
        assert found.keys() == wanted.keys(), model
        for key, value in wanted.items():
            near = value if isinstance(value, list) else [value]
            if not isinstance(value, str):  # processors sum in another order
                near = [approx(one, 0.02, 0.03, nan_ok=True) for one in near]
            assert found[key] in near, (model, key)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small-figure-2", "small-figure-3"])
def test_a_table_entry_is_the_model_that_explore_opens(name):
    experiment, _, dataset = small(name)
    rows = experiment.divide(dataset, 0)
    opened = [(m, x) for m in TRIALS[name] if (x := outcome_of(name, m)).method]
    assert opened
    for model, outcome in opened:
        method = METHODS[outcome.method]
        values = {**method.defaults(), **outcome.values}
        fitted = method.estimator(values).fit(rows.X, rows.y)
        share = accuracy(fitted, rows.X_test, rows.y_test)
        assert share == approx(outcome.measures["accuracy"]), model


if __name__ == "__main__":
    for name, models in TRIALS.items():
        TRIALS[name] = {model: numbers(name, model) for model in models}
    json.dump(TRIALS, PATH.open("w", encoding="utf-8"), indent=1, sort_keys=True)
