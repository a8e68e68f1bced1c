"""An experiment that takes no time, in a module that other processes can import."""

from functools import partial

import numpy as np

from smpcore import load_dataset
from smpcore.papers import Experiment
from smpcore.papers.experiment import Outcome, Reported
from smpcore.papers.sources import Source

MOONS = Source(make=partial(load_dataset, "moons", n_samples=40))
GONE = Source(openml=31)


def share_of_first_class(case):
    """A trial that takes no time: its numbers are known beforehand."""
    repetition = case.trial.repetition
    share = float(np.mean(case.dataset.y == case.dataset.classes[0]))
    curve = {1.0: share, 2.0: share + repetition}
    measures = {"share": share + repetition, "seconds": 7.0}
    return Outcome(measures, {"along": curve}, "smp", {"lam": 0.01})


TOY = Experiment(
    name="toy",
    paper="smp",
    where="Table 9",
    title="Shares",
    protocol="None.",
    data={"moons": MOONS, "gone": GONE},
    models={"one": 1, "two": 2},
    measure=share_of_first_class,
    repetitions=3,
    reported=(
        Reported("moons", "one", "share", 1.5),
        Reported("moons", "one", "along", 0.9, at=1.0),
        Reported("moons", "one", "seconds", 0.5),
        Reported("gone", "one", "share", 0.5),
    ),
    axis="places",
    elsewhere=("seconds",),
)
