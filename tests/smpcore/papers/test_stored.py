"""Trials that are shipped measure today what they measured when they were stored.

A seeded sample of those whose data come with the program, within 60 seconds of a
processor. ``python -m tests.smpcore.papers.test_stored SEED`` repeats another sample,
and says which trials are stale: `run NAME --again` measures them anew.
"""

import re
import sys
import warnings
from functools import cache

import numpy as np
import pytest

from smpcore.papers import EXPERIMENTS, SHIPPED, by_name, read_measured

#: Seconds that the stored trials of a sample took, together and each at most.
TOGETHER, EACH = 25.0, 2.5
#: Of numbers of the rows that are right; a search may answer one of them otherwise.
SHARES = re.compile("accuracy|error|share|%|deviation|MAE|MSE|R2")


def sample(seed):
    """A trial of each experiment, then of each again, until the time is spent."""
    random, piles = np.random.default_rng(seed), []
    for one in EXPERIMENTS:
        stored = [
            measured
            for trial, measured in read_measured(one, SHIPPED).items()
            if one.data[trial.data].make and measured.seconds <= EACH
        ]
        piles.append([(one.name, stored[i]) for i in random.permutation(len(stored))])
    chosen, left = [], TOGETHER
    for turn in range(max(map(len, piles))):
        for name, measured in (pile[turn] for pile in piles if turn < len(pile)):
            left -= measured.seconds
            if left < 0:
                return chosen
            chosen.append((name, measured))
    return chosen


def numbers(outcome):
    every = {name: float(x) for name, x in outcome.measures.items()}
    for curve, points in outcome.curves.items():
        every |= {f"{curve} at {at:.6g}": float(x) for at, x in points.items()}
    return every


@cache
def loaded(source):
    return source.load()


def changed(experiment, stored, outcome, n_rows):
    """Numbers that are not what is stored: of convex fits to 1e-6, of others a row."""
    before, now = numbers(stored), numbers(outcome)
    assert before.keys() <= now.keys()  # a measure that is new is not stale
    row = 2.0 / n_rows
    different = {}
    for name, value in before.items():
        # Files hold six digits.
        allowed = 1e-6 + 6e-6 * abs(value)
        if SHARES.search(name):
            allowed += 100.0 * row if "%" in name else row
        elif name == "features":
            allowed += 1.0
        same = abs(now[name] - value) <= allowed or np.isnan([now[name], value]).all()
        if not same and not name.startswith(experiment.elsewhere or ("\0",)):
            different[name] = value, now[name]
    return different


def repeated(name, measured):
    experiment = by_name(EXPERIMENTS, name)
    dataset = loaded(experiment.data[measured.trial.data])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = experiment.run(measured.trial, dataset)
    return changed(experiment, measured.outcome, outcome, dataset.n_samples)


def test_the_sample_has_each_experiment_that_can_be_repeated_in_time():
    names = [name for name, _ in sample(0)]
    assert len({*names}) > 20 and len(names) > 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "measured"),
    sample(0),
    ids=lambda one: one if isinstance(one, str) else "-".join(map(str, one.trial)),
)
def test_a_stored_trial_is_not_stale(name, measured):
    assert not repeated(name, measured), measured.trial


if __name__ == "__main__":
    for name, measured in sample(int(sys.argv[1])):
        print(name, *measured.trial, repeated(name, measured) or "as stored")
